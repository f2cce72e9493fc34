//! References between objects by name.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::external::ExternalObjects;
use super::objects::{Objects, namespace_of};
use smp_merge::cause::Write;
use smp_overlay::resource::Resource;
use smp_text::source::Span;
use smp_text::yaml::Node;

/// A reference to another object by name.
#[derive(Debug)]
pub(super) struct ObjectReference<'n> {
    /// The object that contains the reference.
    pub from: &'n Resource,
    /// The kind of the referenced object.
    pub kind: SmolStr,
    /// The name of the referenced object.
    pub name: &'n Node,
    /// The namespace of the referenced object: the one in the reference, otherwise that of the referring object. It is
    /// empty if neither has one.
    pub namespace: SmolStr,
    /// The fields with the kind and namespace of the reference, if any.
    pub stated: StatedFields<'n>,
    /// The referenced keys of the object, with their field paths.
    pub keys: Vec<(&'n Node, String)>,
    /// The referenced port of the object, with its field path.
    pub port: Option<(&'n Node, String)>,
    /// The field path of the name.
    pub field: String,
}

/// The fields next to a name that complete a reference.
#[derive(Debug, Default)]
pub(super) struct StatedFields<'n> {
    /// The kind.
    pub kind: Option<&'n Node>,
    /// The namespace.
    pub namespace: Option<&'n Node>,
}

impl ObjectReference<'_> {
    /// Returns the name as text.
    pub fn text(&self) -> &str {
        self.name.as_str().unwrap_or_default()
    }
}

/// The Pod template of a workload: metadata and spec.
pub(super) struct PodTemplate<'n> {
    /// The labels.
    pub labels: Option<&'n Node>,
    /// The annotations.
    pub annotations: Option<&'n Node>,
    spec: &'n Node,
    path: &'static str,
}

/// The paths of Pod templates.
const TEMPLATES: [(&[&str], &str); 3] = [
    (&["spec", "template"], "spec.template.spec"),
    (&["spec", "jobTemplate", "spec", "template"], "spec.jobTemplate.spec.template.spec"),
    (&["template"], "template.spec"),
];

/// Returns the Pod template of a workload, or of the Pod itself.
pub(super) fn pod_template(resource: &Resource) -> Option<PodTemplate<'_>> {
    let node = resource.node();
    let has_containers =
        |object: &Node| object.get("spec").is_some_and(|spec| spec.get("containers").is_some());
    if resource.id().gvk.kind == "Pod" {
        return Some(PodTemplate {
            labels: node.get_path(&["metadata", "labels"]),
            annotations: node.get_path(&["metadata", "annotations"]),
            spec: node.get("spec")?,
            path: "spec",
        });
    }
    TEMPLATES.iter().find_map(|(path, shown)| {
        let template = node.get_path(path).filter(|template| has_containers(template))?;
        let labels = template.get_path(&["metadata", "labels"]);
        let annotations = template.get_path(&["metadata", "annotations"]);
        Some(PodTemplate { labels, annotations, spec: template.get("spec")?, path: shown })
    })
}

/// Returns the path of the labels of a Pod template.
pub(super) fn template_labels(resource: &Resource) -> Option<impl Iterator<Item = &'static str>> {
    let PodTemplate { path, .. } = pod_template(resource)?;
    let above = path.strip_suffix("spec")?;
    Some(above.split('.').filter(|step| !step.is_empty()).chain(["metadata", "labels"]))
}

/// A container of a workload or Pod.
pub(super) struct PodContainer<'n> {
    /// The field path.
    pub field: String,
    /// The container.
    pub node: &'n Node,
    resource: &'n Resource,
    /// The field path of the Pod spec, the name of the container list, and the index in this list.
    path: (&'static str, &'static str, usize),
}

impl PodContainer<'_> {
    /// Returns the location where the name was first written. This write created the container, and later writes only
    /// changed it, unless entries of the list were removed.
    pub fn made_at(&self) -> Span {
        let (spec, list, index) = self.path;
        let index = index.to_string();
        let containers = format!("/{}/{list}/", spec.replace('.', "/"));
        let removed = self.resource.history.iter().flat_map(|history| history.removed());
        let is_whole = !removed.into_iter().any(|removed| removed.pointer.starts_with(&containers));
        let path: Vec<&str> = spec.split('.').chain([list, index.as_str(), "name"]).collect();
        let writes = self.resource.history.as_deref().and_then(|history| history.writes_at(&path));
        let first = writes.filter(|_| is_whole).and_then(<[Write]>::last).map(|write| write.at);
        let first = first.filter(|at| !at.is_none());
        first.unwrap_or_else(|| self.node.get("name").unwrap_or(self.node).span())
    }
}

/// Returns the containers and init containers of a workload or Pod.
pub(super) fn pod_containers(resource: &Resource) -> Vec<PodContainer<'_>> {
    let Some(PodTemplate { spec, path, .. }) = pod_template(resource) else { return Vec::new() };
    let lists = ["containers", "initContainers"].into_iter();
    let all = lists.flat_map(|list| entries(spec.get(list)).map(move |(i, entry)| (list, i, entry)));
    all.map(|(list, i, node)| {
        let field = format!("{path}.{list}[{}]", shown(i, node));
        PodContainer { field, node, resource, path: (path, list, i) }
    })
    .collect()
}

