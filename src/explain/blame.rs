//! The leaves of built resources with what wrote them.

use std::cell::RefCell;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::live_field::{LiveField, LiveState, UnbuiltField};
use crate::cause::{Cause, KnownValue, Write};
use crate::diagnostic::MessageRenderer;
use crate::overlay::{Built, OutlineCheckout};
use crate::path::below;
use crate::resource::{ResId, Resource};
use crate::source::{Source, SourceId, SourceMap, Span};
use crate::yaml::{Node, Value};

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
    pub live: Option<LiveField>,
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
    let checkouts = &built.outline.checkouts;
    let teller = || BlameTeller { checkouts, sources, renderer, known: RefCell::default() };
    let present = built.resources.as_slice().par_iter();
    let mut resources: Vec<_> =
        present.map_init(teller, |teller, resource| teller.resource(resource)).collect();
    let teller = teller();
    resources.extend(built.resources.deleted().map(|(resource, by)| teller.deleted(resource, by)));
    Blame { resources }
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
    known: RefCell<FxHashMap<SourceId, Option<KnownText>>>,
}

/// A text, and the path that it is seen by.
type KnownText = (Arc<Source>, Arc<str>);

impl BlameTeller<'_> {
    fn resource(&self, resource: &Resource) -> ResourceBlame {
        let (mut fields, mut removed) = (Vec::new(), Vec::new());
        if let Some(history) = &resource.history {
            self.fields(resource.node(), Some(history.root()), &mut String::new(), &mut fields);
            for gone in history.removed() {
                self.removals(&gone.value, &gone.by, &mut gone.pointer.clone(), &mut removed);
            }
        }
        let (id, node) = (resource.id().clone(), Some(resource.node().clone()));
        ResourceBlame { id, node, fields, removed, live: LiveState::Unasked, unbuilt: Vec::new() }
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
                let mut writes = match known {
                    Some(KnownValue::Leaf(writes)) => writes.iter().map(|write| self.write(write)).collect(),
                    _ => Vec::new(),
                };
                if let Some(present) = writes.first_mut() {
                    // Its type may be decided only when it is printed.
                    present.value = node.clone();
                }
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
                last: self.write(last),
                by: by.name().clone(),
                asked_at: self.place(by.at()),
            })),
        }
    }

    fn write(&self, write: &Write) -> BlamedWrite {
        BlamedWrite {
            value: write.value.clone(),
            at: self.place(write.at),
            by: write.by.name().clone(),
            asked_at: self.place(write.by.at()),
        }
    }

    fn place(&self, span: Span) -> Option<BlamedPlace> {
        let outer = self.sources.outermost(span);
        let mut known = self.known.borrow_mut();
        let text = known.entry(outer.source).or_insert_with(|| {
            let source = self.sources.get(outer.source).filter(|source| !source.is_printed())?;
            let file = file_name(outer.source, &source, self.checkouts, self.renderer)?;
            Some((source, file.into()))
        });
        let (source, file) = text.as_ref()?;
        let (line, column) = source.line_column(outer.start);
        Some(BlamedPlace { file: Arc::clone(file), line, column, span })
    }
}

/// What is known of a field, which mostly stands where it stood.
fn field<'k>(known: &'k KnownValue, position: usize, name: &str) -> Option<&'k KnownValue> {
    let KnownValue::Map(fields) = known else { return None };
    let here = fields.get(position).filter(|(known, _)| known == name);
    here.or_else(|| fields.iter().find(|(known, _)| known == name)).map(|(_, value)| value)
}
