//! Tests of the screen after inputs, with the data of a fake session.

use std::cell::RefCell;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{
    self, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier};
use serde_json::Value;

use super::super::hunks::DiffLine;
use super::super::model::{
    ChainLink, ChangedObject, DangerView, DiffView, ErrorView, Event, ExcerptLine, FieldView, FindingView,
    FoundLine, LineView, LocationView, ResourceView, SearchView, SourceView, TargetState, TargetSummary,
    TargetView,
};
use super::app::{Action, App, Input};
use super::data::PreviewData;
use super::details::provenance_rows;
use super::draw::draw;
use super::editor::EditorTarget;

/// The current targets of the session, by name.
#[derive(Default)]
struct Fake {
    views: RefCell<Vec<TargetView>>,
    /// The fetched views, each with its kind.
    fetched: RefCell<Vec<String>>,
}

impl PreviewData for Fake {
    fn view(&self, target: &str) -> Option<TargetView> {
        self.fetched.borrow_mut().push(format!("view {target}"));
        self.views.borrow().iter().find(|view| view.name == target).cloned()
    }

    fn diff(&self, target: &str) -> Option<DiffView> {
        self.fetched.borrow_mut().push(format!("diff {target}"));
        let line = |sign, text: &str| DiffLine { sign, text: text.into() };
        let danger = DangerView {
            severity: "warning",
            code: "scaled-to-zero",
            message: "no replica remains".into(),
            location: Some(at("overlays/prod/patch.yaml", 6)),
        };
        let object = ChangedObject {
            id: "deployment.apps/web in shop".into(),
            action: "changed",
            dangers: vec![danger],
            lines: vec![line('@', "@@ -1 +1 @@"), line('-', "  replicas: 1"), line('+', "  replicas: 3")],
        };
        Some(DiffView { comparison: "base".into(), stale: false, error: None, objects: vec![object] })
    }

    fn field(&self, _: &str, _: usize, pointer: &str) -> Option<FieldView> {
        let link = |value: &str, by: &str, file: &str, line| ChainLink {
            value: value.into(),
            by: by.into(),
            at: Some(at(file, line)),
            excerpt: vec![
                ExcerptLine { line: line - 1, text: "spec:".into(), highlight: false },
                ExcerptLine { line, text: format!("  replicas: {value}"), highlight: true },
            ],
            caused_at: None,
        };
        let chain = vec![
            link("3", "patches[0]", "overlays/prod/patch.yaml", 6),
            link("1", "manifest", "base/web.yaml", 5),
        ];
        let resource = "Deployment shop/web".to_string();
        Some(FieldView { resource, pointer: pointer.into(), path: "spec.replicas".into(), chain })
    }

    fn source(&self, _: &str, file: &str) -> Option<SourceView> {
        Some(SourceView { file: file.into(), path: Some(format!("/repo/{file}")), text: String::new() })
    }

    fn search(&self, query: &str) -> SearchView {
        let found = |text: &str, pointer: Option<&str>| FoundLine {
            target: "overlays/prod".into(),
            resource: 0,
            id: "Deployment shop/web".into(),
            pointer: pointer.map(Into::into),
            text: text.into(),
        };
        let matches = vec![
            found("Deployment shop/web", None),
            found(&format!("replicas: 3 {query}"), Some("/spec/replicas")),
        ];
        SearchView { matches, more: 5 }
    }

    fn reveal(&self, _: &str, _: usize, pointer: &str) -> Option<String> {
        (pointer == "/data/password").then(|| "hunter2\n".into())
    }
}

fn at(file: &str, line: usize) -> LocationView {
    LocationView { file: file.into(), path: Some(format!("/repo/{file}")), line, column: 3 }
}

fn line(text: &str, pointer: &str) -> LineView {
    let pointer = (!pointer.is_empty()).then(|| pointer.to_string());
    LineView { text: text.into(), pointer, secret: text.contains("***") }
}

fn resource(kind: &str, name: &str, lines: Vec<LineView>) -> ResourceView {
    ResourceView {
        id: format!("{kind} shop/{name}"),
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: "shop".into(),
        name: name.into(),
        hash: String::new(),
        lines,
    }
}

