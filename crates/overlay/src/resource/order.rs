//! kustomize's sort order of kinds and IDs.

use std::cmp::Ordering;

use super::id::ResId;

/// The kinds that are sorted before all others, in this order.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// The kinds that are sorted after all others, in this order.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Returns the sort rank of a kind: negative for those that come first, positive for those that come last.
pub(crate) fn kind_rank(kind: &str) -> i64 {
    let rank = |position: Option<usize>| position.and_then(|i| i64::try_from(i + 1).ok());
    // The last of the kinds that come first has the rank -1.
    let first = rank(FIRST.iter().rev().position(|k| *k == kind));
    first.map(|rank| -rank).or_else(|| rank(LAST.iter().position(|k| *k == kind))).unwrap_or(0)
}

/// Compares group, version and kind as kustomize does to sort field specs.
pub(crate) fn compare_kinds(a: [&str; 3], b: [&str; 3]) -> Ordering {
    kind_rank(a[2]).cmp(&kind_rank(b[2])).then_with(|| compare_kind_texts(a, b))
}

/// Compares `group_version_kind`, where empty parts are `~G`, `~V` and `~K` and thus sort after all names.
fn compare_kind_texts(a: [&str; 3], b: [&str; 3]) -> Ordering {
    fn text([group, version, kind]: [&str; 3]) -> impl Iterator<Item = u8> + '_ {
        let version = or_placeholder("~V", version).chain([b'_']);
        or_placeholder("~G", group).chain([b'_']).chain(version).chain(or_placeholder("~K", kind))
    }
    if a == b { Ordering::Equal } else { text(a).cmp(text(b)) }
}

/// Compares resources whose kinds have the same rank.
pub(crate) fn compare_ids(a: &ResId, b: &ResId) -> Ordering {
    let (ga, gb) = (&a.gvk, &b.gvk);
    if ga == gb {
        return compare_names(a, b);
    }
    let order = compare_kind_texts([&ga.group, &ga.version, &ga.kind], [&gb.group, &gb.version, &gb.kind]);
    let namespaces = ga.kind == "Namespace" && gb.kind == "Namespace";
    // Core namespaces come before resources of kind Namespace in other groups.
    if namespaces && (ga.group.is_empty() || gb.group.is_empty()) { order.reverse() } else { order }
}

/// Compares `namespace|name`, where an empty namespace is `~X` and thus sorts after all names.
fn compare_names(a: &ResId, b: &ResId) -> Ordering {
    fn text(id: &ResId) -> impl Iterator<Item = u8> {
        or_placeholder("~X", &id.namespace).chain([b'|']).chain(or_placeholder("~N", &id.name))
    }
    if a.namespace == b.namespace && !a.name.is_empty() && !b.name.is_empty() {
        return a.name.cmp(&b.name);
    }
    text(a).cmp(text(b))
}

/// Returns the bytes of a part, or of its placeholder if it is empty.
fn or_placeholder<'t>(text: &'t str, part: &'t str) -> std::str::Bytes<'t> {
    if part.is_empty() { text.bytes() } else { part.bytes() }
}
