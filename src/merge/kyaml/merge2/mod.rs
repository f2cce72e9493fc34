//! Two-way merge: a patch onto an object, by kyaml's rules.
//!
//! Besides the obvious (maps merge, null removes, what the patch has wins) these rules do something
//! to all of dest once a patch touches it: fields whose value is missing (`a:`) go, lists that merge
//! lose entries with equal keys. New values are treated as if they were merged with themselves, so
//! that nulls and directives in them vanish.

mod list;

use super::options::MergeOptions;
use super::position::Position;
use super::restyle::{quote_old_booleans, restyle};
use super::{Fate, directive, retain, same_kind};
use crate::diagnostic::Result;
use crate::merge::Trail;
use crate::merge::directive::Action;
use crate::schema::Schema;
use crate::yaml::{Comments, Entry, Key, Map, Meta, Node, Value};

/// Merges a patch onto an object, in place as far as it goes. None: the patch deletes the object.
///
/// The schema is asked for the kind that dest, or else the patch, says it has.
///
/// # Errors
/// A map, list or scalar against another kind of value; an unknown `$patch`; list entries that
/// cannot be told apart. With [`Rules::Auto`] also entries without keys or with equal ones.
///
/// [`Rules::Auto`]: super::Rules::Auto
pub fn merge2(
    mut dest: Option<Node>,
    patch: &Node,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Option<Node>> {
    let mut patch = patch.clone();
    let merge = Merge2 { schema, options };
    let source = Source::Node(&mut patch);
    let merged = match merge.value(dest.as_mut(), source, Position::unknown(), &Trail::root())? {
        Fate::Keep => dest,
        Fate::Take(node) => Some(node),
        Fate::Clear => None,
    };
    Ok(merged.filter(|node| !node.is_null()))
}

/// What a value of dest is merged with.
#[derive(Debug)]
enum Source<'p> {
    /// Nothing: the patch does not reach here.
    Absent,
    /// Itself: the value came from the patch as a whole.
    Same,
    /// A value of the patch. What of it is taken is moved out.
    Node(&'p mut Node),
}

impl Source<'_> {
    fn node(&self) -> Option<&Node> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}

/// A source that is no other value.
#[derive(Debug, Clone, Copy)]
enum Own {
    Absent,
    Same,
}

impl Own {
    fn source(self) -> Source<'static> {
        match self {
            Self::Absent => Source::Absent,
            Self::Same => Source::Same,
        }
    }
}

struct Merge2<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
}

fn take(node: &mut Node) -> Node {
    std::mem::replace(node, Node::null())
}

impl<'s> Merge2<'s> {
    fn value(
        &self,
        dest: Option<&mut Node>,
        source: Source<'_>,
        at: Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        let at = at.refine(dest.as_deref().into_iter().chain(source.node()), self.schema);
        let Some(dest) = dest.filter(|node| !node.is_null() || matches!(source, Source::Absent)) else {
            return match source {
                Source::Node(patch) if !patch.is_null() => self.add(take(patch), &at, trail),
                _ => Ok(Fate::Clear),
            };
        };
        match source.node() {
            Some(patch) if patch.is_null() => return Ok(Fate::Clear),
            Some(patch) => same_kind(dest, patch, trail)?,
            None => {}
        }
        match dest.value {
            Value::Map(_) => self.map(dest, source, &at, trail),
            Value::List(_) => self.list(dest, source, &at, trail),
            Value::Scalar(_) => Ok(match source {
                Source::Node(patch) => Fate::Take(take(patch)),
                Source::Absent if is_silent_null(dest) => Fate::Clear,
                _ => Fate::Keep,
            }),
        }
    }

    /// A value that dest does not have.
    fn add(&self, mut node: Node, at: &Position<'s>, trail: &Trail<'_>) -> Result<Fate> {
        match &mut node.value {
            Value::Map(map) => {
                // Another word than the three stays and gets into the output (kustomize 5.8).
                if matches!(directive::take_from_map(map, trail), Ok(Action::Delete)) {
                    return Ok(Fate::Clear);
                }
                self.own_fields(map, Own::Same, at, trail)?;
            }
            Value::List(_) => return self.new_list(node, at, trail),
            Value::Scalar(_) => {}
        }
        Ok(Fate::Take(node))
    }