fn view(name: &str, replicas: &str) -> TargetView {
    let deployment = vec![
        line("kind: Deployment", "/kind"),
        line("spec:", ""),
        line(&format!("  replicas: {replicas}"), "/spec/replicas"),
    ];
    let secret = vec![line("kind: Secret", "/kind"), line("  password: '***'", "/data/password")];
    TargetView {
        name: name.into(),
        generation: 1,
        state: TargetState::Ok,
        stale: false,
        error: None,
        resources: vec![resource("Deployment", "web", deployment), resource("Secret", "token", secret)],
        findings: Vec::new(),
        layers: Value::Null,
        files: vec!["base/web.yaml".into(), format!("{name}/kustomization.yaml")],
    }
}

fn finding() -> FindingView {
    FindingView {
        severity: "warning",
        code: "mutable-tag",
        message: "the tag of image nginx:1.27 can change".into(),
        resource: Some("Deployment shop/web".into()),
        field: Some("spec.template.spec.containers[0].image".into()),
        location: Some(at("base/web.yaml", 17)),
        help: Some("use a digest".into()),
        pointer: None,
    }
}

fn summary(view: &TargetView, generation: u64) -> TargetSummary {
    TargetSummary {
        name: view.name.clone(),
        state: view.state,
        errors: usize::from(view.state == TargetState::Error),
        error: None,
        warnings: usize::from(view.state == TargetState::Warning),
        stale: view.stale,
        dangers: 0,
        danger_errors: 0,
        changes: Some(2),
        resources: view.resources.len(),
        generation,
    }
}

fn state(fake: &Fake) -> Event {
    Event::State {
        generation: 1,
        title: "overlays".into(),
        comparison: Some("base".into()),
        targets: fake.views.borrow().iter().map(|view| summary(view, 1)).collect(),
    }
}

fn update(targets: Vec<TargetSummary>, removed: &[&str]) -> Input {
    Input::Session(Event::Update {
        generation: 2,
        changed: vec!["overlays/prod/patch.yaml".into()],
        milliseconds: 7.4,
        targets,
        removed: removed.iter().map(ToString::to_string).collect(),
    })
}

/// Returns two targets. The selected one has a warning.
fn shop() -> Fake {
    let mut prod = view("overlays/prod", "3");
    (prod.state, prod.findings) = (TargetState::Warning, vec![finding()]);
    let fake = Fake::default();
    *fake.views.borrow_mut() = vec![view("overlays/dev", "1"), prod];
    fake
}

fn app(fake: &Fake) -> App<'_> {
    let mut app = App::new(fake, state(fake), Size::new(80, 24));
    app.prepare();
    app
}

fn press(app: &mut App<'_>, code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
    let action = app.handle(Input::Terminal(event::Event::Key(KeyEvent::new(code, modifiers))));
    app.prepare();
    action
}

/// Presses the keys of a text. `⏎` is Enter, `⎋` is Esc, `⇥` is Tab.
fn keys(app: &mut App<'_>, text: &str) -> Option<Action> {
    let codes = text.chars().map(|c| match c {
        '⏎' => KeyCode::Enter,
        '⎋' => KeyCode::Esc,
        '⇥' => KeyCode::Tab,
        c => KeyCode::Char(c),
    });
    codes.map(|code| press(app, code, KeyModifiers::NONE)).last().flatten()
}

fn terminal(app: &App<'_>, has_color: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(app.size.width, app.size.height)).expect("a terminal");
    terminal.draw(|frame| draw(app, frame, has_color)).expect("it draws");
    terminal
}

/// Returns the rows of the screen, without trailing spaces.
fn rows(app: &App<'_>) -> Vec<String> {
    let terminal = terminal(app, false);
    let buffer = terminal.backend().buffer();
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| row(y).trim_end().to_string()).collect()
}

fn screen(app: &App<'_>) -> String {
    rows(app).join("\n")
}

/// Returns the row with the cursor of the output.
fn cursor_row(app: &App<'_>) -> String {
    let rows = rows(app);
    let mut right = rows.iter().filter_map(|row| row.split_once('│')).map(|(_, right)| right);
    right.find(|row| row.starts_with('>')).unwrap_or_default().to_string()
}

#[test]
fn targets_output_and_findings_are_shown() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]jjj");
    assert_eq!(screen(&app), FIRST_SCREEN);
}

