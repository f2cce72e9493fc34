//! Equal messages for people: one of them says how many others there are, and where.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::layout::MessageLayout;
use crate::diagnostic::Diagnostic;

/// How many messages have to be equal to become one.
const MANY: usize = 4;

/// How many of the others are located.
const LOCATED: usize = 3;

/// The diagnostics, in their order. Of many that differ only in their location, resource, field and target, the first
/// stands for all.
pub(super) fn grouped<'d>(problems: &'d [Diagnostic], how: &MessageLayout<'_>) -> Vec<Cow<'d, Diagnostic>> {
    let mut groups: FxHashMap<_, Vec<&Diagnostic>> = FxHashMap::default();
    for problem in problems {
        groups.entry(key(problem)).or_default().push(problem);
    }
    let shown = problems.iter().filter_map(|problem| match groups.get(&key(problem))?.as_slice() {
        few if few.len() < MANY => Some(Cow::Borrowed(problem)),
        [first, others @ ..] if std::ptr::eq(*first, problem) => {
            Some(Cow::Owned(problem.clone().note(others_of(first, others, how))))
        }
        _ => None,
    });
    shown.collect()
}

fn key(problem: &Diagnostic) -> (&str, &str, &str, Option<&str>, &[String]) {
    let (severity, code) = (problem.severity().name(), problem.code().name());
    (severity, code, problem.message(), problem.help_text(), problem.notes())
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
