//! Rule: pod with access to its node.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "host-access",
        meaning: "A change gives Pods access to the network, processes or files of their node.",
        remedy: "Remove `hostNetwork`, `hostPID` and `hostIPC`, and use another type of volume instead of `hostPath`.",
    }),
    title: "Pod with access to its node",
    severity: Severity::Error,
    why: "With a host namespace (`hostNetwork`, `hostPID`, `hostIPC`) or a `hostPath` volume, a Pod can read the traffic, the processes or the files of other Pods.",
    suppress: Some("The workload needs its node, such as a network plugin or a log collector."),
    documentation: "https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      hostNetwork: true\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      hostNetwork: false\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let Some(([old, Some(new)], pod)) = object.pods() else { return Vec::new() };
    let at = |steps: &[&str]| -> Vec<String> { pod.iter().chain(steps).map(ToString::to_string).collect() };
    let mut found = Vec::new();
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        if is_true(new.get(field)) && !is_true(old.and_then(|old| old.get(field))) {
            found.push(Danger::at(&at(&[field]), format!("the Pods share a host namespace: `{field}`")));
        }
    }
    let paths = |side: Option<&'_ Node>| -> Vec<Option<String>> {
        let volumes = entries(side.and_then(|side| side.get("volumes"))).iter();
        volumes.map(|volume| text(volume.get_path(&["hostPath", "path"])).map(str::to_string)).collect()
    };
    let known = paths(old);
    for (i, path) in
        paths(Some(new)).into_iter().enumerate().filter(|(_, path)| path.is_some() && !known.contains(path))
    {
        let message = format!("the Pods can access the path `{}` of the node", path.unwrap_or_default());
        found.push(Danger::at(&at(&["volumes", &i.to_string(), "hostPath"]), message));
    }
    found
}
