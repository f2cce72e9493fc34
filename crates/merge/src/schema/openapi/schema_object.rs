//! Reads one schema object of a document into a [`TypeDef`].

use smol_str::{SmolStr, ToSmolStr};

use super::keywords::{is_true, list_at, map_at, present, str_at, strings_at, wrong_type};
use crate::schema::constraints::Constraints;
use crate::schema::directives::{Directives, MERGE_KEY, RECOMMENDED_KEY, TypeKind};
use crate::schema::model::TypeDef;
use crate::schema::{ListType, MapType, PatchStrategy};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::unescape;
use smp_text::yaml::{Map, Node, Resolved};

/// Reads a schema object and all its children. The depth is limited by the parser.
pub(super) fn read_schema(node: &Node) -> Result<TypeDef> {
    let Some(map) = node.as_map() else {
        // In JSON Schema, `true` allows any value. `false` and null are treated in the same way.
        let nothing = matches!(node.resolve(), Some(Resolved::Bool(_) | Resolved::Null));
        return if nothing { Ok(TypeDef::default()) } else { Err(wrong_type(node, "schema", "a map")) };
    };
    let mut def = TypeDef {
        kind: kind(map)?,
        reference: str_at(map, "$ref")?.map(definition_name),
        directives: directives(map)?,
        default: map.get("default").and_then(scalar_json),
        embedded_resource: is_true(map, "x-kubernetes-embedded-resource"),
        preserve_unknown_fields: is_true(map, "x-kubernetes-preserve-unknown-fields"),
        constraints: Constraints::read(map),
        required: strings_at(map, "required").unwrap_or_default().into_iter().map(SmolStr::from).collect(),
        ..TypeDef::default()
    };
    for (name, field) in map_at(map, "properties")?.into_iter().flat_map(Map::iter) {
        def.fields.insert(name.into(), read_schema(field)?);
    }
    if let Some(items) = present(map, "items").filter(|items| items.as_list().is_none()) {
        def.element = Some(Box::new(read_schema(items)?));
    }
    if let Some(values) = present(map, "additionalProperties").filter(|values| values.as_map().is_some()) {
        def.additional = Some(Box::new(read_schema(values)?));
    }
    for part in list_at(map, "allOf")?.into_iter().flatten() {
        merge_part(&mut def, read_schema(part)?);
    }
    guess_kind(&mut def);
    drop_empty_defaults(&mut def);
    Ok(def)
}

/// Adds the data of a part of `allOf` that the schema itself lacks.
///
/// OpenAPI v3 wraps each reference that has other keywords next to it: `allOf: [{$ref: ...}]`.
fn merge_part(def: &mut TypeDef, part: TypeDef) {
    let TypeDef { kind, reference, element, additional, fields, required, directives, default, .. } = part;
    if def.kind == TypeKind::Any {
        def.kind = kind;
    }
    def.reference = def.reference.take().or(reference);
    def.element = def.element.take().or(element);
    def.additional = def.additional.take().or(additional);
    def.default = def.default.take().or(default);
    for (name, field) in fields {
        def.fields.entry(name).or_insert(field);
    }
    def.required.extend(required);
    if def.directives.is_empty() {
        def.directives = directives;
    }
    def.embedded_resource |= part.embedded_resource;
    def.preserve_unknown_fields |= part.preserve_unknown_fields;
}

/// Derives a missing type from the keywords that imply it.
fn guess_kind(def: &mut TypeDef) {
    if def.kind != TypeKind::Any || def.reference.is_some() {
        return;
    }
    if !def.fields.is_empty() || def.additional.is_some() {
        def.kind = TypeKind::Object;
    } else if def.element.is_some() {
        def.kind = TypeKind::Array;
    }
}

/// Drops zero-value defaults of required fields, since API servers publish them but do not set them.
fn drop_empty_defaults(def: &mut TypeDef) {
    for (name, field) in &mut def.fields {
        let zero = matches!(field.default.as_deref(), Some("\"\"" | "0" | "0.0" | "false"));
        if zero && def.required.contains(name) {
            field.default = None;
        }
    }
}

fn kind(map: &Map) -> Result<TypeKind> {
    let int_or_string = is_true(map, "x-kubernetes-int-or-string")
        || map.get("format").and_then(Node::as_str) == Some("int-or-string");
    if int_or_string || alternatives(map) == Some(TypeKind::IntOrString) {
        return Ok(TypeKind::IntOrString);
    }
    let Some(node) = present(map, "type") else { return Ok(TypeKind::Any) };
    if node.as_list().is_some() {
        return Ok(common_kind(strings_at(map, "type")?.into_iter()));
    }
    let name = node.as_str().ok_or_else(|| wrong_type(node, "type", "a string or a list of strings"))?;
    Ok(TypeKind::from_name(name).unwrap_or_default())
}

