//! A resource: its manifest, its identity and the build state that belongs to it.

use std::sync::Arc;

use smol_str::SmolStr;

use super::former_ids::FormerIds;
use super::generated::Generated;
use super::id::ResId;
use super::origin::Origin;
use super::shared::SharedScalars;
use smp_merge::cause::{History, Touched, Writer};
use smp_merge::merge::RemovedRequiredField;
use smp_merge::schema::{Gvk, Schema, Scope};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, PrintFormat, Tag, Value, check_printable, nearest_name};

/// A manifest with its identity and history.
///
/// Call [`Resource::sync`] after changes that do not go through the setters.
#[derive(Debug, Clone)]
pub struct Resource {
    node: Node,
    id: ResId,
    /// Former IDs, the oldest first. Other resources may still refer to this one by these names.
    pub previous: FormerIds,
    /// The name prefixes that were added, the innermost first.
    pub prefixes: Vec<SmolStr>,
    /// The name suffixes that were added, the innermost first.
    pub suffixes: Vec<SmolStr>,
    /// The IDs of the resources that refer to this one by name.
    pub referred_by: Vec<ResId>,
    /// The names of the `vars` that take their value from this resource.
    pub vars: Vec<SmolStr>,
    /// The generator options, if a generator made the resource.
    pub generated: Option<Generated>,
    /// True if this resource is a patch that may change the name.
    pub allow_name_change: bool,
    /// True if this resource is a patch that may change the kind.
    pub allow_kind_change: bool,
    /// True if a Helm chart made the resource. Helm has set its namespace.
    pub from_helm: bool,
    /// The required fields that strategic merge patches removed. A later patch may have set them again.
    pub(crate) required_removed: Vec<RemovedRequiredField>,
    /// The groups of scalars that share one value: kustomize writes one YAML node at several locations.
    shared: SharedScalars,
    /// The origin, if the build records origins.
    pub origin: Option<Box<Origin>>,
    /// The transformers that changed the resource, if the build records them.
    pub transformations: Vec<Origin>,
    /// The history of its values, if the build keeps histories.
    pub history: Option<Box<History>>,
}

/// The paths of the fields that identify a resource.
const IDENTITY: [&[&str]; 4] =
    [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];

/// The texts and locations of the identifying fields; `None` for a field that is absent.
pub(crate) type IdentityLocations = [Option<(SmolStr, Span)>; 4];

/// Adds the location and a help to an error about a missing field: the suggestion to rename a similarly named field, or
/// else the start of the manifest and `help`.
fn with_suggestion(error: Diagnostic, map: &Map, field: &str, (manifest, help): (Span, &str)) -> Diagnostic {
    let names: Vec<&str> = map.iter().map(|(name, _)| name).collect();
    match nearest_name(field, &names).and_then(|near| map.entry(near)) {
        Some(entry) => error.at(entry.key.meta.span).help(format!("did you mean `{field}`?")),
        None => error.at(manifest.at_start()).help(help),
    }
}

impl Resource {
    /// Creates a resource from a manifest, which must be a map with a kind and a name.
    ///
    /// # Errors
    /// The manifest is not a map, has no `kind`, or has no `metadata.name` and is not a list.
    pub fn new(node: Node, schema: &Schema) -> Result<Self> {
        let help = "every manifest needs `apiVersion`, `kind` and `metadata.name`";
        Self::checked(node, schema, ("resource", help))
    }

