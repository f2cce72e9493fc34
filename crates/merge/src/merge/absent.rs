//! Deletions of patches that are mistakes: of what is not there, and of fields that are required.

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
use smp_text::yaml::{Entry, Map, Node, Value, nearest};

/// What strategic merge patches remove that the objects which they are for do not have.
#[derive(Debug, Default)]
pub struct Absences {
    /// Each warning with the place of its patch.
    warnings: Vec<(Span, Diagnostic)>,
    /// For how many objects each patch was.
    targets: FxHashMap<Span, usize>,
}

impl Absences {
    /// Looks what of a patch is not in an object that it is about to be merged into. Returns the required fields that it
    /// removes: a later patch may set them again.
    pub fn note(
        &mut self,
        before: &Node,
        patch: &Node,
        kind: Cursor<'_>,
        object: impl Into<ResourceName>,
    ) -> Vec<RemovedRequirement> {
        // Hardly ever has a patch any of it.
        if !deletes(patch) {
            return Vec::new();
        }
        *self.targets.entry(patch.span()).or_default() += 1;
        let Removals { required, absent } = removals(before, patch, kind);
        let (name, start) = (object.into(), before.span().at_start());
        self.warnings.extend(absent.into_iter().map(|warning| {
            let warning = warning.label_with(start, "the object that does not have it", Excerpt::Hidden);
            (patch.span(), warning.resource(name.clone()))
        }));
        required
    }

    /// A warning for each place of a patch that takes away nothing from any of its objects: with one for many, that
    /// some have nothing there is meant.
    pub fn into_warnings(self) -> Vec<Diagnostic> {
        let place = |warning: &Diagnostic| warning.labels().first().map(|label| label.span);
        let mut counts: FxHashMap<_, usize> = FxHashMap::default();
        for (patch, warning) in &self.warnings {
            *counts.entry((*patch, place(warning))).or_default() += 1;
        }
        let (mut told, targets) = (FxHashSet::default(), self.targets);
        let nowhere = self.warnings.into_iter().filter(|(patch, warning)| {
            let here = (*patch, place(warning));
            counts.get(&here) == targets.get(patch) && told.insert(here)
        });
        let shown = nowhere.map(|(patch, warning)| match targets.get(&patch) {
            Some(&several) => same_in_others(warning, several - 1),
            None => warning,
        });
        shown.collect()
    }
}

/// Whether a patch deletes anything below its root.
fn deletes(patch: &Node) -> bool {
    let in_map = |map: &Map| map.iter().any(|(name, value)| name == PATCH || value.is_null());
    patch.nodes().filter_map(Node::as_map).any(in_map)
}

/// A warning of what a patch does to one object, where it does the same to so many others.
pub fn same_in_others(warning: Diagnostic, others: usize) -> Diagnostic {
    if others == 0 {
        return warning;
    }
    warning.note(format!("the same in {} that the patch is for", counted(others, "other object")))
}

/// A required field that a strategic merge patch removes.
#[derive(Debug, Clone)]
pub struct RemovedRequirement {
    path: FieldPath,
    /// What to say where nothing sets it again.
    pub warning: Diagnostic,
}

impl RemovedRequirement {
    /// Whether an object has the map around the field, and the field not.
    pub fn is_missing_in(&self, object: &Node) -> bool {
        let Some((field, above)) = self.path.elements().split_last() else { return false };
        let map = above.iter().try_fold(object, |node, step| step.find(node));
        map.is_some_and(|map| map.as_map().is_some() && field.find(map).is_none_or(Node::is_null))
    }
}

