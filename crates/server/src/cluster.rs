//! The cluster that tests create.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use smp_merge::schema::{Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result};

use crate::clock::Clock;
use crate::hook::{Hook, Review};
use crate::metadata::meta;
use crate::request::{FieldValidation, Sender, Target, WriteOptions};
use crate::resources::Verb;
use crate::service::ClusterService;
use crate::state::{Controller, CustomResources, Settings, Shared, State, Validation};

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// A Kubernetes API server in memory.
///
/// Clones share the objects. See the [crate] for an example.
#[derive(Debug, Clone)]
pub struct TestCluster {
    shared: Arc<Mutex<Shared>>,
}

/// The settings and the first objects of a [`TestCluster`].
#[derive(Debug, Clone, Default)]
pub struct Builder {
    settings: Settings,
    /// The first objects, each with its `path:line:column` if it comes from a file.
    objects: Vec<(Value, Option<String>)>,
    schema: Option<Schema>,
    history: Option<usize>,
    /// The first error in a file.
    problem: Option<Diagnostic>,
}

impl Default for TestCluster {
    fn default() -> Self {
        Self::start(Schema::embedded(), Settings::default())
    }
}

impl TestCluster {
    /// Creates a cluster with the built-in kinds and the namespaces that every cluster has.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a builder with the settings of [`TestCluster::new`].
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn start(schema: Schema, settings: Settings) -> Self {
        let state = State::new(schema, settings);
        let cluster = Self {
            shared: Arc::new(Mutex::new(Shared {
                state,
                watches: 0,
                interrupted: 0,
                faults: Vec::new(),
                log: VecDeque::new(),
            })),
        };
        for name in NAMESPACES {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            // These objects are valid.
            let _ = cluster.create(namespace);
        }
        cluster
    }

    /// Returns a service that answers requests as the API server does. Any HTTP client can call it.
    #[must_use]
    pub fn service(&self) -> ClusterService {
        ClusterService { shared: Arc::clone(&self.shared) }
    }

    /// Returns a client with the default namespace `namespace`. It needs a tokio runtime, but no port and no thread.
    #[cfg(feature = "kube")]
    #[must_use]
    pub fn client(&self, namespace: &str) -> kube::Client {
        kube::Client::new(self.service(), namespace)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an object without a request. A namespaced object without a namespace gets `default`.
    ///
    /// # Errors
    /// Fails if the kind is not served, or if the server would reject the object.
    pub fn create(&self, object: Value) -> Result<Value> {
        let gvk = Gvk::from_object(&object)
            .ok_or_else(|| Diagnostic::error(Code::MissingField, "the object has no apiVersion or kind"))?;
        let mut shared = self.lock();
        let state = &mut shared.state;
        let resource = state.resources.of_kind(&gvk).cloned();
        let resource = resource.ok_or_else(|| {
            Diagnostic::error(Code::NoSchema, format!("the cluster serves no {gvk}"))
                .help("create its CRD first, or pass it to the builder")
        })?;
        let own = meta(&object, "namespace");
        let namespace = if !resource.is_namespaced {
            ""
        } else if own.is_empty() {
            "default"
        } else {
            own
        };
        let (namespace, name) = (namespace.to_string(), meta(&object, "name").to_string());
        let target = Target { resource, namespace, name, subresource: None, verb: Verb::Create };
        let mut options = WriteOptions {
            is_dry: false,
            is_forced: false,
            manager: "test".into(),
            field_validation: FieldValidation::Strict,
            warnings: Vec::new(),
            sender: Sender::Client,
            sent: Value::Null,
        };
        let created = state.create_from(&target, object, &mut options).map_err(|failure| {
            let status = failure.to_status();
            Diagnostic::error(Code::InvalidValue, status["message"].as_str().unwrap_or_default())
        });
        state.run_controllers();
        created
    }
}

impl Builder {
    /// Adds objects. CRDs are created first, then namespaces. Objects in namespaces that do not exist are rejected.
    /// Admission policies are created last, and do not apply to the other objects.
    #[must_use]
    pub fn objects(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.objects.extend(objects.into_iter().map(|object| (object, None)));
        self
    }

    /// Adds CustomResourceDefinitions. Their kinds are served.
    #[must_use]
    pub fn crds(self, definitions: impl IntoIterator<Item = Value>) -> Self {
        self.objects(definitions)
    }

