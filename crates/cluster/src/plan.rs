//! What is to be sent where: every object with its resource, namespace and place in the order.
//!
//! All objects are looked at before the first is sent, so that a mistake in one of them stops the
//! whole run while the cluster is still untouched.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::client::Cluster;
use super::json;
use super::kubeconfig::ConnectOptions;
use super::mapping::Mapping;
use smp_merge::patch::{LAST_APPLIED, with_last_applied};
use smp_merge::schema::openapi::defined_kinds;
use smp_merge::schema::{Gvk, NamedKind, Schema, Scope};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::{Map, Node, to_json};

/// An object as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Object {
    /// Its kind.
    pub gvk: Gvk,
    /// Its namespace; empty for kinds that have none.
    pub namespace: SmolStr,
    /// Its name.
    pub name: SmolStr,
}

impl fmt::Display for Object {
    /// `deployment.apps/web`, as kubectl names what it applied.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.gvk.object_name(&self.name))
    }
}

impl Object {
    /// `apps.v1.Deployment.shop.web`, as `kubectl diff` names its files.
    #[must_use]
    pub fn file_name(&self) -> String {
        let Gvk { group, version, kind } = &self.gvk;
        let dot = if group.is_empty() { "" } else { "." };
        format!("{group}{dot}{version}.{kind}.{}.{}", self.namespace, self.name)
    }
}

/// An object that a step failed on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectFailure {
    /// The object.
    pub object: Object,
    /// The error.
    pub problem: Diagnostic,
}

/// The manager of kubectl's own applies, which keep the configuration that was applied last in an annotation. Of
/// others it would say what is not true.
pub(super) const KUBECTL: &str = "kubectl";

/// How long all annotations of an object may be.
const ANNOTATIONS: usize = 256 << 10;

/// One object to send.
#[derive(Debug)]
pub(super) struct PlannedObject<'r> {
    pub(super) resource: &'r Resource,
    pub(super) object: Object,
    /// None when neither the server nor a CRD among the objects knows the kind.
    pub(super) mapping: Option<Mapping>,
    /// Whether the server knows the kind already.
    pub(super) served: bool,
}

impl PlannedObject<'_> {
    /// The path of the object; none if its kind is not known.
    pub(super) fn path(&self) -> Option<String> {
        Some(self.mapping.as_ref()?.path(&self.object.namespace, &self.object.name))
    }

    /// The path of the object; none if the server does not have its kind yet.
    pub(super) fn served_path(&self) -> Option<String> {
        self.path().filter(|_| self.served)
    }

    /// A problem of the object, at the start of its manifest.
    pub(super) fn located(&self, problem: Diagnostic) -> Diagnostic {
        problem.resource(self.resource.id()).at(self.resource.node().span().at_start())
    }

    /// The manifest with its namespace, as that manager sends it.
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

    /// The object in a server's answer. Anything else would look like one that was applied, or has no differences.
    pub(super) fn read(&self, answer: &[u8]) -> serde_json::Result<Node> {
        let object = json::read_object(answer)?;
        let text = |path: &[&str]| object.get_path(path).and_then(Node::as_str);
        let is_asked_for = text(&["kind"]) == Some(self.object.gvk.kind.as_str())
            && text(&["metadata", "name"]) == Some(self.object.name.as_str());
        if is_asked_for {
            Ok(object)
        } else {
            Err(serde::de::Error::custom(format!("it is not {}", self.object)))
        }
    }

    /// What is odd about what that manager sends.
    pub(super) fn warning(&self, manager: &str) -> Option<String> {
        self.resource
            .node()
            .get_path(&["metadata", "annotations", LAST_APPLIED])
            .filter(|_| manager != KUBECTL)?;
        Some(format!(
            "{}: its annotation {LAST_APPLIED} is not sent: it belongs to `kubectl apply`",
            self.object
        ))
    }

    /// The manifest as the server takes it.
    pub(super) fn body(&self, manager: &str) -> Result<Vec<u8>> {
        to_json(&self.manifest(manager))
            .map(String::into_bytes)
            .map_err(|error| error.resource(self.resource.id()))
    }

    /// The same with the annotation of client-side apply, saying what is sent, for a live object that has it. None for
    /// any other, for what is too long for that, and for the manager for whom servers do it.
    pub(super) fn annotated_body(&self, manager: &str, live: &Value) -> Option<Vec<u8>> {
        let annotations = live.pointer("/metadata/annotations")?.as_object()?;
        annotations.get(LAST_APPLIED).filter(|_| manager != KUBECTL)?;
        let annotated = with_last_applied(&self.manifest(manager)).ok()?;
        let own = annotated.get_path(&["metadata", "annotations"]).and_then(Node::as_map)?;
        let length = |value: Option<&str>| value.map_or(0, str::len);
        let others = annotations.iter().filter(|(name, _)| own.get(name).is_none());
        let others: usize = others.map(|(name, value)| name.len() + length(value.as_str())).sum();
        let own: usize = own.iter().map(|(name, value)| name.len() + length(value.as_str())).sum();
        if others + own > ANNOTATIONS {
            return None;
        }
        to_json(&annotated).ok().map(String::into_bytes)
    }
}