/// What a strategic merge patch removes, as far as it is a mistake or may be one.
#[derive(Default)]
struct Removals {
    required: Vec<RemovedRequirement>,
    /// A warning for each field and entry that is not there.
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
        // `$patch: merge` says what is done anyway.
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
                // Something else stands in the place of a map: what becomes of it, its schema decides.
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
            self.absent.push(absent(format!("there is no `{name}` here that could be removed"), span, at));
        } else if is_required {
            self.required.push(RemovedRequirement { path: at.path(), warning: required(name, span, at) });
        }
    }

    fn entries(&mut self, live: &[Node], patch: &[Node], list: Cursor<'_>, at: &Trail<'_>) {
        let association = Association::of(list, ListPolicy::Overlay);
        if !matches!(association, Association::Keyed { .. }) || !patch.iter().any(deletes) {
            return;
        }
        let keys = ListKeys::new(association, list, list.element(), PatchRules::Overlay);
        let mut named = LiveEntries { live, keys: &keys, indexes: Vec::new() };
        let mut told = FxHashSet::default();
        for (i, entry) in patch.iter().enumerate() {
            let here = at.entry(entry, keys.names(), i);
            // What is wrong with an entry, the merge says.
            let (Ok(wanted), Some(map)) = (keys.entry_match(entry, &here), entry.as_map()) else { continue };
            let found = wanted.by.iter().find_map(|by| named.find(by));
            match found.map(|found| (found, found.as_map())) {
                Some((found, Some(live))) => {
                    let has_key = keys.names().iter().any(|key| entry.get(key).is_some());
                    let here = if has_key { here } else { at.entry(found, keys.names(), i) };
                    self.fields(live, map, list.element(), &here);
                }
                _ if wanted.delete && told.insert(wanted.by.into_iter().map(|(_, name)| name).next()) => {
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

/// The entries of a list, found by the keys that entries of a patch go by.
struct LiveEntries<'n, 'k> {
    live: &'n [Node],
    keys: &'k ListKeys<'k>,
    indexes: Vec<(KeyPattern, FxHashMap<Identity, &'n Node>)>,
}

impl<'n> LiveEntries<'n, '_> {
    /// Returns the first entry of that name.
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

/// The texts of the first key of entries.
fn live_names<'n>(keys: &ListKeys<'_>, live: impl Iterator<Item = &'n Node>) -> Vec<&'n str> {
    let key = keys.names().first().map_or("", SmolStr::as_str);
    let mut names: Vec<&str> = live.take(NAMES).filter_map(|entry| entry.get(key)?.as_str()).collect();
    names.sort_unstable();
    names
}

/// How many names are looked at for one that is alike.
const NAMES: usize = 64;

fn no_entry(entry: &Node, names: &[&str], keys: &ListKeys<'_>, at: &Trail<'_>) -> Diagnostic {
    let key = keys.names().first().and_then(|key| entry.get(key));
    let message = "there is no such entry here that could be deleted";
    let warning = absent(message.into(), key.unwrap_or(entry).span(), at);
    match key.and_then(Node::as_str).and_then(|name| nearest(name, names)) {
        Some(near) => warning.help(format!("did you mean `{near}`?")),
        None => warning,
    }
}

fn absent(message: String, span: Span, at: &Trail<'_>) -> Diagnostic {
    Diagnostic::warning(Code::AbsentDeletion, message).at(span).field(at.path())
}

fn required(name: &str, span: Span, at: &Trail<'_>) -> Diagnostic {
    let message = format!("the patch removes `{name}`, which is required");
    Diagnostic::warning(Code::MissingField, message)
        .at(span)
        .field(at.path())
        .help("take the deletion out of the patch; an API server refuses the object without the field")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Gvk, Schema};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    /// Where something is deleted that is not there.
    fn told(live: &str, patch: &str) -> Vec<String> {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
        let [live, patch] = [live, patch].map(|text| text.parse::<Node>().expect("valid"));
        let Removals { required, absent } = removals(&live, &patch, pod);
        let warnings = absent.iter().chain(required.iter().map(|one| &one.warning));
        warnings.map(|warning| warning.field_path().unwrap_or_default().to_string()).collect()
    }

    #[test]
    fn deletions_of_what_is_not_there() {
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
            // What is required, though it is there.
            ("{spec: {containers: null}}", &["spec.containers"]),
        ];
        for (patch, want) in table {
            assert_eq!(told(live, patch), want, "{patch}");
        }
    }

    #[test]
    fn what_one_of_several_objects_has_is_not_told() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
        let sources = SourceMap::default();
        let read =
            |text: &str| parse_one(&sources, sources.add("a", text), ParseOptions::default()).expect("valid");
        let patch = read("{spec: {nodeName: null, hostname: null}}");
        let mut absences = Absences::default();
        for (name, object) in [("a", "{spec: {nodeName: n}}"), ("b", "{spec: {}}")] {
            absences.note(&read(object), &patch, pod, name);
        }
        let warnings = absences.into_warnings();
        let told: Vec<_> = warnings.iter().map(|one| (one.field_path(), one.notes())).collect();
        let note = ["the same in 1 other object that the patch is for".to_string()];
        assert_eq!(told, [(Some("spec.hostname"), &note[..])]);
    }
}
