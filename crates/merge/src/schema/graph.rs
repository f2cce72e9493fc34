//! The compact type graph: one flat buffer that is read in place.
//!
//! Embedded tables, cache entries and graphs that are built in memory have the same format. This module owns the layout
//! and the reading of the buffer; [`super::write`] writes it. Opening only checks that the sections are within the
//! buffer, so its cost does not depend on the size of the graph. Each read checks its own bounds: a corrupt buffer can
//! lead to wrong results but never to a panic. A stored graph ends with a checksum, which is verified when the graph is
//! opened. A test verifies the checksums of the embedded tables.
//!
//! Layout: the magic bytes with the version, the length of the buffer, then the offset and count of each section. All
//! numbers are little-endian `u32`. A text is referenced by its index in the section of text offsets (0 is the empty
//! text), a type by its index in the section of types.

use std::borrow::Cow;
use std::cmp::Ordering;

use sha2::{Digest as _, Sha256};

use super::Gvk;
use super::directives::{ListType, MapType, PatchStrategy, Scope, TypeKind};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The first bytes of all layout versions.
pub(super) const FORMAT: &[u8] = b"smpgrph";
/// The first bytes of this layout version. The last byte is the version.
pub const MAGIC: &[u8; 8] = b"smpgrph\x03";
/// The length in bytes of the SHA-256 checksum at the end of a stored buffer.
const CHECKSUM: usize = 32;
/// The type index for "no type".
pub(super) const NONE: u32 = u32::MAX;
/// A flag in the type index of a field: the field is required.
pub(super) const REQUIRED: u32 = 1 << 31;

pub(super) const TEXT_BYTES: usize = 0;
pub(super) const TEXTS: usize = 1;
pub(super) const TYPES: usize = 2;
pub(super) const FIELDS: usize = 3;
pub(super) const LISTS: usize = 4;
pub(super) const KINDS: usize = 5;
pub(super) const NAMES: usize = 6;
/// The number of bytes per entry of each section.
pub(super) const SIZES: [usize; 7] = [1, 4, 44, 8, 4, 24, 8];
/// The size of the header: magic bytes, length, and the offset and count of each section.
pub(super) const HEADER: usize = 12 + 8 * SIZES.len();

/// The bits of the second and third byte of a type.
pub(super) mod bits {
    pub(in crate::schema) const LIST_TYPE: u8 = 0b11;
    pub(in crate::schema) const MAP_TYPE: u8 = 0b1100;
    pub(in crate::schema) const MERGE: u8 = 1 << 4;
    pub(in crate::schema) const REPLACE: u8 = 1 << 5;
    pub(in crate::schema) const RETAIN_KEYS: u8 = 1 << 6;
    pub(in crate::schema) const EMBEDDED: u8 = 1;
    pub(in crate::schema) const PRESERVE: u8 = 1 << 1;
}

/// A compiled schema: kinds, their fields, and how the fields merge.
#[derive(Debug, Clone)]
pub struct TypeGraph {
    bytes: Cow<'static, [u8]>,
    /// The offset and count of each section.
    sections: [(usize, usize); SIZES.len()],
}

/// A type as stored in the buffer. Texts and types are stored as indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) kind: TypeKind,
    pub(super) list_type: Option<ListType>,
    pub(super) map_type: Option<MapType>,
    pub(super) patch_strategy: PatchStrategy,
    pub(super) embedded_resource: bool,
    pub(super) preserve_unknown_fields: bool,
    pub(super) element: u32,
    pub(super) additional: u32,
    pub(super) fields_start: u32,
    pub(super) fields_count: u32,
    pub(super) list_map_keys: u32,
    pub(super) patch_merge_key: u32,
    pub(super) recommended_merge_key: u32,
    pub(super) default: u32,
    pub(super) type_name: u32,
    pub(super) constraints: u32,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            kind: TypeKind::Any,
            list_type: None,
            map_type: None,
            patch_strategy: PatchStrategy::default(),
            embedded_resource: false,
            preserve_unknown_fields: false,
            element: NONE,
            additional: NONE,
            fields_start: 0,
            fields_count: 0,
            list_map_keys: 0,
            patch_merge_key: 0,
            recommended_merge_key: 0,
            default: 0,
            type_name: 0,
            constraints: 0,
        }
    }
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: u32,
    pub(super) node: u32,
    pub(super) required: bool,
}

