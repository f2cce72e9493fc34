//! The Git repository of the applied files. An ApplySet records the target from which it was last
//! applied.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use smp_cluster::ApplySetSource;
use smp_files::{DiskTree, FileTree as _};

/// Returns the paths within their repository, and its name. Returns `None` if a path is not a file
/// or directory in a repository with the remote `origin`, or if the paths are in several
/// repositories.
pub(super) fn source_of(paths: &[PathBuf]) -> Option<ApplySetSource> {
    let mut targets = Vec::new();
    let mut repository = None;
    for path in paths {
        let (directory, file) = if DiskTree.is_directory(path) {
            (path.as_path(), None)
        } else {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            (directory.unwrap_or(Path::new(".")), Some(path.file_name()?.to_str()?))
        };
        let prefix = git(directory, &["rev-parse", "--show-prefix"])?;
        let name = repository_name(&git(directory, &["config", "--get", "remote.origin.url"])?);
        if repository.get_or_insert_with(|| name.clone()) != &name {
            return None;
        }
        let target = format!("{prefix}{}", file.unwrap_or_default());
        targets.push(match target.trim_end_matches('/') {
            "" => ".".to_string(),
            target => target.to_string(),
        });
    }
    targets.sort_unstable();
    Some(ApplySetSource { target: targets.join(","), repository: repository? })
}

fn git(directory: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(args).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end_matches('\n').to_string())
}

/// Returns a URL as `host/path`, without credentials, so that SSH and HTTPS URLs are equal.
fn repository_name(url: &str) -> String {
    let address = match url.split_once("://") {
        Some((_, rest)) => rest.split(['?', '#']).next().unwrap_or(rest).to_string(),
        // The format is `git@host:path`.
        None => url.replacen(':', "/", 1),
    };
    let (authority, path) = address.split_once('/').unwrap_or((&address, ""));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let path = path.trim_matches('/');
    format!("{host}/{}", path.strip_suffix(".git").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_names_have_neither_scheme_nor_credentials() {
        for url in [
            "https://github.com/acme/shop.git",
            "https://me:hunter2@github.com/acme/shop?token=hunter2",
            "git@github.com:acme/shop.git",
            "ssh://git@github.com/acme/shop/",
        ] {
            assert_eq!(repository_name(url), "github.com/acme/shop", "{url}");
        }
    }
}