/// An image of a Pod.
pub(super) struct PodImage<'n> {
    /// The image.
    pub node: &'n Node,
    /// The field names and list indices of its path.
    pub path: Vec<SmolStr>,
    /// The field path.
    pub field: String,
}

/// Returns the images of the containers and image volumes of a workload or Pod.
pub(super) fn pod_images(resource: &Resource) -> Vec<PodImage<'_>> {
    let Some(PodTemplate { spec, path, .. }) = pod_template(resource) else { return Vec::new() };
    let fields: [(&str, &[&str]); 4] = [
        ("containers", &["image"]),
        ("initContainers", &["image"]),
        ("ephemeralContainers", &["image"]),
        ("volumes", &["image", "reference"]),
    ];
    let all = fields
        .into_iter()
        .flat_map(|(list, below)| entries(spec.get(list)).map(move |(i, entry)| (list, i, entry, below)));
    all.filter_map(|(list, i, entry, below)| {
        let index = i.to_string();
        let steps = path.split('.').chain([list, &index]).chain(below.iter().copied());
        let field = format!("{path}.{list}[{}].{}", shown(i, entry), below.join("."));
        Some(PodImage { node: entry.get_path(below)?, path: steps.map(SmolStr::new).collect(), field })
    })
    .collect()
}

/// Returns all references in an object of a built-in kind.
fn references(resource: &Resource) -> Vec<ObjectReference<'_>> {
    let mut found = ReferenceFinder { from: resource, found: Vec::new() };
    if let Some(template) = pod_template(resource) {
        found.pod(&template);
    }
    let node = resource.node();
    match resource.id().gvk.kind.as_str() {
        "HorizontalPodAutoscaler" => {
            found.target(node.get_path(&["spec", "scaleTargetRef"]), "spec.scaleTargetRef");
        }
        "StatefulSet" => {
            found.add("Service", node.get_path(&["spec", "serviceName"]), "spec.serviceName".into());
        }
        "Ingress" => found.ingress(node),
        "RoleBinding" | "ClusterRoleBinding" => found.binding(node),
        "ServiceAccount" => found.names(node.get("imagePullSecrets"), "Secret", "imagePullSecrets"),
        _ => {}
    }
    found.found
}

struct ReferenceFinder<'n> {
    from: &'n Resource,
    found: Vec<ObjectReference<'n>>,
}

impl<'n> ReferenceFinder<'n> {
    /// Adds a reference if the name is present.
    fn add(&mut self, kind: &str, name: Option<&'n Node>, field: String) -> Option<&mut ObjectReference<'n>> {
        let namespace = namespace_of(self.from.id()).into();
        let name = name.filter(|name| name.as_str().is_some_and(|text| !text.is_empty()))?;
        let (beside, keys) = (StatedFields::default(), Vec::new());
        let (from, kind) = (self.from, kind.into());
        self.found.push(ObjectReference {
            from,
            kind,
            name,
            namespace,
            stated: beside,
            keys,
            port: None,
            field,
        });
        self.found.last_mut()
    }

    fn pod(&mut self, template: &PodTemplate<'n>) {
        let (spec, path) = (template.spec, template.path);
        self.add("ServiceAccount", spec.get("serviceAccountName"), format!("{path}.serviceAccountName"));
        self.names(spec.get("imagePullSecrets"), "Secret", &format!("{path}.imagePullSecrets"));
        for (i, volume) in entries(spec.get("volumes")) {
            self.volume(volume, &format!("{path}.volumes[{}]", shown(i, volume)));
        }
        for container in pod_containers(self.from) {
            self.container(container.node, &container.field);
        }
    }

    fn volume(&mut self, volume: &'n Node, path: &str) {
        self.files("ConfigMap", volume.get("configMap"), "name", &format!("{path}.configMap"));
        self.files("Secret", volume.get("secret"), "secretName", &format!("{path}.secret"));
        let claim = volume.get_path(&["persistentVolumeClaim", "claimName"]);
        self.add("PersistentVolumeClaim", claim, format!("{path}.persistentVolumeClaim.claimName"));
        for (i, source) in entries(volume.get_path(&["projected", "sources"])) {
            for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
                let path = format!("{path}.projected.sources[{i}].{field}");
                self.files(kind, source.get(field), "name", &path);
            }
        }
    }