/// All objects of a run, in their order.
#[derive(Debug)]
pub(super) struct ObjectPlan<'r> {
    pub(super) targets: Vec<PlannedObject<'r>>,
    /// The names of the namespaces among them.
    pub(super) namespaces: FxHashSet<SmolStr>,
    /// The kinds that CRDs among them define, and the names of these CRDs.
    pub(super) defined: FxHashMap<Gvk, (Mapping, SmolStr)>,
}

impl<'r> ObjectPlan<'r> {
    /// Finds the resource of every object; asks the server for what it serves.
    ///
    /// # Errors
    /// The server cannot be asked; objects without version or name, or of another namespace than
    /// the one asked for.
    pub(super) async fn make(cluster: &Cluster, resources: &'r [Resource]) -> Result<Self> {
        let kinds: FxHashSet<&Gvk> = resources.iter().map(|r| &r.id().gvk).collect();
        let kinds: Vec<Gvk> = kinds.into_iter().filter(|gvk| !gvk.version.is_empty()).cloned().collect();
        cluster.discover(&kinds).await?;
        let defined = definitions(resources);
        let destination = ObjectPlace {
            namespace: cluster.namespace(),
            is_enforced: cluster.namespace_is_enforced(),
            served: &|gvk| cluster.mapping(gvk),
        };
        let targets = planned(resources, &destination, &defined)?;
        let is_namespace = |o: &&Object| o.gvk.group.is_empty() && o.gvk.kind == "Namespace";
        let namespaces =
            targets.iter().map(|t| &t.object).filter(is_namespace).map(|o| o.name.clone()).collect();
        Ok(Self { targets, namespaces, defined })
    }

    /// The objects as far as they are known without a server: by the kinds that are built in, and by the CRDs among them.
    ///
    /// # Errors
    /// Objects without version or name, of another namespace than the one asked for, or there twice.
    pub(super) fn without_server(resources: &'r [Resource], options: &ConnectOptions) -> Result<Self> {
        let defined = definitions(resources);
        let targets = planned_by_schema(resources, options, &defined)?;
        Ok(Self { targets, namespaces: FxHashSet::default(), defined })
    }

    /// Makes sure that every object's kind is known.
    ///
    /// # Errors
    /// Kinds that neither the server nor a CRD among the objects knows.
    pub(super) fn require_mappings(&self, cluster: &Cluster) -> Result<()> {
        let mut problems = Problems::default();
        for target in self.targets.iter().filter(|target| target.mapping.is_none()) {
            let node = target.resource.node();
            let place = node.get("kind").map_or(node.span(), Node::span);
            let problem = cluster.unknown_kind(&target.object.gvk);
            problems.add(problem.resource(target.resource.id()).at(place));
        }
        nothing_sent(problems)
    }
}

/// Where objects go.
struct ObjectPlace<'d> {
    /// The namespace of those that name none.
    namespace: &'d str,
    /// Whether they may name no other.
    is_enforced: bool,
    /// The resource that serves a kind, as far as it is known without CRDs.
    served: &'d dyn Fn(&Gvk) -> Option<Mapping>,
}

/// The objects as they would be sent, as far as that is known without a server: by the kinds that are built in, and by
/// the CRDs among them.
///
/// # Errors
/// As for applying: objects without version or name, of another namespace than the one asked for, or there twice.
pub fn planned_without_server(
    resources: &[Resource],
    options: &ConnectOptions,
    manager: &str,
) -> Result<Vec<Node>> {
    let plan = ObjectPlan::without_server(resources, options)?;
    Ok(plan.targets.iter().map(|target| target.manifest(manager)).collect())
}