#[test]
fn enter_shows_the_chain_of_the_value_and_follows_the_cursor() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]jjj⏎");
    assert_eq!(screen(&app), CHAIN_SCREEN);
    keys(&mut app, "k");
    assert!(screen(&app).contains("There is no value on this line"), "{}", screen(&app));
    keys(&mut app, "⎋");
    assert!(screen(&app).contains("warning[mutable-tag]"), "{}", screen(&app));
}

#[test]
fn a_save_keeps_the_cursor_on_its_value() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]jjj");
    let mut changed = view("overlays/prod", "5");
    changed.resources[0].lines.insert(1, line("metadata:", ""));
    let summary = summary(&changed, 2);
    fake.views.borrow_mut()[1] = changed;
    app.handle(update(vec![summary], &[]));
    app.prepare();
    assert_eq!(cursor_row(&app), ">  replicas: 5");
    assert!(screen(&app).contains("Built 1 target in 7 ms: overlays/prod/patch.yaml"), "{}", screen(&app));
}

#[test]
fn an_error_keeps_the_last_output() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]jjj");
    let mut broken = view("overlays/prod", "3");
    let message = "patch target matches no resource: Deployment/webb (did you mean web?)";
    let text = format!("error[unmatched-patch]: {message}\n --> overlays/prod/patch.yaml:4:9");
    let location = Some(at("overlays/prod/patch.yaml", 4));
    broken.error = Some(ErrorView { message: message.into(), text, location });
    (broken.state, broken.stale) = (TargetState::Error, true);
    let summary = summary(&broken, 2);
    fake.views.borrow_mut()[1] = broken;
    app.handle(update(vec![summary], &[]));
    app.prepare();
    assert_eq!(screen(&app), ERROR_SCREEN);
    assert_eq!(cursor_row(&app), ">  replicas: 3");
    keys(&mut app, "d");
    let shown = screen(&app);
    assert!(shown.contains("The diff is that of the last successful build:"), "{shown}");
    assert!(shown.contains(" +  replicas: 3"), "{shown}");
}

#[test]
fn banner_has_each_line_of_the_error_and_counts_the_others() {
    let fake = shop();
    let mut broken = view("overlays/prod", "3");
    let message = "several patches match:\n- a.yaml\n- b.yaml";
    broken.error = Some(ErrorView { message: message.into(), text: message.into(), location: None });
    let error = || FindingView { severity: "error", ..finding() };
    (broken.state, broken.findings) = (TargetState::Error, vec![error(), finding(), error(), error()]);
    fake.views.borrow_mut()[1] = broken;
    let mut app = app(&fake);
    keys(&mut app, "]");
    let rows = rows(&app);
    let right: Vec<&str> =
        rows.iter().filter_map(|row| row.split_once('│')).map(|(_, right)| right).collect();
    let lines = [
        " ✗ error: several patches match:",
        " - a.yaml",
        " - b.yaml",
        "   and 2 more errors: see the findings",
    ];
    assert_eq!(right[1..5], lines, "{right:#?}");
}

#[test]
fn lines_of_a_value_are_rows_of_the_provenance() {
    let link = |value: &str| ChainLink {
        value: value.into(),
        by: "manifest".into(),
        at: None,
        excerpt: Vec::new(),
        caused_at: None,
    };
    let chain = vec![link("a: 1\n\n  b: 2\n"), link("one\r\ttab")];
    let field =
        FieldView { resource: "ConfigMap a".into(), pointer: "/data/x".into(), path: "data.x".into(), chain };
    let rows: Vec<String> = provenance_rows(&field, 60).into_iter().map(|row| row.line.text).collect();
    let want = [
        "data.x of ConfigMap a",
        "=> a: 1",
        "   ",
        "     b: 2  by manifest (in effect)",
        "   no source location",
        "   one\\r\\ttab  by manifest",
        "   no source location",
    ];
    assert_eq!(rows, want);
}

#[test]
fn removed_targets_disappear() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]");
    app.handle(update(Vec::new(), &["overlays/prod"]));
    app.prepare();
    let shown = screen(&app);
    assert!(!shown.contains("✓ overlays/prod") && shown.contains("Output overlays/dev"), "{shown}");
    app.handle(update(Vec::new(), &["overlays/dev"]));
    app.prepare();
    assert!(screen(&app).contains("No targets"), "{}", screen(&app));
    assert_eq!(keys(&mut app, "jknp[]⏎odre⇥⏎o"), None);
}