/// An entry of the kinds section.
#[derive(Debug, Clone, Copy)]
pub(super) struct KindEntry<'g> {
    graph: &'g TypeGraph,
    position: usize,
}

impl<'g> KindEntry<'g> {
    fn column(self, column: usize) -> u32 {
        self.graph.u32_at(self.position + 4 * column).unwrap_or_default()
    }

    pub(super) fn group(self) -> &'g str {
        self.graph.text(self.column(0))
    }

    pub(super) fn version(self) -> &'g str {
        self.graph.text(self.column(1))
    }

    pub(super) fn kind(self) -> &'g str {
        self.graph.text(self.column(2))
    }

    pub(super) fn gvk(self) -> Gvk {
        Gvk { group: self.group().into(), version: self.version().into(), kind: self.kind().into() }
    }

    pub(super) fn graph(self) -> &'g TypeGraph {
        self.graph
    }

    /// Returns the index of the kind's type.
    pub(super) fn root_node(self) -> u32 {
        self.column(3)
    }

    pub(super) fn scope(self) -> Option<Scope> {
        match self.column(4) {
            1 => Some(Scope::Namespaced),
            2 => Some(Scope::Cluster),
            _ => None,
        }
    }

    /// Returns the plural, followed by the other names.
    pub(super) fn names(self) -> impl Iterator<Item = &'g str> {
        let graph = self.graph;
        graph.list(self.column(5)).map(|id| graph.text(id))
    }
}

fn corrupt(why: &str) -> Diagnostic {
    Diagnostic::error(Code::InvalidValue, format!("invalid compiled schema: {why}"))
        .help("recreate it with `kubectl smp schema compile`")
}

