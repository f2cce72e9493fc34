//! The generator's model of a resource, so that most patches and references are valid.

/// Type of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    Text,
    Number,
    Map,
    List,
}

/// A field that exists in a resource.
#[derive(Clone)]
pub struct Field {
    /// The path as in replacements.
    pub path: String,
    /// The path as in JSON patches.
    pub pointer: String,
    pub shape: FieldType,
}

/// A resource from the view of a layer.
#[derive(Clone)]
pub struct ModelResource {
    pub api: &'static str,
    pub kind: &'static str,
    /// The name in the manifest.
    pub original_name: String,
    /// The name with the prefixes and suffixes so far, without hash.
    pub name: String,
    pub namespace: Option<String>,
    /// The namespace in the manifest.
    pub original_namespace: Option<String>,
    pub containers: Vec<String>,
    pub fields: Vec<Field>,
    /// True if a generator created it.
    pub generated: bool,
}

impl ModelResource {
    pub fn new(api: &'static str, kind: &'static str, name: &str) -> Self {
        Self {
            api,
            kind,
            original_name: name.into(),
            name: name.into(),
            namespace: None,
            original_namespace: None,
            containers: Vec::new(),
            fields: Vec::new(),
            generated: false,
        }
    }

    /// Adds a field by its path, whose steps contain no dots.
    pub fn add_field(&mut self, path: &str, shape: FieldType) {
        self.fields.push(Field { path: path.into(), pointer: format!("/{}", path.replace('.', "/")), shape });
    }

    /// Removes all fields at and below a path.
    pub fn remove_fields(&mut self, path: &str) {
        self.fields.retain(|f| !f.path.starts_with(path));
    }

    pub fn has_field(&self, path: &str) -> bool {
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

    /// Returns the path of the Pod spec.
    pub fn pod_spec_path(&self) -> &'static str {
        match self.kind {
            "Pod" => "spec",
            "CronJob" => "spec.jobTemplate.spec.template.spec",
            _ => "spec.template.spec",
        }
    }

    /// Wraps fields of the Pod spec, in flow style, into the fields above them.
    pub fn wrap_in_pod_spec(&self, inner: &str) -> String {
        let mut text = format!("{{{inner}}}");
        for step in self.pod_spec_path().rsplit('.').take(self.pod_spec_path().split('.').count() - 1) {
            text = format!("{{{step}: {text}}}");
        }
        format!("spec: {text}")
    }

    /// Returns true if both resources have the same identity.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.group() == other.group()
            && self.name == other.name
            && (self.namespace == other.namespace || self.is_cluster_scoped())
    }

    /// Returns true if the resource has or had a name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.original_name == name
    }
}

/// Returns the resources whose kind and original name are unique.
pub fn distinct(things: &[ModelResource]) -> Vec<&ModelResource> {
    let same = |a: &ModelResource, b: &ModelResource| a.kind == b.kind && b.is_called(&a.original_name);
    things.iter().filter(|t| things.iter().filter(|other| same(t, other)).count() == 1).collect()
}
