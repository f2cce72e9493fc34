//! Rule: role widened.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "wider-role",
        meaning: "A change adds permissions to a Role or ClusterRole, also through aggregation.",
        remedy: "Add only the permissions that are needed, to a role with as few subjects as possible.",
    }),
    title: "Role widened",
    severity: Severity::Error,
    why: "Every subject of the role gets the new permissions as soon as the change is applied. A ClusterRole with a label such as `rbac.authorization.k8s.io/aggregate-to-view` adds its permissions to another role.",
    suppress: Some("The permissions are needed, and were reviewed."),
    documentation: "https://kubernetes.io/docs/concepts/security/rbac-good-practices/",
    bad: change!(
        BEFORE,
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader}\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get, list, delete]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader}\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader}\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get, list]\n";

/// The maximum number of permissions that are listed in a message.
const MAX_LISTED: usize = 5;

/// The labels that add the permissions of a ClusterRole to a default role.
const AGGREGATION_LABELS: [&str; 3] = [
    "rbac.authorization.k8s.io/aggregate-to-admin",
    "rbac.authorization.k8s.io/aggregate-to-edit",
    "rbac.authorization.k8s.io/aggregate-to-view",
];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let is_role = object.is_kind("rbac.authorization.k8s.io", &["Role", "ClusterRole"]);
    let (true, Some(new)) = (is_role, object.new) else { return Vec::new() };
    let is_label_added = AGGREGATION_LABELS
        .iter()
        .any(|label| matches!(object.texts(&["metadata", "labels", label]), [old, Some("true")] if old != Some("true")));
    let old = permissions(object.old.filter(|_| !is_label_added));
    let mut added: Vec<Permission> = permissions(Some(new));
    added.retain(|one| !old.iter().any(|known| covers(known, one)));
    if object.old.is_none() || is_label_added {
        // A new role is a danger only if it allows all verbs or all resources, or adds access to Secrets to another
        // role.
        added.retain(|[verb, resource, ..]| {
            verb == "*" || resource == "*" || (is_label_added && resource == "secrets")
        });
    }
    let listed = added.iter().take(MAX_LISTED).map(shown_permission).collect::<Vec<_>>().join(", ");
    let more = match added.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let wider = Danger::at(&["rules"], format!("the role allows more: {listed}{more}"));
    let wider = (!added.is_empty()).then_some(wider);
    wider.into_iter().chain(wider_aggregation(object)).collect()
}

/// Returns the dangers of a ClusterRole that aggregates more ClusterRoles.
fn wider_aggregation(object: &ChangedObject<'_>) -> Vec<Danger> {
    let path = ["aggregationRule", "clusterRoleSelectors"];
    let [old, new] = object.values(&path);
    let mut added = added_entries(old, new);
    // A new aggregated ClusterRole normally selects the ClusterRoles that belong to it, so only an empty selector is
    // reported.
    added.retain(|(_, selector)| object.old.is_some() || requirements(Some(selector)).is_empty());
    let danger = |(i, _): (usize, &Node)| {
        let message = "the role includes the permissions of more ClusterRoles";
        Danger::at(&[path[0], path[1], &i.to_string()], message)
    };
    added.into_iter().map(danger).collect()
}

/// The verb, the resource or path, the group and the name of a permission.
type Permission = [String; 4];

/// Returns each permission of a role.
fn permissions(role: Option<&Node>) -> Vec<Permission> {
    let mut all = Vec::new();
    for rule in entries(role.and_then(|role| role.get("rules"))) {
        let list = |field: &str| -> Vec<String> {
            entries(rule.get(field))
                .iter()
                .filter_map(|entry| text(Some(entry)).map(str::to_string))
                .collect()
        };
        let or_all = |list: Vec<String>| if list.is_empty() { vec![String::new()] } else { list };
        let (groups, names) = (or_all(list("apiGroups")), or_all(list("resourceNames")));
        let resources = [list("resources"), list("nonResourceURLs")].concat();
        for verb in list("verbs") {
            for resource in &resources {
                for group in &groups {
                    all.extend(names.iter().map(|name| [&verb, resource, group, name].map(String::clone)));
                }
            }
        }
    }
    all
}

/// Formats a permission as kubectl does: `get deployments.apps/scale`.
fn shown_permission([verb, resource, group, name]: &Permission) -> String {
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let resource = match resource.split_once('/') {
        Some((resource, subresource)) if !resource.is_empty() => format!("{resource}{group}/{subresource}"),
        _ => format!("{resource}{group}"),
    };
    let name = if name.is_empty() { String::new() } else { format!(" `{name}`") };
    format!("{verb} {resource}{name}")
}

/// Returns true if the permission `known` includes `one`. A permission without a name applies to all objects.
fn covers(known: &Permission, one: &Permission) -> bool {
    let is_covered = |i: usize| known[i] == one[i] || known[i] == "*";
    (0..3).all(is_covered) && (known[3].is_empty() || known[3] == one[3])
}
