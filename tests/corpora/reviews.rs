//! Comparisons of builds: the reported changes of an object lead from the old to the new one, and the affected targets
//! of a change are those whose output differs with kustomize.
//!
//! `SMP_TEST_LAWS` (5,000) is the number of pairs of objects, and `SMP_TEST_HISTORIES` (20) that of changed overlays.

#![allow(clippy::print_stderr, reason = "tests say what they compared")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubectl_smp_testing::corpus::kustomizations;
use kubectl_smp_testing::generate::{Dice, EntryUniqueness, Generator, Options};
use kubectl_smp_testing::requirements::required_env;
use kubectl_smp_testing::{overlays, seeds};
use rayon::prelude::*;
use smp_inspect::review::{BuiltSide, CompareOptions, FieldChange, compare_builds};
use smp_merge::diff::compare;
use smp_merge::schema::Schema;
use smp_overlay::overlay::Built;
use smp_overlay::resource::Resource;
use smp_text::path::{PathElement, PathValue};
use smp_text::yaml::{Node, to_json};

fn built(node: &Node, schema: &Schema) -> Built {
    let mut built = Built::default();
    built.resources.append(Resource::unchecked(node.clone(), schema)).expect("a resource");
    built
}

/// Returns an object with the reported changes applied. Later entries of a list are removed first.
fn apply(old: &Node, changes: &[FieldChange]) -> Node {
    let mut node = old.clone();
    let (removed, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.new.is_none());
    for change in removed.into_iter().rev() {
        set(&mut node, change.path.elements(), None, false);
    }
    for change in others {
        set(&mut node, change.path.elements(), change.new.as_ref(), change.old.is_none());
    }
    node
}

/// Returns the position of an entry. One that has all keys wins over one with default values.
fn position(step: &PathElement, node: &Node) -> Option<usize> {
    let PathElement::Key(keys) = step else { return step.position(node) };
    let has_all = |entry: &Node| {
        keys.iter()
            .all(|(name, value)| entry.get(name).and_then(PathValue::from_node).as_ref() == Some(value))
    };
    node.as_list()?.iter().position(has_all).or_else(|| step.position(node))
}

fn set(node: &mut Node, path: &[PathElement], new: Option<&Node>, is_added: bool) {
    let Some((first, rest)) = path.split_first() else {
        if let Some(new) = new {
            *node = new.clone();
        }
        return;
    };
    let position = position(first, node).filter(|_| !is_added || !rest.is_empty());
    if let PathElement::Field(name) = first {
        let Some(map) = node.as_map_mut() else { return };
        match (rest.is_empty(), new) {
            (true, Some(new)) => drop(map.insert(name.clone(), new.clone())),
            (true, None) => drop(map.remove(name)),
            (false, _) => {
                if let Some(value) = map.get_mut(name) {
                    set(value, rest, new, is_added);
                }
            }
        }
        return;
    }
    let smp_text::yaml::Value::List(list) = &mut node.value else { return };
    match (position, rest.is_empty(), new) {
        (Some(at), true, Some(new)) => list[at] = new.clone(),
        (Some(at), true, None) => drop(list.remove(at)),
        (Some(at), false, _) => set(&mut list[at], rest, new, is_added),
        (None, _, Some(new)) => list.push(new.clone()),
        (None, ..) => {}
    }
}

#[test]
fn reported_changes_lead_to_the_new_object() {
    let schema = Schema::embedded();
    let options = Options { distinct: EntryUniqueness::AllKeys, wrong_values: false };
    let broken = seeds::seeds("SMP_TEST_LAWS", 5_000).into_par_iter().find_map_any(|seed| {
        let mut generator = Generator::new(Dice::new(seed), &schema, options);
        let named = |mut node: Node| {
            if let Some(map) = node.as_map_mut() {
                map.insert("metadata", Node::map([("name", Node::string("a"))].into_iter().collect()));
            }
            node
        };
        let (old, new) = (named(generator.object()), named(generator.object()));
        let (before, after) = (built(&old, &schema), built(&new, &schema));
        let [before, after] = [&before, &after].map(|built| Some(BuiltSide { built, schema: &schema }));
        let shown = CompareOptions { show_secrets: true, ..CompareOptions::default() };
        let changes = compare_builds(before, after, &shown);
        let id = Resource::unchecked(new.clone(), &schema).id().gvk.clone();
        let kind = schema.kind(&id).expect("a built-in kind");
        let got = match changes.objects.as_slice() {
            [] => old.clone(),
            [one] => apply(&old, &one.fields),
            several => return Some(format!("seed {seed}: {} objects", several.len())),
        };
        let text = |node: &Node| to_json(node).expect("finite");
        let is_same = compare(Some(&got), Some(&new), kind).is_empty();
        (!is_same)
            .then(|| format!("seed {seed}\n got {}\nwant {}\nfrom {}", text(&got), text(&new), text(&old)))
    });
    assert!(broken.is_none(), "{}", broken.unwrap_or_default());
}

