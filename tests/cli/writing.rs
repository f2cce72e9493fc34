//! Files written by the program: path, mode, and all-or-nothing writes, even if it is interrupted.
//!
//! `SMP_TEST_KILLS` sets how often the program is killed while it changes 1,000 files (20).

#![cfg(unix)]
#![allow(clippy::print_stderr, reason = "tests print their progress")]

mod interrupted;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-smp");

const SIGPIPE: i32 = 13;

fn program(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(directory).args(args);
    command
}

fn run(directory: &Path, args: &[&str]) -> Output {
    program(directory, args).output().expect("the program runs")
}

fn succeed(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the error of a command, which must fail and print nothing on stdout.
fn fail(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, args);
    assert!(output.status.code().is_some_and(|code| code != 0), "{args:?}: {}", output.status);
    assert!(output.stdout.is_empty(), "{args:?}");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

fn config(name: &str, value: &str) -> String {
    format!(
        "\
apiVersion: v1
data:
  value: {value}
kind: ConfigMap
metadata:
  name: {name}
"
    )
}

/// Targets `a` and `b` with a ConfigMap each, and the invalid target `bad`.
fn targets() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["a", "b", "bad"] {
        let target = directory.path().join(name);
        fs::create_dir(&target).expect("made");
        fs::write(target.join("kustomization.yaml"), "resources: [x.yaml]\n").expect("written");
        let text = if name == "bad" { "[".to_string() } else { config(name, "one") };
        fs::write(target.join("x.yaml"), text).expect("written");
    }
    directory
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("text")
}

/// Returns all files of a directory, hidden ones included, with their contents.
fn listing(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(listing(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).expect("readable"));
        }
    }
    found
}

#[test]
fn new_files_respect_the_umask() {
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        let home = targets();
        let script = format!(
            "umask {umask}; \"$0\" build a -o one.yaml && \"$0\" build a --output-dir out && \
             \"$0\" merge b/x.yaml a/x.yaml -o merged.yaml"
        );
        let status = Command::new("sh").args(["-c", &script, PROGRAM]).current_dir(&home).output();
        assert!(status.expect("a shell").status.success());
        for file in ["one.yaml", "out/a/v1_configmap_a.yaml", "merged.yaml"] {
            let metadata = fs::metadata(home.path().join(file)).expect(file);
            assert_eq!(metadata.mode() & 0o777, mode, "{file} with {umask}");
        }
    }
}

#[test]
fn files_keep_their_mode_and_symlinks_are_written_through() {
    let home = targets();
    let at = |name: &str| home.path().join(name);
    fs::write(at("real"), "old").expect("written");
    fs::set_permissions(at("real"), fs::Permissions::from_mode(0o750)).expect("set");
    symlink("real", at("link.yaml")).expect("linked");
    succeed(home.path(), &["build", "a", "-o", "link.yaml"]);
    assert!(fs::symlink_metadata(at("link.yaml")).expect("there").is_symlink());
    assert_eq!(fs::metadata(at("real")).expect("there").mode() & 0o777, 0o750);
    assert_eq!(read(&at("real")), config("a", "one"));
}