#[test]
fn keys_move_between_lines_resources_and_targets() {
    let fake = shop();
    let mut app = app(&fake);
    assert_eq!(cursor_row(&app), "># Deployment shop/web");
    keys(&mut app, "n");
    assert_eq!(cursor_row(&app), "># Secret shop/token");
    keys(&mut app, "jp");
    assert_eq!(cursor_row(&app), "># Secret shop/token");
    keys(&mut app, "p");
    assert_eq!(cursor_row(&app), "># Deployment shop/web");
    keys(&mut app, "G");
    assert_eq!(cursor_row(&app), ">  password: '***'");
    // Each target has its own position.
    keys(&mut app, "]j[");
    assert_eq!(cursor_row(&app), ">  password: '***'");
    keys(&mut app, "⇥⇥jk");
    assert!(screen(&app).contains("Targets 2"), "{}", screen(&app));
}

#[test]
fn diff_shows_changes_and_dangers() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]dj");
    let shown = screen(&app);
    assert!(!shown.contains("Enter provenance"), "{shown}");
    for text in [
        "Diff overlays/prod 1/1",
        "# deployment.apps/web in shop (changed)",
        ">! warning[scaled-to-zero]: no replica remains",
        " -  replicas: 1",
        " +  replicas: 3",
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    let path = "/repo/overlays/prod/patch.yaml".to_string();
    assert_eq!(keys(&mut app, "o"), Some(Action::Edit(EditorTarget { path, line: 6, column: 3 })));
    keys(&mut app, "d");
    assert!(screen(&app).contains("Output overlays/prod"), "{}", screen(&app));
}

#[test]
fn search_opens_the_line_of_a_match() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "fdev⏎/q⏎");
    let shown = screen(&app);
    for text in ["Search q: 2 matches, and 5 more", ">overlays/prod: Deployment shop/web", "   replicas: 3 q"]
    {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    keys(&mut app, "j⏎");
    assert_eq!(cursor_row(&app), ">  replicas: 3");
    // The filter would hide the target.
    assert!(screen(&app).contains("Targets 2"), "{}", screen(&app));
}

#[test]
fn filter_selects_by_name_and_state() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "fis:warning");
    assert!(screen(&app).contains("filter: is:warning"), "{}", screen(&app));
    keys(&mut app, "⏎");
    let shown = screen(&app);
    assert!(shown.contains("Targets 1/2 is:warning") && !shown.contains("overlays/dev"), "{shown}");
    keys(&mut app, "⎋");
    assert!(screen(&app).contains("overlays/dev"), "{}", screen(&app));
    keys(&mut app, "fnothing⏎");
    assert!(screen(&app).contains("No target matches"), "{}", screen(&app));
}

#[test]
fn secrets_are_revealed_one_by_one_until_the_next_build() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "r");
    assert!(screen(&app).contains("There is no secret on this line"), "{}", screen(&app));
    keys(&mut app, "Gr");
    assert_eq!(cursor_row(&app), ">  password: hunter2\\n");
    keys(&mut app, "r");
    assert_eq!(cursor_row(&app), ">  password: '***'");
    keys(&mut app, "r");
    let summary = summary(&view("overlays/dev", "1"), 2);
    app.handle(update(vec![summary], &[]));
    app.prepare();
    assert_eq!(cursor_row(&app), ">  password: '***'");
}

#[test]
fn editor_opens_at_the_write_that_wins() {
    let fake = shop();
    let mut app = app(&fake);
    let edit = |path: &str, line, column| {
        Some(Action::Edit(EditorTarget { path: format!("/repo/{path}"), line, column }))
    };
    assert_eq!(keys(&mut app, "]jjjo"), edit("overlays/prod/patch.yaml", 6, 3));
    // A row of the chain opens its own location.
    assert_eq!(keys(&mut app, "⏎⇥Ge"), edit("base/web.yaml", 5, 3));
    assert_eq!(keys(&mut app, "⇥o"), edit("overlays/prod/kustomization.yaml", 1, 1));
}