    /// Creates a strategic merge patch, which must be a map with a kind and a name.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub(crate) fn new_patch(node: Node, schema: &Schema) -> Result<Self> {
        let help =
            "a strategic merge patch needs `apiVersion`, `kind` and `metadata.name`, also if `target` is set";
        Self::checked(node, schema, ("patch", help))
    }

    /// Creates a resource or patch. `noun` is the word for it in messages, and `kind_help` the help for one without a
    /// kind.
    fn checked(node: Node, schema: &Schema, (noun, kind_help): (&str, &str)) -> Result<Self> {
        let Some(map) = node.as_map() else {
            let message = format!("a {noun} must be a map, not {}", node.type_name());
            return Err(Diagnostic::error(Code::WrongType, message).at(node.span()));
        };
        let kind = SmolStr::new(text_of(map.get("kind")));
        if kind.is_empty() {
            let error = Diagnostic::error(Code::MissingField, format!("this {noun} has no `kind`"));
            return Err(with_suggestion(error, map, "kind", (node.span(), kind_help)));
        }
        let mut resource = Self::unchecked(node, schema);
        if resource.id.name.is_empty() && !kind.ends_with("List") {
            let error = Diagnostic::error(Code::MissingField, format!("this {kind} has no `metadata.name`"));
            let (span, no_map) = (resource.node.span(), Map::new());
            let metadata = resource.node.get("metadata").and_then(Node::as_map);
            let help = "set `metadata.name`: merges and references need it, `generateName` is not enough";
            return Err(with_suggestion(error, metadata.unwrap_or(&no_map), "name", (span, help)));
        }
        // kustomize keeps build state in annotations, and some manifests set this one to get a name hash.
        if resource.annotation("internal.config.kubernetes.io/needsHashSuffix") == Some("enabled") {
            resource.generated = Some(Generated { name_hash: true, ..Generated::default() });
        }
        Ok(resource)
    }

    /// Checks that all values can be printed in an output format.
    ///
    /// # Errors
    /// Infinity, NaN, and in YAML characters such as U+007F. The error has the location and the field path.
    pub fn check_printable(&self, format: PrintFormat) -> Result<()> {
        check_printable(&self.node, format).map_err(|error| error.resource(&self.id))
    }

    /// Creates a resource from a tree that may lack kind and name, such as a patch.
    #[must_use]
    pub fn unchecked(node: Node, schema: &Schema) -> Self {
        let id = id_of(&node, schema);
        Self {
            node,
            id,
            previous: FormerIds::default(),
            required_removed: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            referred_by: Vec::new(),
            vars: Vec::new(),
            generated: None,
            allow_name_change: false,
            allow_kind_change: false,
            from_helm: false,
            shared: SharedScalars::default(),
            origin: None,
            transformations: Vec::new(),
            history: None,
        }
    }

    /// Returns the manifest.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the manifest for changes. Call [`Resource::sync`] if kind, name or namespace may have changed.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// Converts the resource into its manifest.
    #[must_use]
    pub fn into_node(self) -> Node {
        self.node
    }

    /// Returns true if the manifest is empty because a patch deleted the resource.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node.as_map().is_none_or(Map::is_empty)
    }

    /// Updates the identity after a change of the manifest. Returns true if it has changed.
    pub fn sync(&mut self, schema: &Schema) -> bool {
        let same = {
            let map = self.node.as_map();
            let field = |key| text_of(map.and_then(|m| m.get(key)));
            let meta = metadata(&self.node);
            let meta_field = |key| text_of(meta.and_then(|m| m.get(key)));
            field("kind") == self.id.gvk.kind
                && meta_field("name") == self.id.name
                && meta_field("namespace") == self.id.namespace
                && Gvk::from_manifest(field("apiVersion"), "").api_version() == self.id.gvk.api_version()
        };
        if !same {
            self.id = id_of(&self.node, schema);
            // Former IDs keep their former kinds, but always get the current group and version. Otherwise a
            // selector by a former ID would not match a resource whose API version was patched.
            for former in self.previous.iter_mut() {
                former.gvk.group.clone_from(&self.id.gvk.group);
                former.gvk.version.clone_from(&self.id.gvk.version);
            }
        }
        !same
    }

    /// Records a step in the history, if the resource has one.
    pub fn record(&mut self, writer: &Arc<Writer>) {
        self.record_touched(&Touched::All, writer);
    }

    /// Records a step in the history, if the resource has one. The step changed at most the `touched` values.
    pub(crate) fn record_touched(&mut self, touched: &Touched, writer: &Arc<Writer>) {
        if let Some(history) = &mut self.history {
            history.record_touched(&self.node, touched, writer);
        }
    }

    /// Returns the current ID.
    #[must_use]
    pub fn id(&self) -> &ResId {
        &self.id
    }

    /// Returns the ID that the resource had when it was loaded.
    #[must_use]
    pub fn original_id(&self) -> &ResId {
        self.previous.first().unwrap_or(&self.id)
    }

    /// Returns all IDs of the resource: the former ones first, the current one last.
    #[must_use]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = &ResId> {
        self.previous.iter().chain([&self.id])
    }

    /// Records the current ID as a former one, so that existing references to it still resolve.
    pub fn store_previous_id(&mut self) {
        let mut id = self.id.clone();
        if !id.cluster_scoped {
            id.namespace = id.effective_namespace().into();
        }
        self.previous.push(id);
    }

    /// Returns the identifying fields with their locations.
    #[must_use]
    pub(crate) fn identity(&self) -> IdentityLocations {
        IDENTITY.map(|path| self.node.get_path(path).map(|node| (text_of(Some(node)).into(), node.span())))
    }

    /// Restores the locations of identifying fields whose text has not changed, because a patch contains the name only
    /// to identify its target.
    pub(crate) fn restore_identity_locations(&mut self, before: IdentityLocations) {
        for (path, known) in IDENTITY.into_iter().zip(before) {
            let field = path.iter().try_fold(&mut self.node, |node, name| node.get_mut(name));
            if let (Some((text, location)), Some(field)) = (known, field)
                && text_of(Some(field)) == text
            {
                field.meta.span = location;
            }
        }
    }

    /// Sets `metadata.name` and keeps its quoting style.
    pub fn set_name(&mut self, name: &str) {
        set_metadata_field(&mut self.node, "name", name);
        self.id.name = name.into();
    }

    /// Sets `metadata.namespace`, or removes it when `namespace` is empty.
    pub fn set_namespace(&mut self, namespace: &str) {
        if namespace.is_empty() {
            if let Some(meta) = self.node.get_mut("metadata").and_then(Node::as_map_mut) {
                meta.remove("namespace");
            }
        } else {
            set_metadata_field(&mut self.node, "namespace", namespace);
        }
        self.id.namespace = namespace.into();
    }

    /// Sets `kind`.
    pub fn set_kind(&mut self, kind: &str, schema: &Schema) {
        if let Some(map) = self.node.as_map_mut() {
            set_text(map, "kind", kind);
        }
        self.sync(schema);
    }

    /// Returns the labels as written, in order. Values that are not scalars are returned as empty strings.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.strings("labels")
    }

    /// Returns the annotations as written, in order. Values that are not scalars are returned as empty strings.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.strings("annotations")
    }

    /// Returns an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        metadata(&self.node)?.get("annotations")?.get(key).map(raw_text)
    }

    fn strings(&self, field: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = metadata(&self.node).and_then(|m| m.get(field)).and_then(Node::as_map);
        map.into_iter().flat_map(Map::iter).map(|(key, value)| (key, raw_text(value)))
    }

    /// Returns `metadata.labels` or `metadata.annotations` as strings, in order and with their locations.
    pub fn located_strings(&self, field: &str) -> impl Iterator<Item = (SmolStr, Node)> {
        let map = metadata(&self.node).and_then(|m| m.get(field)).and_then(Node::as_map);
        let string = |value: &Node| Node::string(raw_text(value)).with_span(value.span());
        map.into_iter().flat_map(Map::iter).map(move |(key, value)| (key.into(), string(value)))
    }

    /// Replaces `metadata.labels` or `metadata.annotations` with strings, sorted by key. Removes the field if
    /// there are none.
    pub fn set_strings(&mut self, field: &str, mut pairs: Vec<(SmolStr, Node)>) {
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        let Some(map) = self.node.as_map_mut() else { return };
        let Some(meta) = map.get_or_insert_with("metadata", || Node::map(Map::new())).as_map_mut() else {
            return;
        };
        meta.remove(field);
        if !pairs.is_empty() {
            meta.push(field, Node::map(pairs.into_iter().collect()));
        }
    }
}

