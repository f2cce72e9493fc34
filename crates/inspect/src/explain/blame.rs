//! The leaf values of built resources, with every write to them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::live_field::{LiveField, LiveOnlyField, LiveState};
use super::secret::{HIDDEN, SecretLocations, is_secret_pointer, mask_copies, without_copies};
use smp_merge::cause::{Cause, ValueHistory, Write};
use smp_overlay::overlay::{Built, OutlineCheckout};
use smp_overlay::resource::{ResId, Resource};
use smp_text::diagnostic::MessageRenderer;
use smp_text::path::with_step;
use smp_text::source::{Source, SourceId, SourceMap, Span};
use smp_text::yaml::{Node, Value, resolve_scalar_aliases};

/// A location in a file, as displayed to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedLocation {
    /// The path relative to the working directory.
    pub file: Arc<str>,
    /// The line number, starting at 1.
    pub line: usize,
    /// The column in characters, starting at 1.
    pub column: usize,
    /// The source range.
    pub span: Span,
}

/// A value and the step that wrote it.
#[derive(Debug, Clone)]
pub struct BlamedWrite {
    /// The value.
    pub value: Node,
    /// The location of the value; `None` if the value was computed.
    pub at: Option<BlamedLocation>,
    /// The step that wrote the value, such as `patches[0]`.
    pub by: SmolStr,
    /// The location of the entry that caused the write; `None` for internal steps of a build.
    pub caused_at: Option<BlamedLocation>,
}

/// A leaf of a manifest: a scalar, or an empty map or list.
#[derive(Debug, Clone)]
pub struct BlamedField {
    /// The JSON pointer to the leaf.
    pub pointer: String,
    /// The writes, latest first.
    pub writes: Vec<BlamedWrite>,
    /// The value in the cluster, if it was requested.
    pub live: Option<Box<LiveField>>,
}

/// A value that a step removed.
#[derive(Debug, Clone)]
pub struct BlamedRemoval {
    /// The JSON pointer to the former location.
    pub pointer: String,
    /// The last value, with the step that wrote it.
    pub last: BlamedWrite,
    /// The step that removed the value.
    pub by: SmolStr,
    /// The location of the entry that caused the removal; `None` for internal steps of a build.
    pub caused_at: Option<BlamedLocation>,
}

/// A resource with the origin of its values.
#[derive(Debug, Clone)]
pub struct ResourceBlame {
    /// The identity of the resource.
    pub id: ResId,
    /// The manifest; `None` if the resource was deleted.
    pub node: Option<Node>,
    /// The leaves, in the order of the manifest.
    pub fields: Vec<BlamedField>,
    /// The values that were removed.
    pub removed: Vec<BlamedRemoval>,
    /// The presence of the object in the cluster.
    pub live: LiveState,
    /// The values that only the live object has and that have a field manager.
    pub live_only: Vec<LiveOnlyField>,
}

/// The result of a build with the origin of its values.
#[derive(Debug, Clone, Default)]
pub struct Blame {
    /// The resources in output order, followed by those that were deleted during the build.
    pub resources: Vec<ResourceBlame>,
}

/// Returns the origin of all values of a build that recorded histories. `sources` contains the sources of the build,
/// and `renderer` renders paths.
#[must_use]
pub fn blame(built: &Built, sources: &SourceMap, renderer: &MessageRenderer<'_>) -> Blame {
    let blamer = Blamer::new(built, sources, renderer);
    Blame { resources: blamer.each(|node, resource| ResourceBlame { node: node.cloned(), ..resource }) }
}

/// Returns the origins of values one resource at a time, which needs less memory for large targets than [`blame`].
#[derive(Clone, Copy)]
pub struct Blamer<'b> {
    built: &'b Built,
    sources: &'b SourceMap,
    renderer: &'b MessageRenderer<'b>,
}

impl<'b> Blamer<'b> {
    /// Creates a blamer from a build that recorded histories; see [`blame`].
    #[must_use]
    pub fn new(built: &'b Built, sources: &'b SourceMap, renderer: &'b MessageRenderer<'b>) -> Self {
        Self { built, sources, renderer }
    }

