//! The leaves of built resources with what wrote them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::live_field::{LiveField, LiveState, UnbuiltField};
use super::secret::{HIDDEN, SecretPlaces, is_held};
use smp_merge::cause::{Cause, KnownValue, Write};
use smp_overlay::overlay::{Built, OutlineCheckout};
use smp_overlay::resource::{ResId, Resource};
use smp_text::diagnostic::MessageRenderer;
use smp_text::path::below;
use smp_text::source::{Source, SourceId, SourceMap, Span};
use smp_text::yaml::{Node, Value, aliased_scalars};

/// A place in a file, as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedPlace {
    /// The path, as seen from the working directory.
    pub file: Arc<str>,
    /// From 1, as the column, which counts characters.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// The place itself.
    pub span: Span,
}

/// A value that was written at some time.
#[derive(Debug, Clone)]
pub struct BlamedWrite {
    /// The value.
    pub value: Node,
    /// Where it stands; none for what was computed.
    pub at: Option<BlamedPlace>,
    /// What wrote it, such as `patches[0]`.
    pub by: SmolStr,
    /// The place in the file that asked for it; none for what a build does of itself.
    pub asked_at: Option<BlamedPlace>,
}

/// A value at the end of a path: a scalar, or a map or list with nothing in it.
#[derive(Debug, Clone)]
pub struct BlamedField {
    /// The JSON pointer to it.
    pub pointer: String,
    /// What wrote it, the present value first.
    pub writes: Vec<BlamedWrite>,
    /// What a cluster has there, if that was asked.
    pub live: Option<Box<LiveField>>,
}

/// A value that is no more.
#[derive(Debug, Clone)]
pub struct BlamedRemoval {
    /// The JSON pointer to where it was.
    pub pointer: String,
    /// The last value, and what wrote it.
    pub last: BlamedWrite,
    /// What removed it.
    pub by: SmolStr,
    /// The place in the file that asked for it; none for what a build does of itself.
    pub asked_at: Option<BlamedPlace>,
}

/// A resource with what wrote its values.
#[derive(Debug, Clone)]
pub struct ResourceBlame {
    /// What it is.
    pub id: ResId,
    /// Its manifest; nothing of a resource that was deleted.
    pub node: Option<Node>,
    /// Its values, in the order of the manifest.
    pub fields: Vec<BlamedField>,
    /// The values that it has no more.
    pub removed: Vec<BlamedRemoval>,
    /// Whether a cluster has it.
    pub live: LiveState,
    /// The values that only the live object has, and somebody manages.
    pub unbuilt: Vec<UnbuiltField>,
}

/// What was built, with what wrote it.
#[derive(Debug, Clone, Default)]
pub struct Blame {
    /// The resources in the order of printing; behind them those that were deleted on the way.
    pub resources: Vec<ResourceBlame>,
}

/// Says what wrote the values of what was built with histories, whose texts are in `sources`; `renderer` says how paths
/// are seen.
#[must_use]
pub fn blame(built: &Built, sources: &SourceMap, renderer: &MessageRenderer<'_>) -> Blame {
    let blamer = Blamer::new(built, sources, renderer);
    Blame { resources: blamer.each(|node, resource| ResourceBlame { node: node.cloned(), ..resource }) }
}

/// Says the same resource by resource: what is told of all those of a large target would take a lot of memory at once.
#[derive(Clone, Copy)]
pub struct Blamer<'b> {
    built: &'b Built,
    sources: &'b SourceMap,
    renderer: &'b MessageRenderer<'b>,
}

impl<'b> Blamer<'b> {
    /// Goes by the histories of what was built; see [`blame`].
    #[must_use]
    pub fn new(built: &'b Built, sources: &'b SourceMap, renderer: &'b MessageRenderer<'b>) -> Self {
        Self { built, sources, renderer }
    }

