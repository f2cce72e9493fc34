//! Tests of files over HTTP, locked and unlocked.

use super::locked::pinned;
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
fn locked_files_must_match_their_checksum() {
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
        assert_eq!(served.requests().len(), requests, "cached files are not requested");
        assert_eq!(remotes.used_references(), [(entry[0].0.clone(), sha256.clone())].into());
    }
    fs::write(&path, "kind: B\n").expect("written");
    fixture.remotes().file(&url, nowhere()).expect("without a lock the cache has the new one");
    for enforced in [false, true] {
        let remotes = pinned(&fixture.remotes(), &entry, enforced);
        let found = remotes.resource(&url, nowhere(), manifest).expect_err("another one");
        let error = remotes.file(&url, nowhere()).expect_err("another one");
        assert_eq!((error.code(), found), (Code::Locked, error.clone()));
        assert!(error.message().ends_with("does not match smp.lock"), "{error}");
        assert!(error.notes().contains(&format!("locked SHA-256: {sha256}")), "{error:?}");
    }
    let error = pinned(&fixture.offline(), &entry, true).file(&url, nowhere()).expect_err("not cached");
    assert_eq!(error.code(), Code::NotFetched);
    let error = pinned(&fixture.remotes(), &[], true).resource(&url, nowhere(), manifest);
    assert_eq!(error.expect_err("not locked").code(), Code::NotFetched);
}

#[test]
fn locked_repository_is_not_requested_as_a_file() {
    let fixture = Fixture::new();
    let served = server::Server::start(fixture.home.path());
    let url = served.url("upstream/.git//base?ref=main");
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    let spec = RepoSpec::parse(&url).expect("a reference");
    let entry = [(RemoteReference::repository(&spec.url(), "main"), commit.as_str())];
    pinned(&fixture.remotes(), &entry, true).resource(&url, nowhere(), manifest).expect("fetched");
    let requested = served.requests();
    assert!(requested.iter().all(|request| request.contains("upstream/.git/")), "{requested:?}");
    pinned(&fixture.remotes(), &entry, true).resource(&url, nowhere(), manifest).expect("cached");
    assert_eq!(served.requests(), requested, "no requests are made");
}

#[test]
fn damaged_cached_files_are_ignored() {
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
fn too_large_files_are_not_read_completely() {
    let fixture = Fixture::new();
    let served = server::Server::start(fixture.home.path());
    fs::write(fixture.home.path().join("a"), vec![b'a'; 1000]).expect("written");
    fs::write(fixture.home.path().join("b.gz"), server::zeros(100_000)).expect("written");
    assert_eq!(http::get(&served.url("a"), 1000).map(|content| content.len()), Ok(1000));
    assert_eq!(http::get(&served.url("a"), 999), Err(HttpFailure::TooLarge(999)));
    assert!(server::zeros(100_000).len() < 2000, "it is small when compressed");
    let bomb = served.url("b.gz");
    assert_eq!(http::get(&bomb, 50_000), Err(HttpFailure::TooLarge(50_000)));
    let whole = http::get(&bomb, 200_000).map(|content| content.iter().all(|byte| *byte == 0));
    assert_eq!(whole, Ok(true));
}

#[test]
fn credentials_in_the_url_are_sent() {
    let fixture = Fixture::new();
    fs::write(fixture.home.path().join("a.yaml"), "kind: A\n").expect("written");
    let served = server::Server::start(fixture.home.path());
    let url = served.url("a.yaml").replace("http://", "http://me:secret@");
    fixture.remotes().file(&url, nowhere()).expect("fetched");
    assert_eq!(served.requests(), ["GET /a.yaml by Basic bWU6c2VjcmV0"]);
}

#[test]
fn missing_file_is_an_error() {
    let fixture = Fixture::new();
    let served = server::Server::start(fixture.home.path());
    let error = fixture.remotes().file(&served.url("nope.yaml"), nowhere()).expect_err("not there");
    assert!(error.message().ends_with("server returned status 404"), "{error}");
    let found = fixture.remotes().resource(&served.url("nope.yaml"), nowhere(), manifest);
    assert_eq!(found.expect_err("no repository either").message(), error.message());
    assert!(!served.requests().iter().any(|r| r.contains("info/refs")), "git was not run");
}

#[test]
fn unreachable_server_is_an_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
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
        matches!(resource("site/all.yaml").expect("a file"), RemoteResource::File(text) if text == "kind: A\n")
    );
    let RemoteResource::Repository(checkout) =
        resource("upstream/.git//base?ref=main").expect("a repository")
    else {
        panic!("a file");
    };
    assert!(root(&checkout).expect("a directory").path().ends_with("base"));
    // The page is neither a manifest nor a repository, so the error has both reasons.
    let error = resource("site/page").expect_err("neither");
    assert!(error.message().starts_with("`git fetch` for http://127.0.0.1"), "{error}");
    assert!(
        error.notes().iter().any(|n| n == "fetching it as a file failed, too: no kind"),
        "{:?}",
        error.notes()
    );
}

#[test]
fn cached_commit_makes_no_requests() {
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
