//! Writes a [`Model`] as a [`TypeGraph`]: equal types, field lists and texts are stored once.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::TypeGraph;
use super::cursor::{ListType, MapType, Scope};
use super::graph::{
    FIELDS, HEADER, KINDS, LISTS, MAGIC, NAMES, NONE, REQUIRED, Record, SIZES, TEXT_BYTES, TEXTS, TYPES, bits,
};
use super::model::{Model, TypeDef, TypeKind};
use crate::diagnostic::{Code, Diagnostic, Result};

/// How many definitions may refer to each other in a row before one says what it is.
const MAX_REFERENCES: usize = 32;

impl Model {
    /// Writes the compact form.
    ///
    /// References to definitions that are not here lead to positions of which nothing is known.
    /// Fails only when the whole would pass 2 GiB.
    pub fn compile(&self) -> Result<TypeGraph> {
        let mut writer = Writer::new(self);
        for (id, definition) in self.definitions.values().enumerate() {
            let record = writer.record(definition);
            writer.types[id] = Record { type_name: writer.types[id].type_name, ..record };
            if let Some(target) = writer.target(definition) {
                writer.overlays.push((index(id), target));
            }
        }
        writer.resolve_overlays();
        writer.finish()
    }
}

/// Sizes are checked once, in [`Writer::finish`]; until then an index that is too large is cut.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(NONE)
}

struct Writer<'m> {
    model: &'m Model,
    text: Vec<u8>,
    ends: Vec<u32>,
    text_ids: FxHashMap<SmolStr, u32>,
    /// The definitions first, in the order of their names; then nameless types.
    types: Vec<Record>,
    type_ids: FxHashMap<(Record, u32), u32>,
    definition_ids: FxHashMap<&'m str, u32>,
    /// Types that take what they do not say themselves from another type.
    overlays: Vec<(u32, u32)>,
    fields: Vec<(u32, u32)>,
    field_ids: FxHashMap<Vec<(u32, u32)>, u32>,
    lists: Vec<u32>,
    list_ids: FxHashMap<Vec<u32>, u32>,
}

impl<'m> Writer<'m> {
    fn new(model: &'m Model) -> Self {
        let mut writer = Self {
            model,
            text: Vec::new(),
            ends: vec![0, 0],
            text_ids: FxHashMap::from_iter([(SmolStr::default(), 0)]),
            types: Vec::new(),
            type_ids: FxHashMap::default(),
            definition_ids: FxHashMap::default(),
            overlays: Vec::new(),
            fields: Vec::new(),
            field_ids: FxHashMap::default(),
            lists: vec![0],
            list_ids: FxHashMap::from_iter([(Vec::new(), 0)]),
        };
        for (id, name) in model.definitions.keys().enumerate() {
            let type_name = writer.text(name);
            writer.types.push(Record { type_name, ..Record::default() });
            writer.definition_ids.insert(name.as_str(), index(id));
        }
        writer
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.text_ids.get(text) {
            return id;
        }
        let id = index(self.ends.len() - 1);
        self.text.extend_from_slice(text.as_bytes());
        self.ends.push(index(self.text.len()));
        self.text_ids.insert(text.into(), id);
        id
    }

    fn optional_text(&mut self, text: Option<&SmolStr>) -> u32 {
        text.map_or(0, |text| self.text(text))
    }

    fn list(&mut self, texts: &[SmolStr]) -> u32 {
        let ids: Vec<u32> = texts.iter().map(|text| self.text(text)).collect();
        if let Some(&id) = self.list_ids.get(&ids) {
            return id;
        }
        let id = index(self.lists.len());
        self.lists.push(index(ids.len()));
        self.lists.extend_from_slice(&ids);
        self.list_ids.insert(ids, id);
        id
    }

    /// The definition that a type with a reference stands on.
    fn target(&self, def: &TypeDef) -> Option<u32> {
        self.definition_ids.get(def.reference.as_deref()?).copied()
    }

