//! Lock files: pinned references do not change.

use std::fs;

use super::*;

#[test]
fn locked_build_keeps_the_pinned_commits() {
    let home = Home::new();
    let served = server::Server::start(home.0.path());
    home.write("site/file.yaml", &map("file", "1"));
    home.base("inner", "1");
    // A base with remote references: by git, and over HTTP.
    let nested = format!(
        "resources: [\"{}//base?ref=main\", \"{}\"]\n",
        home.url("inner"),
        served.url("site/file.yaml")
    );
    home.commit("outer", &[("base/kustomization.yaml", &nested)]);
    home.overlay("overlays/prod", &[format!("{}//base?ref=main", home.url("outer"))]);
    let want = home.run(&["build", "overlays/prod"]).printed();

    let reported = home.run(&["lock", "overlays/prod"]).printed();
    assert_eq!(reported, "overlays/prod/smp.lock: 3 remotes, 0 schemas\n");
    let lock = home.read("overlays/prod/smp.lock");
    for url in [home.url("inner"), home.url("outer"), served.url("site/file.yaml")] {
        assert_eq!(lock.matches(&format!("\"url\": \"{url}\"")).count(), 1, "{lock}");
    }
    home.run(&["lock", "overlays/prod"]).printed();
    assert_eq!(home.read("overlays/prod/smp.lock"), lock, "the same input gives the same bytes");

    home.base("inner", "2");
    let before = served.requests().len();
    let hidden = [home.hide("inner"), home.hide("outer")];
    for arguments in [&["build", "overlays/prod", "--locked"][..], &["build", "overlays/prod"]] {
        assert_eq!(home.run(arguments).printed(), want);
    }
    assert_eq!(served.requests().len(), before, "pinned and cached files cause no request");
    drop(hidden);
    // With an empty cache, the pinned commits are fetched.
    let empty = ["build", "overlays/prod", "--locked", "--cache-dir", "other"];
    assert_eq!(home.run(&empty).printed(), want);
    home.git("inner", &["config", "uploadpack.allowAnySHA1InWant", "false"]);
    home.write("site/file.yaml", &map("file", "2"));
    let other = ["build", "overlays/prod", "--cache-dir", "third"];
    home.run(&other).failed("does not match overlays/prod/smp.lock");

    home.run(&["lock", "overlays/prod"]).printed();
    let after = home.run(&["build", "overlays/prod", "--locked"]).printed();
    assert_eq!(after, want.replace("a: 1", "a: 2"));
}

#[test]
fn unpinned_references_are_reported() {
    let home = Home::new();
    home.base("a", "1");
    home.base("b", "2");
    let [a, b] = ["a", "b"].map(|name| format!("{}//base?ref=main", home.url(name)));
    home.overlay("overlay", std::slice::from_ref(&a));
    let error = home
        .run(&["build", "overlay", "--locked"])
        .failed("not in a lock file, but --locked requires all of them");
    assert!(error.contains("kubectl smp lock"), "{error}");
    home.run(&["lock", "overlay"]).printed();
    home.overlay("overlay", &[a, b.clone()]);
    let error =
        home.run(&["build", "overlay", "--locked"]).failed("1 remote reference is not in overlay/smp.lock");
    assert!(
        error.contains(&format!("missing: {b}")) && error.contains("overlay/kustomization.yaml:3:3"),
        "{error}"
    );
    let ran = home.run(&["build", "overlay"]);
    assert!(
        ran.success && ran.stderr.contains(&format!("`{b}` is not in overlay/smp.lock")),
        "{}",
        ran.stderr
    );
    // Two missing pins are reported together.
    fs::remove_file(home.path("overlay/smp.lock")).expect("removed");
    home.run(&["build", "overlay", "--locked"]).failed("2 remote references are not in a lock file");
    home.run(&["build", "overlay", "--offline", "--cache-dir", "none"])
        .failed("2 remote references are not in the cache");
    assert!(!home.path("none").exists(), "nothing is written offline");
}