fn planned_by_schema<'r>(
    resources: &'r [Resource],
    options: &ConnectOptions,
    defined: &FxHashMap<Gvk, (Mapping, SmolStr)>,
) -> Result<Vec<PlannedObject<'r>>> {
    let (namespace, schema) = (options.default_namespace()?, Schema::embedded());
    let built_in = |gvk: &Gvk| {
        let namespaced = schema.scope(gvk)? == Scope::Namespaced;
        Some(Mapping::new(gvk.clone(), "", namespaced))
    };
    let is_enforced = options.namespace.is_some();
    let destination = ObjectPlace { namespace: &namespace, is_enforced, served: &built_in };
    planned(resources, &destination, defined)
}

fn planned<'r>(
    resources: &'r [Resource],
    destination: &ObjectPlace<'_>,
    defined: &FxHashMap<Gvk, (Mapping, SmolStr)>,
) -> Result<Vec<PlannedObject<'r>>> {
    let mut problems = Problems::default();
    let targets = resources.iter().map(|resource| target(destination, resource, defined));
    let targets: Vec<_> = targets.filter_map(|target| problems.value_of(target)).collect();
    for problem in repeated(&targets) {
        problems.add(problem);
    }
    nothing_sent(problems)?;
    Ok(targets)
}

/// Says that the cluster is as it was, if there are problems.
pub(super) fn nothing_sent(problems: Problems) -> Result<()> {
    problems.or(()).map_err(|problem| problem.note("nothing was sent to the cluster"))
}

fn target<'r>(
    destination: &ObjectPlace<'_>,
    resource: &'r Resource,
    defined: &FxHashMap<Gvk, (Mapping, SmolStr)>,
) -> Result<PlannedObject<'r>> {
    let id = resource.id();
    let start = resource.node().span().at_start();
    for (field, value) in [("apiVersion", &id.gvk.version), ("metadata.name", &id.name)] {
        if value.is_empty() {
            let message = format!("an object without `{field}` cannot be applied");
            return Err(Diagnostic::error(Code::MissingField, message).resource(id).at(start));
        }
    }
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]] {
        text_or_nothing(resource, path)?;
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
    Ok(PlannedObject { resource, object, mapping, served })
}

/// Makes sure that what names an object is a text, as servers want it: `y` is a boolean for them, `1.0` a number.
fn text_or_nothing(resource: &Resource, path: &[&str]) -> Result<()> {
    let Some(value) = resource.node().get_path(path) else { return Ok(()) };
    if value.as_str().is_some() || value.is_null() {
        return Ok(());
    }
    let message = format!("`{}` must be a text, and it is {}", path.join("."), value.type_name());
    let error = Diagnostic::error(Code::InvalidValue, message).resource(resource.id()).at(value.span());
    Err(if value.scalar_text().is_some() { error.help("put it in quotes") } else { error })
}

/// The object's own namespace, else that of the destination.
fn namespace(destination: &ObjectPlace<'_>, resource: &Resource) -> Result<SmolStr> {
    let own = &resource.id().namespace;
    if own.is_empty() {
        return Ok(destination.namespace.into());
    }
    if destination.is_enforced && own != destination.namespace {
        let asked = destination.namespace;
        let message = format!("its namespace `{own}` is not the namespace `{asked}` that was asked for");
        let place = resource.node().get_path(&["metadata", "namespace"]).map(Node::span).unwrap_or_default();
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .resource(resource.id())
            .at(place)
            .help(format!("give --namespace={own}, or leave --namespace out")));
    }
    Ok(own.clone())
}

/// An error for each object that is there twice: what came last would win. The version of the kind does not tell
/// objects apart.
fn repeated(targets: &[PlannedObject<'_>]) -> Vec<Diagnostic> {
    let mut seen = FxHashMap::default();
    let again = targets.iter().filter_map(|target| {
        let Object { gvk, namespace, name } = &target.object;
        let first = *seen.entry((group_of(gvk), &gvk.kind, namespace, name)).or_insert(target.resource);
        (!std::ptr::eq(first, target.resource)).then_some((first, target))
    });
    let error = |(first, target): (&Resource, &PlannedObject<'_>)| {
        let message = format!("{} is there twice", target.object);
        target
            .located(Diagnostic::error(Code::DuplicateResource, message))
            .label(first.node().span().at_start(), "here first")
            .help("leave one of them out, or merge one over the other")
    };
    again.map(error).collect()
}

/// The group that tells a kind's objects apart. Events are the same objects in both groups that have them.
fn group_of(gvk: &Gvk) -> &str {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("events.k8s.io", "Event") => "",
        (group, _) => group,
    }
}

