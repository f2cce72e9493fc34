//! What a root may read, and the errors for what it may not.
//!
//! Knows real paths; nothing is opened here.

use std::path::Path;
use std::sync::Arc;

use super::Root;
use smp_files::{FileKind, Located, NO_FILE, WalkError, Walked, leads_out};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;

impl Root {
    /// Looks whether a directory, which an entry leads to, is or contains one that led here: it would be read for
    /// ever. Of several the outermost is named.
    pub(super) fn check_cycle(&self, path: &str, real: &Path, at: Span) -> Result<()> {
        let begins = |visited: &&Arc<Path>| {
            // Comparing bytes first, which nearly always tells, keeps long ways cheap.
            let [own, other] = [&***visited, real].map(|path: &Path| path.as_os_str().as_encoded_bytes());
            own.starts_with(other) && visited.starts_with(real)
        };
        let Some(visited) = self.way_here().filter(begins).last() else { return Ok(()) };
        let shown = |path: &Path| self.reader.shown(path).display().to_string();
        let mut names: Vec<_> = self.way_here().map(|path| shown(path)).collect();
        names.reverse();
        let message = if **visited == *real {
            format!("`{path}` leads back to {}, which is being built", shown(real))
        } else {
            let visited = shown(visited);
            format!("`{path}` leads to {}, which contains {visited}, which is being built", shown(real))
        };
        Err(Diagnostic::error(Code::Cycle, message)
            .at(at)
            .note(format!("the way here: {}", names.join(" -> ")))
            .help("a kustomization cannot contain itself; move what both need to a directory of its own"))
    }

    /// The directory of a base that nothing names but where it is; none when there is no such directory. It stays in the
    /// repository of this directory, or without one in the directory that the path names it in: only what the user
    /// names may be elsewhere.
    ///
    /// # Errors
    /// A link leads out of there.
    pub fn implied_base(&self, path: &Path) -> Result<Option<Self>> {
        let Some(base) = self.neighbour(path)? else { return Ok(None) };
        if self.checkout.is_some() {
            return Ok(Some(base));
        }
        let is_repository = |directory: &&Path| self.reader.tree().has(&directory.join(".git"));
        let Some(beside) = path.parent() else { return Ok(None) };
        if self.path().ancestors().take_while(|above| *above != beside).any(|above| is_repository(&above)) {
            return Ok(None);
        }
        if base.path() == path {
            return Ok(Some(base));
        }
        let limit = beside.ancestors().find(is_repository).unwrap_or(beside);
        if base.path().starts_with(limit) {
            return Ok(Some(base));
        }
        let (shown, real) = (self.reader.shown(path), base.shown());
        let message =
            format!("`{}` leads outside of {}", shown.display(), self.reader.shown(limit).display());
        Err(Diagnostic::error(Code::OutsideRoot, message)
            .note(format!("it is {}, the base that is found for {}", real.display(), self.shown().display()))
            .help(format!("name it with --base {} if it is the base", real.display())))
    }

    pub(super) fn may_read(&self, real: &Path) -> bool {
        !self.is_restricted() || real.starts_with(self.path())
    }

    /// Whether only files in and below it may be read. That is never lifted for what was fetched.
    pub(super) fn is_restricted(&self) -> bool {
        self.reader.restricted || self.checkout.is_some()
    }

    /// Looks whether what a path leads to, and is no directory, may be read.
    pub(super) fn check(&self, path: &str, found: &Located) -> Result<()> {
        if !self.may_read(found.path()) {
            return Err(self.outside(Path::new(path), found.path()));
        }
        if found.kind() == FileKind::Other {
            return Err(no_file(Path::new(path)));
        }
        Ok(())
    }

    /// Looks whether something that was walked over may be read: a link may lead anywhere.
    ///
    /// # Errors
    /// It is outside of the root, or neither a file nor a directory.
    pub fn check_walked(&self, walked: &Walked) -> Result<()> {
        let shown = || self.reader.shown(&self.path().join(&walked.path));
        if let Some(real) = walked.led_to.as_ref().filter(|real| !self.may_read(real)) {
            return Err(self.outside(&shown(), real));
        }
        if walked.kind == FileKind::Other { Err(no_file(&shown())) } else { Ok(()) }
    }

    /// The error for what cannot be walked over.
    #[must_use]
    pub fn not_walked(&self, error: &WalkError) -> Diagnostic {
        match error {
            WalkError::Io { path, cause } if leads_out(cause) => self.leaves(&self.reader.shown(path)),
            _ => Diagnostic::error(Code::Io, error.to_string()),
        }
    }

    /// The error for a path that leads to a file outside of the root.
    pub(super) fn outside(&self, path: &Path, real: &Path) -> Diagnostic {
        let (real, root) = (self.reader.shown(real), self.shown());
        let message = format!("`{}` leads outside of {}", path.display(), root.display());
        Diagnostic::error(Code::OutsideRoot, message).note(format!("it is {}", real.display())).help(
            if self.checkout.is_none() {
                "move the file, or allow it with --load-restrictor=LoadRestrictionsNone"
            } else {
                "what is fetched may only read files of its own directory"
            },
        )
    }

    /// The error for a path that leads out of the repository.
    pub(super) fn leaves(&self, path: &Path) -> Diagnostic {
        let repository = self.checkout.as_ref().map_or_else(String::new, |checkout| checkout.spec.shown());
        let message = format!("`{}` leads out of the repository {repository}", path.display());
        Diagnostic::error(Code::OutsideRoot, message)
            .help("what is fetched may only use what is in its own repository")
    }
}

/// The error for an input that is no file.
fn no_file(path: &Path) -> Diagnostic {
    let message = format!("`{}` is {NO_FILE}", path.display());
    Diagnostic::error(Code::Io, message).help("name a file here")
}
