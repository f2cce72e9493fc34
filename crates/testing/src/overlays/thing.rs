//! What the generator knows of a resource, so that what it writes about it is mostly right.

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Text,
    Number,
    Map,
    List,
}

/// A field that exists in a resource.
#[derive(Clone)]
pub struct Field {
    /// As replacements name it.
    pub path: String,
    /// As JSON patches name it.
    pub pointer: String,
    pub shape: Shape,
}

/// A resource as a layer sees it.
#[derive(Clone)]
pub struct Thing {
    pub api: &'static str,
    pub kind: &'static str,
    /// The name in the manifest.
    pub original: String,
    /// The name after the prefixes and suffixes so far, without a hash.
    pub name: String,
    pub namespace: Option<String>,
    /// The namespace in the manifest.
    pub home: Option<String>,
    pub containers: Vec<String>,
    pub fields: Vec<Field>,
    /// Whether a generator made it.
    pub generated: bool,
}

impl Thing {
    pub fn new(api: &'static str, kind: &'static str, name: &str) -> Self {
        Self {
            api,
            kind,
            original: name.into(),
            name: name.into(),
            namespace: None,
            home: None,
            containers: Vec::new(),
            fields: Vec::new(),
            generated: false,
        }
    }

    /// Adds a field by its path, whose steps have no dots of their own.
    pub fn has(&mut self, path: &str, shape: Shape) {
        self.fields.push(Field { path: path.into(), pointer: format!("/{}", path.replace('.', "/")), shape });
    }

    /// Forgets all fields at and below a path.
    pub fn lacks(&mut self, path: &str) {
        self.fields.retain(|f| !f.path.starts_with(path));
    }

    pub fn field(&self, path: &str) -> bool {
        self.fields.iter().any(|f| f.path == path)
    }

    pub fn group(&self) -> &'static str {
        self.api.rsplit_once('/').map_or("", |(group, _)| group)
    }

    pub fn is_workload(&self) -> bool {
        !self.containers.is_empty()
    }

    pub fn is_cluster_scoped(&self) -> bool {
        matches!(
            self.kind,
            "ClusterRole" | "ClusterRoleBinding" | "Namespace" | "StorageClass" | "PriorityClass"
        )
    }

    /// Where the pod's spec is.
    pub fn pod(&self) -> &'static str {
        match self.kind {
            "Pod" => "spec",
            "CronJob" => "spec.jobTemplate.spec.template.spec",
            _ => "spec.template.spec",
        }
    }

    /// Wraps fields of the pod's spec, in flow style, into the fields above them.
    pub fn in_pod(&self, inner: &str) -> String {
        let mut text = format!("{{{inner}}}");
        for step in self.pod().rsplit('.').take(self.pod().split('.').count() - 1) {
            text = format!("{{{step}: {text}}}");
        }
        format!("spec: {text}")
    }

    /// Whether both would have one identity.
    pub fn clashes(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.group() == other.group()
            && self.name == other.name
            && (self.namespace == other.namespace || self.is_cluster_scoped())
    }

    /// Whether it goes, or went, by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.original == name
    }
}

/// The things that their kind and first name tell from all others.
pub fn distinct(things: &[Thing]) -> Vec<&Thing> {
    let same = |a: &Thing, b: &Thing| a.kind == b.kind && b.is_called(&a.original);
    things.iter().filter(|t| things.iter().filter(|other| same(t, other)).count() == 1).collect()
}
