//! Limits on the size of the output.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use smp_text::diagnostic::Code;

use super::{CONFIG_MAP, bases, built, chain, node, over};

#[test]
fn copied_values_count_toward_the_size_limit() {
    let big = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(10_000)
    );
    let into_itself = "- {source: {name: a, fieldPath: data}, targets: [{select: {name: a}, fieldPaths: [data.KEY], options: {create: true}}]}\n";
    let copies: String = (0..30).map(|i| into_itself.replace("KEY", &format!("k{i}"))).collect();
    let replacements = format!("replacements:\n{copies}");
    let prepended = "- {source: {name: a, fieldPath: data.a}, targets: [{select: {name: a}, fieldPaths: [data.a], options: {delimiter: '/', index: -1}}]}\n";
    let texts = format!("replacements:\n{}", prepended.repeat(40));
    let operations: Vec<String> =
        (0..30).map(|i| format!(r#"{{"op": "copy", "from": "/data", "path": "/data/k{i}"}}"#)).collect();
    let patch = format!("patches: [{{target: {{name: a}}, patch: '{}'}}]\n", listed(&operations));
    let one_each: String = operations
        .iter()
        .map(|operation| {
            format!("- {{target: {{name: a}}, patch: '{}'}}\n", listed(std::slice::from_ref(operation)))
        })
        .collect();
    let patches = format!("patches:\n{one_each}");
    for kustomization in [replacements, texts, patch, patches] {
        let (code, message) = built(over(&big, &kustomization), ".").expect_err("endless");
        assert_eq!(code, Code::LimitExceeded, "{message}");
        assert!(message.contains("more than 67108864 bytes"), "{message}");
    }
    let pod = format!(
        "\
{big}---
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{containers: [{{name: c, args: ['{}']}}]}}
",
        "$(A)".repeat(10_000)
    );
    let vars = "vars: [{name: A, objref: {apiVersion: v1, kind: ConfigMap, name: a}, fieldref: {fieldpath: data.a}}]\n";
    assert_eq!(built(over(&pod, vars), ".").expect_err("100 MB").0, Code::LimitExceeded);
}

#[test]
fn copies_count_across_a_chain_of_overlays() {
    let big = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(1 << 20)
    );
    let copy = |next: &str| {
        let name = next.trim_start_matches("../");
        format!(
            "\
resources: [{next}]
replacements: [{{source: {{name: a, fieldPath: data.a}}, targets: [{{select: {{name: a}}, fieldPaths: [data.{name}], options: {{create: true}}}}]}}]
"
        )
    };
    let mut files = chain(100, copy, "resources: [big.yaml]\n");
    files.push(("b100/big.yaml".into(), big));
    assert_eq!(built(files, "b0").expect_err("100 MiB").0, Code::LimitExceeded);
}

#[test]
fn values_set_in_many_resources_count_toward_the_size_limit() {
    let many: String = (0..200)
        .map(|i| {
            format!(
                "\
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d{i}}}
spec: {{template: {{spec: {{containers: [{{name: c, image: web}}]}}}}}}
"
            )
        })
        .collect();
    let long = "x".repeat(1 << 19);
    let table = [
        format!(
            "patches: [{{target: {{kind: Deployment}}, patch: '{{kind: D, metadata: {{name: d, annotations: {{a: {long}}}}}}}'}}]\n"
        ),
        format!(
            "patches: [{{target: {{kind: Deployment}}, patch: '[{{\"op\": \"add\", \"path\": \"/x\", \"value\": \"{long}\"}}]'}}]\n"
        ),
        format!(
            "patchesJson6902: [{{target: {{kind: Deployment, version: v1, group: apps, name: d.*}}, patch: '[{{\"op\": \"add\", \"path\": \"/x\", \"value\": \"{long}\"}}]'}}]\n"
        ),
        format!("images: [{{name: web, newName: {long}}}]\n"),
        format!("commonAnnotations: {{a: {long}}}\n"),
        format!("labels: [{{pairs: {{a: {long}}}}}]\n"),
        format!("namePrefix: {long}\n"),
        format!("nameSuffix: {long}\n"),
        format!("namespace: {long}\n"),
    ];
    for kustomization in table {
        let (code, message) = built(over(&many, &kustomization), ".").expect_err("100 MB");
        assert_eq!(code, Code::LimitExceeded, "{}: {message}", &kustomization[..20]);
        assert!(message.contains("more than 67108864 bytes"), "{message}");
        // A large value may be copied into one resource, and a short value into any number.
        assert!(
            built(over(&many[..many[4..].find("---").expect("a second one") + 4], &kustomization), ".")
                .is_ok()
        );
        assert!(built(over(&many, &kustomization.replace(&long, &long[..200])), ".").is_ok());
    }
}

