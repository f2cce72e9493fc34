//! The formats in which `diff` prints differences.

use std::io::{self, Write as _};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::live::{object_json, qualified_name};
use super::report::{Output, print_json, print_line, print_lines};
use super::{Failure, render};
use smp_cluster::{ApplyConflict, DiffReport, FieldConflict, Object, ObjectDiff, PlannedChange, Risk};
use smp_inspect::review::forms::{
    ShownObject, change_json, diff_line_color, field_lines, path_lines, short_values, unified_lines,
};
use smp_merge::diff::{Comparison, compare};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::escaped;
use smp_text::yaml::Node;

/// The output format of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    /// Unified diffs, or the output of KUBECTL_EXTERNAL_DIFF
    Unified,
    /// The old and new value of each changed field
    Fields,
    /// The path of each changed field
    Paths,
    /// The change of each object, its risks, and the changed fields with shortened values
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
                print_lines(&field_lines(&ObjectChange::new(diff, &schema).shown())?)?;
            }
        }
        DiffFormat::Paths => {
            for diff in changed() {
                print_lines(&path_lines(&ObjectChange::new(diff, &schema).shown()))?;
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
        // Reordered entries of an associative list are no change under the schema. To show them,
        // the versions are compared again without the schema.
        let fields =
            if by_schema.is_empty() { compare(versions.0, versions.1, Cursor::unknown()) } else { by_schema };
        Self { diff, fields }
    }

    fn action(&self) -> &'static str {
        self.diff.change.as_str()
    }

    /// Prints the change and its risks. Also prints the changed fields, unless the object as a
    /// whole is created or pruned.
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
        for (risk, text) in &diff.risks {
            print_line(&format!("  risk {}: {text}", risk.as_str()))?;
        }
        let fields = if self.is_whole() { &[][..] } else { self.fields.changes() };
        fields.iter().try_for_each(|change| {
            let values = short_values(change.old, change.new).join(" -> ");
            print_line(&format!("  {}: {values}", change.path))
        })
    }

    /// Returns true if the object as a whole is created or pruned.
    fn is_whole(&self) -> bool {
        self.diff.live.is_none() || self.diff.merged.is_none()
    }

    fn shown(&self) -> ShownObject<'d> {
        ShownObject {
            name: qualified_name(&self.diff.object),
            action: self.action(),
            is_whole: self.is_whole(),
            changes: self.fields.changes().to_vec(),
        }
    }

    fn to_json(&self) -> Value {
        let mut found = object_json(&self.diff.object);
        found["change"] = self.action().into();
        found["predecessor"] = json!(self.diff.predecessor);
        found["moved"] = json!(self.diff.moved.as_deref());
        let risk = |(risk, text): &(Risk, String)| json!({"class": risk.as_str(), "reason": text});
        found["risks"] = self.diff.risks.iter().map(risk).collect();
        found["fields"] = self.fields.changes().iter().map(change_json).collect();
        found
    }
}

/// Prints unified diffs, or runs the program of `KUBECTL_EXTERNAL_DIFF`. Returns true if objects
/// differ.
fn print_unified(objects: &[ObjectDiff]) -> Result<bool, Failure> {
    if let Some(program) = std::env::var("KUBECTL_EXTERNAL_DIFF").ok().filter(|program| !program.is_empty()) {
        return Ok(smp_cluster::run_external_diff(&program, objects)?);
    }
    let mut stdout = Output;
    let color = render::has_color(&io::stdout());
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
        for line in unified_lines([&old, &new], [&before, &after]) {
            match diff_line_color(&line).filter(|_| color) {
                Some(code) => writeln!(stdout, "\x1b[{code}m{line}\x1b[0m")?,
                None => writeln!(stdout, "{line}")?,
            }
        }
    }
    stdout.flush()?;
    Ok(changed)
}
