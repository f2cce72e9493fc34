//! What objects say of others by their names, and what a build has that is called so.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::names::is_slip;
use super::outside::Outside;
use crate::cause::Write;
use crate::resource::{ResId, Resource, SimilarNames};
use crate::source::Span;
use crate::yaml::{Node, Value};

/// A name of another object.
#[derive(Debug)]
pub(super) struct ObjectReference<'n> {
    /// The object that has it.
    pub from: &'n Resource,
    /// The kind of the object that is meant.
    pub kind: SmolStr,
    /// Its name.
    pub name: &'n Node,
    /// Its namespace: that of the object that has the reference unless it says another; empty when nobody says.
    pub namespace: SmolStr,
    /// The key in it that is meant.
    pub key: Option<&'n Node>,
    /// Where the name is.
    pub field: String,
}

impl ObjectReference<'_> {
    /// The name as text.
    pub fn text(&self) -> &str {
        self.name.as_str().unwrap_or_default()
    }
}

/// The template of a workload's Pods: their metadata and spec.
pub(super) struct PodTemplate<'n> {
    /// Its labels.
    pub labels: Option<&'n Node>,
    spec: &'n Node,
    path: &'static str,
}

/// Where kinds have the template of their Pods.
const TEMPLATES: [(&[&str], &str); 3] = [
    (&["spec", "template"], "spec.template.spec"),
    (&["spec", "jobTemplate", "spec", "template"], "spec.jobTemplate.spec.template.spec"),
    (&["template"], "template.spec"),
];

/// The template of the Pods that an object makes or is.
pub(super) fn pod_template(resource: &Resource) -> Option<PodTemplate<'_>> {
    let node = resource.node();
    let of = |object: &Node| object.get("spec").is_some_and(|spec| spec.get("containers").is_some());
    if resource.id().gvk.kind == "Pod" {
        return Some(PodTemplate {
            labels: node.get_path(&["metadata", "labels"]),
            spec: node.get("spec")?,
            path: "spec",
        });
    }
    TEMPLATES.iter().find_map(|(path, shown)| {
        let template = node.get_path(path).filter(|template| of(template))?;
        let labels = template.get_path(&["metadata", "labels"]);
        Some(PodTemplate { labels, spec: template.get("spec")?, path: shown })
    })
}

/// The fields that lead to the labels of the Pods that an object makes or is.
pub(super) fn template_labels(resource: &Resource) -> Option<impl Iterator<Item = &'static str>> {
    let PodTemplate { path, .. } = pod_template(resource)?;
    let above = path.strip_suffix("spec")?;
    Some(above.split('.').filter(|step| !step.is_empty()).chain(["metadata", "labels"]))
}

/// A container of the Pods that an object makes or is.
pub(super) struct PodContainer<'n> {
    /// Where it is.
    pub field: String,
    /// What it says.
    pub node: &'n Node,
    of: &'n Resource,
    /// The fields of the list that it is in, and its position there.
    way: (&'static str, &'static str, usize),
}

impl PodContainer<'_> {
    /// Where its name was written first: what names a container that is there already changes it, and the first one
    /// made it, unless something of these containers was removed.
    pub fn made_at(&self) -> Span {
        let (spec, list, index) = self.way;
        let index = index.to_string();
        let containers = format!("/{}/{list}/", spec.replace('.', "/"));
        let removed = self.of.history.iter().flat_map(|history| history.removed());
        let is_whole = !removed.into_iter().any(|removed| removed.pointer.starts_with(&containers));
        let way: Vec<&str> = spec.split('.').chain([list, index.as_str(), "name"]).collect();
        let writes = self.of.history.as_deref().and_then(|history| history.leaf(&way));
        let first = writes.filter(|_| is_whole).and_then(<[Write]>::last).map(|write| write.at);
        let first = first.filter(|at| !at.is_none());
        first.unwrap_or_else(|| self.node.get("name").unwrap_or(self.node).span())
    }
}

/// The containers of the Pods that an object makes or is.
pub(super) fn pod_containers(resource: &Resource) -> Vec<PodContainer<'_>> {
    let Some(PodTemplate { spec, path, .. }) = pod_template(resource) else { return Vec::new() };
    let lists = ["containers", "initContainers"].into_iter();
    let all = lists.flat_map(|list| entries(spec.get(list)).map(move |(i, entry)| (list, i, entry)));
    all.map(|(list, i, node)| {
        let field = format!("{path}.{list}[{}]", shown(i, node));
        PodContainer { field, node, of: resource, way: (path, list, i) }
    })
    .collect()
}

