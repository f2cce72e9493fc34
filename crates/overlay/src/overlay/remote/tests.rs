use std::fs;
use std::process::Command;

use super::*;
use smp_text::source::SourceMap;

mod locked;
#[cfg(feature = "remote")]
mod over_http;
pub(in crate::overlay) mod server;

/// A repository `upstream` and a cache next to it.
struct Fixture {
    home: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { home: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir(fixture.upstream()).expect("new");
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        fixture.commit("base/kustomization.yaml", "resources: [a.yaml]\n");
        fixture
    }

    fn upstream(&self) -> PathBuf {
        self.home.path().join("upstream")
    }

    fn cache(&self) -> PathBuf {
        self.home.path().join("cache")
    }

    fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.upstream(), arguments)
    }

    /// Writes a file, commits it and returns the commit.
    fn commit(&self, path: &str, text: &str) -> String {
        let file = self.upstream().join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("new");
        fs::write(file, text).expect("written");
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message=change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Returns a reference to the repository by `file://`.
    fn spec(&self, rest: &str) -> RepoSpec {
        let reference = format!("file://{}{rest}", self.upstream().display());
        RepoSpec::parse(&reference).expect("a reference")
    }

    fn remotes(&self) -> Remotes {
        Remotes::new(Some(self.cache()), false)
    }

    fn offline(&self) -> Remotes {
        Remotes::new(Some(self.cache()), true)
    }

    /// Makes the repository unreachable.
    fn hide(&self) {
        fs::rename(self.upstream(), self.home.path().join("gone")).expect("moved");
    }
}

fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn read(checkout: &Checkout, path: &str) -> String {
    fs::read_to_string(checkout.clone_dir.join(path)).expect(path)
}

fn root(checkout: &Checkout) -> Result<Directory> {
    checkout.directory_in(&checkout.tree()?)
}

fn nowhere() -> Span {
    Span::default()
}

#[test]
fn remote_files_are_recognized_by_scheme() {
    for path in ["https://h/a.yaml", "HTTP://h/a.yaml", "http:a"] {
        assert!(is_remote_file(path), "{path}");
    }
    for path in ["a.yaml", "file:///a", "git@h:a", "git::https://h/o/r", "ssh://h/a", "c:/a", ""] {
        assert!(!is_remote_file(path), "{path}");
    }
}

#[test]
fn branches_are_fetched_once_per_run() {
    let fixture = Fixture::new();
    let spec = fixture.spec("//base?ref=main");
    let remotes = fixture.remotes();
    let first = remotes.repository(&spec, nowhere()).expect("fetched");
    assert_eq!(read(&first, "base/kustomization.yaml"), "resources: [a.yaml]\n");
    assert_eq!(root(&first).expect("a directory").path(), first.clone_dir.join("base"));
    assert!(!first.clone_dir.join(".git").exists(), "it would keep the URL");

    let commit = fixture.commit("base/kustomization.yaml", "resources: [b.yaml]\n");
    let same_run = remotes.repository(&spec, nowhere()).expect("known");
    assert_eq!(same_run, first);
    let next_run = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    assert_eq!(read(&next_run, "base/kustomization.yaml"), "resources: [b.yaml]\n");
    assert_eq!(next_run.commit, commit);
    assert_eq!(read(&first, "base/kustomization.yaml"), "resources: [a.yaml]\n", "the old tree stays");
}

#[test]
fn tags_branches_commits_and_the_default_are_found() {
    let fixture = Fixture::new();
    let tagged = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["tag", "--annotate", "--message=x", "v1.0"]);
    let branched = fixture.commit("b.txt", "b");
    fixture.git(&["branch", "feature/x"]);
    let head = fixture.commit("c.txt", "c");
    let pinned = format!("?ref={tagged}");
    for (query, want) in
        [("", &head), ("?ref=v1.0", &tagged), ("?version=feature/x", &branched), (pinned.as_str(), &tagged)]
    {
        let found = fixture.remotes().repository(&fixture.spec(query), nowhere());
        assert_eq!(found.expect(query).commit, *want, "{query}");
    }
}

#[test]
fn commits_are_fetched_once() {
    let fixture = Fixture::new();
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    let spec = fixture.spec(&format!("//base?ref={commit}"));
    let first = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    fixture.hide();
    assert_eq!(fixture.remotes().repository(&spec, nowhere()).expect("cached"), first);
    assert_eq!(fixture.offline().repository(&spec, nowhere()).expect("cached"), first);
    assert!(
        fixture.remotes().repository(&fixture.spec("?ref=main"), nowhere()).is_err(),
        "the repository is gone"
    );
}

