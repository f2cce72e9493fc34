//! The lists of a two-way merge, as kyaml merges them.

use smol_str::SmolStr;

use super::{Merge2, Own, Source, take};
use crate::diagnostic::Result;
use crate::merge::association::replaced_unknown;
use crate::merge::directive::Action;
use crate::merge::kyaml::entries::{Entries, Side, places};
use crate::merge::kyaml::options::ListOrder;
use crate::merge::kyaml::position::{Pairing, Position};
use crate::merge::kyaml::tuples::{self, Keys, Tuples, are_distinct};
use crate::merge::kyaml::{Fate, directive, retain};
use crate::merge::{Exceptions, Trail};
use crate::yaml::{Node, Value};

impl<'s> Merge2<'s> {
    pub(super) fn list(
        &mut self,
        dest: &mut Node,
        source: Source<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        super::adopt(dest, &source);
        let Value::List(list) = &mut dest.value else { return Ok(Fate::Keep) };
        let theirs = source.node().and_then(Node::as_list).map(Vec::as_slice);
        let from_patch = match source {
            Source::Absent => None,
            Source::Same => Some(list.as_slice()),
            Source::Node(_) => theirs,
        };
        let both = [list.as_slice(), theirs.unwrap_or_default()];
        let sides = if theirs.is_some() { &both[..] } else { &both[..1] };
        let pairing = self.pairing(at, sides, from_patch);
        if pairing == Pairing::Replace {
            let Source::Node(patch) = source else { return Ok(Fate::Keep) };
            if !at.is_known() {
                let new = patch.as_list().map(Vec::as_slice).unwrap_or_default();
                self.warnings.extend(replaced_unknown(list, new, patch.span(), trail));
            }
            return Ok(Fate::Take(take(patch)));
        }
        match source {
            Source::Absent => self.own_entries(list, Own::Absent, pairing, at, trail)?,
            Source::Same => {
                if directive::take_from_list(list, trail)? == Action::Delete {
                    return Ok(Fate::Clear);
                }
                self.own_entries(list, Own::Same, pairing, at, trail)?;
            }
            Source::Node(patch) => {
                let Value::List(theirs) = &mut patch.value else { return Ok(Fate::Keep) };
                match directive::take_from_list(theirs, trail)? {
                    Action::Delete => return Ok(Fate::Clear),
                    Action::Replace => {
                        self.own_entries(theirs, Own::Same, pairing, at, trail)?;
                        return Ok(Fate::Take(take(patch)));
                    }
                    Action::Merge => self.entries(list, theirs, pairing, at, trail)?,
                }
            }
        }
        Ok(Fate::Keep)
    }

    /// A list that dest does not have.
    ///
    /// kustomize 5.8 does not look for directives for the list here, so that one gets into the output.
    pub(super) fn new_list(&mut self, mut node: Node, at: &Position<'s>, trail: &Trail<'_>) -> Result<Fate> {
        let Value::List(list) = &mut node.value else { return Ok(Fate::Take(node)) };
        let pairing = self.pairing(at, &[list.as_slice()], Some(list));
        if pairing == Pairing::Replace {
            return Ok(Fate::Take(node));
        }
        if self.options.exceptions == Exceptions::Listed
            && directive::take_from_list(list, trail)? == Action::Delete
        {
            return Ok(Fate::Clear);
        }
        self.own_entries(list, Own::Same, pairing, at, trail)?;
        Ok(Fate::Take(node))
    }

    fn pairing(&self, at: &Position<'s>, sides: &[&[Node]], from_patch: Option<&[Node]>) -> Pairing {
        match self.options.exceptions {
            Exceptions::None => at.pairing_of(sides, self.infer_keys()),
            Exceptions::Listed => at.strict_pairing(sides, from_patch, self.infer_keys(), self.schema),
        }
    }

