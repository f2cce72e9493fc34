//! Reports and exit statuses.

use std::fs;

use kubectl_smp_testing::program::run;
use serde_json::{Value, json};

use super::{WEB, merge3, packages, text, with_new_image};

/// Returns the report of a merge with one conflict.
fn json_report(taken: &str) -> Value {
    let location = |side: &str, value: i64| json!({"file": format!("{side}/web.yaml"), "line": 6, "column": 13, "value": value});
    json!({
        "changed": [
            {"file": "dest/a.txt", "action": "changed", "resource": null},
            {"file": "dest/web.yaml", "action": "changed", "resource": "Deployment.apps web"},
        ],
        "conflicts": [{
            "resource": "Deployment.apps web",
            "field": "spec.replicas",
            "original": location("original", 1),
            "updated": location("updated", 2),
            "dest": location("dest", 5),
            "resolution": taken,
        }],
        "origins": [
            origin("a.txt", None, None, "updated", [Some((1, 1)), Some((1, 1)), Some((1, 1))]),
            origin(
                "web.yaml",
                Some("Deployment.apps web"),
                Some((
                    "spec.template.spec.containers[name=web].image",
                    "/spec/template/spec/containers/0/image",
                )),
                "updated",
                [Some((11, 16)), Some((11, 16)), Some((11, 16))],
            ),
        ],
    })
}

/// A report entry for a field changed on one side, with its locations in the original, the updated version and
/// dest.
fn origin(
    file: &str,
    resource: Option<&str>,
    field: Option<(&str, &str)>,
    side: &str,
    locations: [Option<(u32, u32)>; 3],
) -> Value {
    let mut reported = json!({
        "file": format!("dest/{file}"),
        "resource": resource,
        "field": field.map(|(field, _)| field),
        "pointer": field.map(|(_, pointer)| pointer),
        "side": side,
    });
    for (version, location) in ["original", "updated", "dest"].into_iter().zip(locations) {
        reported[version] = location.map_or(
            Value::Null,
            |(line, column)| json!({"file": format!("{version}/{file}"), "line": line, "column": column}),
        );
    }
    reported
}

/// A Deployment and a ConfigMap with these values, to test fields, maps and list entries with merge keys.
fn configured(replicas: &str, labels: &str, containers: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {{{labels}}}
spec:
  replicas: {replicas}
  template: {{spec: {{containers: [{containers}]}}}}
"
    )
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn reports_name_the_side_of_each_change() {
    let map = |name: &str, data: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{{data}}}
