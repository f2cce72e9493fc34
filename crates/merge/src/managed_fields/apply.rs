//! Requests as an API server processes them: server-side applies and all other updates.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::last_applied::{KUBECTL, allowed_conflicts, update_annotation};
use super::managers::{ManagedFields, Manager, Operation, Ownership, entries_of, remove_entries};
use super::options::Options;
use super::owned::owned_fields;
use super::path_element::Path;
use super::removal::{WithoutFields, extracted};
use super::time::Timestamp;
use super::types::Type;
use super::updater::{ApplyOutcome, Updater};
use super::validation::Duplicates;
use super::versions::{Versions, check, check_with, described, failed, go_gvk};
use crate::defaults;
use crate::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, PatchRejection, Result};

/// The maximum number of managers that update an object.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager of the fields that an object had before its first server-side apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Metadata that only servers set. No manager owns it.
static STRIPPED: LazyLock<FieldSet> = LazyLock::new(|| {
    const METADATA: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top = ["apiVersion", "kind", "metadata"].map(|name| Path::fields([name]));
    top.into_iter().chain(METADATA.map(|name| Path::fields(["metadata", name]))).collect()
});

/// The result of an apply.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    /// The object after the apply, with its managed fields.
    Object(Value),
    /// Other managers own fields that the apply would change. The object is not changed.
    Conflicts(Conflicts),
}

impl Applied {
    /// Returns the object.
    ///
    /// # Errors
    /// The apply has conflicts ([`Code::Conflict`]).
    pub fn into_object(self) -> Result<Value> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Conflicts(conflicts) => Err(conflicts.to_diagnostic()),
        }
    }
}

/// Applies an object as server-side apply does. Returns the object that the server would store, or the conflicts.
///
/// `live` is the object on the server, with its managed fields, or `None` if it does not exist. The result has the API
/// version of `applied`. Defaults are not set, and values are only validated by their types.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Applied, Options, apply};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema).time("2026-01-31T12:00:00Z");
/// let web = |spec| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
///
/// let live = apply(None, &web(json!({"replicas": 1, "paused": true})), "deployer", &options)?.into_object()?;
/// // A field that is no longer applied is removed.
/// let live = apply(Some(&live), &web(json!({"replicas": 1})), "deployer", &options)?.into_object()?;
/// assert_eq!(live["spec"], json!({"replicas": 1}));
///
/// // A field of another manager is a conflict, unless the apply is forced.
/// let scaled = web(json!({"replicas": 3}));
/// let Applied::Conflicts(conflicts) = apply(Some(&live), &scaled, "scaler", &options)? else { panic!("no conflict") };
/// assert_eq!(conflicts.as_slice()[0].path.to_string(), ".spec.replicas");
/// let live = apply(Some(&live), &scaled, "scaler", &options.clone().force(true))?.into_object()?;
/// assert_eq!(live["spec"]["replicas"], 3);
/// assert_eq!(live["metadata"]["managedFields"][0]["manager"], "scaler");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// `applied` has no kind, another kind than `live`, or managed fields, or does not match its type. `live` has malformed
/// managed fields.
pub fn apply(live: Option<&Value>, applied: &Value, manager: &str, options: &Options<'_>) -> Result<Applied> {
    let gvk = kind_of(applied)?;
    let live = live_object(live, &gvk, options)?;
    let managed = ManagedFields::from_object(&live);
    let managed = managed.map_err(|error| failed("failed to decode managed fields", &error))?;
    let request = Request::new(&gvk, manager, options)?;
    let (mut object, managed) = match request.apply_as_kubectl(&live, applied, managed)? {
        Ok(done) => done,
        Err(conflicts) => return Ok(Applied::Conflicts(conflicts)),
    };
    if manager == KUBECTL {
        update_annotation(&mut object, applied);
    }
    managed.write_to(&mut object);
    keep_times(&live, &mut object);
    Ok(Applied::Object(object))
}

