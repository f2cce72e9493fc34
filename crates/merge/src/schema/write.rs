//! Compiles a [`Model`] to a [`TypeGraph`]. Equal types, field lists and texts are stored only once.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::TypeGraph;
use super::directives::{ListType, MapType, Scope, TypeKind};
use super::graph::{
    FIELDS, HEADER, KINDS, LISTS, MAGIC, NAMES, NONE, REQUIRED, Record, SIZES, TEXT_BYTES, TEXTS, TYPES, bits,
};
use super::model::{Model, TypeDef};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The maximum length of a chain of references between definitions.
const MAX_REFERENCES: usize = 32;

impl Model {
    /// Compiles the model.
    ///
    /// A reference to a missing definition becomes an unknown position. Fails if the graph would exceed 2 GiB, or if
    /// the merge keys of a list are invalid.
    pub fn compile(&self) -> Result<TypeGraph> {
        let mut writer = GraphWriter::new(self);
        for (id, definition) in self.definitions.values().enumerate() {
            let record = writer.record(definition);
            writer.types[id] = Record { type_name: writer.types[id].type_name, ..record };
            if let Some(target) = writer.referenced_definition(definition) {
                writer.references.push((index(id), target));
            }
        }
        writer.resolve_references();
        let graph = writer.finish()?;
        graph.check_keys()?;
        Ok(graph)
    }
}

/// Converts an index to `u32`, saturating if it is too large. Sizes are checked once, in [`GraphWriter::finish`].
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(NONE)
}

struct GraphWriter<'m> {
    model: &'m Model,
    text: Vec<u8>,
    ends: Vec<u32>,
    text_ids: FxHashMap<SmolStr, u32>,
    /// First the definitions, in the order of their names, then the unnamed types.
    types: Vec<Record>,
    type_ids: FxHashMap<(Record, u32), u32>,
    definition_ids: FxHashMap<&'m str, u32>,
    /// The types with a reference, each with the type to which it refers. Missing data is copied from that type.
    references: Vec<(u32, u32)>,
    fields: Vec<(u32, u32)>,
    field_ids: FxHashMap<Vec<(u32, u32)>, u32>,
    lists: Vec<u32>,
    list_ids: FxHashMap<Vec<u32>, u32>,
}

impl<'m> GraphWriter<'m> {
    fn new(model: &'m Model) -> Self {
        let mut writer = Self {
            model,
            text: Vec::new(),
            ends: vec![0, 0],
            text_ids: FxHashMap::from_iter([(SmolStr::default(), 0)]),
            types: Vec::new(),
            type_ids: FxHashMap::default(),
            definition_ids: FxHashMap::default(),
            references: Vec::new(),
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

    /// Returns the definition to which a type refers.
    fn referenced_definition(&self, def: &TypeDef) -> Option<u32> {
        self.definition_ids.get(def.reference.as_deref()?).copied()
    }

    /// Returns the index of a type. Adds the type if it is missing.
    fn node(&mut self, def: &TypeDef) -> u32 {
        let target = self.referenced_definition(def);
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
            self.references.push((id, target));
        }
        id
    }

    /// Returns the type's own data, without that of the definition to which it refers.
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
            constraints: def
                .constraints
                .as_ref()
                .and_then(|c| c.to_text())
                .map_or(0, |text| self.text(&text)),
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

    /// Adds missing data to types with a reference from the definitions to which they refer.
    fn resolve_references(&mut self) {
        let targets: FxHashMap<u32, u32> = self.references.iter().copied().collect();
        for (id, first) in std::mem::take(&mut self.references) {
            // A definition may also be a reference: data is copied from the whole chain.
            let mut next = Some(first);
            for _ in 0..MAX_REFERENCES {
                let Some(target) = next else { break };
                let base = self.types[target as usize];
                let own = self.types[id as usize];
                self.types[id as usize] = inherit(own, base);
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
            return Err(Diagnostic::error(Code::LimitExceeded, "the compiled schema exceeds 2 GiB"));
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
        TypeGraph::from_buffer(bytes.into())
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
        self.resolve_references();
        out
    }

    fn names(&mut self) -> Vec<u32> {
        let names = self.model.definitions.keys().enumerate();
        names.flat_map(|(id, name)| [self.text_ids.get(name).copied().unwrap_or(0), index(id)]).collect()
    }
}

/// Returns `own` with missing data copied from `base`.
fn inherit(own: Record, base: Record) -> Record {
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
        constraints: or(own.constraints, base.constraints, 0),
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
        record.constraints,
    ];
    for (slot, number) in out[4..].chunks_exact_mut(4).zip(columns) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests;