/// Returns the narrowest type that includes the types of all `oneOf` or `anyOf` alternatives. Alternatives without a
/// type are ignored.
fn alternatives(map: &Map) -> Option<TypeKind> {
    let list = ["oneOf", "anyOf"].into_iter().find_map(|word| map.get(word)?.as_list())?;
    let names = list.iter().filter_map(|alternative| alternative.get("type"));
    let flat: Vec<&str> = names
        .flat_map(|name| name.as_list().map_or(std::slice::from_ref(name), Vec::as_slice))
        .filter_map(Node::as_str)
        .collect();
    Some(common_kind(flat.into_iter()))
}

/// Returns the narrowest type that includes all given types. `null` is ignored.
fn common_kind<'n>(names: impl Iterator<Item = &'n str>) -> TypeKind {
    use TypeKind::{Any, IntOrString, Integer, Number, String};
    let kinds =
        names.filter(|&name| name != "null").map(|name| TypeKind::from_name(name).unwrap_or_default());
    let both = |one, other| match (one, other) {
        _ if one == other => one,
        (Integer | Number, Integer | Number) => Number,
        (String | Integer | Number | IntOrString, String | Integer | Number | IntOrString) => IntOrString,
        _ => Any,
    };
    kinds.reduce(both).unwrap_or_default()
}

fn directives(map: &Map) -> Result<Directives> {
    let text = |keyword| Ok(str_at(map, keyword)?.map(SmolStr::from));
    let list_type = keyword_value(map, "x-kubernetes-list-type", |word| match word {
        "atomic" => Some(ListType::Atomic),
        "set" => Some(ListType::Set),
        "map" => Some(ListType::Map),
        _ => None,
    })?;
    let map_type = keyword_value(map, "x-kubernetes-map-type", |word| match word {
        "granular" => Some(MapType::Granular),
        "atomic" => Some(MapType::Atomic),
        _ => None,
    })?;
    let keys = strings_at(map, "x-kubernetes-list-map-keys")?;
    let strategy = str_at(map, STRATEGY)?;
    if let Some((word, node)) = strategy.and_then(PatchStrategy::unknown_word).zip(map.get(STRATEGY)) {
        return Err(Diagnostic::error(Code::InvalidValue, format!("unknown patch strategy `{word}`"))
            .at(node.span())
            .field(STRATEGY)
            .help("use `merge`, `replace`, or one of them followed by `,retainKeys`"));
    }
    let directives = Directives {
        list_type,
        list_map_keys: keys.into_iter().map(SmolStr::from).collect(),
        patch_strategy: strategy.map(PatchStrategy::parse).unwrap_or_default(),
        patch_merge_key: text(MERGE_KEY)?,
        recommended_merge_key: text(RECOMMENDED_KEY)?,
        map_type,
    };
    let Some((keyword, problem)) = directives.key_problem() else { return Ok(directives) };
    let error = Diagnostic::error(Code::InvalidValue, problem).field(keyword);
    let error = map.get(keyword).map(|node| error.clone().at(node.span())).unwrap_or(error);
    Err(match keyword {
        RECOMMENDED_KEY => {
            error.help("list the default merge key first, then the others: `<default>,<additional>`")
        }
        _ => error.help("list the fields that identify an entry, separated by commas"),
    })
}

const STRATEGY: &str = "x-kubernetes-patch-strategy";

/// Returns the value of a keyword that allows only certain words.
fn keyword_value<T>(map: &Map, keyword: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    let (Some(text), Some(node)) = (str_at(map, keyword)?, map.get(keyword)) else { return Ok(None) };
    let unknown = || {
        Diagnostic::error(Code::InvalidValue, format!("invalid {keyword} {text:?}"))
            .at(node.span())
            .field(keyword)
    };
    read(text).map(Some).ok_or_else(unknown)
}

/// Returns the JSON text of a scalar, or `None` for null, maps and lists.
fn scalar_json(node: &Node) -> Option<SmolStr> {
    match node.resolve()? {
        Resolved::Null => None,
        Resolved::Bool(value) => Some(value.to_smolstr()),
        Resolved::Int(value) => Some(value.to_smolstr()),
        Resolved::UInt(value) => Some(value.to_smolstr()),
        Resolved::Float(value) => Some(serde_json::to_string(&value).ok()?.into()),
        Resolved::Str(text) | Resolved::Timestamp(text) => Some(serde_json::to_string(text).ok()?.into()),
    }
}

/// Returns the definition's name in a reference such as `#/definitions/io.k8s.api.core.v1.Pod`.
fn definition_name(reference: &str) -> SmolStr {
    let name = reference.rsplit('/').next().unwrap_or(reference);
    if name.contains('%') { unescape(&percent_decoded(name)).into() } else { unescape(name).into() }
}

/// Decodes the percent encoding of JSON pointers in URLs.
fn percent_decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|h| u8::from_str_radix(std::str::from_utf8(h).ok()?, 16).ok());
        match hex {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
