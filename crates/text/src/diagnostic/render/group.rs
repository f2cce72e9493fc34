//! Grouping of equal messages in the text format: one message contains the number and locations of the others.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::layout::MessageLayout;
use crate::diagnostic::{Code, Diagnostic, Label};

/// The minimum number of equal messages that are grouped.
const MANY: usize = 4;

/// The number of other messages whose locations are shown.
const LOCATED: usize = 3;

/// Returns the diagnostics in order, with groups of equal ones replaced by their first. Equal ones differ only in
/// main location, resource, field and target, and those about files in the name of the file. Conflicts are never grouped, since each must be resolved separately.
pub(super) fn grouped<'d>(
    problems: &'d [Diagnostic],
    layout: &MessageLayout<'_>,
) -> Vec<Cow<'d, Diagnostic>> {
    let mut groups: FxHashMap<Key<'_>, Vec<&Diagnostic>> = FxHashMap::default();
    for problem in problems.iter().filter(|problem| problem.code() != Code::Conflict) {
        groups.entry(key(problem)).or_default().push(problem);
    }
    let shown = problems.iter().filter_map(|problem| match groups.get(&key(problem)).map(Vec::as_slice) {
        Some([first, others @ ..]) if others.len() + 1 >= MANY => std::ptr::eq(*first, problem)
            .then(|| Cow::Owned(problem.clone().note(others_of(first, others, layout)))),
        _ => Some(Cow::Borrowed(problem)),
    });
    shown.collect()
}

/// The properties that equal messages share.
type Key<'d> = (&'d str, &'d str, Cow<'d, str>, Option<&'d str>, &'d [String], &'d [Label]);

fn key(problem: &Diagnostic) -> Key<'_> {
    let (severity, code) = (problem.severity().name(), problem.code().name());
    let others = problem.labels().get(1..).unwrap_or_default();
    let (message, notes) = match problem.code() {
        Code::Io => (without_names(problem.message()), Default::default()),
        _ => (problem.message().into(), problem.notes()),
    };
    (severity, code, message, problem.help_text(), notes, others)
}

/// Returns a message without the names in backticks.
fn without_names(message: &str) -> Cow<'_, str> {
    message.split('`').step_by(2).collect::<Vec<_>>().join("`").into()
}

/// Returns the note about the other messages: `and 66 more: b.yaml:3:5, c.yaml:3:5, d.yaml:3:5, ...`.
fn others_of(first: &Diagnostic, others: &[&Diagnostic], layout: &MessageLayout<'_>) -> String {
    let location = |problem: &Diagnostic| {
        let at = layout.locations(problem).next();
        at.map(|at| format!("{}:{}:{}", at.text.file, at.line, at.column))
    };
    let first = location(first);
    let location_or_name = |problem: &Diagnostic| {
        let target = || problem.target_path().map(|target| layout.path(target));
        let resource = || problem.resource_name().map(ToString::to_string);
        location(problem)
            .filter(|location| first.as_ref() != Some(location))
            .or_else(target)
            .or_else(resource)
    };
    let located = others.iter().filter_map(|problem| location_or_name(problem)).take(LOCATED);
    let mut located: Vec<String> = located.collect();
    if located.len() < others.len() && !located.is_empty() {
        located.push("...".into());
    }
    let count = others.len();
    if located.is_empty() {
        format!("and {count} more")
    } else {
        format!("and {count} more: {}", located.join(", "))
    }
}
