//! The README and the book: terminal sessions show the real output, links are valid, the index lists every page.
//!
//! `SMP_WRITE_PAGES=1 cargo test --test cli book` rewrites the output that the pages show.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and all pages of the book, relative to the root.
fn pages() -> Vec<PathBuf> {
    fn walk(directory: &Path, pages: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, pages);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.strip_prefix(root()).expect("below the root").to_path_buf());
            }
        }
    }
    let mut pages = vec![PathBuf::from("README.md")];
    walk(&root().join("book"), &mut pages);
    pages.sort();
    pages
}

fn text(page: &Path) -> String {
    fs::read_to_string(root().join(page)).expect("the page")
}

/// The git configuration of readers.
#[cfg(unix)]
pub const GIT_IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "you"),
    ("GIT_AUTHOR_EMAIL", "you@example.com"),
    ("GIT_COMMITTER_NAME", "you"),
    ("GIT_COMMITTER_EMAIL", "you@example.com"),
];

/// A clone with the examples, and a `kubectl` that has the plugin.
#[cfg(unix)]
pub struct Clone {
    home: tempfile::TempDir,
    cwd: PathBuf,
}

#[cfg(unix)]
impl Clone {
    pub fn new(cwd: &str) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let program = env!("CARGO_BIN_EXE_kubectl-smp");
        let script = format!(
            "cp -r '{root}/examples' . && mkdir -p tests/cases bin && cp -r '{root}/tests/cases/differences' tests/cases && \
             ln -s '{program}' bin/kubectl-smp && printf '#!/bin/sh\\nshift\\nexec \"{program}\" \"$@\"\\n' >bin/kubectl && \
             chmod +x bin/kubectl",
            root = root().display(),
        );
        let status = Command::new("sh").args(["-c", &script]).current_dir(home.path()).status();
        assert!(status.expect("a shell").success());
        let cwd = home.path().join(cwd);
        Self { home, cwd }
    }

    /// Runs a line and returns its success, with stdout and stderr combined as on a terminal.
    pub fn run(&mut self, line: &str) -> (bool, String) {
        let home = self.home.path();
        let path = format!("{}/bin:{}", home.display(), std::env::var("PATH").expect("a path"));
        let script = format!("exec 2>&1\n{line}\nstatus=$?\npwd >'{}/cwd'\nexit $status", home.display());
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&self.cwd)
            .env("PATH", path)
            .env("HOME", home)
            .env("KUBECONFIG", "/dev/null")
            .env("KUBECTL_SMP_CACHE_DIR", home.join(".cache/kubectl-smp"))
            .env_remove("FORCE_COLOR")
            .envs(GIT_IDENTITY)
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        self.cwd = fs::read_to_string(home.join("cwd")).expect("the directory").trim().into();
        let real = home.canonicalize().expect("the directory");
        let output_or_error = String::from_utf8(output.stdout).expect("text");
        let output_or_error = output_or_error
            .replace(&real.display().to_string(), "~")
            .replace(&home.display().to_string(), "~");
        (output.status.success(), output_or_error)
    }
}

/// Returns the commands of a block with a prompt, each with the output shown for it.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut continues = false;
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_string(), String::new())),
            (None, Some((command, _))) if continues => command.extend(["\n", line]),
            (None, Some((_, output_or_error))) => output_or_error.extend([line, "\n"]),
            (None, None) => panic!("output without a command: {line}"),
        }
        continues = line.ends_with('\\');
    }
    commands
}

/// Runs the sessions of a page and returns the page with the output that they print.
#[cfg(unix)]
fn replayed(page: &Path) -> String {
    let starts_at_root = [Path::new("README.md"), Path::new("book/tutorial.md")].contains(&page);
    let mut clone = Clone::new(if starts_at_root { "." } else { "examples/kustomize" });
    let text = text(page);
    let mut parts = text.split("```console\n");
    let mut replayed = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (block, rest) = part.split_once("```").expect("the end of the block");
        replayed.push_str("```console\n");
        for (command, output_or_error) in commands(block) {
            let (succeeded, printed) = clone.run(&command);
            replayed.extend(["$ ", &command, "\n"]);
            if output_or_error.is_empty() {
                assert!(succeeded, "{}: {command}\n{printed}", page.display());
            } else {
                replayed.extend([printed.trim_end_matches('\n'), "\n"]);
            }
        }
        replayed.extend(["```", rest]);
    }
    replayed
}

#[cfg(unix)]
#[test]
fn sessions_print_what_the_pages_show() {
    for page in
        pages().iter().filter(|page| !page.starts_with("book/rules") && text(page).contains("```console"))
    {
        let replayed = replayed(page);
        if std::env::var_os("SMP_WRITE_PAGES").is_some() {
            fs::write(root().join(page), &replayed).expect("written");
        }
        assert_eq!(text(page), replayed, "{}: SMP_WRITE_PAGES=1 cargo test --test cli book", page.display());
    }
}

/// Returns the anchor that Markdown renderers create for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.trim().replace(' ', "-")
}

#[test]
fn links_lead_to_pages_and_headings() {
    for page in pages() {
        let text = text(&page);
        let prose = text.split("```").step_by(2).collect::<String>();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file =
                if file.is_empty() { page.clone() } else { page.parent().expect("a parent").join(file) };
            let target = root().join(&file);
            assert!(target.exists(), "{}: {link}", page.display());
            if !heading.is_empty() {
                let target = fs::read_to_string(target).expect("a page");
                let mut headings = target.lines().filter(|line| line.starts_with('#'));
                let is_meant = |line: &str| anchor(line.trim_start_matches('#').trim()) == heading;
                assert!(headings.any(is_meant), "{}: {link}", page.display());
            }
        }
    }
}

/// Returns the index with the rules linked from `book/rules.md`, in the same order.
fn summary_with_rules(summary: &str) -> String {
    let kept: String = summary.split_inclusive('\n').filter(|line| !line.contains("](rules/")).collect();
    let rules = text(Path::new("book/rules.md"));
    let rules =
        rules.split("](rules/").skip(1).filter_map(|rest| rest.split_once(".md)")).map(|(name, _)| name);
    rules.fold(kept, |summary, name| format!("{summary}  - [{name}](rules/{name}.md)\n"))
}

#[test]
fn index_lists_every_page_of_the_book() {
    let path = Path::new("book/SUMMARY.md");
    if std::env::var_os("SMP_WRITE_PAGES").is_some() {
        fs::write(root().join(path), summary_with_rules(&text(path))).expect("written");
    }
    let summary = text(path);
    assert_eq!(summary, summary_with_rules(&summary), "SMP_WRITE_PAGES=1 cargo test --test cli book");
    let listed: BTreeSet<_> =
        summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(PathBuf::from).collect();
    let pages = pages().into_iter().filter_map(|page| page.strip_prefix("book").map(Path::to_path_buf).ok());
    let pages: BTreeSet<_> = pages.filter(|page| page != Path::new("SUMMARY.md")).collect();
    assert_eq!(listed, pages);
}

#[test]
fn readme_is_short() {
    let lines = text(Path::new("README.md")).lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}
