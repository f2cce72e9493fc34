//! Volumes of pods.

use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("Volume", source),
    ("SecretVolumeSource", items),
    ("ConfigMapVolumeSource", items),
    ("HostPathVolumeSource", host_path),
    ("DownwardAPIVolumeFile", downward),
    ("VolumeProjection", projection),
];

/// All fields but the name are sources. A volume without one is an empty directory.
fn source(of: Subject<'_>, faults: &mut Faults) {
    let sources: Vec<&str> = of
        .map
        .iter()
        .filter(|(name, value)| *name != "name" && !value.is_null())
        .map(|(name, _)| name)
        .collect();
    if let [_, second, ..] = sources[..] {
        faults.field(ViolationRule::VolumeSource, of, second, "a volume has one source");
    }
}

fn is_relative(path: &str) -> bool {
    !path.starts_with('/') && !path.split('/').any(|part| part == "..")
}

fn items(of: Subject<'_>, faults: &mut Faults) {
    for (i, item) in of.list("items").iter().enumerate() {
        if let Some(path) =
            item.get("path").filter(|path| path.as_str().is_some_and(|text| !is_relative(text)))
        {
            let below = [Below::Field("items"), Below::Entry(i), Below::Field("path")];
            faults.below(
                ViolationRule::MountPath,
                &below,
                path.span(),
                "this must be a relative path without `..`",
            );
        }
    }
}

fn host_path(of: Subject<'_>, faults: &mut Faults) {
    if of.text("path").is_some_and(|path| path.split('/').any(|part| part == "..")) {
        faults.field(ViolationRule::MountPath, of, "path", "this path must not have `..`");
    }
}

fn downward(of: Subject<'_>, faults: &mut Faults) {
    let count = usize::from(of.get("fieldRef").is_some()) + usize::from(of.get("resourceFieldRef").is_some());
    if count != 1 {
        faults.below(
            ViolationRule::VolumeSource,
            &[],
            of.node.span(),
            "this must have `fieldRef` or `resourceFieldRef`",
        );
    }
    if of.text("path").is_some_and(|path| path.is_empty() || !is_relative(path)) {
        faults.field(ViolationRule::MountPath, of, "path", "this must be a relative path without `..`");
    }
}

fn projection(of: Subject<'_>, faults: &mut Faults) {
    let count = of.map.iter().filter(|(_, value): &(&str, &Node)| !value.is_null()).count();
    if count > 1 {
        faults.below(ViolationRule::VolumeSource, &[], of.node.span(), "a projection has one source");
    }
}
