//! References by name, mended after names and namespaces have changed.

use smol_str::SmolStr;

use super::config::{NameField, NameReferences};
use super::field_path::{Create, overwrite};
use super::referral::{Beside, Candidates, Reference, Referrer};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::ResourceSet;
use crate::schema::Schema;
use crate::yaml::{Map, Node, Tag, Value};

/// Writes the present names of resources wherever others use a former one.
///
/// Each reference is read with the former names, namespaces, prefixes and suffixes of all resources;
/// which names resources have meanwhile is decided before the first reference is written, so the
/// order of the resources does not matter. The ids of referrers are kept in `referred_by`.
///
/// # Errors
/// A name that may mean several resources; a field that is no reference.
pub fn name_references(set: &mut ResourceSet, references: &NameReferences, schema: &Schema) -> Result<()> {
    if references.is_empty() {
        return Ok(());
    }
    let resources = set.resources_mut();
    // Apart from their manifests, resources can be looked at while manifests are changed.
    let mut nodes: Vec<Node> =
        resources.iter_mut().map(|r| std::mem::replace(r.node_mut(), Node::null())).collect();
    let places = nodes.iter().map(Node::span).collect();
    let outcome = mend_all(&Candidates::new(resources, places), &mut nodes, references);
    for (resource, node) in resources.iter_mut().zip(nodes) {
        *resource.node_mut() = node;
    }
    for (i, mended) in outcome?.into_iter().enumerate() {
        let Some(referrer) = resources.get_mut(i) else { continue };
        let id = referrer.id().clone();
        if mended.changes_shared {
            referrer.spread_shared();
        }
        referrer.sync(schema);
        for target in mended.targets {
            if let Some(target) = resources.get_mut(target) {
                target.referred_by.push(id.clone());
            }
        }
    }
    Ok(())
}

/// What became of the references of one manifest.
#[derive(Default)]
struct Mended {
    /// The positions of what it refers to.
    targets: Vec<usize>,
    /// Whether a field with a reference is one with others.
    changes_shared: bool,
}

/// Mends the references of all manifests.
fn mend_all(
    candidates: &Candidates<'_>,
    nodes: &mut [Node],
    references: &NameReferences,
) -> Result<Vec<Mended>> {
    let mend = |(i, node): (usize, &mut Node)| {
        let Some(resource) = candidates.resources().get(i) else { return Ok(Mended::default()) };
        let original = &resource.original_id().gvk;
        let mut fields = references.fields_of(original).peekable();
        if fields.peek().is_none() {
            return Ok(Mended::default());
        }
        let bound = bound_namespaces(node, &resource.id().gvk.kind, resource.id().cluster_scoped);
        let bound = bound.map_err(|d| d.resource(resource.id()))?;
        let mut mender =
            Mender { candidates, referrer: Referrer { resource, bound }, mended: Mended::default() };
        for field in fields {
            mender.mend(node, field).map_err(|d| d.field(&field.spec.path).resource(resource.id()))?;
        }
        let mut done = mender.mended;
        done.targets.sort_unstable();
        done.targets.dedup();
        Ok(done)
    };
    nodes.iter_mut().enumerate().map(mend).collect()
}

/// The namespaces of the service accounts that a RoleBinding names.
fn bound_namespaces(node: &Node, kind: &str, cluster_scoped: bool) -> Result<Vec<SmolStr>> {
    let mut namespaces = Vec::new();
    if kind != "RoleBinding" || cluster_scoped {
        return Ok(namespaces);
    }
    let subjects = node.get("subjects").and_then(Node::as_list).into_iter().flatten();
    for subject in subjects.filter(|s| s.get("kind").and_then(Node::as_str) == Some("ServiceAccount")) {
        let Some(namespace) = subject.get("namespace") else { continue };
        let name = namespace.as_str().ok_or_else(|| {
            let message = format!("the namespace of a service account is {}", namespace.type_name());
            Diagnostic::error(Code::WrongType, message).at(namespace.span()).field("subjects")
        })?;
        namespaces.push(name.into());
    }
    Ok(namespaces)
}

/// Group and kind of a `roleRef`; none when one is missing.
fn role_of(node: &Node) -> Option<(SmolStr, SmolStr)> {
    let role = node.get("roleRef")?;
    let text = |field| Some(role.get(field)?.scalar_text().cloned().unwrap_or_default());
    Some((text("apiGroup")?, text("kind")?))
}

/// Mends the references of one manifest.
struct Mender<'c, 'r> {
    candidates: &'c Candidates<'r>,
    referrer: Referrer<'r>,
    mended: Mended,
}