impl TypeGraph {
    /// Opens a graph from bytes that [`TypeGraph::to_bytes`] returned.
    ///
    /// # Errors
    /// The data is not a graph, is truncated or modified, has another layout version, or has invalid merge keys.
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        let bytes = bytes.into();
        if !bytes.starts_with(MAGIC) {
            return Err(corrupt("it is not in the format of this version"));
        }
        match bytes.split_last_chunk::<CHECKSUM>() {
            Some((buffer, checksum)) if Sha256::digest(buffer).as_slice() == checksum => {}
            _ => return Err(corrupt("checksum mismatch, it was truncated or modified")),
        }
        let graph = Self::open_unchecked(bytes)?;
        graph.check_keys()?;
        Ok(graph)
    }

    /// Returns the number of types.
    pub(super) fn type_count(&self) -> u32 {
        u32::try_from(self.sections[TYPES].1).unwrap_or(u32::MAX)
    }

    /// Returns the graph as bytes that can be stored and opened again.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.bytes, Sha256::digest(&self.bytes).as_slice()].concat()
    }

    /// Opens bytes like [`TypeGraph::from_bytes`], but in constant time, without verifying the checksum.
    pub(super) fn open_unchecked(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        let cut = |length: usize| length.saturating_sub(CHECKSUM);
        Self::from_buffer(match bytes.into() {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..cut(bytes.len())]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(cut(bytes.len()));
                Cow::Owned(bytes)
            }
        })
    }

    /// Opens a buffer without a checksum, as the writer creates it.
    pub(super) fn from_buffer(bytes: Cow<'static, [u8]>) -> Result<Self> {
        let mut graph = Self { bytes, sections: [(0, 0); SIZES.len()] };
        let length = graph.u32_at(MAGIC.len()).map(|n| n as usize);
        if !graph.bytes.starts_with(MAGIC) || length != Some(graph.bytes.len()) || graph.bytes.len() < HEADER
        {
            return Err(corrupt("it is truncated"));
        }
        for (i, size) in SIZES.into_iter().enumerate() {
            let at = |offset| graph.u32_at(12 + 8 * i + offset).map_or(usize::MAX, |n| n as usize);
            let (start, count) = (at(0), at(4));
            let end = count.checked_mul(size).and_then(|n| n.checked_add(start));
            if start < HEADER || end.is_none_or(|end| end > graph.bytes.len()) {
                return Err(corrupt("a section extends past the end"));
            }
            graph.sections[i] = (start, count);
        }
        Ok(graph)
    }

    /// Returns a graph without types. Its buffer cannot be opened again.
    pub(super) fn empty() -> Self {
        Self { bytes: Cow::Borrowed(&[]), sections: [(0, 0); SIZES.len()] }
    }

    /// Returns all kinds, sorted by group, version and kind.
    pub fn kinds(&self) -> impl Iterator<Item = (Gvk, Option<Scope>)> {
        self.kind_entries().map(|entry| (entry.gvk(), entry.scope()))
    }

    /// Returns the scope of a kind.
    #[must_use]
    pub fn scope(&self, gvk: &Gvk) -> Option<Scope> {
        self.find_kind(gvk).and_then(KindEntry::scope)
    }

    /// Returns the index of the definition with this name.
    pub(super) fn find_name(&self, name: &str) -> Option<u32> {
        let (start, count) = self.sections[NAMES];
        let at = |i: usize| self.u32_at(start + 8 * i).map_or(&[][..], |id| self.text_bytes(id));
        let i = search(count, |i| at(i).cmp(name.as_bytes()))?;
        self.u32_at(start + 8 * i + 4)
    }

    /// Returns the names of all definitions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (start, count) = self.sections[NAMES];
        (0..count).filter_map(move |i| self.u32_at(start + 8 * i)).map(|id| self.text(id))
    }

    /// Returns a kind's plural in API paths, such as `deployments`, if known.
    #[must_use]
    pub fn plural(&self, gvk: &Gvk) -> Option<&str> {
        self.find_kind(gvk)?.names().next()
    }

    pub(super) fn kind_entries(&self) -> impl ExactSizeIterator<Item = KindEntry<'_>> {
        let (start, count) = self.sections[KINDS];
        (0..count).map(move |i| KindEntry { graph: self, position: start + SIZES[KINDS] * i })
    }

    pub(super) fn find_kind(&self, gvk: &Gvk) -> Option<KindEntry<'_>> {
        let (start, count) = self.sections[KINDS];
        let entries = self.bytes.get(start..start + SIZES[KINDS] * count)?.as_chunks::<{ SIZES[KINDS] }>().0;
        let texts = self.texts();
        let found = search(count, |i| {
            let columns = entries[i].as_chunks().0;
            let compare =
                |column: usize, text| compare_texts(texts.get(u32::from_le_bytes(columns[column])), text);
            compare(0, &gvk.group).then_with(|| compare(1, &gvk.version)).then_with(|| compare(2, &gvk.kind))
        });
        found.map(|i| KindEntry { graph: self, position: start + SIZES[KINDS] * i })
    }

    fn u32_at(&self, position: usize) -> Option<u32> {
        let bytes = self.bytes.get(position..position.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn texts(&self) -> Texts<'_> {
        let (start, count) = self.sections[TEXTS];
        let (text, length) = self.sections[TEXT_BYTES];
        let offsets = self.bytes.get(start..start + SIZES[TEXTS] * count).unwrap_or_default();
        let bytes = self.bytes.get(text..text + length).unwrap_or_default();
        Texts { offsets: offsets.as_chunks().0, bytes }
    }

    fn text_bytes(&self, id: u32) -> &[u8] {
        self.texts().get(id)
    }

    pub(super) fn text(&self, id: u32) -> &str {
        std::str::from_utf8(self.text_bytes(id)).unwrap_or_default()
    }

    pub(super) fn list(&self, id: u32) -> ListIter<'_> {
        let (start, count) = self.sections[LISTS];
        let id = (id as usize).min(count);
        let length = if id < count { self.u32_at(start + 4 * id).map_or(0, |n| n as usize) } else { 0 };
        let length = length.min((count - id).saturating_sub(1));
        ListIter { graph: self, position: start + 4 * (id + 1), left: length }
    }

    pub(super) fn record(&self, node: u32) -> Option<Record> {
        let (start, count) = self.sections[TYPES];
        if node as usize >= count {
            return None;
        }
        let start = start + SIZES[TYPES] * node as usize;
        let bytes = self.bytes.get(start..start + SIZES[TYPES])?;
        let at = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        let (directives, flags) = (bytes[1], bytes[2]);
        Some(Record {
            kind: TypeKind::ALL.get(bytes[0] as usize).copied().unwrap_or_default(),
            list_type: match directives & bits::LIST_TYPE {
                1 => Some(ListType::Atomic),
                2 => Some(ListType::Set),
                3 => Some(ListType::Map),
                _ => None,
            },
            map_type: match (directives & bits::MAP_TYPE) >> 2 {
                1 => Some(MapType::Granular),
                2 => Some(MapType::Atomic),
                _ => None,
            },
            patch_strategy: PatchStrategy {
                merge: directives & bits::MERGE != 0,
                replace: directives & bits::REPLACE != 0,
                retain_keys: directives & bits::RETAIN_KEYS != 0,
            },
            embedded_resource: flags & bits::EMBEDDED != 0,
            preserve_unknown_fields: flags & bits::PRESERVE != 0,
            element: at(4),
            additional: at(8),
            fields_start: at(12),
            fields_count: at(16),
            list_map_keys: at(20),
            patch_merge_key: at(24),
            recommended_merge_key: at(28),
            default: at(32),
            type_name: at(36),
            constraints: at(40),
        })
    }

    fn field_at(&self, index: usize) -> Option<Field> {
        let position = self.sections[FIELDS].0 + SIZES[FIELDS] * index;
        let (name, node) = (self.u32_at(position)?, self.u32_at(position + 4)?);
        Some(Field { name, node: node & !REQUIRED, required: node & REQUIRED != 0 })
    }

    /// Returns the index of a type's first field and the number of its fields, clamped to the section.
    fn field_range(&self, record: &Record) -> (usize, usize) {
        let total = self.sections[FIELDS].1;
        let start = (record.fields_start as usize).min(total);
        (start, (record.fields_count as usize).min(total - start))
    }

    pub(super) fn find_field(&self, record: &Record, name: &str) -> Option<Field> {
        let (start, count) = self.field_range(record);
        let names = self.sections[FIELDS].0 + SIZES[FIELDS] * start;
        let fields = self.bytes.get(names..names + SIZES[FIELDS] * count)?.as_chunks::<{ SIZES[FIELDS] }>().0;
        let texts = self.texts();
        let compare = |i: usize| {
            let [a, b, c, d, ..] = fields[i];
            compare_texts(texts.get(u32::from_le_bytes([a, b, c, d])), name)
        };
        search(count, compare).and_then(|i| self.field_at(start + i))
    }

    pub(super) fn fields(&self, record: Record) -> impl Iterator<Item = Field> {
        let (start, count) = self.field_range(&record);
        (start..start + count).filter_map(|i| self.field_at(i))
    }
}