    /// Calls `map` for each resource in output order, and then for the deleted ones. The manifest is passed separately
    /// and is not part of the blame. It is `None` for deleted resources.
    pub(super) fn each<T: Send>(&self, map: impl Fn(Option<&Node>, ResourceBlame) -> T + Sync) -> Vec<T> {
        let secrets = SecretLocations::from_build(self.built);
        let hidden = |mut blame: ResourceBlame| {
            hide_former(&mut blame, &secrets);
            blame
        };
        let present = self.built.resources.as_slice().par_iter();
        let reader = || BlameReader::new(self);
        let mapped =
            present.map_init(reader, |reader, one| map(Some(one.node()), hidden(reader.resource(one))));
        let mut all: Vec<T> = mapped.collect();
        let (reader, deleted) = (reader(), self.built.resources.deleted());
        all.extend(deleted.map(|(resource, by)| map(None, hidden(reader.deleted(resource, by)))));
        all
    }

    /// Returns the blame of a resource by its index in the output. Names and values that were copied from Secrets are
    /// masked. The manifest is not part of the blame.
    #[must_use]
    pub fn resource(&self, position: usize) -> Option<ResourceBlame> {
        let resource = self.built.resources.as_slice().get(position)?;
        let mut blame = BlameReader::new(self).resource(resource);
        hide_former(&mut blame, &SecretLocations::from_build(self.built));
        blame.mask_secret_values(self.sources);
        Some(blame)
    }

    /// Calls `map` for each resource like [`Self::each`], with masked names and values that were copied from Secrets.
    pub(super) fn each_shown<T: Send>(
        &self,
        map: impl Fn(Option<&Node>, ResourceBlame) -> T + Sync,
    ) -> Vec<T> {
        self.each(|node, mut resource| {
            resource.mask_secret_values(self.sources);
            map(node.map(|node| without_copies(node, self.sources)).as_deref(), resource)
        })
    }
}

/// Hides former values that came from a Secret: older and removed values of the Secret itself, and copies of them.
fn hide_former(resource: &mut ResourceBlame, secrets: &SecretLocations) {
    let is_secret = is_or_was_secret(resource);
    let hide = |write: &mut BlamedWrite, pointer: &str| {
        let at = write.at.as_ref().map(|at| at.span);
        if (is_secret && is_secret_pointer(pointer)) || secrets.may_be_copied(at, &write.by) {
            write.value = Node::string(HIDDEN);
        }
    };
    for field in &mut resource.fields {
        field.writes.iter_mut().skip(1).for_each(|write| hide(write, &field.pointer));
    }
    for removal in &mut resource.removed {
        hide(&mut removal.last, &removal.pointer);
    }
}

impl Blame {
    /// Masks the names and values that were copied from Secrets. After that, the resources can neither be found by
    /// these names nor be compared with live objects.
    pub fn mask_secret_values(&mut self, sources: &SourceMap) {
        self.resources.iter_mut().for_each(|resource| resource.mask_secret_values(sources));
    }
}

impl ResourceBlame {
    fn mask_secret_values(&mut self, sources: &SourceMap) {
        if !sources.has_hidden_values() {
            return;
        }
        if let Some(node) = &mut self.node {
            *node = without_copies(node, sources).into_owned();
        }
        let is_secret = is_or_was_secret(self);
        for name in [&mut self.id.name, &mut self.id.namespace] {
            *name = sources.without_hidden_values(name).into();
        }
        for field in self.fields.iter_mut().filter(|field| !is_secret || !is_secret_pointer(&field.pointer)) {
            let live = field.live.as_mut().and_then(|live| live.value.as_mut());
            let values = field.writes.iter_mut().map(|write| &mut write.value).chain(live);
            values.for_each(|value| mask_copies(value, sources));
        }
        let removed = self.removed.iter_mut().map(|removal| &mut removal.last.value);
        let live_only = self.live_only.iter_mut().map(|field| &mut field.value);
        removed.chain(live_only).for_each(|value| mask_copies(value, sources));
    }
}

