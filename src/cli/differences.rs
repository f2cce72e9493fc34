//! The forms in which `diff` prints differences.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::live::{object_json, qualified_name};
use super::report::{print_json, print_line};
use super::{Failure, render};
use smp_cluster::{ApplyConflict, Danger, DiffReport, FieldConflict, Object, ObjectDiff, PlannedChange};
use smp_merge::diff::{Change, Comparison, compare, unified};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::{escaped, escaped_line_start};
use smp_text::yaml::{Node, to_yaml};

/// The output format of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    /// Unified diffs, or the output of KUBECTL_EXTERNAL_DIFF
    Unified,
    /// The old and new value of each changed field
    Fields,
    /// The path of each changed field
    Paths,
    /// The change of each object, its dangers (risks), and the changed fields with shortened values
    Plan,
    /// A JSON object with all changes and conflicts
    Json,
}

/// Prints the differences. Returns true if there are any.
pub(super) fn print(report: &DiffReport, format: DiffFormat) -> Result<bool, Failure> {
    let objects = report.objects.as_slice();
    let changed = || objects.iter().filter(|diff| diff.is_changed());
    let schema = Schema::embedded();
    match format {
        DiffFormat::Unified => return print_unified(objects),
        DiffFormat::Fields => {
            for diff in changed() {
                ObjectChange::new(diff, &schema).print_fields()?;
            }
        }
        DiffFormat::Paths => {
            for diff in changed() {
                ObjectChange::new(diff, &schema).print_paths()?;
            }
        }
        DiffFormat::Json => {
            print_json(&report_json(report))?;
        }
        DiffFormat::Plan => {
            for diff in changed() {
                ObjectChange::new(diff, &schema).print_plan()?;
            }
            for kept in &report.kept {
                print_line(&format!("{:<10}{}: {}", "kept", qualified_name(&kept.object), kept.reason))?;
            }
        }
    }
    Ok(changed().next().is_some())
}

/// Returns all changes and conflicts as JSON.
pub(super) fn report_json(report: &DiffReport) -> Value {
    let schema = Schema::embedded();
    let changed = report.objects.iter().filter(|diff| diff.is_changed());
    let objects: Vec<_> = changed.map(|diff| ObjectChange::new(diff, &schema).to_json()).collect();
    let conflicts = |conflicts: &[ApplyConflict]| -> Vec<Value> {
        let conflict = |conflict: &ApplyConflict| {
            let mut found = object_json(&conflict.object);
            found["fields"] = conflict.fields.iter().map(conflict_json).collect();
            found
        };
        conflicts.iter().map(conflict).collect()
    };
    let kept = report.kept.iter().map(|kept| {
        let mut found = object_json(&kept.object);
        found["reason"] = kept.reason.as_str().into();
        found
    });
    let kept: Vec<_> = kept.collect();
    json!({
        "objects": objects, "conflicts": conflicts(&report.conflicts), "taken": conflicts(&report.taken),
        "kept": kept,
    })
}

/// The maximum length of a value in a plan, in characters.
const MAX_VALUE: usize = 60;

/// Formats a value on one line, truncated.
pub(super) fn short_value(value: Option<&Node>) -> String {
    let Some(value) = value else { return "(none)".into() };
    let text = value.scalar_text().map_or_else(|| value.to_json_value().to_string(), ToString::to_string);
    let text = text.replace('\n', "\\n");
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn conflict_json(conflict: &FieldConflict) -> Value {
    json!({
        "path": conflict.path, "manager": conflict.manager, "detail": conflict.detail, "time": conflict.time,
        "value": conflict.value.as_ref().map(Node::to_json_value),
    })
}

/// The changes of one object.
struct ObjectChange<'d> {
    diff: &'d ObjectDiff,
    fields: Comparison<'d>,
}

impl<'d> ObjectChange<'d> {
    fn new(diff: &'d ObjectDiff, schema: &Schema) -> Self {
        let versions = (diff.live.as_ref(), diff.merged.as_ref());
        let kind = schema.kind(&diff.object.gvk).unwrap_or(Cursor::unknown());
        let by_schema = compare(versions.0, versions.1, kind);
        // By the schema, entries that only moved are no change.
        let fields =
            if by_schema.is_empty() { compare(versions.0, versions.1, Cursor::unknown()) } else { by_schema };
        Self { diff, fields }
    }

