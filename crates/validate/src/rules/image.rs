use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "image",
        meaning: "A container has no image, or its image has spaces around it.",
        remedy: "Set `image`, without leading or trailing spaces.",
    },
    why: "Pods cannot run without images. In the template of a workload `image` may be absent only if something else adds it.",
    documentation: "https://kubernetes.io/docs/concepts/containers/images/",
    example: "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: \"nginx \"
",
    fix: ("\"nginx \"", "nginx"),
    may_be_partial: true,
    checks: &[("Container", Check::Type(blanks)), ("PodSpec", Check::Type(images))],
    ..ValidationRule::DEFAULT
};

fn blanks(of: Subject<'_>, faults: &mut Faults) {
    if of.text("image").is_some_and(|text| !text.is_empty() && text.trim() != text) {
        faults.field(of, "image", "the name of an image has no blanks around it");
    }
}

fn images(of: Subject<'_>, faults: &mut Faults) {
    for (list, i, container) in of.containers() {
        if container.as_map().is_some() && container.get("image").is_none_or(Node::is_null) {
            let path = [Field(list), Entry(i), Field("image")];
            faults.below(&path, container.span(), "this container has no image");
        }
    }
}