#[test]
fn views_are_fetched_once_for_each_build() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "jjk][]ddd⏎⎋");
    let mut fetched = fake.fetched.borrow().clone();
    fetched.sort();
    assert_eq!(fetched, ["diff overlays/prod", "view overlays/dev", "view overlays/prod"]);
}

#[test]
fn targets_with_dangers_do_not_look_ok() {
    let fake = shop();
    let mut app = app(&fake);
    let dangerous = |dangers, danger_errors| {
        let target = summary(&fake.views.borrow()[0], 2);
        update(vec![TargetSummary { dangers, danger_errors, ..target }], &[])
    };
    app.handle(dangerous(3, 0));
    app.prepare();
    assert!(rows(&app)[2].starts_with(">✓ overlays/dev   ok 3D ~2"), "{}", screen(&app));
    app.handle(dangerous(3, 1));
    app.prepare();
    assert!(rows(&app)[2].starts_with(">! overlays/dev      3D ~2"), "{}", screen(&app));
    keys(&mut app, "fis:danger⏎");
    assert!(screen(&app).contains("Targets 1/2 is:danger"), "{}", screen(&app));
}

#[test]
fn control_and_direction_characters_are_escaped() {
    let fake = shop();
    let mut hostile = view("a\u{202e}b\x1b[31m", "\u{202e}\x1b]0;x\x07");
    hostile.findings = vec![FindingView { message: "\x1b[2J\u{2066}".into(), ..finding() }];
    fake.views.borrow_mut().insert(0, hostile);
    let mut app = app(&fake);
    keys(&mut app, "jjj");
    let shown = screen(&app);
    assert!(!shown.chars().any(|c| (c.is_control() && c != '\n') || ('\u{2066}'..='\u{2069}').contains(&c)));
    assert!(!shown.contains('\u{202e}'));
    for text in ["Output a\\u202eb\\x1b[31m", "replicas: \\u202e\\x1b]0;x\\x07", "\\x1b[2J\\u2066"] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
}

#[test]
fn large_previews_are_drawn_by_visible_lines() {
    let fake = Fake::default();
    let mut large = view("large", "1");
    large.resources[0].lines = (0..100_000).map(|i| line(&format!("line: {i}"), &format!("/{i}"))).collect();
    let others = (0..1000).map(|i| view(&format!("overlays/{i:04}"), "1"));
    *fake.views.borrow_mut() = [large].into_iter().chain(others).collect();
    let mut app = app(&fake);
    let started = std::time::Instant::now();
    keys(&mut app, "Gp");
    press(&mut app, KeyCode::PageUp, KeyModifiers::NONE);
    for _ in 0..200 {
        keys(&mut app, "j");
        assert_eq!(rows(&app).len(), 24);
    }
    // A frame that computed all lines would take 200 times as long.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    keys(&mut app, "⇥⇥G");
    assert!(screen(&app).contains("Output overlays/0999"), "{}", screen(&app));
}

#[test]
fn size_changes_are_followed() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "]jjj");
    app.size = Size::new(160, 50);
    app.prepare();
    let shown = screen(&app);
    assert_eq!(shown.lines().count(), 50);
    assert!(
        shown.lines().nth(1).is_some_and(|row| row.contains("Output") && row.contains("Findings")),
        "{shown}"
    );
    app.size = Size::new(40, 10);
    app.prepare();
    assert!(screen(&app).starts_with("The terminal is too small"), "{}", screen(&app));
    assert_eq!(keys(&mut app, "jnopq"), Some(Action::Quit));
    app.size = Size::new(80, 24);
    app.prepare();
    assert_eq!(screen(&app).lines().count(), 24);
}