#[test]
fn nearest_lock_file_applies_to_each_target() {
    let home = Home::new();
    home.base("a", "1");
    let base = format!("{}//base?ref=main", home.url("a"));
    for target in ["x/one", "x/two", "y"] {
        home.overlay(target, std::slice::from_ref(&base));
    }
    home.run(&["lock", "x/one", "x/two", "--lock-file", "x/smp.lock"]).printed();
    home.base("a", "2");
    home.run(&["lock", "y"]).printed();
    home.base("a", "3");
    let values = |arguments: &[&str]| -> Vec<String> {
        let printed = home.run(arguments).printed();
        printed.lines().filter_map(|line| line.strip_prefix("  a: ")).map(str::to_string).collect()
    };
    assert_eq!(values(&["build", "x/one", "y", "x/two", "--locked"]), ["1", "2", "1"]);
    assert_eq!(values(&["build", "x/one", "--locked", "--lock-file", "y/smp.lock"]), ["2"]);
    assert_eq!(home.names("x"), ["one", "smp.lock", "two"]);
    home.run(&["lock", "x/one", "x/two"]).printed();
    assert_eq!(values(&["build", "x/two", "--locked"]), ["3"], "the nearest is written anew");
    home.run(&["build", "y", "--lock-file", "nope"]).failed("`nope` cannot be read");
    home.run(&["lock", &base]).failed("--lock-file");
    home.run(&["lock", &base, "--lock-file", "remote.lock"]).printed();
    assert_eq!(values(&["build", &base, "--locked", "--lock-file", "remote.lock"]), ["3"]);
    home.run(&["lock", "y", "--locked"])
        .failed("`--locked` cannot be used with `lock`, which writes the lock file: remove the flag");
}

#[test]
fn plain_directories_use_lock_files() {
    let home = Home::new();
    home.commit("a", &[("base/map.yaml", &map("a", "1"))]);
    home.write(
        "plain/map.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {b: two}
",
    );
    let base = format!("{}//base?ref=main", home.url("a"));
    home.run(&["lock", "plain", "--base", &base]).printed();
    home.commit("a", &[("base/map.yaml", &map("a", "2"))]);
    let built = home.run(&["build", "plain", "--base", &base, "--locked"]).printed();
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: 1
      b: two
    kind: ConfigMap
    metadata:
      name: a
    ");
}

#[test]
fn invalid_lock_file_is_an_error_with_its_location() {
    let home = Home::new();
    home.base("a", "1");
    home.overlay("overlay", &[format!("{}//base?ref=main", home.url("a"))]);
    home.write(
        "overlay/smp.lock",
        r#"{
  "version": 1,
  "remotes": [{"url": 1}]
}
"#,
    );
    home.run(&["build", "overlay"]).failed("overlay/smp.lock:3:23");
    home.write("overlay/smp.lock", "<<<<<<< ours\n");
    home.run(&["build", "overlay"]).failed("overlay/smp.lock:1:1");
    home.run(&["lock", "overlay"]).failed("remove the file");
    assert_eq!(
        home.read("overlay/smp.lock"),
        "<<<<<<< ours\n",
        "what is no lock file may be dear to somebody"
    );
    fs::remove_file(home.path("overlay/smp.lock")).expect("removed");
    home.run(&["lock", "overlay"]).printed();
    home.run(&["build", "overlay", "--locked"]).printed();
}

#[test]
fn failed_lock_writes_nothing() {
    let home = Home::new();
    home.base("a", "1");
    home.overlay("good", &[format!("{}//base?ref=main", home.url("a"))]);
    home.overlay("bad", &[format!("{}//base?ref=nope", home.url("a"))]);
    home.run(&["lock", "good", "bad"]).failed("nope");
    assert_eq!(home.names("good"), ["kustomization.yaml"]);
}

#[cfg(feature = "cluster")]
#[test]
fn schemas_of_custom_resources_are_pinned_from_the_cluster() {
    let home = Home::new();
    let served = server::Server::start(home.0.path());
    let kind = r#"{"group": "example.com", "version": "v1", "kind": "Thing"}"#;
    let document = format!(
        r#"{{"openapi": "3.0.0", "components": {{"schemas": {{"a.Thing": {{"type": "object", "description": "long",
        "x-kubernetes-group-version-kind": [{kind}]}}, "a.Other": {{"type": "object"}}}}}}}}"#
    );
    let index = r#"{"paths": {"apis/example.com/v1": {"serverRelativeURL": "/documents/thing?hash=A"}}}"#;
    home.write("openapi/v3", index);
    home.write("documents/thing", &document);
    home.write("version", r#"{"gitVersion": "v1.36.0"}"#);
    let custom = |kind: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: {kind}
metadata:
  name: a
"
        )
    };
    home.write("overlay/thing.yaml", &format!("{}---\n{}", custom("Thing"), map("a", "1")));
    home.overlay("overlay", &["thing.yaml".to_string()]);
    let server = served.url("").trim_end_matches('/').to_string();
    let lock = ["lock", "overlay", "--pin-schemas", "cluster", "--server", &server, "--token", "secret"];
    assert_eq!(home.run(&lock).printed(), "overlay/smp.lock: 0 remotes, 1 schema\n");
    let text = home.read("overlay/smp.lock");
    let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let schema = &read["schemas"][0];
    assert_eq!(schema["gvk"], serde_json::from_str::<serde_json::Value>(kind).expect("JSON"));
    assert_eq!(
        (&schema["source"], &schema["server_version"]),
        (&"/documents/thing".into(), &"v1.36.0".into())
    );
    assert!(!text.contains("long") && !text.contains("a.Other") && !text.contains("secret"), "{text}");
    home.run(&lock).printed();
    assert_eq!(home.read("overlay/smp.lock"), text, "the same input gives the same bytes");
    home.run(&["lock", "overlay"]).printed();
    assert_eq!(home.read("overlay/smp.lock"), text, "schemas stay until requested again");
    home.run(&["build", "overlay", "--locked", "--offline"]).printed();
    home.write("overlay/smp.lock", &text.replace("\"object\"", "\"string\""));
    home.run(&["lock", "overlay"]).failed("does not match its `sha256`");

    home.write("overlay/thing.yaml", &format!("{}---\n{}", custom("Thing"), custom("Unknown")));
    home.write("overlay/smp.lock", &text);
    let ran = home.run(&lock);
    insta::assert_snapshot!(ran.stderr, @r"
    warning[no-schema]: example.com/v1 Unknown was not pinned: the cluster has no schema of it
     |
     = help: install its CRD in the cluster, or add the CRD to the build
    ");
    assert!(ran.success, "{}", ran.stderr);
    home.run(&[&lock[..], &["--offline"]].concat()).failed("offline");
}

