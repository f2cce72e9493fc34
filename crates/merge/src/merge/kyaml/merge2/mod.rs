//! The two-way merge of a patch into an object, by kyaml's rules.
//!
//! Maps are merged, null removes a value, and values of the patch win. These rules also change parts of dest that the
//! patch does not mention: fields without a value (`a:`) are removed, and merged lists lose entries with equal keys.
//! New values are merged with themselves, which removes the nulls and directives in them.

mod counterpart;
mod exceptions;

/// Quotes a scalar that only one input has, if YAML 1.1 reads it differently. Returns true if its field is kept. A null
/// in the patch removes the field; in dest, only an empty value does.
fn keeps_own_scalar(value: &mut Node, side: Side) -> bool {
    quote_yaml11_values(value);
    match side {
        Side::Patch => !value.is_null(),
        Side::Dest => !value.is_null() || !is_silent_null(value),
    }
}

#[cfg(test)]
mod tests;

use smol_str::SmolStr;

use self::counterpart::{Counterpart, Side, adopt_metadata, after_visit, take};
use self::exceptions::KeyedLists;
use super::directive;
use super::entries::{ListMerge, Lookup};
use super::position::{ListRule, Position};
use super::restyle::quote_yaml11_values;
use super::tuples::{Tuples, are_distinct, is_empty_entry};
use super::walk::{Decision, Location, check_same_kind, match_fields, retain};
use crate::merge::association::replaced_unknown_list;
use crate::merge::directive::{Action, PATCH, PATCH_MERGE_KEY, misplaced_patch_merge_key};
use crate::merge::options::{ListOrder, MergeOptions};
use crate::merge::{Exceptions, Merged, Trail};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Entry, Key, List, Map, Node, Value};

/// Merges a patch into an object. The result has no node if the patch deletes the object.
///
/// The type is determined by the kind of dest, or by that of the patch if dest has none. `kind` is the type of objects
/// without a kind. A list that is replaced because it has no schema causes a warning.
///
/// # Errors
/// A map, list or scalar is merged with a value of another type, a `$patch` is unknown, or list entries have no unique
/// keys. With [`Exceptions::Documented`], also entries without keys or with equal keys.
pub(in crate::merge) fn merge2(
    mut dest: Option<Node>,
    patch: &Node,
    kind: Cursor<'_>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    let root = Position::unknown().refine(&[dest.as_ref(), Some(patch)], schema).or(kind);
    let mut patch = patch.clone();
    let mut merge = Merge2 { schema, options, warnings: Vec::new() };
    let patch = Counterpart::Patch(&mut patch);
    let decision = merge.value(dest.as_mut(), patch, root, &Trail::root())?;
    let node = decision.into_node(dest).filter(|node| !node.is_null());
    Ok(Merged { node, warnings: merge.warnings, conflicts: Vec::new() })
}

struct Merge2<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
    warnings: Vec<Diagnostic>,
}

