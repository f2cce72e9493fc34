//! The details of a target as rows: its findings, or the provenance of a value.

use super::super::model::{
    ChainLink, ErrorView, ExcerptLine, FieldView, FindingView, LocationView, TargetView,
};
use super::content::{ValueLine, tone_of};
use super::cursor::{Cursor, Step};
use super::text::{ShownLine, Tone, wrap};

/// The content of the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Topic {
    /// The error and the findings of the target.
    #[default]
    Findings,
    /// The provenance of the value at the cursor.
    Provenance,
}

/// The subject of the rows. They are recomputed when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) target: String,
    pub(super) generation: u64,
    /// The value whose provenance is displayed; `None` for findings.
    pub(super) value: Option<ValueLine>,
    pub(super) topic: Topic,
    pub(super) width: usize,
}

/// A row of the details.
#[derive(Debug, Clone, Default)]
pub(super) struct DetailRow {
    pub(super) line: ShownLine,
    /// The location that the editor opens.
    pub(super) location: Option<LocationView>,
}

/// The rows, with a cursor.
#[derive(Debug, Default)]
pub(super) struct Details {
    pub(super) topic: Topic,
    subject: Option<Subject>,
    rows: Vec<DetailRow>,
    pub(super) cursor: Cursor,
}

/// The maximum number of characters of a value in a chain.
const MAX_VALUE: usize = 400;

impl Details {
    /// Returns true if the rows show a subject.
    pub(super) fn shows(&self, subject: &Subject) -> bool {
        self.subject.as_ref() == Some(subject)
    }

    /// Replaces the rows. The cursor stays in its row if the target was only rebuilt.
    pub(super) fn set(&mut self, subject: Subject, rows: Vec<DetailRow>) {
        let is_same = self.subject.as_ref().is_some_and(|former| {
            (&former.target, &former.value, &former.topic)
                == (&subject.target, &subject.value, &subject.topic)
        });
        if !is_same {
            self.cursor = Cursor::default();
        }
        (self.subject, self.rows) = (Some(subject), rows);
    }

    /// Drops all rows.
    pub(super) fn clear(&mut self) {
        (self.subject, self.rows) = (None, Vec::new());
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns a row.
    pub(super) fn row(&self, row: usize) -> Option<&DetailRow> {
        self.rows.get(row)
    }

    /// Returns the location of the row with the cursor.
    pub(super) fn location(&self) -> Option<&LocationView> {
        self.rows.get(self.cursor.row)?.location.as_ref()
    }

    pub(super) fn step(&mut self, step: Step, height: usize) {
        self.cursor.step(step, self.rows.len(), height);
    }
}

/// Collects rows with a maximum number of columns.
struct Rows {
    rows: Vec<DetailRow>,
    width: usize,
}

impl Rows {
    fn new(width: usize) -> Self {
        Self { rows: Vec::new(), width }
    }

    fn add(&mut self, text: &str, tone: Tone, location: Option<&LocationView>) {
        let rows = wrap(text, self.width).into_iter().map(|text| DetailRow {
            // `wrap` has already escaped the text.
            line: ShownLine { text, tone },
            location: location.cloned(),
        });
        self.rows.extend(rows);
    }

