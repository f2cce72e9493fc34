//! The door for objects that are `serde_json` values: patches of all types, applied and made as the API
//! server and kubectl do.
//!
//! What goes on behind it is done by the rooms' own functions on trees; here values become trees and trees
//! values. Must not know how anything is merged.

use serde_json::{Map as JsonMap, Value};
use smol_str::SmolStr;

pub use super::PatchType;
use super::{
    ApplyOptions, CreateOptions, JsonPatchOptions, PatchSides, ThreeWayOptions, apply as apply_to_tree,
    create_verified,
};
use crate::merge::{Merged, PatchRules};
use crate::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, ObjectName, PatchRefusal, ResourceName, Result, Warned};
use smp_text::yaml::{Map as YamlMap, Node};

/// How patches are applied and made. By default as the API server and kubectl do.
///
/// ```
/// use strategic_merge_patch::merge::PatchRules;
/// use strategic_merge_patch::patch::json::PatchingOptions;
///
/// let options = PatchingOptions::default().rules(PatchRules::Overlay);
/// assert_eq!(options.rules, PatchRules::Overlay);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchingOptions {
    /// By whose rules strategic merge patches are applied and made.
    pub rules: PatchRules,
    /// The kind of objects that do not say theirs.
    pub kind: Option<Gvk>,
    /// How JSON patches are applied.
    pub json_patch: JsonPatchOptions,
    /// How three-way patches are made.
    pub three_way: ThreeWayOptions,
    /// Whether there are strategic merge patches for custom resources, by the server's rules.
    pub custom_resources: CustomResources,
}

/// What becomes of strategic merge patches for kinds that are not built into the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CustomResources {
    /// They are refused, as the server refuses them with 415, whatever the schema knows.
    #[default]
    Refused,
    /// They are merged by what the schema says, as a server would that had the kind built in: one behind the
    /// aggregation layer, say.
    Merged,
}

impl Default for PatchingOptions {
    fn default() -> Self {
        Self {
            rules: PatchRules::Apiserver,
            kind: None,
            json_patch: JsonPatchOptions::default(),
            three_way: ThreeWayOptions::default(),
            custom_resources: CustomResources::default(),
        }
    }
}

impl PatchingOptions {
    /// The same by other rules of strategic merge patches.
    #[must_use]
    pub fn rules(mut self, rules: PatchRules) -> Self {
        self.rules = rules;
        self
    }

    /// The same for objects that do not say their kind.
    #[must_use]
    pub fn kind(mut self, kind: Gvk) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The same with JSON patches applied in another way.
    #[must_use]
    pub fn json_patch(mut self, options: JsonPatchOptions) -> Self {
        self.json_patch = options;
        self
    }

    /// The same with three-way patches made in another way.
    #[must_use]
    pub fn three_way(mut self, options: ThreeWayOptions) -> Self {
        self.three_way = options;
        self
    }

    /// The same with strategic merge patches for custom resources, or without.
    ///
    /// ```
    /// use strategic_merge_patch::patch::json::{CustomResources, PatchType, PatchingOptions, apply, apply_with};
    /// use strategic_merge_patch::schema::Schema;
    /// use serde_json::json;
    ///
    /// let definition = json!({
    ///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    ///     "spec": {"group": "example.com", "names": {"kind": "Gadget"}, "versions": [{"name": "v1", "schema": {
    ///         "openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}},
    ///     }}]},
    /// });
    /// let schema = Schema::embedded().with_crds(&[definition])?;
    /// let mut gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "size": 1});
    /// let patch = json!({"size": 2});
    /// let refused = apply(&mut gadget, &patch, PatchType::Strategic, &schema);
    /// assert_eq!(refused.expect_err("as by a server").to_status()["code"], 415);
    ///
    /// let options = PatchingOptions::default().custom_resources(CustomResources::Merged);
    /// apply_with(&mut gadget, &patch, PatchType::Strategic, &schema, &options)?;
    /// assert_eq!(gadget["size"], 2);
    /// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn custom_resources(mut self, custom_resources: CustomResources) -> Self {
        self.custom_resources = custom_resources;
        self
    }

    /// The type of an object, by the kind that it says it has, where a patch needs it.
    fn type_for<'s>(&self, patch_type: PatchType, object: &Value, schema: &'s Schema) -> Result<Cursor<'s>> {
        let own = Gvk::of(object);
        let gvk = own.as_ref().or(self.kind.as_ref());
        let cursor = gvk.and_then(|gvk| schema.kind(gvk));
        if patch_type != PatchType::Strategic || self.rules != PatchRules::Apiserver {
            // Without a schema lists are replaced.
            return Ok(cursor.unwrap_or_else(Cursor::unknown));
        }
        let is_merged = self.custom_resources == CustomResources::Merged || gvk.is_none_or(is_built_in);
        match cursor {
            Some(cursor) if is_merged => Ok(cursor),
            Some(_) => Err(not_built_in(gvk)),
            None => Err(no_schema(gvk)),
        }
    }
}

