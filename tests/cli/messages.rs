//! Messages: codes and their page, the four formats, verbosity, colours, exit statuses.

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{command, run, stderr, temp_dir};
use serde_json::Value;
use smp_text::diagnostic::Code;
use tempfile::TempDir;

const CM: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: y}
";
/// A build with two warnings, one of them from `base`: an unmatched patch, and a deprecated field.
const FILES: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        r#"resources: [a.yaml]
patches:
- patch: '[{"op": "remove", "path": "/data"}]'
  target: {name: nope}
"#,
    ),
    ("base/a.yaml", CM),
    ("one/kustomization.yaml", "bases: [../base]"),
    ("two/kustomization.yaml", "resources: [../base]"),
    (
        "bad/kustomization.yaml",
        "\
resources: [../base]
nope: 1
",
    ),
];

fn home() -> TempDir {
    temp_dir(FILES)
}

/// Generates the page that documents all codes.
fn page() -> String {
    let mut page = r"# Messages

Every problem has a code, such as `warning[unmatched-patch]`. Codes are stable: later versions may add codes, but they
do not change the meaning of existing ones.

`--message-format json` prints the messages on stderr as one JSON object per line. `check -o json` prints the findings on stdout as an
array of the same objects. Their fields are `code`, `severity`, `message`, `target`, `locations`,
`resource`, `field`, `help`, `fix`, and `notes` if there are any.

`fix` is the suggested edit, such as the correct name, or null. It has the fields `file`, `line`, `column`, `end_line`, `end_column`
and `replacement`. Replace the text from `line` and `column` up to, but not including, `end_line` and `end_column`. Lines and columns
start at 1.
"
        .to_string();
    for code in Code::ALL {
        page.extend(["\n## ", code.name(), "\n\n", code.meaning(), "\n\n", code.remedy(), "\n"]);
    }
    page
}

#[test]
fn messages_page_lists_all_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/messages.md");
    if std::env::var_os("SMP_WRITE_PAGES").is_some() {
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, page()).expect("written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "regenerate the page: SMP_WRITE_PAGES=1 cargo test --test cli messages");
}

#[test]
fn codes_have_unique_names() {
    let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')), "{names:?}");
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    for code in Code::ALL {
        assert!(code.meaning().ends_with('.') && code.remedy().ends_with('.'), "{code}");
    }
}

