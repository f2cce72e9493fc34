//! Rule: major version changed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "major-version",
        meaning: "A change deploys another major version of an image.",
        remedy: "Read the upgrade notes of the version, and test the upgrade with a copy of the data.",
    }),
    title: "Major version changed",
    severity: Severity::Warning,
    why: "A new major version may change its configuration, API or data format. A rollback does not undo changes to the data.",
    suppress: Some("The upgrade notes were followed."),
    documentation: "https://semver.org/",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:2.0\"}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.28\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let Some((old, new)) = container.changed_image() else { continue };
        let (before, after) = (ImageName::parse(old), ImageName::parse(new));
        if let (Some(from), Some(to)) = (before.major(), after.major())
            && before.repository() == after.repository()
            && from != to
        {
            let message = format!("the major version changes from {from} to {to}");
            found.push(Danger::at(&container.field(&["image"]), message));
        }
    }
    found
}