/// Scalars that share one value. kustomize adds the same YAML node to all fields of a resource that get a label or an
/// annotation, so that a later change of one field changes all of them.
impl Resource {
    /// Reserves `count` consecutive numbers for scalars that will each be added at several locations. Returns
    /// the first number.
    ///
    /// Returns `None` if the resource has too many shared scalars. In this case the new ones are not shared.
    pub fn reserve_shared(&mut self, count: usize) -> Option<u8> {
        self.shared.reserve(count)
    }

    /// Links all scalars that have the same reserved number. `locations` holds the number of locations
    /// for each consecutive number.
    pub fn link_shared(&mut self, first: u8, locations: &[usize]) {
        self.shared.link(&mut self.node, first, locations);
    }

    /// Propagates a changed value to all scalars that share it. If several were changed, the last value is used.
    ///
    /// Must be called after each in-place change of scalars.
    pub fn propagate_shared(&mut self) {
        self.shared.propagate(&mut self.node);
    }

    /// Returns true if some scalars share a value.
    pub(crate) fn has_shared(&self) -> bool {
        self.shared.is_used()
    }

    /// Unlinks all shared scalars, because the resource was rebuilt.
    pub fn unlink_shared(&mut self) {
        self.shared.unlink(&mut self.node);
    }
}

