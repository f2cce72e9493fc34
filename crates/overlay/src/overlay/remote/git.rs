//! Checks out a repository with the system's `git`, in the same steps as kustomize.

use std::path::Path;
use std::process::Command;

use super::super::process;
use super::super::repo_spec::RepoSpec;
use smp_files::{DiskTree, FileTree as _};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Environment variables of another repository, which are set for example when git runs a hook.
const REPOSITORY_VARIABLES: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
];

/// Checks out a reference into an empty directory and returns its commit. `locked` is the locked commit. It is
/// fetched directly if the server allows that.
///
/// # Errors
/// git is not installed, the repository or reference does not exist, or git exceeds the timeout of the reference.
pub(super) fn check_out(spec: &RepoSpec, locked: Option<&str>, into: &Path) -> Result<String> {
    let url = spec.url();
    let reference = if spec.revision.is_empty() { "HEAD" } else { &spec.revision };
    for (what, text) in [("repository", url.as_str()), ("reference", reference)] {
        if text.starts_with('-') {
            let message = format!("{what} `{text}` starts with a dash, so git would parse it as a flag");
            return Err(Diagnostic::error(Code::InvalidValue, message));
        }
    }
    let git = Git { spec, url: &url, into };
    git.run("init", &["init", "--quiet"])?;
    // Submodules with relative URLs are looked up relative to `origin`.
    git.run("remote add", &["remote", "add", "--", "origin", &url])?;
    let fetch = |what: &str| git.run("fetch", &["fetch", "--depth=1", "--", &url, what]);
    match locked.map(fetch) {
        Some(Ok(_)) => {}
        Some(Err(error)) if error.code() == Code::CommandTimeout => return Err(error),
        _ => drop(fetch(reference)?),
    }
    git.run("checkout", &["checkout", "--quiet", "FETCH_HEAD"])?;
    let commit = git.run("rev-parse", &["rev-parse", "--verify", "FETCH_HEAD^{commit}"])?;
    if spec.submodules && DiskTree.contains(&into.join(".gitmodules")) {
        // A remote repository must not refer to repositories on this machine, even if the user's git allows that.
        let config = if spec.is_local() { &[][..] } else { &["-c", "protocol.file.allow=never"] };
        let update = ["submodule", "update", "--init", "--recursive"];
        git.run("submodule update", &[config, update.as_slice()].concat())?;
    }
    Ok(String::from_utf8_lossy(&commit).trim().to_string())
}

struct Git<'s> {
    spec: &'s RepoSpec,
    url: &'s str,
    into: &'s Path,
}

impl Git<'_> {
    fn run(&self, step: &str, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.into).env("GIT_TERMINAL_PROMPT", "0");
        for name in REPOSITORY_VARIABLES {
            command.env_remove(name);
        }
        let shown = self.spec.shown();
        let what = format!("`git {step}` for {shown}");
        let mut ended =
            process::run(&mut command, &what, b"", Some(self.spec.timeout)).map_err(|e| self.advise(e))?;
        // git repeats the URL, which may contain a password.
        ended.stderr = ended.stderr.replace(self.url, &shown);
        ended.into_stdout(&what).map_err(|e| self.advise(e))
    }

    fn advise(&self, error: Diagnostic) -> Diagnostic {
        if error.code() == Code::CommandNotFound {
            return error.help("install git, which is required to fetch remote bases");
        }
        if error.code() == Code::CommandTimeout {
            return error
                .help("to raise the timeout, add the query parameter `timeout=SECONDS` to the reference");
        }
        if self.spec.revision.is_empty() {
            return error.help("check the URL, and that git can read the repository without a prompt");
        }
        error.help(format!("check the URL, and that `{}` exists in the repository", self.spec.revision))
    }
}