#[test]
fn offline_runs_use_what_was_fetched_last() {
    let fixture = Fixture::new();
    let main = fixture.spec("?ref=main");
    fixture.remotes().repository(&main, nowhere()).expect("fetched");
    let commit = fixture.commit("b.txt", "b");
    let last = fixture.remotes().repository(&main, nowhere()).expect("fetched");
    fixture.commit("c.txt", "c");
    let offline = fixture.offline().repository(&main, nowhere()).expect("cached");
    assert_eq!((&offline, &offline.commit), (&last, &commit));
}

#[test]
fn offline_errors_list_all_missing_references() {
    let fixture = Fixture::new();
    let sources = SourceMap::default();
    let text = sources.add("kustomization.yaml", "resources: [x, y]");
    let offline = fixture.offline();
    assert_eq!(offline.missing_references_error(), None);
    let spec = fixture.spec("?ref=v2");
    let first = offline.repository(&spec, Span::new(text, 12, 13)).expect_err("not cached");
    assert_eq!((first.code(), first.labels().len()), (Code::NotFetched, 1));
    offline.file("https://me:secret@h.com/a.yaml", Span::new(text, 15, 16)).expect_err("not cached");
    offline.file("https://me:secret@h.com/a.yaml", nowhere()).expect_err("still not");
    let all = offline.missing_references_error().expect("two are missing");
    assert!(all.message().starts_with("2 remote references are not in the cache"), "{all}");
    assert_eq!(all.notes(), [format!("missing: {}", spec.raw()), "missing: https://***@h.com/a.yaml".into()]);
    assert_eq!(all.labels().len(), 2);
    assert!(!fixture.cache().exists(), "nothing is written offline");
}

#[test]
fn git_errors_have_a_help_text() {
    let fixture = Fixture::new();
    let error = fixture.remotes().repository(&fixture.spec("?ref=nope"), nowhere()).expect_err("no such ref");
    assert_eq!(error.code(), Code::Command);
    assert!(error.message().starts_with("`git fetch` for file://"), "{error}");
    assert!(error.notes().iter().any(|n| n.contains("nope")), "{:?}", error.notes());
    assert_eq!(error.help_text(), Some("check the URL, and that `nope` exists in the repository"));
    let left = fs::read_dir(fixture.cache()).expect("the cache").count();
    assert_eq!(left, 0, "a failed fetch leaves nothing behind");

    let dash = fixture.spec("?ref=--upload-pack=touch%20/tmp/x");
    let error = fixture.remotes().repository(&dash, nowhere()).expect_err("an option");
    assert_eq!(error.code(), Code::InvalidValue);
}

#[test]
fn slow_servers_time_out() {
    let slow = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = slow.local_addr().expect("an address");
    let spec = RepoSpec::parse(&format!("http://{address}/o/r?timeout=300ms")).expect("a reference");
    let error = Fixture::new().remotes().repository(&spec, nowhere()).expect_err("no answer");
    assert!(error.message().ends_with("timed out after 300ms"), "{error}");
    assert!(error.help_text().is_some_and(|h| h.contains("timeout=")), "{error:?}");
}

#[test]
fn directories_stay_in_the_repository() {
    let fixture = Fixture::new();
    fixture.commit("file.txt", "x");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/", fixture.upstream().join("out")).expect("a link");
        std::os::unix::fs::symlink("base", fixture.upstream().join("in")).expect("a link");
    }
    fixture.commit("other.txt", "x");
    let root_of = |directory: &str| {
        let spec = fixture.spec(&format!("//{directory}?ref=main"));
        let checkout = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
        root(&checkout).map(|directory| directory.path().to_path_buf())
    };
    let error = |directory: &str| root_of(directory).expect_err(directory);
    assert!(error("nope").message().starts_with("no directory `nope` in "), "{}", error("nope"));
    assert!(error("file.txt").message().contains("is a file"), "{}", error("file.txt"));
    assert!(root_of("/base").expect("below").ends_with("base"), "another slash does not make it absolute");
    if cfg!(unix) {
        assert_eq!(error("out").code(), Code::OutsideRoot);
        assert!(root_of("in").expect("inside").ends_with("base"));
    }
}

