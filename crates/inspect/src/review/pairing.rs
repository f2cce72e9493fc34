//! Pairs the objects of two builds: by identity, then by a former name or namespace, then by similarity.

use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use smp_overlay::package::similar_manifests;
use smp_overlay::resource::{ResId, Resource};
use smp_overlay::transform::name_without_hash;
use smp_text::yaml::Node;

/// The indices of an object in the old and the new build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub old: Option<usize>,
    pub new: Option<usize>,
}

impl Pair {
    /// Returns the objects of both sides.
    pub fn resources<'r>(&self, sides: [&'r [Resource]; 2]) -> [Option<&'r Resource>; 2] {
        [self.old.map(|i| &sides[0][i]), self.new.map(|i| &sides[1][i])]
    }
}

/// The identity of an object, whatever the version of its kind is: group, kind, namespace and name.
type Identity = (SmolStr, SmolStr, SmolStr, SmolStr);

fn identity(id: &ResId) -> Identity {
    (id.gvk.group.clone(), id.gvk.kind.clone(), id.effective_namespace().into(), id.name.clone())
}

/// Pairs all objects of two builds. Each object occurs once: first the objects of the new build in their order, then
/// those that only the old build has.
pub(super) fn pair_objects(old: &[Resource], new: &[Resource]) -> Vec<Pair> {
    let mut pairing =
        Pairing { old, new, partner_of_old: vec![None; old.len()], partner_of_new: vec![None; new.len()] };
    pairing.join_equal_ids();
    pairing.join(|resource| vec![identity(resource.id())]);
    // If a build changed the name or namespace, it is known from the object's history.
    pairing.join(|resource| resource.ids().map(identity).collect());
    pairing.join(|resource| without_hash(resource.id()).into_iter().collect());
    pairing.join(|resource| {
        let (group, kind, _, name) = identity(resource.id());
        vec![(group, kind, name)]
    });
    pairing.join_similar();
    pairing.into_pairs()
}

fn without_hash(id: &ResId) -> Option<Identity> {
    let stem = name_without_hash(&id.name)?;
    Some(identity(&ResId { name: stem.into(), ..id.clone() }))
}

struct Pairing<'r> {
    old: &'r [Resource],
    new: &'r [Resource],
    partner_of_old: Vec<Option<usize>>,
    partner_of_new: Vec<Option<usize>>,
}

impl<'r> Pairing<'r> {
    fn pair(&mut self, old: usize, new: usize) {
        self.partner_of_old[old] = Some(new);
        self.partner_of_new[new] = Some(old);
    }

    /// Pairs objects with equal IDs. Manifests may contain an ID twice; these objects are paired in order.
    fn join_equal_ids(&mut self) {
        let mut by_id: FxHashMap<&ResId, VecDeque<usize>> = FxHashMap::default();
        for (i, resource) in self.old.iter().enumerate() {
            by_id.entry(resource.id()).or_default().push_back(i);
        }
        let new = self.new;
        for (j, resource) in new.iter().enumerate() {
            if let Some(i) = by_id.get_mut(resource.id()).and_then(VecDeque::pop_front) {
                self.pair(i, j);
            }
        }
    }

    /// Pairs the remaining objects by a key that no other remaining object of the same side has.
    fn join<K: Hash + Eq>(&mut self, keys: impl Fn(&Resource) -> Vec<K>) {
        let (of_old, of_new) =
            (unique(self.old, &self.partner_of_old, &keys), unique(self.new, &self.partner_of_new, &keys));
        let new = self.new;
        for (j, resource) in new.iter().enumerate() {
            if self.partner_of_new[j].is_some() {
                continue;
            }
            let is_own = |key: &K| of_new.get(key) == Some(&Some(j));
            let found =
                keys(resource).into_iter().filter(is_own).find_map(|key| of_old.get(&key).copied().flatten());
            if let Some(i) = found.filter(|i| self.partner_of_old[*i].is_none()) {
                self.pair(i, j);
            }
        }
    }

