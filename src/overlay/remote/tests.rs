use std::fs;
use std::process::Command;

use super::*;
use crate::source::SourceMap;

pub(in crate::overlay) mod server;

/// A repository `upstream` and a cache beside it.
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

    /// A reference to the repository by `file://`.
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
    checkout.root_in(&checkout.tree()?)
}

fn nowhere() -> Span {
    Span::default()
}

#[test]
fn files_are_told_by_their_scheme() {
    for path in ["https://h/a.yaml", "HTTP://h/a.yaml", "http:a"] {
        assert!(is_remote_file(path), "{path}");
    }
    for path in ["a.yaml", "file:///a", "git@h:a", "git::https://h/o/r", "ssh://h/a", "c:/a", ""] {
        assert!(!is_remote_file(path), "{path}");
    }
}

#[test]
fn branches_are_fetched_in_each_run_and_once_in_it() {
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
    assert!(fixture.remotes().repository(&fixture.spec("?ref=main"), nowhere()).is_err(), "it is gone");
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
fn offline_errors_list_all_that_is_missing() {
    let fixture = Fixture::new();
    let sources = SourceMap::default();
    let text = sources.add("kustomization.yaml", "resources: [x, y]");
    let offline = fixture.offline();
    assert_eq!(offline.missing(), None);
    let spec = fixture.spec("?ref=v2");
    let first = offline.repository(&spec, Span::new(text, 12, 13)).expect_err("not cached");
    assert_eq!((first.code(), first.labels().len()), (Code::NotFetched, 1));
    offline.file("https://me:secret@h.com/a.yaml", Span::new(text, 15, 16)).expect_err("not cached");
    offline.file("https://me:secret@h.com/a.yaml", nowhere()).expect_err("still not");
    let all = offline.missing().expect("two are missing");
    assert!(all.message().starts_with("2 remote references are not in the cache"), "{all}");
    assert_eq!(all.notes(), [format!("missing: {}", spec.raw()), "missing: https://***@h.com/a.yaml".into()]);
    assert_eq!(all.labels().len(), 2);
    assert!(!fixture.cache().exists(), "nothing is written offline");
}

#[test]
fn errors_of_git_say_what_to_do() {
    let fixture = Fixture::new();
    let error = fixture.remotes().repository(&fixture.spec("?ref=nope"), nowhere()).expect_err("no such ref");
    assert_eq!(error.code(), Code::Command);
    assert!(error.message().starts_with("`git fetch` for file://"), "{error}");
    assert!(error.notes().iter().any(|n| n.contains("nope")), "{:?}", error.notes());
    assert_eq!(error.help_text(), Some("check the URL, and that the repository has `nope`"));
    let left = fs::read_dir(fixture.cache()).expect("the cache").count();
    assert_eq!(left, 0, "a failed fetch leaves nothing behind");

    let dash = fixture.spec("?ref=--upload-pack=touch%20/tmp/x");
    let error = fixture.remotes().repository(&dash, nowhere()).expect_err("an option");
    assert_eq!(error.code(), Code::InvalidValue);
}

#[test]
fn slow_servers_are_not_waited_for() {
    let slow = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = slow.local_addr().expect("an address");
    let spec = RepoSpec::parse(&format!("http://{address}/o/r?timeout=300ms")).expect("a reference");
    let error = Fixture::new().remotes().repository(&spec, nowhere()).expect_err("no answer");
    assert!(error.message().ends_with("did not end within 300ms"), "{error}");
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
    assert!(error("nope").message().ends_with("has no directory `nope`"), "{}", error("nope"));
    assert!(error("file.txt").message().contains("is a file"), "{}", error("file.txt"));
    assert!(root_of("/base").expect("below").ends_with("base"), "a further slash does not make it absolute");
    if cfg!(unix) {
        assert_eq!(error("out").code(), Code::OutsideRoot);
        assert!(root_of("in").expect("inside").ends_with("base"));
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_replaced() {
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
fn old_trees_are_removed() {
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
    // What is renamed and aged is the entry, of which the tree is a part.
    let [old, recent] = [old, recent].map(|tree| tree.parent().expect("its entry").to_path_buf());
    for (path, days) in [(&old, 31), (&recent, 29), (&killed, 2)] {
        age(path, days);
    }
    fixture.commit("c.txt", "c");
    fixture.remotes().repository(&spec, nowhere()).expect("fetched");
    assert!(!old.exists() && recent.exists() && !killed.exists());
}

type Change = fn(&Path) -> std::io::Result<()>;

/// What may have become of the entry of a commit.
#[cfg(unix)]
const DAMAGE: [(&str, Change); 9] = [
    ("an edited file", |entry| {
        fs::write(entry.join("tree/base/kustomization.yaml"), "resources: [evil.yaml]\n")
    }),
    ("an emptied file", |entry| fs::write(entry.join("tree/base/kustomization.yaml"), "")),
    ("a further file", |entry| fs::write(entry.join("tree/base/more.yaml"), "")),
    ("an emptied tree", |entry| {
        fs::remove_dir_all(entry.join("tree")).and_then(|()| fs::create_dir(entry.join("tree")))
    }),
    ("no tree", |entry| fs::remove_dir_all(entry.join("tree"))),
    ("no seal", |entry| fs::remove_file(entry.join("seal"))),
    ("a link to a copy", |entry| {
        let elsewhere = entry.with_extension("elsewhere");
        fs::rename(entry.join("tree"), &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, entry.join("tree"))
    }),
    ("a linked entry", |entry| {
        let elsewhere = entry.with_extension("elsewhere");
        fs::rename(entry, &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, entry)
    }),
    ("a linked folder", |entry| {
        let folder = entry.parent().expect("the repository's");
        let elsewhere = folder.with_extension("elsewhere");
        fs::rename(folder, &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, folder)
    }),
];

#[cfg(unix)]
#[test]
fn a_damaged_tree_is_fetched_again() {
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
        if what != "a linked folder" {
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
fn a_tree_that_a_branch_means_is_repaired_too() {
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
fn what_is_found_too_late_for_a_sandbox_says_what_to_do() {
    let fixture = Fixture::new();
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    let [fetched, late] = ["?ref=main".to_string(), "?ref=HEAD".into()].map(|rest| fixture.spec(&rest));
    let remotes = fixture.remotes();
    let known = remotes.repository(&fetched, nowhere()).expect("fetched");
    remotes.run_no_programs();
    assert_eq!(remotes.repository(&fetched, nowhere()).expect("at hand"), known);
    let cached = fixture.spec(&format!("?ref={commit}"));
    assert_eq!(remotes.repository(&cached, nowhere()).expect("in the cache").commit, commit);
    let other_lock = pinned(&remotes, &[], false);
    for remotes in [&remotes, &other_lock] {
        let error = remotes.repository(&late, nowhere()).expect_err("git is needed");
        assert_eq!(error.code(), Code::Remote);
        assert!(
            error.message().ends_with("cannot be fetched in the sandbox, where no program is run"),
            "{error}"
        );
        assert!(error.help_text().is_some_and(|help| help.contains("--sandbox=off")), "{error:?}");
    }
}

#[test]
fn programs_that_can_be_run_stay_so() {
    let fixture = Fixture::new();
    fixture.commit("run.sh", "#!/bin/sh\n");
    fixture.git(&["update-index", "--chmod=+x", "run.sh"]);
    fixture.git(&["commit", "--quiet", "--message=run"]);
    let checkout = fixture.remotes().repository(&fixture.spec("?ref=main"), nowhere()).expect("fetched");
    let run = checkout.clone_dir.join("run.sh");
    assert!(crate::files::DiskTree::is_executable(&run).expect("there"));
    fixture.offline().repository(&fixture.spec("?ref=main"), nowhere()).expect("whole");
}

/// What `remotes` says, by a lock with some entries.
fn pinned(remotes: &Remotes, entries: &[(RemoteReference, &str)], enforced: bool) -> Remotes {
    let remotes_of_lock =
        entries.iter().map(|(reference, version)| (reference.clone(), (*version).to_string()));
    let lock = LockFile { remotes: remotes_of_lock.collect(), schemas: Vec::new() };
    remotes.pinned_by(Pins { lock: Some(Arc::new(lock)), name: "smp.lock".into(), enforced })
}

#[test]
fn a_locked_branch_stays_at_its_commit() {
    let fixture = Fixture::new();
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    fixture.commit("base/kustomization.yaml", "resources: [b.yaml]\n");
    let spec = fixture.spec("//base?ref=main");
    let entry = [(RemoteReference::repository(&spec.url(), "main"), commit.as_str())];
    for enforced in [false, true] {
        let remotes = pinned(&fixture.remotes(), &entry, enforced);
        let found = remotes.repository(&spec, nowhere()).expect("fetched");
        assert_eq!((&found.commit, remotes.take_warnings().len()), (&commit, 0));
        assert_eq!(read(&found, "base/kustomization.yaml"), "resources: [a.yaml]\n");
        assert_eq!(remotes.used(), [(entry[0].0.clone(), commit.clone())].into());
    }
    fixture.hide();
    let remotes = pinned(&fixture.remotes(), &entry, true);
    assert_eq!(remotes.repository(&spec, nowhere()).expect("nobody is asked").commit, commit);
    let offline = pinned(&fixture.offline(), &entry, true);
    assert_eq!(offline.repository(&spec, nowhere()).expect("cached").commit, commit);
}

#[test]
fn what_is_not_locked_is_a_warning_or_an_error() {
    let fixture = Fixture::new();
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    let [main, fixed] = ["?ref=main".to_string(), format!("?ref={commit}")].map(|rest| fixture.spec(&rest));
    let remotes = pinned(&fixture.remotes(), &[], false);
    for spec in [&main, &fixed, &main] {
        remotes.repository(spec, nowhere()).expect("fetched");
    }
    let warnings = remotes.take_warnings();
    assert_eq!(warnings.len(), 1, "only of the branch, and once: {warnings:?}");
    assert_eq!(warnings[0].message(), format!("`{}` is not in smp.lock", main.raw()));

    let remotes = pinned(&fixture.remotes(), &[], true);
    for spec in [&main, &fixed] {
        remotes.repository(spec, nowhere()).expect_err("not locked");
    }
    let error = remotes.missing().expect("two are missing");
    assert_eq!(error.code(), Code::NotFetched);
    assert_eq!(error.message(), "2 remote references are not in smp.lock, which must have all");
    assert_eq!(error.notes(), [format!("missing: {}", main.raw()), format!("missing: {}", fixed.raw())]);
}

#[test]
fn a_commit_that_the_server_does_not_have_is_an_error() {
    let fixture = Fixture::new();
    let spec = fixture.spec("?ref=main");
    let gone = "0123456789abcdef0123456789abcdef01234567";
    let entry = [(RemoteReference::repository(&spec.url(), "main"), gone)];
    let error =
        pinned(&fixture.remotes(), &entry, false).repository(&spec, nowhere()).expect_err("not there");
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains(gone) && error.message().contains("`main`"), "{error}");
}

#[test]
fn submodules_are_checked_out_unless_told_otherwise() {
    let fixture = Fixture::new();
    let served = server::Server::start(fixture.home.path());
    let part = fixture.home.path().join("part");
    fs::create_dir(&part).expect("new");
    git_in(&part, &["init", "--quiet"]);
    fs::write(part.join("inner.yaml"), "a: 1\n").expect("written");
    git_in(&part, &["add", "."]);
    git_in(&part, &["commit", "--quiet", "--message=x"]);
    fixture.git(&["submodule", "--quiet", "add", &served.url("part/.git"), "sub"]);
    // Relative to the repository, as many write it.
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

/// As a loader would read a file: YAML with a kind.
fn manifest(bytes: Vec<u8>) -> Result<String> {
    let text = String::from_utf8(bytes).expect("text");
    if !text.contains("kind:") {
        return Err(Diagnostic::error(Code::MissingField, "no kind"));
    }
    Ok(text)
}

#[cfg(feature = "remote")]
mod over_http {
    use super::*;

    #[test]
    fn files_are_fetched_and_kept_for_offline_runs() {
        let fixture = Fixture::new();
        fs::write(fixture.home.path().join("a.yaml"), "kind: A\n").expect("written");
        let served = server::Server::start(fixture.home.path());
        let url = served.url("a.yaml");
        let remotes = fixture.remotes();
        for _ in 0..2 {
            assert_eq!(remotes.file(&url, nowhere()).expect("fetched"), b"kind: A\n");
        }
        assert_eq!(served.requests(), ["GET /a.yaml"], "once in a run");
        fixture.remotes().file(&url, nowhere()).expect("fetched");
        assert_eq!(served.requests().len(), 2, "in each run");
        assert_eq!(fixture.offline().file(&url, nowhere()).expect("kept"), b"kind: A\n");
        assert_eq!(served.requests().len(), 2, "never offline");
    }

    #[test]
    fn locked_files_must_be_what_they_were() {
        let fixture = Fixture::new();
        let path = fixture.home.path().join("a.yaml");
        fs::write(&path, "kind: A\n").expect("written");
        let served = server::Server::start(fixture.home.path());
        let url = served.url("a.yaml");
        let sha256 = hex(&Sha256::digest("kind: A\n"));
        let entry = [(RemoteReference::file(&url), sha256.as_str())];
        for (remotes, requests) in [(fixture.remotes(), 1), (fixture.remotes(), 1), (fixture.offline(), 1)] {
            let remotes = pinned(&remotes, &entry, true);
            assert_eq!(remotes.file(&url, nowhere()).expect("locked"), b"kind: A\n");
            assert_eq!(served.requests().len(), requests, "what is cached is not asked for");
            assert_eq!(remotes.used(), [(entry[0].0.clone(), sha256.clone())].into());
        }
        fs::write(&path, "kind: B\n").expect("written");
        fixture.remotes().file(&url, nowhere()).expect("without a lock the cache has the new one");
        for enforced in [false, true] {
            let remotes = pinned(&fixture.remotes(), &entry, enforced);
            let found = remotes.resource(&url, nowhere(), manifest).expect_err("another one");
            let error = remotes.file(&url, nowhere()).expect_err("another one");
            assert_eq!((error.code(), found), (Code::Locked, error.clone()));
            assert!(error.message().ends_with("is not what smp.lock says"), "{error}");
            assert!(error.notes().contains(&format!("locked is {sha256}")), "{error:?}");
        }
        let error = pinned(&fixture.offline(), &entry, true).file(&url, nowhere()).expect_err("not cached");
        assert_eq!(error.code(), Code::NotFetched);
        let error = pinned(&fixture.remotes(), &[], true).resource(&url, nowhere(), manifest);
        assert_eq!(error.expect_err("not locked").code(), Code::NotFetched);
    }

    #[test]
    fn a_locked_repository_is_not_asked_for_as_a_file() {
        let fixture = Fixture::new();
        let served = server::Server::start(fixture.home.path());
        let url = served.url("upstream/.git//base?ref=main");
        let commit = fixture.git(&["rev-parse", "HEAD"]);
        let spec = RepoSpec::parse(&url).expect("a reference");
        let entry = [(RemoteReference::repository(&spec.url(), "main"), commit.as_str())];
        pinned(&fixture.remotes(), &entry, true).resource(&url, nowhere(), manifest).expect("fetched");
        let asked = served.requests();
        assert!(asked.iter().all(|request| request.contains("upstream/.git/")), "{asked:?}");
        pinned(&fixture.remotes(), &entry, true).resource(&url, nowhere(), manifest).expect("cached");
        assert_eq!(served.requests(), asked, "nobody is asked");
    }

    #[test]
    fn damaged_files_count_as_absent() {
        let fixture = Fixture::new();
        fs::write(fixture.home.path().join("a.yaml"), "kind: A\n").expect("written");
        let served = server::Server::start(fixture.home.path());
        let url = served.url("a.yaml").replace("http://", "http://me:secret@");
        fixture.remotes().file(&url, nowhere()).expect("fetched");
        let files: Vec<_> = fs::read_dir(fixture.cache().join("files")).expect("there").collect();
        let path = files.into_iter().next().expect("one").expect("an entry").path();
        let kept = fs::read_to_string(&path).expect("text");
        assert!(!kept.contains("secret") && kept.contains("/a.yaml"), "{kept}");
        fs::write(&path, kept.replace("kind: A", "kind: B")).expect("written");
        assert_eq!(fixture.offline().file(&url, nowhere()).expect_err("damaged").code(), Code::NotFetched);
        fixture.remotes().file(&url, nowhere()).expect("fetched");
        assert_eq!(fixture.offline().file(&url, nowhere()).expect("kept"), b"kind: A\n");
    }

    #[test]
    fn what_is_too_large_is_not_read_to_its_end() {
        let fixture = Fixture::new();
        let served = server::Server::start(fixture.home.path());
        fs::write(fixture.home.path().join("a"), vec![b'a'; 1000]).expect("written");
        fs::write(fixture.home.path().join("b.gz"), server::zeros(100_000)).expect("written");
        assert_eq!(http::get(&served.url("a"), 1000).map(|content| content.len()), Ok(1000));
        assert_eq!(http::get(&served.url("a"), 999), Err(HttpFailure::TooLarge(999)));
        assert!(server::zeros(100_000).len() < 2000, "it is small on the way");
        let bomb = served.url("b.gz");
        assert_eq!(http::get(&bomb, 50_000), Err(HttpFailure::TooLarge(50_000)));
        let whole = http::get(&bomb, 200_000).map(|content| content.iter().all(|byte| *byte == 0));
        assert_eq!(whole, Ok(true));
    }

    #[test]
    fn a_name_in_the_url_is_sent() {
        let fixture = Fixture::new();
        fs::write(fixture.home.path().join("a.yaml"), "kind: A\n").expect("written");
        let served = server::Server::start(fixture.home.path());
        let url = served.url("a.yaml").replace("http://", "http://me:secret@");
        fixture.remotes().file(&url, nowhere()).expect("fetched");
        assert_eq!(served.requests(), ["GET /a.yaml by Basic bWU6c2VjcmV0"]);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let fixture = Fixture::new();
        let served = server::Server::start(fixture.home.path());
        let error = fixture.remotes().file(&served.url("nope.yaml"), nowhere()).expect_err("not there");
        assert!(error.message().ends_with("the server answered with status 404"), "{error}");
        let found = fixture.remotes().resource(&served.url("nope.yaml"), nowhere(), manifest);
        assert_eq!(found.expect_err("no repository either").message(), error.message());
        assert!(!served.requests().iter().any(|r| r.contains("info/refs")), "git was not asked");
    }

    #[test]
    fn a_server_that_is_not_there_is_an_error() {
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
        let error = Fixture::new().remotes().file(&format!("http://127.0.0.1:{port}/a"), nowhere());
        assert_eq!(error.expect_err("nobody answers").code(), Code::Remote);
    }

    #[test]
    fn a_url_is_tried_as_a_file_first() {
        let fixture = Fixture::new();
        fs::create_dir(fixture.home.path().join("site")).expect("new");
        fs::write(fixture.home.path().join("site/all.yaml"), "kind: A\n").expect("written");
        fs::write(fixture.home.path().join("site/page"), "<html>").expect("written");
        let served = server::Server::start(fixture.home.path());
        let resource = |path: &str| fixture.remotes().resource(&served.url(path), nowhere(), manifest);
        assert!(
            matches!(resource("site/all.yaml").expect("a file"), Found::File(text) if text == "kind: A\n")
        );
        let Found::Repository(checkout) = resource("upstream/.git//base?ref=main").expect("a repository")
        else {
            panic!("a file");
        };
        assert!(root(&checkout).expect("a directory").path().ends_with("base"));
        // A page that is no manifest and no repository: both reasons are given.
        let error = resource("site/page").expect_err("neither");
        assert!(error.message().starts_with("`git fetch` for http://127.0.0.1"), "{error}");
        assert!(error.notes().iter().any(|n| n == "as a file: no kind"), "{:?}", error.notes());
    }

    #[test]
    fn a_cached_commit_asks_nobody() {
        let fixture = Fixture::new();
        let served = server::Server::start(fixture.home.path());
        let commit = fixture.git(&["rev-parse", "HEAD"]);
        let url = served.url(&format!("upstream/.git//base?ref={commit}"));
        fixture.remotes().resource(&url, nowhere(), manifest).expect("fetched");
        let before = served.requests().len();
        fixture.remotes().resource(&url, nowhere(), manifest).expect("cached");
        fixture.offline().resource(&url, nowhere(), manifest).expect("cached");
        assert_eq!(served.requests().len(), before);
    }
}

#[cfg(not(feature = "remote"))]
#[test]
fn without_http_files_are_unsupported() {
    let error = Fixture::new().remotes().file("http://127.0.0.1:9/a", nowhere()).expect_err("no HTTP");
    assert_eq!(error.code(), Code::Unsupported);
    let found = Fixture::new().remotes().resource("http://127.0.0.1:9/a", nowhere(), manifest);
    assert_eq!(found.expect_err("no HTTP").code(), Code::Unsupported);
}
