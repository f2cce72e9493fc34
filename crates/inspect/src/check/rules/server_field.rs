//! Rule: a manifest has metadata that the cluster sets.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "server-field",
        meaning: "A manifest has metadata that the cluster sets, such as `uid`, `resourceVersion` or `managedFields`.",
        remedy: "Remove the field. `apply --strip-server-fields` removes such fields from all manifests.",
    }),
    title: "Metadata that the cluster sets",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "Manifests from `kubectl get -o yaml` and from backups describe one object of one cluster. The API server \
          rejects an object with another `uid` or `resourceVersion`, and server-side apply rejects `managedFields`. \
          An entry of `ownerReferences` whose `uid` does not exist is worse: the object is created, and the garbage \
          collector deletes it. `ownerReferences` are only reported together with other such fields.",
    suppress: Some(
        "The manifest is only used to recreate the object in the cluster that it is from, while its owner still exists.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/architecture/garbage-collection/",
    bad: &[
        ("kustomization.yaml", "resources: [map.yaml]\n"),
        (
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  uid: 4a1c0b57-5a9e-4d0c-9b7e-0d1f3c2b1a00\n  \
             ownerReferences:\n  - {apiVersion: v1, kind: Node, name: one, uid: \"1\"}\n",
        ),
    ],
    good: &[
        ("kustomization.yaml", "resources: [map.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n"),
    ],
    finder: Finder::Target(find),
};

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        for entry in resource.server_fields() {
            let field = format!("metadata.{}", entry.key.text);
            let finding = Diagnostic::warning(RULE.code, format!("`{field}` is set by the cluster"))
                .at(entry.key.meta.span)
                .resource(resource.id())
                .field(&field)
                .help("remove it, or use `apply --strip-server-fields`");
            found.push(finding);
        }
    }
    found
}
