//! Rule: a patch adds a list entry whose name is similar to that of an existing entry.

use crate::check::causes::is_patch;
use crate::check::names::is_typo;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_merge::cause::ValueHistory;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Node, Value};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "similar-key",
        meaning: "A patch adds a list entry whose name is similar to an existing one.",
        remedy: "Correct the name if the patch was meant to change the existing entry.",
    }),
    title: "Similar list entry added",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "Strategic merge patches match list entries by their merge key, which is often `name`. A misspelled name \
          matches nothing, so the patch adds a new entry, before the existing ones: two containers run instead of one changed container, or an environment variable \
          keeps its old value.",
    suppress: Some("Both entries are intended, such as `task` and `tasks`."),
    documentation: "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/",
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

/// The merge key of most lists, and the only one that is compared.
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

fn value(node: &Node, known: &ValueHistory, resource: &Resource, found: &mut Vec<Diagnostic>) {
    match (&node.value, known) {
        (Value::Map(map), ValueHistory::Map(fields)) => {
            for ((_, node), (_, known)) in map.iter().zip(fields) {
                value(node, known, resource, found);
            }
        }
        (Value::List(list), ValueHistory::List(entries)) => {
            let names: Vec<(&Node, bool)> = list
                .iter()
                .zip(entries)
                .filter_map(|(node, (_, known))| Some((node.get(KEY)?, is_from_patch(known)?)))
                .collect();
            found.extend(added_entries(&names, resource));
            for (node, (_, known)) in list.iter().zip(entries) {
                value(node, known, resource, found);
            }
        }
        _ => {}
    }
}

/// Returns true if a patch first wrote the name of an entry, or `None` for an entry without a name.
fn is_from_patch(entry: &ValueHistory) -> Option<bool> {
    let ValueHistory::Map(fields) = entry else { return None };
    let (_, name) = fields.iter().find(|(name, _)| name == KEY)?;
    let ValueHistory::Leaf(writes) = name else { return None };
    writes.last().map(|first| is_patch(first.by.name()))
}

/// The maximum length of a list whose entries are compared with each other.
const COMPARED: usize = 64;

fn added_entries(names: &[(&Node, bool)], resource: &Resource) -> Vec<Diagnostic> {
    let (new, old): (Vec<_>, Vec<_>) = names.iter().partition(|(_, is_new)| *is_new);
    if new.is_empty() || names.len() > COMPARED {
        return Vec::new();
    }
    let finding = |(name, _): &(&Node, bool)| {
        let text = name.as_str()?;
        let (near, _) =
            old.iter().find(|(known, _)| known.as_str().is_some_and(|known| is_typo(text, known)))?;
        Some(
            Diagnostic::warning(
                RULE.code,
                format!("the patch adds `{text}`, which is similar to the existing `{}`", near.as_str()?),
            )
            .at(name.span())
            .label(near.span(), "existing entry")
            .resource(resource.id())
            .help("correct the name if the patch was meant to change the existing entry"),
        )
    };
    new.iter().filter_map(finding).collect()
}