/// Returns the fields that an apply would take from other managers if it were forced. Returns no fields if the apply
/// has no conflicts.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Options, apply, conflicts};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let settings = |value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": value}});
/// let live = apply(None, &settings("1"), "ours", &options)?.into_object()?;
/// assert!(conflicts(Some(&live), &settings("1"), "theirs", &options)?.is_empty());
/// let found = conflicts(Some(&live), &settings("2"), "theirs", &options)?;
/// assert_eq!(found.as_slice()[0].manager.name, "ours");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`apply`].
pub fn conflicts(
    live: Option<&Value>,
    applied: &Value,
    manager: &str,
    options: &Options<'_>,
) -> Result<Conflicts> {
    match apply(live, applied, manager, &options.clone().force(false))? {
        Applied::Object(_) => Ok(Conflicts::default()),
        Applied::Conflicts(conflicts) => Ok(conflicts),
    }
}

/// Returns an object with the managed fields that it has after a create request, an update or any patch but an apply.
///
/// `new` is the whole object to store, with all patches applied. Its managed fields are those of the request: absent to
/// keep those of `live`, or an empty list or a list with a single empty entry to reset them. `live` is `None` for a
/// create request.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Options, apply, update};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1, "paused": true}});
/// let live = apply(None, &web, "deployer", &options)?.into_object()?;
/// let mut new = live.clone();
/// new["spec"]["replicas"] = json!(3);
/// let live = update(Some(&live), &new, "autoscaler", &options)?;
/// let fields = |i: usize| &live["metadata"]["managedFields"][i]["fieldsV1"];
/// assert_eq!(fields(0), &json!({"f:spec": {"f:paused": {}}}));
/// assert_eq!(fields(1), &json!({"f:spec": {"f:replicas": {}}}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// `new` has no kind or another kind than `live`, or one of the objects does not match its type. In the last case, a
/// server stores the object without managed fields.
pub fn update(live: Option<&Value>, new: &Value, manager: &str, options: &Options<'_>) -> Result<Value> {
    let mut object = new.clone();
    update_in_place(live, &mut object, manager, options)?;
    Ok(object)
}

/// Sets the managed fields of an object to those that it has after a create request, an update or any patch but an
/// apply, like [`update`].
///
/// # Errors
/// The errors of [`update`]. The object is then unchanged.
pub fn update_in_place(
    live: Option<&Value>,
    object: &mut Value,
    manager: &str,
    options: &Options<'_>,
) -> Result<()> {
    let gvk = kind_of(object)?;
    let live = match live {
        Some(_) => live_object(live, &gvk, options)?,
        None => Cow::Owned(defaults::empty(&gvk, options.schema)),
    };
    let request = Request::new(&gvk, manager, options)?;
    let entries = remove_entries(object);
    let managed = managed_before_update(&live, entries.as_ref(), options);
    let uid = live.get("metadata").and_then(|metadata| metadata.get("uid")).and_then(Value::as_str);
    // An object without managed fields gets the first ones with its first apply.
    if managed.is_empty() && uid.is_some_and(|uid| !uid.is_empty()) {
        return Ok(());
    }
    match request.update(&live, object, managed, manager) {
        Ok(managed) => managed.write_to(object),
        Err(problem) => {
            if let Some(entries) = entries {
                object["metadata"]["managedFields"] = entries;
            }
            return Err(problem);
        }
    }
    keep_times(&live, object);
    Ok(())
}

/// Returns the part of an object that a manager has applied. It can be changed and applied again. Returns `None` if the
/// manager has applied nothing.
///
/// Like the `Extract` functions of client-go, this function adds the kind, the name and the namespace.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Options, apply, extract};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let settings = |data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data});
/// let live = apply(None, &settings(json!({"a": "1"})), "ours", &options)?.into_object()?;
/// let live = apply(Some(&live), &settings(json!({"b": "2"})), "theirs", &options)?.into_object()?;
///
/// let mut ours = extract(&live, "ours", &options)?.expect("applied");
/// assert_eq!(ours, settings(json!({"a": "1"})));
/// ours["data"]["a"] = json!("3");
/// let live = apply(Some(&live), &ours, "ours", &options)?.into_object()?;
/// assert_eq!(live["data"], json!({"a": "3", "b": "2"}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The object has no kind, does not match its type, or has malformed managed fields.
pub fn extract(object: &Value, manager: &str, options: &Options<'_>) -> Result<Option<Value>> {
    let gvk = kind_of(object)?;
    let versions = Versions::new(options, &gvk);
    check_typed(object, versions.own_type())?;
    let managed = ManagedFields::from_object(object)?;
    let manager = Manager::new(manager, Operation::Apply, "", &options.subresource);
    let owned = managed.owned.get(&manager);
    Ok(owned.map(|Ownership { fields, .. }| {
        part_of(object, fields, (versions.own_type(), WithoutFields::AsServer))
    }))
}