    fn action(&self) -> &'static str {
        self.diff.change.as_str()
    }

    /// Prints the change, its dangers, and the changed fields unless the object is created or pruned
    /// as a whole.
    fn print_plan(&self) -> io::Result<()> {
        let diff = self.diff;
        let mut line = format!("{:<10}{}", self.action(), qualified_name(&diff.object));
        let of = match (&diff.predecessor, &diff.moved) {
            (Some(name), _) => format!(", from {name}"),
            (None, Some(namespace)) if diff.change == PlannedChange::Pruned => {
                format!(", moves to {namespace}")
            }
            (None, Some(namespace)) => format!(", from {namespace}"),
            (None, None) => String::new(),
        };
        line.push_str(&of);
        print_line(&line)?;
        for (danger, text) in &diff.dangers {
            print_line(&format!("  danger {}: {text}", danger.as_str()))?;
        }
        let fields = if self.is_whole() { &[][..] } else { self.fields.changes() };
        fields.iter().try_for_each(|change| {
            let values = (short_value(change.old), short_value(change.new));
            print_line(&format!("  {}: {} -> {}", change.path, values.0, values.1))
        })
    }

    /// Returns true if the object as a whole is created or pruned.
    fn is_whole(&self) -> bool {
        self.diff.live.is_none() || self.diff.merged.is_none()
    }

    fn print_paths(&self) -> io::Result<()> {
        let object = qualified_name(&self.diff.object);
        if self.is_whole() {
            return print_line(&format!("{object}: {}", self.action()));
        }
        self.fields.changes().iter().try_for_each(|change| print_line(&format!("{object}: {}", change.path)))
    }

    fn print_fields(&self) -> Result<(), Failure> {
        let mut text = format!("{} {}\n", qualified_name(&self.diff.object), self.action());
        for change in self.fields.changes() {
            let indent = if self.is_whole() { "  " } else { "    " };
            if !self.is_whole() {
                let _ = writeln!(text, "  {}", change.path);
            }
            for (sign, value) in [('-', change.old), ('+', change.new)] {
                let Some(value) = value else { continue };
                for line in to_yaml(value)?.lines() {
                    let _ = writeln!(text, "{indent}{sign} {line}");
                }
            }
        }
        text.lines().try_for_each(print_line)?;
        Ok(())
    }

    fn to_json(&self) -> Value {
        let mut found = object_json(&self.diff.object);
        let value = |node: Option<&Node>| node.map(Node::to_json_value);
        let field = |change: &Change<'_>| {
            let mut field = json!({"path": change.path.to_string()});
            for (name, value) in [("old", value(change.old)), ("new", value(change.new))] {
                if let Some(value) = value {
                    field[name] = value;
                }
            }
            field
        };
        found["change"] = self.action().into();
        found["predecessor"] = json!(self.diff.predecessor);
        found["moved"] = json!(self.diff.moved.as_deref());
        let danger = |(danger, text): &(Danger, String)| json!({"class": danger.as_str(), "reason": text});
        found["dangers"] = self.diff.dangers.iter().map(danger).collect();
        found["fields"] = self.fields.changes().iter().map(field).collect();
        found
    }
}

/// Prints unified diffs, or runs the program of `KUBECTL_EXTERNAL_DIFF`. Returns true if objects
/// differ.
fn print_unified(objects: &[ObjectDiff]) -> Result<bool, Failure> {
    if let Some(program) = std::env::var("KUBECTL_EXTERNAL_DIFF").ok().filter(|program| !program.is_empty()) {
        return Ok(smp_cluster::run_external_diff(&program, objects)?);
    }
    let mut stdout = io::stdout().lock();
    let color = render::has_color(&stdout);
    let mut changed = false;
    for diff in objects.iter().filter(|diff| diff.is_changed()) {
        let (before, after) = diff.texts()?;
        if before == after {
            continue;
        }
        changed = true;
        let former =
            diff.predecessor.as_ref().map(|name| Object { name: name.into(), ..diff.object.clone() });
        let old = former.as_ref().unwrap_or(&diff.object).file_name();
        let (old, new) = (format!("LIVE/{old}"), format!("MERGED/{}", diff.object.file_name()));
        writeln!(stdout, "diff -u -N {} {}", escaped(&old), escaped(&new))?;
        for line in unified(&old, &new, &before, &after).lines() {
            let line = escaped_line_start(line);
            let shown: Vec<_> = line.split('\t').map(escaped).collect();
            let shown = shown.join("\t");
            match style(&line).filter(|_| color) {
                Some(code) => writeln!(stdout, "\x1b[{code}m{shown}\x1b[0m")?,
                None => writeln!(stdout, "{shown}")?,
            }
        }
    }
    stdout.flush()?;
    Ok(changed)
}

/// Returns the terminal code for a line of a unified diff.
fn style(line: &str) -> Option<&'static str> {
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Some("1"),
        [b'@', b'@', ..] => Some("36"),
        [b'-', ..] => Some("31"),
        [b'+', ..] => Some("32"),
        _ => None,
    }
}
