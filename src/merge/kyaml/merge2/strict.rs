//! The lists of a two-way merge where nothing may get lost silently.
//!
//! What comes out is what kustomize makes of lists that are as they should be, in the same order.
//! Where it would lose entries (no merge key, equal keys, a key that only one side spells out) there
//! is an error, or the entry finds the one that it means.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::Merge2;
use super::counterpart::{Counterpart, Side};
use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::merge::directive::PATCH_MERGE_KEY;
use crate::merge::kyaml::options::ListOrder;
use crate::merge::kyaml::tuples::{are_distinct, is_nothing};
use crate::merge::kyaml::walk::{Decision, Here, retain};
use crate::merge::kyaml::wish::{Haystack, KeySet, Wish};
use crate::yaml::{Node, Value};

/// An entry of the result that the patch speaks of.
enum Entry {
    /// It was at this position.
    Merged(usize),
    New(Node),
}

impl<'s> Merge2<'s> {
    /// A list that no other list is merged into.
    pub(super) fn strict_own_entries(
        &mut self,
        list: &mut Vec<Node>,
        side: Side,
        keys: &KeySet,
        Here { at, trail }: Here<'_, 's>,
    ) -> Result<()> {
        let element = at.element(self.schema);
        match side {
            Side::Dest => drop_doubles(list, keys),
            Side::Patch => {
                read(list, keys, trail)?;
                keys.check_distinct(list, trail)?;
            }
        }
        let mut i = 0;
        retain(list, |node| {
            let here = trail.index(i);
            i += 1;
            if side == Side::Patch {
                drop_named_keys(node);
            }
            let decision = self.value(Some(node), Counterpart::None(side), element.clone(), &here)?;
            let is_lost = side == Side::Patch && is_nothing(node);
            Ok(!matches!(decision, Decision::Remove) && !is_lost)
        })
    }

    /// Merges the patch's list into dest's.
    pub(super) fn strict_entries(
        &mut self,
        list: &mut Vec<Node>,
        theirs: &mut [Node],
        keys: &KeySet,
        Here { at, trail }: Here<'_, 's>,
    ) -> Result<()> {
        let wishes = read(theirs, keys, trail)?;
        keys.check_distinct(theirs, trail)?;
        if !wishes.iter().any(|wish| wish.named) {
            keys.check_distinct(list, trail)?;
        }
        // kustomize 5.8 moves changed entries to the front only where one key tells all apart.
        let in_place =
            self.options.list_order == ListOrder::Append || keys.used(&[list.as_slice(), &*theirs]) > 1;
        let element = at.element(self.schema);
        let mut dest = Haystack::new(std::mem::take(list), keys);
        for (i, wish) in wishes.iter().enumerate().filter(|(_, wish)| wish.delete) {
            dest.delete(wish, &theirs[i], &trail.index(i))?;
        }
        let mut results = Vec::with_capacity(theirs.len());
        let mut touched = vec![false; dest.entries.len()];
        for (i, wish) in wishes.iter().enumerate().filter(|(_, wish)| !wish.delete) {
            let texts = keys.texts(&theirs[i]);
            let here = match &texts {
                Some(texts) => trail.texts(keys.keys().names(), texts),
                None => trail.index(i),
            };
            let found = dest.find(wish, &theirs[i], &here)?;
            drop_named_keys(&mut theirs[i]);
            if found.is_some_and(|at| std::mem::replace(&mut touched[at], true)) {
                let message = "this entry of the patch is about one that another entry changed already";
                return Err(here.error(Code::DuplicateMergeKey, message).at(theirs[i].span()));
            }
            results.extend(self.strict_entry(
                &mut dest,
                found,
                &mut theirs[i],
                Here { at: &element, trail: &here },
            )?);
        }
        for (i, slot) in dest.entries.iter_mut().enumerate().filter(|(i, _)| !touched[*i]) {
            let decision = match slot {
                Some(node) => {
                    self.value(Some(node), Counterpart::None(Side::Dest), element.clone(), &trail.index(i))?
                }
                None => Decision::Remove,
            };
            if matches!(decision, Decision::Remove) {
                *slot = None;
            }
        }
        *list = arrange(dest.entries, results, self.options.list_order, in_place);
        Ok(())
    }