    /// The index of a type, which is added when it is not there yet.
    fn node(&mut self, def: &TypeDef) -> u32 {
        let target = self.target(def);
        if def.is_pure_reference() {
            return target.unwrap_or(NONE);
        }
        let record = self.record(def);
        let key = (record, target.unwrap_or(NONE));
        if let Some(&id) = self.type_ids.get(&key) {
            return id;
        }
        let id = index(self.types.len());
        self.types.push(record);
        self.type_ids.insert(key, id);
        if let Some(target) = target {
            self.overlays.push((id, target));
        }
        id
    }

    /// What a type says itself.
    fn record(&mut self, def: &TypeDef) -> Record {
        let element = def.element.as_ref().map_or(NONE, |def| self.node(def));
        let additional = def.additional.as_ref().map_or(NONE, |def| self.node(def));
        let (fields_start, fields_count) = self.field_list(def);
        let directives = &def.directives;
        Record {
            kind: def.kind,
            list_type: directives.list_type,
            map_type: directives.map_type,
            patch_strategy: directives.patch_strategy,
            embedded_resource: def.embedded_resource,
            preserve_unknown_fields: def.preserve_unknown_fields,
            element,
            additional,
            fields_start,
            fields_count,
            list_map_keys: self.list(&directives.list_map_keys),
            patch_merge_key: self.optional_text(directives.patch_merge_key.as_ref()),
            recommended_merge_key: self.optional_text(directives.recommended_merge_key.as_ref()),
            default: self.optional_text(def.default.as_ref()),
            type_name: 0,
        }
    }

    fn field_list(&mut self, def: &TypeDef) -> (u32, u32) {
        let mut list = Vec::with_capacity(def.fields.len());
        for (name, field) in &def.fields {
            let node = self.node(field) & !REQUIRED;
            let required = if def.required.contains(name) { REQUIRED } else { 0 };
            list.push((self.text(name), node | required));
        }
        let count = index(list.len());
        if let Some(&start) = self.field_ids.get(&list) {
            return (start, count);
        }
        let start = index(self.fields.len());
        self.fields.extend_from_slice(&list);
        self.field_ids.insert(list, start);
        (start, count)
    }

    /// Fills what referring types do not say themselves from the definitions they refer to.
    fn resolve_overlays(&mut self) {
        let targets: FxHashMap<u32, u32> = self.overlays.iter().copied().collect();
        for (id, first) in std::mem::take(&mut self.overlays) {
            // A definition may itself refer to another: each takes from the whole row behind it.
            let mut next = Some(first);
            for _ in 0..MAX_REFERENCES {
                let Some(target) = next else { break };
                let base = self.types[target as usize];
                let own = self.types[id as usize];
                self.types[id as usize] = overlay(own, base);
                next = targets.get(&target).copied().filter(|&t| t != target);
            }
        }
    }

    fn finish(mut self) -> Result<TypeGraph> {
        let kinds = self.kinds();
        let names: Vec<u32> = self.names();
        let types: Vec<u8> = self.types.iter().flat_map(encode).collect();
        let mut sections: [Vec<u8>; SIZES.len()] = Default::default();
        sections[TEXT_BYTES] = std::mem::take(&mut self.text);
        sections[TEXTS] = numbers(self.ends.iter().copied());
        sections[TYPES] = types;
        sections[FIELDS] = numbers(self.fields.iter().flat_map(|&(name, node)| [name, node]));
        sections[LISTS] = numbers(self.lists.iter().copied());
        sections[KINDS] = numbers(kinds);
        sections[NAMES] = numbers(names);
        let length = HEADER + sections.iter().map(Vec::len).sum::<usize>();
        if length >= REQUIRED as usize {
            return Err(Diagnostic::error(Code::LimitExceeded, "the schema is larger than 2 GiB"));
        }
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(MAGIC);
        bytes.extend(index(length).to_le_bytes());
        let mut start = HEADER;
        for (section, size) in sections.iter().zip(SIZES) {
            bytes.extend(index(start).to_le_bytes());
            bytes.extend(index(section.len() / size).to_le_bytes());
            start += section.len();
        }
        for section in &sections {
            bytes.extend_from_slice(section);
        }
        TypeGraph::from_bytes(bytes)
    }