    fn map(&self, dest: &mut Node, source: Source<'_>, at: &Position<'s>, trail: &Trail<'_>) -> Result<Fate> {
        adopt(dest, &source);
        let Value::Map(map) = &mut dest.value else { return Ok(Fate::Keep) };
        match source {
            Source::Absent => self.own_fields(map, Own::Absent, at, trail)?,
            Source::Same => {
                if directive::take_from_map(map, trail)? == Action::Delete {
                    return Ok(Fate::Clear);
                }
                self.own_fields(map, Own::Same, at, trail)?;
            }
            Source::Node(patch) => {
                let Value::Map(theirs) = &mut patch.value else { return Ok(Fate::Keep) };
                match directive::take_from_map(theirs, trail)? {
                    Action::Delete => return Ok(Fate::Clear),
                    Action::Replace => {
                        self.own_fields(theirs, Own::Same, at, trail)?;
                        return Ok(Fate::Take(take(patch)));
                    }
                    Action::Merge => self.fields(map, theirs, at, trail)?,
                }
            }
        }
        Ok(Fate::Keep)
    }

    /// The fields of a map that no other map is merged into.
    fn own_fields(&self, map: &mut Map, own: Own, at: &Position<'s>, trail: &Trail<'_>) -> Result<()> {
        retain(map.entries_mut(), |entry| self.field(entry, own.source(), None, at, trail))
    }

    /// Those of dest in their order, then those that only the patch has, sorted.
    fn fields(&self, map: &mut Map, patch: &mut Map, at: &Position<'s>, trail: &Trail<'_>) -> Result<()> {
        let (partners, mut new) = partners(map, patch);
        let theirs = patch.entries_mut();
        let mut partners = partners.into_iter();
        retain(map.entries_mut(), |entry| match partners.next().flatten() {
            Some(i) => {
                let Entry { key, value } = &mut theirs[i];
                self.field(entry, Source::Node(value), Some(key), at, trail)
            }
            None => self.field(entry, Source::Absent, None, at, trail),
        })?;
        new.sort_unstable_by(|&a, &b| theirs[a].key.text.cmp(&theirs[b].key.text));
        for i in new {
            let Entry { key, value } = &mut theirs[i];
            let at = at.field_of(&key.text, std::iter::once((&*key, &*value)), self.schema);
            let fate = self.value(None, Source::Node(value), at, &trail.field(&key.text))?;
            if let Fate::Take(mut node) = fate {
                quote_old_booleans(&mut node);
                let meta = Meta { comments: None, ..key.meta.clone() };
                map.push(Key { text: key.text.clone(), meta }, node);
            }
        }
        Ok(())
    }

    /// One field that dest has. Returns whether it stays.
    fn field(
        &self,
        entry: &mut Entry,
        source: Source<'_>,
        their_key: Option<&Key>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<bool> {
        let Entry { key, value } = entry;
        if matches!((&value.value, &source), (Value::Scalar(_), Source::Absent | Source::Same)) {
            quote_old_booleans(value);
            let stays = matches!(source, Source::Absent) && !is_silent_null(value);
            return Ok(stays || !value.is_null());
        }
        let sides = std::iter::once((&*key, &*value)).chain(their_key.zip(source.node()));
        let at = at.field_of(&key.text, sides, self.schema);
        match self.value(Some(value), source, at, &trail.field(&key.text))? {
            Fate::Keep => Ok(true),
            Fate::Take(mut node) => {
                restyle(&mut node, &value.meta);
                *value = node;
                Ok(true)
            }
            Fate::Clear => Ok(false),
        }
    }
}

/// `a:` without a value, which goes where `a: null` stays.
fn is_silent_null(node: &Node) -> bool {
    node.is_null() && node.scalar_text().is_some_and(|text| text.is_empty())
}

/// For each field of dest the position of the patch's, and the positions of the rest.
fn partners(map: &Map, patch: &Map) -> (Vec<Option<usize>>, Vec<usize>) {
    let (mut partners, mut new) = (vec![None; map.len()], Vec::new());
    let few = patch.len() <= 4;
    let index = (!few).then(|| map.index());
    for (i, (key, _)) in patch.iter().enumerate() {
        match index.as_ref().map_or_else(|| map.position(key), |index| index.position(key)) {
            Some(at) => partners[at] = Some(i),
            None => new.push(i),
        }
    }
    (partners, new)
}

/// What a map or list of dest takes from the patch's beside the content: comments where the patch
/// has them, and the layout where dest is empty.
fn adopt(dest: &mut Node, source: &Source<'_>) {
    let Source::Node(patch) = source else { return };
    let is_empty = match &dest.value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Scalar(_) => false,
    };
    if is_empty {
        dest.meta.style = patch.meta.style;
    }
    if let Some(theirs) = patch.meta.comments.as_deref() {
        let Comments { head, line, foot } = theirs.clone();
        let mine = dest.meta.comments.get_or_insert_default();
        mine.line = line.or_else(|| mine.line.take());
        if !head.is_empty() {
            mine.head = head;
        }
        if !foot.is_empty() {
            mine.foot = foot;
        }
    }
}
