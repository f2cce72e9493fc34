//! A sandbox around this process: from when it is closed on, the system refuses all other files.
//!
//! On Linux by Landlock, as far as the kernel knows it; nowhere else. It holds for this thread and those that it
//! starts, so it is closed before there are others, and it is never opened again.

use std::io;
use std::path::{Path, PathBuf};

/// What a process may do once a sandbox is closed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sandbox {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    /// Directories in which empty ones may be removed.
    emptied: Vec<PathBuf>,
}

/// Whether a sandbox holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Nothing else can be read or written.
    Fully,
    /// As far as this kernel can do it: an older one does not know all rights.
    Partly,
    /// This system has nothing of the kind, and nothing has changed.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "others always are without"))]
    Not,
}

/// Where systems keep the certificates that they trust, and what they find the addresses of names by.
const SYSTEM: [&str; 13] = [
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/share/pki",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/services",
];

impl Sandbox {
    /// One in which certificates and the addresses of names can be looked up, and nothing else.
    pub(crate) fn new() -> Self {
        let given = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os);
        let readable = SYSTEM.iter().map(PathBuf::from).chain(given.map(PathBuf::from)).collect();
        Self { readable, ..Self::default() }
    }

    /// Lets files, or directories with all in them, be read, too.
    pub(crate) fn read(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(paths);
        self
    }

    /// Lets a directory be read and changed with all in it.
    pub(crate) fn write_in(mut self, directory: &Path) -> Self {
        self.writable.push(directory.to_path_buf());
        self
    }

    /// Lets empty directories be removed that are in a directory.
    pub(crate) fn remove_in(mut self, directory: &Path) -> Self {
        self.emptied.push(directory.to_path_buf());
        self
    }

    /// Lets a file be written: replaced by another one if it is a regular file or none yet, which needs its
    /// directory, else written itself. A directory that is not there yet needs the one that it is made in.
    pub(crate) fn write(self, path: &Path) -> Self {
        let is_special = |real: &Path| real.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
        match path.canonicalize() {
            Ok(real) if is_special(&real) => self.write_in(&real),
            // Something without a path of its own, such as the pipe behind `/dev/stdout`: it is not refused.
            Err(_) if is_special(path) => self,
            found => {
                let real = found.unwrap_or_else(|_| path.to_path_buf());
                let above = real.ancestors().skip(usize::from(!real.is_dir()));
                let named = above.map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
                match named.into_iter().find(|path| path.is_dir()) {
                    Some(directory) => self.write_in(directory),
                    None => self,
                }
            }
        }
    }

    /// Closes the sandbox. Paths that are not there are passed over.
    ///
    /// # Errors
    /// The system has sandboxes and refuses this one.
    #[cfg(target_os = "linux")]
    pub(crate) fn close(&self) -> io::Result<Closed> {
        self.restrict().map_err(io::Error::other)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn close(&self) -> io::Result<Closed> {
        let _ = self;
        Ok(Closed::Not)
    }

    #[cfg(target_os = "linux")]
    fn restrict(&self) -> Result<Closed, landlock::RulesetError> {
        use landlock::{
            ABI, Access as _, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
            RulesetCreatedAttr as _, RulesetStatus,
        };

        const RIGHTS: ABI = ABI::V5;
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let write = read
            | AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::MakeSym
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir
            | AccessFs::Refer;
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(RIGHTS))?.create()?;
        let readable = self.readable.iter().map(|path| (path, read));
        let writable = self.writable.iter().map(|path| (path, write));
        let emptied = self.emptied.iter().map(|path| (path, AccessFs::RemoveDir.into()));
        for (path, rights) in readable.chain(writable).chain(emptied) {
            let Ok(open) = PathFd::new(path) else { continue };
            let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(RIGHTS) };
            ruleset = ruleset.add_rule(PathBeneath::new(open, rights))?;
        }
        Ok(match ruleset.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => Closed::Fully,
            RulesetStatus::PartiallyEnforced => Closed::Partly,
            RulesetStatus::NotEnforced => Closed::Not,
        })
    }
}
