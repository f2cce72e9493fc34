//! The defaults that API servers set: those of CRDs, and the static and conditional defaults of built-in kinds.
//!
//! Works on JSON values. Does not include values that servers allocate, such as IP addresses, or that admission plugins
//! set.

mod quantity;
mod rules;
mod stored;
mod table;

pub use quantity::canonicalize_quantity;
pub use stored::{
    encode_string_data, has_generation, is_new_generation, set_template_generation, template_generation,
};

use serde_json::{Map, Value};

use crate::schema::{Cursor, Gvk, Schema, TypeKind};
use quantity::round_amount;
use table::{FieldDefaults, TABLE};

/// The maximum depth of values that get defaults. All parsers reject deeper values.
const MAX_DEPTH: usize = 200;

/// Types whose fields get no defaults here, although the same field types have defaults in other types.
const WITHOUT_DEFAULTS: [&str; 3] = [
    "io.k8s.api.storage.v1.VolumeAttachmentSource",
    "io.k8s.api.storage.v1alpha1.VolumeAttachmentSource",
    "io.k8s.api.storage.v1beta1.VolumeAttachmentSource",
];

/// The metadata of objects. It has no defaults, and its empty fields are removed.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Pointer fields whose default is an empty struct.
const POINTERS: [(&str, &str); 1] = [("io.k8s.api.core.v1.PodSpec", "securityContext")];

/// The prefix of the names of built-in types.
const BUILT_IN: &str = "io.k8s.api.";

/// The prefixes of the names of all types that servers decode into Go structs.
const DECODED: [&str; 4] =
    [BUILT_IN, "io.k8s.apimachinery.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator."];

/// Sets the defaults of an object, as an API server does before it validates and stores the object. Objects of unknown
/// kinds remain unchanged.
///
/// For built-in kinds, empty values are added or removed to match what servers write: `status: {}` is always present,
/// and `paused: false` never is. The defaults are those of Kubernetes 1.36. Quantities are written in their canonical
/// form: `0.5` becomes `500m`. Pod-level requests that are derived from those of the containers are not computed.
///
/// ```
/// use strategic_merge_patch::{defaults, schema::Schema};
/// use serde_json::json;
///
/// let mut service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}});
/// defaults::fill(&mut service, &Schema::embedded());
/// assert_eq!(service["spec"]["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
/// assert_eq!(service["spec"]["type"], "ClusterIP");
/// ```
pub fn fill(object: &mut Value, schema: &Schema) {
    let Some(gvk) = Gvk::from_object(object) else { return };
    if let Some(cursor) = schema.kind(&gvk) {
        fill_value(object, cursor);
    }
}

/// Returns an empty object of a kind as servers create it before they decode a request. It contains the structs and
/// lists that are always written, and the required scalars. It has no owner, since a create request does not add these
/// values.
///
/// ```
/// use strategic_merge_patch::{defaults, schema::{Gvk, Schema}};
/// use serde_json::json;
///
/// let kind = Gvk::from_manifest("v1", "Service");
/// let empty = json!({"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {}, "status": {"loadBalancer": {}}});
/// assert_eq!(defaults::empty(&kind, &Schema::embedded()), empty);
/// ```
#[must_use]
pub fn empty(kind: &Gvk, schema: &Schema) -> Value {
    let mut object = Map::new();
    if let Some(cursor) = schema.kind(kind) {
        add_written(&mut object, cursor);
    }
    object.insert("apiVersion".into(), kind.api_version().as_str().into());
    object.insert("kind".into(), kind.kind.as_str().into());
    Value::Object(object)
}

