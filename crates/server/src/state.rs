//! The state of the cluster: objects, resources, types and settings.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use smol_str::SmolStr;
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_validate::ValidateOptions;

use crate::clock::Clock;
use crate::controllers::{Item, Work};
use crate::faults::{Fault, LoggedRequest};
use crate::hook::Hook;
use crate::policies::Policies;
use crate::request::Target;
use crate::resources::{Resource, Resources};
use crate::status::{Failure, Result};
use crate::store::{Store, key};

/// The group of CRDs.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Policy for invalid objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Validation {
    /// Rejects invalid objects, as servers do.
    #[default]
    Strict,
    /// Accepts invalid objects with warnings.
    Warn,
    /// Checks only metadata and types.
    Off,
}

/// Policy for strategic merge patches of custom resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CustomResources {
    /// Rejects them with 415, as servers do.
    #[default]
    Rejected,
    /// Merges them according to the schema of the CRD.
    Merged,
}

/// A stand-in for a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Controller {
    /// Deletes the contents of terminating namespaces, then the namespaces.
    Namespaces,
    /// Deletes objects whose owners were deleted, and handles the finalizers of foreground deletion and orphaning.
    GarbageCollector,
    /// Rolls out Deployments: one ReplicaSet for each template.
    Deployments,
    /// Creates and deletes the Pods of ReplicaSets.
    ReplicaSets,
    /// Creates, replaces and deletes the Pods of StatefulSets in order.
    StatefulSets,
    /// Creates Pods of Jobs until enough of them succeeded.
    Jobs,
    /// Writes the `Endpoints` and `EndpointSlice` of Services.
    Endpoints,
    /// Stands in for the scheduler and the kubelet: Pods get a node and an address, and are ready immediately. Those of
    /// Jobs succeed.
    Pods,
}

impl Controller {
    /// All stand-ins.
    pub const ALL: [Self; 8] = [
        Self::Namespaces,
        Self::GarbageCollector,
        Self::Deployments,
        Self::ReplicaSets,
        Self::StatefulSets,
        Self::Jobs,
        Self::Endpoints,
        Self::Pods,
    ];

    /// Returns the name, such as `deployment`: the one in kube-controller-manager's flag `--controllers`, without
    /// `-controller`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespace",
            Self::GarbageCollector => "garbage-collector",
            Self::Deployments => "deployment",
            Self::ReplicaSets => "replicaset",
            Self::StatefulSets => "statefulset",
            Self::Jobs => "job",
            Self::Endpoints => "endpoints",
            Self::Pods => "pod",
        }
    }

    /// Returns the controller with a name, with or without `-controller`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_suffix("-controller").unwrap_or(name);
        Self::ALL.into_iter().find(|controller| controller.name() == name)
    }
}

/// The settings of a cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) clock: Clock,
    pub(crate) validation: Validation,
    pub(crate) custom_resources: CustomResources,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) hooks: Vec<Hook>,
}

/// The state of the cluster.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) resources: Resources,
    pub(crate) schema: Schema,
    /// The schema without the CRDs in the store.
    pub(crate) base_schema: Schema,
    pub(crate) validate: ValidateOptions,
    pub(crate) policies: Policies,
    pub(crate) settings: Settings,
    /// The number of generated uids and names.
    count: u64,
    /// The number of addresses that were assigned to Pods.
    pub(crate) addresses: u64,
    /// The queue of controllers.
    pub(crate) work: Work,
    /// The kinds that CRDs define, by group and kind.
    pub(crate) definitions: FxHashMap<(SmolStr, SmolStr), Arc<Value>>,
    /// The empty objects of built-in kinds that were used.
    pub(crate) empty_objects: Mutex<FxHashMap<Gvk, Arc<Value>>>,
}

/// State shared by all services and watches of a cluster.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) state: State,
    /// The number of watches, which is the ID of the last one.
    pub(crate) watches: u64,
    /// The highest ID of the watches that were interrupted.
    pub(crate) interrupted: u64,
    pub(crate) faults: Vec<Fault>,
    pub(crate) log: VecDeque<LoggedRequest>,
}