#[test]
fn unwritable_cache_is_replaced_by_a_temporary_one() {
    let fixture = Fixture::new();
    let blocked = fixture.home.path().join("blocked");
    fs::write(&blocked, "a file").expect("written");
    let remotes = Remotes::new(Some(blocked.join("cache")), false);
    let checkout = remotes.repository(&fixture.spec("?ref=main"), nowhere()).expect("fetched");
    assert!(checkout.clone_dir.join("base").is_dir());
}

#[test]
fn threads_fetch_together() {
    let fixture = Fixture::new();
    let remotes = [fixture.remotes(), fixture.remotes()];
    let spec = fixture.spec("?ref=main");
    let commits: Vec<String> = std::thread::scope(|scope| {
        let one = |remotes: &Remotes| remotes.repository(&spec, nowhere()).expect("fetched").commit;
        let threads: Vec<_> = remotes.iter().cycle().take(8).map(|r| scope.spawn(move || one(r))).collect();
        threads.into_iter().map(|t| t.join().expect("it ends")).collect()
    });
    assert!(commits.iter().all(|c| *c == fixture.git(&["rev-parse", "HEAD"])));
}

#[test]
fn unused_trees_are_removed() {
    let fixture = Fixture::new();
    let spec = fixture.spec("?ref=main");
    let age = |path: &Path, days: u64| {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
        fs::File::open(path).and_then(|d| d.set_modified(then)).expect("an older directory");
    };
    let old = fixture.remotes().repository(&spec, nowhere()).expect("fetched").clone_dir;
    fixture.commit("b.txt", "b");
    let recent = fixture.remotes().repository(&spec, nowhere()).expect("fetched").clone_dir;
    let killed = fixture.cache().join("new-abc");
    fs::create_dir(&killed).expect("new");
    // The entry, which contains the tree, is renamed and its times are changed.
    let [old, recent] = [old, recent].map(|tree| tree.parent().expect("its entry").to_path_buf());
    for (path, days) in [(&old, 31), (&recent, 29), (&killed, 2)] {
        age(path, days);
    }
    fixture.commit("c.txt", "c");
    fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    assert!(!old.exists() && recent.exists() && !killed.exists());
}

type Change = fn(&Path) -> std::io::Result<()>;

/// Ways to damage the cache entry of a commit.
#[cfg(unix)]
const DAMAGE: [(&str, Change); 9] = [
    ("edited file", |entry| {
        fs::write(entry.join("tree/base/kustomization.yaml"), "resources: [evil.yaml]\n")
    }),
    ("emptied file", |entry| fs::write(entry.join("tree/base/kustomization.yaml"), "")),
    ("additional file", |entry| fs::write(entry.join("tree/base/more.yaml"), "")),
    ("emptied tree", |entry| {
        fs::remove_dir_all(entry.join("tree")).and_then(|()| fs::create_dir(entry.join("tree")))
    }),
    ("missing tree", |entry| fs::remove_dir_all(entry.join("tree"))),
    ("missing seal", |entry| fs::remove_file(entry.join("seal"))),
    ("symlink to a copy", |entry| {
        let elsewhere = entry.with_extension("elsewhere");
        fs::rename(entry.join("tree"), &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, entry.join("tree"))
    }),
    ("symlinked entry", |entry| {
        let elsewhere = entry.with_extension("elsewhere");
        fs::rename(entry, &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, entry)
    }),
    ("symlinked folder", |entry| {
        let folder = entry.parent().expect("the repository's");
        let elsewhere = folder.with_extension("elsewhere");
        fs::rename(folder, &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, folder)
    }),
];

#[cfg(unix)]
#[test]
fn damaged_tree_of_a_commit_is_fetched_again() {
    for (what, damage) in DAMAGE {
        let fixture = Fixture::new();
        let commit = fixture.git(&["rev-parse", "HEAD"]);
        let spec = fixture.spec(&format!("//base?ref={commit}"));
        let first = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
        let entry = first.clone_dir.parent().expect("its entry");
        damage(entry).expect(what);
        let offline = fixture.offline();
        let error = offline.repository(&spec, nowhere()).expect_err(what);
        assert_eq!(error.code(), Code::NotFetched, "{what}: {error}");
        if what != "symlinked folder" {
            assert_eq!(error.notes(), [format!("damaged: {}", spec.raw())], "{what}");
        }
        let again = fixture.remotes().repository(&spec, nowhere()).expect(what);
        assert_eq!(again, first, "{what}");
        assert_eq!(read(&again, "base/kustomization.yaml"), "resources: [a.yaml]\n", "{what}");
        assert_eq!(fs::read_dir(again.clone_dir.join("base")).expect("there").count(), 1, "{what}");
        for path in [again.clone_dir.as_path(), entry, entry.parent().expect("the repository's")] {
            assert!(!path.is_symlink(), "{what}: {}", path.display());
        }
        fixture.hide();
        assert_eq!(fixture.offline().repository(&spec, nowhere()).expect("whole again"), first, "{what}");
    }
}

