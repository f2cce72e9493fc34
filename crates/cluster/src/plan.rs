//! The plan of a run: the API resource, namespace and phase of each object.
//!
//! All objects are validated before the first one is sent, so that an invalid object stops the whole run before the
//! cluster changes.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::client::Cluster;
use super::json;
use super::kubeconfig::ConnectOptions;
use super::mapping::ResourceMapping;
use smp_merge::patch::{LAST_APPLIED, with_last_applied};
use smp_merge::schema::openapi::defined_kinds;
use smp_merge::schema::{Gvk, NamedKind, Schema, Scope};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::{Map, Node, to_json};

/// An object on the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Object {
    /// The kind of the object.
    pub gvk: Gvk,
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: SmolStr,
    /// The name of the object.
    pub name: SmolStr,
}

impl fmt::Display for Object {
    /// Formats the object as `deployment.apps/web`, as in kubectl's output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.gvk.object_name(&self.name))
    }
}

impl Object {
    /// Returns the name of the object's file in `kubectl diff`: `apps.v1.Deployment.shop.web`.
    #[must_use]
    pub fn file_name(&self) -> String {
        let Gvk { group, version, kind } = &self.gvk;
        let dot = if group.is_empty() { "" } else { "." };
        format!("{group}{dot}{version}.{kind}.{}.{}", self.namespace, self.name)
    }
}

/// An object for which a step failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectFailure {
    /// The object.
    pub object: Object,
    /// The error.
    pub problem: Diagnostic,
}

/// The field manager of `kubectl apply`, which stores the last-applied configuration in an annotation. For any other
/// manager, the annotation would be wrong.
pub(super) const KUBECTL: &str = "kubectl";

/// Maximum size of all annotations of an object in bytes.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// An object of a run.
#[derive(Debug)]
pub(super) struct ObjectTarget<'r> {
    pub(super) resource: &'r Resource,
    pub(super) object: Object,
    /// The API resource; `None` if neither the server nor a CRD among the objects defines the kind.
    pub(super) mapping: Option<ResourceMapping>,
    /// True if the server already serves the kind.
    pub(super) served: bool,
}

