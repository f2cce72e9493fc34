use super::*;

fn parse(reference: &str) -> RepoSpec {
    RepoSpec::parse(reference).unwrap_or_else(|e| panic!("{reference}: {e}"))
}

/// Returns a reference in one line: host, repository, directory, branch or tag.
fn shape(reference: &str) -> String {
    let spec = parse(reference);
    format!("{} {} [{}] {}", spec.host, spec.repository, spec.directory, spec.revision).trim_end().to_string()
}

/// References and their parts: host, repository, directory, version.
const REFERENCES: &[(&str, &str)] = &[
    // GitHub without a scheme, in any case, with a slash or a colon.
    ("github.com/org/repo", "https://github.com/ org/repo []"),
    ("GitHub.com/org/repo", "https://github.com/ org/repo []"),
    ("github.com:org/repo", "https://github.com/ org/repo []"),
    ("github.com/org/repo/", "https://github.com/ org/repo []"),
    ("github.com/org/repo/overlays/prod", "https://github.com/ org/repo [overlays/prod]"),
    ("github.com/org/repo//overlays/prod", "https://github.com/ org/repo [overlays/prod]"),
    ("github.com/org/repo.git/overlays/prod", "https://github.com/ org/repo.git [overlays/prod]"),
    ("github.com/org/repo?ref=v1.2.3", "https://github.com/ org/repo [] v1.2.3"),
    ("github.com/org/repo/a?ref=feature/x", "https://github.com/ org/repo [a] feature/x"),
    // GitHub with a scheme or a user is normalized to one of two forms.
    ("https://github.com/org/repo", "https://github.com/ org/repo []"),
    ("http://github.com/org/repo/a", "https://github.com/ org/repo [a]"),
    ("HTTPS://GITHUB.com/org/repo/a", "https://github.com/ org/repo [a]"),
    ("git@github.com:org/repo", "git@github.com: org/repo []"),
    ("git@github.com/org/repo/a", "git@github.com: org/repo [a]"),
    ("org-1234@github.com:org/repo.git", "org-1234@github.com: org/repo.git []"),
    ("ssh://git@github.com/org/repo", "git@github.com: org/repo []"),
    ("ssh://github.com/org/repo", "github.com: org/repo []"),
    ("https://git@github.com/org/repo", "git@github.com: org/repo []"),
    // `git::` is stripped.
    ("git::https://gitlab.com/org/repo//a?ref=main", "https://gitlab.com/ org/repo [a] main"),
    ("GIT::git@gitlab.com:org/repo.git", "git@gitlab.com: org/repo.git []"),
    // Other hosts: two segments, unless there is an explicit end of the repository.
    ("https://gitlab.com/org/repo/a/b", "https://gitlab.com/ org/repo [a/b]"),
    ("https://gitlab.com/org/group/repo//a/b", "https://gitlab.com/ org/group/repo [a/b]"),
    ("https://gitlab.com/org/group/repo.git/a", "https://gitlab.com/ org/group/repo.git [a]"),
    ("https://gitlab.com/org/repo.git//a", "https://gitlab.com/ org/repo.git [a]"),
    ("https://gitlab.com/org/repo.git?ref=x", "https://gitlab.com/ org/repo.git [] x"),
    ("https://example.com//repo", "https://example.com/ /repo []"),
    ("https://example.com/repo.git", "https://example.com/ repo.git []"),
    ("https://user:secret@example.com/org/repo", "https://user:secret@example.com/ org/repo []"),
    ("ssh://git@example.com:7999/org/repo.git", "ssh://git@example.com:7999/ org/repo.git []"),
    ("git@example.com:org/repo.git/a", "git@example.com: org/repo.git [a]"),
    ("git@example.com:org/repo//a", "git@example.com: org/repo [a]"),
    ("git@example.com/org/repo//a", "git@example.com/ org/repo [a]"),
    ("git@example.com:/srv/repo.git//a", "git@example.com: /srv/repo.git [a]"),
    // Azure: the name after `_git/` ends the repository.
    (
        "https://me@dev.azure.com/org/project/_git/repo/a/b?ref=main",
        "https://me@dev.azure.com/ org/project/_git/repo [a/b] main",
    ),
    ("https://fabrikam.visualstudio.com/_git/repo", "https://fabrikam.visualstudio.com/ _git/repo []"),
    ("https://x.com/a/_git/repo//b", "https://x.com/ a/_git/repo [b]"),
    // CodeCommit.
    (
        "https://git-codecommit.us-east-2.amazonaws.com/v1/repos/name//a",
        "https://git-codecommit.us-east-2.amazonaws.com/ v1/repos/name [a]",
    ),
    // Local repositories.
    ("file:///srv/repo", "file:// /srv/repo []"),
    ("file:///srv/repo//a/b?ref=main", "file:// /srv/repo [a/b] main"),
    ("file:///srv/a@b/repo.git/a", "file:// /srv/a@b/repo.git [a]"),
    ("file://git@host/repo.git", "file:// git@host/repo.git []"),
    // Directories may contain `..` if they remain within the repository.
    ("https://github.com/org/repo//a/../b", "https://github.com/ org/repo [a/../b]"),
];

#[test]
fn references_are_parsed() {
    for &(reference, want) in REFERENCES {
        assert_eq!(shape(reference), want, "{reference}");
    }
}

