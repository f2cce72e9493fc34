//! An operator with its ApplySet, and the model of what must be in the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};

use kubectl_smp_testing::dice::Dice;

use super::world::{KINDS, Key, LiveObject, World, manifest, parts};
use crate::plans::{done, expected_actions};
use crate::rig::Ran;

/// The content of each object, as a number.
type Objects = BTreeMap<Key, u64>;

pub(super) struct Operator<'w> {
    world: &'w World,
    name: &'static str,
    /// True if the parent is cluster-scoped: its objects may be in both namespaces, and there is no history.
    is_wide: bool,
    desired: Objects,
    /// Objects that were removed from the manifests and must stay, since the set did not create them.
    kept: Objects,
    adopted: BTreeSet<Key>,
    /// Labels that others have added.
    labels: BTreeMap<Key, String>,
    /// The manifests of each revision.
    revisions: Vec<Objects>,
    /// The last number, which makes names and contents unique.
    last: u64,
}

impl<'w> Operator<'w> {
    pub(super) fn new(world: &'w World, name: &'static str, is_wide: bool) -> Self {
        Self {
            world,
            name,
            is_wide,
            desired: Objects::new(),
            kept: Objects::new(),
            adopted: BTreeSet::new(),
            labels: BTreeMap::new(),
            revisions: Vec::new(),
            last: 0,
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn new_key(&mut self, kind: &str, namespace: usize) -> Key {
        let number = self.next();
        format!("{kind}/{}/x-{}{number}", self.world.namespaces()[namespace], self.name)
    }

    fn namespace(&self, dice: &mut Dice) -> usize {
        if self.is_wide { dice.below(2) } else { 0 }
    }

    fn keys(&self, kind: &str) -> Vec<Key> {
        self.desired.keys().filter(|key| parts(key)[0] == kind).cloned().collect()
    }

    pub(super) fn has_maps(&self) -> bool {
        !self.keys("ConfigMap").is_empty()
    }

    /// Adds, changes and removes objects.
    pub(super) fn change(&mut self, dice: &mut Dice) {
        for key in self.desired.keys().cloned().collect::<Vec<_>>() {
            match dice.below(5) {
                0 => self.remove(&key),
                1 | 2 => {
                    let number = self.next();
                    self.desired.insert(key, number);
                }
                _ => {}
            }
        }
        for _ in 0..=dice.below(4) {
            let (kind, namespace) = (dice.pick(&KINDS), self.namespace(dice));
            let key = self.new_key(kind, namespace);
            let number = self.next();
            self.desired.insert(key, number);
        }
    }

    fn remove(&mut self, key: &Key) {
        let number = self.desired.remove(key).expect("an object");
        if self.adopted.contains(key) {
            self.kept.insert(key.clone(), number);
        } else {
            self.labels.remove(key);
        }
    }

    pub(super) fn change_all_maps(&mut self) {
        for key in self.keys("ConfigMap") {
            let number = self.next();
            self.desired.insert(key, number);
        }
    }

    pub(super) fn rename(&mut self, dice: &mut Dice) {
        let keys: Vec<Key> = self.desired.keys().cloned().collect();
        let Some(key) = keys.get(dice.below(keys.len())) else { return };
        let number = self.desired[key];
        self.remove(key);
        let namespace = self.world.namespaces().iter().position(|name| name == parts(key)[1]);
        let new = self.new_key(parts(key)[0], namespace.expect("a namespace"));
        self.desired.insert(new, number);
    }

    /// Moves an object to the other namespace, if the set may have objects there.
    pub(super) fn move_one(&mut self, dice: &mut Dice) {
        let keys: Vec<Key> = self.desired.keys().cloned().collect();
        let Some(key) = keys.get(dice.below(keys.len())).filter(|_| self.is_wide) else { return };
        let [kind, namespace, name] = parts(key);
        let [one, other] = self.world.namespaces();
        let moved = format!("{kind}/{}/{name}", if namespace == one { other } else { one });
        let number = self.desired[key];
        self.remove(key);
        self.desired.insert(moved, number);
    }

    /// Someone creates an object that the manifests then contain.
    pub(super) fn adopt(&mut self, dice: &mut Dice) {
        let namespace = self.namespace(dice);
        let key = self.new_key("ConfigMap", namespace);
        let number = self.next();
        let [_, namespace, name] = parts(&key);
        self.world.rig.kubectl(&["-n", namespace, "create", "configmap", name, "--from-literal=other=value"]);
        self.adopted.insert(key.clone());
        self.desired.insert(key, number);
    }

    /// Someone changes the content of a ConfigMap. Returns its name.
    pub(super) fn patch_one(&mut self, dice: &mut Dice) -> Option<String> {
        let maps = self.keys("ConfigMap");
        let key = maps.get(dice.below(maps.len()))?;
        let [_, namespace, name] = parts(key);
        let patch = r#"{"data": {"number": "someone"}}"#;
        self.world.rig.kubectl(&["-n", namespace, "patch", "configmap", name, "--type=merge", "-p", patch]);
        Some(name.to_string())
    }

    /// Someone labels an object. No apply removes the label.
    pub(super) fn add_label(&mut self, dice: &mut Dice) {
        let keys: Vec<Key> = self.desired.keys().cloned().collect();
        let key = &keys[dice.below(keys.len())];
        let value = format!("t{}", self.next());
        let [kind, namespace, name] = parts(key);
        let kind = if kind == "Gadget" {
            format!("gadgets.{}.example.com", self.world.rig.name)
        } else {
            kind.into()
        };
        let label = format!("team={value}");
        self.world.rig.kubectl(&["-n", namespace, "label", "--overwrite", &kind, name, &label]);
        self.labels.insert(key.clone(), value);
    }

    fn file(&self) -> String {
        let file = format!("{}.yaml", self.name);
        let objects = self.desired.iter().map(|(key, number)| manifest(key, *number, &self.world.rig.name));
        let text: Vec<String> = objects.map(|object| format!("---\n{object}\n")).collect();
        self.world.rig.file(&file, &text.concat());
        file
    }

    fn parent(&self) -> String {
        if self.is_wide { self.world.shelf.clone() } else { format!("set-{}", self.name) }
    }

    fn arguments(&self) -> Vec<String> {
        let (file, parent) = (self.file(), self.parent());
        let arguments = ["apply", "--prune", "--prune-limit=100%", "--applyset", &parent, "-f", &file];
        let mut arguments = arguments.map(String::from).to_vec();
        if !self.is_wide {
            arguments.extend(["-n", &self.world.rig.name, "--history-secrets"].map(String::from));
        }
        arguments
    }

    /// Runs an apply of the manifests.
    pub(super) fn run(&self, more: &[&str]) -> Ran {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        self.world.rig.smp(&arguments)
    }

    pub(super) fn spawn(&self) -> Child {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = self.world.rig.command(&arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program")
    }

    /// Plans and applies: what happens is what was planned.
    pub(super) fn apply(&mut self, more: &[&str]) {
        let before = self.world.objects();
        let plan = self.run(&[&["--plan", "-o", "json"], more].concat());
        assert!([0, 1].contains(&plan.status), "{plan:?}");
        self.world.assert_unchanged_since(&before);
        let ran = self.run(&[&["--results=json", "--wait", "--timeout=60s"], more].concat()).ended(0);
        assert_eq!(done(&ran), expected_actions(&plan), "{plan:?}\n{ran:?}");
        assert_eq!(self.changed_since(&before), expected_actions(&plan).into_keys().collect(), "{plan:?}");
        self.record();
    }

    /// Applies without a plan.
    pub(super) fn apply_once(&mut self, more: &[&str]) {
        self.run(more).ended(0);
        self.record();
    }

    /// The objects of this operator that were created, changed, recreated or deleted.
    fn changed_since(&self, before: &BTreeMap<Key, LiveObject>) -> BTreeSet<Key> {
        let after = self.world.objects();
        let own = format!("/x-{}", self.name);
        let keys = before.keys().chain(after.keys()).filter(|key| key.contains(&own));
        keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect()
    }

    fn record(&mut self) {
        if self.revisions.last() != Some(&self.desired) {
            self.revisions.push(self.desired.clone());
        }
    }

    /// Goes back to the manifests of the previous revision.
    pub(super) fn roll_back(&mut self) {
        let Some(index) = self.revisions.len().checked_sub(2).filter(|_| !self.is_wide) else { return };
        let before = self.world.objects();
        let parent = self.parent();
        let flags = ["applyset", "rollback", &parent, "-n", &self.world.rig.name, "--prune-limit=100%"];
        let more = ["--history-secrets", "--force-conflicts"];
        let run = |last: &[&str]| self.world.rig.smp(&[&flags[..], &more, last].concat());
        let plan = run(&["--plan", "-o", "json"]);
        assert!([0, 1].contains(&plan.status), "{plan:?}");
        self.world.assert_unchanged_since(&before);
        let ran = run(&["--results=json"]).ended(0);
        assert_eq!(done(&ran), expected_actions(&plan), "{plan:?}\n{ran:?}");
        let target = self.revisions[index].clone();
        for key in self.desired.keys().cloned().collect::<Vec<_>>() {
            if !target.contains_key(&key) {
                self.remove(&key);
            }
        }
        self.kept.retain(|key, _| !target.contains_key(key));
        self.desired = target;
        self.record();
    }

    /// Another operator does not take an object of this set without consent.
    pub(super) fn is_refused_an_object_of(&mut self, other: &Self, dice: &mut Dice) {
        let keys: Vec<Key> = other.desired.keys().cloned().collect();
        let Some(key) = keys.get(dice.below(keys.len())) else { return };
        let before = self.world.objects();
        self.desired.insert(key.clone(), other.desired[key]);
        let ran = self.run(&[]).ended(1);
        assert!(ran.stderr.contains("--adopt"), "{ran:?}");
        self.world.assert_unchanged_since(&before);
        self.desired.remove(key);
    }

    /// An apply that is not forced reports the field that someone else owns.
    pub(super) fn assert_conflict(&self, map: &str) {
        let plan = self.run(&["--plan"]).ended(2);
        assert!(plan.stderr.contains("data.number: owned by `kubectl-patch`"), "{map}: {plan:?}");
        let ran = self.run(&[]).ended(1);
        assert!(ran.stderr.contains("data.number: owned by `kubectl-patch`"), "{map}: {ran:?}");
    }

    /// Exactly the objects of the model are in the cluster, with their contents, and the labels of others.
    pub(super) fn assert_live(&self) {
        let own = format!("/x-{}", self.name);
        let objects = self.world.objects();
        let live = objects.iter().filter(|(key, _)| key.contains(&own));
        let numbers: BTreeMap<_, _> = live.map(|(key, object)| (key.clone(), object.number)).collect();
        let model = self.desired.iter().chain(&self.kept);
        let model: BTreeMap<_, _> = model.map(|(key, number)| (key.clone(), Some(*number))).collect();
        assert_eq!(numbers, model);
        for (key, label) in &self.labels {
            assert_eq!(objects[key].label.as_ref(), Some(label), "{key}");
        }
    }

    /// Removes all objects, also adopted ones.
    pub(super) fn end(&mut self) {
        let namespaced = self.new_key("ConfigMap", 0);
        self.desired = Objects::from([(namespaced, 0)]);
        self.kept.clear();
        self.labels.clear();
        self.run(&["--prune-adopted"]).ended(0);
        self.assert_live();
    }
}

impl World {
    #[track_caller]
    fn assert_unchanged_since(&self, before: &BTreeMap<Key, LiveObject>) {
        assert_eq!(&self.objects(), before, "nothing was changed");
    }
}