/// Adds the fields of a built-in type that are written even if they are empty. The recursion ends, because Go types can
/// refer to themselves only through pointers, which are null.
fn add_written(map: &mut Map<String, Value>, cursor: Cursor<'_>) {
    let Some((name, defaults)) = cursor.type_name().and_then(|name| Some((name, TABLE.get(name)?))) else {
        return;
    };
    for (field, value) in defaults.zero_values() {
        let Some(below) = cursor.declared(field).filter(|_| !POINTERS.contains(&(name, field))) else {
            continue;
        };
        // A zero value of an optional field is the default of a pointer, so it is not written.
        let mut value = value.clone();
        match &mut value {
            Value::Object(map) => add_written(map, below),
            Value::Null => {}
            _ if cursor.is_required(field) => {}
            _ => continue,
        }
        map.insert(field.into(), value);
    }
}

/// Sets the defaults of a value of a type. Nulls that a CRD does not allow are replaced or removed.
pub fn fill_value(value: &mut Value, cursor: Cursor<'_>) {
    let keeps_nulls = cursor.constraints().keeps_nulls;
    Filler { depth: 0, keeps_nulls, is_decoded: false }.fill(value, cursor, None);
}

/// Returns true for a quantity of a built-in type.
fn is_quantity(cursor: Cursor<'_>) -> bool {
    cursor.type_name().is_some_and(|name| name.ends_with(".api.resource.Quantity"))
}

