//! What a target is made of, with what each part made and changed.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::blame::file_name;
use smp_merge::cause::{Cause, History, PlaceKeeping, Writer, changes};
use smp_overlay::overlay::{Built, OutlineCheckout, OutlinePart, OutlinePartKind};
use smp_overlay::resource::{ResId, Resource};
use smp_text::diagnostic::{MessageRenderer, counted};
use smp_text::source::{SourceMap, Span};

/// A place where a part is asked for, as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartPlace {
    /// The path, as seen from the working directory.
    pub file: String,
    /// From 1, as the column, which counts characters.
    pub line: usize,
    /// From 1.
    pub column: usize,
}

/// An object that a build made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeObject {
    /// What it is at the end.
    pub id: ResId,
    /// What deleted it, if it is no more.
    pub deleted_by: Option<SmolStr>,
}

/// One part of a target, and what it did.
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// What it is, and what it is called.
    pub part: OutlinePart,
    /// Where it is asked for; none of the target.
    pub place: Option<PartPlace>,
    /// The objects that it made, chose or changed, or that the parts in it did, as positions in [`BuildTree::objects`].
    pub objects: BTreeSet<usize>,
    /// Those of them that it, or a part in it, changed.
    pub altered: BTreeSet<usize>,
    /// How many of them it made.
    pub made: usize,
    /// How many of them it deleted.
    pub deleted: usize,
    /// How many values of them it set, or took away, after something else had made them.
    pub changed: usize,
}

impl TreeNode {
    /// A part that did nothing yet.
    fn of(part: OutlinePart, place: Option<PartPlace>) -> Self {
        let (objects, altered) = (BTreeSet::new(), BTreeSet::new());
        Self { part, place, objects, altered, made: 0, deleted: 0, changed: 0 }
    }

    /// `adds 1 object, deletes 1 object, changes 3 values of 2 objects`
    fn effects(&self) -> String {
        let objects =
            |what: &str, number: usize| (number > 0).then(|| format!("{what} {}", counted(number, "object")));
        let changed = (self.changed > 0).then(|| {
            format!("changes {} of {}", counted(self.changed, "value"), counted(self.altered.len(), "object"))
        });
        let told = [objects("adds", self.made), objects("deletes", self.deleted), changed];
        let told: Vec<String> = told.into_iter().flatten().collect();
        if told.is_empty() { "changes nothing".into() } else { told.join(", ") }
    }
}

/// A target in parts.
#[derive(Debug, Clone, Default)]
pub struct BuildTree {
    /// The objects in the order of printing; behind them those that were deleted on the way.
    pub objects: Vec<TreeObject>,
    /// The target first, each part before those in it.
    pub nodes: Vec<TreeNode>,
}

impl BuildTree {
    /// How many parts the node at a position has in it.
    #[must_use]
    pub fn parts_within(&self, position: usize) -> usize {
        let Some(node) = self.nodes.get(position) else { return 0 };
        self.nodes[position + 1..].iter().take_while(|other| other.part.depth > node.part.depth).count()
    }

