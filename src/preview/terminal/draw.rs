//! Draws the state. Only visible rows are computed.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::app::{App, Overlay};
use super::content::Mode;
use super::cursor::Cursor;
use super::details::Topic;
use super::keys::HELP;
use super::layout::{Layout, Pane, PaneArea, SMALLEST};
use super::list::{counts, symbol};
use super::text::{ShownLine, Tone, columns, fit_end, width, wrap};
use smp_text::diagnostic::{counted, escaped};

/// Draws texts into a buffer.
struct Canvas<'b> {
    buffer: &'b mut Buffer,
    has_color: bool,
}

/// Draws the state of the terminal.
pub(super) fn draw(app: &App<'_>, frame: &mut Frame<'_>, has_color: bool) {
    let area = frame.area();
    let canvas = &mut Canvas { buffer: frame.buffer_mut(), has_color };
    let Some(layout) = Layout::new(area.as_size()) else {
        canvas.too_small(area);
        return;
    };
    canvas.header(app, layout.header);
    canvas.targets(app, layout.targets);
    canvas.separator(layout.targets.body.right(), layout.right);
    if let Some(overlay) = &app.overlay {
        canvas.overlay(overlay, layout.right);
    } else {
        canvas.content(app, layout.content);
        canvas.details(app, layout.details);
        if layout.details.body.x > layout.content.body.x {
            canvas.separator(layout.content.body.right(), layout.right);
        }
    }
    if let Some(column) = canvas.status(app, layout.status) {
        frame.set_cursor_position((column, layout.status.y));
    }
}

