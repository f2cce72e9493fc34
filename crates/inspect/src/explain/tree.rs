//! The structure of a target, with the effects of each part.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::blame::file_name;
use smp_merge::cause::{Cause, History, LocationKeeping, Writer, changes};
use smp_overlay::overlay::{Built, OutlineCheckout, OutlinePart, OutlinePartKind};
use smp_overlay::resource::{ResId, Resource};
use smp_text::diagnostic::{MessageRenderer, counted};
use smp_text::source::{SourceMap, Span};

/// The location of the entry that adds a part, as displayed to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartLocation {
    /// The path relative to the working directory.
    pub file: String,
    /// The line number, starting at 1.
    pub line: usize,
    /// The column in characters, starting at 1.
    pub column: usize,
}

/// An object that a build created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeObject {
    /// The identity at the end of the build.
    pub id: ResId,
    /// The step that deleted the object, if any.
    pub deleted_by: Option<SmolStr>,
}

/// A part of a target and its effects.
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// The part.
    pub part: OutlinePart,
    /// The location of its entry; `None` for the target.
    pub location: Option<PartLocation>,
    /// The objects that this part or its children created, selected or changed, as indices into [`BuildTree::objects`].
    pub objects: BTreeSet<usize>,
    /// The objects that this part or its children changed.
    pub altered: BTreeSet<usize>,
    /// The number of objects that this part created.
    pub made: usize,
    /// The number of objects that this part deleted.
    pub deleted: usize,
    /// The number of values that this part set or removed in objects of other parts.
    pub changed: usize,
}

impl TreeNode {
    /// Creates a node without effects.
    fn new(part: OutlinePart, location: Option<PartLocation>) -> Self {
        let (objects, altered) = (BTreeSet::new(), BTreeSet::new());
        Self { part, location, objects, altered, made: 0, deleted: 0, changed: 0 }
    }

    /// Returns a text such as `adds 1 object, deletes 1 object, changes 3 values of 2 objects`.
    fn effects(&self) -> String {
        let objects =
            |what: &str, number: usize| (number > 0).then(|| format!("{what} {}", counted(number, "object")));
        let changed = (self.changed > 0).then(|| {
            format!("changes {} of {}", counted(self.changed, "value"), counted(self.altered.len(), "object"))
        });
        let effects = [objects("adds", self.made), objects("deletes", self.deleted), changed];
        let effects: Vec<String> = effects.into_iter().flatten().collect();
        if effects.is_empty() { "changes nothing".into() } else { effects.join(", ") }
    }
}

/// The structure of a target.
#[derive(Debug, Clone, Default)]
pub struct BuildTree {
    /// The objects in output order, followed by those that were deleted during the build.
    pub objects: Vec<TreeObject>,
    /// The nodes in depth-first order. The first one is the target.
    pub nodes: Vec<TreeNode>,
}

impl BuildTree {
    /// Returns the number of descendants of a node.
    #[must_use]
    pub fn descendant_count(&self, position: usize) -> usize {
        let Some(node) = self.nodes.get(position) else { return 0 };
        self.nodes[position + 1..].iter().take_while(|other| other.part.depth > node.part.depth).count()
    }

