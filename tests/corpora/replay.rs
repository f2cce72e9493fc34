//! Repeated upgrades: a customised package follows the history of its upstream, and differs from it only by the
//! local changes.
//!
//! The histories are random edits of the manifests of `examples`. With `SMP_TEST_REALWORLD`, which names a
//! directory with repositories, all of its directories with manifests are included.

#![allow(clippy::print_stderr, reason = "a test says how much it replayed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use kubectl_smp_testing::dice::Dice;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_overlay::package::{Package, merge3_packages, write_files};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{Map, Node, ParseOptions, Value, edit_text, parse_documents, to_json};

/// The texts of a package by path.
type Revision = BTreeMap<String, String>;

/// Kind and name of a resource.
type Name = (String, String);

/// The customisation of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Custom {
    /// A namespace, a label, replicas and an additional container.
    Fields,
    /// The same, and a prefix for each name.
    Prefix,
}

const LABEL: &str = "customised";
const README: &str = "README.md";
const PREFIX: &str = "prod-";

fn documents(text: &str) -> Option<Vec<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    parse_documents(&sources, id, ParseOptions::kubectl().with_comments()).ok()
}

fn name_of(node: &Node) -> Option<Name> {
    let text = |path: &[&str]| node.get_path(path).and_then(Node::as_str).map(str::to_string);
    Some((text(&["kind"])?, text(&["metadata", "name"])?))
}

/// All resources of a revision.
fn resources(revision: &Revision) -> BTreeMap<Name, Node> {
    let yaml = revision.iter().filter(|(path, _)| path.as_str() != README);
    let nodes = yaml.flat_map(|(_, text)| documents(text).expect("YAML")).filter(|node| !node.is_null());
    nodes.map(|node| (name_of(&node).expect("a name"), node)).collect()
}

fn map<'n>(node: &'n mut Node, name: &str) -> Option<&'n mut Map> {
    let map = node.as_map_mut()?;
    let empty = || Node::map(Map::new());
    let value = map.get_or_insert_with(name, empty);
    if value.is_null() {
        *value = empty();
    }
    value.as_map_mut()
}

/// The containers of a workload.
fn containers(node: &mut Node) -> Option<&mut Vec<Node>> {
    let (kind, _) = name_of(node)?;
    let is_workload = matches!(kind.as_str(), "Deployment" | "StatefulSet" | "DaemonSet");
    let spec = node.get_mut("spec").filter(|_| is_workload)?;
    spec.get_mut("template")?.get_mut("spec")?.get_mut("containers")?.as_list_mut()
}

fn customise(node: &mut Node, custom: Custom) -> Option<()> {
    let name = name_of(node)?.1;
    let sidecar = [("name", Node::string("custom-sidecar")), ("image", Node::string("sidecar:1"))];
    if let Some(containers) = containers(node) {
        containers.push(Node::map(sidecar.into_iter().collect()));
    }
    if let Some(replicas) = node.get_mut("spec").and_then(|spec| spec.get_mut("replicas")) {
        *replicas = Node::int(42);
    }
    let metadata = node.get_mut("metadata")?;
    map(metadata, "labels")?.insert(LABEL, Node::string("yes"));
    let metadata = metadata.as_map_mut()?;
    metadata.insert("namespace", Node::string("shop"));
    if custom == Custom::Prefix {
        metadata.insert("name", Node::string(format!("{PREFIX}{name}")));
    }
    Some(())
}

/// Removes the customisation from a resource. Returns true if it was complete.
fn strip(node: &mut Node, custom: Custom) -> bool {
    let text = |path: &[&str], node: &Node| node.get_path(path).and_then(Node::scalar_text).cloned();
    let mut complete = text(&["metadata", "namespace"], node).as_deref() == Some("shop")
        && text(&["metadata", "labels", LABEL], node).as_deref() == Some("yes")
        && text(&["spec", "replicas"], node).is_none_or(|replicas| replicas == "42");
    if let Some(containers) = containers(node) {
        let before = containers.len();
        containers.retain(|c| c.get("name").and_then(Node::as_str) != Some("custom-sidecar"));
        complete &= containers.len() + 1 == before;
    }
    if custom == Custom::Prefix {
        let name = name_of(node).unwrap_or_default().1;
        complete &= name.starts_with(PREFIX);
        let metadata = node.get_mut("metadata").and_then(Node::as_map_mut).expect("metadata");
        metadata.insert("name", Node::string(name.trim_start_matches(PREFIX)));
    }
    complete
}

/// Removes all fields that the customisation sets.
fn without_custom_fields(mut node: Node) -> Node {
    if let Some(spec) = node.get_mut("spec").and_then(Node::as_map_mut) {
        spec.remove("replicas");
    }
    let metadata = node.get_mut("metadata").and_then(Node::as_map_mut).expect("metadata");
    metadata.remove("namespace");
    let labels = metadata.get_mut("labels").and_then(Node::as_map_mut);
    if labels.as_ref().is_none_or(|labels| labels.iter().all(|(name, _)| name == LABEL)) {
        metadata.remove("labels");
    } else if let Some(labels) = labels {
        labels.remove(LABEL);
    }
    node
}