/// The texts of a graph.
#[derive(Clone, Copy)]
struct Texts<'g> {
    /// The start of each text, and the end of the last one.
    offsets: &'g [[u8; 4]],
    bytes: &'g [u8],
}

impl<'g> Texts<'g> {
    fn get(self, id: u32) -> &'g [u8] {
        let range = self.offsets.get(id as usize..).and_then(|offsets| offsets.first_chunk());
        let Some([start, end]) = range.map(|range| range.map(|offset| u32::from_le_bytes(offset) as usize))
        else {
            return &[];
        };
        self.bytes.get(start..end.min(self.bytes.len())).unwrap_or_default()
    }
}

/// Compares texts by their bytes. Most texts already differ in their first byte.
fn compare_texts(text: &[u8], other: &str) -> Ordering {
    let other = other.as_bytes();
    text.first().cmp(&other.first()).then_with(|| text.cmp(other))
}

/// Searches `0..count` with a binary search.
fn search(count: usize, compare: impl Fn(usize) -> Ordering) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Some(middle),
        }
    }
    None
}

/// An iterator over the numbers of a list.
#[derive(Debug, Clone)]
pub(super) struct ListIter<'g> {
    graph: &'g TypeGraph,
    position: usize,
    left: usize,
}

impl Iterator for ListIter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let number = self.graph.u32_at(self.position);
        self.position += 4;
        number
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
