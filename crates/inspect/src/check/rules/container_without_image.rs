//! Rule: a container has no image.

use crate::check::causes::Causes;
use crate::check::reference::pod_containers;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_merge::schema::is_built_in_group;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::Node;

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "container-without-image",
        meaning: "A container has no image.",
        remedy: "Add the image. If a patch was meant to change an existing container, correct the container name in the patch.",
    }),
    title: "Container without an image",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Error,
    default: RuleDefault::Enabled,
    scope: RuleScope::BuildableOverlays,
    why: "The API server rejects the object. Usually a patch misspells a container name: instead of changing the \
          container, it adds a new one that has only the fields of the patch. An operator may fill in the image \
          of a custom resource, as OpenShift does for a DeploymentConfig. So a container of a custom resource is only \
          reported if it comes from another file than the custom resource itself, such as a patch. See also `image`, \
          which `build --validate` reports.",
    suppress: Some(
        "A mutating admission webhook fills in the image of a Pod, as sidecar injectors do. It cannot do so in a workload.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/containers/images/",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: web}\n    \
             spec: {containers: [{name: main, tty: true}]}\n",
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
             spec: {containers: [{name: web, tty: true}]}\n",
        ),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n",
        ),
    ],
    finder: Finder::Target(find),
};

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let (mut found, causes) = (Vec::new(), Causes::new(target.sources));
    let file_of = |node: &Node| target.sources.outermost(node.span()).source;
    for resource in target.resources() {
        let is_built_in = is_built_in_group(&resource.id().gvk.group);
        for container in pod_containers(resource) {
            let has_image = !container.node.get("image").is_none_or(Node::is_null);
            if has_image || (!is_built_in && file_of(container.node) == file_of(resource.node())) {
                continue;
            }
            let name = container.node.get("name").and_then(Node::as_str).unwrap_or_default();
            let finding = Diagnostic::error(RULE.code, format!("container `{name}` has no image"))
                .at(container.made_at())
                .resource(resource.id())
                .field(&container.field)
                .help("set `image`, or correct the name if an existing container is meant");
            found.push(causes.missing_field(finding, (container.node, "image"), resource));
        }
    }
    found
}
