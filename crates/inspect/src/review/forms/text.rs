//! A review as text: objects with their changed fields and causes, unified diffs, or paths.

use rustc_hash::FxHashSet;

use super::fold::{FoldedChange, fold};
use super::lines::{ShownObject, line_diff, path_lines, short_values, unified_lines};
use crate::review::{Action, FieldChange, ObjectChange, Presence, Review, TargetOutcome, TargetReview};
use smp_merge::diff::canonical;
use smp_overlay::resource::ResId;
use smp_text::diagnostic::{MessageRenderer, Result, counted};
use smp_text::source::Span;

impl ObjectChange {
    /// Returns the object as it is displayed.
    #[must_use]
    pub fn shown(&self) -> ShownObject<'_> {
        ShownObject {
            name: shown_name(&self.id),
            action: self.action.as_str(),
            is_whole: self.is_whole(),
            changes: self.fields.iter().map(FieldChange::change).collect(),
        }
    }

    /// Returns the former name or namespace of the object, if it differs.
    pub(super) fn origin(&self) -> Option<String> {
        let former = self.former.as_ref()?;
        Some(match self.action {
            Action::Moved => former.namespace.to_string(),
            Action::Renamed => former.name.to_string(),
            _ => shown_name(former),
        })
    }
}

/// Formats the name and namespace of an object: `deployment.apps/web in shop`.
pub(super) fn shown_name(id: &ResId) -> String {
    let name = id.gvk.object_name(&id.name);
    if id.cluster_scoped || id.namespace.is_empty() { name } else { format!("{name} in {}", id.namespace) }
}

/// Returns the path of a target, with `added` or `removed` if it exists only on one side.
pub(super) fn target_line(target: &TargetReview) -> String {
    let path = target.target.display();
    match (target.failure(), target.presence) {
        (Some(failure), _) => format!("{path}: {failure}"),
        (None, Presence::Both) => path.to_string(),
        (None, presence) => format!("{path}: {}", presence.as_str()),
    }
}

/// Returns `file:line` of a location.
pub(super) fn location(at: Option<Span>, renderer: &MessageRenderer<'_>) -> Option<String> {
    let at = renderer.location(at?)?;
    Some(format!("{}:{}", at.file, at.line))
}

/// Returns the lines that caused a change: `at file:line`, and the old line if it is another one.
pub(super) fn cause(field: &FieldChange, renderer: &MessageRenderer<'_>) -> Option<String> {
    match field.at.map(|at| location(at, renderer)) {
        [Some(old), Some(new)] if old != new => Some(format!("at {new} (was at {old})")),
        [_, Some(new)] => Some(format!("at {new}")),
        [Some(old), None] => Some(format!("was at {old}")),
        [None, None] => None,
    }
}

/// Returns a review as lines: first one line for each source line that changes many objects, then the objects of each
/// target with their other changed fields and the locations that caused them.
#[must_use]
pub fn review_to_text(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let folded = fold(review, renderer);
    let hidden: FxHashSet<[usize; 3]> = folded.iter().flat_map(|one| one.changes.iter().copied()).collect();
    let mut lines: Vec<String> = folded.iter().flat_map(|one| folded_lines(one, review, renderer)).collect();
    for (t, target) in review.targets.iter().enumerate() {
        lines.extend(target_lines(review, target, renderer, |o, f| hidden.contains(&[t, o, f])));
    }
    lines
}

/// Returns the output line for a source line that changes many objects.
fn folded_lines(folded: &FoldedChange, review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let Some(field) = folded.first(review) else { return Vec::new() };
    let at = folded_location(field, renderer).unwrap_or_default();
    let (name, objects) = (folded_field(folded, review), folded_objects(folded, review));
    vec![format!("* {name} {at} changes {objects}: {}", values(field))]
}

/// Returns the location that caused folded changes: `at file:line`, or `was at file:line` if the values were removed.
fn folded_location(field: &FieldChange, renderer: &MessageRenderer<'_>) -> Option<String> {
    match field.at {
        [_, Some(new)] => Some(format!("at {}", location(Some(new), renderer)?)),
        [old, None] => Some(format!("was at {}", location(old, renderer)?)),
    }
}

