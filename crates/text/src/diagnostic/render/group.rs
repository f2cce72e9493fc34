//! Grouping of equal messages in the text format: one message contains the number and locations of the others.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::layout::MessageLayout;
use crate::diagnostic::{Code, Diagnostic, Label};

/// The minimum number of equal messages that are grouped.
const MANY: usize = 4;

/// The minimum number of messages about different files that are grouped.
const MANY_FILES: usize = 20;

/// The number of other messages whose location is shown.
const LOCATED: usize = 3;

/// Returns the diagnostics in order, with large groups of equal ones replaced by their first. Equal ones differ only in
/// main location, resource, field and target. If there are many about files, those may also differ in names in
/// backticks and in their notes. Conflicts are never grouped, since each must be resolved separately.
pub(super) fn grouped<'d>(
    problems: &'d [Diagnostic],
    layout: &MessageLayout<'_>,
) -> Vec<Cow<'d, Diagnostic>> {
    let mut files: FxHashMap<Key<'_>, usize> = FxHashMap::default();
    for problem in problems.iter().filter(|problem| problem.code() == Code::Io) {
        *files.entry(key_without_names(problem)).or_default() += 1;
    }
    let key = |problem: &'d Diagnostic| {
        let of_files = (problem.code() == Code::Io).then(|| key_without_names(problem));
        let is_large = |group: &Key<'d>| files.get(group).is_some_and(|count| *count >= MANY_FILES);
        of_files.filter(is_large).unwrap_or_else(|| key(problem))
    };
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
    (severity, code, problem.message().into(), problem.help_text(), problem.notes(), others)
}

/// Returns the key of messages that differ only in the names in backticks and in their notes.
fn key_without_names(problem: &Diagnostic) -> Key<'_> {
    let (severity, code, message, help, _, others) = key(problem);
    let message = message.split('`').step_by(2).collect::<Vec<_>>().join("`");
    (severity, code, message.into(), help, &[], others)
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