impl ObjectTarget<'_> {
    /// Returns the path of the object, or `None` if its kind is unknown.
    pub(super) fn path(&self) -> Option<String> {
        Some(self.mapping.as_ref()?.path(&self.object.namespace, &self.object.name))
    }

    /// Returns the path of the object, or `None` if the server does not serve its kind yet.
    pub(super) fn served_path(&self) -> Option<String> {
        self.path().filter(|_| self.served)
    }

    /// Adds the object and the location of its manifest to an error.
    pub(super) fn located(&self, problem: Diagnostic) -> Diagnostic {
        problem.resource(self.resource.id()).at(self.resource.node().span().at_start())
    }

    /// Returns the manifest with its namespace, as it is sent for a manager.
    pub(super) fn manifest(&self, manager: &str) -> Node {
        let mut node = self.resource.node().clone();
        if manager != KUBECTL
            && let Some(metadata) = node.get_mut("metadata").and_then(Node::as_map_mut)
            && let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_map_mut)
            && annotations.remove(LAST_APPLIED).is_some()
            && annotations.is_empty()
        {
            metadata.remove("annotations");
        }
        if !self.object.namespace.is_empty()
            && let Some(map) = node.as_map_mut()
            && let Some(metadata) = map.get_or_insert_with("metadata", || Node::map(Map::new())).as_map_mut()
        {
            metadata.insert("namespace", Node::string(self.object.namespace.clone()));
        }
        node
    }

    /// Adds the API version and kind to an item of a list, which contains neither.
    pub(super) fn listed_item(&self, mut item: Value) -> Value {
        if let Some(fields) = item.as_object_mut() {
            fields.insert("apiVersion".into(), self.object.gvk.api_version().as_str().into());
            fields.insert("kind".into(), self.object.gvk.kind.as_str().into());
        }
        item
    }

    /// Returns true if a JSON object has the target's name.
    pub(super) fn is_named_as(&self, object: &Value) -> bool {
        object.pointer("/metadata/name").and_then(Value::as_str) == Some(self.object.name.as_str())
    }

    /// Parses the object in a response. If the response contains another object, this is an error, since the other
    /// object could be mistaken for an applied or unchanged one.
    pub(super) fn parse_response(&self, response: &[u8]) -> serde_json::Result<Node> {
        let object = json::parse_object(response)?;
        let text = |path: &[&str]| object.get_path(path).and_then(Node::as_str);
        let is_expected = text(&["kind"]) == Some(self.object.gvk.kind.as_str())
            && text(&["metadata", "name"]) == Some(self.object.name.as_str());
        if is_expected {
            Ok(object)
        } else {
            Err(serde::de::Error::custom(format!("expected {}", self.object)))
        }
    }

    /// Returns a warning if the manifest has the last-applied annotation and it is not sent for the manager.
    pub(super) fn warning(&self, manager: &str) -> Option<String> {
        self.resource
            .node()
            .get_path(&["metadata", "annotations", LAST_APPLIED])
            .filter(|_| manager != KUBECTL)?;
        Some(format!(
            "{}: the annotation {LAST_APPLIED} is not sent, since it belongs to `kubectl apply`",
            self.object
        ))
    }

    /// Returns the manifest as a request body.
    pub(super) fn body(&self, manager: &str) -> Result<Vec<u8>> {
        to_json(&self.manifest(manager))
            .map(String::into_bytes)
            .map_err(|error| error.resource(self.resource.id()))
    }

    /// Returns the request body with an updated last-applied annotation. Returns `None` if the live object does not
    /// have the annotation, if the annotations would become too large, and for kubectl's manager, for which the server
    /// updates it.
    pub(super) fn annotated_body(&self, manager: &str, live: &Value) -> Option<Vec<u8>> {
        let annotations = live.pointer("/metadata/annotations")?.as_object()?;
        annotations.get(LAST_APPLIED).filter(|_| manager != KUBECTL)?;
        let annotated = with_last_applied(&self.manifest(manager)).ok()?;
        let own = annotated.get_path(&["metadata", "annotations"]).and_then(Node::as_map)?;
        let length = |value: Option<&str>| value.map_or(0, str::len);
        let others = annotations.iter().filter(|(name, _)| own.get(name).is_none());
        let others: usize = others.map(|(name, value)| name.len() + length(value.as_str())).sum();
        let own: usize = own.iter().map(|(name, value)| name.len() + length(value.as_str())).sum();
        if others + own > MAX_ANNOTATIONS {
            return None;
        }
        to_json(&annotated).ok().map(String::into_bytes)
    }
}

/// The objects of a run, in order.
#[derive(Debug)]
pub(super) struct ObjectPlan<'r> {
    pub(super) targets: Vec<ObjectTarget<'r>>,
    /// The names of the namespaces among the objects.
    pub(super) namespaces: FxHashSet<SmolStr>,
    /// The kinds that CRDs among the objects define, with the names of these CRDs.
    pub(super) crd_kinds: FxHashMap<Gvk, (ResourceMapping, SmolStr)>,
}

impl<'r> ObjectPlan<'r> {
    /// Resolves every object with the server's discovery.
    ///
    /// # Errors
    /// The server cannot be queried, or objects have no API version or name, are in another namespace than the explicit
    /// one, or are duplicates.
    pub(super) async fn resolve(cluster: &Cluster, resources: &'r [Resource]) -> Result<Self> {
        let kinds: FxHashSet<&Gvk> = resources.iter().map(|r| &r.id().gvk).collect();
        let kinds: Vec<Gvk> = kinds.into_iter().filter(|gvk| !gvk.version.is_empty()).cloned().collect();
        cluster.discover(&kinds).await?;
        let defined = defined_kinds_of(resources);
        let destination = Destination {
            namespace: cluster.namespace(),
            is_enforced: cluster.namespace_is_explicit(),
            served: &|gvk| cluster.mapping(gvk),
        };
        let targets = planned(resources, &destination, &defined)?;
        let namespaces = targets
            .iter()
            .map(|t| &t.object)
            .filter(|o| o.gvk.is_namespace())
            .map(|o| o.name.clone())
            .collect();
        Ok(Self { targets, namespaces, crd_kinds: defined })
    }

