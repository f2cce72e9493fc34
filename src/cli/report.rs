//! Reports of merges as text and JSON, and output to standard output.

use std::io::{self, BufWriter, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use super::{Failure, render};
use smp_merge::merge::ConflictSide;
use smp_overlay::package::{
    ChangeKind, ChangeOrigin, ChangedPackage, ConflictOutput, ConflictVersion, FileRole, PackageConflict,
};
use smp_text::diagnostic::{counted, escaped_json, escaped_line};
use smp_text::source::{SourceMap, Span};

/// The output stream of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportTo {
    Stdout,
    Stderr,
}

impl ReportTo {
    /// Prints the conflicts, and one line per change.
    pub(super) fn print(
        self,
        changed: &ChangedPackage,
        written: ConflictOutput,
        others: Option<&str>,
        sources: &SourceMap,
    ) -> Result<(), Failure> {
        let conflicts: Vec<_> = changed.conflicts.iter().map(|one| one.diagnostic(written)).collect();
        let lines = change_lines(changed, written, others);
        match self {
            Self::Stderr => {
                render::print(&conflicts, sources);
                for line in &lines {
                    render::print_change(line);
                }
                Ok(())
            }
            Self::Stdout => {
                let mut out = String::new();
                let conflicts =
                    conflicts.iter().filter_map(|one| render::render(one, sources, &io::stdout()));
                for line in conflicts.chain(lines.iter().map(|line| escaped_line(line).into_owned())) {
                    out.push_str(&line);
                    out.push('\n');
                }
                print(&out)
            }
        }
    }
}

/// Standard output, or the captured output of `--watch`.
#[derive(Debug)]
pub(super) struct Output;

/// The captured output; `None` if output is printed.
static CAPTURED: Mutex<Option<Vec<u8>>> = Mutex::new(None);

fn captured() -> MutexGuard<'static, Option<Vec<u8>>> {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *captured() {
            Some(captured) => captured.write(bytes),
            None => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if captured().is_some() { Ok(()) } else { io::stdout().flush() }
    }
}

/// Starts to capture output; it is not printed.
pub(super) fn start_capture() {
    *captured() = Some(Vec::new());
}

/// Returns the captured output, and ends the capture.
pub(super) fn end_capture() -> String {
    let bytes = captured().take().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Prints text on standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = Output;
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Prints a line on standard output. Terminal control sequences and CI workflow commands are
/// escaped.
pub(super) fn print_line(line: &str) -> io::Result<()> {
    writeln!(Output, "{}", escaped_line(line))
}

/// Prints lines on standard output like [`print_line`].
pub(super) fn print_lines(lines: &[String]) -> io::Result<()> {
    lines.iter().try_for_each(|line| print_line(line))
}

/// The first error of [`print_line_deferring_errors`].
static PRINT_ERROR: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line like [`print_line`]. An error does not stop the command, but is reported at the
/// end.
#[cfg(feature = "cluster")]
pub(super) fn print_line_deferring_errors(line: &str) {
    let mut error = PRINT_ERROR.lock().unwrap_or_else(PoisonError::into_inner);
    if error.is_none() {
        *error = print_line(line).err();
    }
}

/// Flushes standard output.
///
/// # Errors
/// Standard output, or an earlier line, could not be written.
pub(super) fn finish_printing() -> io::Result<()> {
    let error = PRINT_ERROR.lock().unwrap_or_else(PoisonError::into_inner).take();
    error.map_or_else(|| Output.flush(), Err)
}

/// Prints a value as JSON on standard output.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
    Ok(writeln!(Output, "{}", escaped_json(&text))?)
}

/// Prints the parts of a long text on standard output.
pub(super) fn print_parts(parts: &[String]) -> Result<(), Failure> {
    let mut stdout = BufWriter::with_capacity(BUFFER_SIZE, Output);
    parts.iter().try_for_each(|part| stdout.write_all(part.as_bytes()))?;
    stdout.flush()?;
    Ok(())
}

/// The size of the write buffer in bytes.
const BUFFER_SIZE: usize = 1 << 16;

/// Formats one line per change. `others` is the status of files that are not manifests, if they are
/// listed.
fn change_lines(changed: &ChangedPackage, written: ConflictOutput, others: Option<&str>) -> Vec<String> {
    let mut lines: Vec<_> = changed.changes.iter().map(ToString::to_string).collect();
    let other_files = changed.files.iter().filter(|file| file.role == FileRole::Other);
    if let Some(others) = others {
        let listed = other_files.filter(|file| file.content.is_some());
        lines.extend(listed.map(|file| format!("{}: {others}", file.path.display())));
    }
    lines.extend(changed.skipped.iter().map(|path| format!("{}: not changed", path.display())));
    let nothing = if written == ConflictOutput::Nothing { ": nothing was written" } else { "" };
    lines.push(format!("{}{nothing}", summary(changed)));
    lines
}

