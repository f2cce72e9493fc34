//! Comparison of built values with a live object: the managers of each field, and the differences.
//!
//! Uses the managed fields of the live object, which contain the keys of its list entries. Needs neither a schema nor a
//! cluster.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::blame::{BlamedField, ResourceBlame};
use super::live_field::{LiveField, LiveOnlyField, LiveState};
use super::secret::{HIDDEN, is_secret_pointer};
use smp_merge::managed_fields::{FieldSet, ManagedFields, PathElement};
use smp_merge::schema::is_built_in_group;
use smp_text::path::{is_within, with_step};
use smp_text::yaml::{Map, Node, Resolved, Value};
use smp_validate::is_same_quantity;

/// The placeholder for a hidden value that differs from the built one.
const HIDDEN_BEFORE: &str = "*** (before)";

/// Adds the live value to each field of a resource, and collects the values that only the live object has.
pub fn add_live(resource: &mut ResourceBlame, live: Option<&Node>) {
    let (Some(node), Some(live)) = (&resource.node, live) else {
        resource.live = LiveState::Absent;
        return;
    };
    resource.live = LiveState::Present;
    let managed = ManagedFields::from_object(&live.to_json_value()).unwrap_or_default();
    let owners = managers_of(&managed);
    let mut walk = LiveWalk { fields: FxHashMap::default(), unbuilt: Vec::new() };
    let all = owners.iter().map(|(name, fields)| OwnedPart { manager: name, fields, is_whole: false });
    walk.value(Some(node), live, &all.collect::<Vec<_>>(), &mut PointerPair::default());
    let LiveWalk { fields: mut found, unbuilt } = walk;
    let gvk = &resource.id.gvk;
    // Servers omit empty values of built-in kinds.
    let is_left_out = |field: &BlamedField| {
        is_built_in_group(&gvk.group) && field.writes.first().is_some_and(|write| is_empty(&write.value))
    };
    for field in &mut resource.fields {
        let absent = || LiveField { differs: !is_left_out(field), ..LiveField::default() };
        field.live = Some(Box::new(found.remove(&field.pointer).unwrap_or_else(absent)));
    }
    resource.live_only = unbuilt;
    if gvk.group.is_empty() && gvk.kind == "Secret" {
        find_string_data(resource, live);
        mask(&mut resource.fields, &mut resource.live_only);
    }
}