/// All references of an object that the kinds of Kubernetes have.
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
    fn add(&mut self, kind: &str, name: Option<&'n Node>, field: String) {
        let namespace = namespace_of(self.from.id()).into();
        let Some(name) = name.filter(|name| name.as_str().is_some_and(|text| !text.is_empty())) else {
            return;
        };
        self.found.push(ObjectReference {
            from: self.from,
            kind: kind.into(),
            name,
            namespace,
            key: None,
            field,
        });
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
        self.unless_optional("ConfigMap", volume.get("configMap"), "name", &format!("{path}.configMap"));
        self.unless_optional("Secret", volume.get("secret"), "secretName", &format!("{path}.secret"));
        let claim = volume.get_path(&["persistentVolumeClaim", "claimName"]);
        self.add("PersistentVolumeClaim", claim, format!("{path}.persistentVolumeClaim.claimName"));
        for (i, source) in entries(volume.get_path(&["projected", "sources"])) {
            for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
                let path = format!("{path}.projected.sources[{i}].{field}");
                self.unless_optional(kind, source.get(field), "name", &path);
            }
        }
    }

    fn container(&mut self, container: &'n Node, path: &str) {
        let kinds = [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")];
        for (i, variable) in entries(container.get("env")) {
            for (field, kind) in kinds {
                let from = variable.get("valueFrom").and_then(|from| from.get(field));
                let path = format!("{path}.env[{}].valueFrom.{field}", shown(i, variable));
                self.unless_optional(kind, from, "name", &path);
                let key = from.and_then(|from| from.get("key"));
                if let Some(last) = self.found.last_mut().filter(|last| last.field.starts_with(&path)) {
                    last.key = key;
                }
            }
        }
        for (i, from) in entries(container.get("envFrom")) {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                self.unless_optional(kind, from.get(field), "name", &format!("{path}.envFrom[{i}].{field}"));
            }
        }
    }

    fn unless_optional(&mut self, kind: &str, from: Option<&'n Node>, field: &str, path: &str) {
        let is_optional = |from: &&Node| {
            from.get("optional").and_then(Node::scalar_text).is_some_and(|optional| optional == "true")
        };
        let from = from.filter(|from| !is_optional(from));
        self.add(kind, from.and_then(|from| from.get(field)), format!("{path}.{field}"));
    }

    fn names(&mut self, list: Option<&'n Node>, kind: &str, path: &str) {
        for (i, entry) in entries(list) {
            self.add(kind, entry.get("name"), format!("{path}[{i}].name"));
        }
    }

    /// An object that is named with its kind.
    fn target(&mut self, target: Option<&'n Node>, path: &str) {
        let kind = target.and_then(|target| target.get("kind")).and_then(Node::as_str);
        if let Some(kind) = kind {
            self.add(kind, target.and_then(|target| target.get("name")), format!("{path}.name"));
        }
    }

    fn ingress(&mut self, node: &'n Node) {
        let backend = |backend: Option<&'n Node>| {
            backend.and_then(|b| b.get_path(&["service", "name"]).or(b.get("serviceName")))
        };
        self.add(
            "Service",
            backend(node.get_path(&["spec", "defaultBackend"])),
            "spec.defaultBackend.service.name".into(),
        );
        for (i, rule) in entries(node.get_path(&["spec", "rules"])) {
            for (j, path) in entries(rule.get_path(&["http", "paths"])) {
                let field = format!("spec.rules[{i}].http.paths[{j}].backend.service.name");
                self.add("Service", backend(path.get("backend")), field);
            }
        }
    }

    fn binding(&mut self, node: &'n Node) {
        self.target(node.get("roleRef"), "roleRef");
        for (i, subject) in entries(node.get("subjects")) {
            if subject.get("kind").and_then(Node::as_str) != Some("ServiceAccount") {
                continue;
            }
            self.add("ServiceAccount", subject.get("name"), format!("subjects[{i}].name"));
            let namespace = subject.get("namespace").and_then(Node::as_str);
            if let (Some(namespace), Some(last)) = (namespace, self.found.last_mut()) {
                last.namespace = namespace.into();
            }
        }
    }
}

fn entries(list: Option<&Node>) -> impl Iterator<Item = (usize, &Node)> {
    list.and_then(Node::as_list).into_iter().flatten().enumerate()
}

/// An entry of a list as a path names it.
fn shown(position: usize, entry: &Node) -> String {
    match entry.get("name").and_then(Node::as_str) {
        Some(name) => format!("name={name}"),
        None => position.to_string(),
    }
}

/// The objects of a kind in a namespace, by name; none for what a controller makes.
type ObjectsByName<'n> = BTreeMap<SmolStr, Option<&'n Resource>>;

/// What is called by a name.
pub(super) enum FoundObject<'n> {
    /// An object of the build.
    Built(&'n Resource),
    /// One that a controller makes.
    Made,
    /// Nothing.
    Absent,
}

