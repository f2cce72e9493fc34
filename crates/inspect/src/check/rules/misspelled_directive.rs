//! Rule: a patch directive ends up as a field of the object.

use crate::check::causes::{OVERLAY, is_patch};
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use crate::check::walk::FieldVisit;
use smp_merge::merge::directive::{
    DELETE_FROM_PRIMITIVE_LIST, PATCH, PATCH_MERGE_KEY, RETAIN_KEYS, SET_ELEMENT_ORDER,
};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::nearest_name;

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "misspelled-directive",
        meaning: "A patch directive is misspelled, or has no effect where it is used, and becomes a field of the \
                  object.",
        remedy: "Correct the spelling, or write the complete value instead of using a directive. Set fields to remove to \
                 `null`.",
    }),
    title: "Patch directive left in the object",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Error,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "In patches of a kustomization, only `$patch` and `$patchMergeKey` work, and only where maps or lists are \
          merged. Without a kustomization, `$retainKeys`, `$setElementOrder/FIELD` and \
          `$deleteFromPrimitiveList/FIELD` work as well. Anything else is merged as an ordinary field: nothing is \
          deleted or replaced, and the API server rejects or drops the unknown field.",
    suppress: Some("A custom resource has a field with this name."),
    documentation: "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/",
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
            let Some(meant) = intended_directive(name) else { return };
            let finding = |message: String| {
                let error = Diagnostic::error(RULE.code, message).at(key.meta.span);
                error.resource(resource.id()).field(visit.path())
            };
            let writer = first_writer(resource, visit);
            found.push(if meant == name && writer.is_none_or(is_patch) {
                if writer == Some(OVERLAY) || works_in_kustomizations(name) {
                    finding(format!(
                        "directive `{name}` is left in the object: the patch replaces the value around it instead of \
                         merging it"
                    ))
                    .help("write the complete value, or provide a schema for the kind")
                } else {
                    finding(format!(
                        "`{name}` has no effect in patches of a kustomization, and becomes a field of the object"
                    ))
                    .help("remove it; set fields to remove to `null`")
                }
            } else if meant == name {
                finding(format!("`{name}` in a resource has no effect: directives only work in patches"))
                    .help("remove it, or move it to a file under `patches`")
            } else {
                finding(format!("`{name}` is not a patch directive and becomes a field"))
                    .help(format!("did you mean `{meant}`?"))
                    .machine_applicable_fix(key.meta.span, meant)
            });
        });
    }
    found
}

/// Returns true if patches of a kustomization support a directive.
fn works_in_kustomizations(directive: &str) -> bool {
    [PATCH, PATCH_MERGE_KEY].contains(&directive)
}

/// Returns the name of the step that first wrote a field, if it is known.
fn first_writer<'r>(resource: &'r Resource, visit: &FieldVisit<'_, '_>) -> Option<&'r str> {
    let value = resource.history.as_deref()?.value_at(&visit.steps())?;
    Some(value.leaves().next()?.last()?.by.name().as_str())
}

/// Returns the directive that a field name equals or misspells, if any.
pub(in crate::check) fn intended_directive(field: &str) -> Option<String> {
    let (word, rest) = field.split_once('/').map_or((field, ""), |(word, _)| (word, &field[word.len()..]));
    let meant = word.strip_prefix('$').and_then(|_| nearest_name(word, &DIRECTIVES))?;
    Some(format!("{meant}{rest}"))
}
