//! What the commands on live objects share: words of flags, and how objects are named.

use clap::ValueEnum;

use super::form::Words;
use smp_cluster::{Cascade, Object, RemainingObject};
use smp_text::diagnostic::{Diagnostic, by_count, counted};

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DryRunArg {
    None,
    Client,
    Server,
}

/// The words for what becomes of what deleted objects own.
pub(super) const CASCADES: Words<Cascade> = &[
    ("background", "", Cascade::Background),
    ("foreground", "", Cascade::Foreground),
    ("orphan", "", Cascade::Orphan),
];

/// `deployment.apps/web in shop`
pub(super) fn name(object: &Object) -> String {
    match object.namespace.as_str() {
        "" => object.to_string(),
        namespace => format!("{object} in {namespace}"),
    }
}

/// How many objects of one fate are named.
const NAMED: usize = 20;

/// `configmap/a, configmap/b and 7 more`
pub(super) fn named(objects: &[Object], name: fn(&Object) -> String) -> String {
    let named = objects.iter().take(NAMED).map(name).collect::<Vec<_>>();
    let more = objects.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", named.join(", "))
}

/// What is shown while it is waited until objects are gone.
pub(super) fn waiting(remaining: &[RemainingObject]) -> Vec<String> {
    let count = remaining.len();
    let head = format!("waiting until {} {} gone", counted(count, "object"), by_count(count, "is", "are"));
    let each = remaining.iter().flat_map(|one| {
        let holders = one.held_by.iter().map(|holder| format!("    {holder}"));
        std::iter::once(format!("  {}", name(&one.object))).chain(holders)
    });
    std::iter::once(head).chain(each).collect()
}

/// `configmap/a in shop is being deleted, and is still there`
pub(super) fn still_there(one: &RemainingObject) -> String {
    format!("{} is being deleted, and is still there", name(&one.object))
}

/// A problem with what holds an object.
pub(super) fn held(one: &RemainingObject, problem: Diagnostic) -> Diagnostic {
    one.held_by.iter().fold(problem, |problem, holder| problem.note(format!("held by {holder}")))
}
