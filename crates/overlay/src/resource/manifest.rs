//! One resource: its tree, its identity, and what the build has to remember of it.

use std::sync::Arc;

use smol_str::SmolStr;

use super::former::FormerIds;
use super::generated::Generated;
use super::id::ResId;
use super::origin::Origin;
use super::shared::SharedScalars;
use smp_merge::cause::{History, Touched, Writer};
use smp_merge::merge::RemovedRequirement;
use smp_merge::schema::{Gvk, Schema, Scope};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, PrintForm, Tag, Value, check_printable, nearest};

/// A manifest with its identity and history.
///
/// Changes that do not go through the setters here are followed by [`Resource::sync`].
#[derive(Debug, Clone)]
pub struct Resource {
    node: Node,
    id: ResId,
    /// Former ids, the oldest first. The names that other resources may still use for this one.
    pub previous: FormerIds,
    /// Name prefixes that were added, the innermost first.
    pub prefixes: Vec<SmolStr>,
    /// Name suffixes that were added, the innermost first.
    pub suffixes: Vec<SmolStr>,
    /// Ids of the resources that refer to this one by name.
    pub referred_by: Vec<ResId>,
    /// Names of the `vars` that take their value from this resource.
    pub vars: Vec<SmolStr>,
    /// Set when a generator made it.
    pub generated: Option<Generated>,
    /// Whether a patch may change the name (of a patch).
    pub allow_name_change: bool,
    /// Whether a patch may change the kind (of a patch).
    pub allow_kind_change: bool,
    /// Whether a Helm chart made it; Helm has set the namespace then.
    pub from_helm: bool,
    /// Required fields that strategic merge patches removed; a later patch may have set them again.
    pub(crate) required_removed: Vec<RemovedRequirement>,
    /// Scalars of the manifest that are one.
    shared: SharedScalars,
    /// Where it comes from, when the build keeps track of it.
    pub origin: Option<Origin>,
    /// What transformed it, when the build keeps track of it.
    pub transformations: Vec<Origin>,
    /// What made its values what they are, when the build keeps track of it.
    pub history: Option<Box<History>>,
}

/// The fields that identify a resource.
const IDENTITY: [&[&str]; 4] =
    [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];

/// The texts of the fields that identify a resource, as far as they are there, and where they stand.
pub(crate) type IdentityPlaces = [Option<(SmolStr, Span)>; 4];

/// Says of an error for want of a field at which other field it was probably misspelled, or else, as an error, that it
/// is somewhere in the manifest.
fn misspelled(
    error: Diagnostic,
    map: &Map,
    field: &str,
    manifest: Span,
) -> std::result::Result<Diagnostic, Diagnostic> {
    let names: Vec<&str> = map.iter().map(|(name, _)| name).collect();
    match nearest(field, &names).and_then(|near| map.entry(near)) {
        Some(entry) => Ok(error.at(entry.key.meta.span).help(format!("did you mean `{field}`?"))),
        None => Err(error.at(manifest.at_start())),
    }
}

impl Resource {
    /// A resource from a manifest, which must be a map with a kind and a name.
    ///
    /// # Errors
    /// A manifest that is no map, has no `kind`, or no `metadata.name`.
    pub fn new(node: Node, schema: &Schema) -> Result<Self> {
        let Some(map) = node.as_map() else {
            let message = format!("a resource must be a map, not {}", node.type_name());
            return Err(Diagnostic::error(Code::WrongType, message).at(node.span()));
        };
        let kind = SmolStr::new(text_of(map.get("kind")));
        if kind.is_empty() {
            let error = Diagnostic::error(Code::MissingField, "this resource has no `kind`");
            return Err(misspelled(error, map, "kind", node.span()).unwrap_or_else(|error| {
                error.help("every manifest needs apiVersion, kind and metadata.name")
            }));
        }
        let mut resource = Self::unchecked(node, schema);
        if resource.id.name.is_empty() && !kind.ends_with("List") {
            let error = Diagnostic::error(Code::MissingField, format!("this {kind} has no `metadata.name`"));
            let (span, no_map) = (resource.node.span(), Map::new());
            let metadata = resource.node.get("metadata").and_then(Node::as_map);
            let named = misspelled(error, metadata.unwrap_or(&no_map), "name", span);
            return Err(named.unwrap_or_else(|error| {
                error
                    .help("every manifest needs a name; generateName is not enough to merge and reference by")
            }));
        }
        // kustomize keeps its notes in annotations, and some manifests bring one along to get a hash.
        if resource.annotation("internal.config.kubernetes.io/needsHashSuffix") == Some("enabled") {
            resource.generated = Some(Generated { name_hash: true, ..Generated::default() });
        }
        Ok(resource)
    }