    fn add_location(&mut self, location: Option<&LocationView>) {
        if let Some(at) = location {
            self.add(&format!("  {}", shown_location(at)), Tone::Dim, Some(at));
        }
    }
}

/// Returns a location as `file:line:column`.
pub(super) fn shown_location(at: &LocationView) -> String {
    format!("{}:{}:{}", at.file, at.line, at.column)
}

/// Lists the error and the findings of a target.
pub(super) fn finding_rows(view: &TargetView, width: usize) -> Vec<DetailRow> {
    let mut rows = Rows::new(width);
    if let Some(error) = &view.error {
        rows.add(&error.text, Tone::Error, error.location.as_ref());
    }
    let is_other = |finding: &&FindingView| !view.error.as_ref().is_some_and(|error| is_same(error, finding));
    view.findings.iter().filter(is_other).for_each(|finding| add_finding(&mut rows, finding));
    if rows.rows.is_empty() {
        rows.add("No findings.", Tone::Dim, None);
    }
    rows.rows
}

/// Returns true if a finding is the error of the build itself.
fn is_same(error: &ErrorView, finding: &FindingView) -> bool {
    (&error.message, &error.location) == (&finding.message, &finding.location)
}

fn add_finding(rows: &mut Rows, finding: &FindingView) {
    let FindingView { severity, code, message, resource, field, location, help, .. } = finding;
    let at = location.as_ref();
    rows.add(&format!("{severity}[{code}]: {message}"), tone_of(severity), at);
    let subject: Vec<&str> = resource.iter().chain(field).map(String::as_str).collect();
    if !subject.is_empty() {
        rows.add(&format!("  {}", subject.join(": ")), Tone::Plain, at);
    }
    rows.add_location(at);
    if let Some(help) = help {
        rows.add(&format!("  help: {help}"), Tone::Plain, at);
    }
}

/// Lists the writes of a value.
pub(super) fn provenance_rows(field: &FieldView, width: usize) -> Vec<DetailRow> {
    let mut rows = Rows::new(width);
    rows.add(&format!("{} of {}", field.path, field.resource), Tone::Strong, winning_location(field));
    for (i, link) in field.chain.iter().enumerate() {
        add_link(&mut rows, link, i == 0);
    }
    if field.chain.is_empty() {
        rows.add("The origin of this value is unknown.", Tone::Dim, None);
    }
    rows.rows
}

/// Returns the location of the write that determines the value, or of its cause if the value was computed.
pub(super) fn winning_location(field: &FieldView) -> Option<&LocationView> {
    field.chain.first().and_then(location_of)
}

fn location_of(link: &ChainLink) -> Option<&LocationView> {
    link.at.as_ref().or(link.caused_at.as_ref())
}

fn add_link(rows: &mut Rows, link: &ChainLink, wins: bool) {
    let at = location_of(link);
    let (mark, tone) = if wins { ("=>", Tone::Strong) } else { ("  ", Tone::Plain) };
    let note = if wins { " (in effect)" } else { "" };
    let value: String = link.value.chars().take(MAX_VALUE).collect();
    let more = if value.len() < link.value.len() { "…" } else { "" };
    let value = format!("{}{more}  by {}{note}", value.trim_end_matches('\n'), link.by);
    for (i, line) in value.split('\n').enumerate() {
        rows.add(&format!("{} {line}", if i == 0 { mark } else { "  " }), tone, at);
    }
    if let Some(at) = &link.at {
        rows.add_location(Some(at));
    } else {
        rows.add("   no source location", Tone::Dim, at);
    }
    if let Some(cause) = link.caused_at.as_ref().filter(|cause| link.at.as_ref() != Some(cause)) {
        rows.add(&format!("   caused by {}", shown_location(cause)), Tone::Dim, Some(cause));
    }
    for line in &link.excerpt {
        add_excerpt_line(rows, line, wins, at);
    }
}

fn add_excerpt_line(rows: &mut Rows, line: &ExcerptLine, wins: bool, at: Option<&LocationView>) {
    let location = at.map(|at| LocationView { line: line.line, column: 1, ..at.clone() });
    let location = if line.highlight { at.cloned() } else { location };
    let mark = if line.highlight { '>' } else { ' ' };
    let tone = match (line.highlight, wins) {
        (true, true) => Tone::Strong,
        (true, false) => Tone::Plain,
        (false, _) => Tone::Dim,
    };
    let text = format!("  {mark}{:>4} | {}", line.line, line.text.trim_end());
    rows.rows.push(DetailRow { line: ShownLine::new(&text, tone), location });
}

/// Returns rows with one message.
pub(super) fn message_rows(message: &str, width: usize) -> Vec<DetailRow> {
    let mut rows = Rows::new(width);
    rows.add(message, Tone::Dim, None);
    rows.rows
}
