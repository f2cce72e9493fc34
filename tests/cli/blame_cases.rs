//! Complete `blame` output for small overlays: one for each transformer, generator and kind of patch.
//!
//! Each folder of `tests/cases/blame` has a `target`; its file `expected` lists the source of every value.
//! `SMP_WRITE_CASES=1` regenerates the expected files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kubectl_smp_testing::program;
use serde_json::Value;

/// `"value" file:line:column by (in file)`
fn reported(write: &Value) -> String {
    let at = match &write["at"] {
        Value::Null => "-".to_string(),
        at => format!("{}:{}:{}", at["file"].as_str().expect("a path"), at["line"], at["column"]),
    };
    format!("{} {at} {}", write["value"], write["by"].as_str().expect("a name"))
}

fn listing(objects: &[Value]) -> String {
    let mut out = String::new();
    for object in objects {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let _ = writeln!(out, "{} {}", text("kind"), text("name"));
        for field in object["fields"].as_array().expect("fields") {
            let pointer = field["pointer"].as_str().expect("a pointer");
            let used = field["in"].as_str().map(|file| format!(" in {file}")).unwrap_or_default();
            let _ = writeln!(out, "  {pointer} = {}{used}", reported(field));
            for older in field["history"].as_array().expect("a history") {
                let _ = writeln!(out, "      < {}", reported(older));
            }
        }
        for removal in object["removed"].as_array().expect("removals") {
            let pointer = removal["pointer"].as_str().expect("a pointer");
            let _ = writeln!(out, "  {pointer} removed: {}", reported(removal));
        }
    }
    out
}

#[test]
fn every_value_has_the_expected_source() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/blame");
    let home = tempfile::tempdir().expect("a folder");
    let mut differ = Vec::new();
    let mut names: Vec<_> =
        fs::read_dir(&cases).expect("cases").map(|case| case.expect("one").path()).collect();
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    for case in names {
        let mut command = program::command(
            home.path(),
            &["blame", "target", "-o", "json", "--enable-alpha-plugins", "--enable-exec"],
        );
        let output = command.current_dir(&case).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {stderr}", case.display());
        let objects: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        let found = listing(&objects);
        let path = case.join("expected");
        if std::env::var_os("SMP_WRITE_CASES").is_some() {
            fs::write(&path, &found).expect("written");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if found != expected {
            differ.push(similar::TextDiff::from_lines(&expected, &found).unified_diff().to_string());
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