    /// Checks that all values can be printed in a form.
    ///
    /// # Errors
    /// Infinity, NaN, and in YAML characters such as U+007F, with location and field path.
    pub fn check_printable(&self, form: PrintForm) -> Result<()> {
        check_printable(&self.node, form).map_err(|error| error.resource(&self.id))
    }

    /// A resource from a tree that may lack kind and name, as patches may.
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

    /// The manifest.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The manifest, to change it; call [`Resource::sync`] when kind, name or namespace may have changed.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// The manifest alone.
    #[must_use]
    pub fn into_node(self) -> Node {
        self.node
    }

    /// Whether nothing is left of it: a patch deleted it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node.as_map().is_none_or(Map::is_empty)
    }

    /// Reads the identity anew after the manifest was changed. Returns whether it is another.
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
            // Former ids have former kinds, but always today's group and version: what selects a
            // resource by a former id must not miss it because its API version was patched.
            for former in self.previous.iter_mut() {
                former.gvk.group.clone_from(&self.id.gvk.group);
                former.gvk.version.clone_from(&self.id.gvk.version);
            }
        }
        !same
    }

    /// Takes note in its history, if it has one, of what was done to it.
    pub fn follow(&mut self, writer: &Arc<Writer>) {
        self.follow_touched(&Touched::All, writer);
    }

    /// Records changes in its history, if it has one; they are limited to these values.
    pub(crate) fn follow_touched(&mut self, touched: &Touched, writer: &Arc<Writer>) {
        if let Some(history) = &mut self.history {
            history.follow_touched(&self.node, touched, writer);
        }
    }

    /// What it is now.
    #[must_use]
    pub fn id(&self) -> &ResId {
        &self.id
    }

    /// What it was when it was loaded.
    #[must_use]
    pub fn original_id(&self) -> &ResId {
        self.previous.first().unwrap_or(&self.id)
    }

    /// What it is called and was called, the former ids first.
    #[must_use]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = &ResId> {
        self.previous.iter().chain([&self.id])
    }

    /// Remembers the current id as a former one: names that were written for it still mean this resource.
    pub fn store_previous_id(&mut self) {
        let mut id = self.id.clone();
        if !id.cluster_scoped {
            id.namespace = id.effective_namespace().into();
        }
        self.previous.push(id);
    }

    /// What identifies it, with the places where that stands.
    #[must_use]
    pub(crate) fn identity(&self) -> IdentityPlaces {
        IDENTITY.map(|path| self.node.get_path(path).map(|node| (text_of(Some(node)).into(), node.span())))
    }

    /// Gives the fields that say what they said before their places back: whoever names a resource does not write its
    /// name.
    pub(crate) fn keep_identity(&mut self, before: IdentityPlaces) {
        for (path, known) in IDENTITY.into_iter().zip(before) {
            let field = path.iter().try_fold(&mut self.node, |node, name| node.get_mut(name));
            if let (Some((text, place)), Some(field)) = (known, field)
                && text_of(Some(field)) == text
            {
                field.meta.span = place;
            }
        }
    }

    /// Sets `metadata.name`, keeping how it is quoted.
    pub fn set_name(&mut self, name: &str) {
        set_plain(&mut self.node, "name", name);
        self.id.name = name.into();
    }

    /// Sets `metadata.namespace`, or removes it when `namespace` is empty.
    pub fn set_namespace(&mut self, namespace: &str) {
        if namespace.is_empty() {
            if let Some(meta) = self.node.get_mut("metadata").and_then(Node::as_map_mut) {
                meta.remove("namespace");
            }
        } else {
            set_plain(&mut self.node, "namespace", namespace);
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

    /// The labels, in order, as they are written; values that are no scalars are empty.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.strings("labels")
    }

    /// The annotations, in order, as they are written; values that are no scalars are empty.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.strings("annotations")
    }

    /// One annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        metadata(&self.node)?.get("annotations")?.get(key).map(raw_text)
    }

    fn strings(&self, field: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = metadata(&self.node).and_then(|m| m.get(field)).and_then(Node::as_map);
        map.into_iter().flat_map(Map::iter).map(|(key, value)| (key, raw_text(value)))
    }

    /// `metadata.labels` or `metadata.annotations` as strings, in order, each with the place where it stands.
    pub fn placed_strings(&self, field: &str) -> impl Iterator<Item = (SmolStr, Node)> {
        let map = metadata(&self.node).and_then(|m| m.get(field)).and_then(Node::as_map);
        let string = |value: &Node| Node::string(raw_text(value)).with_span(value.span());
        map.into_iter().flat_map(Map::iter).map(move |(key, value)| (key.into(), string(value)))
    }

    /// Replaces `metadata.labels` or `metadata.annotations` by strings in sorted order; removes
    /// the field when there are none.
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