#[test]
fn invalid_references_are_rejected() {
    let table = [
        ("/abs/path/repo.git", "absolute"),
        ("../base", "scheme"),
        ("base", "scheme"),
        ("", "scheme"),
        ("base.git/a", "scheme"),
        ("example.com/org/repo", "scheme"),
        ("example.com:org/repo", "scheme"),
        ("ftp://example.com/org/repo", "scheme"),
        ("git@", "host"),
        ("ssh://git@", "host"),
        ("https://example.com", "repository"),
        ("https://example.com/", "repository"),
        ("https://example.com/org", "repository"),
        ("https://example.com///org", "repository"),
        ("file://", "repository"),
        ("github.com/org", "repository"),
        ("https://github.com/org/repo//../a", "is outside"),
        ("https://github.com/org/repo//a/../../b", "is outside"),
        ("https://github.com/org/repo.git/../../b", "is outside"),
    ];
    for (reference, want) in table {
        let error = RepoSpec::parse(reference).expect_err(reference);
        assert!(error.message().contains(want), "{reference}: {error}");
    }
}

#[test]
fn timeouts_are_parsed() {
    let seconds = |query: &str| parse(&format!("github.com/o/r?{query}")).timeout.as_secs_f64();
    let table = [
        ("timeout=61", 61.0),
        ("timeout=%2B61", 61.0),
        ("timeout=61s", 61.0),
        ("timeout=1m1.5s", 61.5),
        ("timeout=300ms", 0.3),
        ("timeout=1h", 3600.0),
        ("timeout=0", 27.0),
        ("timeout=-5", 27.0),
        ("timeout=-5s", 27.0),
        ("timeout=5x", 27.0),
        ("timeout=61.5", 27.0),
        ("timeout=", 27.0),
        ("timeout=5&timeout=9", 5.0),
        ("", 27.0),
    ];
    for (query, want) in table {
        assert!((seconds(query) - want).abs() < 1e-9, "{query}: {}", seconds(query));
    }
}

#[test]
fn submodules_and_versions_are_parsed() {
    let submodules = |query: &str| parse(&format!("github.com/o/r?{query}")).submodules;
    for (query, want) in
        [("submodules=0", false), ("submodules=False", false), ("submodules=no", true), ("", true)]
    {
        assert_eq!(submodules(query), want, "{query}");
    }
    let revision = |query: &str| parse(&format!("github.com/o/r?{query}")).revision;
    let table = [
        ("ref=main", "main"),
        ("version=v1", "v1"),
        ("version=v1&ref=v2", "v2"),
        ("ref=&version=v1", "v1"),
        ("ref=a%2Fb+c", "a/b c"),
        ("ref=a/b?c", "a/b?c"),
        ("REF=main", ""),
        // If one parameter is invalid, all of them are ignored.
        ("ref=main&x=%zz", ""),
        ("ref=main&x=%4", ""),
        ("ref=main;timeout=1", ""),
    ];
    for (query, want) in table {
        assert_eq!(revision(query), want, "{query}");
    }
}

#[test]
fn pinned_references_are_full_hashes() {
    let pinned = |reference: &str| parse(&format!("github.com/o/r?ref={reference}")).is_pinned();
    assert!(pinned("0123456789abcdef0123456789abcdef01234567"));
    assert!(pinned(&"a".repeat(64)));
    assert!(!pinned("0123456789abcdef0123456789abcdef0123456"));
    assert!(!pinned("v1.0"));
    assert!(!pinned(&"g".repeat(40)));
    assert!(!pinned(""));
}

#[test]
fn secrets_are_not_shown() {
    let table = [
        ("https://me:secret@h.com/o/r?ref=a@b", "https://***@h.com/o/r?ref=a@b"),
        ("git::https://token@h.com/o/r", "git::https://***@h.com/o/r"),
        ("ssh://git@h.com/o/r", "ssh://git@h.com/o/r"),
        ("ssh://git:secret@h.com/o/r", "ssh://git:***@h.com/o/r"),
        ("https://h.com/o/r@x", "https://h.com/o/r@x"),
        ("git@h.com:o/r", "git@h.com:o/r"),
    ];
    for (url, want) in table {
        assert_eq!(without_password(url), want);
    }
}

#[test]
fn cycles_are_found_by_prefix() {
    let (long, short) = (parse("github.com/o/r//a?ref=v1"), parse("github.com/o/r//a"));
    assert!(short.is_cycle_with(&long));
    assert!(long.is_cycle_with(&long));
    assert!(!long.is_cycle_with(&short));
}

#[test]
fn urls_are_stored_without_secrets() {
    let table = [
        ("https://h/o/r", "https://h/o/r"),
        ("https://me:secret@h/o/r?ref=v1", "https://h/o/r?ref=v1"),
        ("https://token@h/o/r", "https://h/o/r"),
        ("git::https://me:secret@h/o/r", "git::https://h/o/r"),
        ("ssh://git:secret@h/o/r", "ssh://git@h/o/r"),
        ("ssh://git@h/o/r", "ssh://git@h/o/r"),
        ("git@h:o/r", "git@h:o/r"),
        ("https://h/a.yaml?token=x", "https://h/a.yaml"),
        ("https://h/a.yaml?v=1&X-Amz-Signature=x&X-Amz-Credential=y&w=2", "https://h/a.yaml?v=1&w=2"),
        ("https://h/a.yaml?sv=1&sig=x&private_token=y&Key=z", "https://h/a.yaml?sv=1"),
        ("https://h/a.yaml?keyboard=x", "https://h/a.yaml?keyboard=x"),
    ];
    for (url, want) in table {
        assert_eq!(without_secrets(url), want, "{url}");
    }
}