#[test]
fn every_message_format_has_the_same_content() {
    let home = home();
    let text = stderr(&run(home.path(), &["build", "two"]));
    insta::assert_snapshot!(text, @r#"
    warning[unmatched-patch]: patch target matches no resource, so the patch has no effect: name=nope
     --> base/kustomization.yaml:4:18
      |
    4 |   target: {name: nope}
      |                  ^^^^
      |
     ::: base/kustomization.yaml:3:10
      |
    3 | - patch: '[{"op": "remove", "path": "/data"}]'
      |          ------------------------------------- patch
      |
      = help: targets are resources of this kustomization and its bases
    "#);
    let short = stderr(&run(home.path(), &["build", "two", "--message-format", "short"]));
    insta::assert_snapshot!(short, @"base/kustomization.yaml:4:18: warning[unmatched-patch]: patch target matches no resource, so the patch has no effect: name=nope");
    let github = stderr(&run(home.path(), &["build", "two", "--message-format=github"]));
    insta::assert_snapshot!(github, @"::warning file=base/kustomization.yaml,line=4,endLine=4,col=18,endColumn=22,title=unmatched-patch::patch target matches no resource, so the patch has no effect: name=nope%0Atargets are resources of this kustomization and its bases");
    let json = stderr(&run(home.path(), &["--message-format", "json", "build", "two"]));
    let message: Value = serde_json::from_str(json.trim_end()).expect("one object");
    let location = &message["locations"][0];
    assert_eq!(
        (&message["code"], &message["severity"], &location["file"], &location["line"], &location["primary"]),
        (
            &"unmatched-patch".into(),
            &"warning".into(),
            &"base/kustomization.yaml".into(),
            &4.into(),
            &true.into()
        )
    );
}

#[test]
fn every_line_of_json_is_an_object() {
    let home = home();
    fs::write(home.path().join("new.yaml"), CM.replace("x: y", "x: z")).expect("written");
    let lines: [&[&str]; 8] = [
        &["build", "one", "bad", "nope"],
        &["build", "--nope"],
        &["nope"],
        &["build", "--strict", "one", "two"],
        &["merge", "new.yaml", "base/a.yaml"],
        &["patch", "-f", "base/a.yaml", "-p", "{", "-o", "yaml"],
        &["diff", "one", "-s", "http://127.0.0.1:1"],
        &["recover", "nope"],
    ];
    for args in lines {
        let output = run(home.path(), &[args, &["--message-format", "json"]].concat());
        let text = stderr(&output);
        assert!(!text.is_empty(), "{args:?} says nothing");
        for line in text.lines() {
            let message: Value =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{args:?}: {e}: {line}"));
            let fields: Vec<_> = message.as_object().expect("an object").keys().map(String::as_str).collect();
            for field in
                ["code", "severity", "message", "target", "locations", "resource", "field", "help", "fix"]
            {
                assert!(fields.contains(&field), "{args:?}: no {field} in {line}");
            }
            let code = message["code"].as_str().expect("a code");
            assert!(Code::ALL.iter().any(|known| known.name() == code), "{line}");
        }
    }
}

#[test]
fn warnings_are_printed_once_per_location() {
    let home = home();
    let output = run(home.path(), &["build", "one", "two", "base"]);
    let text = stderr(&output);
    assert_eq!(text.matches("unmatched-patch").count(), 1, "{text}");
    assert_eq!(text.matches("deprecated-field").count(), 1, "{text}");
    insta::assert_snapshot!(text, @r#"
    warning[deprecated-field]: `bases` is deprecated
     --> one/kustomization.yaml:1:1
      |
    1 | bases: [../base]
      | ^^^^^
      |
      = target: one
      = help: use `resources` instead
    warning[unmatched-patch]: patch target matches no resource, so the patch has no effect: name=nope
     --> base/kustomization.yaml:4:18
      |
    4 |   target: {name: nope}
      |                  ^^^^
      |
     ::: base/kustomization.yaml:3:10
      |
    3 | - patch: '[{"op": "remove", "path": "/data"}]'
      |          ------------------------------------- patch
      |
      = target: one
      = help: targets are resources of this kustomization and its bases
    warning: 2 warnings; 2 duplicates were not shown
    "#);
    assert!(output.status.success());
}

#[test]
fn quiet_prints_only_errors() {
    let home = home();
    let output = run(home.path(), &["build", "-q", "one"]);
    assert_eq!((stderr(&output).as_str(), output.status.code()), ("", Some(0)));
    insta::assert_snapshot!(stderr(&run(home.path(), &["build", "-q", "bad"])), @r"
    error[unknown-field]: unknown field `nope`
     --> bad/kustomization.yaml:2:1
      |
    2 | nope: 1
      | ^^^^
      |
      = field: nope
    ");
}

#[test]
fn strict_turns_warnings_into_errors() {
    let home = home();
    let output = run(home.path(), &["build", "--strict", "two"]);
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(1)), "nothing is printed");
    insta::assert_snapshot!(stderr(&output), @r#"
    error[unmatched-patch]: patch target matches no resource, so the patch has no effect: name=nope
     --> base/kustomization.yaml:4:18
      |
    4 |   target: {name: nope}
      |                  ^^^^
      |
     ::: base/kustomization.yaml:3:10
      |
    3 | - patch: '[{"op": "remove", "path": "/data"}]'
      |          ------------------------------------- patch
      |
      = help: targets are resources of this kustomization and its bases
    "#);
    fs::write(home.path().join("base/kustomization.yaml"), "resources: [a.yaml]\n").expect("written");
    assert!(run(home.path(), &["build", "--strict", "two"]).status.success(), "without warnings it builds");
}

#[test]
fn strict_writes_nothing() {
    let home = home();
    let output = run(home.path(), &["build", "--strict", "one", "two", "--output-dir", "out"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!home.path().join("out").exists());
    fs::write(
        home.path().join("list.yaml"),
        "\
apiVersion: e.com/v1
kind: W
metadata: {name: a}
spec: {l: [1]}
",
    )
    .expect("written");
    let patch = "{apiVersion: e.com/v1, kind: W, metadata: {name: a}, spec: {l: [2]}}";
    let args = ["patch", "-f", "list.yaml", "-p", patch, "--in-place"];
    let before = fs::read_to_string(home.path().join("list.yaml")).expect("there");
    let strict = run(home.path(), &[&args[..], &["--strict"]].concat());
    assert_eq!(strict.status.code(), Some(1), "{}", stderr(&strict));
    assert_eq!(fs::read_to_string(home.path().join("list.yaml")).expect("there"), before);
}

/// Flags, environment variables, and whether the output is coloured.
type Coloured = (&'static [&'static str], &'static [(&'static str, &'static str)], bool);

#[test]
fn colours_follow_flag_and_environment() {
    let home = home();
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(home.path(), &[&["build", "two"], args].concat());
        let output = command.envs(variables.iter().copied()).output().expect("the program runs");
        output.stderr.contains(&b'\x1b')
    };
    let table: [Coloured; 8] = [
        (&[], &[], false),
        (&["--color", "always"], &[], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&[], &[("FORCE_COLOR", "1")], true),
        (&[], &[("FORCE_COLOR", "0")], false),
        (&[], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], false),
        (&["--color", "never"], &[("FORCE_COLOR", "1")], false),
        (&["--message-format", "json", "--color", "always"], &[], false),
    ];
    for (args, variables, want) in table {
        assert_eq!(coloured(args, variables), want, "{args:?} {variables:?}");
    }
}

#[test]
fn control_characters_in_names_are_escaped() {
    let home = home();
    let name = "\\e[31mx\\nerror: forged\\u009b";
    let text = CM.replace("name: a", &format!("name: \"{name}\""));
    fs::write(home.path().join("base/a.yaml"), text).expect("written");
    for args in [&["build", "base", "-o", "name"][..], &["build", "base", "base/a.yaml"]] {
        let output = run(home.path(), args);
        for bytes in [&output.stderr, &output.stdout] {
            let text = String::from_utf8(bytes.clone()).expect("text");
            let is_raw = |c: char| c != '\n' && c.is_control();
            assert!(!text.contains(is_raw), "{args:?}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with("error: forged")), "{args:?}: {text}");
        }
    }
}

/// Returns true if GitHub, Azure Pipelines or TeamCity interpret the line as a command.
fn is_command(line: &str) -> bool {
    let github = line.trim_start().strip_prefix("::");
    let is_named = github.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    is_named || line.contains("##[") || line.contains("##vso[")
}

#[test]
#[cfg(unix)]
fn names_cannot_inject_ci_commands() {
    let home = home();
    let names = ["::error title=a::b.yaml", "##vso[task.x]y.yaml", "##[error]z.yaml"];
    let list = names.map(|name| format!("{name:?}")).join(", ");
    let kustomization = format!(
        "\
resources: [{list}]
images: [{{name: nope, newTag: '1'}}]
"
    );
    fs::create_dir_all(home.path().join("::warning::w")).expect("made");
    for (i, name) in names.iter().enumerate() {
        let text = CM.replace("name: a", &format!("name: 'x{i} ##vso[task.x]'"));
        fs::write(home.path().join("::warning::w").join(name), text).expect("written");
    }
    fs::write(home.path().join("::warning::w/kustomization.yaml"), kustomization).expect("written");
    let target = "::warning::w";
    for args in [
        &["check", target][..],
        &["check", target, "-o", "short"],
        &["check", target, "-o", "json"],
        &["check", target, "-o", "sarif"],
        &["check", target, "-o", "junit"],
        &["check", target, "-o", "markdown"],
        &["tree", target],
        &["tree", target, "-o", "json"],
        &["tree", target, "-o", "dot"],
        &["deps", target],
        &["deps", target, "-o", "json"],
        &["deps", target, "base", "-o", "argocd"],
        &["build", target, "-o", "name", "--message-format", "short"],
        &["build", target, "-o", "name", "--message-format", "json"],
    ] {
        let output = run(home.path(), args);
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8(bytes.clone()).expect("text");
            let command = text.lines().find(|line| is_command(line));
            assert_eq!(command, None, "{args:?}\n{text}");
        }
        assert!(!output.stdout.is_empty(), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn identical_errors_are_printed_once_with_a_count() {
    let home = home();
    fs::write(home.path().join("base/a.yaml"), "kind: [\n").expect("written");
    for i in 0..67 {
        let directory = home.path().join(format!("all/{i:02}"));
        fs::create_dir_all(&directory).expect("made");
        fs::write(directory.join("kustomization.yaml"), "resources: [../../base]\n").expect("written");
    }
    let output = run(home.path(), &["build", "-R", "all"]);
    let text = stderr(&output);
    assert_eq!((output.status.code(), text.matches("error[syntax]").count()), (Some(1), 1), "{text}");
    assert!(text.contains("and 66 more: all/01, all/02, all/03, ..."), "{text}");
    assert!(text.contains("67 of 67 targets failed"), "{text}");
    let json = stderr(&run(home.path(), &["build", "-R", "all", "--message-format", "json"]));
    assert_eq!(json.lines().filter(|line| line.contains("\"syntax\"")).count(), 67, "programs get all");
}