    /// Sets the types of the built-in kinds. The default is the newest known Kubernetes version.
    #[must_use]
    pub fn schema(mut self, schema: Schema) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Sets whether invalid objects are rejected.
    #[must_use]
    pub fn validate(mut self, validation: Validation) -> Self {
        self.settings.validation = validation;
        self
    }

    /// Sets whether strategic merge patches of custom resources are allowed.
    #[must_use]
    pub fn custom_resources(mut self, custom_resources: CustomResources) -> Self {
        self.settings.custom_resources = custom_resources;
        self
    }

    /// Sets which stand-ins for controllers run. By default none does, as on a server without a controller manager.
    #[must_use]
    pub fn controllers(mut self, controllers: impl IntoIterator<Item = Controller>) -> Self {
        self.settings.controllers.extend(controllers);
        self
    }

    /// Adds a function that admits creations, changes and deletions, like a webhook. It may change the object. If it
    /// returns an error, the request is rejected with 403 and the error as reason. It runs within the request, so it
    /// must not use the cluster.
    ///
    /// ```
    /// use kubernetes_test_server::TestCluster;
    ///
    /// let cluster = TestCluster::builder()
    ///     .admission(|review| {
    ///         if review.name == "forbidden" { Err("this name is taken".into()) } else { Ok(()) }
    ///     })
    ///     .build()?;
    /// let map = |name| serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    /// assert!(cluster.create(map("allowed")).is_ok());
    /// assert!(cluster.create(map("forbidden")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn admission(
        mut self,
        admit: impl Fn(&mut Review<'_>) -> std::result::Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.settings.hooks.push(Hook(Arc::new(admit)));
        self
    }

    /// Adds the objects of a directory of manifests, or of one manifest.
    #[cfg(feature = "overlay")]
    #[must_use]
    pub fn manifests(self, path: impl AsRef<std::path::Path>) -> Self {
        let found = crate::manifests::read(path.as_ref());
        self.add(found)
    }

    /// Adds the objects that a kustomization or a plain overlay builds, or those of a directory of manifests.
    #[cfg(feature = "overlay")]
    #[must_use]
    pub fn overlay(self, path: impl AsRef<std::path::Path>) -> Self {
        let found = crate::manifests::build(path.as_ref());
        self.add(found)
    }

    /// Reads the types of the kinds from a file: OpenAPI, or a compiled schema.
    #[cfg(feature = "overlay")]
    #[must_use]
    pub fn schema_file(mut self, path: impl AsRef<std::path::Path>) -> Self {
        match crate::manifests::schema(path.as_ref()) {
            Ok(schema) => self.schema = Some(schema),
            Err(problem) => self.problem = self.problem.or(Some(problem)),
        }
        self
    }

    /// Adds objects, or stores the first error for [`Builder::build`].
    #[cfg(feature = "overlay")]
    fn add(mut self, found: Result<Vec<(Value, Option<String>)>>) -> Self {
        match found {
            Ok(objects) => self.objects.extend(objects),
            Err(problem) => self.problem = self.problem.or(Some(problem)),
        }
        self
    }

    /// Sets how many changes of each resource are kept, by default 20,000. Older watches get 410.
    #[must_use]
    pub fn history(mut self, changes: usize) -> Self {
        self.history = Some(changes);
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Creates the cluster.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if the server would reject an object.
    pub fn build(self) -> Result<TestCluster> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let cluster = TestCluster::start(self.schema.unwrap_or_else(Schema::embedded), self.settings);
        if let Some(history) = self.history {
            cluster.lock().state.store.history = history;
        }
        let rank = |(object, _): &(Value, Option<String>)| match object["kind"].as_str() {
            Some("CustomResourceDefinition") => 0,
            Some("Namespace") => 1,
            // Policies do not apply to the other objects of the builder.
            Some("ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding") => 3,
            _ => 2,
        };
        let mut objects = self.objects;
        objects.sort_by_key(rank);
        for (object, location) in objects {
            cluster.create(object).map_err(|problem| match &location {
                Some(location) => problem.note(format!("the object is in {location}")),
                None => problem,
            })?;
        }
        Ok(cluster)
    }
}
