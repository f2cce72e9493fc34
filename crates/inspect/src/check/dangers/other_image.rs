//! Rule: image of another repository.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "other-image",
        meaning: "A change takes an image from another registry or repository.",
        remedy: "Check that the registry is trusted and the image is the same program.",
    }),
    title: "Image of another repository",
    severity: Severity::Warning,
    why: "An image of another repository may be another program of another vendor, and it may be neither signed nor scanned.",
    suppress: Some("The images were moved to another registry."),
    documentation: "https://kubernetes.io/docs/concepts/containers/images/",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"example.com/nginx:1.27\"}]\n"
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
        let (before, after) = (ImageName::parse(old).repository(), ImageName::parse(new).repository());
        if before != after {
            let message = format!("the image comes from `{after}` instead of `{before}`");
            found.push(Danger::at(&container.field(&["image"]), message));
        }
    }
    found
}