/// The text of a file after a change of its documents.
fn changed(text: &str, change: impl Fn(&mut Node)) -> String {
    let before = documents(text).expect("YAML");
    let mut after = before.clone();
    after.iter_mut().filter(|node| !node.is_null()).for_each(change);
    let after: Vec<_> = after.into_iter().map(Some).collect();
    edit_text(text, Reading::Kubectl, &before, &after).expect("written")
}

/// Fields that identify objects, or belong to the customisation.
const KEPT: [&str; 22] = [
    "apiVersion",
    "kind",
    "name",
    "namespace",
    "containerPort",
    "mountPath",
    "devicePath",
    "ip",
    "type",
    "topologyKey",
    "key",
    "port",
    "protocol",
    "replicas",
    "labels",
    "matchLabels",
    "selector",
    "uid",
    "hostPort",
    "targetPort",
    "nodePort",
    "topologies",
];

/// Changes, adds or removes something in a manifest.
fn edit_node(node: &mut Node, dice: &mut Dice, number: usize) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::List(list) => {
            let at = dice.below(list.len());
            if let Some(entry) = list.get_mut(at) {
                edit_node(entry, dice, number);
            }
        }
        Value::Map(fields) => {
            let may = |entry: &smp_text::yaml::Entry| !KEPT.contains(&entry.key.text.as_str());
            let open: Vec<usize> = (0..fields.len()).filter(|i| may(&fields.entries()[*i])).collect();
            if open.is_empty() {
                return;
            }
            let at = dice.pick(&open);
            let is_scalar = matches!(fields.entries()[at].value.value, Value::Scalar(_));
            if is_scalar && fields.len() > 1 && dice.one_in(4) {
                fields.entries_mut().remove(at);
            } else if is_scalar {
                fields.entries_mut()[at].value = Node::string(format!("changed-{number}"));
            } else {
                let name = fields.entries()[at].key.text.clone();
                let value = &mut fields.entries_mut()[at].value;
                if matches!(name.as_str(), "containers" | "env" | "volumes") && dice.one_in(2) {
                    add_entry(value, number);
                } else {
                    edit_node(value, dice, number);
                }
            }
        }
    }
}

/// Adds an entry with a new name.
fn add_entry(list: &mut Node, number: usize) {
    let Some(list) = list.as_list_mut() else { return };
    let name = format!("added-{number}");
    if list.iter().any(|entry| entry.get("name").and_then(Node::as_str) == Some(&name)) {
        return;
    }
    let Some(mut entry) = list.first().filter(|entry| entry.get("name").is_some()).cloned() else { return };
    if let Some(map) = entry.as_map_mut() {
        map.insert("name", Node::string(name));
        list.push(entry);
    }
}

/// The next upstream revision.
fn revised(revision: &Revision, dice: &mut Dice, number: usize) -> Revision {
    let mut next = revision.clone();
    for _ in 0..=dice.below(4) {
        let mut yaml: Vec<String> = next.keys().filter(|path| path.as_str() != README).cloned().collect();
        dice.shuffle(&mut yaml);
        let path = yaml[0].clone();
        let text = next[&path].clone();
        match dice.below(8) {
            0 => drop(next.insert(path, format!("# revision {number}\n{text}"))),
            1 => {
                let head = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: new";
                let text = format!(
                    "\
{head}-{number}
data:
  a: {number}
"
                );
                next.insert(format!("new-{number}.yaml"), text);
            }
            2 if path.starts_with("new-") && yaml.len() > 1 => drop(next.remove(&path)),
            3 => {
                next.remove(&path);
                next.insert(format!("moved-{number}-{path}"), text);
            }
            4 => drop(next.insert(
                README.into(),
                format!(
                    "\
# It

words

revision {number}
"
                ),
            )),
            _ => {
                let seed = dice.below(usize::MAX) as u64;
                let text = changed(&text, |node| edit_node(node, &mut Dice::new(seed), number));
                next.insert(path, text);
            }
        }
    }
    next
}

fn write(directory: &Path, revision: &Revision) {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).expect("made");
    for (path, text) in revision {
        fs::write(directory.join(path), text).expect("written");
    }
}

fn read(directory: &Path) -> Revision {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).expect("a name").to_string();
    entries.map(|path| (name(&path), fs::read_to_string(&path).expect("text"))).collect()
}