/// Returns the part of an object that a field set selects, for example a manifest of all fields that a manager owns,
/// including those that it owns through updates. Adds the kind, the name and the namespace.
///
/// ```
/// use strategic_merge_patch::managed_fields::{ManagedFields, Options, extract_fields, update};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let settings = |data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data});
/// let live = update(None, &settings(json!({"a": "1"})), "installer", &options)?;
/// let mut new = live.clone();
/// new["data"]["b"] = json!("2");
/// let live = update(Some(&live), &new, "person", &options)?;
///
/// let managed = ManagedFields::from_object(&live)?;
/// let (_, fields) = managed.iter().find(|(manager, _)| manager.name == "person").expect("an owner");
/// assert_eq!(extract_fields(&live, fields, &options)?, settings(json!({"b": "2"})));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The object has no kind or does not match its type.
pub fn extract_fields(object: &Value, fields: &FieldSet, options: &Options<'_>) -> Result<Value> {
    let gvk = kind_of(object)?;
    let versions = Versions::new(options, &gvk);
    check_typed(object, versions.own_type())?;
    Ok(part_of(object, fields, (versions.own_type(), WithoutFields::Empty)))
}

/// Returns the fields that a manager would own if it applied the whole object.
pub(super) fn ownable_fields(object: &Value, options: &Options<'_>) -> Result<FieldSet> {
    let gvk = kind_of(object)?;
    let versions = Versions::new(options, &gvk);
    check_typed(object, versions.own_type())?;
    Ok(owned_fields(object, versions.own_type()).difference(&STRIPPED))
}

fn check_typed(object: &Value, ty: Type<'_>) -> Result<()> {
    check_with(object, ty, Duplicates::Allowed, || "error converting obj to typed".into())
}

