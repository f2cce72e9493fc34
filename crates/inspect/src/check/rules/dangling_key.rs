//! Rule: a reference names a key that a ConfigMap or Secret of the build does not have.

use crate::check::objects::{FoundObject, Objects};
use crate::check::reference::ObjectReference;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Map, Node, nearest_name};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "dangling-key",
        meaning: "An environment variable or volume refers to a missing key of a ConfigMap or Secret.",
        remedy: "Correct the key, or add it to the ConfigMap or Secret.",
    }),
    title: "Reference to a missing key",
    group: RuleGroup::DanglingReference,
    severity: Severity::Error,
    default: RuleDefault::Enabled,
    scope: RuleScope::BuildableOverlays,
    why: "The kubelet does not start a container whose `configMapKeyRef`, `secretKeyRef` or volume item names a \
          missing key, unless the reference is `optional`. The Pod remains in `CreateContainerConfigError` or \
          `ContainerCreating`. Only ConfigMaps and Secrets of the build are checked.",
    suppress: Some("A controller adds the key to the object in the cluster."),
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/",
    bad: &[
        ("kustomization.yaml", "resources: [pod.yaml, map.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             env:\n    - name: A\n      valueFrom:\n        configMapKeyRef: {name: web, key: hots}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {host: b}\n"),
    ],
    good: &[
        ("kustomization.yaml", "resources: [pod.yaml, map.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             env:\n    - name: A\n      valueFrom:\n        configMapKeyRef: {name: web, key: host}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {host: b}\n"),
    ],
    finder: Finder::Target(find),
};

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let names = target.names();
    names.references.iter().flat_map(|reference| check(reference, &names.objects)).collect()
}

fn check(reference: &ObjectReference<'_>, objects: &Objects<'_>) -> Vec<Diagnostic> {
    let known = || {
        let found = objects.find(&reference.kind, &reference.namespace, reference.text());
        let FoundObject::Built(found) = found else { return None };
        Some((found, keys(found).filter(|_| !objects.is_controller_output(found.id()))?))
    };
    // Most references refer to no key.
    let Some((found, keys)) = (!reference.keys.is_empty()).then(known).flatten() else { return Vec::new() };
    let missing = |(key, field): &(&Node, String)| {
        let expected = key.as_str().filter(|expected| !keys.contains(expected))?;
        let message = format!("{} `{}` has no key `{expected}`", reference.kind, reference.text());
        let problem = Diagnostic::error(RULE.code, message)
            .at(key.span())
            .label(found.node().span().at_start(), "defined here")
            .resource(reference.from.id())
            .field(field);
        Some(match nearest_name(expected, &keys) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        })
    };
    reference.keys.iter().filter_map(missing).collect()
}

/// The type of Secrets into which the API server writes a token.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// Returns the keys of a ConfigMap or Secret. Returns `None` if it has no data or a controller may add keys.
fn keys(found: &Resource) -> Option<Vec<&str>> {
    let node = found.node();
    let lists = ["data", "stringData", "binaryData"].map(|field| node.get(field).and_then(Node::as_map));
    let keys: Vec<&str> =
        lists.into_iter().flatten().flat_map(|map| map.iter().map(|(key, _)| key)).collect();
    let is_token = node.get("type").and_then(Node::as_str) == Some(TOKEN);
    (!keys.is_empty() && !is_token && !is_injected(node)).then_some(keys)
}

/// Returns true if a label or annotation makes a controller inject data, such as the CA certificates of a cluster.
fn is_injected(node: &Node) -> bool {
    let maps =
        ["labels", "annotations"].map(|field| node.get_path(&["metadata", field]).and_then(Node::as_map));
    maps.into_iter().flatten().flat_map(Map::iter).any(|(key, _)| key.contains("inject"))
}
