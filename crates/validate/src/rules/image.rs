use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "image",
        meaning: "The image of a container is missing (in `check`: `container-without-image`), or has leading or \
                  trailing spaces.",
        remedy: "Set `image`, without leading or trailing spaces.",
    },
    why: "The API server rejects every container without an image, in Pods and in the templates of \
          workloads. It rejects leading or trailing spaces in Pods only: a workload with them is accepted \
          (the finding is a warning), but its Pods cannot be created. `check` reports a missing image as \
          `container-without-image`.",
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

fn blanks(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text("image").is_some_and(|text| !text.is_empty() && text.trim() != text) {
        violations.report_field(subject, "image", "must not have leading or trailing whitespace");
    }
}

fn images(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (list, i, container) in subject.containers() {
        if container.as_map().is_some() && container.get("image").is_none_or(Node::is_null) {
            let path = [Field(list), Entry(i), Field("image")];
            violations.report_at(&path, container.span(), "the container has no image");
        }
    }
}