    /// Resolves the objects without a server, using the built-in kinds and the CRDs in `definitions`.
    ///
    /// # Errors
    /// Objects have no API version or name, are in another namespace than the explicit one, or are duplicates.
    pub(super) fn without_server(
        resources: &'r [Resource],
        options: &ConnectOptions,
        definitions: &[Resource],
    ) -> Result<Self> {
        let defined = defined_kinds_of(definitions);
        let targets = planned_by_schema(resources, options, &defined)?;
        Ok(Self { targets, namespaces: FxHashSet::default(), crd_kinds: defined })
    }

    /// Checks that the kind of every object is known.
    ///
    /// # Errors
    /// Neither the server nor a CRD among the objects defines a kind.
    pub(super) fn require_mappings(&self, cluster: &Cluster) -> Result<()> {
        let mut problems = Problems::default();
        for target in self.targets.iter().filter(|target| target.mapping.is_none()) {
            let node = target.resource.node();
            let span = node.get("kind").map_or(node.span(), Node::span);
            let problem = cluster.unknown_kind(&target.object.gvk);
            problems.add(problem.resource(target.resource.id()).at(span));
        }
        fail_before_sending(problems)
    }
}

/// Defaults and lookups that apply to all objects.
struct Destination<'d> {
    /// The default namespace.
    namespace: &'d str,
    /// True if objects must not use another namespace.
    is_enforced: bool,
    /// Returns the resource of a kind if it is known without CRDs.
    served: &'d dyn Fn(&Gvk) -> Option<ResourceMapping>,
}

/// Returns the objects as they would be sent, as far as this is known without a server: by the built-in kinds and the
/// CRDs among the objects.
///
/// # Errors
/// The same errors as for an apply: objects without API version or name, in another namespace than the explicit one, or
/// duplicates.
pub fn manifests_without_server(
    resources: &[Resource],
    options: &ConnectOptions,
    manager: &str,
) -> Result<Vec<Node>> {
    let plan = ObjectPlan::without_server(resources, options, resources)?;
    Ok(plan.targets.iter().map(|target| target.manifest(manager)).collect())
}

fn planned_by_schema<'r>(
    resources: &'r [Resource],
    options: &ConnectOptions,
    defined: &FxHashMap<Gvk, (ResourceMapping, SmolStr)>,
) -> Result<Vec<ObjectTarget<'r>>> {
    let (namespace, schema) = (options.default_namespace()?, Schema::embedded());
    let built_in = |gvk: &Gvk| {
        let namespaced = schema.scope(gvk)? == Scope::Namespaced;
        Some(ResourceMapping::new(gvk.clone(), "", namespaced))
    };
    let is_enforced = options.namespace.is_some();
    let destination = Destination { namespace: &namespace, is_enforced, served: &built_in };
    planned(resources, &destination, defined)
}

fn planned<'r>(
    resources: &'r [Resource],
    destination: &Destination<'_>,
    defined: &FxHashMap<Gvk, (ResourceMapping, SmolStr)>,
) -> Result<Vec<ObjectTarget<'r>>> {
    let mut problems = Problems::default();
    let targets = resources.iter().map(|resource| target(destination, resource, defined));
    let targets: Vec<_> = targets.filter_map(|target| problems.ok_or_add(target)).collect();
    for problem in duplicates(&targets) {
        problems.add(problem);
    }
    fail_before_sending(problems)?;
    Ok(targets)
}

/// Adds the note that the cluster is unchanged.
pub(super) fn with_nothing_sent_note(problem: Diagnostic) -> Diagnostic {
    problem.note("nothing was sent to the cluster")
}

/// Returns the errors, if there are any, with a note that nothing was sent.
pub(super) fn fail_before_sending(problems: Problems) -> Result<()> {
    problems.into_result(()).map_err(with_nothing_sent_note)
}

