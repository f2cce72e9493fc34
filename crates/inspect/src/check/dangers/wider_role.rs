//! Rule: role widened.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "wider-role",
        meaning: "A change adds permissions to a Role or ClusterRole.",
        remedy: "Add only the permissions that are needed, to a role with as few subjects as possible.",
    }),
    title: "Role widened",
    severity: Severity::Error,
    why: "Every subject of the role gets the new permissions as soon as the change is applied.",
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

/// The number of permissions that are listed in a message.
const MAX_LISTED: usize = 5;

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let is_role = object.is_kind("rbac.authorization.k8s.io", &["Role", "ClusterRole"]);
    let (true, Some(new)) = (is_role, object.new) else { return Vec::new() };
    let old = permissions(object.old);
    let mut added: Vec<String> = permissions(Some(new))
        .into_iter()
        .filter(|one| !old.iter().any(|known| covers(known, one)))
        .map(|one| one.join(" "))
        .collect();
    if object.old.is_none() {
        // A new role is a danger only if it allows everything.
        added.retain(|one| one.starts_with("* ") || one.contains(" * "));
    }
    if added.is_empty() {
        return Vec::new();
    }
    let more = added.len().saturating_sub(MAX_LISTED);
    added.truncate(MAX_LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    vec![Danger::at(&["rules"], format!("the role allows more: {}{more}", added.join(", ")))]
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

/// Returns true if a permission includes another one. A permission without a name is for all objects.
fn covers(known: &Permission, one: &Permission) -> bool {
    let is_covered = |i: usize| known[i] == one[i] || known[i] == "*";
    (0..3).all(is_covered) && (known[3].is_empty() || known[3] == one[3])
}