#[test]
fn streams_and_devices_are_written_to_and_not_replaced() {
    let home = targets();
    assert_eq!(succeed(home.path(), &["build", "a", "-o", "/dev/stdout"]), config("a", "one"));
    succeed(home.path(), &["build", "a", "-o", "/dev/null"]);
    assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    let error = fail(home.path(), &["build", "a", "-o", "/dev/full"]);
    insta::assert_snapshot!(error, @r"
    error[io]: cannot write /dev/full: No space left on device (os error 28)
     |
     = help: free disk space, or use a file on another disk
    ");

    let fifo = home.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let path = fifo.clone();
    let reader = std::thread::spawn(move || fs::read_to_string(path).expect("text"));
    succeed(home.path(), &["build", "a", "-o", "fifo"]);
    assert_eq!(reader.join().expect("read"), config("a", "one"));
    assert!(fs::metadata(&fifo).expect("there").file_type().is_fifo());

    // A file that the shell appends to is appended to, even beside other writers.
    let script = "echo before > log; { \"$0\" build a -o /dev/stdout; echo after; } >> log";
    assert!(
        Command::new("sh").args(["-c", script, PROGRAM]).current_dir(&home).status().expect("sh").success()
    );
    assert_eq!(read(&home.path().join("log")), format!("before\n{}after\n", config("a", "one")));
}

#[test]
fn unknown_output_format_does_not_create_a_file() {
    let home = targets();
    let before = listing(home.path());
    insta::assert_snapshot!(fail(home.path(), &["build", "a", "-o", "jsn"]), @"error[usage]: unknown output format `jsn`: did you mean `json`? To write to a file of that name, use ./jsn");
    insta::assert_snapshot!(fail(home.path(), &["build", "a", "-o", "rendered"]), @"error[usage]: unknown output format `rendered`: use one of yaml, json, name. To write to a file of that name, use ./rendered");
    assert_eq!(run(home.path(), &["build", "a", "-o", "jsn"]).status.code(), Some(2));
    assert_eq!(listing(home.path()), before);
    for file in ["./rendered", "rendered.txt"] {
        succeed(home.path(), &["build", "a", "-o", file]);
        assert_eq!(read(&home.path().join(file)), config("a", "one"));
    }
    symlink("made", home.path().join("link")).expect("linked");
    succeed(home.path(), &["build", "a", "-o", "link"]);
    assert_eq!(read(&home.path().join("made")), config("a", "one"), "a link to nothing is an entry, too");
    // The file exists now.
    succeed(home.path(), &["build", "b", "-o", "rendered"]);
    assert_eq!(read(&home.path().join("rendered")), config("b", "one"));
}

#[test]
fn output_directories_are_created() {
    let home = targets();
    succeed(home.path(), &["build", "a", "-o", "new/dir/"]);
    assert_eq!(read(&home.path().join("new/dir/v1_configmap_a.yaml")), config("a", "one"));
    succeed(home.path(), &["build", "a", "-o", "json", "--output-dir", "out"]);
    let json: serde_json::Value =
        serde_json::from_str(&read(&home.path().join("out/a/v1_configmap_a.json"))).expect("JSON");
    assert_eq!(json["data"]["value"], "one");
    succeed(home.path(), &["build", "a", "-o", "a.json"]);
    let json: serde_json::Value = serde_json::from_str(&read(&home.path().join("a.json"))).expect("JSON");
    assert_eq!(json["kind"], "ConfigMap");
    for other in ["name", "x.yaml"] {
        fail(home.path(), &["build", "a", "-o", other, "--output-dir", "out"]);
    }
}

#[test]
fn files_of_the_build_are_not_replaced_by_its_output() {
    let home = targets();
    let before = listing(home.path());
    for args in [
        &["build", "a", "-o", "a/kustomization.yaml"][..],
        &["build", "a", "--output-dir", ".", "--layout", "{target}/kustomization.yaml"],
    ] {
        assert!(fail(home.path(), args).contains("would be replaced by its output"), "{args:?}");
        assert_eq!(listing(home.path()), before, "{args:?}");
    }
}

#[test]
fn layouts_choose_the_files_of_a_directory() {
    let home = targets();
    let files = |layout: &str, directory: &str| {
        let args = ["build", "a", "b", "--output-dir", directory, "--layout", layout];
        succeed(home.path(), &args);
        let mut names: Vec<_> =
            listing(&home.path().join(directory)).keys().map(|path| path.display().to_string()).collect();
        names.retain(|name| std::path::Path::new(name).extension().is_some());
        names
            .iter()
            .map(|name| name.split(&format!("{directory}/")).last().expect("a name").to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(files("resource", "o1"), ["a/v1_configmap_a.yaml", "b/v1_configmap_b.yaml"]);
    assert_eq!(files("target", "o2"), ["a.yaml", "b.yaml"]);
    assert_eq!(files("single", "o3"), ["manifests.yaml"]);
    assert_eq!(
        read(&home.path().join("o3/manifests.yaml")),
        config("a", "one") + "---\n" + &config("b", "one")
    );
    assert_eq!(
        files("{kind}/{namespace}/{target}-{name}.yaml", "o4"),
        ["configmap/default/a-a.yaml", "configmap/default/b-b.yaml"]
    );
    assert_eq!(files("{group}/{version}.yaml", "o5"), ["v1.yaml"]);
    succeed(home.path(), &["build", "a", "b", "-o", "json", "--output-dir", "o6", "--layout", "single"]);
    let json: serde_json::Value =
        serde_json::from_str(&read(&home.path().join("o6/manifests.json"))).expect("JSON");
    assert_eq!((json["kind"].as_str(), json["items"].as_array().map(Vec::len)), (Some("List"), Some(2)));
    succeed(home.path(), &["build", "a", "--output-dir", "o8", "--layout", "{name}.json"]);
    let json: serde_json::Value = serde_json::from_str(&read(&home.path().join("o8/a.json"))).expect("JSON");
    assert_eq!(json["kind"], "ConfigMap");
    let json_as_yaml = ["build", "a", "-o", "json", "--output-dir", "o9", "--layout", "{name}.yaml"];
    assert!(fail(home.path(), &json_as_yaml).contains("--output=json contradicts"));
    for wrong in ["x", "../{name}.yaml", "{name}", "{nothing}.yaml", ".{name}.yaml"] {
        fail(home.path(), &["build", "a", "--output-dir", "o7", "--layout", wrong]);
    }
}

#[test]
fn slashes_in_names_are_replaced_in_file_names() {
    let home = targets();
    let role = |name: &str| {
        format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: '{name}'}}\n")
    };
    fs::write(home.path().join("a/x.yaml"), role("system:foo/bar")).expect("written");
    succeed(home.path(), &["build", "a", "--output-dir", "out"]);
    assert!(home.path().join("out/a/rbac.authorization.k8s.io_v1_clusterrole_system:foo_bar.yaml").exists());
    let both = role("system:foo/bar") + "---\n" + &role("system:foo_bar");
    fs::write(home.path().join("a/x.yaml"), both).expect("written");
    let error = fail(home.path(), &["build", "a", "--output-dir", "out2"]);
    assert!(error.contains("two resources would be written to"), "{error}");
}

#[test]
fn written_files_are_counted_on_stderr() {
    let home = targets();
    for path in ["all.yaml", "new/"] {
        let output = run(home.path(), &["build", "a", "-o", path]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{path}: 1 file written\n"));
        let output = run(home.path(), &["kustomize", "build", "a", "-o", path]);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    let error = fail(home.path(), &["kustomize", "build", "a", "-o", "missing/"]);
    assert!(
        error.contains("open missing/: is a directory") && !home.path().join("missing").exists(),
        "{error}"
    );
}

#[test]
fn output_is_written_only_if_all_targets_build() {
    let home = targets();
    succeed(home.path(), &["build", "a", "b", "-o", "all.yaml"]);
    assert_eq!(read(&home.path().join("all.yaml")), config("a", "one") + "---\n" + &config("b", "one"));
    let before = listing(home.path());
    for args in [["-o", "all.yaml"], ["-o", "new/"], ["--output-dir", "out"]] {
        let args = [&["build", "b", "bad", "a"], args.as_slice()].concat();
        assert!(fail(home.path(), &args).contains("1 of 3 targets failed"), "{args:?}");
        assert_eq!(listing(home.path()), before, "{args:?}");
    }
}

#[test]
fn objects_that_share_an_output_file_are_reported() {
    let home = targets();
    for name in ["sub", "A"] {
        fs::create_dir(home.path().join(name)).expect("made");
        fs::copy(home.path().join("a/x.yaml"), home.path().join(name).join("x.yaml")).expect("copied");
        fs::write(home.path().join(name).join("kustomization.yaml"), "resources: [x.yaml]\n")
            .expect("written");
    }
    fs::write(home.path().join("b/y.yaml"), config("B", "two")).expect("written");
    fs::write(home.path().join("b/kustomization.yaml"), "resources: [x.yaml, y.yaml]\n").expect("written");
    let before = listing(home.path());
    let sub = home.path().join("sub");
    for (directory, targets, named) in [
        (home.path(), &["a", "A"][..], &["a", "A"][..]),
        (&sub, &["../a", "a"], &["../a", "a"]),
        (home.path(), &["b"], &["ConfigMap B of the target `b`", "ConfigMap b of the target `b`"]),
    ] {
        let never = home.path().join("never").display().to_string();
        let args = [&["build", "--output-dir", &never], targets].concat();
        let error = fail(directory, &args);
        assert!(named.iter().all(|name| error.contains(name)), "{targets:?}: {error}");
        assert_eq!(listing(home.path()), before);
        assert!(!Path::new(&never).exists());
    }
    let error = fail(home.path(), &["build", "a", "A", "-o", "flat/"]);
    insta::assert_snapshot!(error, @r"
    error[ambiguous]: two resources would be written to flat/v1_configmap_a.yaml
     |
     = target: A
     = note: they are ConfigMap a of the target `a` and ConfigMap a of the target `A`
     = help: print them instead, or write them to one file with --output FILE
    note: nothing was written: name the other targets to build them
    error: 1 of 2 targets failed: A
    ");
    assert_eq!(listing(home.path()), before);
}

#[test]
fn resource_of_two_targets_is_written_to_a_shared_file_once() {
    let home = targets();
    for name in ["c", "d"] {
        fs::create_dir(home.path().join(name)).expect("made");
        fs::write(home.path().join(name).join("kustomization.yaml"), "resources: [../a]\n").expect("written");
    }
    let patched = "resources: [../a]\nreplacements: []\npatches:\n- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: two}}'\n";
    fs::create_dir(home.path().join("e")).expect("made");
    fs::write(home.path().join("e/kustomization.yaml"), patched).expect("written");
    let build = ["build", "c", "d", "b", "--output-dir", "out", "--layout", "{kind}.yaml"];
    insta::assert_snapshot!(String::from_utf8_lossy(&run(home.path(), &build).stderr), @r"
    warning[duplicate-resource]: ConfigMap a of 2 targets is written to out/configmap.yaml once
     --> a/x.yaml:1:1
      |
    1 | apiVersion: v1
      | ^
      |
      = note: the targets are c, d
      = help: use {target} in the path of --layout to write a file for each target
    out: 1 file written
    ");
    let written = config("a", "one") + "---\n" + &config("b", "one");
    assert_eq!(read(&home.path().join("out/configmap.yaml")), written);
    let before = listing(home.path());
    insta::assert_snapshot!(fail(home.path(), &[&build, &["e"][..]].concat()), @r"
    error[duplicate-resource]: ConfigMap a would be written to out/configmap.yaml with two contents
     --> a/x.yaml:1:1
      |
    1 | apiVersion: v1
      | ^
      |
      = target: e
      = note: the targets are c, d and e
      = help: use {target} in the path of --layout to write a file for each target
    note: nothing was written: name the other targets to build them
    error: 1 of 4 targets failed: e
    ");
    fail(home.path(), &[&["--strict"], &build[..]].concat());
    assert_eq!(listing(home.path()), before);
}

/// A kustomization of this many ConfigMaps with a value.
fn many(directory: &Path, count: usize, value: &str) {
    fs::create_dir_all(directory).expect("made");
    let texts: Vec<_> = (0..count).map(|i| config(&format!("c{i}"), value)).collect();
    fs::write(directory.join("x.yaml"), texts.join("---\n")).expect("written");
    fs::write(directory.join("kustomization.yaml"), "resources: [x.yaml]\n").expect("written");
}

#[test]
fn failed_write_changes_nothing() {
    let home = targets();
    many(&home.path().join("many"), 60, "one");
    let text = read(&home.path().join("many/x.yaml")) + "---\n" + &config(&"l".repeat(253), "one");
    fs::write(home.path().join("many/x.yaml"), text).expect("written");
    let before = listing(home.path());
    fail(home.path(), &["build", "many", "--output-dir", "out"]);
    assert_eq!(listing(home.path()), before);
    assert!(!home.path().join("out").exists());

    // The file size limit of the system simulates a full disk.
    let large = format!("{}{}", config("large", "one"), format!("  # {}\n", "x".repeat(80)).repeat(20));
    let big = large.replace("value: one", &format!("value: {}", "y".repeat(20_000)));
    fs::write(home.path().join("many/x.yaml"), config("small", "one") + "---\n" + &big).expect("written");
    let before = listing(home.path());
    let script = "trap '' XFSZ; ulimit -f 8; \"$0\" build many --output-dir out";
    let output =
        Command::new("bash").args(["-c", script, PROGRAM]).current_dir(&home).output().expect("bash");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    error[io]: cannot write out/many/v1_configmap_large.yaml: the file would exceed the size limit of the process
     |
     = note: no file was changed
     = help: raise the limit (`ulimit -f`)
    ");
    assert_eq!(listing(home.path()), before);
}

#[test]
fn prune_removes_only_outdated_files() {
    let home = targets();
    let at = |name: &str| home.path().join("out").join(name);
    let names = || -> BTreeSet<_> {
        let below = |path: &PathBuf| path.strip_prefix(home.path().join("out")).expect("below").to_path_buf();
        listing(&home.path().join("out"))
            .keys()
            .map(below)
            .filter(|p| !p.starts_with(".kubectl-smp-files"))
            .collect()
    };
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
    many(&home.path().join("many"), 3, "one");
    succeed(home.path(), &["build", "many", "--output-dir", "out"]);
    fs::write(at("many/own.yaml"), "mine").expect("written");
    many(&home.path().join("many"), 1, "two");
    succeed(home.path(), &["build", "many", "--output-dir", "out"]);
    let all = [
        "many/own.yaml",
        "many/v1_configmap_c0.yaml",
        "many/v1_configmap_c1.yaml",
        "many/v1_configmap_c2.yaml",
    ];
    assert_eq!(names(), paths(&all), "without --prune all stays");
    fs::remove_file(at("many/v1_configmap_c1.yaml")).expect("removed");
    symlink(home.path().join("a/x.yaml"), at("many/v1_configmap_c1.yaml")).expect("linked");
    succeed(home.path(), &["build", "many", "--output-dir", "out", "--prune"]);
    assert_eq!(names(), paths(&all[..3]), "a link is another's, and what it leads to is, too");
    assert_eq!(read(&home.path().join("a/x.yaml")), config("a", "one"));
    assert_eq!(read(&at("many/own.yaml")), "mine");

    // Files changed by the user are kept.
    fs::remove_file(at("many/v1_configmap_c1.yaml")).expect("removed");
    many(&home.path().join("many"), 2, "two");
    succeed(home.path(), &["build", "many", "--output-dir", "out"]);
    fs::remove_file(at("many/v1_configmap_c1.yaml")).expect("removed");
    fs::write(at("many/v1_configmap_c1.yaml"), "edited").expect("written");
    many(&home.path().join("many"), 1, "two");
    succeed(home.path(), &["build", "many", "--output-dir", "out", "--prune"]);
    assert_eq!(read(&at("many/v1_configmap_c1.yaml")), "edited");
}

#[test]
fn replaced_edits_of_an_output_directory_are_named() {
    let home = targets();
    let at = |name: &str| home.path().join("out").join(name);
    let build = ["build", "many", "--output-dir", "out"];
    many(&home.path().join("many"), 2, "one");
    succeed(home.path(), &build);
    many(&home.path().join("many"), 2, "two");
    let stderr = || String::from_utf8(run(home.path(), &build).stderr).expect("text");
    assert_eq!(stderr(), "out: 2 files written\n");

    fs::write(at("many/v1_configmap_c1.yaml"), "edited").expect("written");
    let strict = fail(home.path(), &[&build[..], &["--strict"]].concat());
    assert!(strict.contains("out/many/v1_configmap_c1.yaml"), "{strict}");
    assert_eq!(read(&at("many/v1_configmap_c1.yaml")), "edited");
    insta::assert_snapshot!(stderr(), @r"
    warning[io]: changes since the last run are overwritten: out/many/v1_configmap_c1.yaml
     |
     = help: change the kustomization instead of its output
    out: 2 files written
    ");
    assert!(read(&at("many/v1_configmap_c1.yaml")).contains("two"));
}

#[test]
fn foreign_files_in_an_output_directory_are_not_replaced() {
    let home = targets();
    let at = |name: &str| home.path().join("out").join(name);
    let build = ["build", "a", "b", "--output-dir", "out", "--layout", "target"];
    fs::create_dir(home.path().join("out")).expect("made");
    fs::write(at("a.yaml"), "# mine\n").expect("written");
    fs::write(at("b.yaml"), config("b", "one")).expect("written");
    let before = listing(home.path());
    insta::assert_snapshot!(fail(home.path(), &build), @r"
    error[io]: out/a.yaml would be replaced, but out has no list of written files (.kubectl-smp-files)
     |
     = note: no file was changed
     = help: if an early version without this list wrote it, remove it; otherwise choose another --output-dir
    ");
    assert_eq!(listing(home.path()), before);

    // A file with the same content is adopted.
    fs::remove_file(at("a.yaml")).expect("removed");
    succeed(home.path(), &build);
    fs::write(home.path().join("b/x.yaml"), config("b", "two")).expect("written");
    succeed(home.path(), &build);
    assert_eq!(read(&at("b.yaml")), config("b", "two"));

    for name in ["c", "d"] {
        many(&home.path().join(name), 1, "one");
        fs::write(at(&format!("{name}.yaml")), "# mine\n").expect("written");
    }
    let before = listing(home.path());
    insta::assert_snapshot!(fail(home.path(), &[&build, &["c", "d", "--prune"][..]].concat()), @r"
    error[io]: out/c.yaml and 1 other file would be replaced, but are not in the list of written files out/.kubectl-smp-files
     |
     = note: no file was changed
     = help: remove them, or choose another --output-dir
    ");
    assert_eq!(listing(home.path()), before);
}

#[test]
fn file_list_from_a_repository_does_not_prune_foreign_files() {
    let home = targets();
    for (name, text) in
        [(".git/HEAD", "ref"), ("main.rs", "code"), ("a/kustomization.yaml", "resources: [x.yaml]\n")]
    {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
        for list in [
            format!(r#"{{"version":1,"files":["{name}"]}}"#),
            format!(r#"{{"version":1,"files":{{"{name}":""}}}}"#),
            format!(r#"{{"version":1,"files":{{"{name}":"{}"}}}}"#, "0".repeat(64)),
            r#"{"version":1,"files":{"../a/x.yaml":""}}"#.to_string(),
        ] {
            fs::write(home.path().join(".kubectl-smp-files"), list).expect("written");
            run(home.path(), &["build", "a", "--output-dir", ".", "--prune"]);
            assert_eq!(read(&path), text, "{name}");
        }
    }
}

#[test]
fn full_or_closed_stdout_is_an_error() {
    let home = targets();
    for args in
        [&["build", "a"][..], &["build", "a", "-o", "json"], &["--help"], &["version"], &["--version"]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("there");
        let output = program(home.path(), args).stdout(full).stderr(Stdio::piped()).output().expect("runs");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("cannot write to standard output: No space left"), "{args:?}: {message}");
    }
    many(&home.path().join("many"), 3000, "one");
    let mut child = program(home.path(), &["build", "many"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut first = [0; 10];
    child.stdout.take().expect("piped").read_exact(&mut first).expect("read");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.signal(), Some(SIGPIPE));
    assert!(output.stderr.is_empty());
}

#[test]
fn in_place_changes_stay_inside_the_directory() {
    let home = targets();
    let (dest, outside) = (home.path().join("a"), home.path().join("outside.yaml"));
    fs::write(&outside, config("a", "one")).expect("written");
    fs::remove_file(dest.join("x.yaml")).expect("removed");
    symlink(&outside, dest.join("x.yaml")).expect("linked");
    fs::write(home.path().join("new.yaml"), config("a", "two")).expect("written");
    let patch = ["patch", "-f", "a", "--type", "merge", "-p", "data: {x: \"y\"}", "--in-place"];
    let error = fail(home.path(), &patch);
    assert!(error.contains("is outside of"), "{error}");
    assert_eq!(read(&outside), config("a", "one"));
    // Directory merges ignore symlinks, wherever they point.
    succeed(home.path(), &["merge", "new.yaml", "a", "--in-place"]);
    assert_eq!(read(&outside), config("a", "one"));
    fs::remove_file(dest.join("new.yaml")).expect("made");
    // A symlink named on the command line is intended.
    succeed(home.path(), &["merge", "new.yaml", "a/x.yaml", "--in-place"]);
    assert_eq!(read(&outside), config("a", "two"));
}
