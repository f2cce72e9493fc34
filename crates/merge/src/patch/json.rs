//! Patches for `serde_json` values: applies and creates patches of all types as the API server and kubectl do.
//!
//! Only converts between JSON values and trees. The functions for trees do the patching.

use serde_json::{Map as JsonMap, Value};
use smol_str::SmolStr;

pub use super::PatchType;
use super::{
    ApplyOptions, CreateOptions, JsonPatchOptions, PatchInputs, ThreeWayOptions, apply as apply_to_tree,
    create_verified,
};
use crate::merge::{Merged, PatchRules};
use crate::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{
    Code, Diagnostic, ObjectName, PatchRejection, ResourceName, Result, WithWarnings,
};
use smp_text::yaml::{Map as YamlMap, Node};

/// Options for applying and creating patches. The defaults are those of the API server and kubectl.
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
    /// The rules for applying and creating strategic merge patches.
    pub rules: PatchRules,
    /// The kind of objects without `apiVersion` and `kind`.
    pub kind: Option<Gvk>,
    /// The options for JSON patches.
    pub json_patch: JsonPatchOptions,
    /// The options for three-way patches.
    pub three_way: ThreeWayOptions,
    /// Determines whether strategic merge patches for custom resources are rejected under the API server's rules.
    pub custom_resources: CustomResources,
}

/// The handling of strategic merge patches for kinds that are not built into the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CustomResources {
    /// Reject them with status 415, as the API server does, even if the schema contains the kind.
    #[default]
    Rejected,
    /// Merge them by the schema, like an API server for which the kind is built in, such as an aggregated one.
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
    /// Sets the rules for strategic merge patches.
    #[must_use]
    pub fn rules(mut self, rules: PatchRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the kind of objects without `apiVersion` and `kind`.
    #[must_use]
    pub fn kind(mut self, kind: Gvk) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Sets the options for JSON patches.
    #[must_use]
    pub fn json_patch(mut self, options: JsonPatchOptions) -> Self {
        self.json_patch = options;
        self
    }

    /// Sets the options for three-way patches.
    #[must_use]
    pub fn three_way(mut self, options: ThreeWayOptions) -> Self {
        self.three_way = options;
        self
    }

    /// Sets whether strategic merge patches of custom resources are allowed.
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

    /// Returns the schema of the object's kind. Fails if the patch requires a schema and there is none, or if the kind
    /// is a custom resource for which the options reject the patch.
    fn type_for<'s>(&self, patch_type: PatchType, object: &Value, schema: &'s Schema) -> Result<Cursor<'s>> {
        let own = Gvk::from_object(object);
        let gvk = own.as_ref().or(self.kind.as_ref());
        let cursor = gvk.and_then(|gvk| schema.kind(gvk));
        if patch_type != PatchType::Strategic || self.rules != PatchRules::Apiserver {
            // Without a schema, lists are replaced.
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

/// Returns true if a kind is built into the API server.
fn is_built_in(gvk: &Gvk) -> bool {
    Schema::embedded().kind(gvk).is_some()
}

fn no_schema(gvk: Option<&Gvk>) -> Diagnostic {
    let what = gvk.map_or_else(|| "an object without a kind".into(), Gvk::to_string);
    let message = format!("no schema found for {what}, so strategic merge patches are not supported");
    Diagnostic::error(Code::NoSchema, message)
        .patch_rejection(PatchRejection::UnsupportedType)
        .help("use a JSON merge patch, as for any custom resource, or provide a schema that has the kind")
}

fn not_built_in(gvk: Option<&Gvk>) -> Diagnostic {
    let what = gvk.map(Gvk::to_string).unwrap_or_default();
    let message =
        format!("API servers do not support strategic merge patches for {what}, which is a custom resource");
    Diagnostic::error(Code::NoSchema, message).patch_rejection(PatchRejection::UnsupportedType).help(
        "use a JSON merge patch; `CustomResources::Merged` and `PatchRules::Overlay` merge using the given schema",
    )
}

/// Applies a patch to an object as the API server does, and returns warnings.
///
/// If the patch deletes the object (`$patch: delete`), the object becomes null. If an error is returned, the object is
/// unchanged.
///
/// A single call gives a fake API server correct strategic merge patches:
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
/// A strategic merge patch is for a kind that is not built in or not in the schema ([`Code::NoSchema`], see
/// [`CustomResources`]), an entry lacks its merge key, a directive is malformed, an operation cannot be applied, or one
/// of the other errors of [`merge::apply`](crate::merge::apply) occurs. Errors have a field path.
/// [`Diagnostic::to_status`] returns the response of an API server.
pub fn apply(
    object: &mut Value,
    patch: &Value,
    patch_type: PatchType,
    schema: &Schema,
) -> Result<Vec<Diagnostic>> {
    apply_with(object, patch, patch_type, schema, &PatchingOptions::default())
}

/// Applies a patch like [`apply`], with options.
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
/// // In the schema, the default of the protocol is TCP.
/// assert_eq!(service["spec"]["ports"][1], json!({"port": 53, "name": "dns-tcp"}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`apply`].
pub fn apply_with(
    object: &mut Value,
    patch: &Value,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<Vec<Diagnostic>> {
    apply_unnamed(object, patch, patch_type, schema, options)
        .map_err(|error| error.resource(resource_name(object)))
}

fn apply_unnamed(
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
        return Err(not_an_object());
    }
    let apply_options = ApplyOptions::default().rules(options.rules).kind(kind).schema(schema);
    let apply_options = apply_options.json_patch(options.json_patch);
    let merged = apply_to_tree(dest, &Node::from(patch), patch_type, &apply_options)?;
    if are_alone {
        return Ok(put_fields(object, patch, merged));
    }
    *object = merged.node.map_or(Value::Null, |node| node.to_json_value());
    Ok(merged.warnings)
}

/// Rejects operations with members that are not strings, since the API server cannot parse such a patch.
fn check_operations(patch: &Value) -> Result<()> {
    for operation in patch.as_array().into_iter().flatten() {
        let is_odd =
            |word: &&str| operation.get(*word).is_some_and(|value| !value.is_string() && !value.is_null());
        if let Some(word) = ["op", "path", "from"].into_iter().find(is_odd) {
            let message = format!("`{word}` in an operation of a JSON patch must be a string");
            return Err(
                Diagnostic::error(Code::WrongType, message).patch_rejection(PatchRejection::Malformed)
            );
        }
    }
    Ok(())
}

/// Returns the error for a patch that is not an object. The API server rejects it, too.
fn not_an_object() -> Diagnostic {
    Diagnostic::error(Code::WrongType, "a patch of an object must be an object")
        .patch_rejection(PatchRejection::Malformed)
        .help("to replace the whole object, update it instead of patching")
}

/// Returns an object's name for messages.
fn resource_name(object: &Value) -> ResourceName {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_string();
    let [api_version, kind, namespace, name] =
        ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(text);
    let shown = match (kind.as_str(), name.as_str()) {
        ("", "") => "the object".into(),
        ("", name) => format!("the object {name}"),
        (kind, "") => kind.into(),
        (kind, name) => format!("{kind} {name}"),
    };
    ResourceName::from_object(shown, ObjectName { api_version, kind, namespace, name })
}

/// Returns only those fields of an object that a patch contains, so that the other fields need not be converted.
/// Returns `None` if the patch has directives for the whole object, or if the object or the patch is not a map.
fn fields_of(object: &Value, patch: &Value) -> Option<Node> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else { return None };
    if patch.keys().any(|name| name.starts_with('$')) {
        return None;
    }
    // The fields have the order of the object, which depends on the features of `serde_json`.
    let named = object.iter().filter(|(name, _)| patch.contains_key(name.as_str()));
    Some(Node::map(named.map(|(name, value)| (SmolStr::from(name), Node::from(value))).collect()))
}