/// Returns the path of the field, or its name if the paths differ.
pub(super) fn folded_field(folded: &FoldedChange, review: &Review) -> String {
    let mut paths = folded.fields(review).map(|field| &field.path);
    let Some(first) = paths.next() else { return String::new() };
    let is_common = paths.all(|path| path == first);
    let name = || first.elements().last().map(ToString::to_string).unwrap_or_default();
    if is_common { first.to_string() } else { name() }
}

/// Returns the object if all targets have the same one (`deployment.apps/web in 3 targets`), otherwise the number of
/// objects of each kind (`14 Deployments, 2 Jobs`).
pub(super) fn folded_objects(folded: &FoldedChange, review: &Review) -> String {
    let mut objects: Vec<(usize, usize)> = folded.changes.iter().map(|[t, o, _]| (*t, *o)).collect();
    objects.dedup();
    let names: FxHashSet<String> =
        objects.iter().map(|(t, o)| shown_name(&review.targets[*t].objects()[*o].id)).collect();
    if let (1, Some(name)) = (names.len(), names.iter().next()) {
        return format!("{name} in {}", counted(objects.len(), "target"));
    }
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for (t, o) in objects {
        let kind = review.targets[t].objects()[o].id.gvk.kind.to_string();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds.iter().map(|(kind, count)| counted(*count, kind)).collect::<Vec<_>>().join(", ")
}

fn target_lines(
    review: &Review,
    target: &TargetReview,
    renderer: &MessageRenderer<'_>,
    is_hidden: impl Fn(usize, usize) -> bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (o, object) in target.objects().iter().enumerate() {
        let is_shown = |f: usize| !is_hidden(o, f);
        if object.is_whole() || !object.dangers.is_empty() || (0..object.fields.len()).any(is_shown) {
            lines.extend(object_lines(object, renderer, is_shown));
        }
    }
    if let TargetOutcome::Compared(changes) = &target.outcome
        && changes.is_reordered
    {
        lines.push("~ the order of the objects".into());
    }
    let is_named = target.failure().is_some() || target.presence != Presence::Both;
    if review.has_many_targets() && (!lines.is_empty() || is_named) {
        lines.insert(0, target_line(target));
    }
    lines
}

fn object_lines(
    object: &ObjectChange,
    renderer: &MessageRenderer<'_>,
    is_shown: impl Fn(usize) -> bool,
) -> Vec<String> {
    let from = object.origin().map(|from| format!(", from {from}")).unwrap_or_default();
    let mut lines =
        vec![format!("{} {} {}{from}", object.action.sign(), shown_name(&object.id), object.action.as_str())];
    for danger in &object.dangers {
        let at = danger.finding.labels().first().and_then(|label| location(Some(label.span), renderer));
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        lines.push(format!("!   {}: {}{at}", danger.finding.code(), danger.finding.message()));
    }
    for (_, field) in object.fields.iter().enumerate().filter(|(f, _)| is_shown(*f)) {
        if !object.is_whole() {
            lines.extend(value_lines(field));
        }
        lines.extend(cause(field, renderer).map(|cause| format!("        {cause}")));
    }
    lines
}

/// Returns the line for a changed field, followed by the changed lines of a long text.
fn value_lines(field: &FieldChange) -> Vec<String> {
    let Some(diff) = line_diff(field.old.as_ref(), field.new.as_ref()) else {
        return vec![format!("    {}: {}", field.path, values(field))];
    };
    let lines = diff.iter().map(|line| format!("      {line}"));
    std::iter::once(format!("    {}:", field.path)).chain(lines).collect()
}

/// Formats an old and a new text on one line.
pub(super) fn values_of(old: Option<&str>, new: Option<&str>) -> String {
    format!("{} -> {}", old.unwrap_or("(none)"), new.unwrap_or("(none)"))
}

/// Formats the old and the new value on one line.
pub(super) fn values(field: &FieldChange) -> String {
    short_values(field.old.as_ref(), field.new.as_ref()).join(" -> ")
}

/// Returns the unified diffs of all objects. The locations that caused the changes are on the lines before each diff.
///
/// # Errors
/// A value cannot be printed as YAML.
pub fn unified_review(review: &Review, renderer: &MessageRenderer<'_>) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (target, object) in review.objects() {
        let file = |id: &ResId| {
            let gvk = id.gvk.api_version().replace('/', ".");
            format!("{gvk}.{}.{}.{}", id.gvk.kind, id.namespace, id.name)
        };
        let prefix =
            if review.has_many_targets() { format!("{}/", target.target.display()) } else { String::new() };
        let old = format!("OLD/{prefix}{}", file(object.former.as_ref().unwrap_or(&object.id)));
        let new = format!("NEW/{prefix}{}", file(&object.id));
        let texts = [canonical(object.old.as_ref())?, canonical(object.new.as_ref())?];
        let diff = unified_lines([&old, &new], [&texts[0], &texts[1]]);
        lines.push(format!("diff -u -N {old} {new}"));
        for field in &object.fields {
            lines.extend(cause(field, renderer).map(|cause| format!("# {} {cause}", field.path)));
        }
        lines.extend(diff);
    }
    Ok(lines)
}