    fn kinds(&mut self) -> Vec<u32> {
        let mut out = Vec::new();
        for (gvk, def) in &self.model.kinds {
            let node = def.root.as_ref().map_or(NONE, |root| self.node(root));
            let scope = match def.scope {
                None => 0,
                Some(Scope::Namespaced) => 1,
                Some(Scope::Cluster) => 2,
            };
            let names = self.list(&def.names);
            out.extend([self.text(&gvk.group), self.text(&gvk.version), self.text(&gvk.kind), node, scope]);
            out.push(names);
        }
        self.resolve_overlays();
        out
    }

    fn names(&mut self) -> Vec<u32> {
        let names = self.model.definitions.keys().enumerate();
        names.flat_map(|(id, name)| [self.text_ids.get(name).copied().unwrap_or(0), index(id)]).collect()
    }
}

/// `own` where it says something, else `base`.
fn overlay(own: Record, base: Record) -> Record {
    let or = |own: u32, base: u32, none: u32| if own == none { base } else { own };
    let has_fields = own.fields_count > 0;
    Record {
        kind: if own.kind == TypeKind::Any { base.kind } else { own.kind },
        list_type: own.list_type.or(base.list_type),
        map_type: own.map_type.or(base.map_type),
        patch_strategy: if own.patch_strategy.is_none() { base.patch_strategy } else { own.patch_strategy },
        embedded_resource: own.embedded_resource || base.embedded_resource,
        preserve_unknown_fields: own.preserve_unknown_fields || base.preserve_unknown_fields,
        element: or(own.element, base.element, NONE),
        additional: or(own.additional, base.additional, NONE),
        fields_start: if has_fields { own.fields_start } else { base.fields_start },
        fields_count: if has_fields { own.fields_count } else { base.fields_count },
        list_map_keys: or(own.list_map_keys, base.list_map_keys, 0),
        patch_merge_key: or(own.patch_merge_key, base.patch_merge_key, 0),
        recommended_merge_key: or(own.recommended_merge_key, base.recommended_merge_key, 0),
        default: or(own.default, base.default, 0),
        type_name: or(own.type_name, base.type_name, 0),
    }
}

