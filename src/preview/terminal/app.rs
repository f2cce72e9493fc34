//! The state of the terminal interface, and the effect of each input on the state.

use std::collections::BTreeMap;
use std::rc::Rc;

use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Size;

use super::super::model::{Event, FieldView, TargetState, TargetView};
use super::cache::ViewCache;
use super::content::{Anchor, Content, Mode, ValueLine};
use super::cursor::{Cursor, Step};
use super::data::PreviewData;
use super::details::{Details, Subject, Topic, finding_rows, message_rows, provenance_rows, shown_location};
use super::editor::EditorTarget;
use super::keys::{self, Command, HELP};
use super::layout::{Layout, Pane, PaneArea};
use super::list::TargetList;
use super::prompt::{Prompt, PromptKind};
use super::results::Results;
use super::text::{ShownLine, Tone, wrap};
use smp_text::diagnostic::counted;

/// An input from the user or the session.
#[derive(Debug, Clone)]
pub(super) enum Input {
    Terminal(event::Event),
    Session(Event),
}

/// An effect outside of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Suspend,
    Redraw,
    /// Enables or disables the mouse.
    Mouse(bool),
    Edit(EditorTarget),
}

/// A list that covers the content and the details.
#[derive(Debug)]
pub(super) enum Overlay {
    Help(Cursor),
    Results(Results),
}

/// The target, its build, and the view that the content displays.
type Shown = (String, u64, Mode);

/// A revealed secret.
#[derive(Debug)]
struct Revealed {
    target: String,
    generation: u64,
    value: ValueLine,
    text: String,
}

/// The state of the terminal interface.
pub(super) struct App<'d> {
    pub(super) data: &'d dyn PreviewData,
    pub(super) title: String,
    pub(super) comparison: Option<String>,
    pub(super) targets: TargetList,
    pub(super) mode: Mode,
    pub(super) focus: Pane,
    pub(super) content: Option<Content>,
    /// The error of the target, above its output.
    pub(super) banner: Vec<ShownLine>,
    pub(super) details: Details,
    pub(super) overlay: Option<Overlay>,
    pub(super) prompt: Option<Prompt>,
    pub(super) status: String,
    pub(super) size: Size,
    has_mouse: bool,
    revealed: Option<Revealed>,
    shown: Option<Shown>,
    pub(super) view: Option<Rc<TargetView>>,
    views: ViewCache,
    /// The last positions in targets that were displayed before.
    anchors: BTreeMap<(String, Mode), Anchor>,
}

/// The number of columns by which a key scrolls horizontally.
const SIDE_STEP: isize = 8;

/// The maximum number of lines of an error above the output.
const MAX_BANNER: usize = 4;

/// The maximum number of changed files that are listed.
const MAX_NAMES: usize = 3;

impl<'d> App<'d> {
    /// Creates the state for all targets of a session.
    pub(super) fn new(data: &'d dyn PreviewData, state: Event, size: Size) -> Self {
        let mut app = Self {
            data,
            title: String::new(),
            comparison: None,
            targets: TargetList::default(),
            mode: Mode::default(),
            focus: Pane::default(),
            content: None,
            banner: Vec::new(),
            details: Details::default(),
            overlay: None,
            prompt: None,
            status: String::new(),
            size,
            has_mouse: false,
            revealed: None,
            shown: None,
            view: None,
            views: ViewCache::default(),
            anchors: BTreeMap::new(),
        };
        app.update(state);
        app
    }