impl<'s> Merge2<'s> {
    fn value(
        &mut self,
        dest: Option<&mut Node>,
        with: Counterpart<'_>,
        at: Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Decision> {
        let at = at.refine(&[dest.as_deref(), with.patch()], self.schema);
        let here = Location { position: &at, trail };
        let is_only_in_dest = matches!(with, Counterpart::None(Side::Dest));
        let Some(dest) = dest.filter(|node| !node.is_null() || is_only_in_dest) else {
            return match with {
                Counterpart::Patch(patch) if !patch.is_null() => self.add(take(patch), here),
                _ => Ok(Decision::Remove),
            };
        };
        match with.patch() {
            Some(patch) if patch.is_null() => return Ok(Decision::Remove),
            Some(patch) => check_same_kind(dest, patch, trail)?,
            None => {}
        }
        match dest.value {
            Value::Map(_) => self.map(dest, with, here),
            Value::List(_) => self.list(dest, with, here),
            Value::Scalar(_) => Ok(match with {
                Counterpart::Patch(patch) => Decision::Replace(take(patch)),
                Counterpart::None(Side::Dest) if is_silent_null(dest) => Decision::Remove,
                Counterpart::None(_) => Decision::Keep,
            }),
        }
    }

    /// Adds a value that dest does not have.
    fn add(&mut self, mut node: Node, here: Location<'_, 's>) -> Result<Decision> {
        match &mut node.value {
            Value::Map(map) => {
                match (directive::take_from_map(map, here.trail), self.options.exceptions()) {
                    (Ok(Action::Delete), _) => return Ok(Decision::Remove),
                    (Err(error), Exceptions::Documented) => return Err(error),
                    // An unknown action is kept and printed (kustomize 5.8).
                    _ => {}
                }
                self.drop_misplaced(map, here);
                self.own_fields(map, Side::Patch, here)?;
            }
            Value::List(list) => {
                let rule = here.position.list_rule(&[list], Some(list), self.options, self.schema);
                if rule.replaces() {
                    return Ok(Decision::Replace(node));
                }
                // kustomize 5.8 does not process directives here, so they are printed.
                if self.options.exceptions() == Exceptions::Documented
                    && directive::extract_from_list(list, here.trail)? == Action::Delete
                {
                    return Ok(Decision::Remove);
                }
                self.own_entries(list, Side::Patch, &rule, here)?;
            }
            Value::Scalar(_) => {}
        }
        Ok(Decision::Replace(node))
    }

    fn map(&mut self, dest: &mut Node, with: Counterpart<'_>, here: Location<'_, 's>) -> Result<Decision> {
        adopt_metadata(dest, &with);
        let Value::Map(map) = &mut dest.value else { return Ok(Decision::Keep) };
        let patch = match with {
            Counterpart::Patch(patch) => patch,
            Counterpart::None(side) => {
                if side == Side::Patch && directive::take_from_map(map, here.trail)? == Action::Delete {
                    return Ok(Decision::Remove);
                }
                if side == Side::Patch {
                    self.drop_misplaced(map, here);
                }
                self.own_fields(map, side, here)?;
                return Ok(Decision::Keep);
            }
        };
        let Value::Map(theirs) = &mut patch.value else { return Ok(Decision::Keep) };
        let action = directive::take_from_map(theirs, here.trail)?;
        self.drop_misplaced(theirs, here);
        match action {
            Action::Delete => return Ok(Decision::Remove),
            Action::Replace => {
                self.own_fields(theirs, Side::Patch, here)?;
                return Ok(Decision::Replace(take(patch)));
            }
            Action::Merge => self.fields(map, theirs, here)?,
        }
        Ok(Decision::Keep)
    }

    /// Removes a misplaced `$patchMergeKey` from a map of the patch. Those in list entries have already been removed.
    fn drop_misplaced(&mut self, map: &mut Map, here: Location<'_, 's>) {
        if self.options.exceptions() == Exceptions::Documented
            && let Some(directive) = map.remove(PATCH_MERGE_KEY)
        {
            self.warnings.push(misplaced_patch_merge_key(&directive, here.trail).into_warning());
        }
    }

    /// Merges an entry of a list. If entries are prepended, kustomize 5.8 ignores `$patch: replace`: it keeps the old
    /// entry and drops the entry of the patch. This causes a warning.
    fn entry(
        &mut self,
        dest: Option<&mut Node>,
        with: Counterpart<'_>,
        at: Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Decision> {
        let is_present = dest.as_deref().is_some_and(|dest| !dest.is_null());
        let directive =
            with.patch().filter(|_| is_present).and_then(|patch| patch.get(PATCH)).map(Node::span);
        let decision = self.value(dest, with, at, trail)?;
        if let (Some(span), Decision::Replace(_), ListOrder::Prepend) =
            (directive, &decision, self.options.order())
        {
            let message =
                "kustomize v5.8 ignores list entries with `$patch: replace`: the entry is not changed";
            let warning = Diagnostic::warning(Code::Directive, message).field(trail.path()).at(span);
            self.warnings.push(warning.help("use a JSON patch to replace the entry"));
        }
        Ok(decision)
    }

    /// Merges the fields of a map without a counterpart.
    fn own_fields(&mut self, map: &mut Map, side: Side, here: Location<'_, 's>) -> Result<()> {
        retain(map.entries_mut(), |entry| self.field(entry, None, Counterpart::None(side), here))
    }

    /// Merges the fields of dest in their order, then adds the fields that only the patch has, sorted by name.
    fn fields(&mut self, map: &mut Map, patch: &mut Map, here: Location<'_, 's>) -> Result<()> {
        let (partners, new) = match_fields(map, patch);
        let theirs = patch.entries_mut();
        let mut partners = partners.into_iter();
        retain(map.entries_mut(), |entry| match partners.next().flatten() {
            Some(i) => {
                let Entry { key, value } = &mut theirs[i];
                self.field(entry, Some(key), Counterpart::Patch(value), here)
            }
            None => self.field(entry, None, Counterpart::None(Side::Dest), here),
        })?;
        for i in new {
            let Entry { key, value } = &mut theirs[i];
            let at =
                here.position.field_with_comments(&key.text, std::iter::once((&*key, &*value)), self.schema);
            let trail = here.trail.field(&key.text);
            self.value(None, Counterpart::Patch(value), at, &trail)?.add_to(map, key, None);
        }
        Ok(())
    }

    /// Merges a field of dest, or of a part of the patch that is merged with itself. Quotes scalars that YAML 1.1 reads
    /// differently. Returns true if the field is kept.
    fn field(
        &mut self,
        Entry { key, value }: &mut Entry,
        their_key: Option<&Key>,
        with: Counterpart<'_>,
        here: Location<'_, 's>,
    ) -> Result<bool> {
        if let (Value::Scalar(_), Counterpart::None(side)) = (&value.value, &with) {
            return Ok(keeps_own_scalar(value, *side));
        }
        let sides = std::iter::once((&*key, &*value)).chain(their_key.zip(with.patch()));
        let at = here.position.field_with_comments(&key.text, sides, self.schema);
        Ok(self.value(Some(value), with, at, &here.trail.field(&key.text))?.apply_to(value))
    }

    fn list(&mut self, dest: &mut Node, with: Counterpart<'_>, here: Location<'_, 's>) -> Result<Decision> {
        adopt_metadata(dest, &with);
        let Value::List(list) = &mut dest.value else { return Ok(Decision::Keep) };
        let theirs = with.patch().and_then(Node::as_list).map(Vec::as_slice);
        let (sides, from_patch): (&[&[Node]], _) = match (&with, theirs) {
            (Counterpart::Patch(_), Some(theirs)) => (&[list, theirs], Some(theirs)),
            (Counterpart::None(Side::Patch), _) => (&[list], Some(list.as_slice())),
            _ => (&[list], None),
        };
        let rule = here.position.list_rule(sides, from_patch, self.options, self.schema);
        let patch = match with {
            Counterpart::Patch(patch) => patch,
            Counterpart::None(_) if rule.replaces() => return Ok(Decision::Keep),
            Counterpart::None(side) => {
                if side == Side::Patch && directive::extract_from_list(list, here.trail)? == Action::Delete {
                    return Ok(Decision::Remove);
                }
                self.own_entries(list, side, &rule, here)?;
                return Ok(Decision::Keep);
            }
        };
        let span = patch.span();
        let Value::List(theirs) = &mut patch.value else { return Ok(Decision::Keep) };
        if rule.replaces() {
            if !here.position.is_known() {
                self.warnings.extend(replaced_unknown_list(list, theirs, span, here.trail));
            }
            return Ok(Decision::Replace(take(patch)));
        }
        match directive::extract_from_list(theirs, here.trail)? {
            Action::Delete => return Ok(Decision::Remove),
            Action::Replace => {
                self.own_entries(theirs, Side::Patch, &rule, here)?;
                return Ok(Decision::Replace(take(patch)));
            }
            Action::Merge => self.entries(list, theirs, &rule, here)?,
        }
        Ok(Decision::Keep)
    }

    fn infer_keys(&self) -> &'s [SmolStr] {
        self.options.infer_keys.keys()
    }

    /// Merges a list without a counterpart.
    fn own_entries(
        &mut self,
        list: &mut List,
        side: Side,
        rule: &ListRule<'s>,
        here: Location<'_, 's>,
    ) -> Result<()> {
        let element = here.position.element(self.schema);
        if let ListRule::Keyed(keys) = rule {
            let lists = KeyedLists { keys, order: self.options.order(), trail: here.trail };
            return lists
                .normalize(list, side, |node, with, trail| self.value(node, with, element.clone(), trail));
        }
        if side == Side::Patch {
            rule.check_patch(list, here.trail)?;
        }
        let keys = rule.keys(&[list.as_slice()], self.infer_keys(), here.trail)?;
        if are_distinct(list, &keys) {
            return self.distinct_entries(list, side, Location { position: &element, ..here });
        }
        let tuples = Tuples::from_lists([list.as_slice()], keys);
        let mut entries = ListMerge::new(std::mem::take(list), tuples.keys(), here.trail);
        for tuple in tuples.iter() {
            let (dest, visit) = entries.visit(tuple, &[]);
            let trail = here.trail.texts(tuples.keys().names(), tuple);
            let decision = self.value(dest, Counterpart::None(side), element.clone(), &trail)?;
            entries.put(&visit, decision)?;
        }
        *list = entries.finish(self.options.order())?;
        Ok(())
    }

    /// Merges a list in which all entries have unique keys.
    fn distinct_entries(&mut self, list: &mut List, side: Side, here: Location<'_, 's>) -> Result<()> {
        let mut i = 0;
        retain(list, |node| {
            let trail = here.trail.index(i);
            i += 1;
            let decision = self.value(Some(node), Counterpart::None(side), here.position.clone(), &trail)?;
            Ok(!matches!(decision, Decision::Remove) && !is_empty_entry(node))
        })
    }

    /// Merges the list of the patch into the list of dest.
    fn entries(
        &mut self,
        list: &mut List,
        theirs: &mut List,
        rule: &ListRule<'s>,
        here: Location<'_, 's>,
    ) -> Result<()> {
        let element = here.position.element(self.schema);
        if let ListRule::Keyed(keys) = rule {
            let lists = KeyedLists { keys, order: self.options.order(), trail: here.trail };
            return lists.merge(list, theirs, |node, with, at| self.entry(node, with, element.clone(), at));
        }
        rule.check_patch(theirs, here.trail)?;
        let keys = rule.keys(&[list.as_slice(), theirs.as_slice()], self.infer_keys(), here.trail)?;
        let tuples = match self.options.order() {
            ListOrder::Append => Tuples::from_lists([list.as_slice(), theirs.as_slice()], keys),
            ListOrder::Prepend => Tuples::from_lists([theirs.as_slice(), list.as_slice()], keys),
        };
        let mut patch = Lookup::new(theirs, tuples.keys());
        let mut entries = ListMerge::new(std::mem::take(list), tuples.keys(), here.trail);
        for tuple in tuples.iter() {
            let at = patch.find(tuple);
            let entry = at.and_then(|at| theirs.get_mut(at));
            let before = entry.as_deref().filter(|_| tuples.may_overlap()).cloned();
            let (dest, visit) = entries.visit(tuple, &[entry.as_deref()]);
            let with = entry.map_or(Counterpart::None(Side::Dest), Counterpart::Patch);
            let trail = here.trail.texts(tuples.keys().names(), tuple);
            let decision = self.entry(dest, with, element.clone(), &trail)?;
            let is_new = matches!(decision, Decision::Replace(_));
            let result = entries.put(&visit, decision)?;
            if let Some((before, entry)) = before.zip(at.and_then(|at| theirs.get_mut(at))) {
                *entry = match result.filter(|_| is_new) {
                    Some(result) => result.clone(),
                    None => after_visit(before, result, &trail),
                };
            }
        }
        *list = entries.finish(self.options.order())?;
        Ok(())
    }
}

/// Returns true for a field without a value (`a:`), which is removed, unlike `a: null`.
fn is_silent_null(node: &Node) -> bool {
    node.is_null() && node.scalar_text().is_some_and(SmolStr::is_empty)
}
