//! Warnings for deletions in patches that are probably mistakes: deletions of absent values and of required fields.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::association::{Association, ListPolicy};
use super::directive::{PATCH, is_directive};
use super::entry_match::{KeyPattern, ListKeys};
use super::identity::Identity;
use super::rules::PatchRules;
use super::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Excerpt, ResourceName, counted};
use smp_text::path::FieldPath;
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Value, nearest_name};

/// Collects the deletions of strategic merge patches that have no effect because their target lacks the value.
#[derive(Debug, Default)]
pub struct UnmatchedDeletions {
    /// Each warning with the span of its patch.
    warnings: Vec<(Span, Diagnostic)>,
    /// The number of targets of each patch.
    targets: FxHashMap<Span, usize>,
}

impl UnmatchedDeletions {
    /// Checks a patch against an object before the merge. Returns the required fields that the patch removes. They are
    /// not reported yet, because a later patch may set them again.
    pub fn check(
        &mut self,
        before: &Node,
        patch: &Node,
        kind: Cursor<'_>,
        object: impl Into<ResourceName>,
    ) -> Vec<RemovedRequiredField> {
        // Shortcut: few patches delete anything.
        if !deletes(patch) {
            return Vec::new();
        }
        *self.targets.entry(patch.span()).or_default() += 1;
        let Removals { required, absent } = removals(before, patch, kind);
        let (name, start) = (object.into(), before.span().at_start());
        let is_secret = before.get("kind").and_then(Node::as_str) == Some("Secret");
        let excerpt = if is_secret { Excerpt::Hidden } else { Excerpt::Shown };
        self.warnings.extend(absent.into_iter().map(|warning| {
            let warning = warning.label_with(start, "the object without this value", excerpt);
            (patch.span(), warning.resource(name.clone()))
        }));
        required
    }

    /// Returns a warning for each deletion that has no effect in any target of its patch. A deletion that matches some
    /// of several targets is considered intended.
    pub fn into_warnings(self) -> Vec<Diagnostic> {
        let location = |warning: &Diagnostic| warning.labels().first().map(|label| label.span);
        let mut counts: FxHashMap<_, usize> = FxHashMap::default();
        for (patch, warning) in &self.warnings {
            *counts.entry((*patch, location(warning))).or_default() += 1;
        }
        let (mut reported, targets) = (FxHashSet::default(), self.targets);
        let nowhere = self.warnings.into_iter().filter(|(patch, warning)| {
            let here = (*patch, location(warning));
            counts.get(&here) == targets.get(patch) && reported.insert(here)
        });
        let shown = nowhere.map(|(patch, warning)| match targets.get(&patch) {
            Some(&several) => note_other_targets(warning, several - 1),
            None => warning,
        });
        shown.collect()
    }
}

/// Returns true if a patch deletes a value below its root.
fn deletes(patch: &Node) -> bool {
    let in_map = |map: &Map| map.iter().any(|(name, value)| name == PATCH || value.is_null());
    patch.nodes().filter_map(Node::as_map).any(in_map)
}

/// Adds a note with the number of other targets of the patch that have the same problem.
pub fn note_other_targets(warning: Diagnostic, others: usize) -> Diagnostic {
    if others == 0 {
        return warning;
    }
    warning.note(format!("the same applies to {} that this patch targets", counted(others, "other object")))
}

/// A required field that a strategic merge patch removes.
#[derive(Debug, Clone)]
pub struct RemovedRequiredField {
    path: FieldPath,
    /// The warning to report if no later patch sets the field.
    pub warning: Diagnostic,
}

impl RemovedRequiredField {
    /// Returns true if the object has the parent map of the field, but the field is absent or null.
    pub fn is_missing_in(&self, object: &Node) -> bool {
        let Some((field, above)) = self.path.elements().split_last() else { return false };
        let map = above.iter().try_fold(object, |node, step| step.find(node));
        map.is_some_and(|map| map.as_map().is_some() && field.find(map).is_none_or(Node::is_null))
    }
}

/// The suspicious deletions of one strategic merge patch.
#[derive(Default)]
struct Removals {
    required: Vec<RemovedRequiredField>,
    /// A warning for each deletion of an absent field or entry.
    absent: Vec<Diagnostic>,
}

fn removals(live: &Node, patch: &Node, kind: Cursor<'_>) -> Removals {
    let mut removals = Removals::default();
    if let (Some(live), Some(patch)) = (live.as_map(), patch.as_map()) {
        removals.fields(live, patch, kind, &Trail::root());
    }
    removals
}