#[cfg(unix)]
#[test]
fn damaged_tree_of_a_branch_is_fetched_again() {
    let fixture = Fixture::new();
    let spec = fixture.spec("//base?ref=main");
    let first = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    fs::write(first.clone_dir.join("base/kustomization.yaml"), "edited").expect("written");
    assert!(fixture.offline().repository(&spec, nowhere()).is_err(), "damaged");
    let again = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    assert_eq!(read(&again, "base/kustomization.yaml"), "resources: [a.yaml]\n");
    assert_eq!(fixture.offline().repository(&spec, nowhere()).expect("whole"), first);
}

#[test]
fn entries_of_older_versions_count_as_absent_and_are_replaced() {
    let fixture = Fixture::new();
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    let spec = fixture.spec(&format!("?ref={commit}"));
    let first = fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    let entry = first.clone_dir.parent().expect("its entry");
    fs::remove_dir_all(entry).expect("removed");
    fs::create_dir_all(entry.join("base")).expect("made");
    fs::write(entry.join("base/kustomization.yaml"), "resources: [old.yaml]\n").expect("written");
    assert!(fixture.offline().repository(&spec, nowhere()).is_err());
    assert_eq!(fixture.remotes().repository(&spec, nowhere()).expect("fetched"), first);
    assert!(!entry.join("base").exists(), "nothing of it is left");
}

#[test]
fn executable_files_stay_executable() {
    let fixture = Fixture::new();
    fixture.commit("run.sh", "#!/bin/sh\n");
    fixture.git(&["update-index", "--chmod=+x", "run.sh"]);
    fixture.git(&["commit", "--quiet", "--message=run"]);
    let checkout = fixture.remotes().repository(&fixture.spec("?ref=main"), nowhere()).expect("fetched");
    let run = checkout.clone_dir.join("run.sh");
    assert!(smp_files::DiskTree::is_executable(&run).expect("there"));
    fixture.offline().repository(&fixture.spec("?ref=main"), nowhere()).expect("whole");
}

#[test]
fn submodules_are_checked_out_unless_disabled() {
    let fixture = Fixture::new();
    let served = server::Server::start(fixture.home.path());
    let part = fixture.home.path().join("part");
    fs::create_dir(&part).expect("new");
    git_in(&part, &["init", "--quiet"]);
    fs::write(part.join("inner.yaml"), "a: 1\n").expect("written");
    git_in(&part, &["add", "."]);
    git_in(&part, &["commit", "--quiet", "--message=x"]);
    fixture.git(&["submodule", "--quiet", "add", &served.url("part/.git"), "sub"]);
    // A URL relative to the repository is common.
    fixture.git(&["config", "-f", ".gitmodules", "submodule.sub.url", "../../part/.git"]);
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "--quiet", "--message=sub"]);
    let spec =
        |rest: &str| RepoSpec::parse(&served.url(&format!("upstream/.git{rest}"))).expect("a reference");
    let with = fixture.remotes().repository(&spec("?ref=main"), nowhere()).expect("fetched");
    assert_eq!(read(&with, "sub/inner.yaml"), "a: 1\n");
    let without = fixture.remotes().repository(&spec("?submodules=false"), nowhere()).expect("fetched");
    assert!(!without.clone_dir.join("sub/inner.yaml").exists());
    assert_eq!(with.commit, without.commit);
}

/// Reads a manifest as a loader would: YAML with a kind.
fn manifest(bytes: Vec<u8>) -> Result<String> {
    let text = String::from_utf8(bytes).expect("text");
    if !text.contains("kind:") {
        return Err(Diagnostic::error(Code::MissingField, "no kind"));
    }
    Ok(text)
}

#[cfg(not(feature = "remote"))]
#[test]
fn without_http_files_are_unsupported() {
    let error = Fixture::new().remotes().file("http://127.0.0.1:9/a", nowhere()).expect_err("no HTTP");
    assert_eq!(error.code(), Code::Unsupported);
    let found = Fixture::new().remotes().resource("http://127.0.0.1:9/a", nowhere(), manifest);
    assert_eq!(found.expect_err("no HTTP").code(), Code::Unsupported);
}