/// Applies the history of a package. Returns the number of upgrades.
fn replay(first: &Revision, custom: Custom, seed: u64, upgrades: usize, schema: &Schema) -> usize {
    let directory = tempfile::tempdir().expect("a directory");
    let [original, updated, dest] = ["original", "updated", "dest"].map(|side| directory.path().join(side));
    let mut dice = Dice::new(seed);
    let mut upstream = first.clone();
    upstream.insert(
        README.into(),
        "\
# It

words

revision 0
"
        .into(),
    );
    let own: BTreeSet<Name> = resources(&upstream).into_keys().collect();
    let mut mine: Revision = upstream.clone();
    for (path, text) in &mut mine {
        *text = match path.as_str() {
            README => text.replace("# It", "# Mine"),
            _ => changed(text, |node| customise(node, custom).expect("customised")),
        };
    }
    write(&dest, &mine);
    for number in 1..=upgrades {
        let next = revised(&upstream, &mut dice, number);
        write(&original, &upstream);
        write(&updated, &next);
        let sources = SourceMap::default();
        let package =
            |path: &PathBuf| Package::read_everything(path, Reading::Kubectl, &sources).expect("readable");
        let sides = [&original, &updated, &dest].map(package);
        let merged = merge3_packages(&sides[0], &sides[1], &sides[2], schema, &MergeOptions::lossless())
            .expect("merged");
        let context = format!("{custom:?}, seed {seed}, upgrade {number}");
        assert!(merged.conflicts.is_empty(), "{context}: {:#?}", merged.conflicts);
        write_files(&dest, &merged.files).expect("written");
        compare(&next, &read(&dest), custom, (&own, &context));
        upstream = next;
    }
    upgrades
}

/// Checks that dest differs from upstream only by the customisation of the first revision.
fn compare(upstream: &Revision, dest: &Revision, custom: Custom, (own, context): (&BTreeSet<Name>, &str)) {
    let readme = |revision: &Revision| revision[README].replace("# Mine", "# It");
    assert_eq!(readme(dest), readme(upstream), "{context}");
    assert!(dest[README].starts_with("# Mine\n"), "{context}");
    let mut got = BTreeMap::new();
    for (name, mut node) in resources(dest) {
        let was = (name.0.clone(), name.1.strip_prefix(PREFIX).unwrap_or(&name.1).to_string());
        if own.contains(&was) {
            assert!(strip(&mut node, custom), "{context}: {name:?} lost of what was its own: {node:#?}");
        }
        got.insert(was, node);
    }
    let want = resources(upstream);
    assert_eq!(got.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>(), "{context}");
    for (name, want) in want {
        let shown = |node| to_json(&without_custom_fields(node)).expect("JSON");
        let [got, want] = [got[&name].clone(), want].map(shown);
        assert_eq!(got, want, "{context}: {name:?}");
    }
}

/// The manifests of a directory, if they can have a history: each has a unique name.
fn package_of(directory: &Path) -> Option<Revision> {
    let entries = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut revision = Revision::new();
    let mut names = BTreeSet::new();
    for path in entries.filter(|path| path.is_file() && path.extension().is_some_and(|e| e == "yaml")) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(nodes) = documents(&text) else { continue };
        let nodes: Vec<_> = nodes.into_iter().filter(|node| !node.is_null()).collect();
        let found: Option<Vec<Name>> = nodes.iter().map(name_of).collect();
        let Some(found) = found.filter(|found| !found.is_empty()) else { continue };
        let is_fit = |(kind, name): &Name| {
            !matches!(kind.as_str(), "CustomResourceDefinition" | "List" | "Kustomization" | "Component")
                && !name.starts_with(PREFIX)
        };
        let twice = nodes.iter().any(|node| node.get("metadata").is_some_and(|m| m.as_map().is_none()));
        if !twice && found.iter().all(is_fit) && found.iter().all(|name| !names.contains(name)) {
            let count = found.len();
            names.extend(found);
            if names.len() < count {
                return None;
            }
            revision.insert(path.file_name()?.to_str()?.to_string(), text);
        }
    }
    let distinct: usize =
        revision.values().filter_map(|text| documents(text)).flatten().filter(|n| !n.is_null()).count();
    (!revision.is_empty() && distinct == names.len() && names.len() < 60).then_some(revision)
}

/// The packages in a directory and all below it.
fn packages(directory: &Path) -> Vec<(PathBuf, Revision)> {
    let mut found: Vec<_> =
        package_of(directory).map(|revision| (directory.to_path_buf(), revision)).into_iter().collect();
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    let mut below: Vec<_> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git")
        .map(|entry| entry.path())
        .collect();
    below.sort();
    found.extend(below.iter().flat_map(|path| packages(path)));
    found
}

fn replay_all(packages: &[(PathBuf, Revision)], upgrades: usize) -> usize {
    let schema = Schema::embedded();
    let mut count = 0;
    for (path, revision) in packages {
        let seed = revision.values().map(String::len).sum::<usize>() as u64;
        for custom in [Custom::Fields, Custom::Prefix] {
            eprintln!("{custom:?}: {}", path.display());
            count += replay(revision, custom, seed, upgrades, &schema);
        }
    }
    count
}

#[test]
fn customised_packages_follow_their_upstream() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = packages(&root.join("examples"));
    assert!(packages.len() > 3, "{packages:?}");
    let upgrades = replay_all(&packages, 200usize.div_ceil(packages.len() * 2));
    assert!(upgrades >= 200, "{upgrades}");
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn real_packages_follow_their_upstream() {
    let all = std::env::var("SMP_TEST_REALWORLD").expect("SMP_TEST_REALWORLD names a folder");
    let packages = packages(Path::new(&all));
    let upgrades = replay_all(&packages, 4);
    eprintln!("{upgrades} upgrades of {} packages", packages.len());
    assert!(upgrades >= 200, "{upgrades}");
}