    /// Merges one entry of the patch into the one that it is about, or makes a new one of it.
    fn strict_entry(
        &mut self,
        dest: &mut Haystack<'_>,
        found: Option<usize>,
        entry: &mut Node,
        Here { at: element, trail }: Here<'_, 's>,
    ) -> Result<Option<Entry>> {
        let slot = found.and_then(|at| dest.entries.get_mut(at));
        let old = slot.and_then(Option::as_mut);
        let is_new = old.is_none();
        let decision = self.value(old, Counterpart::Patch(entry), element.clone(), trail)?;
        let replaces = self.options.list_order == ListOrder::Append;
        Ok(match (decision, found) {
            (Decision::Replace(node), _) if is_new => (!is_nothing(&node)).then_some(Entry::New(node)),
            // Where entries go to the front, kustomize 5.8 puts the old one back over its replacement.
            (Decision::Replace(node), Some(at)) => {
                if replaces {
                    dest.entries[at] = Some(node);
                }
                Some(Entry::Merged(at))
            }
            (Decision::Keep, found) => found.map(Entry::Merged),
            (_, found) => {
                if let Some(at) = found {
                    dest.entries[at] = None;
                }
                None
            }
        })
    }
}

fn read(entries: &[Node], keys: &KeySet, trail: &Trail<'_>) -> Result<Vec<Wish>> {
    entries.iter().enumerate().map(|(i, entry)| keys.wish(entry, &trail.index(i))).collect()
}

fn drop_named_keys(entry: &mut Node) {
    if let Value::Map(map) = &mut entry.value {
        map.remove(PATCH_MERGE_KEY);
    }
}

/// The merged list in its order: the new entries behind or before those of dest, and where it does
/// not merge in place, the changed ones with them.
fn arrange(mut dest: Vec<Option<Node>>, results: Vec<Entry>, order: ListOrder, in_place: bool) -> Vec<Node> {
    let take = |entry| match entry {
        Entry::New(node) => Some(node),
        Entry::Merged(at) if !in_place => dest.get_mut(at).and_then(Option::take),
        Entry::Merged(_) => None,
    };
    let moved: Vec<_> = results.into_iter().filter_map(take).collect();
    let stays = dest.into_iter().flatten();
    match order {
        ListOrder::Append => stays.chain(moved).collect(),
        ListOrder::Prepend => moved.into_iter().chain(stays).collect(),
    }
}

/// Of entries with equal keys in a list that the patch does not speak of the last one stays, as in
/// kustomize: where the first one was if one key tells the entries apart, else where it is.
fn drop_doubles(list: &mut Vec<Node>, keys: &KeySet) {
    if are_distinct(list, keys.keys()) {
        return;
    }
    let moves = keys.used(&[list.as_slice()]) <= 1;
    let mut known: FxHashMap<Vec<SmolStr>, usize> = FxHashMap::default();
    let mut out: Vec<Option<Node>> = Vec::with_capacity(list.len());
    for node in list.drain(..) {
        let texts = keys.texts(&node);
        let earlier = texts.as_ref().and_then(|texts| known.get(texts).copied());
        if let Some(at) = earlier.filter(|_| moves) {
            out[at] = Some(node);
            continue;
        }
        if let Some(at) = earlier {
            out[at] = None;
        }
        known.extend(texts.map(|texts| (texts, out.len())));
        out.push(Some(node));
    }
    list.extend(out.into_iter().flatten());
}

#[cfg(test)]
mod tests {
    use super::super::merge2;
    use crate::diagnostic::{Code, Diagnostic};
    use crate::merge::kyaml::options::{InferKeys, ListOrder, MergeOptions};
    use crate::merge::kyaml::testing::{node, outcome, shown, wanted};
    use crate::merge::{Exceptions, Merged};
    use crate::schema::Schema;

    const CONTAINERS: &str = "{apiVersion: v1, kind: Pod, spec: {containers: LIST}}";
    const PORTS: &str = "{apiVersion: v1, kind: Service, spec: {ports: LIST}}";
    const SPREAD: &str = "{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: LIST}}";
    const UNKNOWN: &str = "{list: LIST}";

    fn merge(
        frame: &str,
        dest: &str,
        patch: &str,
        options: &MergeOptions,
    ) -> crate::diagnostic::Result<Merged> {
        let object = |list: &str| node(&frame.replace("LIST", list));
        let patch = if patch.is_empty() { node("{touched: 1}") } else { object(patch) };
        merge2(Some(object(dest)), &patch, &Schema::embedded(), options)
    }

    fn check(frame: &str, table: &[(&str, &str, &str)]) {
        check_with(frame, table, &MergeOptions::kustomize(Exceptions::Listed));
    }