/// Whether a kind is one of the API server's own.
fn is_built_in(gvk: &Gvk) -> bool {
    Schema::embedded().kind(gvk).is_some()
}

fn no_schema(gvk: Option<&Gvk>) -> Diagnostic {
    let what = gvk.map_or_else(|| "an object without a kind".into(), Gvk::to_string);
    let message = format!("no schema is known for {what}, so that no strategic merge patch can be for it");
    Diagnostic::error(Code::NoSchema, message)
        .refused(PatchRefusal::PatchType)
        .help("use a JSON merge patch, as for any custom resource, or give a schema that has the kind")
}

fn not_built_in(gvk: Option<&Gvk>) -> Diagnostic {
    let what = gvk.map(Gvk::to_string).unwrap_or_default();
    let message =
        format!("an API server takes no strategic merge patch for {what}, which is a custom resource");
    Diagnostic::error(Code::NoSchema, message).refused(PatchRefusal::PatchType).help(
        "use a JSON merge patch; `CustomResources::Merged` and the rules of overlays merge by the schema that is given",
    )
}

/// Applies a patch to an object as the API server does, and returns what there is to warn of.
///
/// The object is null afterwards when the patch deletes it (`$patch: delete`). When the patch cannot be
/// applied, the object is as it was.
///
/// This one line makes a fake API server's strategic merge patches true:
///
/// ```
/// use strategic_merge_patch::patch::json::{self, PatchType};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
///     {"name": "nginx", "image": "nginx:1.14"},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]}});
/// let patch = json!({"spec": {"containers": [{"name": "nginx", "image": "nginx:1.21"}]}});
///
/// json::apply(&mut pod, &patch, PatchType::Strategic, &schema)?;
///
/// assert_eq!(pod["spec"]["containers"], json!([
///     {"name": "nginx", "image": "nginx:1.21"},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// A strategic merge patch for a kind that is not built in or that the schema does not have ([`Code::NoSchema`], as
/// the server refuses it for custom resources, see [`CustomResources`]); entries without their merge key, malformed directives and what else
/// [`merge::apply`](crate::merge::apply) refuses; an operation that cannot be done. With field path.
/// [`Diagnostic::to_status`] makes what a server would answer.
pub fn apply(
    object: &mut Value,
    patch: &Value,
    patch_type: PatchType,
    schema: &Schema,
) -> Result<Vec<Diagnostic>> {
    apply_with(object, patch, patch_type, schema, &PatchingOptions::default())
}