"
        )
    };
    let original = configured("1", "a: x, b: x, c: x, d: x", "{name: p, image: i}, {name: q, image: i}");
    let updated = configured("2", "a: y, b: x, c: z, e: n", "{name: p, image: j}, {name: q, image: i}");
    let dest = configured(
        "3",
        "a: x, b: y, c: z, d: x",
        "{name: new, image: k}, {name: p, image: i}, {name: q, image: i}",
    );
    let directory = packages([
        &[
            ("w.yaml", &original),
            ("gone.yaml", &map("gone", "a: x")),
            (
                "b.sh",
                "\
1
2
3
4
",
            ),
            ("c.sh", "1\n"),
        ],
        &[
            ("w.yaml", &updated),
            ("new.yaml", &map("new", "a: x")),
            ("both.yaml", &map("both", "a: x, b: y")),
            (
                "b.sh",
                "\
0
2
3
4
",
            ),
            ("c.sh", "1\n"),
        ],
        &[
            ("w.yaml", &dest),
            ("gone.yaml", &map("gone", "a: x")),
            ("mine.yaml", &map("mine", "a: x")),
            ("both.yaml", &map("both", "a: x, c: z")),
            (
                "b.sh",
                "\
1
2
3
5
",
            ),
            ("c.sh", "2\n"),
        ],
    ]);
    let before = fs::read_to_string(directory.path().join("dest/w.yaml")).expect("there");
    let output = merge3(&directory, &["--report", "json", "--on-conflict", "dest", "--output-dir", "out"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let origins = report["origins"].as_array().expect("origins");
    let reported: Vec<String> = origins
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or("-").to_string();
            let at = |version: &str| match &one[version] {
                Value::Null => "-".to_string(),
                location => format!("{}:{}", location["line"], location["column"]),
            };
            let locations = ["original", "updated", "dest"].map(at).join(" ");
            format!("{} {} {} {locations}", text("file"), text("pointer"), text("side"))
        })
        .collect();
    let want = [
        "dest/b.sh - both 1:1 1:1 1:1",
        "dest/both.yaml /apiVersion both - 1:13 1:13",
        "dest/both.yaml /data/a both - 4:11 4:11",
        "dest/both.yaml /data/b updated - 4:17 -",
        "dest/both.yaml /data/c dest - - 4:17",
        "dest/both.yaml /kind both - 2:7 2:7",
        "dest/both.yaml /metadata both - 3:11 3:11",
        "dest/c.sh - dest 1:1 1:1 1:1",
        "dest/gone.yaml - updated 1:1 - 1:1",
        "dest/mine.yaml - dest - - 1:1",
        "dest/new.yaml - updated - 1:1 -",
        "dest/w.yaml /metadata/labels/a updated 5:15 5:15 5:15",
        "dest/w.yaml /metadata/labels/b dest 5:21 5:21 5:21",
        "dest/w.yaml /metadata/labels/c both 5:27 5:27 5:27",
        "dest/w.yaml /metadata/labels/d updated 5:33 - 5:33",
        "dest/w.yaml /metadata/labels/e updated - 5:33 -",
        "dest/w.yaml /spec/template/spec/containers/0 dest - - 8:34",
        "dest/w.yaml /spec/template/spec/containers/1/image updated 8:51 8:51 8:74",
    ];
    let mut sorted = reported.clone();
    sorted.sort();
    assert_eq!(sorted, want, "{report:#}");
    assert!(reported.is_sorted_by_key(|one| one.split(' ').next().map(str::to_string)), "{reported:?}");
    assert_eq!(report["conflicts"].as_array().map(Vec::len), Some(1), "the replicas: {report:#}");
    let at = |file: &str| fs::read_to_string(directory.path().join(file)).expect("there");
    assert_eq!(at("dest/w.yaml"), before);
    insta::assert_snapshot!(at("out/w.yaml"), @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      labels: {a: y, b: y, c: z, e: n}
    spec:
      replicas: 3
      template: {spec: {containers: [{name: new, image: k}, {name: p, image: j}, {name: q, image: i}]}}
    ");
}