impl State {
    pub(crate) fn new(schema: Schema, settings: Settings) -> Self {
        Self {
            store: Store::default(),
            resources: Resources::built_in(),
            base_schema: schema.clone(),
            schema,
            validate: ValidateOptions::default().with_positions(),
            policies: Policies::default(),
            settings,
            count: 0,
            addresses: 0,
            work: Work::default(),
            definitions: FxHashMap::default(),
            empty_objects: Mutex::default(),
        }
    }

    /// Returns the schema of a kind.
    pub(crate) fn cursor(&self, gvk: &Gvk) -> Cursor<'_> {
        self.schema.kind(gvk).unwrap_or_else(Cursor::unknown)
    }

    /// Returns an object in the version of a resource.
    pub(crate) fn object(&self, target: &Target) -> Result<Arc<Value>> {
        let found = self.store.get(&target.resource.collection(), &key(&target.namespace, &target.name));
        found.cloned().ok_or_else(|| Failure::not_found(target.named()))
    }

    pub(crate) fn namespace(&self, name: &str) -> Option<&Arc<Value>> {
        self.store.get("namespaces", name)
    }

    /// Returns the next uid. Uids look like random ones, but are the same in each run.
    pub(crate) fn next_uid(&mut self) -> String {
        let bits = scrambled(self.next_count());
        format!("{:08x}-{:04x}-4000-8000-{:012x}", bits >> 32, bits >> 16 & 0xffff, self.count)
    }

    /// Returns a suffix for `generateName`, with the characters that servers use.
    pub(crate) fn next_suffix(&mut self) -> String {
        const CHARACTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bits = scrambled(self.next_count());
        let next = |_| {
            let at = usize::try_from(bits % 27).unwrap_or_default();
            bits /= 27;
            char::from(CHARACTERS[at])
        };
        (0..5).map(next).collect()
    }

    fn next_count(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Stores or deletes an object, and updates what depends on it.
    pub(crate) fn write(&mut self, resource: &Resource, key: &SmolStr, object: Option<Value>) -> Arc<Value> {
        let collection = resource.collection();
        let stored = self.write_collection(&collection, key, object);
        if collection == DEFINITIONS {
            self.read_definitions();
        }
        stored
    }

    /// Stores or deletes an object of a collection, and notifies controllers.
    pub(crate) fn write_collection(
        &mut self,
        collection: &SmolStr,
        key: &SmolStr,
        object: Option<Value>,
    ) -> Arc<Value> {
        let previous = self.store.get(collection, key).cloned();
        let is_there = object.is_some();
        let stored = self.store.write(collection, key, object);
        self.policies.note_change(collection, key, is_there.then_some(&*stored));
        let item = Item { collection: collection.clone(), key: key.clone() };
        self.note_change(&item, previous.as_deref(), is_there.then_some(&*stored));
        stored
    }

    /// Reads the definitions again after a change.
    pub(crate) fn read_definitions(&mut self) {
        let found: Vec<Arc<Value>> =
            self.store.list(DEFINITIONS, "", "").map(|(_, one)| Arc::clone(one)).collect();
        self.resources = self.resources.with_definitions(found.iter().map(|one| &**one));
        let values: Vec<Value> = found.iter().map(|one| Value::clone(one)).collect();
        self.schema =
            self.base_schema.clone().with_crds(&values).unwrap_or_else(|_| self.base_schema.clone());
        let name = |one: &Value, at: &str| {
            SmolStr::from(one.pointer(at).and_then(Value::as_str).unwrap_or_default())
        };
        let kind = |one: Arc<Value>| ((name(&one, "/spec/group"), name(&one, "/spec/names/kind")), one);
        self.definitions = found.into_iter().map(kind).collect();
    }
}

/// Mixes the bits of a number, so that successive numbers look random.
fn scrambled(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Returns an object's text at a JSON pointer; an empty text if it is absent.
pub(crate) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns an object in an API version of its group. Here, versions differ only in `apiVersion`.
pub(crate) fn in_version(object: &Value, gvk: &Gvk) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(gvk.api_version());
    object["kind"] = json!(gvk.kind);
    object
}