/// Prints one line per change on stderr.
pub(super) fn print_changes(changed: &ChangedPackage) {
    changed.changes.iter().for_each(|change| render::print_change(&change.to_string()));
    let entries = match changed.removed_entries {
        0 => String::new(),
        1 => ", 1 list entry removed".into(),
        count => format!(", {count} list entries removed"),
    };
    render::print_change(&format!("{}{entries}", summary(changed)));
}

fn summary(changed: &ChangedPackage) -> String {
    let [added, other, moved, removed] = changed.counts();
    let moves = if moved == 0 { String::new() } else { format!("{moved} moved, ") };
    let changes = match added + other + moved + removed {
        0 => "nothing changed".to_string(),
        _ => format!("{added} added, {other} changed, {moves}{removed} removed"),
    };
    match changed.conflicts.len() {
        0 => changes,
        count => format!("{changes}, {}", counted(count, "conflict")),
    }
}

/// The JSON report of a merge.
#[derive(Serialize)]
struct JsonReport<'c> {
    changed: Vec<JsonChange<'c>>,
    conflicts: Vec<JsonConflict<'c>>,
    /// The origins. Only set in reports of three-way merges.
    #[serde(skip_serializing_if = "Option::is_none")]
    origins: Option<Vec<JsonOrigin<'c>>>,
}

/// A part of the result that differs from the original without a conflict, and the side that
/// changed it.
#[derive(Serialize)]
struct JsonOrigin<'c> {
    file: String,
    resource: Option<&'c str>,
    field: Option<String>,
    pointer: Option<&'c str>,
    side: &'static str,
    original: Option<JsonLocation>,
    updated: Option<JsonLocation>,
    dest: Option<JsonLocation>,
}

/// A source location.
#[derive(Serialize)]
struct JsonLocation {
    file: String,
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct JsonChange<'c> {
    file: String,
    action: &'static str,
    resource: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

#[derive(Serialize)]
struct JsonConflict<'c> {
    resource: Option<&'c str>,
    field: Option<String>,
    original: Option<JsonLocatedValue<'c>>,
    updated: Option<JsonLocatedValue<'c>>,
    dest: Option<JsonLocatedValue<'c>>,
    resolution: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonLocatedValue<'c> {
    #[serde(flatten)]
    location: JsonLocation,
    value: &'c Value,
}

/// Formats the report as a single line of JSON.
pub(super) fn json_report(
    changed: &ChangedPackage,
    written: ConflictOutput,
    sources: &SourceMap,
) -> serde_json::Result<String> {
    let changes = changed.changes.iter().map(|change| JsonChange {
        file: change.path.display().to_string(),
        action: change.kind.action(),
        resource: change.resource.as_deref(),
        from: match &change.kind {
            ChangeKind::Moved(from) => Some(from.display().to_string()),
            _ => None,
        },
    });
    let conflicts = changed.conflicts.iter().map(|conflict| json_conflict(conflict, written, sources));
    let origins = changed.origins.as_deref();
    let origins = origins.map(|all| all.iter().map(|origin| json_origin(origin, sources)).collect());
    let report = JsonReport { changed: changes.collect(), conflicts: conflicts.collect(), origins };
    serde_json::to_string(&report).map(|text| escaped_json(&text))
}

fn json_origin<'c>(origin: &'c ChangeOrigin, sources: &SourceMap) -> JsonOrigin<'c> {
    let location = |span: Option<Span>| json_location(span?, sources);
    JsonOrigin {
        file: origin.path.display().to_string(),
        resource: origin.resource.as_deref(),
        field: origin.field.as_ref().map(|(field, _)| field.to_string()),
        pointer: origin.field.as_ref().map(|(_, pointer)| pointer.as_str()),
        side: origin.side.name(),
        original: location(origin.original),
        updated: location(origin.updated),
        dest: location(origin.dest),
    }
}

fn json_location(span: Span, sources: &SourceMap) -> Option<JsonLocation> {
    let source = sources.get(span.source)?;
    let (line, column) = source.line_column(span.start);
    Some(JsonLocation { file: source.name().display().to_string(), line, column })
}

fn json_conflict<'c>(
    conflict: &'c PackageConflict,
    written: ConflictOutput,
    sources: &SourceMap,
) -> JsonConflict<'c> {
    let located = |place: &'c Option<ConflictVersion>| {
        let ConflictVersion { span, value, .. } = place.as_ref()?;
        Some(JsonLocatedValue { location: json_location(*span, sources)?, value })
    };
    let resolution = match (written, conflict.taken) {
        (ConflictOutput::Resolved, ConflictSide::Updated) => Some("updated"),
        (ConflictOutput::Resolved, ConflictSide::Dest) => Some("dest"),
        (ConflictOutput::Marked, _) => Some("markers"),
        (ConflictOutput::Nothing, _) => None,
    };
    JsonConflict {
        resource: conflict.resource.as_deref(),
        field: conflict.field.as_ref().map(ToString::to_string),
        original: located(&conflict.original),
        updated: located(&conflict.updated),
        dest: located(&conflict.dest),
        resolution,
    }
}