/// Scalars that are one.
impl Resource {
    /// Numbers for scalars that will each be added in several places: the first of `count` in a row.
    ///
    /// None when a resource has too many of them; its scalars are ordinary ones then.
    pub fn reserve_shared(&mut self, count: usize) -> Option<u8> {
        self.shared.reserve(count)
    }

    /// Makes one of all scalars that were given a reserved number. `places` says for each number in
    /// a row how many there are.
    pub fn share(&mut self, first: u8, places: &[usize]) {
        self.shared.share(&mut self.node, first, places);
    }

    /// Gives all scalars that are one the value that one of them was given; of several new values
    /// the last counts. To be called after whatever changes scalars in their place.
    pub fn spread_shared(&mut self) {
        self.shared.spread(&mut self.node);
    }

    /// Returns whether some of its scalars share one value.
    pub(crate) fn has_shared(&self) -> bool {
        self.shared.is_used()
    }

    /// Makes ordinary scalars of all that were one: the resource was rebuilt.
    pub fn part_shared(&mut self) {
        self.shared.part(&mut self.node);
    }
}

/// `metadata`, when it is a map.
fn metadata(node: &Node) -> Option<&Map> {
    node.get("metadata").and_then(Node::as_map)
}

/// The text of a scalar, empty for what is none. Null counts as empty.
fn text_of(node: Option<&Node>) -> &str {
    node.filter(|n| !n.is_null()).and_then(Node::scalar_text).map_or("", SmolStr::as_str)
}

/// The text of a scalar, a null that is written out too.
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

fn set_plain(node: &mut Node, field: &str, text: &str) {
    let Some(map) = node.as_map_mut() else { return };
    let meta = map.get_or_insert_with("metadata", || Node::map(Map::new()));
    if let Some(meta) = meta.as_map_mut() {
        set_text(meta, field, text);
    }
}

/// Sets a scalar as kustomize does: the style stays, the tag goes.
fn set_text(map: &mut Map, field: &str, text: &str) {
    let node = map.get_or_insert_with(field, || Node::plain(""));
    node.value = Value::Scalar(text.into());
    node.meta.tag = Tag::Undecided;
}

/// Takes lists (`List`, `ConfigMapList`, ...) apart into their items, lists of lists too.
///
/// A kind that ends in `List` and has no field `items` is a resource of its own.
///
/// # Errors
/// `items` that is no list.
pub fn flatten_lists(documents: Vec<Node>) -> Result<Vec<Node>> {
    let mut out = Vec::with_capacity(documents.len());
    // A list's items come after all documents that follow it in the text, as in kustomize.
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