    /// Returns the pairs of parent and child, in the order of the children.
    #[must_use]
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let mut path: Vec<usize> = Vec::new();
        let mut edges = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            path.truncate(node.part.depth);
            edges.extend(path.last().map(|parent| (*parent, i)));
            path.push(i);
        }
        edges
    }

    /// Returns the number of objects in the output.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.objects.iter().filter(|object| object.deleted_by.is_none()).count()
    }

    /// Describes the objects and changes of a node.
    pub(super) fn describe(&self, node: &TreeNode) -> String {
        let objects = || counted(node.objects.len(), "object");
        match node.part.kind {
            OutlinePartKind::Target => counted(self.object_count(), "object"),
            OutlinePartKind::Base if node.part.is_repeated => {
                format!("{} (see above)", counted(node.made, "object"))
            }
            OutlinePartKind::Base if node.made > 0 || node.changed == 0 => counted(node.made, "object"),
            OutlinePartKind::Base | OutlinePartKind::Component | OutlinePartKind::Function => {
                let effects = node.effects();
                if node.part.is_repeated { effects + " (see above)" } else { effects }
            }
            OutlinePartKind::Resource if node.objects.is_empty() => "no objects".into(),
            OutlinePartKind::Patch if node.objects.is_empty() => "matches nothing".into(),
            OutlinePartKind::Transformer if node.changed == 0 => "changes nothing".into(),
            OutlinePartKind::Transformer => format!("{} of {}", counted(node.changed, "value"), objects()),
            OutlinePartKind::Resource
            | OutlinePartKind::Patch
            | OutlinePartKind::Generator
            | OutlinePartKind::Chart => {
                let values = (node.changed > 0).then(|| format!(": {}", counted(node.changed, "value")));
                self.object_names(node) + &values.unwrap_or_default()
            }
            OutlinePartKind::Validator
            | OutlinePartKind::Configuration
            | OutlinePartKind::Crd
            | OutlinePartKind::OpenApi
            | OutlinePartKind::Var => String::new(),
        }
    }

    /// Returns the names of the first objects of a node, and the number of the others.
    fn object_names(&self, node: &TreeNode) -> String {
        let names = node.objects.iter().take(NAMED).map(|&i| {
            let object = &self.objects[i];
            let name = format!("{}/{}", object.id.gvk.kind, object.id.name);
            match &object.deleted_by {
                Some(by) if *by == node.part.entry => format!("{name} (deleted)"),
                Some(by) => format!("{name} (deleted by {by})"),
                None => name,
            }
        });
        let names: Vec<String> = names.collect();
        match node.objects.len() - names.len() {
            0 => names.join(", "),
            more => format!("{}, and {more} more", names.join(", ")),
        }
    }
}

/// Describes the structure of a target that was built with histories. `renderer` renders paths.
#[must_use]
pub fn build_tree(built: &Built, sources: &SourceMap, renderer: &MessageRenderer<'_>) -> BuildTree {
    let mut builder = TreeBuilder::new(built, sources, renderer);
    for resource in &built.resources {
        builder.object(resource, None);
    }
    for (resource, by) in built.resources.deleted() {
        builder.object(resource, Some(by));
    }
    builder.finish()
}

/// The maximum number of objects of a part that are listed by name.
const NAMED: usize = 4;

/// Returns the title of a node: kind, name, value and entry.
pub(super) fn title(part: &OutlinePart) -> String {
    let mut title = format!("{} {}", part.kind.as_str(), part.name);
    if !part.value.is_empty() {
        title.extend([" ", &part.value]);
    }
    let is_entry = part.entry.ends_with(']') && part.entry != part.name;
    let is_file = matches!(
        part.kind,
        OutlinePartKind::Resource | OutlinePartKind::Var | OutlinePartKind::Configuration
    );
    if is_entry && !is_file {
        title.extend([" (", &part.entry, ")"]);
    }
    title
}

/// The internal steps at the end of a build, in order.
const LAST_STEPS: [&str; 5] = ["nameHash", "nameReference", "vars", "buildMetadata", "cleanup"];

/// A step and the name of one of its entries.
type StepKey = (*const Writer, SmolStr);

struct TreeBuilder<'p> {
    sources: &'p SourceMap,
    renderer: &'p MessageRenderer<'p>,
    checkouts: Vec<OutlineCheckout>,
    tree: BuildTree,
    /// The nodes by step.
    known: FxHashMap<StepKey, usize>,
    /// Nodes of steps that are not in the outline, each with the index of its directory. They come after the nodes of
    /// the outline.
    found: Vec<(usize, TreeNode)>,
    /// The indices in `found` of the nodes that are files of plain directories.
    files: FxHashMap<(OutlinePartKind, String), usize>,
}

