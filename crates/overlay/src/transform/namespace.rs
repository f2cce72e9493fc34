//! The namespace transformer: the namespace of resources, and the fields that repeat it.

use serde::Deserialize;
use smol_str::SmolStr;

use super::field_spec::{Create, FieldSpec, FieldSpecs, set_scalar};
use crate::resource::{Resource, ResourceSet};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Spanned, Tag};

/// The configuration of the namespace transformer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// The namespace; empty to change nothing.
    pub namespace: Spanned<SmolStr>,
    /// True if existing namespaces are kept.
    pub unset_only: bool,
    /// The subjects of role bindings that get the namespace.
    pub subjects: SubjectMode,
}

/// The subjects of RoleBindings and ClusterRoleBindings that get the namespace: `setRoleBindingSubjects`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SubjectMode {
    /// Subjects with the name `default`.
    #[default]
    #[serde(alias = "")]
    DefaultOnly,
    /// All service accounts.
    AllServiceAccounts,
    /// No subjects.
    #[serde(rename = "none")]
    NoSubjects,
}

/// Sets the namespace of all namespaced resources, and the fields of `specs`. Resources from helm charts are not
/// changed.
///
/// The old IDs are stored as former IDs, so that references are updated.
///
/// # Errors
/// A field is not a scalar, or two resources get the same ID.
pub fn namespace(
    set: &mut ResourceSet,
    config: &Namespace,
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    if config.namespace.is_empty() {
        return Ok(());
    }
    set.count_copies(config.namespace.len(), set.len())?;
    let fields = NamespaceSpecs::new(specs);
    set.change_each(|resource| {
        if !resource.from_helm {
            resource.store_previous_id();
            set_in_resource(resource, config, &fields)?;
            resource.sync(schema);
        }
        Ok(())
    })?;
    check_duplicate_ids(set)
}

/// Sets the namespace of one resource, and in a role binding also of the subjects named `default`.
///
/// # Errors
/// A field is not a scalar.
pub(super) fn set_namespace_of(resource: &mut Resource, namespace: Spanned<&str>) -> Result<()> {
    let namespace = Spanned::new(SmolStr::new(namespace.value), namespace.span);
    let config = Namespace { namespace, ..Namespace::default() };
    set_in_resource(resource, &config, &NamespaceSpecs::new(&FieldSpecs::default()))
}

/// The field specs by kind of resource.
///
/// `metadata/namespace` is always set by this transformer, `metadata/name` only in core Namespaces, and the
/// subjects of role bindings have a separate rule.
struct NamespaceSpecs {
    all: FieldSpecs,
    core: FieldSpecs,
    role_bindings: FieldSpecs,
}

impl NamespaceSpecs {
    fn new(specs: &FieldSpecs) -> Self {
        let without = |drop: &dyn Fn(&FieldSpec) -> bool| -> FieldSpecs {
            let kept = specs.as_slice().iter().filter(|s| s.path != "metadata/namespace" && !drop(s));
            kept.cloned().collect::<Vec<_>>().into()
        };
        let name = |s: &super::FieldSpec| s.path == "metadata/name";
        let subjects = |s: &super::FieldSpec| is_role_binding(&s.kind) && s.path == "subjects/namespace";
        Self {
            all: without(&name),
            core: without(&|_| false),
            role_bindings: without(&|s| name(s) || subjects(s)),
        }
    }

    fn for_resource(&self, resource: &Resource) -> &FieldSpecs {
        let gvk = &resource.id().gvk;
        if is_role_binding(&gvk.kind) {
            return &self.role_bindings;
        }
        if gvk.group.is_empty() && gvk.version == "v1" { &self.core } else { &self.all }
    }
}

fn is_role_binding(kind: &str) -> bool {
    kind == "RoleBinding" || kind == "ClusterRoleBinding"
}

fn set_in_resource(resource: &mut Resource, config: &Namespace, fields: &NamespaceSpecs) -> Result<()> {
    let id = resource.id().clone();
    let in_field = |field: &'static str| move |d: Diagnostic| d.field(field);
    if !id.cluster_scoped {
        set_in_metadata(resource.node_mut(), config)
            .map_err(in_field("metadata/namespace"))
            .map_err(|d| d.resource(&id))?;
    }
    if is_role_binding(&id.gvk.kind) {
        set_in_subjects(resource.node_mut(), config)
            .map_err(in_field("subjects"))
            .map_err(|d| d.resource(&id))?;
    }
    fields
        .for_resource(resource)
        .visit(resource, Create::Scalar(Tag::Str), &mut |field| set_namespace(field, config))
}