/// The kinds that the CRDs among the resources define, each with its CRD's name. What cannot be read defines none; the
/// server will say what is wrong with it.
fn definitions(resources: &[Resource]) -> FxHashMap<Gvk, (Mapping, SmolStr)> {
    let crds = resources.iter().filter(|resource| resource.id().gvk.is_crd());
    let defined = crds.flat_map(|crd| {
        let kinds = defined_kinds(crd.node()).unwrap_or_default().into_iter();
        kinds.map(|kind| (kind.gvk.clone(), (mapping_of(kind), crd.id().name.clone())))
    });
    defined.collect()
}

fn mapping_of(kind: NamedKind) -> Mapping {
    let mut names = kind.names.into_iter();
    let plural = names.next().unwrap_or_default();
    let namespaced = kind.scope == Some(Scope::Namespaced);
    Mapping { names: names.collect(), ..Mapping::new(kind.gvk, plural, namespaced) }
}

/// Kinds that others refer to when they are created, and which therefore go before these.
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

/// Kinds that change how others are admitted, and which therefore go after these.
const LAST: [&str; 7] = [
    "APIService",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// When an object is sent; objects of one phase are sent side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Namespaces,
    Definitions,
    First,
    Rest,
    Last,
}

impl Phase {
    pub(super) fn of(gvk: &Gvk) -> Self {
        let built_in = gvk.group.is_empty() || gvk.group.ends_with(".k8s.io") || gvk.group == "policy";
        match gvk.kind.as_str() {
            "Namespace" if gvk.group.is_empty() => Self::Namespaces,
            _ if gvk.is_crd() => Self::Definitions,
            kind if built_in && FIRST.contains(&kind) => Self::First,
            kind if built_in && LAST.contains(&kind) => Self::Last,
            _ => Self::Rest,
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
        Resource::new(node, &Schema::none()).expect("a resource")
    }

    fn object(api_version: &str, kind: &str, namespace: &str) -> Object {
        let gvk = Gvk::from_manifest(api_version, kind);
        Object { gvk, namespace: namespace.into(), name: "x".into() }
    }

    #[test]
    fn objects_are_named_as_kubectl_names_them() {
        let deployment = object("apps/v1", "Deployment", "shop");
        assert_eq!(deployment.to_string(), "deployment.apps/x");
        assert_eq!(deployment.file_name(), "apps.v1.Deployment.shop.x");
        let namespace = object("v1", "Namespace", "");
        assert_eq!(namespace.to_string(), "namespace/x");
        assert_eq!(namespace.file_name(), "v1.Namespace..x");
    }

    #[test]
    fn objects_are_the_same_in_any_version_of_their_kind() {
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
            let problem = planned_without_server(&objects, &options, "x").err();
            assert_eq!(
                problem.is_some_and(|p| p.code() == Code::DuplicateResource),
                is_same,
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn what_others_need_goes_first() {
        let phase = |api_version, kind| Phase::of(&Gvk::from_manifest(api_version, kind));
        let table = [
            ("v1", "Namespace", Phase::Namespaces),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", Phase::Definitions),
            ("rbac.authorization.k8s.io/v1", "Role", Phase::First),
            ("example.com/v1", "Role", Phase::Rest),
            ("rbac.authorization.k8s.io/v1", "RoleBinding", Phase::Rest),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", Phase::Last),
        ];
        for (api_version, kind, want) in table {
            assert_eq!(phase(api_version, kind), want, "{api_version} {kind}");
        }
    }

    #[test]
    fn definitions_among_the_objects_are_known() {
        let crd = resource(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.ex.io}
spec: {group: ex.io, scope: Cluster, names: {kind: Foo, plural: foos}, versions: [{name: v1}, {name: v2}]}",
        );
        let known = definitions(&[crd]);
        let (mapping, crd) = &known[&Gvk::from_manifest("ex.io/v2", "Foo")];
        assert_eq!(
            (mapping.plural.as_str(), mapping.namespaced, crd.as_str()),
            ("foos", false, "foos.ex.io")
        );
        assert_eq!(known.len(), 2);
    }
}