    fn check_with(frame: &str, table: &[(&str, &str, &str)], options: &MergeOptions) {
        for (dest, patch, want) in table {
            let mut want =
                if want.starts_with('[') { frame.replace("LIST", want) } else { (*want).to_string() };
            if patch.is_empty() {
                want = want.replacen("]}}", "]}, touched: 1}", 1);
            }
            assert_eq!(outcome(merge(frame, dest, patch, options)), wanted(&want), "{patch} onto {dest}");
        }
    }

    fn error(frame: &str, dest: &str, patch: &str) -> Diagnostic {
        merge(frame, dest, patch, &MergeOptions::kustomize(Exceptions::Listed)).expect_err(patch)
    }

    #[test]
    fn sound_lists_merge_as_in_kustomize() {
        check(
            CONTAINERS,
            &[
                (
                    "[{name: a}, {name: b}]",
                    "[{name: c}, {name: b, image: x}]",
                    "[{name: c}, {name: b, image: x}, {name: a}]",
                ),
                ("[{name: a}, {name: b}]", "[{name: a, $patch: delete}]", "[{name: b}]"),
                ("[{name: a, image: x}]", "[{name: a, $patch: replace, args: []}]", "[{name: a, image: x}]"),
                ("[{name: a}]", "[{$patch: replace}, {name: b}]", "[{name: b}]"),
                ("[{name: a, env: [{name: X, value: }]}]", "", "[{name: a, env: [{name: X}]}]"),
            ],
        );
        let append = MergeOptions {
            exceptions: Exceptions::Listed,
            ..MergeOptions::kyaml(ListOrder::Append, InferKeys::Off)
        };
        let table = [
            (
                "[{name: a}, {name: b}]",
                "[{name: c}, {name: b, image: x}]",
                "[{name: a}, {name: b, image: x}, {name: c}]",
            ),
            ("[{name: a, image: x}]", "[{name: a, $patch: replace, args: []}]", "[{name: a, args: []}]"),
        ];
        check_with(CONTAINERS, &table, &append);
    }

    #[test]
    fn absent_keys_count_with_their_default() {
        let two = "[{port: 53, protocol: UDP}, {port: 53, name: t}]";
        let table = [
            (
                two,
                "[{port: 53, protocol: TCP, targetPort: 5}]",
                "[{port: 53, protocol: UDP}, {port: 53, name: t, protocol: TCP, targetPort: 5}]",
            ),
            (
                two,
                "[{port: 53, targetPort: 5}]",
                "[{port: 53, protocol: UDP}, {port: 53, name: t, targetPort: 5}]",
            ),
            (two, "[{port: 53, $patch: delete}]", "[{port: 53, protocol: UDP}]"),
            (two, "", two),
            ("[{port: 1}]", "[{port: 1, protocol: UDP}]", "[{port: 1, protocol: UDP}, {port: 1}]"),
            ("[{port: 1}, {port: 2}]", "[{port: 2, name: x}]", "[{port: 2, name: x}, {port: 1}]"),
        ];
        check(PORTS, &table);
        let table = [
            (
                "[{topologyKey: z, whenUnsatisfiable: A}]",
                "[{topologyKey: z, maxSkew: 2}]",
                "[{topologyKey: z, whenUnsatisfiable: A, maxSkew: 2}]",
            ),
            (
                "[{topologyKey: z, whenUnsatisfiable: A}, {topologyKey: z, whenUnsatisfiable: B}]",
                "[{topologyKey: z}]",
                "Ambiguous",
            ),
        ];
        check(SPREAD, &table);
    }

    #[test]
    fn entries_that_cannot_be_told_apart_are_errors() {
        let table = [
            ("[{name: a}]", "[{image: x}]", "MissingMergeKey"),
            ("[{name: a}]", "[{name: null}]", "MissingMergeKey"),
            ("[{name: a}]", "[x]", "MissingMergeKey"),
            ("[{name: a}]", "[null]", "MissingMergeKey"),
            ("[{name: a}, {name: a}]", "[{name: b}]", "DuplicateMergeKey"),
            ("[{name: a}]", "[{name: b}, {name: b}]", "DuplicateMergeKey"),
            ("[{name: a}]", "[{name: a, $patch: delete}, {name: a}]", "DuplicateMergeKey"),
            ("null", "[{image: x}]", "MissingMergeKey"),
            ("null", "[{name: b}, {name: b}]", "DuplicateMergeKey"),
        ];
        check(CONTAINERS, &table);
        check(PORTS, &[("[{port: 1}, {port: 1, protocol: TCP}]", "[{port: 2}]", "DuplicateMergeKey")]);

        let missing = error(CONTAINERS, "[{name: a}]", "[{name: b}, {image: x}]");
        assert_eq!(missing.field_path(), Some("spec.containers[1]"));
        assert!(!missing.labels().is_empty());
        let twice = error(CONTAINERS, "[{name: a}, {name: a}]", "[{name: b}]");
        assert_eq!(twice.field_path(), Some("spec.containers[name=a]"));
        assert_eq!(twice.labels().len(), 2);
    }

