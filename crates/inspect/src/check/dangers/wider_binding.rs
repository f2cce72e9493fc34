//! Rule: role granted to more subjects.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "wider-binding",
        meaning: "A change grants a role to more subjects, or grants full access.",
        remedy: "Grant roles to single service accounts, and never to all users.",
    }),
    title: "Role granted to more subjects",
    severity: Severity::Error,
    why: "The new subjects get all permissions of the role as soon as the change is applied.",
    suppress: Some("The subjects need the role, and this was reviewed."),
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/rbac/",
    bad: change!(
        BEFORE,
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: readers}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: [{kind: ServiceAccount, name: web, namespace: shop}, {kind: Group, name: developers, apiGroup: rbac.authorization.k8s.io}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: readers}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: []\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: readers}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: [{kind: ServiceAccount, name: web, namespace: shop}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let is_binding = object.is_kind("rbac.authorization.k8s.io", &["RoleBinding", "ClusterRoleBinding"]);
    let (true, Some(new)) = (is_binding, object.new) else { return Vec::new() };
    let [old, _] = object.values(&["subjects"]);
    let role = text(new.get_path(&["roleRef", "name"])).unwrap_or_default();
    if object.old.is_none() && role != "cluster-admin" {
        return Vec::new();
    }
    let known: Vec<_> = entries(old).iter().map(subject).collect();
    let added =
        entries(new.get("subjects")).iter().enumerate().filter(|(_, one)| !known.contains(&subject(one)));
    let danger = |(i, one): (usize, &Node)| {
        let [kind, namespace, name] = subject(one);
        let name = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
        Danger::at(&["subjects", &i.to_string()], format!("the {kind} `{name}` gets the role `{role}`"))
    };
    added.map(danger).collect()
}

fn subject(node: &Node) -> [&str; 3] {
    ["kind", "namespace", "name"].map(|field| text(node.get(field)).unwrap_or_default())
}
