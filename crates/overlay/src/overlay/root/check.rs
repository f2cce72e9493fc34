//! Checks which paths a root may read, and creates the errors for other paths.
//!
//! Uses real paths and opens nothing.

use std::path::Path;
use std::sync::Arc;

use super::Root;
use smp_files::{FileKind, Located, SPECIAL_FILE, WalkEntry, WalkError, is_outside_error};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::Span;

impl Root {
    /// Rejects a directory that is, or contains, one of the directories through which it was reached, because the build
    /// would never end. If several qualify, the error names the outermost.
    pub(super) fn check_cycle(&self, path: &str, real: &Path, at: Span) -> Result<()> {
        let begins = |visited: &&Arc<Path>| {
            // Comparing bytes first is cheap and nearly always sufficient, which makes long trails fast.
            let [own, other] = [&***visited, real].map(|path: &Path| path.as_os_str().as_encoded_bytes());
            own.starts_with(other) && visited.starts_with(real)
        };
        let Some(visited) = self.visited_paths().filter(begins).last() else { return Ok(()) };
        let shown = |path: &Path| self.reader.shown(path).display().to_string();
        // Leave out the directories before the cycle.
        let within = self.visited_paths().position(|path| path == visited).unwrap_or_default();
        let mut names: Vec<_> = self.visited_paths().take(within + 1).map(|path| shown(path)).collect();
        names.reverse();
        let (own, real_name) = (shown(self.path()), shown(real));
        let message = if *self.path() == *real {
            format!("cycle: `{real_name}` includes itself through `{path}`")
        } else if **visited == *real {
            format!("cycle: `{own}` includes `{real_name}` through `{path}`, which leads back to `{own}`")
        } else {
            format!(
                "cycle: `{path}` is `{real_name}`, which contains `{}`, the directory being built",
                shown(visited)
            )
        };
        names.push(real_name);
        Err(Diagnostic::error(Code::Cycle, message)
            .at(at)
            .note(format!("the cycle is {}", names.join(" -> ")))
            .help("a kustomization cannot contain itself; move shared resources to a separate directory"))
    }

    /// Opens the base that is found by its location only. Returns `None` if there is no such directory. The base
    /// has to be in the same repository as this directory or, without a repository, below the parent directory in
    /// `path`. Only a base that the user names may be elsewhere.
    ///
    /// # Errors
    /// A symlink points outside that directory.
    pub fn implied_base(&self, path: &Path) -> Result<Option<Self>> {
        let Some(base) = self.open_directory(path)? else { return Ok(None) };
        if self.checkout.is_some() {
            return Ok(Some(base));
        }
        let is_repository = |directory: &&Path| self.reader.tree().contains(&directory.join(".git"));
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
        let message = format!(
            "`{}` is a symlink to `{}`, which is outside of `{}`",
            shown.display(),
            real.display(),
            self.reader.shown(limit).display()
        );
        Err(Diagnostic::error(Code::OutsideRoot, message)
            .note(format!("it was found as the base of `{}`", self.shown().display()))
            .help(format!("if it is the intended base, pass --base {}", real.display())))
    }

    pub(super) fn may_read(&self, real: &Path) -> bool {
        !self.is_restricted() || real.starts_with(self.path())
    }

    /// Returns true if only files in and below this root may be read. This is always the case in fetched
    /// repositories.
    pub(super) fn is_restricted(&self) -> bool {
        self.reader.restricted || self.checkout.is_some()
    }

    /// Checks that a located path other than a directory may be read.
    pub(super) fn check_located(&self, path: &str, found: &Located) -> Result<()> {
        if !self.may_read(found.path()) {
            return Err(self.outside_root_error(Path::new(path), found.path()));
        }
        if found.kind() == FileKind::Other {
            return Err(no_file(Path::new(path)));
        }
        Ok(())
    }

    /// Checks that the build may read an entry found by a directory walk. A symlink may refer to any path.
    ///
    /// # Errors
    /// The entry is outside of the root, or neither a file nor a directory.
    pub fn check_walked(&self, walked: &WalkEntry) -> Result<()> {
        let shown = || self.reader.shown(&self.path().join(&walked.path));
        if let Some(real) = walked.link_target.as_ref().filter(|real| !self.may_read(real)) {
            return Err(self.outside_root_error(&shown(), real));
        }
        if walked.kind == FileKind::Other { Err(no_file(&shown())) } else { Ok(()) }
    }

    /// Returns the error for a directory that cannot be walked.
    #[must_use]
    pub fn walk_error(&self, error: &WalkError) -> Diagnostic {
        match error {
            WalkError::Io { path, cause } if is_outside_error(cause) => {
                self.outside_repository_error(&self.reader.shown(path))
            }
            WalkError::Io { path, cause } => {
                read_error(format_args!("`{}`", self.reader.shown(path).display()), cause)
            }
            WalkError::Loop { .. } => error.diagnostic(),
        }
    }

    /// Returns the error for a path to a file outside of the root.
    pub(super) fn outside_root_error(&self, path: &Path, real: &Path) -> Diagnostic {
        let (real, root) = (self.reader.shown(real), self.shown());
        let message = format!("`{}` is not in or below `{}`", path.display(), root.display());
        Diagnostic::error(Code::OutsideRoot, message)
            .note(format!("it resolves to `{}`", real.display()))
            .help(if self.checkout.is_none() {
                "move the file, or allow it with --load-restrictor=LoadRestrictionsNone"
            } else {
                "a remote kustomization can only read files in its own directory"
            })
    }

    /// Returns the error for a path that leaves the repository.
    pub(super) fn outside_repository_error(&self, path: &Path) -> Diagnostic {
        let repository = self.checkout.as_ref().map_or_else(String::new, |checkout| checkout.spec.shown());
        let message = format!("`{}` is outside of the repository {repository}", path.display());
        Diagnostic::error(Code::OutsideRoot, message)
            .help("a remote kustomization can only use files of its own repository")
    }
}

/// Returns the error for a path that is not a regular file.
fn no_file(path: &Path) -> Diagnostic {
    let message = format!("`{}` is {SPECIAL_FILE}", path.display());
    Diagnostic::error(Code::Io, message).help("use the path of a file")
}