/// As [`apply`], by other rules.
///
/// ```
/// use strategic_merge_patch::merge::PatchRules;
/// use strategic_merge_patch::patch::json::{PatchingOptions, PatchType, apply_with};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let mut service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [
///     {"port": 53, "protocol": "UDP"},
///     {"port": 53},
/// ]}});
/// let patch = json!({"spec": {"ports": [{"port": 53, "name": "dns-tcp"}]}});
/// let options = PatchingOptions::default().rules(PatchRules::Overlay);
/// apply_with(&mut service, &patch, PatchType::Strategic, &Schema::embedded(), &options)?;
/// // The protocol of an entry that names none is TCP: the schema says so.
/// assert_eq!(service["spec"]["ports"][1], json!({"port": 53, "name": "dns-tcp"}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// As [`apply`].
pub fn apply_with(
    object: &mut Value,
    patch: &Value,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<Vec<Diagnostic>> {
    applied(object, patch, patch_type, schema, options).map_err(|error| error.resource(name_of(object)))
}

fn applied(
    object: &mut Value,
    patch: &Value,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<Vec<Diagnostic>> {
    let fields = match patch_type {
        PatchType::Strategic | PatchType::Merge => fields_of(object, patch),
        PatchType::Json => None,
    };
    let are_alone = fields.is_some();
    let dest = fields.unwrap_or_else(|| Node::from(&*object));
    let kind = match patch_type {
        PatchType::Strategic => options.type_for(patch_type, object, schema)?,
        PatchType::Merge => Cursor::unknown(),
        PatchType::Json => {
            check_operations(patch)?;
            Cursor::unknown()
        }
    };
    if patch_type != PatchType::Json && object.is_object() && !patch.is_object() {
        return Err(no_object());
    }
    let how = ApplyOptions::default().rules(options.rules).kind(kind).schema(schema);
    let how = how.json_patch(options.json_patch);
    let merged = apply_to_tree(dest, &Node::from(patch), patch_type, &how)?;
    if are_alone {
        return Ok(put_fields(object, patch, merged));
    }
    *object = merged.node.map_or(Value::Null, |node| node.to_json_value());
    Ok(merged.warnings)
}

/// The words of an operation are texts: of any other value the server cannot read the patch at all.
fn check_operations(patch: &Value) -> Result<()> {
    for operation in patch.as_array().into_iter().flatten() {
        let is_odd =
            |word: &&str| operation.get(*word).is_some_and(|value| !value.is_string() && !value.is_null());
        if let Some(word) = ["op", "path", "from"].into_iter().find(is_odd) {
            let message = format!("the `{word}` of an operation of a JSON patch must be a string");
            return Err(Diagnostic::error(Code::WrongType, message).refused(PatchRefusal::NoPatch));
        }
    }
    Ok(())
}

/// The API server takes none, either.
fn no_object() -> Diagnostic {
    Diagnostic::error(Code::WrongType, "a patch of an object must be an object, which this one is not")
        .refused(PatchRefusal::NoPatch)
        .help("to replace the whole object, send it without a patch")
}

/// How messages call an object.
fn name_of(object: &Value) -> ResourceName {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_string();
    let [api_version, kind, namespace, name] =
        ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(text);
    let shown = match (kind.as_str(), name.as_str()) {
        ("", "") => "the object".into(),
        ("", name) => format!("the object {name}"),
        (kind, "") => kind.into(),
        (kind, name) => format!("{kind} {name}"),
    };
    ResourceName::of_object(shown, ObjectName { api_version, kind, namespace, name })
}

/// The fields of an object that a patch names, so that all others need not become a tree. None when the patch
/// has directives for the whole object, or one of both is no map.
fn fields_of(object: &Value, patch: &Value) -> Option<Node> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else { return None };
    if patch.keys().any(|name| name.starts_with('$')) {
        return None;
    }
    // In the object's order, which `serde_json` keeps by choice.
    let named = object.iter().filter(|(name, _)| patch.contains_key(name.as_str()));
    Some(Node::map(named.map(|(name, value)| (SmolStr::from(name), Node::from(value))).collect()))
}

/// Puts back what [`fields_of`] took, when the patch is applied to it.
fn put_fields(object: &mut Value, patch: &Value, merged: Merged) -> Vec<Diagnostic> {
    let Value::Object(fields) = object else { return merged.warnings };
    let patched = merged.node.unwrap_or_else(Node::null);
    let patched = patched.as_map();
    let is_gone = |name: &str| patched.is_none_or(|map| !map.contains_key(name));
    if patch.as_object().is_some_and(|patch| patch.keys().any(|name| is_gone(name))) {
        let is_named = |name: &str| patch.get(name).is_some();
        fields.retain(|name, _| !is_named(name) || !is_gone(name));
    }
    let changed = patched.into_iter().flat_map(YamlMap::iter);
    for (name, node) in changed {
        put(fields, name, node.to_json_value());
    }
    merged.warnings
}

fn put(fields: &mut JsonMap<String, Value>, name: &str, value: Value) {
    match fields.get_mut(name) {
        Some(place) => *place = value,
        None => drop(fields.insert(name.to_string(), value)),
    }
}

/// Makes the patch that turns `original` into `modified`.
///
/// ```
/// use strategic_merge_patch::patch::json::{PatchType, create};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let pod = |image: &str| json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
///     {"name": "nginx", "image": image},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]}});
/// let patch = create(&pod("nginx:1.14"), &pod("nginx:1.21"), PatchType::Strategic, &Schema::embedded())?;
/// assert_eq!(patch.value, json!({"spec": {
///     "$setElementOrder/containers": [{"name": "nginx"}, {"name": "sidecar"}],
///     "containers": [{"name": "nginx", "image": "nginx:1.21"}],
/// }}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// Of strategic merge patches: a kind that the schema does not have, and what
/// [`patch::create`](crate::patch::create) refuses.
pub fn create(
    original: &Value,
    modified: &Value,
    patch_type: PatchType,
    schema: &Schema,
) -> Result<Warned<Value>> {
    create_with(original, modified, patch_type, schema, &PatchingOptions::default())
}

/// As [`create`], by other rules.
///
/// # Errors
/// As [`create`].
pub fn create_with(
    original: &Value,
    modified: &Value,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<Warned<Value>> {
    let kind = options.type_for(patch_type, modified, schema)?;
    made([original, modified], None, (patch_type, kind), options)
}

/// The versions of an object from which a three-way patch is made.
#[derive(Debug, Clone, Copy)]
pub struct ObjectVersions<'v> {
    /// What was applied last; null when nothing was.
    pub original: &'v Value,
    /// What shall be.
    pub modified: &'v Value,
    /// What the cluster has.
    pub current: &'v Value,
}

/// Makes the patch of `kubectl apply`: it brings the current object to the modified one, removes what that has
/// no more of the original, and leaves alone what others added.
///
/// ```
/// use strategic_merge_patch::patch::json::{PatchType, ObjectVersions, create_three_way};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let gadget = |spec, metadata| json!({
///     "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": spec,
/// });
/// let versions = ObjectVersions {
///     original: &gadget(json!({"size": 1, "color": "red"}), json!({"name": "g"})),
///     modified: &gadget(json!({"size": 2}), json!({"name": "g"})),
///     current: &gadget(json!({"size": 1, "color": "red"}), json!({"name": "g", "finalizers": ["a/b"]})),
/// };
/// let patch = create_three_way(versions, PatchType::Merge, &Schema::none())?;
/// assert_eq!(patch.value, json!({"spec": {"size": 2, "color": null}}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// As [`create`]; [`Code::Conflict`] where the patch would change what names the object.
pub fn create_three_way(
    versions: ObjectVersions<'_>,
    patch_type: PatchType,
    schema: &Schema,
) -> Result<Warned<Value>> {
    create_three_way_with(versions, patch_type, schema, &PatchingOptions::default())
}

/// As [`create_three_way`], by other rules: [`PatchingOptions::three_way`] says what becomes of what others changed.
///
/// # Errors
/// As [`create_three_way`].
pub fn create_three_way_with(
    versions: ObjectVersions<'_>,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<Warned<Value>> {
    let ObjectVersions { original, modified, current } = versions;
    let kind = options.type_for(patch_type, modified, schema)?;
    made([original, modified], Some(current), (patch_type, kind), options)
}

/// Makes a patch of any type, three-way where there is a current object, and tries it.
fn made(
    [original, modified]: [&Value; 2],
    current: Option<&Value>,
    (patch_type, kind): (PatchType, Cursor<'_>),
    options: &PatchingOptions,
) -> Result<Warned<Value>> {
    let [original, modified] = [original, modified].map(Node::from);
    let current = current.map(Node::from);
    let sides = PatchSides { original: &original, modified: &modified, current: current.as_ref() };
    let how = CreateOptions::default().rules(options.rules).three_way(options.three_way);
    let Warned { value, warnings } = create_verified(&sides, patch_type, kind, &how)?;
    Ok(Warned { value: value.to_json_value(), warnings })
}

#[cfg(test)]
mod tests;
