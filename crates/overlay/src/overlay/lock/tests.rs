use std::sync::Arc;

use super::*;
use smp_files::{DiskTree, MemoryTree};
use smp_merge::schema::Gvk;
use smp_text::source::SourceMap;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn read_in(sources: &SourceMap, text: &str) -> Result<LockFile> {
    let source = sources.add("smp.lock", text);
    let remotes = LockFile::read(sources, source)?;
    Ok(LockFile { schemas: LockFile::read_schemas(sources, source)?, ..remotes })
}

fn read(text: &str) -> Result<LockFile> {
    read_in(&SourceMap::default(), text)
}

/// Returns the location and the message of an error.
fn error(text: &str) -> String {
    let sources = SourceMap::default();
    let problem = read_in(&sources, text).expect_err(text);
    let location = problem.labels().first().and_then(|label| sources.describe(label.span));
    format!("{}: {}", location.unwrap_or_default(), problem.message())
}

fn lock() -> LockFile {
    let document = serde_json::json!({"openapi": "3.0.0", "components": {"schemas": {"a.Thing": {
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
        "properties": {"size": {"type": "number", "default": 1.5}, "text": {"default": "é\u{1f600}\n\"\u{1}<"}},
    }}}});
    let gvk = Gvk::from_manifest("example.com/v1", "Thing");
    LockFile {
        remotes: [
            (RemoteReference::file("https://me:secret@h/b.yaml?token=x&v=1"), "b".repeat(64)),
            (RemoteReference::repository("https://me:secret@h/o/r", "main"), COMMIT.to_string()),
            (RemoteReference::repository("https://h/o/r", ""), COMMIT.to_string()),
        ]
        .into(),
        schemas: vec![LockedSchema::new(gvk, "/openapi/v3".into(), "v1.36.0".into(), document)],
    }
}

#[test]
fn written_lock_file_is_read_back() {
    let (lock, text) = (lock(), lock().to_text().expect("text"));
    assert_eq!(read(&text).expect("readable"), lock);
    assert_eq!(read(&text).and_then(|lock| lock.to_text()), Ok(text));
    assert!(lock.schemas[0].graph().is_ok());
}

