use rustc_hash::FxHashSet;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "container-name",
        meaning: "A container and an init container have the same name.",
        remedy: "Rename one of the containers.",
    },
    why: "Logs, `kubectl exec` and the Pod status identify containers by name, so a name must be unique across both \
          lists.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
    example: pod!("initContainers: [{name: web, image: busybox}]"),
    fix: ("initContainers: [{name: web", "initContainers: [{name: prepare"),
    checks: &[("PodSpec", Check::Type(names))],
    ..ValidationRule::DEFAULT
};

/// Reports containers with the name of an init container. The schema traversal reports duplicates within one list.
fn names(subject: Subject<'_>, violations: &mut RuleViolations) {
    let init: FxHashSet<&str> = subject.list("initContainers").iter().map(|c| text_of(c, "name")).collect();
    for (i, container) in subject.list("containers").iter().enumerate() {
        let name = text_of(container, "name");
        if !name.is_empty() && init.contains(name) {
            let path = [Field("containers"), Entry(i), Field("name")];
            violations.report_path(
                subject,
                &path,
                "duplicate container name: an init container has the same name",
            );
        }
    }
}