    #[test]
    fn dest_keeps_what_the_patch_does_not_speak_of() {
        let table = [
            (
                "[{name: a}, {image: x}, {name: b}]",
                "[{name: c}]",
                "[{name: c}, {name: a}, {image: x}, {name: b}]",
            ),
            ("[{name: a, image: x}, {name: b}, {name: a, image: y}]", "", "[{name: a, image: y}, {name: b}]"),
            ("[{image: x}, null]", "", "[{image: x}, null]"),
        ];
        check(CONTAINERS, &table);
        let ports = "[{port: 1, protocol: TCP, name: x}, {port: 2, protocol: UDP}, {port: 1, protocol: TCP}]";
        check(PORTS, &[(ports, "", "[{port: 2, protocol: UDP}, {port: 1, protocol: TCP}]")]);
    }

    #[test]
    fn new_lists_lose_their_directives() {
        let table = [
            ("null", "[{$patch: replace}, {name: a, image: null}]", "[{name: a}]"),
            ("null", "[{name: a, $patch: delete}, {name: b, $patch: merge}]", "[{name: b}]"),
            ("null", "[{name: a, $patchMergeKey: [name]}]", "[{name: a}]"),
        ];
        check(CONTAINERS, &table);
        let deleted = merge(
            CONTAINERS,
            "null",
            "[{$patch: delete}, {name: a}]",
            &MergeOptions::kustomize(Exceptions::Listed),
        );
        assert_eq!(outcome(deleted), "{apiVersion: v1, kind: Pod, spec: {}}");
    }

    #[test]
    fn a_patch_may_name_its_keys() {
        let two = "[{foo: a}, {foo: a, bar: x}]";
        let table = [
            (two, "[{$patchMergeKey: [foo, bar], foo: a, val: 1}]", "[{foo: a, val: 1}, {foo: a, bar: x}]"),
            (
                two,
                "[{$patchMergeKey: [foo, bar], foo: a, bar: x, val: 1}]",
                "[{foo: a, bar: x, val: 1}, {foo: a}]",
            ),
            (two, "[{$patchMergeKey: [foo], foo: a}]", "Ambiguous"),
            (two, "[{$patchMergeKey: [foo], foo: a, $patch: delete}]", "[]"),
            (
                two,
                "[{$patchMergeKey: [foo, bar], foo: a, bar: null, val: 1}]",
                "[{foo: a, val: 1}, {foo: a}]",
            ),
            (two, "[{$patchMergeKey: [foo, bar], foo: a, bar: null, $patch: delete}]", "[{foo: a}]"),
            ("[{foo: a}]", "[{$patchMergeKey: [foo, bar], foo: a, bar: null, val: 1}]", "[{foo: a, val: 1}]"),
            ("[{foo: a}]", "[{$patchMergeKey: [foo, bar], foo: b, bar: null}]", "[{foo: b}, {foo: a}]"),
            (
                "[{foo: a, bar: x, val: 1}]",
                "[{$patchMergeKey: [foo, bar], foo: a, bar: x, $patch: delete}, {$patchMergeKey: [foo, bar], foo: a, bar: y}]",
                "[{foo: a, bar: y}]",
            ),
            (
                "[{foo: a, bar: x, val: 1}]",
                "[{$patchMergeKey: [foo], foo: a, bar: y}]",
                "[{foo: a, bar: y, val: 1}]",
            ),
            (
                "[{foo: a}]",
                "[{$patchMergeKey: [foo], foo: a}, {$patchMergeKey: [foo], foo: a}]",
                "DuplicateMergeKey",
            ),
            ("[{foo: a}]", "[{$patchMergeKey: [foo], foo: a}, {foo: b}]", "MissingMergeKey"),
            ("[{foo: a}]", "[{$patchMergeKey: foo, foo: a}]", "Directive"),
            ("[{foo: a}]", "[{$patchMergeKey: [], foo: a}]", "Directive"),
        ];
        check(UNKNOWN, &table);
    }

