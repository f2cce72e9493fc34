//! Rule: role granted to more subjects.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "wider-binding",
        meaning: "A change grants a role to more subjects, or grants full access.",
        remedy: "Grant roles to individual service accounts, and never to all users.",
    }),
    title: "Role granted to more subjects",
    severity: Severity::Error,
    why: "The new subjects get all permissions of the role as soon as the change is applied. A service account that the same change renames or moves is not a new subject.",
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
    let subjects = entries(new.get("subjects"));
    let known = known_subjects(object, entries(old), subjects);
    let added = subjects.iter().enumerate().filter(|(_, one)| !known.contains(&subject(one)));
    let danger = |(i, one): (usize, &Node)| {
        let [kind, namespace, name] = subject(one);
        let full_name = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
        let differs = |field: &&str| entries(old).get(i).is_none_or(|old| old.get(field) != one.get(field));
        let field = ["name", "namespace", "kind"].into_iter().find(differs).unwrap_or("name");
        let message = format!("the {kind} `{full_name}` gets the role `{role}`");
        Danger::at(&["subjects", &i.to_string(), field], message)
    };
    added.map(danger).collect()
}

/// The kind, namespace and name of a subject.
type Subject<'n> = [&'n str; 3];

/// Returns the subjects that had the role before: those of the old binding, and service accounts that the change
/// renames or moves together with their subject.
fn known_subjects<'c>(object: &ChangedObject<'c>, old: &'c [Node], new: &[Node]) -> Vec<Subject<'c>> {
    let kept: Vec<_> = new.iter().map(subject).collect();
    let renamed = |one: &Subject<'c>| {
        let [kind, namespace, name] = *one;
        let is_gone = kind == "ServiceAccount" && !kept.contains(one);
        let [_, id] = object.target.service_account(namespace, name).filter(|_| is_gone)?;
        let renamed = |namespace| [kind, namespace, id.name.as_str()];
        // If the service account has no namespace, its subject may or may not have one.
        let kept = id.namespace.is_empty().then(|| renamed(namespace));
        Some(kept.into_iter().chain([renamed(id.namespace.as_str())]))
    };
    let old = old.iter().map(subject);
    old.flat_map(|one| std::iter::once(one).chain(renamed(&one).into_iter().flatten())).collect()
}

fn subject(node: &Node) -> Subject<'_> {
    ["kind", "namespace", "name"].map(|field| text(node.get(field)).unwrap_or_default())
}