/// Returns the path of each changed field of all objects.
#[must_use]
pub fn paths_of_review(review: &Review) -> Vec<String> {
    review.objects().flat_map(|(_, object)| path_lines(&object.shown())).collect()
}

/// Formats the summary: `3 objects: 1 created, 1 changed, 1 unchanged`.
#[must_use]
pub fn summary(review: &Review) -> String {
    let of = |action: Action| review.objects().filter(|(_, object)| object.action == action).count();
    let unchanged: usize = review.targets.iter().map(unchanged).sum();
    let failed = review.targets.iter().filter(|target| target.failure().is_some()).count();
    let all = review.objects().count() + unchanged;
    let mut counts: Vec<(usize, String)> =
        [Action::Created, Action::Changed, Action::Renamed, Action::Moved, Action::Deleted]
            .into_iter()
            .map(|action| (of(action), action.as_str().to_string()))
            .collect();
    counts.push((unchanged, "unchanged".into()));
    counts.retain(|(count, _)| *count > 0);
    let parts: Vec<_> = counts.iter().map(|(count, word)| format!("{count} {word}")).collect();
    let mut text = counted(all, "object");
    if !parts.is_empty() {
        text = format!("{text}: {}", parts.join(", "));
    }
    let targets = review.targets.len() + review.unaffected;
    if targets > 1 {
        let changed = review.targets.iter().filter(|target| target.is_changed()).count();
        text = format!("{changed} of {} changed; {text}", counted(targets, "target"));
    }
    let dangers: usize = review.objects().map(|(_, object)| object.dangers.len()).sum();
    let ignored: usize = review.targets.iter().map(ignored).sum();
    let more = [
        (dangers, "danger", ""),
        (review.suppressed, "danger", " suppressed"),
        (ignored, "change", " ignored"),
        (failed, "target", " not compared"),
    ];
    for (count, what, words) in more.into_iter().filter(|(count, ..)| *count > 0) {
        text = format!("{text}; {}{words}", counted(count, what));
    }
    if dangers + review.suppressed + failed == 0 && review.objects().next().is_some() {
        text.push_str("; no dangers");
    }
    if review.is_routine() {
        text.push_str("; routine: only versions of images");
    }
    text
}

fn ignored(target: &TargetReview) -> usize {
    match &target.outcome {
        TargetOutcome::Compared(changes) => changes.ignored,
        TargetOutcome::Failed(_) => 0,
    }
}

fn unchanged(target: &TargetReview) -> usize {
    match &target.outcome {
        TargetOutcome::Compared(changes) => changes.unchanged,
        TargetOutcome::Failed(_) => 0,
    }
}
