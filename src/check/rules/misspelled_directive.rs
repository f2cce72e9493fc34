//! A directive that nobody knows, and that is a field of the object now.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::diagnostic::{Code, Diagnostic, RuleText, Severity};
use crate::merge::directive::{
    DELETE_FROM_PRIMITIVE_LIST, PATCH, PATCH_MERGE_KEY, RETAIN_KEYS, SET_ELEMENT_ORDER,
};
use crate::yaml::nearest;

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "misspelled-directive",
        meaning: "A field that begins with `$` and is called much like a directive of patches.",
        remedy: "Correct its spelling: as it is, it is a field like any other, and nothing is deleted or replaced.",
    }),
    name: "Misspelled directive",
    group: RuleGroup::MeansElse,
    severity: Severity::Error,
    standing: RuleStanding::On,
    reach: RuleReach::Each,
    why: "Directives of strategic merge patches are `$patch`, `$patchMergeKey`, `$retainKeys`, `$setElementOrder/FIELD` and \
          `$deleteFromPrimitiveList/FIELD`. One that is misspelled reaches the object as a field.",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: web}\n    \
             spec:\n      securityContext: {$pacth: replace, runAsNonRoot: true}\n",
        ),
        ("pod.yaml", POD),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: web}\n    \
             spec:\n      securityContext: {$patch: replace, runAsNonRoot: true}\n",
        ),
        ("pod.yaml", POD),
    ],
    finder: Finder::Target(find),
};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  securityContext: {runAsUser: 1}\n  containers:\n  - {name: web, image: nginx}\n";

const DIRECTIVES: [&str; 5] =
    [PATCH, PATCH_MERGE_KEY, RETAIN_KEYS, SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST];

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        target.walk(resource, &mut |visit| {
            let Some(key) = visit.entry.map(|entry| &entry.key) else { return };
            let name = key.text.as_str();
            let (word, field) =
                name.split_once('/').map_or((name, ""), |(word, _)| (word, &name[word.len()..]));
            let Some(meant) = word.strip_prefix('$').and_then(|_| nearest(word, &DIRECTIVES)) else { return };
            if meant == word {
                return;
            }
            let meant = format!("{meant}{field}");
            found.push(
                Diagnostic::error(RULE.code, format!("`{name}` is no directive, and becomes a field"))
                    .at(key.meta.span)
                    .resource(resource.id())
                    .field(visit.path())
                    .help(format!("did you mean `{meant}`?"))
                    .certain_fix(key.meta.span, meant),
            );
        });
    }
    found
}