    /// Pairs the remaining objects of each kind whose content is similar.
    fn join_similar(&mut self) {
        let mut kinds: FxHashMap<(SmolStr, SmolStr), [Vec<usize>; 2]> = FxHashMap::default();
        let mut add = |side: usize, resources: &[Resource], partners: &[Option<usize>]| {
            for (i, resource) in resources.iter().enumerate().filter(|(i, _)| partners[*i].is_none()) {
                let gvk = &resource.id().gvk;
                kinds.entry((gvk.group.clone(), gvk.kind.clone())).or_default()[side].push(i);
            }
        };
        add(0, self.old, &self.partner_of_old);
        add(1, self.new, &self.partner_of_new);
        for [old, new] in kinds.into_values().filter(|[old, new]| !old.is_empty() && !new.is_empty()) {
            let nodes = |all: &'r [Resource], which: &[usize]| -> Vec<&'r Node> {
                which.iter().map(|i| all[*i].node()).collect()
            };
            let found = similar_manifests(&nodes(self.new, &new), &nodes(self.old, &old));
            for (j, i) in found.into_iter().enumerate() {
                if let Some(i) = i {
                    self.pair(old[i], new[j]);
                }
            }
        }
    }

    fn into_pairs(self) -> Vec<Pair> {
        let new = self.partner_of_new.iter().enumerate().map(|(j, i)| Pair { old: *i, new: Some(j) });
        let gone = self.partner_of_old.iter().enumerate().filter(|(_, partner)| partner.is_none());
        new.chain(gone.map(|(i, _)| Pair { old: Some(i), new: None })).collect()
    }
}

/// Returns the remaining object for each key, or `None` if several objects have the key.
fn unique<K: Hash + Eq>(
    resources: &[Resource],
    partners: &[Option<usize>],
    keys: impl Fn(&Resource) -> Vec<K>,
) -> FxHashMap<K, Option<usize>> {
    let mut owners: FxHashMap<K, Option<usize>> = FxHashMap::default();
    for (i, resource) in resources.iter().enumerate().filter(|(i, _)| partners[*i].is_none()) {
        for key in keys(resource) {
            owners
                .entry(key)
                .and_modify(|owner| *owner = owner.filter(|owner| *owner == i))
                .or_insert(Some(i));
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Schema;

    fn resources(texts: &[&str]) -> Vec<Resource> {
        let schema = Schema::embedded();
        let resource = |text: &&str| Resource::new(text.parse().expect("YAML"), &schema).expect("a resource");
        texts.iter().map(resource).collect()
    }

    fn map(name: &str, data: &str) -> String {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {data}}}")
    }

    fn paired(old: &[String], new: &[String]) -> Vec<(Option<usize>, Option<usize>)> {
        let texts = |all: &[String]| resources(&all.iter().map(String::as_str).collect::<Vec<_>>());
        pair_objects(&texts(old), &texts(new)).into_iter().map(|pair| (pair.old, pair.new)).collect()
    }

    #[test]
    fn objects_are_paired_by_identity_in_any_order() {
        let (a, b) = (map("a", "{}"), map("b", "{}"));
        assert_eq!(paired(&[a.clone(), b.clone()], &[b, a]), [(Some(1), Some(0)), (Some(0), Some(1))]);
    }

    #[test]
    fn generated_names_are_paired_without_their_hash() {
        let pairs = paired(&[map("app-d4g6k2m8b9", "{a: '1'}")], &[map("app-5g6k2m8b9d", "{a: '2'}")]);
        assert_eq!(pairs, [(Some(0), Some(0))]);
    }

    #[test]
    fn moved_objects_are_paired() {
        let of = |namespace| {
            vec![format!("{{apiVersion: v1, kind: Service, metadata: {{name: a, namespace: {namespace}}}}}")]
        };
        assert_eq!(paired(&of("x"), &of("y")), [(Some(0), Some(0))]);
    }

    #[test]
    fn similar_objects_are_paired_and_others_are_not() {
        let old = [map("settings", "{a: x, b: y, c: z}")];
        assert_eq!(paired(&old, &[map("options", "{a: x, b: y, c: w}")]), [(Some(0), Some(0))]);
        assert_eq!(paired(&old, &[map("options", "{q: w}")]), [(None, Some(0)), (Some(0), None)]);
    }

    #[test]
    fn versions_of_a_kind_are_the_same_object() {
        let of = |version: &str| {
            vec![format!(
                "{{apiVersion: autoscaling/{version}, kind: HorizontalPodAutoscaler, metadata: {{name: a}}}}"
            )]
        };
        assert_eq!(paired(&of("v1"), &of("v2")), [(Some(0), Some(0))]);
    }
}
