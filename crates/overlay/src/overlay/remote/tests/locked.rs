//! Tests of locked repositories.

use super::*;

/// Returns `remotes` with a lock file of the given entries.
pub(super) fn pinned(remotes: &Remotes, entries: &[(RemoteReference, &str)], enforced: bool) -> Remotes {
    let remotes_of_lock =
        entries.iter().map(|(reference, version)| (reference.clone(), (*version).to_string()));
    let lock = LockFile { remotes: remotes_of_lock.collect(), schemas: Vec::new() };
    remotes.with_pins(Pins { lock: Some(Arc::new(lock)), name: "smp.lock".into(), enforced })
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
        assert_eq!(remotes.used_references(), [(entry[0].0.clone(), commit.clone())].into());
    }
    fixture.hide();
    let remotes = pinned(&fixture.remotes(), &entry, true);
    assert_eq!(remotes.repository(&spec, nowhere()).expect("no network access").commit, commit);
    let offline = pinned(&fixture.offline(), &entry, true);
    assert_eq!(offline.repository(&spec, nowhere()).expect("cached").commit, commit);
}

#[test]
fn unlocked_references_are_a_warning_or_an_error() {
    let fixture = Fixture::new();
    let commit = fixture.git(&["rev-parse", "HEAD"]);
    let [main, fixed] = ["?ref=main".to_string(), format!("?ref={commit}")].map(|rest| fixture.spec(&rest));
    let remotes = pinned(&fixture.remotes(), &[], false);
    for spec in [&main, &fixed, &main] {
        remotes.repository(spec, nowhere()).expect("fetched");
    }
    let warnings = remotes.take_warnings();
    assert_eq!(warnings.len(), 1, "one warning, for the branch: {warnings:?}");
    assert_eq!(warnings[0].message(), format!("`{}` is not in smp.lock", main.raw()));

    let remotes = pinned(&fixture.remotes(), &[], true);
    for spec in [&main, &fixed] {
        remotes.repository(spec, nowhere()).expect_err("not locked");
    }
    let error = remotes.missing_references_error().expect("two are missing");
    assert_eq!(error.code(), Code::NotFetched);
    assert_eq!(error.message(), "2 remote references are not in smp.lock, but --locked requires all of them");
    assert_eq!(error.notes(), [format!("missing: {}", main.raw()), format!("missing: {}", fixed.raw())]);
}

#[test]
fn locked_commit_missing_on_the_server_is_an_error() {
    let fixture = Fixture::new();
    let spec = fixture.spec("?ref=main");
    let gone = "0123456789abcdef0123456789abcdef01234567";
    let entry = [(RemoteReference::repository(&spec.url(), "main"), gone)];
    let error =
        pinned(&fixture.remotes(), &entry, false).repository(&spec, nowhere()).expect_err("not there");
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains(gone) && error.message().contains("`main`"), "{error}");
}