impl Canvas<'_> {
    fn style(&self, tone: Tone) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let color = |style: Style, color| if self.has_color { style.fg(color) } else { style };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Strong => bold,
            Tone::Ok | Tone::Added => color(Style::new(), Color::Green),
            Tone::Warning => color(Style::new(), Color::Yellow),
            Tone::Error => color(bold, Color::Red),
            Tone::Removed => color(Style::new(), Color::Red),
        }
    }

    fn put(&mut self, area: Rect, text: &str, style: Style) {
        self.buffer.set_stringn(area.x, area.y, text, usize::from(area.width), style);
    }

    fn too_small(&mut self, area: Rect) {
        let text = format!("The terminal is too small: it needs {SMALLEST} or more. q quits.");
        for (row, line) in rows_of(area).zip(wrap(&text, usize::from(area.width))) {
            self.put(row, &line, Style::new());
        }
    }

    fn separator(&mut self, x: u16, beside: PaneArea) {
        for y in beside.title.y..beside.body.bottom() {
            self.put(Rect::new(x, y, 1, 1), "│", self.style(Tone::Dim));
        }
    }

    fn header(&mut self, app: &App<'_>, area: Rect) {
        let counts = format!("{} ", target_counts(app.targets.counts()));
        let compared = app
            .comparison
            .as_ref()
            .map(|with| format!(", compared with {}", escaped(with)))
            .unwrap_or_default();
        let room = usize::from(area.width).saturating_sub(counts.len() + 1);
        let title = format!(" preview of {}{compared}", escaped(&app.title));
        let style = Style::new().add_modifier(Modifier::REVERSED);
        self.put(area, &format!("{:room$} {counts}", columns(&title, 0, room)), style);
        self.buffer.set_style(area, style);
    }

    fn title(&mut self, area: Rect, text: &str, has_focus: bool) {
        let (mark, line, tone) =
            if has_focus { ("▸", "━", Tone::Strong) } else { ("─", "─", Tone::Dim) };
        let room = usize::from(area.width).saturating_sub(4);
        let text = format!("{mark} {} ", columns(&escaped(text), 0, room));
        let rest = usize::from(area.width).saturating_sub(width(&text));
        let style = self.style(tone);
        self.put(area, &(text + &line.repeat(rest)), style);
    }

    /// Draws a row with a mark if the cursor is on it.
    fn row(&mut self, area: Rect, line: &ShownLine, (has_cursor, has_focus): (bool, bool)) {
        let style = self.style(line.tone);
        self.put(area, if has_cursor { ">" } else { " " }, Style::new());
        let rest = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
        self.put(rest, &line.text, style);
        if has_cursor && has_focus {
            self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Draws the visible rows of a list.
    fn rows(
        &mut self,
        area: Rect,
        (cursor, len): (Cursor, usize),
        has_focus: bool,
        line: impl Fn(usize) -> ShownLine,
    ) {
        for (row, area) in (cursor.top..len).zip(rows_of(area)) {
            self.row(area, &line(row), (row == cursor.row, has_focus));
        }
    }

    fn targets(&mut self, app: &App<'_>, area: PaneArea) {
        let (all, listed) = (app.targets.counts().0, app.targets.len());
        let filter = app.targets.filter();
        let title = match filter {
            "" => format!("Targets {listed}"),
            filter => format!("Targets {listed}/{all} {filter}"),
        };
        let has_focus = app.focus == Pane::Targets && app.overlay.is_none();
        self.title(area.title, &title, has_focus);
        if listed == 0 {
            let text = if all == 0 { " No targets" } else { " No target matches" };
            self.put(area.body, text, self.style(Tone::Dim));
        }
        let columns = usize::from(area.body.width);
        let line = |row| target_line(app, row, columns);
        self.rows(area.body, (app.targets.cursor, listed), has_focus, line);
    }

    fn content(&mut self, app: &App<'_>, area: PaneArea) {
        let has_focus = app.focus == Pane::Content;
        self.title(area.title, &content_title(app), has_focus);
        let mut body = area.body;
        for (row, line) in rows_of(body).zip(&app.banner) {
            self.put(Rect { x: row.x + 1, width: row.width - 1, ..row }, &line.text, self.style(line.tone));
        }
        let banner = u16::try_from(app.banner.len()).unwrap_or(u16::MAX).min(body.height);
        body = Rect { y: body.y + banner, height: body.height - banner, ..body };
        let Some(content) = &app.content else { return };
        let room = usize::from(body.width).saturating_sub(1);
        if content.len() == 0 {
            for (row, line) in rows_of(body).zip(wrap(&content.empty_text(), room)) {
                self.put(Rect { x: row.x + 1, width: row.width - 1, ..row }, &line, self.style(Tone::Dim));
            }
        }
        let line = |row| {
            let line = content.line(row, app.revealed());
            ShownLine { text: columns(&line.text, content.left, room), ..line }
        };
        self.rows(body, (content.cursor, content.len()), has_focus, line);
    }

    fn details(&mut self, app: &App<'_>, area: PaneArea) {
        let title = match app.details.topic {
            Topic::Findings => "Findings",
            Topic::Provenance => "Provenance",
        };
        let (details, has_focus) = (&app.details, app.focus == Pane::Details);
        self.title(area.title, title, has_focus);
        let line = |row| details.row(row).map(|row| row.line.clone()).unwrap_or_default();
        let shown = if has_focus { details.cursor } else { Cursor { row: usize::MAX, ..details.cursor } };
        self.rows(area.body, (shown, details.len()), has_focus, line);
    }

    fn overlay(&mut self, overlay: &Overlay, area: PaneArea) {
        match overlay {
            Overlay::Help(cursor) => {
                self.title(area.title, "Keys (Esc closes)", true);
                let line = |row: usize| {
                    let (keys, effect) = HELP.get(row).copied().unwrap_or_default();
                    ShownLine { text: format!("{keys:15} {effect}"), tone: Tone::Plain }
                };
                self.rows(area.body, (*cursor, HELP.len()), false, line);
            }
            Overlay::Results(results) => {
                self.title(area.title, &results.title(), true);
                self.rows(area.body, (results.cursor, results.len()), true, |row| results.line(row));
            }
        }
    }

    /// Draws the last line. If there is an input, returns the column of its cursor.
    fn status(&mut self, app: &App<'_>, area: Rect) -> Option<u16> {
        const KEYS: &str = "o editor  ? keys  q quit ";
        if let Some(prompt) = &app.prompt {
            let text = format!("{}{}", prompt.label(), escaped(&prompt.text));
            let text = fit_end(&text, usize::from(area.width).saturating_sub(1));
            self.put(area, &text, Style::new());
            return u16::try_from(width(&text)).ok().map(|column| area.x + column);
        }
        let status = escaped(&app.status);
        self.put(area, &status, Style::new());
        let used = width(&status);
        let room = usize::from(area.width).saturating_sub(used + 1);
        let with_enter = format!("Enter provenance  {KEYS}");
        let keys = match app.mode {
            Mode::Output if with_enter.len() <= room => &with_enter,
            _ if KEYS.len() <= room => KEYS,
            _ => "? keys ",
        };
        if keys.len() <= room {
            let x = area.right().saturating_sub(u16::try_from(keys.len()).unwrap_or(0));
            self.put(Rect { x, ..area }, keys, self.style(Tone::Dim));
        }
        None
    }
}

/// Formats the number of targets, and of those with errors and warnings.
fn target_counts((all, errors, warnings): (usize, usize, usize)) -> String {
    let part = |count: usize, name: &str| (count > 0).then(|| format!("{count} with {name}"));
    let parts: Vec<String> =
        [part(errors, "errors"), part(warnings, "warnings")].into_iter().flatten().collect();
    let separator = if parts.is_empty() { "" } else { ": " };
    format!("{}{separator}{}", counted(all, "target"), parts.join(", "))
}

/// Returns the rows of an area.
fn rows_of(area: Rect) -> impl Iterator<Item = Rect> {
    (area.y..area.bottom()).map(move |y| Rect { y, height: 1, ..area })
}

/// Returns a target in the list: its state, name and counts.
fn target_line(app: &App<'_>, row: usize, columns: usize) -> ShownLine {
    let Some(target) = app.targets.get(row) else { return ShownLine::default() };
    let ((symbol, tone), counts) = (symbol(target), counts(target));
    // The remaining columns are for the mark of the cursor, the symbol, and a space after each.
    let room = columns.saturating_sub(counts.len() + 4);
    let name = fit_end(&escaped(&target.name), room);
    let padding = " ".repeat(room.saturating_sub(width(&name)));
    ShownLine { text: format!("{symbol} {name}{padding} {counts}"), tone }
}

fn content_title(app: &App<'_>) -> String {
    let mode = match app.mode {
        Mode::Output => "Output",
        Mode::Diff => "Diff",
    };
    let Some(target) = app.targets.selected() else { return mode.into() };
    let position = app.content.as_ref().and_then(super::content::Content::position);
    match position {
        Some((group, count)) => format!("{mode} {} {group}/{count}", target.name),
        None => format!("{mode} {}", target.name),
    }
}