impl<'p> TreeBuilder<'p> {
    fn new(built: &Built, sources: &'p SourceMap, renderer: &'p MessageRenderer<'p>) -> Self {
        let mut known = FxHashMap::default();
        let mut builder = Self {
            sources,
            renderer,
            checkouts: built.outline.checkouts.clone(),
            tree: BuildTree::default(),
            known: FxHashMap::default(),
            found: Vec::new(),
            files: FxHashMap::default(),
        };
        for (i, part) in built.outline.parts.iter().enumerate() {
            for writer in &part.writers {
                // Entries of a step that have no part of their own belong to the first part of the step.
                known.entry((Arc::as_ptr(writer), writer.name.clone())).or_insert(i);
                known.insert((Arc::as_ptr(writer), part.entry.clone()), i);
                if part.is_repeated || writer.locations == LocationKeeping::Lost {
                    let entries = writer.entries.iter().map(|entry| entry.name.clone());
                    known.extend(entries.map(|name| ((Arc::as_ptr(writer), name), i)));
                }
            }
            builder.tree.nodes.push(builder.node(part.clone()));
        }
        builder.known = known;
        builder
    }

    fn node(&self, part: OutlinePart) -> TreeNode {
        let location = self.location(part.at);
        TreeNode::new(part, location)
    }

    fn location(&self, span: Span) -> Option<PartLocation> {
        let outer = self.sources.outermost(span);
        let source = self.sources.get(outer.source)?;
        let file = file_name(outer.source, &source, &self.checkouts, self.renderer)?;
        let (line, column) = source.line_column(outer.start);
        Some(PartLocation { file, line, column })
    }

    /// Adds an object to the nodes of all steps that selected it.
    fn object(&mut self, resource: &Resource, deleted_by: Option<&Cause>) {
        let object = self.tree.objects.len();
        let name = deleted_by.map(|by| by.name().clone());
        self.tree.objects.push(TreeObject { id: resource.id().clone(), deleted_by: name });
        let Some(history) = &resource.history else { return };
        let maker = maker(history);
        if let Some(maker) = &maker {
            let node = self.node_of(maker, OutlinePartKind::Resource);
            node.objects.insert(object);
            node.made += 1;
        }
        // Internal steps have no location and select all objects.
        for visitor in history.selecting_steps().iter().filter(|visitor| !visitor.location.is_none()) {
            let node = self.node_of(&Cause::from_writer(visitor), OutlinePartKind::Patch);
            if node.part.kind == OutlinePartKind::Patch {
                node.objects.insert(object);
            }
        }
        if let Some(by) = deleted_by {
            let node = self.node_of(by, OutlinePartKind::Patch);
            node.objects.insert(object);
            node.deleted += 1;
        }
        let is_maker =
            |cause: &Cause| maker.as_ref().is_some_and(|maker| Arc::ptr_eq(maker.writer(), cause.writer()));
        let mut changed = |cause: &Cause| {
            if !is_maker(cause) {
                let node = self.node_of(cause, OutlinePartKind::Patch);
                node.objects.insert(object);
                node.altered.insert(object);
                node.changed += 1;
            }
        };
        let removed = history.removed().iter();
        let known = std::iter::once((None, history.root()));
        for (removed_by, known) in known.chain(removed.map(|removed| (Some(&removed.by), &removed.value))) {
            removed_by.into_iter().for_each(&mut changed);
            known.leaves().flat_map(changes).for_each(|write| changed(&write.by));
        }
    }