    /// Adds an object whose keys become files: the listed keys, or all of them.
    fn files(&mut self, kind: &str, from: Option<&'n Node>, field: &str, path: &str) {
        let items = entries(from.and_then(|from| from.get("items")));
        let key = |(i, item): (usize, &'n Node)| Some((item.get("key")?, format!("{path}.items[{i}].key")));
        if let Some(reference) = self.unless_optional(kind, from, field, path) {
            reference.keys.extend(items.filter_map(key));
        }
    }

    fn container(&mut self, container: &'n Node, path: &str) {
        let kinds = [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")];
        for (i, variable) in entries(container.get("env")) {
            for (field, kind) in kinds {
                let from = variable.get("valueFrom").and_then(|from| from.get(field));
                let path = format!("{path}.env[{}].valueFrom.{field}", shown(i, variable));
                let key = from.and_then(|from| from.get("key"));
                if let Some(reference) = self.unless_optional(kind, from, "name", &path) {
                    reference.keys.extend(key.map(|key| (key, format!("{path}.key"))));
                }
            }
        }
        for (i, from) in entries(container.get("envFrom")) {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                self.unless_optional(kind, from.get(field), "name", &format!("{path}.envFrom[{i}].{field}"));
            }
        }
    }

    fn unless_optional(
        &mut self,
        kind: &str,
        from: Option<&'n Node>,
        field: &str,
        path: &str,
    ) -> Option<&mut ObjectReference<'n>> {
        let is_optional = |from: &&Node| {
            from.get("optional").and_then(Node::scalar_text).is_some_and(|optional| optional == "true")
        };
        let from = from.filter(|from| !is_optional(from));
        self.add(kind, from.and_then(|from| from.get(field)), format!("{path}.{field}"))
    }

    fn names(&mut self, list: Option<&'n Node>, kind: &str, path: &str) {
        for (i, entry) in entries(list) {
            self.add(kind, entry.get("name"), format!("{path}[{i}].name"));
        }
    }

    /// Adds an object that is referenced by kind and name.
    fn target(&mut self, target: Option<&'n Node>, path: &str) {
        let stated = target.and_then(|target| target.get("kind"));
        let Some(kind) = stated.and_then(Node::as_str) else { return };
        let name = target.and_then(|target| target.get("name"));
        if let Some(reference) = self.add(kind, name, format!("{path}.name")) {
            reference.stated.kind = stated;
        }
    }

    fn ingress(&mut self, node: &'n Node) {
        self.backend(node.get_path(&["spec", "defaultBackend"]), "spec.defaultBackend");
        for (i, rule) in entries(node.get_path(&["spec", "rules"])) {
            for (j, path) in entries(rule.get_path(&["http", "paths"])) {
                self.backend(path.get("backend"), &format!("spec.rules[{i}].http.paths[{j}].backend"));
            }
        }
    }

    /// Adds the backend of an Ingress, in the format of `networking.k8s.io/v1` or of older versions.
    fn backend(&mut self, backend: Option<&'n Node>, path: &str) {
        let Some(backend) = backend else { return };
        let now: &[(&[&str], &str)] =
            &[(&["service", "port", "name"], "name"), (&["service", "port", "number"], "number")];
        let port = now.iter().find_map(|(keys, field)| {
            Some((backend.get_path(keys)?, format!("{path}.service.port.{field}")))
        });
        let port = port.or_else(|| Some((backend.get("servicePort")?, format!("{path}.servicePort"))));
        let name = backend.get_path(&["service", "name"]).or(backend.get("serviceName"));
        if let Some(reference) = self.add("Service", name, format!("{path}.service.name")) {
            reference.port = port;
        }
    }

    fn binding(&mut self, node: &'n Node) {
        self.target(node.get("roleRef"), "roleRef");
        for (i, subject) in entries(node.get("subjects")) {
            if subject.get("kind").and_then(Node::as_str) != Some("ServiceAccount") {
                continue;
            }
            let stated = subject.get("namespace");
            let reference = self.add("ServiceAccount", subject.get("name"), format!("subjects[{i}].name"));
            if let (Some(namespace), Some(reference)) = (stated.and_then(Node::as_str), reference) {
                (reference.namespace, reference.stated.namespace) = (namespace.into(), stated);
            }
        }
    }
}

/// Returns the entries of a list with their indices.
pub(super) fn entries(list: Option<&Node>) -> impl Iterator<Item = (usize, &Node)> {
    list.and_then(Node::as_list).into_iter().flatten().enumerate()
}

/// Returns a list entry as field paths show it.
pub(super) fn shown(position: usize, entry: &Node) -> String {
    match entry.get("name").and_then(Node::as_str) {
        Some(name) => format!("name={name}"),
        None => position.to_string(),
    }
}

/// The objects of a build and the references between them.
pub(super) struct NamedObjects<'n> {
    /// All references.
    pub references: Vec<ObjectReference<'n>>,
    /// The objects to which references may resolve.
    pub objects: Objects<'n>,
}

impl<'n> NamedObjects<'n> {
    pub fn new(resources: std::slice::Iter<'n, Resource>, outside: &ExternalObjects) -> Self {
        let references = resources.clone().flat_map(references).collect();
        Self { references, objects: Objects::new(resources, outside) }
    }
}

/// Returns all string values of objects except their names.
pub(super) fn mentioned_texts<'n>(resources: impl Iterator<Item = &'n Resource>) -> FxHashSet<&'n str> {
    let mut texts = FxHashSet::default();
    for resource in resources {
        let own = resource.node().get_path(&["metadata", "name"]);
        let is_own = |node: &&Node| own.is_some_and(|own| std::ptr::eq(own, *node));
        texts.extend(resource.node().nodes().filter(|node| !is_own(node)).filter_map(Node::as_str));
    }
    texts
}