fn part_of(object: &Value, fields: &FieldSet, (ty, rule): (Type<'_>, WithoutFields)) -> Value {
    let mut found = match extracted(object, &fields.leaves(), ty, rule) {
        Value::Object(found) => found,
        _ => Map::new(),
    };
    for field in ["apiVersion", "kind"] {
        found.extend(object.get(field).map(|value| (field.to_string(), value.clone())));
    }
    let metadata = found.entry("metadata").or_insert(Value::Null);
    // If the set contains no field of the metadata, the extracted metadata is null.
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    for field in ["name", "namespace"] {
        if let (Value::Object(metadata), Some(value)) = (&mut *metadata, object["metadata"].get(field)) {
            metadata.insert(field.into(), value.clone());
        }
    }
    Value::Object(found)
}

pub(super) fn kind_of(object: &Value) -> Result<Gvk> {
    let missing = || Diagnostic::error(Code::MissingField, "the object has no apiVersion or kind");
    Gvk::from_object(object).ok_or_else(|| missing().patch_rejection(PatchRejection::Malformed))
}

/// Returns the live object in the version of the request. For a new object, returns an object with only `apiVersion`
/// and `kind`.
fn live_object<'v>(live: Option<&'v Value>, gvk: &Gvk, options: &Options<'_>) -> Result<Cow<'v, Value>> {
    let Some(live) = live else {
        return Ok(Cow::Owned(json!({"apiVersion": gvk.api_version(), "kind": gvk.kind})));
    };
    let own = kind_of(live)?;
    if own == *gvk {
        return Ok(Cow::Borrowed(live));
    }
    let converted = Versions::new(options, gvk).convert(live, &gvk.api_version());
    converted.filter(|_| own.kind == gvk.kind && own.group == gvk.group).ok_or_else(|| {
        let message = format!("invalid object type: {}, the live object is {}", go_gvk(gvk), go_gvk(&own));
        Diagnostic::error(Code::InvalidValue, message).patch_rejection(PatchRejection::Malformed)
    })
}

/// Returns the managed fields before an update. If the request has no managed fields, malformed ones, or updates a
/// subresource, they are those of the live object. An empty list, or a list with a single empty entry, resets them.
fn managed_before_update(live: &Value, new: Option<&Value>, options: &Options<'_>) -> ManagedFields {
    let live_managed_fields = || ManagedFields::from_object(live).unwrap_or_default();
    if !options.subresource.is_empty() {
        return live_managed_fields();
    }
    let Some(new) = new else { return live_managed_fields() };
    match new.as_array().map(Vec::as_slice) {
        Some([]) => return ManagedFields::default(),
        Some([Value::Object(entry)]) if entry.is_empty() => return ManagedFields::default(),
        _ => {}
    }
    ManagedFields::from_value(new)
        .ok()
        .filter(|managed| !managed.is_empty())
        .unwrap_or_else(live_managed_fields)
}

/// Restores the times of the managed fields if nothing else has changed. Servers do this to avoid unnecessary writes.
///
/// [`apply`] and [`update`] call this function. It must be called again if defaults or canonicalization make the object
/// equal to the live one.
///
/// ```
/// use strategic_merge_patch::managed_fields::keep_times;
/// use serde_json::json;
///
/// let written = |time| json!({"metadata": {"managedFields": [{"manager": "a", "time": time}]}});
/// let (live, mut object) = (written("2026-01-01T00:00:00Z"), written("2026-01-02T00:00:00Z"));
/// keep_times(&live, &mut object);
/// assert_eq!(object, live);
/// ```
pub fn keep_times(live: &Value, object: &mut Value) {
    let (Some(Value::Array(old)), Some(Value::Array(new))) = (entries_of(live), entries_of(object)) else {
        return;
    };
    let is_same = |(old, new): (&Value, &Value)| same_without("time", old, new);
    if old.len() != new.len() || !old.iter().zip(new).all(is_same) {
        return;
    }
    let metadata = [live, object].map(|object| &object["metadata"]);
    if same_without("metadata", live, object) && same_without("managedFields", metadata[0], metadata[1]) {
        object["metadata"]["managedFields"] = Value::Array(old.clone());
    }
}

/// Returns true if two maps are equal apart from a field.
fn same_without(field: &str, old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return old == new };
    let count = |map: &Map<String, Value>| map.len() - usize::from(map.contains_key(field));
    let mut rest = old.iter().filter(|(name, _)| *name != field);
    count(old) == count(new) && rest.all(|(name, old)| new.get(name) == Some(old))
}

/// A request of a manager.
struct Request<'o, 's> {
    versions: Versions<'o, 's>,
    gvk: &'o Gvk,
    manager: &'o str,
    options: &'o Options<'s>,
    time: Option<Timestamp>,
}

/// The object and its managed fields after an apply, or the conflicts.
type Outcome = std::result::Result<(Value, ManagedFields), Conflicts>;

impl<'o, 's> Request<'o, 's> {
    fn new(gvk: &'o Gvk, manager: &'o str, options: &'o Options<'s>) -> Result<Self> {
        let time = options.time.as_deref().map(Timestamp::parse).transpose()?;
        Ok(Self { versions: Versions::new(options, gvk), gvk, manager, options, time })
    }

    fn updater(&self) -> Updater<'_, 's> {
        let api_version = self.gvk.api_version();
        let Options { reset_fields, reset_fields_in, .. } = self.options;
        Updater { versions: &self.versions, api_version, reset_fields, reset_fields_in }
    }

    fn identity(&self, name: &str, operation: Operation) -> Manager {
        let name = if name.is_empty() { "unknown" } else { name };
        Manager::new(name, operation, &self.gvk.api_version(), &self.options.subresource)
    }