/// Sets `metadata.namespace`, and creates it if it is missing. With `unset_only`, an existing namespace is kept.
fn set_in_metadata(node: &mut Node, config: &Namespace) -> Result<()> {
    let Some(metadata) = node.get_mut("metadata") else { return Ok(()) };
    let (span, found) = (metadata.span(), metadata.type_name());
    let Some(map) = metadata.as_map_mut() else {
        return Err(
            Diagnostic::error(Code::WrongType, format!("`metadata` must be a map, not {found}")).at(span)
        );
    };
    let field = map.get_or_insert_with("namespace", || Node::string(""));
    // Only here kustomize treats an explicit null as an existing namespace.
    if config.unset_only && field.scalar_text().is_some_and(|text| !text.is_empty()) {
        return Ok(());
    }
    set_namespace(field, config)
}

fn set_in_subjects(node: &mut Node, config: &Namespace) -> Result<()> {
    let (field, expected) = match config.subjects {
        SubjectMode::NoSubjects => return Ok(()),
        SubjectMode::DefaultOnly => ("name", "default"),
        SubjectMode::AllServiceAccounts => ("kind", "ServiceAccount"),
    };
    let Some(subjects) = node.get_mut("subjects").filter(|s| !s.is_null()) else { return Ok(()) };
    let (span, found) = (subjects.span(), subjects.type_name());
    let Some(subjects) = subjects.as_list_mut() else {
        return Err(Diagnostic::error(Code::WrongType, format!("expected a list, found {found}")).at(span));
    };
    for subject in subjects.iter_mut().filter(|s| !s.is_null()) {
        let (span, found) = (subject.span(), subject.type_name());
        let Some(subject) = subject.as_map_mut() else {
            return Err(Diagnostic::error(Code::WrongType, format!("expected a map, found {found}")).at(span));
        };
        if has_text(subject, field, expected)? {
            let namespace = subject.get_or_insert_with("namespace", || Node::string(""));
            set_namespace(namespace, config)?;
        }
    }
    Ok(())
}

fn has_text(map: &Map, field: &str, expected: &str) -> Result<bool> {
    let Some(value) = map.get(field).filter(|v| !v.is_null()) else { return Ok(false) };
    let text = value.scalar_text().ok_or_else(|| {
        let message = format!("expected a scalar in `{field}`, found {}", value.type_name());
        Diagnostic::error(Code::WrongType, message).at(value.span())
    })?;
    Ok(text == expected)
}

fn set_namespace(field: &mut Node, config: &Namespace) -> Result<()> {
    let has_one = field.scalar_text().is_some_and(|text| !text.is_empty()) && !field.is_null();
    if config.unset_only && has_one {
        return Ok(());
    }
    set_scalar(field, config.namespace.text(), Tag::Str)
}

fn check_duplicate_ids(set: &ResourceSet) -> Result<()> {
    let Some(duplicates) = set.equal_ids() else { return Ok(()) };
    let [first, second] = duplicates.map(|i| &set.as_slice()[i]);
    let former = |r: &Resource| r.previous.last().map_or_else(|| r.id().to_string(), ToString::to_string);
    let message = format!(
        "the namespace transformer gives two resources the same group, kind, namespace and name: {}",
        second.id()
    );
    let error = Diagnostic::error(Code::DuplicateResource, message)
        .label(second.node().span().at_start(), format!("originally {}", former(second)))
        .label(first.node().span().at_start(), format!("originally {}", former(first)));
    Err(error.help("rename one of the resources, or build them in separate kustomizations"))
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::testing::{at, set};
    use super::*;

    fn run_with(config: &Namespace, specs: &FieldSpecs, text: &str) -> Result<ResourceSet> {
        let mut set = set(text);
        namespace(&mut set, config, specs, &Schema::kustomize()).map(|()| set)
    }

    fn run(config: &Namespace, text: &str) -> Result<ResourceSet> {
        run_with(config, &TransformerConfig::builtin().namespace, text)
    }

    fn to(namespace: &str) -> Namespace {
        Namespace { namespace: SmolStr::new(namespace).into(), ..Namespace::default() }
    }

    #[test]
    fn namespaced_resources_and_field_specs_get_the_namespace() {
        let set = run(
            &to("123"),
            "
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: old}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: old}}
---
{apiVersion: x.io/v1, kind: Namespace, metadata: {name: not-real}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: s}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec: {conversion: {webhook: {clientConfig: {service: {namespace: x}}}}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}}
",
        )
        .expect("namespace");
        let namespace = |i| at(&set, i, "metadata.namespace");
        assert_eq!([0, 1, 2, 3, 4, 5].map(namespace), ["\"123\"", "\"123\"", "", "\"123\"", "", ""]);
        assert_eq!([2, 3].map(|i| at(&set, i, "metadata.name")), ["\"123\"", "not-real"]);
        assert_eq!(at(&set, 5, "spec.service.namespace"), "\"123\"");
        assert_eq!(at(&set, 6, "spec.conversion.webhook.clientConfig.service.namespace"), "\"123\"");
        assert_eq!(at(&set, 7, "spec"), "");
        assert_eq!(set.as_slice()[1].original_id().namespace, "old");
        assert_eq!(set.as_slice()[0].original_id().namespace, "default");
    }

    const BINDING: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