/// Returns the zero value to which Go decodes a null entry of a list or map. A null remains null if the type is not a
/// string, a quantity, an integer or an object with fields.
///
/// ```
/// use strategic_merge_patch::{defaults::zero_entry, schema::{Gvk, Schema}};
///
/// let schema = Schema::embedded();
/// let settings = schema.kind(&Gvk::from_manifest("v1", "ConfigMap")).expect("built in");
/// let values = settings.declared("data").expect("a field").additional();
/// assert_eq!(zero_entry(values), "");
/// ```
#[must_use]
pub fn zero_entry(cursor: Cursor<'_>) -> Value {
    if is_quantity(cursor) {
        return "0".into();
    }
    match cursor.type_kind() {
        TypeKind::String => "".into(),
        TypeKind::Integer => 0.into(),
        TypeKind::Object if cursor.fields().next().is_some() => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

struct Filler {
    depth: usize,
    /// True if the CRD preserves null in fields that are not nullable.
    keeps_nulls: bool,
    /// True inside a value that servers decode into a Go struct.
    is_decoded: bool,
}

impl Filler {
    /// Sets the defaults of a value. `extra_defaults` are those that its type has only in this field.
    fn fill(&mut self, value: &mut Value, cursor: Cursor<'_>, extra_defaults: Option<&FieldDefaults>) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        let outer = self.is_decoded;
        // Lists and maps whose type has no name are part of the surrounding struct.
        if let Some(name) = cursor.type_name() {
            self.is_decoded = DECODED.iter().any(|start| name.starts_with(start));
        }
        self.depth += 1;
        match value {
            Value::Array(list) if cursor.type_kind() == TypeKind::Array => {
                let element = cursor.element();
                for entry in list.iter_mut().filter(|_| element.is_known()) {
                    self.replace_null(entry, element);
                    self.fill(entry, element, None);
                }
            }
            Value::Object(_) => self.fill_map(value, cursor, extra_defaults),
            Value::String(_) | Value::Number(_) if is_quantity(cursor) => {
                canonicalize_quantity(value);
            }
            _ => {}
        }
        self.depth -= 1;
        self.is_decoded = outer;
    }

    /// Replaces a null entry of a list or map.
    fn replace_null(&self, entry: &mut Value, cursor: Cursor<'_>) {
        if self.is_decoded && entry.is_null() {
            *entry = zero_entry(cursor);
        } else {
            replace_null(entry, cursor);
        }
    }

    fn fill_map(&mut self, value: &mut Value, cursor: Cursor<'_>, extra_defaults: Option<&FieldDefaults>) {
        let name = cursor.type_name();
        if name.is_some_and(|name| WITHOUT_DEFAULTS.contains(&name)) {
            return;
        }
        if let Some(name) = name {
            rules::before(value, name);
        }
        let Value::Object(map) = value else { return };
        if name == Some(OBJECT_META) {
            map.retain(|_, value| !table::is_empty(value));
        } else {
            self.fill_fields(map, cursor, extra_defaults);
        }
        self.fill_below(map, cursor);
        if let Some(name) = name {
            rules::after(value, name);
        }
    }

    /// Sets the defaults of the fields of a map.
    fn fill_fields(
        &self,
        map: &mut Map<String, Value>,
        cursor: Cursor<'_>,
        extra_defaults: Option<&FieldDefaults>,
    ) {
        let name = cursor.type_name();
        if self.is_decoded && cursor.fields().next().is_some() {
            // Go decodes null like an absent field.
            map.retain(|_, value| !value.is_null());
        }
        let own = name.and_then(|name| TABLE.get(name));
        if let Some(own) = own {
            own.omit(map);
        }
        let skipped = rules::skipped(map, name.unwrap_or_default());
        for defaults in extra_defaults.into_iter().chain(own) {
            defaults.fill(map, skipped);
        }
        fill_declared(map, cursor);
        // The defaults of built-in types may be null, so nulls are only replaced in fields that are not declared.
        if self.is_decoded {
            let additional = cursor.additional();
            let nulls = map.iter_mut().filter(|(_, value)| additional.is_known() && value.is_null());
            nulls
                .filter(|(name, _)| cursor.declared(name).is_none())
                .for_each(|(_, value)| self.replace_null(value, additional));
        } else if !self.keeps_nulls {
            let below = |field: &str| cursor.declared(field).unwrap_or_else(|| cursor.additional());
            map.retain(|field, value| !is_removed(value, below(field)));
        }
    }

    /// Sets the defaults inside the values of a map.
    fn fill_below(&mut self, map: &mut Map<String, Value>, cursor: Cursor<'_>) {
        let own = cursor.type_name().and_then(|name| TABLE.get(name));
        let is_decoded = self.is_decoded;
        let is_filled = |value: &Value| match value {
            Value::Object(_) | Value::Array(_) => true,
            Value::String(text) => is_decoded && quantity::may_be_quantity(text),
            Value::Number(_) => is_decoded,
            _ => false,
        };
        for (field, value) in map.iter_mut().filter(|(_, value)| is_filled(value)) {
            let declared = cursor.declared(field);
            let below = declared.unwrap_or_else(|| cursor.additional());
            if below.is_known() {
                let extra_defaults = own.and_then(|own| own.by_field.get(field.as_str()));
                self.fill(value, below, extra_defaults);
            }
            if declared.is_none() && is_quantity(below) {
                round_amount(value);
            }
        }
    }
}

/// Sets the defaults that a CRD declares for the fields of a map.
fn fill_declared(map: &mut Map<String, Value>, cursor: Cursor<'_>) {
    for (name, field) in cursor.fields().filter(|(_, field)| field.has_default()) {
        match map.get_mut(name) {
            Some(value) => replace_null(value, field),
            None => drop(map.insert(name.into(), field.constraints().default.unwrap_or_default())),
        }
    }
    let additional = cursor.additional();
    if additional.has_default() {
        let others = map.iter_mut().filter(|(name, _)| cursor.declared(name).is_none());
        others.for_each(|(_, value)| replace_null(value, additional));
    }
}

/// Replaces null by the default of a CRD, unless the field is nullable.
fn replace_null(value: &mut Value, cursor: Cursor<'_>) {
    if value.is_null() && cursor.has_default() && !cursor.constraints().nullable {
        *value = cursor.constraints().default.unwrap_or_default();
    }
}

/// Returns true if a server removes the value of a custom resource's field: null that the schema does not allow. In
/// metadata, null is decoded and not removed.
fn is_removed(value: &Value, field: Cursor<'_>) -> bool {
    value.is_null() && field.is_known() && field.type_name().is_none() && !field.constraints().nullable
}

#[cfg(test)]
mod tests;
