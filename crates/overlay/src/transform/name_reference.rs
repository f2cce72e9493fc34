//! The name reference transformer: updates references after names and namespaces have changed.

use rayon::prelude::*;

use super::field_spec::NameReferences;
use super::references::{CandidateLocations, Candidates, UpdatedReferences, update_references};
use crate::resource::{CHUNK_SIZE, Resource, ResourceSet, is_worth_threads};
use smp_merge::schema::Schema;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Updates references to former names of resources.
///
/// A reference is resolved with the former names, namespaces, prefixes and suffixes of all resources. The
/// current names are determined before the first reference is written, so the order of the resources does not
/// matter. The IDs of referrers are added to `referred_by`.
///
/// # Errors
/// A name matches several resources, or a field is not a reference.
pub fn name_references(set: &mut ResourceSet, references: &NameReferences, schema: &Schema) -> Result<()> {
    if references.is_empty() {
        return Ok(());
    }
    let mut copied = set.copied();
    let resources = set.resources_mut();
    // With the manifests moved out, resources can be read while their manifests are changed.
    let locations = resources.iter().map(CandidateLocations::of_resource).collect();
    let mut nodes: Vec<Node> =
        resources.iter_mut().map(|r| std::mem::replace(r.node_mut(), Node::null())).collect();
    let candidates = Candidates::new(resources, locations);
    let updated = update_all(&candidates, resources, &mut nodes, references);
    for (resource, node) in resources.iter_mut().zip(nodes) {
        *resource.node_mut() = node;
    }
    for (i, updated) in updated?.into_iter().enumerate() {
        let Some(referrer) = resources.get_mut(i) else { continue };
        let id = referrer.id().clone();
        if updated.changes_shared {
            referrer.propagate_shared();
        }
        referrer.sync(schema);
        for target in updated.targets {
            if let Some(target) = resources.get_mut(target) {
                // Most resources have one referrer or none.
                if target.referred_by.is_empty() {
                    target.referred_by.reserve_exact(1);
                }
                target.referred_by.push(id.clone());
                copied.add_to_each(target.id().name.len(), 1)?;
            }
        }
    }
    set.set_copied(copied);
    Ok(())
}