#[test]
fn states_need_no_color() {
    let fake = shop();
    let app = app(&fake);
    let has_color = |with| {
        let terminal = terminal(&app, with);
        terminal.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset)
    };
    assert!(has_color(true) && !has_color(false));
    let terminal = terminal(&app, false);
    let buffer = terminal.backend().buffer();
    // The row with the cursor is marked by a character and by reversed colors.
    assert!(buffer[(28, 2)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn help_lists_the_keys() {
    let fake = shop();
    let mut app = app(&fake);
    keys(&mut app, "?");
    let shown = screen(&app);
    assert!(shown.contains("o, e            Open the editor at the line"), "{shown}");
    keys(&mut app, "⎋");
    assert!(screen(&app).contains("Output"), "{}", screen(&app));
}

#[test]
fn quit_suspend_and_mouse_are_actions() {
    let fake = shop();
    let mut app = app(&fake);
    assert_eq!(press(&mut app, KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Quit));
    assert_eq!(press(&mut app, KeyCode::Char('z'), KeyModifiers::CONTROL), Some(Action::Suspend));
    assert_eq!(keys(&mut app, "m"), Some(Action::Mouse(true)));
    let kind = MouseEventKind::Down(MouseButton::Left);
    let click = |column, row| MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
    app.handle(Input::Terminal(event::Event::Mouse(click(40, 5))));
    app.prepare();
    assert_eq!(cursor_row(&app), ">  replicas: 1");
    app.handle(Input::Terminal(event::Event::Mouse(click(5, 3))));
    app.prepare();
    assert!(screen(&app).contains("Output overlays/prod"), "{}", screen(&app));
    // A prompt receives letters that are commands elsewhere.
    assert_eq!(keys(&mut app, "/q"), None);
    assert_eq!(press(&mut app, KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Quit));
}

const FIRST_SCREEN: &str = " preview of overlays, compared with base             2 targets: 1 with warnings
─ Targets 2 ──────────────│▸ Output overlays/prod 1/2 ━━━━━━━━━━━━━━━━━━━━━━━━━━
 ✓ overlays/dev      ok ~2│ # Deployment shop/web
>! overlays/prod     1W ~2│ kind: Deployment
                          │ spec:
                          │>  replicas: 3
                          │ # Secret shop/token
                          │ kind: Secret
                          │   password: '***'
                          │
                          │
                          │
                          │
                          │
                          │
                          │─ Findings ──────────────────────────────────────────
                          │ warning[mutable-tag]: the tag of image nginx:1.27
                          │ can change
                          │   Deployment shop/web:
                          │   spec.template.spec.containers[0].image
                          │   base/web.yaml:17:3
                          │   help: use a digest
                          │
                                     Enter provenance  o editor  ? keys  q quit";

const CHAIN_SCREEN: &str = " preview of overlays, compared with base             2 targets: 1 with warnings
─ Targets 2 ──────────────│▸ Output overlays/prod 1/2 ━━━━━━━━━━━━━━━━━━━━━━━━━━
 ✓ overlays/dev      ok ~2│ # Deployment shop/web
>! overlays/prod     1W ~2│ kind: Deployment
                          │ spec:
                          │>  replicas: 3
                          │ # Secret shop/token
                          │ kind: Secret
                          │   password: '***'
                          │
                          │
                          │
                          │
                          │
                          │
                          │─ Provenance ────────────────────────────────────────
                          │ spec.replicas of Deployment shop/web
                          │ => 3  by patches[0] (in effect)
                          │   overlays/prod/patch.yaml:6:3
                          │       5 | spec:
                          │   >   6 |   replicas: 3
                          │    1  by manifest
                          │   base/web.yaml:5:3
                                     Enter provenance  o editor  ? keys  q quit";

const ERROR_SCREEN: &str = " preview of overlays, compared with base               2 targets: 1 with errors
─ Targets 2 ──────────────│▸ Output overlays/prod 1/2 ━━━━━━━━━━━━━━━━━━━━━━━━━━
 ✓ overlays/dev      ok ~2│ ✗ error: patch target matches no resource:
>✗ overlays/prod     1E ~2│ Deployment/webb (did you mean web?)
                          │   overlays/prod/patch.yaml:4:3
                          │   The output is that of the last successful build:
                          │ # Deployment shop/web
                          │ kind: Deployment
                          │ spec:
                          │>  replicas: 3
                          │ # Secret shop/token
                          │ kind: Secret
                          │   password: '***'
                          │
                          │
                          │─ Findings ──────────────────────────────────────────
                          │ error[unmatched-patch]: patch target matches no
                          │ resource: Deployment/webb (did you mean web?)
                          │  --> overlays/prod/patch.yaml:4:9
                          │
                          │
                          │
                          │
Built 1 target in 7 ms with errors: overlays/prod/patch.yaml             ? keys";