    /// Returns the node of a step. Creates one if the step is not in the outline. In this case, `role` is the kind of a
    /// file in a plain directory.
    fn node_of(&mut self, cause: &Cause, role: OutlinePartKind) -> &mut TreeNode {
        // An internal step is a single part, whichever entry caused it.
        let whole = Cause::from_writer(cause.writer());
        let cause = if whole.location().is_none() { &whole } else { cause };
        let key = (Arc::as_ptr(cause.writer()), cause.name().clone());
        let position = self.known.get(&key).copied();
        let position = position.unwrap_or_else(|| self.index_of_unlisted(cause, role));
        self.known.insert(key, position);
        match position.checked_sub(self.tree.nodes.len()) {
            None => &mut self.tree.nodes[position],
            Some(found) => &mut self.found[found].1,
        }
    }

    /// Returns the index of a node for a step that is not in the outline. It is after all nodes of the outline.
    fn index_of_unlisted(&mut self, cause: &Cause, role: OutlinePartKind) -> usize {
        let first = self.tree.nodes.len();
        let location = self.location(cause.location());
        let (kind, name) = match &location {
            Some(location) => (role, location.file.clone()),
            None => (OutlinePartKind::Transformer, cause.name().to_string()),
        };
        if let Some(position) = self.files.get(&(kind, name.clone())) {
            return *position;
        }
        let directory = location.as_ref().map_or(0, |_| self.directory_of(cause.location()));
        let mut part = OutlinePart::new(kind, &name, cause.location());
        part.depth = self.tree.nodes.get(directory).map_or(0, |node| node.part.depth + 1);
        part.entry = cause.name().clone();
        self.found.push((directory, TreeNode::new(part, location)));
        self.files.insert((kind, name), first + self.found.len() - 1);
        first + self.found.len() - 1
    }

    /// Returns the innermost directory of the outline that contains a source, or the target.
    fn directory_of(&self, at: Span) -> usize {
        let outer = self.sources.outermost(at);
        let Some(source) = self.sources.get(outer.source) else { return 0 };
        let is_inside = |directory: &str| match directory {
            "." => source.name().is_relative() && !source.name().starts_with(".."),
            directory => source.name().starts_with(directory),
        };
        let inside = self
            .tree
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.part.directory.is_some() && is_inside(&node.part.name));
        inside.max_by_key(|(i, node)| (node.part.name.len(), usize::MAX - i)).map_or(0, |(i, _)| i)
    }

    /// Returns the tree. Inserts the additional nodes after the parts of their directories, and adds the effects of
    /// parts to those of their parents.
    fn finish(self) -> BuildTree {
        let Self { mut tree, mut found, .. } = self;
        let last = |name: &str| LAST_STEPS.iter().position(|step| *step == name);
        // Several directories may end at the same index. The nodes of the innermost one come first.
        found.sort_by_key(|(_, node)| {
            (Reverse(node.part.depth), last(&node.part.name), node.part.name.clone())
        });
        let mut inserted: FxHashMap<usize, Vec<TreeNode>> = FxHashMap::default();
        for (directory, node) in found {
            if node.changed > 0 || !node.objects.is_empty() {
                inserted.entry(directory + tree.descendant_count(directory)).or_default().push(node);
            }
        }
        let mut nodes = Vec::with_capacity(tree.nodes.len());
        for (i, node) in std::mem::take(&mut tree.nodes).into_iter().enumerate() {
            nodes.push(node);
            nodes.extend(inserted.remove(&i).unwrap_or_default());
        }
        let mut tree = BuildTree { nodes, ..tree };
        for (parent, child) in tree.edges().into_iter().rev() {
            let TreeNode { objects, altered, made, deleted, changed, .. } = tree.nodes[child].clone();
            let parent = &mut tree.nodes[parent];
            parent.objects.extend(objects);
            parent.altered.extend(altered);
            parent.made += made;
            parent.deleted += deleted;
            parent.changed += changed;
        }
        tree
    }
}

/// Returns the step that created a resource, which is the first one that wrote its kind.
fn maker(history: &History) -> Option<Cause> {
    let first =
        |field| history.writes_at(&[field]).and_then(|writes| writes.last()).map(|write| write.by.clone());
    first("kind").or_else(|| first("apiVersion"))
}