    /// What is made of each resource, in the order of printing; behind them of those that were deleted on the way. The
    /// manifests, of which those have none, stand beside what is told of them.
    pub(super) fn each<T: Send>(&self, tell: impl Fn(Option<&Node>, ResourceBlame) -> T + Sync) -> Vec<T> {
        let secrets = SecretPlaces::of(self.built);
        let hidden = |mut told: ResourceBlame| {
            hide_former(&mut told, &secrets);
            told
        };
        let present = self.built.resources.as_slice().par_iter();
        let teller = || BlameTeller::new(self);
        let told =
            present.map_init(teller, |teller, one| tell(Some(one.node()), hidden(teller.resource(one))));
        let mut told: Vec<T> = told.collect();
        let (teller, deleted) = (teller(), self.built.resources.deleted());
        told.extend(deleted.map(|(resource, by)| tell(None, hidden(teller.deleted(resource, by)))));
        told
    }
}

/// Hides what is not in what is built and comes of a Secret: its own older values and those that were removed, and what
/// was copied from them.
fn hide_former(resource: &mut ResourceBlame, secrets: &SecretPlaces) {
    let is_secret = is_or_was_secret(resource);
    let hide = |write: &mut BlamedWrite, pointer: &str| {
        let at = write.at.as_ref().map(|at| at.span);
        if (is_secret && is_held(pointer)) || secrets.may_be_copied(at, &write.by) {
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

fn is_or_was_secret(resource: &ResourceBlame) -> bool {
    let gvk = &resource.id.gvk;
    let is_secret = |write: &BlamedWrite| write.value.scalar_text().is_some_and(|kind| kind == "Secret");
    let kind = || resource.fields.iter().find(|field| field.pointer == "/kind");
    (gvk.group.is_empty() && gvk.kind == "Secret")
        || kind().is_some_and(|kind| kind.writes.iter().skip(1).any(is_secret))
}

/// What a text is called; one of a fetched repository by where the repository is.
pub(super) fn file_name(
    id: SourceId,
    source: &Source,
    checkouts: &[OutlineCheckout],
    renderer: &MessageRenderer<'_>,
) -> Option<String> {
    let address = checkouts.iter().find_map(|checkout| checkout.address_of(source.name()));
    address.map(|address| renderer.shown(&address)).or_else(|| renderer.file(id))
}

struct BlameTeller<'t> {
    checkouts: &'t [OutlineCheckout],
    sources: &'t SourceMap,
    renderer: &'t MessageRenderer<'t>,
    /// Texts that were asked for, with their paths: nearly all values are in few of them.
    known: RefCell<KnownTexts>,
    /// The aliases of texts that values are found at.
    aliases: RefCell<FxHashMap<SourceId, FxHashMap<usize, Range<usize>>>>,
}

type KnownTexts = FxHashMap<SourceId, Option<KnownText>>;

/// A text that places are in.
struct KnownText {
    source: Arc<Source>,
    /// The path that it is seen by; none for what no file has.
    file: Option<Arc<str>>,
}

impl<'t> BlameTeller<'t> {
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
        ResourceBlame { id, node: None, fields, removed, live: LiveState::Unasked, unbuilt }
    }

    fn deleted(&self, resource: &Resource, by: &Cause) -> ResourceBlame {
        let mut removed = Vec::new();
        if let Some(history) = &resource.history {
            self.removals(history.root(), by, &mut String::new(), &mut removed);
        }
        let (id, fields, unbuilt) = (resource.id().clone(), Vec::new(), Vec::new());
        ResourceBlame { id, node: None, fields, removed, live: LiveState::Unasked, unbuilt }
    }

    fn fields(
        &self,
        node: &Node,
        known: Option<&KnownValue>,
        pointer: &mut String,
        out: &mut Vec<BlamedField>,
    ) {
        match &node.value {
            Value::Map(map) if !map.is_empty() => {
                for (i, (name, value)) in map.iter().enumerate() {
                    let known = known.and_then(|known| field(known, i, name));
                    below(pointer, name, |pointer| self.fields(value, known, pointer, out));
                }
            }
            Value::List(list) if !list.is_empty() => {
                for (i, entry) in list.iter().enumerate() {
                    let known = known.and_then(|known| match known {
                        KnownValue::List(entries) => entries.get(i).map(|(_, value)| value),
                        _ => None,
                    });
                    below(pointer, &i.to_string(), |pointer| self.fields(entry, known, pointer, out));
                }
            }
            _ => {
                let writes = match known {
                    Some(KnownValue::Leaf(writes)) => writes.as_slice(),
                    _ => &[],
                };
                // The type of the present value may be decided only when it is printed.
                let values = std::iter::once(node).chain(writes.iter().skip(1).map(|write| &write.value));
                let writes =
                    writes.iter().zip(values).map(|(write, value)| self.write(write, value)).collect();
                out.push(BlamedField { pointer: pointer.clone(), writes, live: None });
            }
        }
    }

    fn removals(&self, known: &KnownValue, by: &Cause, pointer: &mut String, out: &mut Vec<BlamedRemoval>) {
        match known {
            KnownValue::Map(fields) => {
                for (name, value) in fields {
                    below(pointer, name, |pointer| self.removals(value, by, pointer, out));
                }
            }
            KnownValue::List(entries) => {
                for (i, (_, value)) in entries.iter().enumerate() {
                    below(pointer, &i.to_string(), |pointer| self.removals(value, by, pointer, out));
                }
            }
            KnownValue::Leaf(writes) => out.extend(writes.first().map(|last| BlamedRemoval {
                pointer: pointer.clone(),
                last: self.write(last, &last.value),
                by: by.name().clone(),
                asked_at: self.place(by.at()),
            })),
        }
    }

    fn write(&self, write: &Write, value: &Node) -> BlamedWrite {
        BlamedWrite {
            value: value.clone(),
            at: self.place(write.at),
            by: write.by.name().clone(),
            asked_at: self.place(write.by.at()),
        }
    }

    fn place(&self, span: Span) -> Option<BlamedPlace> {
        let (place, first) = self.place_of(span)?;
        // At an alias, what stands at its anchor decides.
        let anchored = (first == Some(b'*')).then(|| self.anchored(span)).flatten();
        let anchored = anchored.and_then(|span| self.place_of(span));
        Some(anchored.map_or(place, |(place, _)| place))
    }

    /// Where the scalar stands that an alias is for.
    fn anchored(&self, alias: Span) -> Option<Span> {
        let text = self.sources.get(alias.source)?;
        let mut known = self.aliases.borrow_mut();
        let aliases = known.entry(alias.source).or_insert_with(|| aliased_scalars(text.text()));
        let scalar = aliases.get(&(alias.start as usize))?;
        Some(Span::new(alias.source, scalar.start, scalar.end))
    }

    /// A place, and the byte that stands there.
    fn place_of(&self, span: Span) -> Option<(BlamedPlace, Option<u8>)> {
        if span.is_none() {
            return None;
        }
        let mut known = self.known.borrow_mut();
        let mut at = span;
        let mut text = self.text(&mut known, at)?;
        if text.source.is_within() {
            at = self.sources.outermost(span);
            text = self.text(&mut known, at)?;
        }
        let (line, column) = text.source.line_column(at.start);
        let first = text.source.text().as_bytes().get(at.start as usize).copied();
        Some((BlamedPlace { file: Arc::clone(text.file.as_ref()?), line, column, span }, first))
    }

    fn text<'k>(&self, known: &'k mut KnownTexts, span: Span) -> Option<&'k KnownText> {
        let text = known.entry(span.source).or_insert_with(|| {
            let source = self.sources.get(span.source)?;
            let is_named = !source.is_printed() && !source.is_within();
            let file = is_named.then(|| file_name(span.source, &source, self.checkouts, self.renderer));
            Some(KnownText { source, file: file.flatten().map(Arc::from) })
        });
        text.as_ref()
    }
}

/// What is known of a field, which mostly stands where it stood.
fn field<'k>(known: &'k KnownValue, position: usize, name: &str) -> Option<&'k KnownValue> {
    let KnownValue::Map(fields) = known else { return None };
    let here = fields.get(position).filter(|(known, _)| known == name);
    here.or_else(|| fields.iter().find(|(known, _)| known == name)).map(|(_, value)| value)
}
