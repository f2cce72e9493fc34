//! What a merge changed and what was in conflict, for people and for programs.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use serde_json::Value;

use super::render;
use crate::diagnostic::Diagnostic;
use crate::merge::ConflictSide;
use crate::package::{ChangeKind, ChangedPackage, ConflictPlace, ConflictWriting, FileRole, PackageConflict};
use crate::source::SourceMap;

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportTo {
    Stdout,
    Stderr,
}

impl ReportTo {
    /// How diagnostics look there.
    pub(super) fn renderer(self, sources: &SourceMap) -> impl Fn(&Diagnostic) -> String {
        let colour = match self {
            Self::Stdout => render::has_colour(&io::stdout()),
            Self::Stderr => render::has_colour(&io::stderr()),
        };
        move |problem| render::render(problem, sources, colour)
    }
}

/// For people. `others` says what became of files that are no manifests, where they need that.
pub(super) fn text_report(
    changed: &ChangedPackage,
    written: ConflictWriting,
    others: Option<&str>,
    render: &impl Fn(&Diagnostic) -> String,
) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    for conflict in &changed.conflicts {
        let _ = writeln!(out, "{}", render(&conflict.diagnostic(written)));
    }
    for change in &changed.changes {
        let _ = writeln!(out, "{change}");
    }
    let no_manifests = changed.files.iter().filter(|file| file.role == FileRole::Other);
    if let Some(others) = others {
        for file in no_manifests.filter(|file| file.content.is_some()) {
            let _ = writeln!(out, "{}: {others}", file.path.display());
        }
    }
    for path in &changed.left_alone {
        let _ = writeln!(out, "{}: left alone", path.display());
    }
    let nothing = if written == ConflictWriting::Nothing { ": nothing was written" } else { "" };
    let _ = writeln!(out, "{}{nothing}", summary(changed));
    out
}

/// Says what changed on stderr, each change on a line, so that it mixes with no output.
pub(super) fn print_changes(changed: &ChangedPackage) {
    let mut lines: Vec<_> = changed.changes.iter().map(ToString::to_string).collect();
    lines.push(summary(changed));
    // When stderr is closed there is nobody left to tell.
    let _ = io::Write::write_all(&mut io::stderr(), (lines.join("\n") + "\n").as_bytes());
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
        count => format!("{changes}, {}", conflicts(count)),
    }
}

/// `1 conflict` or `2 conflicts`.
pub(super) fn conflicts(count: usize) -> String {
    format!("{count} conflict{}", if count == 1 { "" } else { "s" })
}

/// A report for programs; nothing is in it that could not be in any.
#[derive(Serialize)]
struct JsonReport<'c> {
    changed: Vec<JsonChange<'c>>,
    conflicts: Vec<JsonConflict<'c>>,
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
    original: Option<JsonPlace<'c>>,
    updated: Option<JsonPlace<'c>>,
    dest: Option<JsonPlace<'c>>,
    taken: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonPlace<'c> {
    file: String,
    line: usize,
    column: usize,
    value: &'c Value,
}

/// For programs: one line.
pub(super) fn json_report(
    changed: &ChangedPackage,
    written: ConflictWriting,
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
    serde_json::to_string(&JsonReport { changed: changes.collect(), conflicts: conflicts.collect() })
}

fn json_conflict<'c>(
    conflict: &'c PackageConflict,
    written: ConflictWriting,
    sources: &SourceMap,
) -> JsonConflict<'c> {
    let place = |place: &'c Option<ConflictPlace>| {
        let ConflictPlace { span, value, .. } = place.as_ref()?;
        let source = sources.get(span.source)?;
        let (line, column) = source.line_column(span.start);
        Some(JsonPlace { file: source.name().display().to_string(), line, column, value })
    };
    let taken = match (written, conflict.taken) {
        (ConflictWriting::Chosen, ConflictSide::Updated) => Some("updated"),
        (ConflictWriting::Chosen, ConflictSide::Dest) => Some("dest"),
        (ConflictWriting::Marked, _) => Some("markers"),
        (ConflictWriting::Nothing, _) => None,
    };
    JsonConflict {
        resource: conflict.resource.as_deref(),
        field: conflict.field.as_ref().map(ToString::to_string),
        original: place(&conflict.original),
        updated: place(&conflict.updated),
        dest: place(&conflict.dest),
        taken,
    }
}