subjects:
- {kind: ServiceAccount, name: default}
- {kind: ServiceAccount, name: other, namespace: old}
- {kind: User, name: default, namespace: null}
- {kind: Group, name: g}
";

    #[test]
    fn subjects_get_the_namespace_by_mode() {
        let table = [
            (SubjectMode::DefaultOnly, false, ["new", "old", "new", ""]),
            (SubjectMode::AllServiceAccounts, false, ["new", "new", "null", ""]),
            (SubjectMode::AllServiceAccounts, true, ["new", "old", "null", ""]),
            (SubjectMode::DefaultOnly, true, ["new", "old", "new", ""]),
            (SubjectMode::NoSubjects, false, ["", "old", "null", ""]),
        ];
        // A field spec for `subjects/namespace` has no effect in bindings.
        let spec = FieldSpec {
            kind: "ClusterRoleBinding".into(),
            ..FieldSpec::created_for_all_kinds("subjects/namespace")
        };
        for (subjects, unset_only, want) in table {
            let config = Namespace { unset_only, subjects, ..to("new") };
            let set = run_with(&config, &vec![spec.clone()].into(), BINDING).expect("namespace");
            let got = [0, 1, 2, 3].map(|i| at(&set, 0, &format!("subjects.{i}.namespace")));
            assert_eq!(got, want, "{subjects:?} {unset_only}");
        }
    }

    #[test]
    fn unset_only_keeps_existing_namespaces() {
        let config = Namespace { unset_only: true, ..to("new") };
        let table = [
            ("", "new"),
            ("namespace: old", "old"),
            ("namespace: ''", "new"),
            ("namespace: ", "new"),
            ("namespace: null", "null"),
        ];
        for (written, want) in table {
            let set =
                run(&config, &format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a, {written}}}}}"));
            assert_eq!(at(&set.expect("namespace"), 0, "metadata.namespace"), want, "{written:?}");
        }
    }

    #[test]
    fn duplicate_ids_and_wrong_types_are_rejected() {
        let twice = "
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: y}}
";
        let error = run(&to("new"), twice).expect_err("two of one id");
        assert_eq!((error.code(), error.labels().len()), (Code::DuplicateResource, 2));
        let table = [
            "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: {x: y}}}",
            "{apiVersion: v1, kind: RoleBinding, metadata: {name: a}, subjects: {x: y}}",
            "{apiVersion: v1, kind: RoleBinding, metadata: {name: a}, subjects: [x]}",
            "{apiVersion: v1, kind: RoleBinding, metadata: {name: a}, subjects: [{name: [x]}]}",
        ];
        for text in table {
            let error = run(&to("new"), text).expect_err(text);
            assert_eq!(error.code(), Code::WrongType, "{text}");
            assert!(error.field_path().is_some() && error.resource_name().is_some(), "{text}");
        }
    }

    #[test]
    fn subject_modes_are_parsed() {
        let mode = |text: &str| serde_json::from_str::<SubjectMode>(text);
        assert_eq!(mode("\"allServiceAccounts\"").ok(), Some(SubjectMode::AllServiceAccounts));
        assert_eq!(mode("\"none\"").ok(), Some(SubjectMode::NoSubjects));
        assert_eq!(mode("\"\"").ok(), Some(SubjectMode::DefaultOnly));
        assert!(mode("\"All\"").is_err());
    }
}
