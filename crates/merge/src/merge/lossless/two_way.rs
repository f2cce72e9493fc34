//! The two-way merge of the fields of a source into those of dest.

use super::comments;
use super::level::{Level, ValueType, align_level, is_emptied};
use super::order::{self, DEST, Positions, UPDATED};
use crate::merge::align::AlignedEntry;
use crate::merge::association::{Association, ListPolicy, replaced_unknown_list};
use crate::merge::directive::is_directive;
use crate::merge::options::{ConflictPolicy, MergeOptions};
use crate::merge::{Conflict, ConflictSide, Merged, Trail};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::{Entry, Map, Meta, Node, Value};

/// Merges a source into dest. `kind` is the type of objects without a kind.
pub(in crate::merge) fn merge2(
    dest: Option<Node>,
    source: &Node,
    kind: Cursor<'_>,
    schema: &Schema,
    options: &MergeOptions,
) -> Merged {
    match &dest {
        None => return Merged::from_node(Some(source.clone())),
        Some(node) if node == source => return Merged::from_node(dest),
        Some(_) => {}
    }
    let mut merge = SourceMerge { schema, options, warnings: Vec::new(), conflicts: Vec::new() };
    let node = merge.value([dest.as_ref(), Some(source)], ValueType::new(kind), &Trail::root());
    Merged { node, warnings: merge.warnings, conflicts: merge.conflicts }
}

struct SourceMerge<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
    warnings: Vec<Diagnostic>,
    conflicts: Vec<Conflict>,
}

impl<'s> SourceMerge<'s> {
    /// Merges a value of the source into one of dest.
    fn value(&mut self, pair: [Option<&Node>; 2], value_type: ValueType<'s>, at: &Trail<'_>) -> Option<Node> {
        let [dest, source] = pair;
        let Some(source) = source.filter(|source| dest != Some(*source)) else { return dest.cloned() };
        if source.is_null() {
            return None;
        }
        let pair = [dest.filter(|dest| !dest.is_null()), Some(source)];
        let value_type = value_type.or_own_kind(&[Some(source), dest], self.schema);
        if let Some(left) = value_type.without_other_members(pair) {
            return match self.record_conflict(pair, at) {
                ConflictSide::Updated => self.value([Some(&left), Some(source)], value_type, at),
                ConflictSide::Dest => dest.cloned(),
            };
        }
        match align_level(pair, value_type, self.options.infer_keys.keys()) {
            Level::Fields(rows) => Some(self.fields(pair, &rows, value_type, at)),
            Level::Entries(association, rows) => {
                Some(self.entries(pair, (&association, &rows), value_type, at))
            }
            Level::Value => Some(match pair[DEST] {
                None => source.clone(),
                Some(dest) => self.replaced(dest, source, value_type, at),
            }),
        }
    }

    /// Returns the source's value, which replaces that of dest, and warns if the list may have lost entries. Values of
    /// different types are a conflict, for which the options determine the result.
    fn replaced(&mut self, dest: &Node, source: &Node, value_type: ValueType<'s>, at: &Trail<'_>) -> Node {
        if std::mem::discriminant(&source.value) != std::mem::discriminant(&dest.value) {
            return match self.record_conflict([Some(dest), Some(source)], at) {
                ConflictSide::Updated => source.clone(),
                ConflictSide::Dest => dest.clone(),
            };
        }
        if let (Some(old), Some(new)) = (dest.as_list(), source.as_list()) {
            self.warnings.extend(match Association::of_list(value_type.cursor, ListPolicy::Overlay) {
                // Lists of scalars have no merge keys, so replacing them needs no warning.
                Association::Unknown if old.iter().chain(new).all(|entry| entry.scalar_text().is_some()) => {
                    None
                }
                Association::Unknown => replaced_unknown_list(old, new, source.span(), at),
                Association::Atomic => None,
                Association::Set | Association::Keyed { .. } => replaced_ambiguous(old, source, at),
            });
        }
        comments::replacing(source, None, Some(dest))
    }

