//! A sandbox around a thread: from when it is closed on, the system refuses all other files.
//!
//! On Linux by Landlock, as far as the kernel knows it; nowhere else. It holds for the thread that closes it and
//! those that this one starts, and it is never opened again: nothing can be written from inside, so whatever
//! comes of it is handed to a thread that stays outside.

use std::io;
use std::path::PathBuf;

/// What can be read once a sandbox is closed.
#[derive(Debug, Clone)]
pub struct Sandbox {
    readable: Vec<PathBuf>,
}

/// Whether a sandbox holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Nothing else can be read, and nothing written.
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
    pub fn closed() -> Self {
        let given = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os);
        let readable = SYSTEM.iter().map(PathBuf::from).chain(given.map(PathBuf::from)).collect();
        Self { readable }
    }

    /// Lets files, or directories with all in them, be read, too.
    #[must_use]
    pub fn read(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(paths);
        self
    }

    /// Closes the sandbox around this thread. Paths that are not there are passed over.
    ///
    /// # Errors
    /// The system has sandboxes and refuses this one.
    #[cfg(target_os = "linux")]
    pub fn close(&self) -> io::Result<Closed> {
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
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(RIGHTS))?.create()?;
        for path in &self.readable {
            let Ok(open) = PathFd::new(path) else { continue };
            let rights = if path.is_dir() { read } else { AccessFs::ReadFile.into() };
            ruleset = ruleset.add_rule(PathBeneath::new(open, rights))?;
        }
        Ok(match ruleset.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => Closed::Fully,
            RulesetStatus::PartiallyEnforced => Closed::Partly,
            RulesetStatus::NotEnforced => Closed::Not,
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
    fn only_the_thread_that_closes_it_is_inside() {
        let directory = tempfile::tempdir().expect("a directory");
        let (inside, outside) = (directory.path().join("inside"), directory.path().join("outside"));
        for path in [&inside, &outside] {
            fs::create_dir(path).and_then(|()| fs::write(path.join("a"), "a")).expect("written");
        }
        let sandbox = Sandbox::closed().read([inside.clone()]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_ne!(sandbox.close().expect("closed"), Closed::Not);
                let refused = |done: io::Result<()>| {
                    done.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
                };
                assert_eq!(fs::read(inside.join("a")).expect("may be read"), b"a");
                assert!(refused(fs::read(outside.join("a")).map(drop)));
                for path in [&inside, &outside] {
                    assert!(refused(fs::write(path.join("a"), "b")), "changed");
                    assert!(refused(fs::write(path.join("b"), "b")), "made");
                    assert!(refused(fs::remove_file(path.join("a"))), "removed");
                    assert!(refused(fs::create_dir(path.join("c"))), "made");
                }
            });
        });
        fs::write(outside.join("a"), "b").and_then(|()| fs::remove_file(inside.join("a"))).expect("outside");
    }
}