    /// Each node but the first, with the one that it is in before it, in the order of nodes.
    #[must_use]
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let mut way: Vec<usize> = Vec::new();
        let mut edges = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            way.truncate(node.part.depth);
            edges.extend(way.last().map(|parent| (*parent, i)));
            way.push(i);
        }
        edges
    }

    /// How many objects the whole target has.
    #[must_use]
    pub fn sum(&self) -> usize {
        self.objects.iter().filter(|object| object.deleted_by.is_none()).count()
    }

    /// What a node made and changed, in some words.
    pub(super) fn told(&self, node: &TreeNode) -> String {
        let objects = || counted(node.objects.len(), "object");
        match node.part.kind {
            OutlinePartKind::Target => counted(self.sum(), "object"),
            OutlinePartKind::Base if node.part.is_repeated => {
                format!("{} (see above)", counted(node.made, "object"))
            }
            OutlinePartKind::Base if node.made > 0 || node.changed == 0 => counted(node.made, "object"),
            OutlinePartKind::Base | OutlinePartKind::Component | OutlinePartKind::Function => {
                let told = node.effects();
                if node.part.is_repeated { told + " (see above)" } else { told }
            }
            OutlinePartKind::Resource if node.objects.is_empty() => "no objects".into(),
            OutlinePartKind::Patch if node.objects.is_empty() => "hits nothing".into(),
            OutlinePartKind::Transformer if node.changed == 0 => "changes nothing".into(),
            OutlinePartKind::Transformer => format!("{} of {}", counted(node.changed, "value"), objects()),
            OutlinePartKind::Resource
            | OutlinePartKind::Patch
            | OutlinePartKind::Generator
            | OutlinePartKind::Chart => {
                let values = (node.changed > 0).then(|| format!(": {}", counted(node.changed, "value")));
                self.named(node) + &values.unwrap_or_default()
            }
            OutlinePartKind::Validator
            | OutlinePartKind::Configuration
            | OutlinePartKind::Crd
            | OutlinePartKind::OpenApi
            | OutlinePartKind::Var => String::new(),
        }
    }

    /// The first objects of a node, and how many more there are.
    fn named(&self, node: &TreeNode) -> String {
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

/// Says what a target is made of that was built with histories; `renderer` says how paths are seen.
#[must_use]
pub fn build_tree(built: &Built, sources: &SourceMap, renderer: &MessageRenderer<'_>) -> BuildTree {
    let mut planter = TreePlanter::new(built, sources, renderer);
    for resource in &built.resources {
        planter.object(resource, None);
    }
    for (resource, by) in built.resources.deleted() {
        planter.object(resource, Some(by));
    }
    planter.finish()
}

/// How many objects of a part are told by name.
const NAMED: usize = 4;

/// What a node is called: its kind, its name, what it sets, and which entry it is.
pub(super) fn title(part: &OutlinePart) -> String {
    let mut title = format!("{} {}", part.kind.word(), part.name);
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

/// What a build does of itself at the end, in this order.
const LAST_STEPS: [&str; 5] = ["nameHash", "nameReference", "vars", "buildMetadata", "cleanup"];

/// A step, and which of its entries.
type StepKey = (*const Writer, SmolStr);

struct TreePlanter<'p> {
    sources: &'p SourceMap,
    renderer: &'p MessageRenderer<'p>,
    checkouts: Vec<OutlineCheckout>,
    tree: BuildTree,
    /// The node of each step.
    known: FxHashMap<StepKey, usize>,
    /// Nodes of steps that no outline has, each with the directory that it is in: they come behind the rest.
    found: Vec<(usize, TreeNode)>,
    /// Those among them that are files of plain directories.
    files: FxHashMap<(OutlinePartKind, String), usize>,
}

impl<'p> TreePlanter<'p> {
    fn new(built: &Built, sources: &'p SourceMap, renderer: &'p MessageRenderer<'p>) -> Self {
        let mut known = FxHashMap::default();
        let mut planter = Self {
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
                // Of a step with several entries, those that are none of them go to the first.
                known.entry((Arc::as_ptr(writer), writer.name.clone())).or_insert(i);
                known.insert((Arc::as_ptr(writer), part.entry.clone()), i);
                if part.is_repeated || writer.places == PlaceKeeping::Lost {
                    let entries = writer.entries.iter().map(|entry| entry.name.clone());
                    known.extend(entries.map(|name| ((Arc::as_ptr(writer), name), i)));
                }
            }
            planter.tree.nodes.push(planter.node(part.clone()));
        }
        planter.known = known;
        planter
    }

    fn node(&self, part: OutlinePart) -> TreeNode {
        let place = self.place(part.at);
        TreeNode::of(part, place)
    }

    fn place(&self, span: Span) -> Option<PartPlace> {
        let outer = self.sources.outermost(span);
        let source = self.sources.get(outer.source)?;
        let file = file_name(outer.source, &source, &self.checkouts, self.renderer)?;
        let (line, column) = source.line_column(outer.start);
        Some(PartPlace { file, line, column })
    }

    /// Adds an object to the nodes of all steps that were at it.
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
        // What a build does of itself has no place, and looks at all objects.
        for visitor in history.visitors().iter().filter(|visitor| !visitor.at.is_none()) {
            let node = self.node_of(&Cause::of(visitor), OutlinePartKind::Patch);
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

    /// The node of a step; of one that no outline has, one that is made for it. `role` is what a file of a plain
    /// directory is that did that.
    fn node_of(&mut self, cause: &Cause, role: OutlinePartKind) -> &mut TreeNode {
        // What a build does of itself is one part, whatever it does that for.
        let whole = Cause::of(cause.writer());
        let cause = if whole.at().is_none() { &whole } else { cause };
        let key = (Arc::as_ptr(cause.writer()), cause.name().clone());
        let position = self.known.get(&key).copied();
        let position = position.unwrap_or_else(|| self.found(cause, role));
        self.known.insert(key, position);
        match position.checked_sub(self.tree.nodes.len()) {
            None => &mut self.tree.nodes[position],
            Some(found) => &mut self.found[found].1,
        }
    }

    /// The position of a node for a step that no outline has: behind those that one has.
    fn found(&mut self, cause: &Cause, role: OutlinePartKind) -> usize {
        let first = self.tree.nodes.len();
        let place = self.place(cause.at());
        let (kind, name) = match &place {
            Some(place) => (role, place.file.clone()),
            None => (OutlinePartKind::Transformer, cause.name().to_string()),
        };
        if let Some(position) = self.files.get(&(kind, name.clone())) {
            return *position;
        }
        let directory = place.as_ref().map_or(0, |_| self.directory_of(cause.at()));
        let mut part = OutlinePart::new(kind, &name, cause.at());
        part.depth = self.tree.nodes.get(directory).map_or(0, |node| node.part.depth + 1);
        part.entry = cause.name().clone();
        self.found.push((directory, TreeNode::of(part, place)));
        self.files.insert((kind, name), first + self.found.len() - 1);
        first + self.found.len() - 1
    }

    /// The innermost directory of the outline that a text is in; the target where none is.
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

    /// The tree, with what was found behind the parts of its directories, and the objects of parts in those of the
    /// directories that they are in.
    fn finish(self) -> BuildTree {
        let Self { mut tree, mut found, .. } = self;
        let last = |name: &str| LAST_STEPS.iter().position(|step| *step == name);
        // Several directories may end at one place: what is in the innermost comes first.
        found.sort_by_key(|(_, node)| {
            (Reverse(node.part.depth), last(&node.part.name), node.part.name.clone())
        });
        let mut inserted: FxHashMap<usize, Vec<TreeNode>> = FxHashMap::default();
        for (directory, node) in found {
            if node.changed > 0 || !node.objects.is_empty() {
                inserted.entry(directory + tree.parts_within(directory)).or_default().push(node);
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

/// What made a resource: the first that wrote its kind.
fn maker(history: &History) -> Option<Cause> {
    let first = |field| history.leaf(&[field]).and_then(|writes| writes.last()).map(|write| write.by.clone());
    first("kind").or_else(|| first("apiVersion"))
}