impl Removals {
    fn fields(&mut self, live: &Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) {
        // `$patch: merge` is the default behavior.
        if patch.get(PATCH).is_some_and(|directive| directive.as_str() != Some("merge")) {
            return;
        }
        for entry in patch.entries().iter().filter(|entry| !is_directive(&entry.key.text)) {
            let (name, here) = (entry.key.text.as_str(), at.field(&entry.key.text));
            let is_required = cursor.is_required(name);
            let (live, cursor) = (live.get(name), cursor.field(name));
            if entry.value.is_null() || is_deleted(&entry.value) {
                self.deletion(live.is_some(), is_required && !cursor.has_default(), entry, &here);
                continue;
            }
            match (&entry.value.value, live) {
                // A map replaces a value of another type. The schema determines the result.
                (Value::Map(_), Some(live)) if live.as_map().is_none() => {}
                (Value::Map(patch), live) => {
                    let none = Map::new();
                    self.fields(live.and_then(Node::as_map).unwrap_or(&none), patch, cursor, &here);
                }
                (Value::List(patch), live) => {
                    let live = live.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
                    self.entries(live, patch, cursor, &here);
                }
                (Value::Scalar(_), _) => {}
            }
        }
    }

    fn deletion(&mut self, is_there: bool, is_required: bool, entry: &Entry, at: &Trail<'_>) {
        let (name, span) = (&entry.key.text, entry.key.meta.span);
        if !is_there {
            let message = format!("the patch removes `{}`, which does not exist", at.path());
            let warning = absent_warning(message, span, at);
            self.absent.push(warning.help("correct the name, or remove the field from the patch"));
        } else if is_required {
            self.required
                .push(RemovedRequiredField { path: at.path(), warning: required_warning(name, span, at) });
        }
    }

    fn entries(&mut self, live: &[Node], patch: &[Node], list: Cursor<'_>, at: &Trail<'_>) {
        let association = Association::of_list(list, ListPolicy::Overlay);
        if !matches!(association, Association::Keyed { .. }) || !patch.iter().any(deletes) {
            return;
        }
        let keys = ListKeys::new(association, list, list.element(), PatchRules::Overlay);
        let mut named = LiveEntries { live, keys: &keys, indexes: Vec::new() };
        let mut reported = FxHashSet::default();
        for (i, entry) in patch.iter().enumerate() {
            let here = at.entry(entry, keys.names(), i);
            // The merge itself reports errors in entries.
            let (Ok(condition), Some(map)) = (keys.entry_match(entry, &here), entry.as_map()) else {
                continue;
            };
            let found = condition.identities.iter().find_map(|by| named.find(by));
            match found.map(|found| (found, found.as_map())) {
                Some((found, Some(live))) => {
                    let has_key = keys.names().iter().any(|key| entry.get(key).is_some());
                    let here = if has_key { here } else { at.entry(found, keys.names(), i) };
                    self.fields(live, map, list.element(), &here);
                }
                _ if condition.is_deletion
                    && reported.insert(condition.identities.into_iter().map(|(_, name)| name).next()) =>
                {
                    self.absent.push(no_entry(entry, &live_names(&keys, live.iter()), &keys, &here));
                }
                _ => {}
            }
        }
    }
}

fn is_deleted(node: &Node) -> bool {
    node.get(PATCH).and_then(Node::as_str) == Some("delete")
}

/// An index of the live entries for each key pattern that the patch uses.
struct LiveEntries<'n, 'k> {
    live: &'n [Node],
    keys: &'k ListKeys<'k>,
    indexes: Vec<(KeyPattern, FxHashMap<Identity, &'n Node>)>,
}

impl<'n> LiveEntries<'n, '_> {
    /// Returns the first live entry with the given identity.
    fn find(&mut self, (pattern, name): &(KeyPattern, Identity)) -> Option<&'n Node> {
        if let Some((_, index)) = self.indexes.iter().find(|(known, _)| known == pattern) {
            return index.get(name).copied();
        }
        let entries = self.live.iter().rev();
        let index: FxHashMap<_, _> =
            entries.filter_map(|entry| Some((self.keys.identify(entry, pattern)?, entry))).collect();
        let found = index.get(name).copied();
        self.indexes.push((pattern.clone(), index));
        found
    }
}

