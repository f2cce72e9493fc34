//! What a merge changed and what was in conflict, for people and for programs.

use std::fmt::Write as _;
use std::io;

use serde_json::{Value, json};

use super::render;
use crate::diagnostic::Diagnostic;
use crate::merge::Taken;
use crate::package::{ChangedPackage, ConflictPlace, ConflictWriting, FileRole, PackageConflict};
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

/// Says what changed, each change on a line.
pub(super) fn write_changes(changed: &ChangedPackage, out: &mut impl io::Write) -> io::Result<()> {
    for change in &changed.changes {
        writeln!(out, "{change}")?;
    }
    writeln!(out, "{}", summary(changed))
}

fn summary(changed: &ChangedPackage) -> String {
    let [added, other, removed] = changed.counts();
    let changes = match added + other + removed {
        0 => "nothing changed".to_string(),
        _ => format!("{added} added, {other} changed, {removed} removed"),
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

/// For programs: one line.
pub(super) fn json_report(changed: &ChangedPackage, written: ConflictWriting, sources: &SourceMap) -> String {
    let changes = changed.changes.iter().map(|change| {
        let file = change.path.display().to_string();
        json!({"file": file, "action": change.kind.action(), "resource": change.resource})
    });
    let conflicts = changed.conflicts.iter().map(|conflict| json_conflict(conflict, written, sources));
    let [changes, conflicts]: [Vec<Value>; 2] = [changes.collect(), conflicts.collect()];
    json!({"changed": changes, "conflicts": conflicts}).to_string()
}

fn json_conflict(conflict: &PackageConflict, written: ConflictWriting, sources: &SourceMap) -> Value {
    let place = |place: &Option<ConflictPlace>| {
        let ConflictPlace { span, value } = place.as_ref()?;
        let source = sources.get(span.source)?;
        let (line, column) = source.line_column(span.start);
        let file = source.name().display().to_string();
        Some(json!({"file": file, "line": line, "column": column, "value": value}))
    };
    let taken = match (written, conflict.taken) {
        (ConflictWriting::Chosen, Taken::Updated) => Some("updated"),
        (ConflictWriting::Chosen, Taken::Dest) => Some("dest"),
        (ConflictWriting::Marked, _) => Some("markers"),
        (ConflictWriting::Nothing, _) => None,
    };
    json!({
        "resource": conflict.resource,
        "field": conflict.field.as_ref().map(ToString::to_string),
        "original": place(&conflict.original),
        "updated": place(&conflict.updated),
        "dest": place(&conflict.dest),
        "taken": taken,
    })
}