fn target<'r>(
    destination: &Destination<'_>,
    resource: &'r Resource,
    defined: &FxHashMap<Gvk, (ResourceMapping, SmolStr)>,
) -> Result<ObjectTarget<'r>> {
    let id = resource.id();
    let start = resource.node().span().at_start();
    for (field, value) in [("apiVersion", &id.gvk.version), ("metadata.name", &id.name)] {
        if value.is_empty() {
            let message = format!("required field `{field}` is missing");
            return Err(Diagnostic::error(Code::MissingField, message).resource(id).at(start));
        }
    }
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]] {
        check_string(resource, path)?;
    }
    let live = (destination.served)(&id.gvk);
    let served = live.is_some();
    let mapping = live.or_else(|| defined.get(&id.gvk).map(|(mapping, _)| mapping.clone()));
    let namespace = match &mapping {
        Some(mapping) if !mapping.namespaced => SmolStr::default(),
        Some(_) => namespace(destination, resource)?,
        None => id.namespace.clone(),
    };
    let object = Object { gvk: id.gvk.clone(), namespace, name: id.name.clone() };
    Ok(ObjectTarget { resource, object, mapping, served })
}

/// Checks that an identifying field is a string, as servers require. For them `y` is a boolean and `1.0` is a number.
fn check_string(resource: &Resource, path: &[&str]) -> Result<()> {
    let Some(value) = resource.node().get_path(path) else { return Ok(()) };
    if value.as_str().is_some() || value.is_null() {
        return Ok(());
    }
    let message = format!("`{}` must be a string, not {}", path.join("."), value.type_name());
    let error = Diagnostic::error(Code::InvalidValue, message).resource(resource.id()).at(value.span());
    Err(if value.scalar_text().is_some() { error.help("quote the value") } else { error })
}

/// Returns the namespace of the object, or the default namespace.
fn namespace(destination: &Destination<'_>, resource: &Resource) -> Result<SmolStr> {
    let own = &resource.id().namespace;
    if own.is_empty() {
        return Ok(destination.namespace.into());
    }
    if destination.is_enforced && own != destination.namespace {
        let explicit = destination.namespace;
        let message = format!("namespace `{own}` of the object does not match --namespace `{explicit}`");
        let span = resource.node().get_path(&["metadata", "namespace"]).map(Node::span).unwrap_or_default();
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .resource(resource.id())
            .at(span)
            .help(format!("use --namespace={own}, or omit --namespace")));
    }
    Ok(own.clone())
}

/// Returns an error for each duplicate object, since the last one would win. Objects with different versions of a kind
/// are also duplicates.
fn duplicates(targets: &[ObjectTarget<'_>]) -> Vec<Diagnostic> {
    let mut seen = FxHashMap::default();
    let again = targets.iter().filter_map(|target| {
        let Object { gvk, namespace, name } = &target.object;
        let first = *seen.entry((identity_group(gvk), &gvk.kind, namespace, name)).or_insert(target.resource);
        (!std::ptr::eq(first, target.resource)).then_some((first, target))
    });
    let error = |(first, target): (&Resource, &ObjectTarget<'_>)| {
        let message = format!("duplicate object {}", target.object);
        target
            .located(Diagnostic::error(Code::DuplicateResource, message))
            .label(first.node().span().at_start(), "first defined here")
            .help("remove one of them, or merge them")
    };
    again.map(error).collect()
}

/// Returns the group that identifies objects of a kind. Events are the same objects in both of their API groups.
fn identity_group(gvk: &Gvk) -> &str {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("events.k8s.io", "Event") => "",
        (group, _) => group,
    }
}

/// Returns the kinds that CRDs among the resources define, each with the name of its CRD. Invalid CRDs are
/// skipped, since the server reports their errors.
fn defined_kinds_of(resources: &[Resource]) -> FxHashMap<Gvk, (ResourceMapping, SmolStr)> {
    let crds = resources.iter().filter(|resource| resource.id().gvk.is_crd());
    let defined = crds.flat_map(|crd| {
        let kinds = defined_kinds(crd.node()).unwrap_or_default().into_iter();
        kinds.map(|kind| (kind.gvk.clone(), (mapping_from(kind), crd.id().name.clone())))
    });
    defined.collect()
}

fn mapping_from(kind: NamedKind) -> ResourceMapping {
    let mut names = kind.names.into_iter();
    let plural = names.next().unwrap_or_default();
    let namespaced = kind.scope == Some(Scope::Namespaced);
    ResourceMapping { names: names.collect(), ..ResourceMapping::new(kind.gvk, plural, namespaced) }
}