/// Writes the patched fields from [`fields_of`] back to the object.
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
        Some(old) => *old = value,
        None => drop(fields.insert(name.to_string(), value)),
    }
}

/// Creates the patch that turns `original` into `modified`.
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
/// The errors of [`patch::create`](crate::patch::create), or the schema lacks the kind that a strategic merge patch
/// requires.
pub fn create(
    original: &Value,
    modified: &Value,
    patch_type: PatchType,
    schema: &Schema,
) -> Result<WithWarnings<Value>> {
    create_with(original, modified, patch_type, schema, &PatchingOptions::default())
}

/// Creates a patch like [`create`], with options.
///
/// # Errors
/// The errors of [`create`].
pub fn create_with(
    original: &Value,
    modified: &Value,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<WithWarnings<Value>> {
    let kind = options.type_for(patch_type, modified, schema)?;
    create_verified_json([original, modified], None, (patch_type, kind), options)
}

/// The versions of an object from which a three-way patch is created.
#[derive(Debug, Clone, Copy)]
pub struct ObjectVersions<'v> {
    /// The last-applied configuration; null if the object was never applied.
    pub original: &'v Value,
    /// The desired object.
    pub modified: &'v Value,
    /// The object in the cluster.
    pub current: &'v Value,
}

/// Creates the patch of `kubectl apply`. It turns the current object into the modified one, and removes the fields that
/// `original` has and `modified` no longer has. Additions by other owners are kept.
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
/// let patch = create_three_way(versions, PatchType::Merge, &Schema::empty())?;
/// assert_eq!(patch.value, json!({"spec": {"size": 2, "color": null}}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`create`], or the patch would change the object's identity ([`Code::Conflict`]).
pub fn create_three_way(
    versions: ObjectVersions<'_>,
    patch_type: PatchType,
    schema: &Schema,
) -> Result<WithWarnings<Value>> {
    create_three_way_with(versions, patch_type, schema, &PatchingOptions::default())
}

/// Creates a three-way patch with options. [`PatchingOptions::three_way`] determines whether changes by other owners
/// may be overwritten.
///
/// # Errors
/// The errors of [`create_three_way`].
pub fn create_three_way_with(
    versions: ObjectVersions<'_>,
    patch_type: PatchType,
    schema: &Schema,
    options: &PatchingOptions,
) -> Result<WithWarnings<Value>> {
    let ObjectVersions { original, modified, current } = versions;
    let kind = options.type_for(patch_type, modified, schema)?;
    create_verified_json([original, modified], Some(current), (patch_type, kind), options)
}

/// Creates and verifies a patch of any type. It is a three-way patch if there is a current object.
fn create_verified_json(
    [original, modified]: [&Value; 2],
    current: Option<&Value>,
    (patch_type, kind): (PatchType, Cursor<'_>),
    options: &PatchingOptions,
) -> Result<WithWarnings<Value>> {
    let [original, modified] = [original, modified].map(Node::from);
    let current = current.map(Node::from);
    let sides = PatchInputs { original: &original, modified: &modified, current: current.as_ref() };
    let create_options = CreateOptions::default().rules(options.rules).three_way(options.three_way);
    let WithWarnings { value, warnings } = create_verified(&sides, patch_type, kind, &create_options)?;
    Ok(WithWarnings { value: value.to_json_value(), warnings })
}

#[cfg(test)]
mod tests;