    #[test]
    fn named_keys_and_the_schema() {
        let table = [
            ("[{port: 1}]", "[{$patchMergeKey: [protocol], port: 1}]", "Directive"),
            ("[{port: 1}]", "[{$patchMergeKey: [port, protocol], protocol: TCP}]", "MissingMergeKey"),
            (
                "[{port: 1, protocol: UDP}, {port: 1, protocol: TCP}]",
                "[{$patchMergeKey: [port, protocol], port: 1, name: x}]",
                "[{port: 1, protocol: UDP}, {port: 1, protocol: TCP, name: x}]",
            ),
            (
                "[{port: 1}, {port: 1, protocol: UDP}]",
                "[{$patchMergeKey: [port, protocol], port: 1, protocol: TCP, name: x}]",
                "[{port: 1, name: x, protocol: TCP}, {port: 1, protocol: UDP}]",
            ),
            ("[{port: 1}, {port: 1}]", "[{$patchMergeKey: [port], port: 2}, {port: 1}]", "Ambiguous"),
        ];
        check(PORTS, &table);
    }

    #[test]
    fn custom_resources_merge_by_list_type_and_built_in_ones_do_not() {
        use crate::schema::openapi::read;
        let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {rules: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}}}}, tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}, args: {type: array, items: {type: string}}}}}}}}]}}";
        let mut schema = Schema::embedded();
        let graph = read(&node(crd)).and_then(|model| model.compile()).expect("a definition");
        schema.push_front("crd", std::sync::Arc::new(graph));
        let thing = |spec: &str| node(&format!("{{apiVersion: example.com/v1, kind: Thing, spec: {spec}}}"));
        let dest = thing("{rules: [{id: a, x: 1}], tags: [t], args: [a]}");
        let patch = thing("{rules: [{id: a, y: 2}, {id: b}], tags: [u], args: [b]}");
        let merged = |options: &MergeOptions| outcome(merge2(Some(dest.clone()), &patch, &schema, options));
        let want = thing("{rules: [{id: a, x: 1, y: 2}, {id: b}], tags: [u, t], args: [b]}");
        assert_eq!(merged(&MergeOptions::kustomize(Exceptions::Listed)), shown(&want));
        let want = thing("{rules: [{id: a, y: 2}, {id: b}], tags: [u], args: [b]}");
        assert_eq!(merged(&MergeOptions::kustomize(Exceptions::None)), shown(&want));

        // A built-in list of the type `map` without a patch strategy.
        let claims =
            "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, resources: {claims: LIST}}]}}";
        check(claims, &[("[{name: x}]", "[{name: y}]", "[{name: y}]")]);
    }

    #[test]
    fn keys_are_inferred_where_all_entries_have_one() {
        let options =
            MergeOptions { infer_keys: InferKeys::usual(), ..MergeOptions::kustomize(Exceptions::Listed) };
        let table = [
            ("[{name: a, ip: 1}]", "[{name: a, x: 1}]", "[{name: a, ip: 1, x: 1}]"),
            ("[{name: a}]", "[{ip: 1}]", "[{ip: 1}]"),
            ("[]", "[x]", "[x]"),
        ];
        check_with(UNKNOWN, &table, &options);
    }

    #[test]
    fn long_lists_are_searched_by_key() {
        let entries = |range: std::ops::Range<usize>, more: &str| {
            let list: Vec<_> = range.map(|i| format!("{{port: {i}{more}}}")).collect();
            format!("[{}]", list.join(", "))
        };
        let got = merge(
            PORTS,
            &entries(1..2000, ""),
            &entries(1000..3000, ", protocol: TCP"),
            &MergeOptions::kustomize(Exceptions::Listed),
        );
        let merged = got.expect("merged").node.expect("something");
        let ports = merged.get_path(&["spec", "ports"]).and_then(crate::yaml::Node::as_list).expect("ports");
        assert_eq!(ports.len(), 2999);
        let with_protocol = ports.iter().filter(|port| port.get("protocol").is_some()).count();
        assert_eq!(with_protocol, 2000);
        assert_eq!(error(PORTS, "[{port: 1}]", "[{port: 2}, {name: x}]").code(), Code::MissingMergeKey);
    }
}