impl Mender<'_, '_> {
    fn mend(&mut self, node: &mut Node, field: NameField<'_>) -> Result<()> {
        let role = if field.spec.path.ends_with("roleRef/name") { role_of(node) } else { None };
        field.path.visit(node, Create::Never, &mut |field_node| match &mut field_node.value {
            Value::List(list) => list.iter_mut().try_for_each(|entry| self.one(entry, field, role.as_ref())),
            _ => self.one(field_node, field, role.as_ref()),
        })
    }

    /// A name, or a map with a name and perhaps a namespace.
    fn one(
        &mut self,
        node: &mut Node,
        field: NameField<'_>,
        role: Option<&(SmolStr, SmolStr)>,
    ) -> Result<()> {
        if node.is_null() {
            return Ok(());
        }
        let span = node.span();
        match &mut node.value {
            Value::Scalar(name) => {
                let name = name.clone();
                self.mended.changes_shared |= node.meta.shared != 0;
                let reference =
                    Reference { name: &name, namespace: Beside::Nothing, target: field.target, role };
                self.name(node, &reference).map_err(|d| d.at(span))
            }
            Value::Map(map) => self.map(map, field, role).map_err(|d| d.at(span)),
            Value::List(_) => {
                let message = "expected a name, or a map with a name, found a list";
                Err(Diagnostic::error(Code::WrongType, message).at(span))
            }
        }
    }

    fn name(&mut self, node: &mut Node, reference: &Reference<'_>) -> Result<()> {
        let Some(id) = self.find(reference)? else { return Ok(()) };
        if id.name != reference.name {
            overwrite(node, &id.name, Tag::Undecided);
        }
        Ok(())
    }

    fn map(&mut self, map: &mut Map, field: NameField<'_>, role: Option<&(SmolStr, SmolStr)>) -> Result<()> {
        let text = |node: &Node| node.scalar_text().cloned().unwrap_or_default();
        let name = map.get("name").map(text).ok_or_else(|| {
            Diagnostic::error(Code::MissingField, "there is no `name` in this reference")
                .help("every reference needs a `name`; or the field spec names the wrong field")
        })?;
        let namespace = map.get("namespace").map(text);
        let beside = namespace.as_deref().map_or(Beside::NoNamespace, Beside::Namespace);
        let reference = Reference { name: &name, namespace: beside, target: field.target, role };
        let Some(id) = self.find(&reference)? else { return Ok(()) };
        if id.name == name && id.namespace.is_empty() {
            return Ok(());
        }
        if let Some(node) = map.get_mut("name") {
            overwrite(node, &id.name, Tag::Undecided);
        }
        if !id.namespace.is_empty() {
            match map.get_mut("namespace") {
                Some(node) => overwrite(node, &id.namespace, Tag::Undecided),
                None => map.push("namespace", Node::string(id.namespace.clone())),
            }
        }
        Ok(())
    }

    /// The id of what is meant, which is remembered.
    fn find(&mut self, reference: &Reference<'_>) -> Result<Option<crate::resource::ResId>> {
        let found = self.candidates.find(&self.referrer, reference)?;
        let Some(i) = found else { return Ok(None) };
        self.mended.targets.push(i);
        Ok(self.candidates.resources().get(i).map(|r| r.id().clone()))
    }
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

    fn prefixed(prefix: &str, text: &str) -> ResourceSet {
        let mut set = set(text);
        name_prefix(&mut set, prefix, &TransformerConfig::builtin().name_prefix, &Schema::kustomize())
            .expect("prefix");
        set
    }

    fn moved(to: &str, mut set: ResourceSet) -> ResourceSet {
        let config = Namespace { namespace: to.into(), ..Namespace::default() };
        namespace(&mut set, &config, &TransformerConfig::builtin().namespace, &Schema::kustomize())
            .expect("moves");
        set
    }

    fn joined(sets: impl IntoIterator<Item = ResourceSet>) -> ResourceSet {
        let mut all = ResourceSet::new();
        sets.into_iter().for_each(|set| all.append_all(set).expect("ids of their own"));
        all
    }