#[test]
fn text_is_sorted_and_has_no_secrets() {
    let text = LockFile { schemas: Vec::new(), ..lock() }.to_text().expect("text");
    insta::assert_snapshot!(text, @r#"
    {
      "version": 1,
      "remotes": [
        {
          "url": "https://h/o/r",
          "ref": "HEAD",
          "commit": "0123456789abcdef0123456789abcdef01234567"
        },
        {
          "url": "https://h/o/r",
          "ref": "main",
          "commit": "0123456789abcdef0123456789abcdef01234567"
        },
        {
          "url": "https://h/b.yaml?v=1",
          "sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
        }
      ],
      "schemas": []
    }
    "#);
}

#[test]
fn references_with_different_secrets_are_equal() {
    let same = RemoteReference::repository("https://h/o/r", "main");
    assert_eq!(RemoteReference::repository("https://me:secret@h/o/r", "main"), same);
    assert_ne!(RemoteReference::repository("https://h/o/r", "v1"), same);
    assert_eq!(RemoteReference::repository("x", ""), RemoteReference::repository("x", "HEAD"));
}

#[test]
fn errors_have_a_location() {
    let remotes = |entries: &str| format!("{{\"version\": 1,\n \"remotes\": [{entries}]}}");
    let repository = format!("{{\"url\": \"u\", \"ref\": \"r\", \"commit\": \"{COMMIT}\"}}");
    let table = [
        (String::new(), "1:1: lock file is not valid JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"version\": 1,\n  x}".into(), "2:3: lock file is not valid JSON: key must be a string"),
        ("version: 1".into(), "1:1: lock file is not valid JSON"),
        ("[]".into(), "1:1: a lock file must be an object"),
        ("{}".into(), "1:1: a lock file must have `version`"),
        ("{\"version\": 2}".into(), "1:13: unsupported lock file version 2, expected 1"),
        ("{\"version\": \"1\"}".into(), "1:13: `version` must be a number"),
        ("{\"version\": 1, \"remote\": []}".into(), "1:26: unknown field `remote` in a lock file"),
        ("{\"version\": 1, \"remotes\": {}}".into(), "1:27: `remotes` must be a list"),
        ("{\"version\": 1, \"version\": 1}".into(), "1:16: "),
        (remotes("1"), "2:14: a locked reference must be an object"),
        (remotes("{}"), "2:14: missing field `url`"),
        (remotes("{\"url\": 1}"), "2:22: `url` must be a string"),
        (remotes("{\"url\": \"u\"}"), "2:14: a locked reference must have `ref` and `commit`, or `sha256`"),
        (remotes("{\"url\": \"u\", \"ref\": null}"), "2:34: `ref` must be a string"),
        (
            remotes("{\"url\": \"u\", \"ref\": \"r\", \"commit\": \"main\"}"),
            "2:14: `main` is not a full commit hash",
        ),
        (remotes("{\"url\": \"u\", \"sha256\": \"x\"}"), "2:14: `x` is not a SHA-256"),
        (
            remotes(&format!("{repository},\n  {repository}")),
            "3:3: duplicate entry: this reference is already locked",
        ),
        (
            remotes(&repository.replace("\"r\"", &format!("\"{}\"", "a".repeat(40)))),
            "2:14: `ref` is the commit aaaa",
        ),
        ("{\"version\": 1, \"schemas\": [{\"gvk\": 1}]}".into(), "1:28: missing field `schema`"),
    ];
    for (text, want) in table {
        let found = error(&text);
        assert!(found.starts_with(&format!("smp.lock:{want}")), "{text}: {found}, not {want}");
    }
}

#[test]
fn changed_schema_is_an_error() {
    let text = lock().to_text().expect("text");
    let error = error(&text.replace("\"number\"", "\"integer\""));
    assert!(error.ends_with("schema of example.com/v1 Thing does not match its `sha256`"), "{error}");
    assert!(error.starts_with("smp.lock:20:5:"), "{error}");
}

#[test]
fn duplicate_schema_of_a_kind_is_an_error() {
    let twice = LockFile { schemas: [lock().schemas, lock().schemas].concat(), ..lock() };
    let error = error(&twice.to_text().expect("text"));
    assert!(error.ends_with("duplicate entry: the schema of this kind is already locked"), "{error}");
}

#[test]
fn remote_references_are_read_without_the_schemas() {
    let text = lock().to_text().expect("text").replace("\"number\"", "\"integer\"");
    let sources = SourceMap::default();
    let read = LockFile::read(&sources, sources.add("smp.lock", text)).expect("schemas are not read");
    assert_eq!(read, LockFile { schemas: Vec::new(), ..lock() });
}

#[test]
fn nearest_lock_file_is_used() {
    let files = ["a/smp.lock", "a/b/smp.lock", "a/b/c/k/x.yaml", "a/d/x.yaml", "e/x.yaml", "a/smp.lock.d/x"];
    let tree = Arc::new(MemoryTree::new(files.map(|path| (path, ""))).expect("distinct"));
    let here = tree.working_directory().expect("given");
    let table =
        [("a/b/c/k", Some("a/b/smp.lock")), ("a/b", Some("a/b/smp.lock")), ("a/d", Some("a/smp.lock"))];
    for (target, want) in table.into_iter().chain([("e", None), ("nope", None), ("https://h/o/r", None)]) {
        let found = LockFile::nearest(&*tree, Path::new(target)).expect("no error");
        assert_eq!(found, want.map(|path| here.join(path)), "{target}");
    }
}

/// Needs root, because only root can change the owner of a file.
#[cfg(unix)]
#[test]
#[ignore = "needs root"]
fn lock_file_of_another_user_is_rejected() {
    use std::os::unix::fs::chown;

    let home = tempfile::tempdir().expect("a directory");
    let target = home.path().canonicalize().expect("real").join("d");
    std::fs::create_dir(&target).expect("made");
    let lock = target.with_file_name(LOCK_FILE);
    std::fs::write(&lock, "{\"version\": 1}").expect("written");
    let nearest = || LockFile::nearest(&DiskTree, &target);
    assert_eq!(nearest().expect("the same user's"), Some(lock.clone()));
    chown(&lock, Some(12345), None).expect("this needs root");
    let error = nearest().expect_err("another user's");
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains("have different owners"), "{error}");
    chown(&target, Some(12345), None).expect("given away");
    assert_eq!(nearest().expect("the same user's again"), Some(lock));
}