fn is_or_was_secret(resource: &ResourceBlame) -> bool {
    let gvk = &resource.id.gvk;
    let is_secret = |write: &BlamedWrite| write.value.scalar_text().is_some_and(|kind| kind == "Secret");
    let kind = || resource.fields.iter().find(|field| field.pointer == "/kind");
    (gvk.group.is_empty() && gvk.kind == "Secret")
        || kind().is_some_and(|kind| kind.writes.iter().skip(1).any(is_secret))
}

/// Returns the displayed path of a source. The path in a fetched repository starts with the address of the repository.
pub(super) fn file_name(
    id: SourceId,
    source: &Source,
    checkouts: &[OutlineCheckout],
    renderer: &MessageRenderer<'_>,
) -> Option<String> {
    let address = checkouts.iter().find_map(|checkout| checkout.url_of(source.name()));
    address.map(|address| renderer.clean_text(&address)).or_else(|| renderer.file(id))
}

struct BlameReader<'t> {
    checkouts: &'t [OutlineCheckout],
    sources: &'t SourceMap,
    renderer: &'t MessageRenderer<'t>,
    /// Sources and their paths. They are cached because most values are in only a few sources.
    known: RefCell<KnownTexts>,
    /// The aliases of sources, found on first use.
    aliases: RefCell<FxHashMap<SourceId, FxHashMap<usize, Range<usize>>>>,
}

type KnownTexts = FxHashMap<SourceId, Option<KnownText>>;

/// A source with locations of values.
struct KnownText {
    source: Arc<Source>,
    /// The displayed path; `None` if the source is not a file.
    file: Option<Arc<str>>,
}

impl<'t> BlameReader<'t> {
    fn new(blamer: &Blamer<'t>) -> Self {
        let Blamer { built, sources, renderer } = *blamer;
        let (known, aliases) = (RefCell::default(), RefCell::default());
        Self { checkouts: &built.outline.checkouts, sources, renderer, known, aliases }
    }

    fn resource(&self, resource: &Resource) -> ResourceBlame {
        let (mut fields, mut removed) = (Vec::new(), Vec::new());
        if let Some(history) = &resource.history {
            self.fields(resource.node(), Some(history.root()), &mut String::new(), &mut fields);
            for gone in history.removed() {
                self.removals(&gone.value, &gone.by, &mut gone.pointer.clone(), &mut removed);
            }
        }
        let (id, unbuilt) = (resource.id().clone(), Vec::new());
        ResourceBlame { id, node: None, fields, removed, live: LiveState::Unknown, live_only: unbuilt }
    }

    fn deleted(&self, resource: &Resource, by: &Cause) -> ResourceBlame {
        let mut removed = Vec::new();
        if let Some(history) = &resource.history {
            self.removals(history.root(), by, &mut String::new(), &mut removed);
        }
        let (id, fields, unbuilt) = (resource.id().clone(), Vec::new(), Vec::new());
        ResourceBlame { id, node: None, fields, removed, live: LiveState::Unknown, live_only: unbuilt }
    }

    fn fields(
        &self,
        node: &Node,
        known: Option<&ValueHistory>,
        pointer: &mut String,
        out: &mut Vec<BlamedField>,
    ) {
        match &node.value {
            Value::Map(map) if !map.is_empty() => {
                for (i, (name, value)) in map.iter().enumerate() {
                    let known = known.and_then(|known| field(known, i, name));
                    with_step(pointer, name, |pointer| self.fields(value, known, pointer, out));
                }
            }
            Value::List(list) if !list.is_empty() => {
                for (i, entry) in list.iter().enumerate() {
                    let known = known.and_then(|known| match known {
                        ValueHistory::List(entries) => entries.get(i).map(|(_, value)| value),
                        _ => None,
                    });
                    with_step(pointer, &i.to_string(), |pointer| self.fields(entry, known, pointer, out));
                }
            }
            _ => {
                let writes = match known {
                    Some(ValueHistory::Leaf(writes)) => writes.as_slice(),
                    _ => &[],
                };
                // `node` replaces the value of the current write, because its type may become known only when it is
                // printed.
                let values = std::iter::once(node).chain(writes.iter().skip(1).map(|write| &write.value));
                let writes =
                    writes.iter().zip(values).map(|(write, value)| self.write(write, value)).collect();
                out.push(BlamedField { pointer: pointer.clone(), writes, live: None });
            }
        }
    }