/// Kinds to which other objects refer when they are created. They are sent before those objects.
const FIRST: [&str; 10] = [
    "ClusterRole",
    "IngressClass",
    "LimitRange",
    "PriorityClass",
    "ResourceQuota",
    "Role",
    "RuntimeClass",
    "ServiceAccount",
    "StorageClass",
    "PersistentVolume",
];

/// Kinds that affect the admission of other objects. They are sent after those objects.
const LAST: [&str; 7] = [
    "APIService",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// Phases of an apply. Objects of one phase are sent in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Namespaces,
    Crds,
    Dependencies,
    Other,
    Admission,
}

impl Phase {
    pub(super) fn from_gvk(gvk: &Gvk) -> Self {
        let built_in = gvk.group.is_empty() || gvk.group.ends_with(".k8s.io") || gvk.group == "policy";
        match gvk.kind.as_str() {
            "Namespace" if gvk.group.is_empty() => Self::Namespaces,
            _ if gvk.is_crd() => Self::Crds,
            kind if built_in && FIRST.contains(&kind) => Self::Dependencies,
            kind if built_in && LAST.contains(&kind) => Self::Admission,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Schema;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn resource(text: &str) -> Resource {
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        let node = parse_one(&sources, id, ParseOptions::default()).expect("the test's YAML");
        Resource::new(node, &Schema::empty()).expect("a resource")
    }

    fn object(api_version: &str, kind: &str, namespace: &str) -> Object {
        let gvk = Gvk::from_manifest(api_version, kind);
        Object { gvk, namespace: namespace.into(), name: "x".into() }
    }

    #[test]
    fn objects_are_displayed_as_in_kubectl() {
        let deployment = object("apps/v1", "Deployment", "shop");
        assert_eq!(deployment.to_string(), "deployment.apps/x");
        assert_eq!(deployment.file_name(), "apps.v1.Deployment.shop.x");
        let namespace = object("v1", "Namespace", "");
        assert_eq!(namespace.to_string(), "namespace/x");
        assert_eq!(namespace.file_name(), "v1.Namespace..x");
    }

    #[test]
    fn objects_are_identified_regardless_of_version() {
        let text = |version: &str, kind: &str| {
            format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n")
        };
        let table = [
            (("v1", "Event"), ("events.k8s.io/v1", "Event"), true),
            (
                ("autoscaling/v1", "HorizontalPodAutoscaler"),
                ("autoscaling/v2", "HorizontalPodAutoscaler"),
                true,
            ),
            (("v1", "Service"), ("serving.example.com/v1", "Service"), false),
        ];
        let options = ConnectOptions { namespace: Some("a".into()), ..ConnectOptions::default() };
        for (one, other, is_same) in table {
            let objects = [one, other].map(|(version, kind)| resource(&text(version, kind)));
            let problem = manifests_without_server(&objects, &options, "x").err();
            assert_eq!(
                problem.is_some_and(|p| p.code() == Code::DuplicateResource),
                is_same,
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn dependencies_are_sent_first() {
        let phase = |api_version, kind| Phase::from_gvk(&Gvk::from_manifest(api_version, kind));
        let table = [
            ("v1", "Namespace", Phase::Namespaces),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", Phase::Crds),
            ("rbac.authorization.k8s.io/v1", "Role", Phase::Dependencies),
            ("example.com/v1", "Role", Phase::Other),
            ("rbac.authorization.k8s.io/v1", "RoleBinding", Phase::Other),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", Phase::Admission),
        ];
        for (api_version, kind, want) in table {
            assert_eq!(phase(api_version, kind), want, "{api_version} {kind}");
        }
    }

    #[test]
    fn kinds_of_crds_among_the_objects_are_known() {
        let crd = resource(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.ex.io}
spec: {group: ex.io, scope: Cluster, names: {kind: Foo, plural: foos}, versions: [{name: v1}, {name: v2}]}",
        );
        let known = defined_kinds_of(&[crd]);
        let (mapping, crd) = &known[&Gvk::from_manifest("ex.io/v2", "Foo")];
        assert_eq!(
            (mapping.plural.as_str(), mapping.namespaced, crd.as_str()),
            ("foos", false, "foos.ex.io")
        );
        assert_eq!(known.len(), 2);
    }
}