/// Returns the values of the first merge key, sorted.
fn live_names<'n>(keys: &ListKeys<'_>, live: impl Iterator<Item = &'n Node>) -> Vec<&'n str> {
    let key = keys.names().first().map_or("", SmolStr::as_str);
    let mut names: Vec<&str> = live.take(MAX_NAMES).filter_map(|entry| entry.get(key)?.as_str()).collect();
    names.sort_unstable();
    names
}

/// The maximum number of names that are compared for a "did you mean" suggestion.
const MAX_NAMES: usize = 64;

fn no_entry(entry: &Node, names: &[&str], keys: &ListKeys<'_>, at: &Trail<'_>) -> Diagnostic {
    let key = keys.names().first().and_then(|key| entry.get(key));
    let message = "the patch deletes a list entry that does not exist";
    let warning = absent_warning(message.into(), key.unwrap_or(entry).span(), at);
    match key.and_then(Node::as_str).and_then(|name| nearest_name(name, names)) {
        Some(near) => warning.help(format!("did you mean `{near}`?")),
        None => warning.help("correct the key, or remove the entry from the patch"),
    }
}

fn absent_warning(message: String, span: Span, at: &Trail<'_>) -> Diagnostic {
    Diagnostic::warning(Code::AbsentDeletion, message).at(span).field(at.path())
}

fn required_warning(name: &str, span: Span, at: &Trail<'_>) -> Diagnostic {
    let message = format!("the patch removes `{name}`, which is required");
    Diagnostic::warning(Code::MissingField, message)
        .at(span)
        .field(at.path())
        .help("remove the deletion from the patch; the API server rejects objects without this field")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Gvk, Schema};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    /// Returns the paths of the reported deletions.
    fn reported_paths(live: &str, patch: &str) -> Vec<String> {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
        let [live, patch] = [live, patch].map(|text| text.parse::<Node>().expect("valid"));
        let Removals { required, absent } = removals(&live, &patch, pod);
        let warnings = absent.iter().chain(required.iter().map(|one| &one.warning));
        warnings.map(|warning| warning.field_path().unwrap_or_default().to_string()).collect()
    }

    #[test]
    fn deletions_of_absent_values_and_required_fields_are_reported() {
        let live = "{metadata: {labels: {a: b}}, spec: {nodeName: n, containers: [{name: a, tty: true}]}}";
        let table = [
            ("{metadata: {labels: {a: null}}}", &[][..]),
            (
                "{metadata: {labels: {b: null}, annotations: null}}",
                &["metadata.labels.b", "metadata.annotations"],
            ),
            ("{spec: {containers: [{name: a, $patch: delete}]}}", &[]),
            ("{spec: {containers: [{name: b, $patch: delete}]}}", &["spec.containers[name=b]"]),
            ("{spec: {containers: [{name: a, tty: null, stdin: null}]}}", &["spec.containers[name=a].stdin"]),
            ("{spec: {containers: [{name: b, tty: null}]}}", &[]),
            ("{spec: {$patch: replace, host: null}}", &[]),
            ("{spec: {$patch: merge, host: null}}", &["spec.host"]),
            (
                "{spec: {affinity: {$patch: delete}, dnsConfig: {options: null}}}",
                &["spec.affinity", "spec.dnsConfig.options"],
            ),
            ("{spec: {volumes: [{name: v, $patch: delete}]}}", &["spec.volumes[name=v]"]),
            // These fields are required, so their deletion is reported although they are present.
            ("{spec: {containers: null}}", &["spec.containers"]),
        ];
        for (patch, want) in table {
            assert_eq!(reported_paths(live, patch), want, "{patch}");
        }
    }

    #[test]
    fn deletions_that_match_one_of_several_targets_are_not_reported() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
        let sources = SourceMap::default();
        let read =
            |text: &str| parse_one(&sources, sources.add("a", text), ParseOptions::default()).expect("valid");
        let patch = read("{spec: {nodeName: null, hostname: null}}");
        let mut absences = UnmatchedDeletions::default();
        for (name, object) in [("a", "{spec: {nodeName: n}}"), ("b", "{spec: {}}")] {
            absences.check(&read(object), &patch, pod, name);
        }
        let warnings = absences.into_warnings();
        let reported: Vec<_> = warnings.iter().map(|one| (one.field_path(), one.notes())).collect();
        let note = ["the same applies to 1 other object that this patch targets".to_string()];
        assert_eq!(reported, [(Some("spec.hostname"), &note[..])]);
    }
}
