//! Deletions of patches that are mistakes: of what is not there, and of fields that are required.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::association::{Association, ListPolicy};
use super::directive::{PATCH, is_directive};
use super::entry_match::{KeyPattern, ListKeys};
use super::identity::Identity;
use super::rules::Rules;
use super::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Excerpt, ResourceName, counted};
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
    /// Looks what of a patch is not in an object that it is about to be merged into. Returns whether it removes a
    /// required field that is there: a later patch may set it again, so [`missing_required`] judges the final object.
    pub fn note(
        &mut self,
        before: &Node,
        patch: &Node,
        kind: Cursor<'_>,
        object: impl Into<ResourceName>,
    ) -> bool {
        // Hardly ever has a patch any of it.
        if !deletes(patch) {
            return false;
        }
        *self.targets.entry(patch.span()).or_default() += 1;
        let (required, absent): (Vec<_>, Vec<_>) = removed(before, patch, kind, Moment::Before)
            .into_iter()
            .partition(|warning| warning.code() == Code::MissingField);
        let (name, start) = (object.into(), before.span().at_start());
        self.warnings.extend(absent.into_iter().map(|warning| {
            let warning = warning.label_with(start, "the object that does not have it", Excerpt::Hidden);
            (patch.span(), warning.resource(name.clone()))
        }));
        !required.is_empty()
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
            Some(&several) if several > 1 => {
                let others = counted(several - 1, "other object");
                warning.note(format!("the same in {others} that the patch is for"))
            }
            _ => warning,
        });
        shown.collect()
    }
}

/// Whether a patch deletes anything below its root.
fn deletes(patch: &Node) -> bool {
    match &patch.value {
        Value::Scalar(_) => false,
        Value::Map(map) => map.iter().any(|(name, value)| name == PATCH || value.is_null() || deletes(value)),
        Value::List(list) => list.iter().any(deletes),
    }
}

/// A warning for each place where strategic merge patches removed a required field that a final object does not have.
pub fn missing_required<'p>(
    object: &Node,
    patches: impl IntoIterator<Item = &'p Node>,
    kind: Cursor<'_>,
) -> Vec<Diagnostic> {
    patches.into_iter().flat_map(|patch| removed(object, patch, kind, Moment::After)).collect()
}

/// When a patch is compared with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before it is merged: what it deletes may be absent, or required.
    Before,
    /// After all is merged: what it removed may be required and still absent.
    After,
}

/// A warning for each field that a strategic merge patch removes, and each entry that it deletes, which the object
/// does not have or must have.
fn removed(live: &Node, patch: &Node, kind: Cursor<'_>, moment: Moment) -> Vec<Diagnostic> {
    match (live.as_map(), patch.as_map()) {
        (Some(live), Some(patch)) => Walk { moment }.fields(live, patch, kind, &Trail::root()),
        _ => Vec::new(),
    }
}

struct Walk {
    moment: Moment,
}

impl Walk {
    fn fields(&self, live: &Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
        // `$patch: merge` says what is done anyway.
        if patch.get(PATCH).is_some_and(|directive| directive.as_str() != Some("merge")) {
            return Vec::new();
        }
        let mut warnings = Vec::new();
        for entry in patch.entries().iter().filter(|entry| !is_directive(&entry.key.text)) {
            let (name, here) = (entry.key.text.as_str(), at.field(&entry.key.text));
            let is_required = cursor.is_required(name);
            let (live, cursor) = (live.get(name), cursor.field(name));
            if entry.value.is_null() || is_deleted(&entry.value) {
                let is_required = is_required && !cursor.has_default();
                warnings.extend(self.deletion(live, is_required, entry, &here));
                continue;
            }
            match (&entry.value.value, live) {
                // Something else stands in the place of a map: what becomes of it, its schema decides.
                (Value::Map(_), Some(live)) if live.as_map().is_none() => {}
                (Value::Map(_), None) if self.moment == Moment::After => {}
                (Value::Map(patch), live) => {
                    let none = Map::new();
                    let live = live.and_then(Node::as_map).unwrap_or(&none);
                    warnings.extend(self.fields(live, patch, cursor, &here));
                }
                (Value::List(patch), live) => {
                    let live = live.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
                    warnings.extend(self.entries(live, patch, cursor, &here));
                }
                (Value::Scalar(_), _) => {}
            }
        }
        warnings
    }

    /// A warning of a field that a patch deletes.
    fn deletion(
        &self,
        live: Option<&Node>,
        is_required: bool,
        entry: &Entry,
        at: &Trail<'_>,
    ) -> Option<Diagnostic> {
        let (name, span) = (&entry.key.text, entry.key.meta.span);
        match self.moment {
            Moment::Before if live.is_none() => {
                Some(absent(format!("there is no `{name}` here that could be removed"), span, at))
            }
            Moment::Before => is_required.then(|| required(name, span, at)),
            Moment::After => {
                (is_required && live.is_none_or(Node::is_null)).then(|| required(name, span, at))
            }
        }
    }

    fn entries(&self, live: &[Node], patch: &[Node], list: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
        let association = Association::of(list, ListPolicy::Overlay);
        if !matches!(association, Association::Keyed { .. }) || !patch.iter().any(deletes) {
            return Vec::new();
        }
        let keys = ListKeys::new(association, list, list.element(), Rules::Overlay);
        let mut named = LiveEntries { live, keys: &keys, indexes: Vec::new() };
        let mut told = FxHashSet::default();
        let one = |(i, entry): (usize, &Node)| {
            let here = at.entry(entry, keys.names(), i);
            // What is wrong with an entry, the merge says.
            let (Ok(wanted), Some(map)) = (keys.entry_match(entry, &here), entry.as_map()) else {
                return Vec::new();
            };
            let found = wanted.by.iter().find_map(|by| named.find(by));
            match found.and_then(Node::as_map) {
                Some(live) => self.fields(live, map, list.element(), &here),
                None if self.moment == Moment::Before
                    && wanted.delete
                    && told.insert(wanted.by.into_iter().map(|(_, name)| name).next()) =>
                {
                    vec![no_entry(entry, &live_names(&keys, live.iter()), &keys, &here)]
                }
                None => Vec::new(),
            }
        };
        patch.iter().enumerate().flat_map(one).collect()
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
        let warnings = removed(&live, &patch, pod, Moment::Before);
        warnings.iter().map(|warning| warning.field_path().unwrap_or_default().to_string()).collect()
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