fn numbers(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn encode(record: &Record) -> [u8; SIZES[TYPES]] {
    let mut directives = match record.list_type {
        None => 0,
        Some(ListType::Atomic) => 1,
        Some(ListType::Set) => 2,
        Some(ListType::Map) => 3,
    };
    directives |= match record.map_type {
        None => 0,
        Some(MapType::Granular) => 1 << 2,
        Some(MapType::Atomic) => 2 << 2,
    };
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    directives |= flag(record.patch_strategy.merge, bits::MERGE)
        | flag(record.patch_strategy.replace, bits::REPLACE)
        | flag(record.patch_strategy.retain_keys, bits::RETAIN_KEYS);
    let flags =
        flag(record.embedded_resource, bits::EMBEDDED) | flag(record.preserve_unknown_fields, bits::PRESERVE);
    let kind = TypeKind::ALL.iter().position(|&kind| kind == record.kind).unwrap_or(0);
    let mut out = [0; SIZES[TYPES]];
    out[..3].copy_from_slice(&[u8::try_from(kind).unwrap_or(0), directives, flags]);
    let columns = [
        record.element,
        record.additional,
        record.fields_start,
        record.fields_count,
        record.list_map_keys,
        record.patch_merge_key,
        record.recommended_merge_key,
        record.default,
        record.type_name,
    ];
    for (slot, number) in out[4..].chunks_exact_mut(4).zip(columns) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Cursor, Directives, Gvk, KindDef, PatchStrategy};

    fn object(fields: &[(&str, TypeDef)], required: &[&str]) -> TypeDef {
        TypeDef {
            kind: TypeKind::Object,
            fields: fields.iter().map(|(name, def)| ((*name).into(), def.clone())).collect(),
            required: required.iter().map(|&name| name.into()).collect(),
            ..TypeDef::default()
        }
    }

    fn list_of(element: TypeDef, directives: Directives) -> TypeDef {
        TypeDef { kind: TypeKind::Array, element: Some(Box::new(element)), directives, ..TypeDef::default() }
    }

    fn ports() -> Directives {
        Directives {
            list_type: Some(ListType::Map),
            list_map_keys: vec!["port".into(), "protocol".into()],
            patch_strategy: PatchStrategy::parse("merge,retainKeys"),
            patch_merge_key: Some("port".into()),
            recommended_merge_key: Some("port,protocol".into()),
            map_type: None,
        }
    }

    /// A kind with a list of ports, a recursive definition, a map with free keys, and references.
    fn model() -> Model {
        let string = TypeDef::of(TypeKind::String);
        let protocol = TypeDef { default: Some("\"TCP\"".into()), ..string.clone() };
        let port = object(&[("port", TypeDef::of(TypeKind::Integer)), ("protocol", protocol)], &["port"]);
        let labels = TypeDef { additional: Some(Box::new(string.clone())), ..TypeDef::of(TypeKind::Object) };
        let atomic = Directives { map_type: Some(MapType::Atomic), ..Directives::default() };
        let spec = object(
            &[
                ("ports", list_of(TypeDef::refer("Port"), ports())),
                ("labels", labels),
                ("props", TypeDef::refer("Props")),
                ("atomic", TypeDef { directives: atomic, ..TypeDef::refer("Alias") }),
                ("dangling", TypeDef::refer("Nowhere")),
            ],
            &["ports"],
        );
        let props = object(&[("type", string), ("items", TypeDef::refer("Props"))], &[]);
        let definitions =
            [("Port", port), ("Spec", spec), ("Props", props), ("Alias", TypeDef::refer("Port"))];
        let root = TypeDef { embedded_resource: true, ..object(&[("spec", TypeDef::refer("Spec"))], &[]) };
        let known = KindDef { root: Some(root), scope: Some(Scope::Cluster), names: vec!["things".into()] };
        let scope_only = KindDef { scope: Some(Scope::Namespaced), ..KindDef::default() };
        Model {
            definitions: definitions.into_iter().map(|(name, def)| (name.into(), def)).collect(),
            kinds: [(thing(), known), (Gvk::from_manifest("v1", "Other"), scope_only)].into(),
        }
    }

    fn thing() -> Gvk {
        Gvk::from_manifest("example.com/v1", "Thing")
    }

    fn graph() -> TypeGraph {
        let graph = model().compile().expect("small");
        TypeGraph::from_bytes(graph.as_bytes().to_vec()).expect("just written")
    }

    #[test]
    fn what_is_written_is_read() {
        let graph = graph();
        let spec = graph.kind(&thing()).expect("known").field("spec");
        assert_eq!(spec.type_name(), Some("Spec"));
        assert!(spec.is_required("ports") && !spec.is_required("labels") && !spec.is_required("x"));
        assert_eq!(
            spec.fields().map(|(name, field)| (name, field.kind_name())).collect::<Vec<_>>(),
            [
                ("atomic", "object"),
                ("dangling", "any"),
                ("labels", "object"),
                ("ports", "array"),
                ("props", "object")
            ]
        );
        let list = spec.field("ports");
        assert_eq!(list.directives(), ports());
        assert_eq!(list.list_map_keys().collect::<Vec<_>>(), ["port", "protocol"]);
        assert_eq!(list.element().type_name(), Some("Port"));
        assert_eq!(list.element().key_default("protocol"), Some("\"TCP\""));
        assert_eq!(list.element().key_default("port"), None);
        assert!(graph.kind(&thing()).expect("known").is_embedded_resource());
    }

    #[test]
    fn fields_fall_back_to_free_keys_and_then_to_the_unknown() {
        let graph = graph();
        let spec = graph.named("Spec").expect("known");
        assert!(spec.has_field("labels") && !spec.field("labels").has_field("any"));
        assert_eq!(spec.field("labels").field("any").kind_name(), "string");
        assert!(!spec.field("other").is_known());
        assert!(spec.has_field("dangling") && !spec.field("dangling").is_known());
    }

    #[test]
    fn a_reference_keeps_the_directives_of_its_field() {
        let graph = graph();
        let spec = graph.named("Spec").expect("known");
        let field = spec.field("atomic");
        assert_eq!(field.map_type(), Some(MapType::Atomic));
        assert_eq!(field.type_name(), Some("Alias"));
        assert_eq!(field.field("protocol").default(), Some("\"TCP\""), "through two references");
        assert_eq!(spec.field("ports").element().map_type(), None, "the definition stays as it is");
    }

    #[test]
    fn recursion_ends_nowhere_and_references_in_a_circle_say_nothing() {
        let graph = graph();
        let mut props = graph.named("Props").expect("known");
        for _ in 0..1000 {
            props = props.field("items");
        }
        assert_eq!(props.field("type").kind_name(), "string");
        let mut model = Model::default();
        model.definitions.insert("A".into(), TypeDef::refer("B"));
        model.definitions.insert("B".into(), TypeDef::refer("A"));
        let graph = model.compile().expect("small");
        assert_eq!(graph.named("A").map(Cursor::kind_name), Some("any"));
    }

    #[test]
    fn kinds_are_found_and_listed_in_order() {
        let graph = graph();
        let kinds: Vec<_> = graph.kinds().map(|(gvk, scope)| (gvk.to_string(), scope)).collect();
        assert_eq!(
            kinds,
            [
                ("v1 Other".to_string(), Some(Scope::Namespaced)),
                ("example.com/v1 Thing".to_string(), Some(Scope::Cluster))
            ]
        );
        assert!(graph.kind(&Gvk::from_manifest("v1", "Other")).is_none(), "only its scope is known");
        assert!(graph.kind(&Gvk::from_manifest("example.com/v2", "Thing")).is_none());
        let names: Vec<_> = graph.kind_entries().flat_map(|e| e.names().collect::<Vec<_>>()).collect();
        assert_eq!(names, ["things"]);
    }

    #[test]
    fn equal_types_are_stored_once() {
        let mut twice = model();
        let spec = twice.definitions[&SmolStr::from("Spec")].clone();
        twice.definitions.insert("Spec2".into(), spec);
        let (one, two) = (graph().as_bytes().len(), twice.compile().expect("small").as_bytes().len());
        assert_eq!(two - one, SIZES[TYPES] + SIZES[NAMES] + SIZES[TEXTS] + "Spec2".len());
    }

    #[test]
    fn imported_definitions_are_the_same() {
        let graph = graph();
        let mut copy = Model::default();
        let root = copy.import(graph.named("Spec").expect("known"));
        assert_eq!(root, TypeDef::refer("Spec"));
        copy.kinds.insert(thing(), KindDef { root: Some(root), ..KindDef::default() });
        let copy = copy.compile().expect("small");
        let spec = copy.kind(&thing()).expect("known");
        assert_eq!(spec.field("ports").directives(), ports());
        assert_eq!(spec.field("atomic").map_type(), Some(MapType::Atomic));
        assert_eq!(copy.named("Alias").and_then(Cursor::map_type), None);
        assert_eq!(spec.field("props").field("items").field("type").kind_name(), "string");
        assert_eq!(spec.field("ports").element().key_default("protocol"), Some("\"TCP\""));
    }

    /// Walks some of everything that can be asked.
    fn ask(graph: &TypeGraph) {
        let walk = |cursor: Cursor<'_>| {
            let mut seen = 0;
            for (name, field) in cursor.fields().take(50) {
                seen += name.len() + field.list_map_keys().take(50).map(str::len).sum::<usize>();
                seen += field.element().key_default("protocol").map_or(0, str::len);
                seen += field.field("port").element().field("x").directives().list_map_keys.len().min(9);
            }
            seen
        };
        let roots = graph.kind_entries().take(50).map(|e| (e.names().take(50).count(), walk(e.root())));
        assert!(roots.count() <= 50);
        assert!(graph.names().take(50).filter_map(|name| graph.named(name)).map(walk).count() <= 50);
        assert!(graph.kind(&thing()).is_none_or(Cursor::is_known));
    }

    #[test]
    fn no_corrupt_buffer_panics() {
        let good = graph().as_bytes().to_vec();
        for length in 0..good.len() {
            assert!(TypeGraph::from_bytes(good[..length].to_vec()).is_err(), "cut to {length}");
        }
        for position in 0..good.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[position] = byte;
                TypeGraph::from_bytes(bad).iter().for_each(ask);
            }
        }
    }
}
