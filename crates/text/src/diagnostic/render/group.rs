//! Equal messages for people: one of them says how many others there are, and where.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::layout::MessageLayout;
use crate::diagnostic::{Code, Diagnostic, Label};

/// How many messages have to be equal to become one.
const MANY: usize = 4;

/// How many of the others are located.
const LOCATED: usize = 3;

/// The diagnostics, in their order. Of many that differ only in their main location, resource, field and target, the first
/// stands for all. Each conflict is to be resolved by itself, so none stands for others.
pub(super) fn grouped<'d>(problems: &'d [Diagnostic], how: &MessageLayout<'_>) -> Vec<Cow<'d, Diagnostic>> {
    let mut groups: FxHashMap<Key<'_>, Vec<&Diagnostic>> = FxHashMap::default();
    for problem in problems.iter().filter(|problem| problem.code() != Code::Conflict) {
        groups.entry(key(problem)).or_default().push(problem);
    }
    let shown = problems.iter().filter_map(|problem| match groups.get(&key(problem)).map(Vec::as_slice) {
        Some([first, others @ ..]) if others.len() + 1 >= MANY => std::ptr::eq(*first, problem)
            .then(|| Cow::Owned(problem.clone().note(others_of(first, others, how)))),
        _ => Some(Cow::Borrowed(problem)),
    });
    shown.collect()
}

/// What equal messages have in common.
type Key<'d> = (&'d str, &'d str, &'d str, Option<&'d str>, &'d [String], &'d [Label]);

fn key(problem: &Diagnostic) -> Key<'_> {
    let (severity, code) = (problem.severity().name(), problem.code().name());
    let others = problem.labels().get(1..).unwrap_or_default();
    (severity, code, problem.message(), problem.help_text(), problem.notes(), others)
}

/// `and 66 more: b.yaml:3:5, c.yaml:3:5, d.yaml:3:5, ...`
fn others_of(first: &Diagnostic, others: &[&Diagnostic], how: &MessageLayout<'_>) -> String {
    let place = |problem: &Diagnostic| {
        let place = how.places(problem).next();
        place.map(|place| format!("{}:{}:{}", place.text.file, place.line, place.column))
    };
    let at = place(first);
    let location = |problem: &Diagnostic| {
        let target = || problem.target_path().map(|target| how.path(target));
        let resource = || problem.resource_name().map(ToString::to_string);
        place(problem).filter(|place| at.as_ref() != Some(place)).or_else(target).or_else(resource)
    };
    let located = others.iter().filter_map(|problem| location(problem)).take(LOCATED);
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