    fn infer_keys(&self) -> &'s [SmolStr] {
        self.options.infer_keys.keys()
    }

    /// A list that no other list is merged into.
    fn own_entries(
        &mut self,
        list: &mut Vec<Node>,
        own: Own,
        pairing: Pairing,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        if let Pairing::Strict(keys) = &pairing {
            return self.strict_own_entries(list, own, keys, at, trail);
        }
        let keys = &pairing.keys(&[list.as_slice()], self.infer_keys(), trail)?;
        let element = at.element(self.schema);
        if are_distinct(list, keys) {
            return self.distinct_entries(list, own, &element, trail);
        }
        let mut tuples = Tuples::collect(std::iter::once(list.as_slice()), keys);
        tuples.fill_gaps();
        let keys = tuples.drop_unused_keys(keys);
        let mut entries = Entries::new(std::mem::take(list), &keys);
        for tuple in tuples.iter() {
            self.entry(&mut entries, tuple, own.source(), &element, trail)?;
        }
        *list = entries.finish(self.options.list_order, trail)?;
        Ok(())
    }

    /// The entries of a list in which nothing is twice and nothing lacks a key.
    fn distinct_entries(
        &mut self,
        list: &mut Vec<Node>,
        own: Own,
        element: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        let mut i = 0;
        retain(list, |node| {
            let here = trail.index(i);
            i += 1;
            let fate = self.value(Some(node), own.source(), element.clone(), &here)?;
            Ok(!matches!(fate, Fate::Clear) && !tuples::is_nothing(node))
        })
    }

    /// Merges the patch's list into dest's.
    fn entries(
        &mut self,
        list: &mut Vec<Node>,
        theirs: &mut Vec<Node>,
        pairing: Pairing,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<()> {
        if let Pairing::Strict(keys) = &pairing {
            return self.strict_entries(list, theirs, keys, at, trail);
        }
        let keys = &pairing.keys(&[list.as_slice(), theirs.as_slice()], self.infer_keys(), trail)?;
        let mut tuples = self.tuples(list, theirs, keys);
        if tuples.is_empty() {
            return Ok(());
        }
        let revisits = keys.len() > 1 && tuples.has_gaps();
        tuples.fill_gaps();
        let keys = tuples.drop_unused_keys(keys);
        let element = at.element(self.schema);
        let mut side = Side::new(theirs, &keys);
        let mut entries = Entries::new(std::mem::take(list), &keys);
        for tuple in tuples.iter() {
            let Some(node) = side.find(tuple).and_then(|i| theirs.get_mut(i)) else {
                self.entry(&mut entries, tuple, Source::Absent, &element, trail)?;
                continue;
            };
            if !revisits {
                self.entry(&mut entries, tuple, Source::Node(node), &element, trail)?;
                continue;
            }
            let mut visit = node.clone();
            let known = entries.len();
            let result = self.entry(&mut entries, tuple, Source::Node(&mut visit), &element, trail)?;
            remember_visit(node, result.map(|entry| entries.node(entry)), result >= Some(known), trail);
        }
        *list = entries.finish(self.options.list_order, trail)?;
        Ok(())
    }

    fn tuples(&self, list: &[Node], theirs: &[Node], keys: &Keys) -> Tuples {
        match self.options.list_order {
            ListOrder::Append => Tuples::collect([list, theirs].into_iter(), keys),
            ListOrder::Prepend => Tuples::collect([theirs, list].into_iter(), keys),
        }
    }

    /// Merges the entries that a tuple means and puts the result, if any, among the others.
    fn entry(
        &mut self,
        entries: &mut Entries,
        tuple: &[SmolStr],
        source: Source<'_>,
        element: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Option<usize>> {
        let found = entries.find(tuple);
        let (dest, keys) = entries.at(found);
        let source = if dest.is_none() && matches!(source, Source::Same) { Source::Absent } else { source };
        let places = places(keys, tuple, &[dest.as_deref(), source.node()]);
        let fate = self.value(dest, source, element.clone(), &trail.texts(keys, tuple))?;
        entries.settle(tuple, found, fate, &places, trail)
    }
}

/// What a visit leaves of an entry of the patch that more than one tuple may mean: its directive is
/// gone, and it shares with the result what went into that (kustomize 5.8, by accident).
fn remember_visit(node: &mut Node, result: Option<&Node>, taken: bool, trail: &Trail<'_>) {
    if let Some(result) = result.filter(|_| taken) {
        *node = result.clone();
        return;
    }
    let Value::Map(map) = &mut node.value else { return };
    // What is wrong with a directive was said during the visit.
    directive::take_from_map(map, trail).ok();
    for (key, value) in map.iter_mut().filter(|(_, value)| !value.is_null()) {
        match result.and_then(|result| result.get(key)) {
            Some(merged) if matches!(merged.value, Value::Scalar(_)) => value.clone_from(merged),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge2;
    use crate::merge::Exceptions;
    use crate::merge::kyaml::options::{InferKeys, ListOrder, MergeOptions};
    use crate::merge::kyaml::testing::{node, outcome, wanted};
    use crate::schema::Schema;

    /// Where lists stand: their keys are `name`; `port` and `protocol`; their own texts; unknown.
    const CONTAINERS: &str = "{apiVersion: v1, kind: Pod, spec: {containers: LIST}}";
    const PORTS: &str = "{apiVersion: v1, kind: Service, spec: {ports: LIST}}";
    const FINALIZERS: &str = "{apiVersion: v1, kind: Pod, metadata: {finalizers: LIST}}";
    const UNKNOWN: &str = "{list: LIST}";

    fn merged(frame: &str, dest: &str, patch: &str, options: &MergeOptions) -> String {
        let object = |list: &str| node(&frame.replace("LIST", list));
        outcome(merge2(Some(object(dest)), &object(patch), &Schema::kustomize(), options))
    }

    fn check(frame: &str, table: &[(&str, &str, &str)], options: &MergeOptions) {
        for (dest, patch, want) in table {
            let want = if want.starts_with('[') { frame.replace("LIST", want) } else { (*want).to_string() };
            assert_eq!(merged(frame, dest, patch, options), wanted(&want), "{patch} onto {dest}");
        }
    }

    #[test]
    fn changed_and_new_entries_go_first() {
        let table = [
            ("[{name: a}, {name: b}]", "[{name: b, image: x}]", "[{name: b, image: x}, {name: a}]"),
            ("[{name: a}]", "[{name: c}, {name: b}]", "[{name: c}, {name: b}, {name: a}]"),
            ("[{name: a}]", "[]", "[{name: a}]"),
            ("[{name: '1'}]", "[{name: 1, image: x}]", "[{name: '1', image: x}]"),
            ("[{name: a}, {name: b}]", "[{name: a, $patch: delete}]", "[{name: b}]"),
            ("[{name: a}]", "[{name: a, $patch: delete}]", "[]"),
            ("[{name: a}]", "[{name: b, $patch: delete}]", "[{name: a}]"),
            ("[{name: a}]", "[{$patch: replace}, {name: b}]", "[{name: b}]"),
            (
                "[{name: a}, {name: b}]",
                "[{name: b, args: [1]}, {$patch: merge}]",
                "[{name: b, args: [1]}, {name: a}]",
            ),
            ("[{name: a}]", "[{name: b, image: x}, {name: b, image: y}]", "[{name: b, image: x}, {name: a}]"),
        ];
        check(CONTAINERS, &table, &MergeOptions::kustomize(Exceptions::None));
    }

    #[test]
    fn appended_entries_go_last() {
        let table = [
            (
                "[{name: a}, {name: b}]",
                "[{name: c}, {name: a, image: x}]",
                "[{name: a, image: x}, {name: b}, {name: c}]",
            ),
            (
                "[{name: a, image: x}, {name: b}]",
                "[{name: a, $patch: replace, args: []}]",
                "[{name: a, args: []}, {name: b}]",
            ),
            (
                "[{name: a, image: x}, {name: a, image: y}]",
                "[{name: b}]",
                "[{name: a, image: x}, {name: a, image: x}, {name: b}]",
            ),
        ];
        check(CONTAINERS, &table, &MergeOptions::kyaml(ListOrder::Append, InferKeys::Off));
    }

    #[test]
    fn what_kustomize_loses_is_lost() {
        let table = [
            // An entry without the key empties the list; one in dest takes all others with it.
            ("[{name: a}, {name: b}]", "[{image: x}]", "[]"),
            ("[{name: a}, {image: x}, {name: b}]", "[{name: c}]", "[{image: x}]"),
            ("[{name: a, image: x}, {name: b}, {name: a}]", "[{name: b}]", "[{name: b}, {name: a}]"),
            ("[{name: a, image: x}]", "[{name: a, $patch: replace, args: []}]", "[{name: a, image: x}]"),
            ("[{name: a}, null, {}]", "[{name: b}, null]", "[{name: b}]"),
            ("[x]", "[{name: a}]", "WrongType"),
            ("[{name: a}]", "[x]", "[]"),
        ];
        check(CONTAINERS, &table, &MergeOptions::kustomize(Exceptions::None));
        let ports = [
            // One key where nobody has the other; then two, and changed entries stay in their place.
            (
                "[{port: 1}, {port: 2}]",
                "[{port: 2, name: x}, {port: 3}]",
                "[{port: 2, name: x}, {port: 3}, {port: 1}]",
            ),
            (
                "[{port: 1, protocol: TCP}, {port: 1, protocol: UDP}]",
                "[{port: 1, protocol: UDP, name: x}, {port: 3, protocol: TCP}]",
                "[{port: 3, protocol: TCP}, {port: 1, protocol: TCP}, {port: 1, protocol: UDP, name: x}]",
            ),
            // Which entry is meant when one side has no protocol: not the one that was written.
            ("[{port: 1}]", "[{port: 1, protocol: UDP, name: x}]", "[{port: 1}]"),
            ("[{port: 1, protocol: UDP}]", "[{port: 1, name: x}]", "[{port: 1, protocol: UDP}]"),
        ];
        check(PORTS, &ports, &MergeOptions::kustomize(Exceptions::None));
    }

    #[test]
    fn scalars_are_united() {
        let table = [
            ("[a, b]", "[c, b]", "[c, b, a]"),
            ("[a, a]", "[]", "[a]"),
            ("[a]", "[{$patch: replace}, b]", "[b]"),
            ("[a]", "[null]", "[a]"),
            ("[a]", "[{x: 1}]", "WrongType"),
        ];
        check(FINALIZERS, &table, &MergeOptions::kustomize(Exceptions::None));
    }

    #[test]
    fn lists_of_unknown_type_are_replaced_or_their_key_is_inferred() {
        check(
            UNKNOWN,
            &[("[{name: a}]", "[{name: b}]", "[{name: b}]")],
            &MergeOptions::kustomize(Exceptions::None),
        );
        let name = MergeOptions::kyaml(ListOrder::Append, InferKeys::name());
        let table = [
            ("[{name: a}]", "[{name: b}]", "[{name: a}, {name: b}]"),
            ("[{ip: a}]", "[{ip: b}]", "[{ip: b}]"),
            ("[{name: a}]", "[{ip: b}]", "Ambiguous"),
            ("[]", "[x]", "MissingMergeKey"),
        ];
        check(UNKNOWN, &table, &name);
        let usual = MergeOptions::kyaml(ListOrder::Append, InferKeys::usual());
        let table = [
            ("[{ip: a, name: x}]", "[{name: y, ip: a}]", "[{ip: a, name: y}]"),
            ("[{topologyKey: a}]", "[{topologyKey: b}]", "[{topologyKey: a}, {topologyKey: b}]"),
        ];
        check(UNKNOWN, &table, &usual);
    }

    #[test]
    fn new_lists_are_merged_with_themselves() {
        let frame = "{apiVersion: v1, kind: Pod, spec: SPEC}";
        let table = [
            (
                "{}",
                "{containers: [{name: a, image: null}, {name: a, args: [x]}]}",
                "{containers: [{name: a, args: [x]}]}",
            ),
            ("{}", "{containers: [{name: a, $patch: delete}, {name: b}]}", "{containers: [{name: b}]}"),
            ("{}", "{containers: [{$patch: replace}, {name: b}]}", "{containers: [{$patch: replace}]}"),
            ("{containers: null}", "{containers: [{name: b}]}", "{containers: [{name: b}]}"),
        ];
        for (dest, patch, want) in table {
            let object = |spec: &str| node(&frame.replace("SPEC", spec));
            let got = merge2(
                Some(object(dest)),
                &object(patch),
                &Schema::kustomize(),
                &MergeOptions::kustomize(Exceptions::None),
            );
            assert_eq!(outcome(got), wanted(&frame.replace("SPEC", want)), "{patch} onto {dest}");
        }
    }

    #[test]
    fn a_comment_says_how_a_list_merges() {
        let comment = "# {\"type\":\"array\",\"x-kubernetes-patch-strategy\":\"merge\",\"x-kubernetes-patch-merge-key\":\"id\"}";
        let dest = crate::merge::kyaml::testing::commented(&format!("list: {comment}\n- id: 1\n  a: 1\n"));
        let patch = node("{list: [{id: 1, b: 2}]}");
        let got = merge2(Some(dest), &patch, &Schema::none(), &MergeOptions::kustomize(Exceptions::None));
        assert_eq!(outcome(got), "{list: [{id: 1, a: 1, b: 2}]}");
    }

    #[test]
    fn long_lists_merge_like_short_ones() {
        let list = |range: std::ops::Range<usize>, field: &str| {
            let entries: Vec<_> = range.map(|i| format!("{{name: n{i}, {field}: 1}}")).collect();
            format!("[{}]", entries.join(", "))
        };
        let got = merged(
            CONTAINERS,
            &list(0..3000, "a"),
            &list(1000..4000, "b"),
            &MergeOptions::kustomize(Exceptions::None),
        );
        let both = list(1000..3000, "a: 1, b");
        let want = [both, list(3000..4000, "b"), list(0..1000, "a")].join(", ").replace("], [", ", ");
        assert_eq!(got, wanted(&CONTAINERS.replace("LIST", &want)));
    }
}