    /// Records a conflict: the values have different types, or select different members of a union.
    fn record_conflict(&mut self, pair: [Option<&Node>; 2], at: &Trail<'_>) -> ConflictSide {
        let taken = match self.options.conflicts {
            ConflictPolicy::Updated => ConflictSide::Updated,
            ConflictPolicy::Dest => ConflictSide::Dest,
        };
        let [dest, updated] = pair.map(Option::<&Node>::cloned);
        let conflict =
            Conflict { path: at.path(), original: None, updated, dest, unknown_list: false, winner: taken };
        self.conflicts.push(conflict);
        taken
    }

    fn fields(
        &mut self,
        pair: [Option<&Node>; 2],
        rows: &[Positions<2>],
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Node {
        let maps = pair.map(|node| node.and_then(Node::as_map).map_or(&[][..], Map::entries));
        let mut map = Map::new();
        for row in order::for_fields(rows) {
            let fields: [Option<&Entry>; 2] =
                std::array::from_fn(|version| maps[version].get(rows[row][version]?));
            let Some(key) = fields[DEST].or(fields[UPDATED]).map(|field| field.key.clone()) else { continue };
            let key = comments::key_with_comment(key, fields);
            if is_directive(&key.text) && fields[DEST].is_none() {
                self.warnings.push(plain_directive(key.meta.span, &key.text, at));
            }
            let values = fields.map(|field| field.map(|field| &field.value));
            let value = self.value(values, value_type.field(&key.text), &at.field(&key.text));
            let is_kept =
                |value: &Node| !is_emptied(value, &values) || value_type.cursor.is_required(&key.text);
            if let Some(value) = value.filter(is_kept) {
                map.push(key, value);
            }
        }
        Node { value: Value::Map(map), meta: meta_of(pair) }
    }

    fn entries(
        &mut self,
        pair: [Option<&Node>; 2],
        (association, rows): (&Association, &[AlignedEntry<2>]),
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Node {
        let lists = pair.map(|node| node.and_then(Node::as_list).map_or(&[][..], Vec::as_slice));
        let positions: Vec<Positions<2>> = rows.iter().map(|row| row.positions).collect();
        let mut list = Vec::with_capacity(rows.len());
        for i in order::for_pair(&positions, self.options.list_order) {
            let values = std::array::from_fn(|version| lists[version].get(rows[i].positions[version]?));
            let trail = match association {
                Association::Keyed { keys, .. } => at.named(keys, &rows[i].identity),
                _ => at.index(i),
            };
            list.extend(self.value(values, value_type.element(), &trail));
        }
        Node { value: Value::List(list), meta: meta_of(pair) }
    }
}

/// Returns the metadata of the result: that of dest, or of the source if dest is absent.
fn meta_of([dest, source]: [Option<&Node>; 2]) -> Meta {
    dest.or(source).map(|node| node.meta.clone()).unwrap_or_default()
}

/// Returns the warning for a list that was replaced because entries have equal or missing keys.
fn replaced_ambiguous(old: &[Node], new: &Node, at: &Trail<'_>) -> Option<Diagnostic> {
    let message = "this list is replaced: it has entries with equal or missing merge keys";
    let warning = || Diagnostic::warning(Code::Ambiguous, message).field(at.path()).at(new.span());
    (!old.is_empty()).then(|| warning().help("set unique merge keys in all entries of both lists"))
}

/// Returns the warning for a directive that becomes an ordinary field of the result.
fn plain_directive(span: smp_text::source::Span, name: &str, at: &Trail<'_>) -> Diagnostic {
    let message = format!("`{name}` is an ordinary field when versions are merged");
    let help = "use `patch` to apply patches with directives";
    Diagnostic::warning(Code::Directive, message).field(at.path()).at(span).help(help)
}
