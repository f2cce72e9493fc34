//! Rule: container with more privileges.

use super::capabilities::gained_capabilities;
use super::prelude::*;
use crate::check::changed_containers::ChangedContainer;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "privileged-container",
        meaning: "A change gives a container more privileges on its node, or lets a namespace allow that.",
        remedy: "Drop the privilege, or add only the capability that is needed.",
    }),
    title: "Container with more privileges",
    severity: Severity::Error,
    why: "A privileged container, or one with capabilities such as SYS_ADMIN, can take over its node and all Pods on it. Without `drop: [ALL]` and `allowPrivilegeEscalation: false`, a container has the default capabilities, and its processes can gain more.",
    suppress: Some("The container manages nodes, such as a network plugin."),
    documentation: "https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {privileged: true}}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {privileged: false, readOnlyRootFilesystem: true}}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {privileged: false}}]\n";

/// The fields of `securityContext` that grant privileges.
const FIELDS: [&[&str]; 3] =
    [&["privileged"], &["allowPrivilegeEscalation"], &["windowsOptions", "hostProcess"]];

/// The label with the Pod Security Standard that a namespace enforces.
const LEVEL: &str = "pod-security.kubernetes.io/enforce";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found: Vec<Danger> = lower_level(object).into_iter().collect();
    for container in object.containers_and_pod() {
        let sides =
            [container.old, container.new].map(|side| side.and_then(|side| side.get("securityContext")));
        for field in FIELDS {
            let [old, new] = sides.map(|context| text(context.and_then(|context| context.get_path(field))));
            let name = field.join(".");
            // `allowPrivilegeEscalation` is true by default.
            let default = (name == "allowPrivilegeEscalation").then_some("true");
            let is_gained = old.or(default) != Some("true") && new.or(default) == Some("true");
            if !is_gained || container.new.is_none() {
                continue;
            }
            let message = match new {
                Some(_) => format!("{} gets `{name}: true`", container.title()),
                None => format!("{} loses `{name}: false`", container.title()),
            };
            found.push(Danger::at(&container.field(&[&["securityContext"], field].concat()), message));
        }
        if !container.name.is_empty() {
            found.extend(capabilities(&container, sides));
        }
    }
    found
}

/// Returns the dangers of capabilities that a container gains. A privileged container has all of them, which is
/// reported separately.
fn capabilities(container: &ChangedContainer<'_>, sides: [Option<&Node>; 2]) -> Vec<Danger> {
    let is_privileged = is_true(sides[1].and_then(|context| context.get("privileged")));
    if container.new.is_none() || is_privileged {
        return Vec::new();
    }
    let gained = gained_capabilities(sides);
    let danger = |(list, verb, names): (&str, &str, Vec<String>)| {
        let message = format!("{} {verb} the capabilities {}", container.title(), names.join(", "));
        let path = container.field(&["securityContext", "capabilities", list]);
        (!names.is_empty()).then(|| Danger::at(&path, message))
    };
    let lists = [("add", "gets", gained.added), ("drop", "no longer drops", gained.restored)];
    lists.into_iter().filter_map(danger).collect()
}

/// Returns the danger of a namespace that allows more privileges.
fn lower_level(object: &ChangedObject<'_>) -> Option<Danger> {
    if !object.is_kind("", &["Namespace"]) || object.new.is_none() {
        return None;
    }
    let path = ["metadata", "labels", LEVEL];
    let [old, new] = object.texts(&path);
    let rank =
        |level: Option<&str>| ["baseline", "restricted"].iter().position(|known| Some(*known) == level);
    let is_lower = rank(new) < rank(old) || (new == Some("privileged") && old != new);
    let message = format!("the namespace allows the Pods of the level `{}`", new.unwrap_or("privileged"));
    is_lower.then(|| Danger::at(&path, message))
}