    fn mend(set: &mut ResourceSet) -> Result<()> {
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
    fn names_in_fields() {
        let mut set = prefixed("a-", &format!("{POD}---\n{MAP}"));
        set.resources_mut()[1].generated = Some(Generated { name_hash: true, ..Generated::default() });
        name_hashes(&mut set).expect("hashes");
        mend(&mut set).expect("mends");
        assert_eq!(volume(&set, 0), "a-c-6ct58987ht");
        assert_eq!(at(&set, 0, "spec.volumes.1.secret.secretName"), "c");
        assert_eq!(at(&set, 0, "spec.volumes.2.configMap.name"), "other");
        let referrers: Vec<_> = set.as_slice()[1].referred_by.iter().map(ToString::to_string).collect();
        assert_eq!(referrers, ["Pod a-p"]);
    }

    #[test]
    fn prefixes_tell_candidates_apart() {
        let both = |prefix: &str| prefixed(prefix, &format!("{POD}---\n{MAP}"));
        let mut set = joined([both("a-"), both("b-")]);
        name_suffix(&mut set, "-x", &TransformerConfig::builtin().name_suffix, &Schema::kustomize())
            .expect("suffix");
        mend(&mut set).expect("mends");
        assert_eq!((volume(&set, 0).as_str(), volume(&set, 2).as_str()), ("a-c-x", "b-c-x"));
    }

    #[test]
    fn several_that_fit() {
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
        mend(&mut set).expect("mends");
        assert_eq!(at(&set, 0, "rules.0.resourceNames"), "- a-c\n- d");
        assert_eq!(set.as_slice()[1].referred_by.len(), 1, "the first is taken");
        assert!(set.as_slice()[2].referred_by.is_empty());
        // Names that differ leave it open which one is meant.
        let mut set = joined([prefixed("a-", role), prefixed("a-", &maps)]);
        set.resources_mut()[2].set_name("a-e");
        let error = mend(&mut set).expect_err("a-c or a-e");
        assert_eq!((error.code(), error.labels().len()), (Code::Ambiguous, 3));
        assert_eq!(error.field_path(), Some("rules/resourceNames"));
        assert_eq!(at(&set, 0, "rules.0.resourceNames"), "- c\n- d", "the manifests are still there");
    }

    #[test]
    fn a_referrer_without_prefix_means_none_of_several() {
        let mut set = joined([set(POD), prefixed("a-", MAP), prefixed("b-", MAP)]);
        mend(&mut set).expect("nothing to mend");
        assert_eq!(volume(&set, 0), "c");
        let mut set = joined([super::super::testing::set(POD), prefixed("a-", MAP)]);
        mend(&mut set).expect("mends");
        assert_eq!(volume(&set, 0), "a-c", "one alone needs no prefix in common");
    }

    #[test]
    fn namespaces_keep_candidates_apart() {
        let pod = |namespace: &str| POD.replace("name: p", &format!("name: p, namespace: {namespace}"));
        let map = |namespace: &str| MAP.replace("name: c", &format!("name: c, namespace: {namespace}"));
        let one =
            |namespace: &str, prefix| prefixed(prefix, &format!("{}---\n{}", pod(namespace), map(namespace)));
        let mut set = joined([one("x", "a-"), one("y", "b-"), set(&pod("z"))]);
        mend(&mut set).expect("mends");
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
    fn bindings_name_roles_and_accounts() {
        for (kind, want) in [("Role", "a-r"), ("ClusterRole", "b-r")] {
            let roles: Vec<_> = ROLES.split("---").collect();
            let mut set = joined([
                set(&BINDING.replace("ROLE", kind)),
                prefixed("a-", roles[0]),
                prefixed("b-", roles[1]),
                prefixed("c-", roles[2]),
                prefixed("d-", roles[3]),
            ]);
            mend(&mut set).expect("mends");
            assert_eq!(at(&set, 0, "roleRef.name"), want);
            assert_eq!(at(&set, 0, "subjects.0"), "kind: ServiceAccount\nname: c-s\nnamespace: two");
        }
    }

    #[test]
    fn accounts_move_with_their_namespace() {
        let account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: two}}";
        let binding = BINDING.replace("- {kind: ServiceAccount, name: s}\n", "");
        let mut set = moved("new", joined([set(&binding), set(account)]));
        mend(&mut set).expect("mends");
        assert_eq!(at(&set, 0, "subjects.0.namespace"), "new");
        // The present namespace is understood when nothing was there at first.
        let binding = binding.replace("namespace: two", "namespace: new").replace("Role", "ClusterRole");
        let mut set = joined([super::super::testing::set(&binding), moved("new", prefixed("a-", account))]);
        mend(&mut set).expect("mends");
        assert_eq!(at(&set, 0, "subjects.0"), "kind: ServiceAccount\nname: a-s\nnamespace: new");
    }

    #[test]
    fn a_namespace_is_added_to_maps() {
        let hook = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: h}
webhooks: [{clientConfig: {service: {name: s}}}, {clientConfig: {url: x}}]
";
        let service = "{apiVersion: v1, kind: Service, metadata: {name: s}}";
        let mut set = moved("123", joined([set(hook), set(service)]));
        mend(&mut set).expect("mends");
        assert_eq!(at(&set, 0, "webhooks.0.clientConfig.service"), "name: s\nnamespace: \"123\"");
    }

    #[test]
    fn a_field_that_is_listed_twice_is_mended_twice() {
        // kustomize 5.8.1 lists the secrets of Ingress twice.
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
        mend(&mut set).expect("mends");
        assert_eq!(at(&set, 2, "spec.tls.0.secretName"), "p-p-a");
    }

    #[test]
    fn what_is_no_reference() {
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
            assert_eq!(mend(&mut set(&binding(subjects))).map_err(|d| d.code()), want, "{subjects}");
        }
    }
}