/// Updates the references of all resources in their manifests, in parallel if there are many.
fn update_all<'r>(
    candidates: &Candidates<'r>,
    resources: &'r [Resource],
    nodes: &mut [Node],
    references: &NameReferences,
) -> Result<Vec<UpdatedReferences>> {
    let update = |(resource, node)| update_references(candidates, resource, node, references);
    if !is_worth_threads(resources.len()) {
        return resources.iter().zip(nodes).map(update).collect();
    }
    let chunks = resources.par_chunks(CHUNK_SIZE).zip(nodes.par_chunks_mut(CHUNK_SIZE));
    let updated: Vec<Result<Vec<UpdatedReferences>>> =
        chunks.map(|(resources, nodes)| resources.iter().zip(nodes).map(update).collect()).collect();
    let updated: Result<Vec<Vec<UpdatedReferences>>> = updated.into_iter().collect();
    Ok(updated?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::hash::name_hashes;
    use super::super::namespace::{Namespace, namespace};
    use super::super::prefix_suffix::{name_prefix, name_suffix};
    use super::super::testing::{at, set};
    use super::*;
    use crate::resource::Generated;
    use smp_text::diagnostic::Code;

    fn prefixed(prefix: &str, text: &str) -> ResourceSet {
        let mut set = set(text);
        name_prefix(&mut set, prefix, &TransformerConfig::builtin().name_prefix, &Schema::kustomize())
            .expect("prefix");
        set
    }

    fn moved(to: &str, mut set: ResourceSet) -> ResourceSet {
        let config = Namespace { namespace: smol_str::SmolStr::new(to).into(), ..Namespace::default() };
        namespace(&mut set, &config, &TransformerConfig::builtin().namespace, &Schema::kustomize())
            .expect("moves");
        set
    }

    fn joined(sets: impl IntoIterator<Item = ResourceSet>) -> ResourceSet {
        let mut all = ResourceSet::new();
        sets.into_iter().for_each(|set| all.append_all(set).expect("ids of their own"));
        all
    }

    fn update(set: &mut ResourceSet) -> Result<()> {
        name_references(set, &TransformerConfig::builtin().name_reference, &Schema::kustomize())
    }

    const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  serviceAccountName: default
  volumes: [{configMap: {name: c}}, {secret: {secretName: c}}, {configMap: {name: other}}]
";
    const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}";

    fn volume(set: &ResourceSet, i: usize) -> String {
        at(set, i, "spec.volumes.0.configMap.name")
    }

    #[test]
    fn references_follow_prefix_and_hash() {
        let mut set = prefixed("a-", &format!("{POD}---\n{MAP}"));
        set.resources_mut()[1].generated = Some(Generated { name_hash: true, ..Generated::default() });
        name_hashes(&mut set).expect("hashes");
        update(&mut set).expect("updates");
        assert_eq!(volume(&set, 0), "a-c-6ct58987ht");
        assert_eq!(at(&set, 0, "spec.volumes.1.secret.secretName"), "c");
        assert_eq!(at(&set, 0, "spec.volumes.2.configMap.name"), "other");
        let referrers: Vec<_> = set.as_slice()[1].referred_by.iter().map(ToString::to_string).collect();
        assert_eq!(referrers, ["Pod a-p"]);
    }

    #[test]
    fn prefixes_distinguish_candidates() {
        let both = |prefix: &str| prefixed(prefix, &format!("{POD}---\n{MAP}"));
        let mut set = joined([both("a-"), both("b-")]);
        name_suffix(&mut set, "-x", &TransformerConfig::builtin().name_suffix, &Schema::kustomize())
            .expect("suffix");
        update(&mut set).expect("updates");
        assert_eq!((volume(&set, 0).as_str(), volume(&set, 2).as_str()), ("a-c-x", "b-c-x"));
    }

    #[test]
    fn ambiguous_names_are_rejected_unless_equal() {
        // A cluster-scoped referrer sees all namespaces.
        let role = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules: [{resourceNames: [c, d]}]
";
        let map = |namespace: &str| MAP.replace("name: c", &format!("name: c, namespace: {namespace}"));
        let maps = format!("{}\n---\n{}", map("x"), map("y"));
        let mut set = joined([prefixed("a-", role), prefixed("a-", &maps)]);
        update(&mut set).expect("updates");
        assert_eq!(at(&set, 0, "rules.0.resourceNames"), "- a-c\n- d");
        assert_eq!(set.as_slice()[1].referred_by.len(), 1, "the first one is used");
        assert!(set.as_slice()[2].referred_by.is_empty());
        // If the current names differ, the reference is ambiguous.
        let mut set = joined([prefixed("a-", role), prefixed("a-", &maps)]);
        set.resources_mut()[2].set_name("a-e");
        let error = update(&mut set).expect_err("a-c or a-e");
        assert_eq!((error.code(), error.labels().len()), (Code::Ambiguous, 3));
        assert_eq!(error.field_path(), Some("rules/resourceNames"));
        assert_eq!(at(&set, 0, "rules.0.resourceNames"), "- c\n- d", "the manifests are unchanged");
    }

    #[test]
    fn referrer_without_prefix_matches_none_of_several_candidates() {
        let mut set = joined([set(POD), prefixed("a-", MAP), prefixed("b-", MAP)]);
        update(&mut set).expect("nothing to update");
        assert_eq!(volume(&set, 0), "c");
        let mut set = joined([super::super::testing::set(POD), prefixed("a-", MAP)]);
        update(&mut set).expect("updates");
        assert_eq!(volume(&set, 0), "a-c", "a single candidate needs no common prefix");
    }

    #[test]
    fn namespaces_distinguish_candidates() {
        let pod = |namespace: &str| POD.replace("name: p", &format!("name: p, namespace: {namespace}"));
        let map = |namespace: &str| MAP.replace("name: c", &format!("name: c, namespace: {namespace}"));
        let one =
            |namespace: &str, prefix| prefixed(prefix, &format!("{}---\n{}", pod(namespace), map(namespace)));
        let mut set = joined([one("x", "a-"), one("y", "b-"), set(&pod("z"))]);
        update(&mut set).expect("updates");
        assert_eq!([0, 2, 4].map(|i| volume(&set, i)), ["a-c", "b-c", "c"]);
    }

    const BINDING: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: one}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ROLE, name: r}