    fn removals(&self, known: &ValueHistory, by: &Cause, pointer: &mut String, out: &mut Vec<BlamedRemoval>) {
        match known {
            ValueHistory::Map(fields) => {
                for (name, value) in fields {
                    with_step(pointer, name, |pointer| self.removals(value, by, pointer, out));
                }
            }
            ValueHistory::List(entries) => {
                for (i, (_, value)) in entries.iter().enumerate() {
                    with_step(pointer, &i.to_string(), |pointer| self.removals(value, by, pointer, out));
                }
            }
            ValueHistory::Leaf(writes) => out.extend(writes.first().map(|last| BlamedRemoval {
                pointer: pointer.clone(),
                last: self.write(last, &last.value),
                by: by.name().clone(),
                caused_at: self.location(by.location()),
            })),
        }
    }

    fn write(&self, write: &Write, value: &Node) -> BlamedWrite {
        BlamedWrite {
            value: value.clone(),
            at: self.location(write.at),
            by: write.by.name().clone(),
            caused_at: self.location(write.by.location()),
        }
    }

    fn location(&self, span: Span) -> Option<BlamedLocation> {
        let (location, first) = self.location_of(span)?;
        // For an alias, the location of its anchor is reported.
        let anchored = (first == Some(b'*')).then(|| self.anchored(span)).flatten();
        let anchored = anchored.and_then(|span| self.location_of(span));
        Some(anchored.map_or(location, |(location, _)| location))
    }

    /// Returns the location of the scalar to which an alias refers.
    fn anchored(&self, alias: Span) -> Option<Span> {
        let text = self.sources.get(alias.source)?;
        let mut known = self.aliases.borrow_mut();
        let aliases = known.entry(alias.source).or_insert_with(|| resolve_scalar_aliases(text.text()));
        let scalar = aliases.get(&(alias.start as usize))?;
        Some(Span::new(alias.source, scalar.start, scalar.end))
    }

    /// Returns a location and the byte at it.
    fn location_of(&self, span: Span) -> Option<(BlamedLocation, Option<u8>)> {
        if span.is_none() {
            return None;
        }
        let mut known = self.known.borrow_mut();
        let mut at = span;
        let mut text = self.text(&mut known, at)?;
        if text.source.is_embedded() {
            at = self.sources.outermost(span);
            text = self.text(&mut known, at)?;
        }
        let (line, column) = text.source.line_column(at.start);
        let first = text.source.text().as_bytes().get(at.start as usize).copied();
        Some((BlamedLocation { file: Arc::clone(text.file.as_ref()?), line, column, span }, first))
    }

    fn text<'k>(&self, known: &'k mut KnownTexts, span: Span) -> Option<&'k KnownText> {
        let text = known.entry(span.source).or_insert_with(|| {
            let source = self.sources.get(span.source)?;
            let is_named = !source.is_printed() && !source.is_embedded();
            let file = is_named.then(|| file_name(span.source, &source, self.checkouts, self.renderer));
            Some(KnownText { source, file: file.flatten().map(Arc::from) })
        });
        text.as_ref()
    }
}

/// Returns the history of a field. In most cases the field has the same index as in the manifest.
fn field<'k>(known: &'k ValueHistory, position: usize, name: &str) -> Option<&'k ValueHistory> {
    let ValueHistory::Map(fields) = known else { return None };
    let here = fields.get(position).filter(|(known, _)| known == name);
    here.or_else(|| fields.iter().find(|(known, _)| known == name)).map(|(_, value)| value)
}
