//! Checking out a repository with the system's `git`, in the steps that kustomize takes.

use std::path::Path;
use std::process::Command;

use super::super::process;
use super::super::repo_spec::RepoSpec;
use smp_files::{DiskTree, FileTree as _};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Variables that tell git of a repository that this is not about: hooks are run with them.
const OF_ANOTHER_REPOSITORY: [&str; 9] = [
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

/// Fills an empty directory with what the reference names and returns its commit. `wanted` is the commit that
/// it should be, which is asked for by itself where the server lets it be.
///
/// # Errors
/// There is no git, the repository or reference is not there, or git takes longer than the
/// reference allows.
pub(super) fn check_out(spec: &RepoSpec, wanted: Option<&str>, into: &Path) -> Result<String> {
    let url = spec.url();
    let reference = if spec.reference.is_empty() { "HEAD" } else { &spec.reference };
    for (what, text) in [("repository", url.as_str()), ("reference", reference)] {
        if text.starts_with('-') {
            let message = format!("the {what} `{text}` begins with a dash, which git takes for an option");
            return Err(Diagnostic::error(Code::InvalidValue, message));
        }
    }
    let git = Git { spec, url: &url, into };
    git.run("init", &["init", "--quiet"])?;
    // Submodules with relative URLs are looked up relative to `origin`.
    git.run("remote add", &["remote", "add", "--", "origin", &url])?;
    let fetch = |what: &str| git.run("fetch", &["fetch", "--depth=1", "--", &url, what]);
    match wanted.map(fetch) {
        Some(Ok(_)) => {}
        Some(Err(error)) if is_too_late(&error) => return Err(error),
        _ => drop(fetch(reference)?),
    }
    git.run("checkout", &["checkout", "--quiet", "FETCH_HEAD"])?;
    let commit = git.run("rev-parse", &["rev-parse", "--verify", "FETCH_HEAD^{commit}"])?;
    if spec.submodules && DiskTree.has(&into.join(".gitmodules")) {
        // What is fetched from elsewhere names no repository of this machine, whatever the user's git allows.
        let refused = if spec.is_local() { &[][..] } else { &["-c", "protocol.file.allow=never"] };
        let update = ["submodule", "update", "--init", "--recursive"];
        git.run("submodule update", &[refused, update.as_slice()].concat())?;
    }
    Ok(String::from_utf8_lossy(&commit).trim().to_string())
}

/// Whether git took longer than it may.
pub(super) fn is_too_late(error: &Diagnostic) -> bool {
    error.message().contains("did not end within")
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
        for name in OF_ANOTHER_REPOSITORY {
            command.env_remove(name);
        }
        let shown = self.spec.shown();
        let what = format!("`git {step}` for {shown}");
        let mut ended =
            process::run(&mut command, &what, b"", Some(self.spec.timeout)).map_err(|e| self.advise(e))?;
        // git repeats the URL, which may have a password in it.
        ended.messages = ended.messages.replace(self.url, &shown);
        ended.success(&what).map_err(|e| self.advise(e))
    }

    fn advise(&self, error: Diagnostic) -> Diagnostic {
        if error.message().contains("no such program") {
            return error.help("install git, which fetches remote bases");
        }
        if is_too_late(&error) {
            return error
                .help("give it more time: add `timeout=SECONDS` to the reference, behind `?` or `&`");
        }
        if self.spec.reference.is_empty() {
            return error.help("check the URL, and that git can read the repository without asking");
        }
        error.help(format!("check the URL, and that the repository has `{}`", self.spec.reference))
    }
}
