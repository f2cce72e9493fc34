use rustc_hash::FxHashSet;

use super::prelude::*;
use smp_text::yaml::nearest_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "volume-mount",
        meaning: "A container mounts a volume that is not defined in the Pod.",
        remedy: "Correct the name or add the volume. If a patch removed or renamed the volume, the finding points to that patch.",
    },
    why: "The Pod cannot be created. Mounts refer to `volumes` of the same Pod, or to `volumeClaimTemplates` of a \
          StatefulSet.",
    documentation: "https://kubernetes.io/docs/concepts/storage/volumes/",
    example: container!(
        "volumeMounts: [{name: date, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]"
    ),
    fix: ("date", "data"),
    cause: ViolationCause::PodVolume,
    may_be_partial: true,
    checks: &[("PodSpec", Check::Type(mounts))],
    ..ValidationRule::DEFAULT
};

/// The maximum number of volume names that are compared with an unknown name to find a similar one.
const COMPARED: usize = 64;

fn missing_volume(name: &str, volumes: &FxHashSet<&str>) -> String {
    let known: Vec<&str> = volumes.iter().copied().take(COMPARED).collect();
    let near = nearest_name(name, &known).map(|near| format!(" (did you mean `{near}`?)"));
    format!("the Pod has no volume `{name}`{}", near.unwrap_or_default())
}

fn mounts(subject: Subject<'_>, violations: &mut RuleViolations) {
    let mut volumes: FxHashSet<&str> = subject.list("volumes").iter().map(|v| text_of(v, "name")).collect();
    let claims = subject.object.get_path(&["spec", "volumeClaimTemplates"]).and_then(Node::as_list);
    let name = |claim| Node::get_path(claim, &["metadata", "name"]).and_then(Node::as_str);
    volumes.extend(claims.into_iter().flatten().filter_map(name));
    for (list, i, container) in subject.containers() {
        for field in ["volumeMounts", "volumeDevices"] {
            let mounts = container.get(field).and_then(Node::as_list);
            for (k, mount) in mounts.into_iter().flatten().enumerate() {
                let name = text_of(mount, "name");
                if !name.is_empty() && !volumes.contains(name) {
                    let path = [Field(list), Entry(i), Field(field), Entry(k), Field("name")];
                    violations.report_path(subject, &path, missing_volume(name, &volumes));
                }
            }
        }
    }
}
