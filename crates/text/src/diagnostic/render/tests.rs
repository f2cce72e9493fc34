use std::path::Path;

use super::*;
use crate::diagnostic::{Code, ObjectName, ResourceName};
use crate::source::Span;

fn sources(name: &str, text: &str) -> (SourceMap, impl Fn(usize, usize) -> Span + use<>) {
    let sources = SourceMap::default();
    let id = sources.add(name, text);
    (sources, move |start, end| Span::new(id, start, end))
}

fn problem(span: &impl Fn(usize, usize) -> Span) -> Diagnostic {
    let object = ObjectName {
        api_version: "v1".into(),
        kind: "Service".into(),
        name: "web".into(),
        ..ObjectName::default()
    };
    Diagnostic::error(Code::DuplicateKey, "duplicate key `name`")
        .label(span(24, 28), "second occurrence")
        .label(span(14, 18), "first occurrence")
        .resource(ResourceName::from_object("Service web".into(), object))
        .field("metadata.name")
        .help("remove one of the two")
}

const TEXT: &str = "kind: Service\nname: web\nname: db\n";

#[test]
fn problem_is_rendered_with_its_locations() {
    let (sources, span) = sources("app/web.yaml", TEXT);
    let shown = |format| MessageRenderer::new(&sources, format).render(&problem(&span));
    insta::assert_snapshot!(shown(MessageFormat::Text), @"
    error[duplicate-key]: duplicate key `name`
     --> app/web.yaml:3:1
      |
    3 | name: db
      | ^^^^ second occurrence
      |
     ::: app/web.yaml:2:1
      |
    2 | name: web
      | ---- first occurrence
      |
      = resource: Service web
      = field: metadata.name
      = help: remove one of the two
    ");
    let short = "app/web.yaml:3:1: error[duplicate-key]: duplicate key `name`";
    assert_eq!(shown(MessageFormat::Short), short);
    let message: serde_json::Value = serde_json::from_str(&shown(MessageFormat::Json)).expect("JSON");
    let location = |line, label, primary| {
        serde_json::json!({"file": "app/web.yaml", "line": line, "column": 1, "end_line": line, "end_column": 5,
            "label": label, "primary": primary})
    };
    let want = serde_json::json!({
        "code": "duplicate-key",
        "severity": "error",
        "message": "duplicate key `name`",
        "target": null,
        "locations": [location(3, "second occurrence", true), location(2, "first occurrence", false)],
        "resource": {"apiVersion": "v1", "kind": "Service", "namespace": "", "name": "web"},
        "field": "metadata.name",
        "help": "remove one of the two",
        "fix": null,
    });
    assert_eq!(message, want);
    let github = "::error file=app/web.yaml,line=3,endLine=3,col=1,endColumn=5,title=duplicate-key::Service web: \
                  metadata.name: duplicate key `name`%0Aremove one of the two";
    assert_eq!(shown(MessageFormat::Github), github);
}

#[test]
fn paths_are_relative_to_the_directory() {
    let (sources, span) = sources("/home/me/app/a.yaml", "a: 1\n");
    let problem = Diagnostic::warning(Code::NoMatch, "nothing").at(span(0, 1));
    let renderer = MessageRenderer::new(&sources, MessageFormat::Short);
    assert_eq!(renderer.render(&problem), "/home/me/app/a.yaml:1:1: warning[no-match]: nothing");
    let renderer = renderer.relative_to("/home/me");
    assert_eq!(renderer.render(&problem), "app/a.yaml:1:1: warning[no-match]: nothing");
}

const FORMATS: [MessageFormat; 4] =
    [MessageFormat::Text, MessageFormat::Short, MessageFormat::Json, MessageFormat::Github];

#[test]
fn no_part_of_a_message_has_control_characters_or_starts_a_line() {
    let evil = "x\nerror: forged\r\x1b[2J\u{9b}31m\u{202e}\u{2028}";
    let (sources, span) = sources(evil, "a: \u{1b}[31m\u{9b}\u{202e}b\tc\n");
    let object = ObjectName { name: evil.into(), ..ObjectName::default() };
    let problem = Diagnostic::error(Code::Syntax, evil)
        .label(span(0, 12), evil)
        .label(span(12, 14), evil)
        .resource(ResourceName::from_object(evil.into(), object))
        .field(evil)
        .target(Path::new(evil))
        .note(evil)
        .help(evil);
    for format in FORMATS {
        let shown = MessageRenderer::new(&sources, format).render(&problem);
        assert!(
            !shown.chars().any(|c| c != '\n' && crate::diagnostic::escape::is_display_control(c)),
            "{shown:?}"
        );
        assert!(!shown.lines().skip(1).any(|line| line.starts_with("error")), "{shown}");
        assert!(shown.contains("forged"), "{shown}");
    }
}

#[test]
fn locations_in_escaped_lines_are_correct() {
    let (sources, span) = sources("a.yaml", "\u{7}a: \u{1b}b\n");
    let problem = Diagnostic::error(Code::Syntax, "here").label(span(4, 6), "this");
    let shown = MessageRenderer::new(&sources, MessageFormat::Text).render(&problem);
    insta::assert_snapshot!(shown, @r"
    error[syntax]: here
     --> a.yaml:1:5
      |
    1 | \x07a: \x1bb
      |        ^^^^^ this
    ");
}

#[test]
fn lines_with_secrets_are_hidden() {
    let (sources, span) = sources("a.yaml", "kind: Secret\nstringData:\n  a: hunter2\n");
    let problem = Diagnostic::error(Code::WrongType, "at https://me:hunter2@h/?token=hunter2")
        .label(span(30, 37), "this")
        .help("see https://me:hunter2@h");
    for format in FORMATS {
        let shown = MessageRenderer::new(&sources, format).render(&problem);
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn hidden_values_are_masked_before_they_are_shortened() {
    let (sources, _) = sources("a.yaml", TEXT);
    let value = "hunter2-".repeat(100);
    sources.hide_value(&value);
    let object = ObjectName { kind: "Pod".into(), name: value.clone(), ..ObjectName::default() };
    let problem = Diagnostic::error(Code::NoMatch, format!("no resource `a-{value}`"))
        .resource(ResourceName::from_object(format!("Pod {value}"), object))
        .help(format!("did you mean `{value}`?"));
    for format in [MessageFormat::Text, MessageFormat::Short, MessageFormat::Json, MessageFormat::Github] {
        let renderer = MessageRenderer::new(&sources, format);
        let shown = renderer.render(&problem) + &renderer.clean_text(&value);
        assert!(!shown.contains("hunter2") && shown.contains("***"), "{format:?}: {shown}");
    }
}