/// Objects by kind and namespace.
#[derive(Default)]
pub(super) struct Objects<'n> {
    by_kind: FxHashMap<(SmolStr, SmolStr), ObjectsByName<'n>>,
    /// Their names by what they are like, made when somebody asks.
    similar: RefCell<FxHashMap<(SmolStr, SmolStr), SimilarNames>>,
    namespaces: FxHashMap<(SmolStr, SmolStr), Vec<SmolStr>>,
}

impl<'n> Objects<'n> {
    /// Those of a build, with those that controllers make of them.
    pub fn of(resources: impl Iterator<Item = &'n Resource>, outside: &Outside) -> Self {
        let mut objects = Self::default();
        for resource in resources {
            let id = resource.id();
            objects.add(&id.gvk.kind, namespace_of(id), &id.name, Some(resource));
            for (kind, name) in super::controllers::made_of(resource, outside) {
                objects.add(kind.as_str(), namespace_of(id), &name, None);
            }
        }
        objects
    }

    fn add(&mut self, kind: &str, namespace: &str, name: &str, resource: Option<&'n Resource>) {
        let names = self.by_kind.entry((kind.into(), namespace.into())).or_default();
        if resource.is_some() || !names.contains_key(name) {
            names.insert(name.into(), resource);
        }
        self.namespaces.entry((kind.into(), name.into())).or_default().push(namespace.into());
    }

    /// What is called so. What says no namespace may be in any.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> FoundObject<'n> {
        let mut namespaces = self.namespaces_of(kind, name).iter();
        let found = namespaces.find(|own| namespace.is_empty() || own.is_empty() || *own == namespace);
        let named = found.and_then(|own| self.by_kind.get(&(kind.into(), own.clone()))?.get(name));
        match named {
            Some(Some(resource)) => FoundObject::Built(resource),
            Some(None) => FoundObject::Made,
            None => FoundObject::Absent,
        }
    }

    /// The objects of a kind in a namespace.
    pub fn of_kind(&self, kind: &str, namespace: &str) -> impl Iterator<Item = &SmolStr> {
        self.by_kind.get(&(kind.into(), namespace.into())).into_iter().flat_map(|names| names.keys())
    }

    /// The name of an object that differs from this one by a slip, or by a word at the end such as the hash of what was
    /// generated.
    pub fn similar(&self, kind: &str, namespace: &str, name: &str) -> Option<SmolStr> {
        let key = (SmolStr::from(kind), SmolStr::from(namespace));
        let names = self.by_kind.get(&key)?;
        let longer = format!("{name}-");
        let behind = names.range(SmolStr::from(longer.as_str())..).next().map(|(known, _)| known);
        let has_word = |known: &&SmolStr| {
            name.contains('-') && known.strip_prefix(&longer).is_some_and(|word| !word.contains('-'))
        };
        let mut similar = self.similar.borrow_mut();
        let similar = similar.entry(key).or_insert_with(|| names.keys().collect());
        let near = similar.nearest(name).filter(|near| is_slip(name, near));
        near.or_else(|| behind.filter(has_word).cloned())
    }

    /// The namespaces in which there is an object of a kind that is called so.
    pub fn namespaces_of(&self, kind: &str, name: &str) -> &[SmolStr] {
        self.namespaces.get(&(kind.into(), name.into())).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The namespace that an object says it is in; empty when it says nothing, as many bases do.
pub(super) fn namespace_of(id: &ResId) -> &str {
    if id.cluster_scoped { "" } else { &id.namespace }
}

/// What the objects of a build are called, and which names they have of others.
pub(super) struct NamedObjects<'n> {
    /// All references.
    pub references: Vec<ObjectReference<'n>>,
    /// What can be meant by them.
    pub objects: Objects<'n>,
    /// All texts that objects have in their values, those of their own names left out.
    pub texts: FxHashSet<&'n str>,
}

impl<'n> NamedObjects<'n> {
    pub fn of(resources: std::slice::Iter<'n, Resource>, outside: &Outside) -> Self {
        let references = resources.clone().flat_map(references).collect();
        let objects = Objects::of(resources.clone(), outside);
        Self { references, objects, texts: mentioned(resources) }
    }
}

fn mentioned<'n>(resources: impl Iterator<Item = &'n Resource>) -> FxHashSet<&'n str> {
    let mut texts = FxHashSet::default();
    for resource in resources {
        let own = resource.node().get_path(&["metadata", "name"]);
        texts_of(resource.node(), own, &mut texts);
    }
    texts
}

fn texts_of<'n>(node: &'n Node, own: Option<&Node>, texts: &mut FxHashSet<&'n str>) {
    match &node.value {
        Value::Scalar(_) if own.is_some_and(|own| std::ptr::eq(own, node)) => {}
        Value::Scalar(_) => texts.extend(node.as_str()),
        Value::List(list) => list.iter().for_each(|entry| texts_of(entry, own, texts)),
        Value::Map(map) => map.iter().for_each(|(_, value)| texts_of(value, own, texts)),
    }
}
