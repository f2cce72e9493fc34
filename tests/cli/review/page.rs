//! The HTML page of a review in a browser.

use std::env;
use std::fmt::Write as _;
use std::process::Command;

use kubectl_smp_testing::program::{run, stderr, stdout, temp_dir_from_text, write};
use serde_json::Value;

/// The number of changed objects on the page.
const OBJECTS: usize = 5_000;

/// A name that is a script in each context that a page could put it in.
const HOSTILE: &str = "</script><script>window.hacked=1</script><img src=http://127.0.0.1:9/x \
                       onerror=window.hacked=1>\"'`javascript:window.hacked=1//{{constructor.constructor('window.hacked=1')()}}";

fn manifests(value: &str) -> String {
    let mut text = String::new();
    for i in 0..OBJECTS - 2 {
        write!(
            text,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: name-{i}}}\ndata: {{a: '{value} {i}', b: '{value}', c: x}}\n---\n"
        ).expect("a string");
    }
    let (hostile, replicas) =
        (serde_json::to_string(HOSTILE).expect("JSON"), if value == "old" { 2 } else { 0 });
    write!(
        text,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {hostile}}}\ndata: {{{hostile}: {hostile}, x: {value}}}\n---\n"
    ).expect("a string");
    text + &format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{replicas: {replicas}}}\n"
    )
}

/// Returns the browser: that of `SMP_TEST_CHROMIUM`, or the one of Debian.
fn chromium() -> String {
    env::var("SMP_TEST_CHROMIUM").unwrap_or_else(|_| "chromium".into())
}

#[test]
#[ignore = "needs chromium and node"]
fn page_works_in_a_browser() {
    let home = temp_dir_from_text("-- empty --\n");
    write(&home.path().join("old.yaml"), &manifests("old"));
    write(&home.path().join("new.yaml"), &manifests("new"));
    let output = run(home.path(), &["diff", "new.yaml", "--against", "old.yaml", "-o", "html"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let page = home.path().join("page.html");
    write(&page, &stdout(&output));
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/review/browser.mjs");
    let used = Command::new("node").arg(driver).arg(chromium()).arg(&page).output().expect("node runs");
    assert!(used.status.success(), "{}", String::from_utf8_lossy(&used.stderr));
    let found: Value = serde_json::from_slice(&used.stdout).expect("JSON");
    let shown = serde_json::to_string_pretty(&found).expect("JSON");
    let objects = OBJECTS.to_string();
    assert_eq!(found["all"], format!("{objects} of {objects}"), "{shown}");
    // name-7, name-70 to 79, 700 to 799, and those of four digits.
    assert_eq!(found["search"], format!("111 of {objects}"), "{shown}");
    assert_eq!(
        (&found["dangers"], &found["kind"]),
        (&format!("1 of {objects}").into(), &format!("1 of {objects}").into())
    );
    assert_eq!(found["kinds"], serde_json::json!(["", "ConfigMap", "Deployment"]), "{shown}");
    // Keys: j and k select a change, Enter folds it, s shows both sides, / searches.
    assert!(found["first"].as_str().is_some_and(|text| text.contains("name-0")), "{shown}");
    assert_eq!((&found["opened"], &found["folded"]), (&1.into(), &0.into()), "{shown}");
    assert!(found["body"].as_str().is_some_and(|text| text.contains("data.aold 0new 0")), "{shown}");
    assert_eq!(
        (&found["side"], &found["typing"], &found["typed"]),
        (&true.into(), &"search".into(), &"e".into()),
        "{shown}"
    );
    assert_eq!(found["expanded"], OBJECTS, "{shown}");
    for name in ["scroll", "scrollExpanded"] {
        let scrolled = &found[name];
        assert!(scrolled["worst"].as_f64().is_some_and(|time| time < 100.0), "{name}: {shown}");
        assert!(scrolled["frames"].as_u64().is_some_and(|frames| frames > 20), "{name}: {shown}");
    }
    // A dark background, by the numbers of `rgb(r, g, b)`.
    let dark = found["dark"].as_str().unwrap_or_default();
    let numbers: Vec<u32> =
        dark.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    assert!(numbers.len() >= 3 && numbers[..3].iter().all(|part| *part < 80), "{shown}");
    // Names and values are text: no element, no request and no script comes from them.
    assert_eq!(found["hacked"], "undefined", "{shown}");
    assert_eq!(found["elements"], 2, "the data and the script of the page: {shown}");
    assert_eq!(found["requests"], serde_json::json!([]), "{shown}");
    assert_eq!((&found["dialogs"], &found["errors"]), (&0.into(), &serde_json::json!([])), "{shown}");
}