/// Returns `metadata` if it is a map.
fn metadata(node: &Node) -> Option<&Map> {
    node.get("metadata").and_then(Node::as_map)
}

/// Returns the text of a scalar, or an empty string for null and for values that are not scalars.
fn text_of(node: Option<&Node>) -> &str {
    node.filter(|n| !n.is_null()).and_then(Node::scalar_text).map_or("", SmolStr::as_str)
}

/// Returns the text of a scalar as written, including an explicit null, or an empty string for other values.
fn raw_text(node: &Node) -> &str {
    node.scalar_text().map_or("", SmolStr::as_str)
}

fn id_of(node: &Node, schema: &Schema) -> ResId {
    let map = node.as_map();
    let field = |key| text_of(map.and_then(|m| m.get(key)));
    let meta = metadata(node);
    let meta_field = |key| SmolStr::new(text_of(meta.and_then(|m| m.get(key))));
    let gvk = Gvk::from_manifest(field("apiVersion"), field("kind"));
    let cluster_scoped = schema.scope(&gvk) == Some(Scope::Cluster);
    ResId { gvk, name: meta_field("name"), namespace: meta_field("namespace"), cluster_scoped }
}

fn set_metadata_field(node: &mut Node, field: &str, text: &str) {
    let Some(map) = node.as_map_mut() else { return };
    let meta = map.get_or_insert_with("metadata", || Node::map(Map::new()));
    if let Some(meta) = meta.as_map_mut() {
        set_text(meta, field, text);
    }
}

/// Sets a scalar as kustomize does: keeps the style and removes the tag.
fn set_text(map: &mut Map, field: &str, text: &str) {
    let node = map.get_or_insert_with(field, || Node::plain(""));
    node.value = Value::Scalar(text.into());
    node.meta.tag = Tag::Undecided;
}

/// Replaces lists (`List`, `ConfigMapList`, ...) with their items, recursively.
///
/// A resource whose kind ends in `List` and which has no field `items` is kept.
///
/// # Errors
/// `items` is not a list.
pub fn flatten_lists(documents: Vec<Node>) -> Result<Vec<Node>> {
    let mut out = Vec::with_capacity(documents.len());
    // As in kustomize, the items of a list come after all documents that follow the list.
    let mut queue = std::collections::VecDeque::from(documents);
    while let Some(mut node) = queue.pop_front() {
        if node.is_null() || node.as_map().is_some_and(Map::is_empty) {
            continue;
        }
        let is_list = node.get("kind").and_then(Node::scalar_text).is_some_and(|kind| kind.ends_with("List"));
        let Some(items) = node.as_map_mut().filter(|_| is_list).and_then(|m| m.remove("items")) else {
            out.push(node);
            continue;
        };
        let span = items.span();
        match items {
            items if items.is_null() => {}
            Node { value: Value::List(items), .. } => queue.extend(items),
            items => {
                let message = format!("`items` must be a list, not {}", items.type_name());
                return Err(Diagnostic::error(Code::WrongType, message).at(span));
            }
        }
    }
    Ok(out)
}