subjects:
- {kind: ServiceAccount, name: s, namespace: two}
- {kind: ServiceAccount, name: s}
- {kind: User, name: nobody}
";
    const ROLES: &str = "
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: one}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: two}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: one}}
";

    #[test]
    fn role_bindings_follow_roles_and_service_accounts() {
        for (kind, want) in [("Role", "a-r"), ("ClusterRole", "b-r")] {
            let roles: Vec<_> = ROLES.split("---").collect();
            let mut set = joined([
                set(&BINDING.replace("ROLE", kind)),
                prefixed("a-", roles[0]),
                prefixed("b-", roles[1]),
                prefixed("c-", roles[2]),
                prefixed("d-", roles[3]),
            ]);
            update(&mut set).expect("updates");
            assert_eq!(at(&set, 0, "roleRef.name"), want);
            assert_eq!(at(&set, 0, "subjects.0"), "kind: ServiceAccount\nname: c-s\nnamespace: two");
        }
    }

    #[test]
    fn subjects_follow_the_namespace_of_service_accounts() {
        let account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: two}}";
        let binding = BINDING.replace("- {kind: ServiceAccount, name: s}\n", "");
        let mut set = moved("new", joined([set(&binding), set(account)]));
        update(&mut set).expect("updates");
        assert_eq!(at(&set, 0, "subjects.0.namespace"), "new");
        // The current namespace is also resolved if the account had none at first.
        let binding = binding.replace("namespace: two", "namespace: new").replace("Role", "ClusterRole");
        let mut set = joined([super::super::testing::set(&binding), moved("new", prefixed("a-", account))]);
        update(&mut set).expect("updates");
        assert_eq!(at(&set, 0, "subjects.0"), "kind: ServiceAccount\nname: a-s\nnamespace: new");
    }

    #[test]
    fn namespace_is_added_to_map_references() {
        let hook = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: h}
webhooks: [{clientConfig: {service: {name: s}}}, {clientConfig: {url: x}}]
";
        let service = "{apiVersion: v1, kind: Service, metadata: {name: s}}";
        let mut set = moved("123", joined([set(hook), set(service)]));
        update(&mut set).expect("updates");
        assert_eq!(at(&set, 0, "webhooks.0.clientConfig.service"), "name: s\nnamespace: \"123\"");
    }

    #[test]
    fn field_with_two_specs_is_updated_twice() {
        // kustomize 5.8.3 has two specs for the Secrets of an Ingress.
        let mut set = prefixed(
            "p-",
            "
{apiVersion: v1, kind: Secret, metadata: {name: a}}
---
{apiVersion: v1, kind: Secret, metadata: {name: p-a}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {tls: [{secretName: a}]}}
",
        );
        update(&mut set).expect("updates");
        assert_eq!(at(&set, 2, "spec.tls.0.secretName"), "p-p-a");
    }

    #[test]
    fn malformed_references_are_rejected() {
        let binding = |subjects: &str| {
            format!(
                "{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: b}}, subjects: {subjects}}}"
            )
        };
        let table = [
            ("[{kind: User}]", Err(Code::MissingField)),
            ("[[x]]", Err(Code::WrongType)),
            ("[{kind: ServiceAccount, name: a, namespace: null}]", Err(Code::WrongType)),
            ("[null, {kind: User, name: null}]", Ok(())),
            ("[name]", Ok(())),
            ("null", Ok(())),
        ];
        for (subjects, want) in table {
            assert_eq!(update(&mut set(&binding(subjects))).map_err(|d| d.code()), want, "{subjects}");
        }
    }
}
