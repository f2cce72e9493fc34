use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "volume-source",
        meaning: "A volume has no source or several sources.",
        remedy: "Keep one source, such as `configMap` or `emptyDir`. In a patch that changes the source, set the old one to null.",
    },
    why: "The sources are different fields of a volume, so a strategic merge patch with a new source keeps the old \
          one next to it.",
    documentation: "https://kubernetes.io/docs/concepts/storage/volumes/",
    example: pod!(
        "volumes:
  - {name: data, emptyDir: {}, hostPath: {path: /data}}"
    ),
    fix: (", hostPath: {path: /data}", ""),
    cause: ViolationCause::Removal,
    may_be_partial: true,
    checks: &[
        ("Volume", Check::Type(pod_volume)),
        ("DownwardAPIVolumeFile", Check::Type(downward)),
        ("VolumeProjection", Check::Type(projection)),
        ("PersistentVolumeSpec", Check::Type(persistent_volume)),
        ("VolumeAttachmentSource", Check::Type(attachment)),
    ],
    ..ValidationRule::DEFAULT
};

/// Checks that a volume has at most one source. All fields except `name` are sources. A volume without a source is an
/// `emptyDir`.
fn pod_volume(subject: Subject<'_>, violations: &mut RuleViolations) {
    let mut sources = subject.map.iter().filter(|(name, value)| *name != "name" && !value.is_null());
    if let Some((second, _)) = sources.nth(1) {
        violations.report_field(subject, second, "may not specify more than one volume type");
    }
}

fn downward(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.count(&["fieldRef", "resourceFieldRef"]) != 1 {
        violations.report_value(subject, "must specify exactly one of `fieldRef` and `resourceFieldRef`");
    }
}

fn projection(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.map.iter().filter(|(_, value)| !value.is_null()).count() > 1 {
        violations.report_value(subject, "may not specify more than one volume type");
    }
}

/// The fields of a PersistentVolume's spec that are not volume sources.
const OTHERS: &str = "accessModes capacity claimRef mountOptions nodeAffinity persistentVolumeReclaimPolicy \
                      storageClassName volumeAttributesClassName volumeMode";

fn persistent_volume(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.kind() != "PersistentVolume" {
        return;
    }
    let is_source =
        |(name, value): &(&str, &Node)| !value.is_null() && !OTHERS.split(' ').any(|other| other == *name);
    match subject.map.iter().filter(is_source).count() {
        1 => {}
        0 => violations.report_value(subject, "must specify a volume type"),
        _ => violations.report_value(subject, "may not specify more than one volume type"),
    }
    if subject.get("local").is_some() && subject.get("nodeAffinity").is_none() {
        violations.report_field(subject, "nodeAffinity", "local volumes require `nodeAffinity`");
    }
}

fn attachment(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.count(&["persistentVolumeName", "inlineVolumeSpec"]) != 1 {
        violations.report_value(
            subject,
            "must specify exactly one of `persistentVolumeName` and `inlineVolumeSpec`",
        );
    }
}
