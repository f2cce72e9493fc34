use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "access-modes",
        meaning: "A volume or claim has no access mode, an unknown one, or modes that cannot be combined.",
        remedy: "Use `ReadWriteOnce`, `ReadOnlyMany` or `ReadWriteMany`, or `ReadWriteOncePod` alone.",
    },
    why: "The API server rejects invalid modes, so the volume or claim is not created, and Pods that use it stay \
          pending.",
    documentation: "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes",
    example: "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce, ReadWriteOncePod]
  resources: {requests: {storage: 1Gi}}
",
    fix: ("ReadWriteOnce, ReadWriteOncePod", "ReadWriteOncePod"),
    may_be_partial: true,
    checks: &[
        (
            "PersistentVolumeClaimSpec accessModes; PersistentVolumeSpec accessModes",
            Check::StringList((
                is_mode,
                "`ReadWriteOnce`, `ReadOnlyMany`, `ReadWriteMany` or `ReadWriteOncePod`",
            )),
        ),
        ("PersistentVolumeClaimSpec", Check::Type(modes)),
        ("PersistentVolumeSpec", Check::Type(modes_of_volume)),
    ],
    ..ValidationRule::DEFAULT
};

fn is_mode(text: &str) -> bool {
    matches!(text, "ReadWriteOnce" | "ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOncePod")
}

fn modes(subject: Subject<'_>, violations: &mut RuleViolations) {
    let modes = subject.list("accessModes");
    if modes.is_empty() {
        violations.report_field(subject, "accessModes", "at least one access mode is required");
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode.as_str() == Some("ReadWriteOncePod")) {
        violations.report_field(
            subject,
            "accessModes",
            "`ReadWriteOncePod` may not be used with other access modes",
        );
    }
}

/// Checks the `accessModes` of a PersistentVolume. A volume inside another object needs none.
fn modes_of_volume(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.kind() == "PersistentVolume" {
        modes(subject, violations);
    }
}
