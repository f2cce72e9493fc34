//! What a cluster has of what was built: the managers of each field, and where the live object differs.
//!
//! Goes by the managed fields of the live object, which know how its lists are keyed; asks no schema and no cluster.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::blame::{BlamedField, ResourceBlame};
use super::live_field::{LiveField, LiveState, UnbuiltField};
use super::secret::{HIDDEN, is_held};
use smp_merge::schema::is_built_in_group;
use smp_text::path::below;
use smp_text::yaml::{Map, Node, Resolved, Value};
use smp_validate::is_same_quantity;

/// What stands for the values of a Secret where they differ.
const HIDDEN_BEFORE: &str = "*** (before)";

/// Adds to each value of a resource what the live object has there, and the values that only that one has.
pub fn add_live(resource: &mut ResourceBlame, live: Option<&Node>) {
    let (Some(node), Some(live)) = (&resource.node, live) else {
        resource.live = LiveState::Absent;
        return;
    };
    resource.live = LiveState::Present;
    let owners = managers_of(live);
    let mut beside = LiveWalk { fields: FxHashMap::default(), unbuilt: Vec::new() };
    let all = owners.iter().map(|(name, fields)| OwnedPart { manager: name, fields, is_whole: false });
    beside.value(Some(node), live, &all.collect::<Vec<_>>(), &mut PointerPair::default());
    let LiveWalk { fields: mut found, unbuilt } = beside;
    let gvk = &resource.id.gvk;
    // Of built-in kinds servers leave out what is empty.
    let is_left_out = |field: &BlamedField| {
        is_built_in_group(&gvk.group) && field.writes.first().is_some_and(|write| is_empty(&write.value))
    };
    for field in &mut resource.fields {
        let absent = || LiveField { differs: !is_left_out(field), ..LiveField::default() };
        field.live = Some(Box::new(found.remove(&field.pointer).unwrap_or_else(absent)));
    }
    resource.unbuilt = unbuilt;
    if gvk.group.is_empty() && gvk.kind == "Secret" {
        find_string_data(resource, live);
        mask(&mut resource.fields, &mut resource.unbuilt);
    }
}