    /// Changes the state according to an input. Call [`App::prepare`] before the state is drawn.
    pub(super) fn handle(&mut self, input: Input) -> Option<Action> {
        match input {
            Input::Session(event) => self.update(event),
            Input::Terminal(event::Event::Key(key)) if key.kind != KeyEventKind::Release => {
                return self.key(key);
            }
            Input::Terminal(event::Event::Paste(text)) => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.paste(&text);
                    self.filter_by_prompt();
                }
            }
            Input::Terminal(event::Event::Mouse(mouse)) => self.mouse(mouse),
            Input::Terminal(_) => {}
        }
        None
    }

    fn update(&mut self, event: Event) {
        match event {
            Event::State { title, comparison, targets, .. } => {
                (self.title, self.comparison) = (title, comparison);
                self.targets.set(targets);
            }
            Event::Update { changed, milliseconds, targets, removed, .. } => {
                let count = counted(targets.len(), "target");
                let failed = targets.iter().filter(|target| target.state == TargetState::Error).count();
                let errors = match failed {
                    0 => String::new(),
                    _ if targets.len() == 1 => " with errors".into(),
                    some => format!(", {some} with errors"),
                };
                self.status = format!("Built {count} in {milliseconds:.0} ms{errors}: {}", names(&changed));
                self.anchors.retain(|(target, _), _| !removed.contains(target));
                self.targets.update(targets, &removed);
            }
        }
    }

    /// Fetches the displayed data, and moves the visible parts to the cursors.
    pub(super) fn prepare(&mut self) {
        let Some(layout) = Layout::new(self.size) else { return };
        self.load_content();
        self.banner = self.error_lines(layout.content);
        let height = self.height(layout, Pane::Content);
        if let Some(content) = &mut self.content {
            content.cursor.show(content.len(), height);
        }
        self.load_details(usize::from(layout.details.body.width).saturating_sub(1));
        self.details.cursor.show(self.details.len(), self.height(layout, Pane::Details));
        self.targets.cursor.show(self.targets.len(), self.height(layout, Pane::Targets));
        let height = usize::from(layout.right.body.height);
        match &mut self.overlay {
            Some(Overlay::Help(cursor)) => cursor.show(HELP.len(), height),
            Some(Overlay::Results(results)) => results.cursor.show(results.len(), height),
            None => {}
        }
    }

    /// Replaces the content if the target, its build or the view changed. The cursor keeps its position.
    fn load_content(&mut self) {
        let Some(target) = self.targets.selected() else {
            (self.content, self.view, self.shown, self.revealed) = (None, None, None, None);
            return;
        };
        let shown: Shown = (target.name.clone(), target.generation, self.mode);
        if self.shown.as_ref() == Some(&shown) {
            return;
        }
        self.keep_anchor();
        let (name, generation, mode) = (&shown.0, shown.1, shown.2);
        self.view = self.views.view(self.data, name, generation);
        self.content = match mode {
            Mode::Output => self.view.as_ref().map(Content::output),
            Mode::Diff => self.views.diff(self.data, name, generation).as_ref().map(Content::diff),
        };
        let anchor = self.anchors.get(&(name.clone(), mode));
        if let (Some(content), Some(anchor)) = (&mut self.content, anchor) {
            content.restore(anchor);
        }
        let is_shown = |secret: &Revealed| (&secret.target, secret.generation) == (name, generation);
        self.revealed = self.revealed.take().filter(is_shown);
        self.shown = Some(shown);
    }

    /// Records the position in the displayed content.
    fn keep_anchor(&mut self) {
        if let (Some((name, _, mode)), Some(content)) = (&self.shown, &self.content) {
            // A build without output has no position, so the position in the previous build is kept.
            if content.len() > 0 {
                self.anchors.insert((name.clone(), *mode), content.anchor());
            }
        }
    }

    fn load_details(&mut self, width: usize) {
        let Some((target, generation, mode)) = self.shown.clone() else {
            self.details.clear();
            return;
        };
        let topic = self.details.topic;
        let is_output = mode == Mode::Output;
        let content = self.content.as_ref().filter(|_| topic == Topic::Provenance && is_output);
        let value = content.and_then(Content::value);
        let subject = Subject { target, generation, value, topic, width };
        if self.details.shows(&subject) {
            return;
        }
        let rows = match (&subject.topic, &subject.value, &self.view) {
            (Topic::Findings, _, Some(view)) => finding_rows(view, width),
            (Topic::Provenance, Some(value), _) => match self.field(&subject.target, value) {
                Some(field) => provenance_rows(&field, width),
                None => message_rows("The origin of this value is unknown.", width),
            },
            (Topic::Provenance, None, _) if is_output => {
                message_rows("There is no value on this line. Move the cursor to a line with a value.", width)
            }
            (Topic::Provenance, None, _) => {
                message_rows("Provenance is shown for lines of the output. Press d to return to it.", width)
            }
            (Topic::Findings, _, None) => Vec::new(),
        };
        self.details.set(subject, rows);
    }

    /// Returns the provenance of a value, if it is still in the displayed resource.
    pub(super) fn field(&self, target: &str, value: &ValueLine) -> Option<FieldView> {
        let field = self.data.field(target, value.resource, &value.pointer)?;
        let shown = self.content.as_ref()?.resource_id(value.resource)?;
        (field.resource == shown).then_some(field)
    }

    /// Returns the lines of the error above the output.
    fn error_lines(&self, area: PaneArea) -> Vec<ShownLine> {
        let Some(view) = self.view.as_ref() else { return Vec::new() };
        let Some(error) = &view.error else { return Vec::new() };
        let width = usize::from(area.body.width).saturating_sub(1);
        let mut lines = wrap(&format!("✗ error: {}", error.message), width);
        let is_cut = lines.len() > MAX_BANNER;
        lines.truncate(MAX_BANNER);
        lines.extend(error.location.iter().flat_map(|at| wrap(&format!("  {}", shown_location(at)), width)));
        let others =
            view.findings.iter().filter(|finding| finding.severity == "error").count().saturating_sub(1);
        match (is_cut, others) {
            (false, 0) => {}
            (true, 0) => lines.push("  … see the findings".into()),
            _ => lines.push(format!("  and {}: see the findings", counted(others, "more error"))),
        }
        let mut lines: Vec<_> = lines.into_iter().map(|text| ShownLine { text, tone: Tone::Error }).collect();
        if view.stale {
            let what = match self.mode {
                Mode::Output => "output",
                Mode::Diff => "diff",
            };
            let text = format!("  The {what} is that of the last successful build:");
            lines.push(ShownLine { text, tone: Tone::Dim });
        }
        lines.truncate(usize::from(area.body.height).saturating_sub(2));
        lines
    }

    /// Returns the number of rows of a pane.
    fn height(&self, layout: Layout, pane: Pane) -> usize {
        let rows = usize::from(layout.pane(pane).body.height);
        if pane == Pane::Content { rows.saturating_sub(self.banner.len()) } else { rows }
    }

    fn height_of(&self, pane: Pane) -> usize {
        Layout::new(self.size).map_or(1, |layout| self.height(layout, pane))
    }

    fn overlay_height(&self) -> usize {
        Layout::new(self.size).map_or(1, |layout| usize::from(layout.right.body.height))
    }

    fn key(&mut self, key: KeyEvent) -> Option<Action> {
        let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if is_interrupt {
            return Some(Action::Quit);
        }
        if self.prompt.is_some() {
            self.prompt_key(key);
            return None;
        }
        self.status.clear();
        let command = keys::command(key)?;
        self.common(command).or_else(|| {
            if self.overlay.is_some() {
                self.in_overlay(command);
                return None;
            }
            self.in_panes(command)
        })
    }

    /// Runs a command that works in all panes.
    fn common(&mut self, command: Command) -> Option<Action> {
        match command {
            Command::Quit => Some(Action::Quit),
            Command::Suspend => Some(Action::Suspend),
            Command::Redraw => Some(Action::Redraw),
            Command::Mouse => {
                self.has_mouse = !self.has_mouse;
                self.status = if self.has_mouse { "Mouse on" } else { "Mouse off" }.into();
                Some(Action::Mouse(self.has_mouse))
            }
            _ => None,
        }
    }

    fn in_overlay(&mut self, command: Command) {
        let height = self.overlay_height();
        match (command, &mut self.overlay) {
            (Command::Search, _) => self.prompt = Some(Prompt::new(PromptKind::Search, "")),
            (Command::Move(step), Some(Overlay::Help(cursor))) => cursor.step(step, HELP.len(), height),
            (Command::Move(step), Some(Overlay::Results(results))) => results.step(step, height),
            (Command::Enter, Some(Overlay::Results(_))) => self.open_result(),
            (Command::Help, Some(Overlay::Results(_))) => {
                self.overlay = Some(Overlay::Help(Cursor::default()));
            }
            (Command::Close | Command::Help, _) => self.overlay = None,
            _ => {}
        }
    }

    fn in_panes(&mut self, command: Command) -> Option<Action> {
        match command {
            Command::Move(step) => self.step(self.focus, step),
            Command::Scroll(step) => self.scroll(step),
            Command::Resource(step) => self.move_resource(step),
            Command::Target(step) => self.step(Pane::Targets, Step::Rows(step)),
            Command::NextPane => self.focus = self.focus.next(),
            Command::PreviousPane => self.focus = self.focus.next().next(),
            Command::Enter => self.enter(),
            Command::Close => self.close(),
            Command::Diff => self.toggle_diff(),
            Command::Edit => return self.edit(),
            Command::Reveal => self.toggle_secret(),
            Command::Search => self.prompt = Some(Prompt::new(PromptKind::Search, "")),
            Command::Filter => {
                self.prompt = Some(Prompt::new(PromptKind::Filter, self.targets.filter()));
            }
            Command::Help => self.overlay = Some(Overlay::Help(Cursor::default())),
            Command::Quit | Command::Suspend | Command::Redraw | Command::Mouse => {}
        }
        None
    }

    pub(super) fn step(&mut self, pane: Pane, step: Step) {
        let height = self.height_of(pane);
        match (pane, &mut self.content) {
            (Pane::Targets, _) => self.targets.step(step, height),
            (Pane::Details, _) => self.details.step(step, height),
            (Pane::Content, Some(content)) => {
                let len = content.len();
                content.cursor.step(step, len, height);
            }
            (Pane::Content, None) => {}
        }
    }

    fn scroll(&mut self, step: isize) {
        if let Some(content) = &mut self.content {
            content.left = content.left.saturating_add_signed(step * SIDE_STEP);
        }
    }

    fn move_resource(&mut self, step: isize) {
        let Some(content) = &mut self.content else { return };
        if let Some(row) = content.group_row(step) {
            // The resource starts at the top.
            content.cursor = Cursor { row, top: row };
        }
    }

    fn enter(&mut self) {
        match self.focus {
            Pane::Targets => self.focus = Pane::Content,
            Pane::Content => self.details.topic = Topic::Provenance,
            Pane::Details => {}
        }
    }

    fn close(&mut self) {
        if self.details.topic == Topic::Provenance {
            self.details.topic = Topic::Findings;
        } else {
            self.targets.set_filter("");
        }
    }

    fn toggle_diff(&mut self) {
        self.mode = match self.mode {
            Mode::Diff => Mode::Output,
            Mode::Output if self.comparison.is_some() => Mode::Diff,
            Mode::Output => {
                self.status = "No comparison: start the preview with --rev or --against-cluster".into();
                Mode::Output
            }
        };
    }

    fn toggle_secret(&mut self) {
        let value = self.content.as_ref().and_then(Content::value).filter(|value| value.is_secret);
        let (Some(value), Some((target, generation, _))) = (value, self.shown.clone()) else {
            self.status = "There is no secret on this line".into();
            return;
        };
        if self.revealed.take().is_some_and(|former| former.value == value) {
            return;
        }
        match self.data.reveal(&target, value.resource, &value.pointer) {
            Some(text) => self.revealed = Some(Revealed { target, generation, value, text }),
            None => self.status = "The secret changed: try again".into(),
        }
    }

    /// Returns the revealed secret.
    pub(super) fn revealed(&self) -> Option<(&ValueLine, &str)> {
        self.revealed.as_ref().map(|secret| (&secret.value, secret.text.as_str()))
    }

    fn prompt_key(&mut self, key: KeyEvent) {
        let Some(prompt) = &mut self.prompt else { return };
        match key.code {
            KeyCode::Esc => {
                if prompt.kind == PromptKind::Filter {
                    self.targets.set_filter("");
                }
                self.prompt = None;
            }
            KeyCode::Enter => {
                let prompt = self.prompt.take();
                if let Some(prompt) = prompt.filter(|one| one.kind == PromptKind::Search) {
                    self.search(&prompt.text);
                }
            }
            _ => {
                prompt.key(key);
                self.filter_by_prompt();
            }
        }
    }

    /// Filters the targets while the user types the filter.
    fn filter_by_prompt(&mut self) {
        if let Some(Prompt { kind: PromptKind::Filter, text }) = &self.prompt {
            self.targets.set_filter(text);
        }
    }

    fn search(&mut self, query: &str) {
        if query.trim().is_empty() {
            self.overlay = None;
            return;
        }
        self.overlay = Some(Overlay::Results(Results::new(query, self.data.search(query))));
    }

    /// Displays the line of a match.
    fn open_result(&mut self) {
        let Some(Overlay::Results(results)) = &self.overlay else { return };
        let Some(found) = results.selected().cloned() else { return };
        if !self.targets.select(&found.target) {
            self.status = format!("Target not found: {}", found.target);
            return;
        }
        (self.overlay, self.mode, self.focus) = (None, Mode::Output, Pane::Content);
        self.load_content();
        let Some(content) = &mut self.content else { return };
        if let Some(row) = content.row_of(found.resource, found.pointer.as_deref()) {
            content.cursor.row = row;
        }
    }
}

/// Returns the first changed files, and the number of the others.
fn names(changed: &[String]) -> String {
    let mut names: Vec<String> = changed.iter().take(MAX_NAMES).cloned().collect();
    if changed.len() > MAX_NAMES {
        names.push(format!("and {} more", changed.len() - MAX_NAMES));
    }
    names.join(", ")
}