#[test]
fn files_read_by_many_generators_count_toward_the_size_limit() {
    let entries = |file: fn(usize) -> String| {
        (0..100).map(|i| format!("- {{name: c{i}, files: ['{}']}}\n", file(i))).collect::<String>()
    };
    let with_files = |kustomization: String| {
        let mut files = over(CONFIG_MAP, &format!("configMapGenerator:\n{kustomization}"));
        files.push(("big".into(), "x".repeat(1 << 20)));
        files.extend((0..100).map(|i| (format!("f{i}"), "x".repeat(1 << 17))));
        files
    };
    let (code, _) = built(with_files(entries(|_| "big".into())), ".").expect_err("100 MB");
    assert_eq!(code, Code::LimitExceeded);
    let one =
        format!("- {{name: c, files: [{}]}}\n", (0..100).map(|i| format!("k{i}=big, ")).collect::<String>());
    assert_eq!(built(with_files(one), ".").expect_err("100 MB").0, Code::LimitExceeded);
    assert!(built(with_files(entries(|i| format!("f{i}"))), ".").is_ok(), "each is read once");
}

/// JSON patch operations on one line, which must be JSON.
fn listed(operations: &[String]) -> String {
    format!("[{}]", operations.join(", "))
}

fn bomb() -> String {
    let mut text = format!(
        "\
{CONFIG_MAP}data:
  a0: &a0 {{x: y}}
"
    );
    for i in 1..20 {
        let aliases: Vec<String> = (0..10).map(|j| format!("k{j}: *a{}", i - 1)).collect();
        writeln!(text, "  a{i}: &a{i} {{{}}}", aliases.join(", ")).expect("a string");
    }
    text
}

#[test]
fn expanded_aliases_count_toward_the_size_limit() {
    // One megabyte of input that expands to almost the limit.
    let wide = format!(
        "\
{CONFIG_MAP}data:
  a: &a {{{}}}
",
        (0..20).map(|i| format!("k{i}: v, ")).collect::<String>()
    ) + &(0..100_000).map(|i| format!("  l{i}: *a\n")).collect::<String>();
    let long = format!(
        "\
{CONFIG_MAP}data:
  a: &a {}
",
        "x".repeat(100_000)
    ) + &(0..1000).map(|i| format!("  b{i}: *a\n")).collect::<String>();
    // Anchors count as much as aliases.
    let nested = format!(
        "a: {}[{}]{}\n",
        (0..200).map(|i| format!("[&a{i} ")).collect::<String>(),
        "x, ".repeat(300_000),
        "]".repeat(200)
    );
    for text in [bomb(), wide, long, nested] {
        let error = node(&text).expect_err("too much");
        assert_eq!(error.code(), Code::LimitExceeded);
        assert!(error.message().contains("the anchors and aliases of this text take more than"), "{error}");
    }
    let usual = format!(
        "a: &a {{{}}}\n{}",
        "b: {c: d}",
        (0..10_000).map(|i| format!("l{i}: *a\n")).collect::<String>()
    );
    assert!(node(&usual).is_ok());
}

fn run(directory: &Path, megabytes: usize, arguments: &[&str]) -> Output {
    let limited = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_kubectl-smp")]).args(arguments);
    command.current_dir(directory).env("KUBECONFIG", "/dev/null").output().expect("the program runs")
}

#[cfg(target_os = "linux")]
#[test]
fn alias_bombs_do_not_exhaust_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let manifests = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(100_000)
    );
    let into_itself = "- {source: {name: a, fieldPath: data}, targets: [{select: {name: a}, fieldPaths: [data.KEY], options: {create: true}}]}\n";
    let copies: String = (0..40).map(|i| into_itself.replace("KEY", &format!("k{i}"))).collect();
    let cases = [over(&bomb(), ""), over(&manifests, &format!("replacements:\n{copies}"))];
    for (i, files) in cases.into_iter().enumerate() {
        let target = directory.path().join(i.to_string());
        fs::create_dir(&target).expect("made");
        for (path, text) in &files {
            fs::write(target.join(path), text).expect("written");
        }
        let output = run(&target, 1024, &["build"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(output.stdout.is_empty() && stderr.contains("more than"), "{stderr}");
    }
    let chain = directory.path().join("chain");
    for (path, text) in bases(2_000) {
        let path = chain.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    for targets in [&["build", "b0"][..], &["build", "b0", "b1"]] {
        let output = run(&chain, 2048, targets);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(CONFIG_MAP));
    }
}

#[test]
fn infinity_and_nan_are_rejected_in_json_output() {
    let directory = tempfile::tempdir().expect("a directory");
    for value in [".inf", "-.inf", ".nan"] {
        for (path, text) in over(&format!("{CONFIG_MAP}data: {{x: {value}}}\n"), "") {
            fs::write(directory.path().join(path), text).expect("written");
        }
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"))
            .args(["build", "-o", "json"])
            .current_dir(directory.path())
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{value}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("ConfigMap"), "{value}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("infinity and NaN cannot be represented in JSON"), "{stderr}");
        assert!(stderr.contains("ConfigMap a"), "{stderr}");
    }
}