/// Whether a value says nothing in a field that has it for its default.
fn is_empty(value: &Node) -> bool {
    match value.resolve() {
        None | Some(Resolved::Null | Resolved::Bool(false) | Resolved::Int(0)) => true,
        Some(Resolved::Str(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// A live Secret has what is built as `stringData` in its `data`.
fn find_string_data(resource: &mut ResourceBlame, live: &Node) {
    let mut beside: FxHashMap<String, UnbuiltField> =
        resource.unbuilt.drain(..).map(|field| (field.pointer.clone(), field)).collect();
    for field in &mut resource.fields {
        let Some(key) = field.pointer.strip_prefix("/stringData/") else { continue };
        let Some(value) = live.get("data").and_then(|data| data.get(key)) else { continue };
        let built = field.writes.first().and_then(|write| write.value.scalar_text());
        let is_same = built.map(|text| STANDARD.encode(text.as_str())).as_deref() == value.as_str();
        let known = beside.remove(&format!("/data/{key}"));
        let managers = known.map(|known| known.managers).unwrap_or_default();
        field.live = Some(Box::new(LiveField { value: Some(value.clone()), differs: !is_same, managers }));
    }
    resource.unbuilt = beside.into_values().collect();
    resource.unbuilt.sort_by(|a, b| a.pointer.cmp(&b.pointer));
}

/// Hides what a live Secret holds, as comparing does.
fn mask(fields: &mut [BlamedField], unbuilt: &mut [UnbuiltField]) {
    for field in fields.iter_mut().filter(|field| is_held(&field.pointer)) {
        let Some(live) = &mut field.live else { continue };
        let hidden = if live.differs { HIDDEN_BEFORE } else { HIDDEN };
        live.value = live.value.as_ref().map(|_| Node::string(hidden));
    }
    for field in unbuilt.iter_mut().filter(|field| is_held(&field.pointer)) {
        field.value = Node::string(HIDDEN);
    }
}

/// The managers of an object with their field sets, the latest to change something first. Who writes its status is
/// no manager of what is built.
fn managers_of(live: &Node) -> Vec<(SmolStr, &Node)> {
    let entries = live.get_path(&["metadata", "managedFields"]).and_then(Node::as_list);
    let text =
        |entry: &Node, field: &str| entry.get(field).and_then(Node::as_str).unwrap_or_default().to_string();
    let entries = entries.into_iter().flatten().filter(|entry| text(entry, "subresource") != "status");
    let mut all: Vec<(String, SmolStr, &Node)> = entries
        .filter_map(|entry| {
            Some((text(entry, "time"), text(entry, "manager").into(), entry.get("fieldsV1")?))
        })
        .collect();
    // All are written in UTC and one form.
    all.sort_by(|(a, ..), (b, ..)| b.cmp(a));
    all.into_iter().map(|(_, name, fields)| (name, fields)).collect()
}

/// What a manager has of the value that is looked at.
#[derive(Clone, Copy)]
struct OwnedPart<'l> {
    manager: &'l SmolStr,
    /// The field set below here.
    fields: &'l Node,
    /// Whether it has all that is below.
    is_whole: bool,
}

impl<'l> OwnedPart<'l> {
    /// What it has of something below, by its name in field sets.
    fn below(self, name: &str) -> Option<Self> {
        if self.is_whole {
            return Some(self);
        }
        let fields = self.fields.get(name)?;
        Some(Self { fields, is_whole: fields.as_map().is_none_or(Map::is_empty), ..self })
    }

    /// The names in its field set.
    fn names(self) -> impl Iterator<Item = &'l str> {
        self.fields.as_map().into_iter().flat_map(Map::iter).map(|(name, _)| name)
    }
}

/// Where a value is in what was built, and in the live object.
#[derive(Default)]
struct PointerPair {
    built: String,
    live: String,
}

/// How the entries of a list are named in field sets.
enum EntryNaming {
    /// By fields.
    Keys(Vec<String>),
    Values,
    Positions,
}

/// Goes through a live object beside what was built.
struct LiveWalk {
    fields: FxHashMap<String, LiveField>,
    unbuilt: Vec<UnbuiltField>,
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
            let noise =
                at.live.is_empty() && name == "status" || at.live == "/metadata" && name == "managedFields";
            if noise {
                continue;
            }
            let inner = inner(owners, &format!("f:{name}"));
            let built = built.and_then(|built| built.get(name));
            self.below(built.map(|built| (built, name)), (value, name), &inner, at);
        }
    }

    fn list(&mut self, built: &[Node], live: &[Node], owners: &[OwnedPart<'_>], at: &mut PointerPair) {
        let naming = naming(owners);
        let name = |position: usize, entry: &Node| naming.name(position, entry);
        let names: FxHashMap<String, usize> =
            built.iter().enumerate().filter_map(|(i, entry)| Some((name(i, entry)?, i))).collect();
        let mut taken = FxHashSet::default();
        for (i, value) in live.iter().enumerate() {
            let own = name(i, value);
            let same = own.as_ref().and_then(|own| names.get(own).copied());
            // Of a key that was not written the server knows the default.
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
            _ => self.unbuilt.push(UnbuiltField {
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
        below(&mut at.live, name, |live_pointer| {
            let mut go = |built: Option<&Node>, pointer: &mut String| {
                let mut at =
                    PointerPair { built: std::mem::take(pointer), live: std::mem::take(live_pointer) };
                self.value(built, live, owners, &mut at);
                (*pointer, *live_pointer) = (at.built, at.live);
            };
            match built {
                Some((built, name)) => below(&mut own, name, |pointer| go(Some(built), pointer)),
                None => go(None, &mut own),
            }
        });
        at.built = own;
    }
}

/// The fields of amounts, which servers write in one way.
const AMOUNTS: [&str; 6] = ["/limits/", "/requests/", "/hard/", "/capacity/", "/allocatable/", "/sizeLimit"];

/// Whether a live value says the same as the one that was built at a pointer.
fn is_same(built: &Node, live: &Node, pointer: &str) -> bool {
    let is_amount = || AMOUNTS.iter().any(|part| pointer.contains(part));
    let texts = || Some((built.scalar_text()?, live.scalar_text()?));
    built.to_json_value() == live.to_json_value()
        || (is_amount() && texts().is_some_and(|(built, live)| is_same_quantity(built, live)))
}

fn inner<'l>(owners: &[OwnedPart<'l>], name: &str) -> Vec<OwnedPart<'l>> {
    owners.iter().filter_map(|owner| owner.below(name)).collect()
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

/// How those who have parts of a list name its entries.
fn naming(owners: &[OwnedPart<'_>]) -> EntryNaming {
    let mut names = owners.iter().filter(|owner| !owner.is_whole).flat_map(|owner| owner.names());
    let keys_of = |name: &str| {
        let keys: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(name.strip_prefix("k:")?).ok()?;
        Some(keys.keys().cloned().collect())
    };
    match names.find(|name| name.starts_with("k:") || name.starts_with("v:")) {
        Some(name) => keys_of(name).map_or(EntryNaming::Values, EntryNaming::Keys),
        None => EntryNaming::Positions,
    }
}

impl EntryNaming {
    /// What an entry is called in field sets; none of one that lacks a key.
    fn name(&self, position: usize, entry: &Node) -> Option<String> {
        match self {
            Self::Keys(keys) => {
                let value = |key: &String| Some((key.clone(), entry.get(key)?.to_json_value()));
                let values: BTreeMap<_, _> = keys.iter().map(value).collect::<Option<_>>()?;
                Some(format!("k:{}", serde_json::to_string(&values).ok()?))
            }
            Self::Values => Some(format!("v:{}", entry.to_json_value())),
            Self::Positions => Some(format!("i:{position}")),
        }
    }

    /// Whether an entry that lacks a key may be a live one.
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
  - {manager: first, time: "2026-01-01T00:00:00Z", fieldsV1: {
      "f:metadata": {"f:labels": {"f:app": {}}},
      "f:spec": {"f:replicas": {}, "f:atomic": {}, "f:ports": {
        'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}},
        'k:{"port":9,"protocol":"UDP"}': {".": {}, "f:port": {}}},
        "f:words": {'v:"a"': {}}}}}
  - {manager: later, time: "2026-02-01T00:00:00Z", fieldsV1: {
      "f:metadata": {"f:labels": {"f:team": {}, "f:app": {}}}}}
  - {manager: scaler, time: "2026-03-01T00:00:00Z", subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: status, time: "2026-04-01T00:00:00Z", subresource: status, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec:
  replicas: 5
  defaulted: d
  atomic: {a: [1, 2]}
  words: [a, b]
  ports:
  - {port: 9, protocol: UDP}
  - {port: 80, protocol: TCP, name: http}
status: {ready: true}
"#;

    fn beside(built: &str, live: Option<&str>) -> ResourceBlame {
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
            live: LiveState::Unasked,
            unbuilt: Vec::new(),
        };
        add_live(&mut resource, live.map(|live| live.parse::<Node>().expect("YAML")).as_ref());
        resource
    }

    fn leaves(node: &Node, pointer: &mut String, fields: &mut Vec<BlamedField>) {
        match &node.value {
            Value::Map(map) => {
                map.iter().for_each(|(name, value)| below(pointer, name, |p| leaves(value, p, fields)));
            }
            Value::List(list) => {
                let mut entry = |(i, value): (usize, &Node)| {
                    below(pointer, &i.to_string(), |pointer| leaves(value, pointer, fields));
                };
                list.iter().enumerate().for_each(&mut entry);
            }
            Value::Scalar(_) => {
                fields.push(BlamedField { pointer: pointer.clone(), writes: Vec::new(), live: None });
            }
        }
    }

    fn told(resource: &ResourceBlame) -> Vec<String> {
        let fields = resource.fields.iter().map(|field| {
            let live = field.live.as_ref().expect("it was asked");
            let value = live.value.as_ref().map_or("none".into(), |value| value.to_json_value().to_string());
            let sign = if live.differs { "!" } else { "" };
            format!("{} {sign}{value} {}", field.pointer, live.managers.join(","))
        });
        let unbuilt = resource.unbuilt.iter().map(|field| {
            format!("+{} {} {}", field.pointer, field.value.to_json_value(), field.managers.join(","))
        });
        fields.chain(unbuilt).collect()
    }

    #[test]
    fn fields_have_their_managers_and_what_differs() {
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
        let found = told(&beside(built, Some(LIVE)));
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn what_is_not_there_is_told_of_the_object() {
        let resource = beside("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}", None);
        assert_eq!(resource.live, LiveState::Absent);
        assert!(resource.fields.iter().all(|field| field.live.is_none()));
    }

    #[test]
    fn what_servers_write_otherwise_does_not_differ() {
        let mut secret =
            beside("{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {a: x, b: new}}", None);
        let values = |resource: &mut ResourceBlame| {
            for field in &mut resource.fields {
                let text = if field.pointer.ends_with("/a") { "x" } else { "new" };
                let (value, by) = (Node::string(text), SmolStr::default());
                field.writes = vec![BlamedWrite { value, at: None, by, asked_at: None }];
            }
        };
        values(&mut secret);
        let live = "{apiVersion: v1, kind: Secret, metadata: {name: web, managedFields: [{manager: m,
            fieldsV1: {'f:data': {'f:a': {}, 'f:b': {}}}}]}, data: {a: eA==, b: eQ==}}";
        add_live(&mut secret, Some(&live.parse::<Node>().expect("YAML")));
        assert_eq!(told(&secret)[3..], ["/stringData/a \"***\" m", "/stringData/b !\"*** (before)\" m"]);
        let built = "{apiVersion: v1, kind: Pod, spec: {limits: {cpu: 1000m, memory: 1Gi}, note: 1000m}}";
        let live = "{spec: {limits: {cpu: '1', memory: 1Mi}, note: '1'}}";
        let want = ["/spec/limits/cpu \"1\" ", "/spec/limits/memory !\"1Mi\" ", "/spec/note !\"1\" "];
        assert_eq!(told(&beside(built, Some(live)))[2..], want);
    }

    #[test]
    fn what_secrets_hold_is_hidden() {
        let live = "{apiVersion: v1, kind: Secret, metadata: {name: web, managedFields: [{manager: m,
            fieldsV1: {'f:data': {'f:a': {}, 'f:b': {}, 'f:c': {}}}}]}, data: {a: eA==, b: eQ==, c: eg==}}";
        let built = "{apiVersion: v1, kind: Secret, metadata: {name: web}, data: {a: eA==, b: bmV3}}";
        let found = told(&beside(built, Some(live)));
        let want = ["/data/a \"***\" m", "/data/b !\"*** (before)\" m", "+/data/c \"***\" m"];
        assert_eq!(found[3..], want);
    }
}