#[test]
fn origins_are_reported_for_all_resolution_strategies() {
    let original = configured("1", "a: x", "{name: p, image: i}");
    let updated = configured("2", "a: y", "{name: p, image: i}");
    let dest = configured("3", "a: x", "{name: p, image: j}");
    for policy in ["updated", "dest", "report", "markers"] {
        let directory = packages([&[("w.yaml", &original)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
        let output = merge3(&directory, &["--report", "json", "--on-conflict", policy]);
        let report: Value = serde_json::from_slice(&last_line_of_json(&output.stderr)).expect("JSON");
        let reported: Vec<_> = report["origins"]
            .as_array()
            .expect("origins")
            .iter()
            .map(|one| (one["field"].as_str().expect("a field"), one["side"].as_str().expect("a side")))
            .collect();
        let image = "spec.template.spec.containers[name=p].image";
        assert_eq!(reported, [("metadata.labels.a", "updated"), (image, "dest")], "{policy}");
    }
}

/// Returns the JSON line of the output that is the report.
fn last_line_of_json(text: &[u8]) -> Vec<u8> {
    let line = text.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"{"));
    line.expect("a report").to_vec()
}

#[cfg(unix)]
#[test]
fn symlinks_in_dest_are_not_written_through() {
    use std::os::unix::fs::symlink;
    let added = WEB.replace("name: web\nspec", "name: added\nspec");
    let directory = packages([&[], &[("link.yaml", &added), ("sub/x.txt", "x\n")], &[("real.yaml", WEB)]]);
    fs::create_dir(directory.path().join("elsewhere")).expect("made");
    symlink("real.yaml", directory.path().join("dest/link.yaml")).expect("linked");
    symlink("../elsewhere", directory.path().join("dest/sub")).expect("linked");
    let output = merge3(&directory, &["--in-place"]);
    assert!(output.status.success(), "{output:?}");
    let reported = text(&output.stderr);
    for path in ["link.yaml", "sub/x.txt"] {
        assert!(
            reported.contains(&format!("{path} is not merged: one version has a symlink there")),
            "{reported}"
        );
    }
    assert_eq!(fs::read_to_string(directory.path().join("dest/real.yaml")).expect("there"), WEB);
    assert_eq!(fs::read_dir(directory.path().join("elsewhere")).expect("there").count(), 0);
}

#[test]
fn report_json_prints_json() {
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let updated = with_new_image(WEB).replace("replicas: 1", "replicas: 2");
    let sides = [
        &[("web.yaml", WEB), ("a.txt", "1\n")][..],
        &[("web.yaml", &updated), ("a.txt", "2\n")],
        &[("web.yaml", &dest), ("a.txt", "1\n")],
    ];
    let whole: [(&[&str], bool); 4] = [
        (&["--in-place"], true),
        (&["-o", "out.yaml"], true),
        (&["--output-dir", "out"], true),
        (&[], false),
    ];
    for (args, to_stdout) in whole {
        for taken in ["updated", "dest"] {
            let directory = packages(sides);
            let json = ["--report", "json", "--on-conflict", taken];
            let output = merge3(&directory, &[&json[..], args].concat());
            let status = if args.contains(&"--in-place") { 3 } else { 0 };
            assert_eq!(output.status.code(), Some(status), "{output:?}");
            let report = if to_stdout { output.stdout } else { last_line(&output.stderr) };
            let got: Value = serde_json::from_slice(&report).expect("JSON");
            assert_eq!(got, json_report(taken), "{args:?}");
            let text = text(&report);
            assert!(
                text.starts_with(r#"{"changed":[{"file":"dest/a.txt","action":"changed","resource":null}"#)
            );
        }
    }
    let directory = packages(sides);
    let output = merge3(&directory, &["--report", "json", "--on-conflict", "report"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(r#""resolution":null"#), "{output:?}");
}

fn last_line(text: &[u8]) -> Vec<u8> {
    text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default().to_vec()
}

#[test]
fn reports_hide_secret_values() {
    let secret = |value: &str| {
        format!(
            "\
apiVersion: v1
kind: Secret
metadata: {{name: s}}
stringData:
  p: {value}
"
        )
    };
    let broken = |value: &str| {
        format!(
            "\
kind: Secret
x: {{{{ y }}}}
stringData:
  p: {value}
"
        )
    };
    let directory = packages([&[], &[], &[]]);
    for (side, value) in [("original", "hunter1"), ("updated", "hunter2"), ("dest", "hunter3")] {
        for (name, text) in [("s.yaml", secret(value)), ("b.yaml", broken(value))] {
            fs::write(directory.path().join(side).join(name), text).expect("written");
        }
    }
    for form in ["text", "json"] {
        for policy in ["updated", "dest", "report", "markers"] {
            let output =
                merge3(&directory, &["--output-dir", "out", "--report", form, "--on-conflict", policy]);
            let reported = text(&[output.stdout, output.stderr].concat());
            assert!(reported.contains("stringData.p") && reported.contains("***"), "{reported}");
            assert!(!reported.contains("hunter"), "{form} {policy}: {reported}");
            let _ = fs::remove_dir_all(directory.path().join("out"));
        }
    }
}

#[test]
fn exit_status_distinguishes_merged_failed_and_conflicts() {
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let updated = WEB.replace("replicas: 1", "replicas: 2");
    let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
    for (args, status) in [
        (&[][..], 0),
        (&["--exit-code"], 3),
        (&["--output-dir", "out"], 0),
        (&["--in-place", "--on-conflict", "fail"], 1),
        (&["--exit-code", "--on-conflict", "dest"], 3),
        (&["--exit-code", "--on-conflict", "markers"], 3),
        (&["--exit-code", "--on-conflict", "fail"], 1),
        (&["--on-conflict", "report"], 1),
        (&["--in-place", "-o", "x"], 2),
        (&["--git-driver", "a", "b", "c", "d"], 129),
    ] {
        assert_eq!(merge3(&directory, args).status.code(), Some(status), "{args:?}");
    }
    assert_eq!(run(directory.path(), &["merge3", "--git-driver", "a", "b"]).status.code(), Some(129));
    assert_eq!(run(directory.path(), &["merge3", "--original", "a"]).status.code(), Some(2));
}
