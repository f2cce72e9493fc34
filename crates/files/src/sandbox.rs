//! A sandbox for a thread: once it is closed, the system denies access to all other files.
//!
//! Uses Landlock on Linux if the kernel supports it. On other systems there is no sandbox. The sandbox applies to the
//! thread that closes it and to the threads that this thread starts, and it cannot be opened again. No files can be
//! written inside the sandbox, so results are passed to a thread outside.

use std::io;
use std::path::PathBuf;

/// The files that can be read in the sandbox.
#[derive(Debug, Clone)]
pub struct Sandbox {
    readable: Vec<PathBuf>,
}

/// The status of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxStatus {
    /// No other files can be read, and no files can be written.
    Enforced,
    /// Enforced with the access rights that this kernel supports. Older kernels do not support all of them.
    PartiallyEnforced,
    /// This system does not support sandboxes. No restrictions apply.
    Unsupported,
}

/// The locations of trusted certificates and of the configuration for name resolution.
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

impl Default for Sandbox {
    /// Creates a sandbox in which only certificates and the configuration for name resolution can be read.
    fn default() -> Self {
        let given = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os);
        let readable = SYSTEM.iter().map(PathBuf::from).chain(given.map(PathBuf::from)).collect();
        Self { readable }
    }
}

impl Sandbox {
    /// Allows reading files, or directories recursively.
    #[must_use]
    pub fn allow_read(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(paths);
        self
    }

    /// Closes the sandbox around the current thread. Missing paths are skipped.
    ///
    /// # Errors
    /// The system supports sandboxes but rejects this one.
    #[cfg(target_os = "linux")]
    pub fn close(&self) -> io::Result<SandboxStatus> {
        self.restrict().map_err(io::Error::other)
    }

    /// Returns [`SandboxStatus::Unsupported`], since only Linux has sandboxes.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn close(&self) -> io::Result<SandboxStatus> {
        let _ = self;
        Ok(SandboxStatus::Unsupported)
    }

    #[cfg(target_os = "linux")]
    fn restrict(&self) -> Result<SandboxStatus, landlock::RulesetError> {
        use landlock::{
            ABI, Access as _, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
            RulesetCreatedAttr as _, RulesetStatus,
        };

        const RIGHTS: ABI = ABI::V5;
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(RIGHTS))?.create()?;
        for path in &self.readable {
            let Ok(open) = PathFd::new(path) else { continue };
            let rights = if path.is_dir() { read } else { AccessFs::ReadFile.into() };
            ruleset = ruleset.add_rule(PathBeneath::new(open, rights))?;
        }
        Ok(match ruleset.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => SandboxStatus::Enforced,
            RulesetStatus::PartiallyEnforced => SandboxStatus::PartiallyEnforced,
            RulesetStatus::NotEnforced => SandboxStatus::Unsupported,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::io::ErrorKind;

    use super::*;

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn sandbox_applies_only_to_the_closing_thread() {
        let directory = tempfile::tempdir().expect("a directory");
        let (inside, outside) = (directory.path().join("inside"), directory.path().join("outside"));
        for path in [&inside, &outside] {
            fs::create_dir(path).and_then(|()| fs::write(path.join("a"), "a")).expect("written");
        }
        let sandbox = Sandbox::default().allow_read([inside.clone()]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_ne!(sandbox.close().expect("closed"), SandboxStatus::Unsupported);
                let denied = |done: io::Result<()>| {
                    done.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
                };
                assert_eq!(fs::read(inside.join("a")).expect("may be read"), b"a");
                assert!(denied(fs::read(outside.join("a")).map(drop)));
                for path in [&inside, &outside] {
                    assert!(denied(fs::write(path.join("a"), "b")), "changed");
                    assert!(denied(fs::write(path.join("b"), "b")), "made");
                    assert!(denied(fs::remove_file(path.join("a"))), "removed");
                    assert!(denied(fs::create_dir(path.join("c"))), "made");
                }
            });
        });
        fs::write(outside.join("a"), "b").and_then(|()| fs::remove_file(inside.join("a"))).expect("outside");
    }
}