/// Returns true if a value equals the default of an optional field.
fn is_empty(value: &Node) -> bool {
    match value.resolve() {
        None | Some(Resolved::Null | Resolved::Bool(false) | Resolved::Int(0)) => true,
        Some(Resolved::Str(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// Compares `stringData` with the `data` of a live Secret.
fn find_string_data(resource: &mut ResourceBlame, live: &Node) {
    let mut unbuilt: FxHashMap<String, LiveOnlyField> =
        resource.live_only.drain(..).map(|field| (field.pointer.clone(), field)).collect();
    for field in &mut resource.fields {
        let Some(key) = field.pointer.strip_prefix("/stringData/") else { continue };
        let Some(value) = live.get("data").and_then(|data| data.get(key)) else { continue };
        let built = field.writes.first().and_then(|write| write.value.scalar_text());
        let is_same = built.map(|text| STANDARD.encode(text.as_str())).as_deref() == value.as_str();
        let known = unbuilt.remove(&format!("/data/{key}"));
        let managers = known.map(|known| known.managers).unwrap_or_default();
        field.live = Some(Box::new(LiveField { value: Some(value.clone()), differs: !is_same, managers }));
    }
    resource.live_only = unbuilt.into_values().collect();
    resource.live_only.sort_by(|a, b| a.pointer.cmp(&b.pointer));
}

/// Hides the values of a live Secret, as `diff` does.
fn mask(fields: &mut [BlamedField], unbuilt: &mut [LiveOnlyField]) {
    for field in fields.iter_mut().filter(|field| is_secret_pointer(&field.pointer)) {
        let Some(live) = &mut field.live else { continue };
        let hidden = if live.differs { HIDDEN_BEFORE } else { HIDDEN };
        live.value = live.value.as_ref().map(|_| Node::string(hidden));
    }
    for field in unbuilt.iter_mut().filter(|field| is_secret_pointer(&field.pointer)) {
        field.value = Node::string(HIDDEN);
    }
}

/// Returns the managers of an object with their fields, the most recent first.
fn managers_of(managed: &ManagedFields) -> Vec<(SmolStr, &FieldSet)> {
    let mut owners = managed.sorted();
    // All times are in UTC and in the same format.
    owners.sort_by(|a, b| b.time.cmp(&a.time));
    owners.into_iter().map(|owner| (owner.manager.name.clone(), owner.fields)).collect()
}

/// The part of a value that a manager owns.
#[derive(Clone, Copy)]
struct OwnedPart<'l> {
    manager: &'l SmolStr,
    /// The fields below the value.
    fields: &'l FieldSet,
    /// True if the manager owns the whole value.
    is_whole: bool,
}

impl OwnedPart<'_> {
    /// Returns the owned part below a path element.
    fn below(self, element: &PathElement) -> Option<Self> {
        if self.is_whole {
            return Some(self);
        }
        let (_, fields) = self.fields.get(element)?;
        Some(Self { fields, is_whole: fields.is_empty(), ..self })
    }
}

/// The pointers to a value in the manifest and in the live object.
#[derive(Default)]
struct PointerPair {
    built: String,
    live: String,
}

/// The rule by which managed fields identify the entries of a list.
enum EntryNaming {
    /// By the values of the list map keys.
    Keys(Vec<SmolStr>),
    /// By value, in a set.
    Values,
    /// By index.
    Positions,
}

/// Traverses a live object and its manifest in parallel.
struct LiveWalk {
    fields: FxHashMap<String, LiveField>,
    unbuilt: Vec<LiveOnlyField>,
}

impl LiveWalk {
    fn value(&mut self, built: Option<&Node>, live: &Node, owners: &[OwnedPart<'_>], at: &mut PointerPair) {
        match (built.map(|built| &built.value), &live.value) {
            (Some(Value::Map(fields)), Value::Map(map)) if !fields.is_empty() => {
                self.map(Some(fields), map, owners, at);
            }
            (Some(Value::List(entries)), Value::List(list)) if !entries.is_empty() => {
                self.list(entries, list, owners, at);
            }
            (Some(_), _) if built.is_some_and(Node::is_leaf) => {
                let differs = built.is_some_and(|built| !is_same(built, live, &at.built));
                let field = LiveField { value: Some(live.clone()), differs, managers: managers(owners) };
                self.fields.insert(at.built.clone(), field);
                if !live.is_leaf() {
                    self.unbuilt(live, owners, at);
                }
            }
            _ => self.unbuilt(live, owners, at),
        }
    }

    fn map(&mut self, built: Option<&Map>, live: &Map, owners: &[OwnedPart<'_>], at: &mut PointerPair) {
        for (name, value) in live.iter() {
            let built = built.and_then(|built| built.get(name));
            let is_status = at.live.is_empty() && name == "status" || is_within("/status", &at.live);
            if is_status && built.is_none() || at.live == "/metadata" && name == "managedFields" {
                continue;
            }
            let inner = inner(owners, &name.into());
            self.below(built.map(|built| (built, name)), (value, name), &inner, at);
        }
    }

    fn list(&mut self, built: &[Node], live: &[Node], owners: &[OwnedPart<'_>], at: &mut PointerPair) {
        let naming = naming(owners);
        let name = |position: usize, entry: &Node| naming.name(position, entry);
        let names: BTreeMap<PathElement, usize> =
            built.iter().enumerate().filter_map(|(i, entry)| Some((name(i, entry)?, i))).collect();
        let mut taken = BTreeSet::new();
        for (i, value) in live.iter().enumerate() {
            let own = name(i, value);
            let same = own.as_ref().and_then(|own| names.get(own).copied());
            // The server adds the default of a key that the manifest omits.
            let meant =
                || (0..built.len()).find(|i| !taken.contains(i) && naming.may_name(&built[*i], value));
            let position = same.or_else(meant).filter(|position| taken.insert(*position));
            let inner = own.map_or_else(Vec::new, |own| inner(owners, &own));
            let pair = position.and_then(|position| Some((built.get(position)?, position.to_string())));
            let pair = pair.as_ref().map(|(built, position)| (*built, position.as_str()));
            self.below(pair, (value, &i.to_string()), &inner, at);
        }
    }

    fn unbuilt(&mut self, live: &Node, owners: &[OwnedPart<'_>], at: &mut PointerPair) {
        match &live.value {
            Value::Map(map) if !map.is_empty() => self.map(None, map, owners, at),
            Value::List(list) if !list.is_empty() => self.list(&[], list, owners, at),
            _ if owners.is_empty() => {}
            _ => self.unbuilt.push(LiveOnlyField {
                pointer: at.live.clone(),
                value: live.clone(),
                managers: managers(owners),
            }),
        }
    }

    fn below(
        &mut self,
        built: Option<(&Node, &str)>,
        (live, name): (&Node, &str),
        owners: &[OwnedPart<'_>],
        at: &mut PointerPair,
    ) {
        let mut own = std::mem::take(&mut at.built);
        with_step(&mut at.live, name, |live_pointer| {
            let mut go = |built: Option<&Node>, pointer: &mut String| {
                let mut at =
                    PointerPair { built: std::mem::take(pointer), live: std::mem::take(live_pointer) };
                self.value(built, live, owners, &mut at);
                (*pointer, *live_pointer) = (at.built, at.live);
            };
            match built {
                Some((built, name)) => with_step(&mut own, name, |pointer| go(Some(built), pointer)),
                None => go(None, &mut own),
            }
        });
        at.built = own;
    }
}

/// Parts of the paths of quantities, which servers store in a canonical format.
const AMOUNTS: [&str; 6] = ["/limits/", "/requests/", "/hard/", "/capacity/", "/allocatable/", "/sizeLimit"];

/// Returns true if a live value is equivalent to the built value at a pointer.
fn is_same(built: &Node, live: &Node, pointer: &str) -> bool {
    let is_amount = || AMOUNTS.iter().any(|part| pointer.contains(part));
    let texts = || Some((built.scalar_text()?, live.scalar_text()?));
    built.to_json_value() == live.to_json_value()
        || (is_amount() && texts().is_some_and(|(built, live)| is_same_quantity(built, live)))
}

fn inner<'l>(owners: &[OwnedPart<'l>], element: &PathElement) -> Vec<OwnedPart<'l>> {
    owners.iter().filter_map(|owner| owner.below(element)).collect()
}

fn managers(owners: &[OwnedPart<'_>]) -> Vec<SmolStr> {
    let mut names: Vec<SmolStr> = Vec::new();
    for owner in owners {
        if !names.contains(owner.manager) {
            names.push(owner.manager.clone());
        }
    }
    names
}

/// Returns how the entries of a list are identified, according to the fields of its owners.
fn naming(owners: &[OwnedPart<'_>]) -> EntryNaming {
    let mut elements = owners.iter().filter(|owner| !owner.is_whole).flat_map(|owner| owner.fields.iter());
    let naming = |(element, ..): (&PathElement, _, _)| match element {
        PathElement::Key(keys) => {
            Some(EntryNaming::Keys(keys.iter().map(|(name, _)| name.clone()).collect()))
        }
        PathElement::Value(_) => Some(EntryNaming::Values),
        PathElement::Field(_) | PathElement::Index(_) => None,
    };
    elements.find_map(naming).unwrap_or(EntryNaming::Positions)
}

impl EntryNaming {
    /// Returns the path element of an entry, or `None` if it lacks a key.
    fn name(&self, position: usize, entry: &Node) -> Option<PathElement> {
        match self {
            Self::Keys(keys) => {
                let value = |key: &SmolStr| Some((key.clone(), entry.get(key)?.to_json_value()));
                Some(PathElement::key(keys.iter().map(value).collect::<Option<Vec<_>>>()?))
            }
            Self::Values => Some(PathElement::value(&entry.to_json_value())),
            Self::Positions => i64::try_from(position).ok().map(PathElement::Index),
        }
    }

    /// Returns true if an entry that lacks a key may correspond to a live entry.
    fn may_name(&self, entry: &Node, live: &Node) -> bool {
        let Self::Keys(keys) = self else { return false };
        let (mut same, mut lacks) = (0, 0);
        for key in keys {
            match (entry.get(key), live.get(key)) {
                (None, _) => lacks += 1,
                (Some(own), Some(live)) if own.to_json_value() == live.to_json_value() => same += 1,
                _ => return false,
            }
        }
        same > 0 && lacks > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::blame::BlamedWrite;
    use smp_merge::schema::Gvk;
    use smp_overlay::resource::ResId;

    const LIVE: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u
  labels: {app: web, team: x}
  managedFields:
  - {manager: first, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, time: "2026-01-01T00:00:00Z", fieldsV1: {
      "f:metadata": {"f:labels": {"f:app": {}}},
      "f:spec": {"f:replicas": {}, "f:atomic": {}, "f:ports": {
        'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}},
        'k:{"port":9,"protocol":"UDP"}': {".": {}, "f:port": {}}},
        "f:words": {'v:"a"': {}}}}}
  - {manager: later, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, time: "2026-02-01T00:00:00Z", fieldsV1: {
      "f:metadata": {"f:labels": {"f:team": {}, "f:app": {}}}}}
  - {manager: scaler, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-03-01T00:00:00Z", subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: status, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-04-01T00:00:00Z", subresource: status, fieldsV1: {"f:status": {"f:ready": {}, "f:count": {}}}}
spec:
  replicas: 5
  defaulted: d
  atomic: {a: [1, 2]}
  words: [a, b]
  ports:
  - {port: 9, protocol: UDP}
  - {port: 80, protocol: TCP, name: http}
status: {ready: true, count: 1}
"#;

    fn with_live(built: &str, live: Option<&str>) -> ResourceBlame {
        let node: Node = built.parse().expect("YAML");
        let mut fields = Vec::new();
        leaves(&node, &mut String::new(), &mut fields);
        let text = |field| node.get(field).and_then(Node::as_str).unwrap_or_default();
        let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
        let id = ResId { gvk, name: "web".into(), namespace: "".into(), cluster_scoped: false };
        let mut resource = ResourceBlame {
            id,
            node: Some(node),
            fields,
            removed: Vec::new(),
            live: LiveState::Unknown,
            live_only: Vec::new(),
        };
        add_live(&mut resource, live.map(|live| live.parse::<Node>().expect("YAML")).as_ref());
        resource
    }

    fn leaves(node: &Node, pointer: &mut String, fields: &mut Vec<BlamedField>) {
        match &node.value {
            Value::Map(map) => {
                map.iter().for_each(|(name, value)| with_step(pointer, name, |p| leaves(value, p, fields)));
            }
            Value::List(list) => {
                let mut entry = |(i, value): (usize, &Node)| {
                    with_step(pointer, &i.to_string(), |pointer| leaves(value, pointer, fields));
                };
                list.iter().enumerate().for_each(&mut entry);
            }
            Value::Scalar(_) => {
                fields.push(BlamedField { pointer: pointer.clone(), writes: Vec::new(), live: None });
            }
        }
    }

    fn lines(resource: &ResourceBlame) -> Vec<String> {
        let fields = resource.fields.iter().map(|field| {
            let live = field.live.as_ref().expect("a live value");
            let value = live.value.as_ref().map_or("none".into(), |value| value.to_json_value().to_string());
            let sign = if live.differs { "!" } else { "" };
            format!("{} {sign}{value} {}", field.pointer, live.managers.join(","))
        });
        let unbuilt = resource.live_only.iter().map(|field| {
            format!("+{} {} {}", field.pointer, field.value.to_json_value(), field.managers.join(","))
        });
        fields.chain(unbuilt).collect()
    }

    #[test]
    fn live_values_have_managers_and_differences() {
        let built = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}},
            spec: {replicas: 3, gone: 1, words: [a, c], ports: [{port: 80}, {port: 443}], atomic: {a: [1, 3]}}}";
        let want = [
            "/apiVersion \"apps/v1\" ",
            "/kind \"Deployment\" ",
            "/metadata/name \"web\" ",
            "/metadata/labels/app \"web\" later,first",
            "/spec/replicas !5 scaler,first",
            "/spec/gone !none ",
            "/spec/words/0 \"a\" first",
            "/spec/words/1 !none ",
            "/spec/ports/0/port 80 first",
            "/spec/ports/1/port !none ",
            "/spec/atomic/a/0 1 first",
            "/spec/atomic/a/1 !2 first",
            "+/metadata/labels/team \"x\" later",
            "+/spec/ports/0/port 9 first",
            "+/spec/ports/1/name \"http\" first",
        ];
        let found = lines(&with_live(built, Some(LIVE)));
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn fields_of_the_status_are_shown_as_far_as_they_are_built() {
        let built = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, status: {ready: false}}";
        let found = lines(&with_live(built, Some(LIVE)));
        assert_eq!(found[3], "/status/ready !true status");
        assert!(!found.iter().any(|line| line.contains("count")), "{found:?}");
    }

    #[test]
    fn missing_object_is_absent_and_its_fields_have_no_live_values() {
        let resource = with_live("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}", None);
        assert_eq!(resource.live, LiveState::Absent);
        assert!(resource.fields.iter().all(|field| field.live.is_none()));
    }

    #[test]
    fn equivalent_values_do_not_differ() {
        let mut secret = with_live(
            "{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {a: x, b: new}}",
            None,
        );
        let values = |resource: &mut ResourceBlame| {
            for field in &mut resource.fields {
                let text = if field.pointer.ends_with("/a") { "x" } else { "new" };
                let (value, by) = (Node::string(text), SmolStr::default());
                field.writes = vec![BlamedWrite { value, at: None, by, caused_at: None }];
            }
        };
        values(&mut secret);
        let live = "{apiVersion: v1, kind: Secret, metadata: {name: web, managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1,
            fieldsV1: {'f:data': {'f:a': {}, 'f:b': {}}}}]}, data: {a: eA==, b: eQ==}}";
        add_live(&mut secret, Some(&live.parse::<Node>().expect("YAML")));
        assert_eq!(lines(&secret)[3..], ["/stringData/a \"***\" m", "/stringData/b !\"*** (before)\" m"]);
        let built = "{apiVersion: v1, kind: Pod, spec: {limits: {cpu: 1000m, memory: 1Gi}, note: 1000m}}";
        let live = "{spec: {limits: {cpu: '1', memory: 1Mi}, note: '1'}}";
        let want = ["/spec/limits/cpu \"1\" ", "/spec/limits/memory !\"1Mi\" ", "/spec/note !\"1\" "];
        assert_eq!(lines(&with_live(built, Some(live)))[2..], want);
    }

    #[test]
    fn secret_values_are_hidden() {
        let live = "{apiVersion: v1, kind: Secret, metadata: {name: web, managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1,
            fieldsV1: {'f:data': {'f:a': {}, 'f:b': {}, 'f:c': {}}}}]}, data: {a: eA==, b: eQ==, c: eg==}}";
        let built = "{apiVersion: v1, kind: Secret, metadata: {name: web}, data: {a: eA==, b: bmV3}}";
        let found = lines(&with_live(built, Some(live)));
        let want = ["/data/a \"***\" m", "/data/b !\"*** (before)\" m", "+/data/c \"***\" m"];
        assert_eq!(found[3..], want);
    }
}