#[test]
fn missing_pins_do_not_hide_other_errors() {
    let home = Home::new();
    home.base("a", "1");
    let [a, b] = ["a", "b"].map(|name| format!("{}//base?ref=main", home.url(name)));
    home.overlay("one", &[a.clone(), b.clone()]);
    home.overlay("two", std::slice::from_ref(&a));
    home.write("broken/x.yaml", "a: [\n");
    home.overlay("broken", &["x.yaml".to_string()]);
    home.overlay("both", &[a.clone(), "nope.yaml".to_string()]);
    let error =
        home.run(&["build", "one", "broken", "two", "both", "--offline"]).failed("4 of 4 targets failed");
    assert_eq!(error.matches("2 remote references are not in the cache").count(), 1, "{error}");
    assert_eq!(
        error.matches("1 remote reference is not in the cache").count(),
        2,
        "of `two` and `both`: {error}"
    );
    assert_eq!(error.matches(&format!("missing: {a}")).count(), 3, "{error}");
    assert_eq!(error.matches(&format!("missing: {b}")).count(), 1, "{error}");
    assert!(error.contains("broken/x.yaml:") && error.contains("`nope.yaml` cannot be read"), "{error}");
}

#[test]
fn unpinned_references_are_reported_once_for_all_targets() {
    let home = Home::new();
    home.base("a", "1");
    home.base("b", "2");
    let [a, b] = ["a", "b"].map(|name| format!("{}//base?ref=main", home.url(name)));
    home.overlay("one", std::slice::from_ref(&a));
    home.overlay("two", &[b.clone(), a.clone()]);
    home.write("smp.lock", r#"{"version": 1, "remotes": [], "schemas": []}"#);
    let ran = home.run(&["build", "one", "two"]);
    let location = |of: &str| ran.stderr.find(&format!("`{of}` is not in smp.lock"));
    assert!(ran.success && location(&a) < location(&b) && location(&a).is_some(), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("is not in smp.lock").count(), 2, "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn symlinked_or_foreign_lock_file_is_not_read_or_overwritten() {
    let home = Home::new();
    home.base("a", "1");
    home.overlay("overlay", &[format!("{}//base?ref=main", home.url("a"))]);
    home.write("victim", "precious: first line\n");
    for to in ["../victim", "../nowhere"] {
        std::os::unix::fs::symlink(to, home.path("overlay/smp.lock")).expect("linked");
        for command in ["lock", "build"] {
            let error = home.run(&[command, "overlay"]).failed("is not a regular file");
            assert!(!error.contains("precious"), "{error}");
        }
        fs::remove_file(home.path("overlay/smp.lock")).expect("removed");
    }
    assert!(!home.path("nowhere").exists());
    fs::create_dir(home.path("overlay/smp.lock")).expect("made");
    home.run(&["build", "overlay"]).failed("is not a regular file");
    fs::remove_dir(home.path("overlay/smp.lock")).expect("removed");
    let kustomization = home.read("overlay/kustomization.yaml");
    home.run(&["lock", "overlay", "--lock-file", "overlay/kustomization.yaml"]).failed("remove the file");
    assert_eq!(home.read("overlay/kustomization.yaml"), kustomization);
    assert_eq!(home.read("victim"), "precious: first line\n");
}