    /// Applies without the conflicts that client-side `kubectl apply` does not have: kubectl may change a field that
    /// still has the value that it applied last, whichever manager owns it.
    fn apply_as_kubectl(&self, live: &Value, applied: &Value, managed: ManagedFields) -> Result<Outcome> {
        let is_forced = self.options.is_forced;
        if self.manager != KUBECTL || is_forced {
            return self.apply(live, applied, managed, is_forced);
        }
        let result = self.apply(live, applied, managed.clone(), false)?;
        let Err(found) = &result else { return Ok(result) };
        let Some(allowed) = allowed_conflicts(live, self.gvk, self.versions.own_type()) else {
            return Ok(result);
        };
        let rest = found.outside(&allowed);
        if rest.is_empty() { self.apply(live, applied, managed, true) } else { Ok(Err(rest)) }
    }

    fn apply(
        &self,
        live: &Value,
        applied: &Value,
        managed: ManagedFields,
        is_forced: bool,
    ) -> Result<Outcome> {
        let mut managed = managed;
        if managed.is_empty() {
            let empty = defaults::empty(self.gvk, self.options.schema);
            managed = self
                .update(&empty, live, managed, BEFORE_FIRST_APPLY)
                .map_err(|error| failed("failed to create manager for existing fields", &error))?;
        }
        if entries_of(applied).is_some_and(|entries| !entries.is_null()) {
            let error = Diagnostic::error(Code::InvalidValue, "metadata.managedFields must be nil");
            return Err(error.patch_rejection(PatchRejection::Malformed));
        }
        let ty = self.versions.own_type();
        check(applied, ty, Duplicates::Rejected, ["create typed patch object", ""])?;
        check(live, ty, Duplicates::Allowed, ["create typed live object", ""])?;
        let manager = self.identity(self.manager, Operation::Apply);
        let owned = std::mem::take(&mut managed.owned);
        let (object, owned) = match self.updater().apply([live, applied], owned, &manager, is_forced)? {
            ApplyOutcome::Done(object, owned) => (object, owned),
            ApplyOutcome::Conflicts(conflicts) => return Ok(Err(conflicts)),
        };
        managed.owned = owned;
        strip(&mut managed, &manager);
        if object.is_some() {
            self.set_time(&mut managed, manager);
        }
        let mut object = object.unwrap_or_else(|| live.clone());
        remove_entries(&mut object);
        Ok(Ok((object, managed)))
    }

    /// Returns the managed fields after an update from `live` to `new`.
    fn update(&self, live: &Value, new: &Value, managed: ManagedFields, name: &str) -> Result<ManagedFields> {
        let ty = self.versions.own_type();
        check(new, ty, Duplicates::Allowed, ["convert new object", " to smd typed"])?;
        check(live, ty, Duplicates::Allowed, ["convert live object", " to smd typed"])?;
        // The changes of the request belong to a temporary manager until the end. Its version is empty, unlike that of
        // any other manager.
        let request = Manager::new("request", Operation::Update, "", "");
        let mut managed = managed;
        let owned = std::mem::take(&mut managed.owned);
        let updated = self.updater().update(live, new, owned, &request);
        let failure = || format!("failed to update ManagedFields ({})", described(new));
        managed.owned = updated.map_err(|error| failed(&failure(), &error))?;
        strip(&mut managed, &request);
        if let Some(changed) = managed.owned.remove(&request) {
            let manager = self.identity(name, Operation::Update);
            let Ownership { mut fields, api_version } = changed;
            fields.add_all(managed.owned.remove(&manager).map(|before| before.fields).unwrap_or_default());
            managed.owned.insert(manager.clone(), Ownership { fields, api_version });
            self.set_time(&mut managed, manager);
        }
        managed.merge_old_updates(MAX_UPDATE_MANAGERS);
        Ok(managed)
    }

    fn set_time(&self, managed: &mut ManagedFields, manager: Manager) {
        match self.time {
            Some(time) => drop(managed.times.insert(manager, time)),
            None => drop(managed.times.remove(&manager)),
        }
    }
}

fn strip(managed: &mut ManagedFields, manager: &Manager) {
    let Some(ownership) = managed.owned.get_mut(manager) else { return };
    ownership.fields.remove_all(&STRIPPED);
    if ownership.fields.is_empty() {
        managed.owned.remove(manager);
    }
}
