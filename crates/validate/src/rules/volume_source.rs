use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "volume-source",
        meaning: "A volume has no source, or several sources.",
        remedy: "Keep one source, such as `configMap` or `emptyDir`. A patch that changes the source must remove the old one.",
    },
    why: "A strategic merge adds the new source beside the old one, since both are fields of the same volume.",
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

/// All fields but the name are sources. A volume without one is an empty directory.
fn pod_volume(of: Subject<'_>, faults: &mut Faults) {
    let mut sources = of.map.iter().filter(|(name, value)| *name != "name" && !value.is_null());
    if let Some((second, _)) = sources.nth(1) {
        faults.field(of, second, "a volume has one source");
    }
}

fn downward(of: Subject<'_>, faults: &mut Faults) {
    if of.count(&["fieldRef", "resourceFieldRef"]) != 1 {
        faults.value(of, "this must have `fieldRef` or `resourceFieldRef`");
    }
}

fn projection(of: Subject<'_>, faults: &mut Faults) {
    if of.map.iter().filter(|(_, value)| !value.is_null()).count() > 1 {
        faults.value(of, "a projection has one source");
    }
}

/// Fields of a persistent volume that are not sources.
const OTHERS: &str = "accessModes capacity claimRef mountOptions nodeAffinity persistentVolumeReclaimPolicy \
                      storageClassName volumeAttributesClassName volumeMode";

fn persistent_volume(of: Subject<'_>, faults: &mut Faults) {
    if of.kind() != "PersistentVolume" {
        return;
    }
    let is_source =
        |(name, value): &(&str, &Node)| !value.is_null() && !OTHERS.split(' ').any(|other| other == *name);
    match of.map.iter().filter(is_source).count() {
        1 => {}
        0 => faults.value(of, "this volume has no source"),
        _ => faults.value(of, "a volume has one source"),
    }
    if of.get("local").is_some() && of.get("nodeAffinity").is_none() {
        faults.field(of, "nodeAffinity", "a local volume needs its `nodeAffinity`");
    }
}

fn attachment(of: Subject<'_>, faults: &mut Faults) {
    if of.count(&["persistentVolumeName", "inlineVolumeSpec"]) != 1 {
        faults.value(of, "an attachment has one source");
    }
}
