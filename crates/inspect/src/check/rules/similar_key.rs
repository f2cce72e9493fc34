//! An entry that a patch appends, though one that is called much alike is there.

use crate::check::names::is_slip;
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_merge::cause::KnownValue;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Node, Value};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "similar-key",
        meaning: "A patch appends an entry to a list that has one which is called much alike.",
        remedy: "Correct the name, if the entry that is there was meant.",
    }),
    name: "Entry appended beside a similar one",
    group: RuleGroup::MeansElse,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Each,
    why: "Strategic merge patches find entries of lists by their `name`. One that is misspelled finds none, and the entry is \
          added as a new one: two containers run where one was to be changed.",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: web}\n    \
             spec: {containers: [{name: webb, image: \"nginx:1.29\"}]}\n",
        ),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n",
        ),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: web}\n    \
             spec: {containers: [{name: web, image: \"nginx:1.29\"}]}\n",
        ),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n",
        ),
    ],
    finder: Finder::Target(find),
};

/// What tells entries apart.
const KEY: &str = "name";

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        if let Some(history) = &resource.history {
            value(resource.node(), history.root(), resource, &mut found);
        }
    }
    found
}

fn value(node: &Node, known: &KnownValue, resource: &Resource, found: &mut Vec<Diagnostic>) {
    match (&node.value, known) {
        (Value::Map(map), KnownValue::Map(fields)) => {
            for ((_, node), (_, known)) in map.iter().zip(fields) {
                value(node, known, resource, found);
            }
        }
        (Value::List(list), KnownValue::List(entries)) => {
            let names: Vec<(&Node, bool)> = list
                .iter()
                .zip(entries)
                .filter_map(|(node, (_, known))| Some((node.get(KEY)?, is_from_patch(known)?)))
                .collect();
            found.extend(appended(&names, resource));
            for (node, (_, known)) in list.iter().zip(entries) {
                value(node, known, resource, found);
            }
        }
        _ => {}
    }
}

/// Whether the name of an entry was first written by a patch; none for one without.
fn is_from_patch(entry: &KnownValue) -> Option<bool> {
    let KnownValue::Map(fields) = entry else { return None };
    let (_, name) = fields.iter().find(|(name, _)| name == KEY)?;
    let KnownValue::Leaf(writes) = name else { return None };
    writes.last().map(|first| first.by.name().starts_with("patches"))
}

/// How long a list may be of which each entry is compared with each.
const COMPARED: usize = 64;

fn appended(names: &[(&Node, bool)], resource: &Resource) -> Vec<Diagnostic> {
    let (new, old): (Vec<_>, Vec<_>) = names.iter().partition(|(_, is_new)| *is_new);
    if new.is_empty() || names.len() > COMPARED {
        return Vec::new();
    }
    let told = |(name, _): &(&Node, bool)| {
        let text = name.as_str()?;
        let (near, _) =
            old.iter().find(|(known, _)| known.as_str().is_some_and(|known| is_slip(text, known)))?;
        Some(
            Diagnostic::warning(RULE.code, format!("the patch adds `{text}` beside `{}`", near.as_str()?))
                .at(name.span())
                .label(near.span(), "this is there")
                .resource(resource.id())
                .help("entries are found by their names: correct it if this one was meant"),
        )
    };
    new.iter().filter_map(told).collect()
}