/// Changes some files of a tree at random.
fn change(root: &Path, dice: &mut Dice) {
    let mut files = Vec::new();
    walk(root, &mut files);
    files.sort();
    for _ in 0..=dice.below(2) {
        let path = &files[dice.below(files.len())];
        let Ok(text) = fs::read_to_string(path) else { continue };
        match dice.below(6) {
            0 => fs::remove_file(path).expect("removed"),
            1 => fs::write(path, format!("{text}# note\n")).expect("written"),
            2 => fs::write(path.with_file_name("kustomization.yml"), "resources: []\n").expect("written"),
            _ => {
                let digits: Vec<usize> =
                    text.match_indices(|c: char| c.is_ascii_digit()).map(|(i, _)| i).collect();
                if digits.is_empty() {
                    continue;
                }
                let at = digits[dice.below(digits.len())];
                fs::write(path, format!("{}7{}", &text[..at], &text[at + 1..])).expect("written");
            }
        }
    }
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != ".git") {
                walk(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}

fn run(program: &str, args: &[&str], directory: &Path) -> Output {
    Command::new(program).args(args).current_dir(directory).output().expect("the program runs")
}

/// Returns the output of each target with kustomize; none if it does not build.
fn outputs(kustomize: &str, root: &Path, targets: &BTreeSet<PathBuf>) -> Vec<Option<Vec<u8>>> {
    let build = |target: &PathBuf| {
        let output = run(kustomize, &["build", &target.to_string_lossy()], root);
        output.status.success().then_some(output.stdout)
    };
    targets.par_iter().map(build).collect()
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn affected_targets_are_those_with_another_output() {
    let kustomize = required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    let ours = env!("CARGO_BIN_EXE_kubectl-smp");
    let (mut changed_targets, mut listed_targets) = (0, 0);
    for seed in seeds::seeds("SMP_TEST_HISTORIES", 20) {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path();
        overlays::write(seed, root);
        let script =
            "git init -q . && git add -A . && git -c user.name=a -c user.email=a@example.com commit -qm x";
        assert!(run("sh", &["-c", script], root).status.success());
        let mut found = Vec::new();
        kustomizations(root, &mut found);
        let is_component = |directory: &PathBuf| {
            let text = fs::read_to_string(directory.join("kustomization.yaml")).unwrap_or_default();
            text.contains("kind: Component")
        };
        let relative = |directory: &PathBuf| directory.strip_prefix(root).expect("below").to_path_buf();
        let targets: BTreeSet<PathBuf> =
            found.iter().filter(|one| !is_component(one)).map(relative).collect();
        let before = outputs(&kustomize, root, &targets);
        change(root, &mut Dice::new(seed));
        let after = outputs(&kustomize, root, &targets);
        let rows = targets.iter().zip(before.iter().zip(&after));
        let want: BTreeSet<PathBuf> =
            rows.filter(|(_, (a, b))| a != b).map(|(target, _)| target.clone()).collect();
        let list = |more: &[&str]| -> BTreeSet<PathBuf> {
            let output = run(ours, &[&["affected", "--rev", "HEAD", "-R"], more].concat(), root);
            assert!(output.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).expect("text");
            text.lines().map(PathBuf::from).filter(|one| targets.contains(one)).collect()
        };
        let (all, exact) = (list(&[]), list(&["--exact"]));
        // A target without a kustomization any more is not listed, since it cannot be built.
        let want: BTreeSet<PathBuf> =
            want.into_iter().filter(|one| has_kustomization(&root.join(one))).collect();
        assert!(want.is_subset(&all), "seed {seed}: missed {:?}", want.difference(&all));
        assert_eq!(exact, want, "seed {seed}");
        changed_targets += want.len();
        listed_targets += all.len();
    }
    eprintln!("{changed_targets} targets changed, {listed_targets} were listed without --exact");
    assert!(changed_targets > 0);
}

fn has_kustomization(directory: &Path) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .iter()
        .any(|name| directory.join(name).exists())
}
