//! Requests that transfer the ownership of fields between managers without losing a value.

use serde_json::{Value, json};

use super::apply::{extract_fields, kind_of, ownable_fields};
use super::field_set::FieldSet;
use super::managers::{ManagedFields, Manager, Operation};
use super::options::Options;
use super::path_element::{Path, PathElement};
use super::scale::SCALE;
use crate::schema::{Gvk, is_built_in};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::FieldPath;

/// The name of the status, both as a subresource and as a field.
const STATUS: &str = "status";

/// A request that changes who owns fields.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnershipStep {
    /// A server-side apply. It has no conflicts, since all its values are the live ones.
    Apply {
        /// The manager that applies the object.
        manager: String,
        /// The subresource to which the request applies, such as `status`; empty for the object itself.
        subresource: String,
        /// The object.
        object: Value,
    },
    /// A JSON patch of the managed fields. It fails if the object has changed in the meantime.
    Patch(Value),
}

/// Finds a field, list entry, map or list of a live object by its path as shown in messages.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Options, find_path};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let ports = json!([{"port": 80, "name": "web"}]);
/// let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": ports}});
/// let (schema, text) = (Schema::embedded(), "spec.ports[port=80,protocol=TCP].name");
/// let path = find_path(&service, text, &Options::new(&schema))?;
/// assert_eq!(path.to_string(), r#".spec.ports[port=80,protocol="TCP"].name"#);
/// assert!(find_path(&service, "spec.selector", &Options::new(&schema)).is_err());
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The path is neither a field of the object nor owned by a manager.
pub fn find_path(live: &Value, text: &str, options: &Options<'_>) -> Result<Path> {
    let all = all_owned(&ManagedFields::from_object(live)?).union(&ownable_fields(live, options)?);
    let wanted = text.trim_start_matches('.');
    let is_wanted = |path: &Path| {
        let shown = path.0.iter().map(PathElement::to_path_element).collect::<Option<FieldPath>>();
        path.to_string().trim_start_matches('.') == wanted
            || shown.is_some_and(|shown| shown.to_string() == wanted)
    };
    all.union(&all.parents()).paths().into_iter().find(is_wanted).ok_or_else(|| {
        let message = format!("the object has no field `{wanted}` that can be owned");
        Diagnostic::error(Code::NoMatch, message).help("write it as the list of owners shows it")
    })
}

/// Returns the request with which a manager takes ownership of a field, with its live value. Other owners also keep the
/// field, but can no longer change it without a conflict.
///
/// If all owners of the field write it through a subresource, such as `status`, the request uses the same subresource.
///
/// ```
/// use strategic_merge_patch::managed_fields::{ManagedFields, Options, OwnershipStep, Path, apply, take};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let settings = |data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
/// let live = apply(None, &settings(json!({"a": "1"})), "ours", &options)?.into_object()?;
/// let live = apply(Some(&live), &settings(json!({"b": "2"})), "theirs", &options)?.into_object()?;
/// let OwnershipStep::Apply { manager, object, .. } = take(&live, &Path::fields(["data", "a"]), "theirs", &options)? else { panic!("a patch") };
/// assert_eq!((manager.as_str(), &object), ("theirs", &settings(json!({"a": "1", "b": "2"}))));
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The object has no kind, does not match its type, or has malformed managed fields, or the manager has applied it in
/// another API version.
pub fn take(live: &Value, field: &Path, manager: &str, options: &Options<'_>) -> Result<OwnershipStep> {
    let managed = ManagedFields::from_object(live)?;
    let options = &with_subresource(live, &managed, field, options);
    let own = applied_fields(live, &managed, manager, options)?;
    let owned = at_or_below(&all_owned(&managed), field);
    let taken = if owned.is_empty() { at_or_below(&ownable_fields(live, options)?, field) } else { owned };
    applied_step(live, &own.union(&taken), manager, options)
}

/// Returns the requests that transfer the ownership of a field from one manager (the giver) to another (the receiver),
/// in this order:
///
/// 1. If the giver owns the field through an `Update` operation, a JSON patch removes it from that managed fields
///    entry.
/// 2. The receiver applies its previous configuration plus the field.
/// 3. If the giver has applied the field, it applies its previous configuration without the field. The key fields of
///    list entries are kept if the giver owns other fields of the entry.
///
/// ```
/// use strategic_merge_patch::managed_fields::{ManagedFields, Options, OwnershipStep, Path, apply, give};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "b": "2"}});
/// let mut live = apply(None, &settings, "ours", &options)?.into_object()?;
/// for step in give(&live, &Path::fields(["data", "a"]), ["ours", "theirs"], &options)? {
///     let OwnershipStep::Apply { manager, object, .. } = step else { panic!("a patch") };
///     live = apply(Some(&live), &object, &manager, &options)?.into_object()?;
/// }
/// assert_eq!(live["data"], settings["data"]);
/// let managed = ManagedFields::from_object(&live)?;
/// assert_eq!(managed.applied("theirs").expect("applied").fields.to_string(), ".data.a");
/// assert_eq!(managed.applied("ours").expect("applied").fields.to_string(), ".data.b");
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`take`], or the giver does not own the field or is the receiver.
pub fn give(
    live: &Value,
    field: &Path,
    [from, to]: [&str; 2],
    options: &Options<'_>,
) -> Result<Vec<OwnershipStep>> {
    if from == to {
        let message = format!("the manager `{from}` cannot give a field to itself");
        return Err(Diagnostic::error(Code::InvalidValue, message));
    }
    let managed = ManagedFields::from_object(live)?;
    let gives = |fields: &FieldSet| !at_or_below(fields, field).is_empty();
    let received = take(live, field, to, options)?;
    let mut rest = managed.clone();
    let mut changed = false;
    for owner in managed.sorted() {
        let Manager { name, operation, .. } = owner.manager;
        if name == from && *operation == Operation::Update && gives(owner.fields) {
            changed = true;
            let fields = owner.fields.difference(&at_or_below(owner.fields, field));
            set(&mut rest, owner.manager, owner.api_version, fields);
        }
    }
    let mut steps: Vec<OwnershipStep> = changed.then(|| patch(live, &rest)).into_iter().collect();
    steps.push(received);
    let options = &with_subresource(live, &managed, field, options);
    let own = applied_fields(live, &managed, from, options)?;
    if gives(&own) {
        steps.push(applied_step(live, &own.difference(&at_or_below(&own, field)), from, options)?);
    } else if !changed {
        let message = format!("the manager `{from}` does not own the field");
        return Err(Diagnostic::error(Code::NoMatch, message));
    }
    Ok(steps)
}

/// Returns the request that applies a part of a live object.
fn applied_step(
    live: &Value,
    fields: &FieldSet,
    manager: &str,
    options: &Options<'_>,
) -> Result<OwnershipStep> {
    let object = extract_fields(live, &with_keys(fields), options)?;
    Ok(OwnershipStep::Apply { manager: manager.into(), subresource: options.subresource.to_string(), object })
}

/// Returns the fields that a manager has applied. Fails if they were applied in another API version than that of the
/// live object. In that case the object may not have these paths, and a new apply would remove the missing fields.
fn applied_fields(
    live: &Value,
    managed: &ManagedFields,
    name: &str,
    options: &Options<'_>,
) -> Result<FieldSet> {
    let manager = Manager::new(name, Operation::Apply, "", &options.subresource);
    let Some(owner) = managed.owner(&manager) else { return Ok(FieldSet::new()) };
    let version = kind_of(live)?.api_version();
    if owner.api_version == version {
        return Ok(owner.fields.clone());
    }
    let message = format!("the manager `{name}` has applied the object as {}", owner.api_version);
    Err(Diagnostic::error(Code::InvalidValue, message)
        .note(format!("the live object is given as {version}"))
        .help("read the live object in the version of the manager"))
}

/// Returns the options with the subresource through which all owners write a field. Owners through `scale` are ignored,
/// since they write `spec.replicas` of the object itself. The status of built-in kinds can only be written through its
/// subresource.
fn with_subresource<'s>(
    live: &Value,
    managed: &ManagedFields,
    field: &Path,
    options: &Options<'s>,
) -> Options<'s> {
    if !options.subresource.is_empty() {
        return options.clone();
    }
    if matches!(field.0.first(), Some(PathElement::Field(name)) if name == STATUS)
        && Gvk::from_object(live).is_some_and(|gvk| is_built_in(&gvk))
    {
        return options.clone().subresource(STATUS);
    }
    let owners = managed.iter().filter(|(_, fields)| !at_or_below(fields, field).is_empty());
    let mut subresources = owners.map(|(manager, _)| &manager.subresource).filter(|name| *name != SCALE);
    let first = subresources.next();
    match first.filter(|first| subresources.all(|other| other == *first)) {
        Some(name) => options.clone().subresource(name.clone()),
        None => options.clone(),
    }
}

fn all_owned(managed: &ManagedFields) -> FieldSet {
    managed.iter().fold(FieldSet::new(), |all, (_, fields)| all.union(fields))
}

/// Returns the request that removes a manager from the managed fields. The object's values do not change.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Options, OwnershipStep, apply, drop_manager};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7"}, "data": {"a": "1"}});
/// let mut live = apply(None, &object, "ours", &Options::new(&Schema::embedded()))?.into_object()?;
/// let OwnershipStep::Patch(patch) = drop_manager(&live, "ours")? else { panic!("an apply") };
/// // An empty list would leave the managed fields unchanged. A list with an empty entry removes them.
/// assert_eq!(patch[1], json!({"op": "replace", "path": "/metadata/managedFields", "value": [{}]}));
/// assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The manager owns nothing, the object has no kind, or its managed fields are malformed.
pub fn drop_manager(live: &Value, name: &str) -> Result<OwnershipStep> {
    let mut managed = ManagedFields::from_object(live)?;
    let dropped: Vec<Manager> =
        managed.iter().map(|(manager, _)| manager).filter(|manager| manager.name == name).cloned().collect();
    if dropped.is_empty() {
        return Err(Diagnostic::error(Code::NoMatch, format!("the manager `{name}` owns no fields")));
    }
    for manager in &dropped {
        managed.remove(manager);
    }
    kind_of(live)?;
    Ok(patch(live, &managed))
}

fn set(managed: &mut ManagedFields, manager: &Manager, api_version: &str, fields: FieldSet) {
    if fields.is_empty() {
        managed.remove(manager);
    } else {
        managed.insert(manager.clone(), api_version, fields);
    }
}

fn patch(live: &Value, managed: &ManagedFields) -> OwnershipStep {
    let version = live.pointer("/metadata/resourceVersion");
    let test =
        version.map(|version| json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}));
    let value = if managed.is_empty() { json!([{}]) } else { managed.to_value() };
    let replace = json!({"op": "replace", "path": "/metadata/managedFields", "value": value});
    OwnershipStep::Patch(Value::Array(test.into_iter().chain([replace]).collect()))
}

/// Returns the paths of a set that equal a path or are below it.
fn at_or_below(set: &FieldSet, path: &Path) -> FieldSet {
    set.paths().into_iter().filter(|one| one.0.starts_with(&path.0)).collect()
}

/// Adds the key fields of list entries. Without them, the entries could not be applied.
fn with_keys(set: &FieldSet) -> FieldSet {
    let mut all = set.clone();
    for path in set.paths() {
        for (i, element) in path.0.iter().enumerate() {
            let PathElement::Key(fields) = element else { continue };
            for (name, _) in fields {
                all.insert(&Path(path.0[..=i].to_vec()).join(PathElement::Field(name.clone())));
            }
        }
    }
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::managed_fields::{apply, update};
    use crate::schema::Schema;

    fn web(spec: Value) -> Value {
        let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        object["spec"] = spec;
        object
    }

    fn containers(list: &Value) -> Value {
        web(json!({"template": {"spec": {"containers": list}}}))
    }

    /// Runs the steps on an object.
    pub(in super::super) fn after(live: &Value, steps: &[OwnershipStep], options: &Options<'_>) -> Value {
        steps.iter().fold(live.clone(), |live, step| match step {
            OwnershipStep::Apply { manager, subresource, object } => {
                let options = options.clone().subresource(subresource.as_str());
                let applied = apply(Some(&live), object, manager, &options).expect("valid");
                applied.into_object().expect("no conflict")
            }
            OwnershipStep::Patch(patch) => {
                let mut new = live.clone();
                new["metadata"]["managedFields"] =
                    patch[patch.as_array().map_or(0, Vec::len) - 1]["value"].clone();
                update(Some(&live), &new, "editor", options).expect("valid")
            }
        })
    }

    #[test]
    fn fields_of_list_entries_are_handed_over_without_losing_values() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let ours = containers(&json!([{"name": "a", "image": "i", "tty": true}]));
        let live = apply(None, &ours, "ours", &options).expect("valid").into_object().expect("new");
        let path = find_path(&live, "spec.template.spec.containers[name=a].image", &options).expect("there");
        let steps = give(&live, &path, ["ours", "theirs"], &options).expect("owned");
        let done = after(&live, &steps, &options);
        assert_eq!(done["spec"], live["spec"]);
        let managed = ManagedFields::from_object(&done).expect("valid");
        assert_eq!(
            managed.owners(&path).iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(),
            ["theirs"]
        );
        assert!(give(&done, &path, ["ours", "theirs"], &options).is_err());
    }

    #[test]
    fn status_is_taken_through_its_subresource() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let mut live = web(json!({"replicas": 3}));
        live["status"] = json!({"replicas": 3});
        // Also if an owner is recorded without the subresource.
        let live = update(None, &live, "edit", &options).expect("valid");
        let step = take(&live, &Path::fields(["status", "replicas"]), "ours", &options).expect("a field");
        let OwnershipStep::Apply { subresource, object, .. } = step else { panic!("a patch") };
        assert_eq!((subresource.as_str(), &object["status"]), ("status", &json!({"replicas": 3})));
    }

    #[test]
    fn fields_of_updates_are_handed_over() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let live =
            update(None, &web(json!({"replicas": 3, "paused": true})), "edit", &options).expect("valid");
        let path = Path::fields(["spec", "replicas"]);
        let steps = give(&live, &path, ["edit", "scaler"], &options).expect("owned");
        assert_eq!(steps.len(), 2);
        let done = after(&live, &steps, &options);
        assert_eq!(done["spec"], live["spec"]);
        let managed = ManagedFields::from_object(&done).expect("valid");
        assert_eq!(
            managed.owners(&path).iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(),
            ["scaler"]
        );
    }

    fn owners(object: &Value, path: &Path) -> Vec<String> {
        let managed = ManagedFields::from_object(object).expect("valid");
        let shown = |owner: &&Manager| format!("{} {}", owner.name, owner.subresource).trim().to_string();
        managed.owners(path).iter().map(shown).collect()
    }

    #[test]
    fn keys_of_list_entries_stay_with_the_other_fields_of_the_giver() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let ours = containers(&json!([{"name": "a", "image": "i", "tty": true}]));
        let live = apply(None, &ours, "ours", &options).expect("valid").into_object().expect("new");
        let path = find_path(&live, "spec.template.spec.containers[name=a].name", &options).expect("there");
        let steps = give(&live, &path, ["ours", "theirs"], &options).expect("owned");
        let done = after(&live, &steps, &options);
        assert_eq!(done["spec"], live["spec"]);
        assert_eq!(owners(&done, &path), ["ours", "theirs"]);
    }

    #[test]
    fn fields_of_the_status_are_handed_over_through_its_subresource() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let mut object = web(json!({"replicas": 3}));
        object["status"] = json!({"replicas": 3, "readyReplicas": 2});
        let status = options.clone().subresource("status");
        let live = update(None, &object, "controller", &status).expect("valid");
        let path = Path::fields(["status", "replicas"]);
        let steps = give(&live, &path, ["controller", "other"], &options).expect("owned");
        let OwnershipStep::Apply { subresource, object, .. } = &steps[1] else { panic!("{steps:?}") };
        assert_eq!((subresource.as_str(), &object["status"]), ("status", &json!({"replicas": 3})));
        let done = after(&live, &steps, &options);
        assert_eq!((&done["status"], owners(&done, &path)), (&live["status"], vec!["other status".into()]));
    }

    #[test]
    fn defaults_that_nobody_owns_can_be_taken() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let mut live = apply(None, &web(json!({"paused": true})), "ours", &options)
            .expect("valid")
            .into_object()
            .expect("new");
        live["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}});
        let path = find_path(&live, "spec.strategy", &options).expect("there");
        let step = take(&live, &path, "ours", &options).expect("valid");
        let done = after(&live, &[step], &options);
        assert_eq!(done["spec"], live["spec"]);
        let below = Path::fields(["spec", "strategy", "rollingUpdate", "maxSurge"]);
        assert_eq!(owners(&done, &below), ["ours"]);
        assert!(find_path(&live, "metadata.name", &options).is_err(), "nobody owns names");
    }

    #[test]
    fn hand_overs_that_would_lose_values_are_rejected() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let mut scaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"}, "spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 80}});
        let live = apply(None, &scaler, "ours", &options).expect("valid").into_object().expect("new");
        scaler["apiVersion"] = json!("autoscaling/v2");
        scaler["spec"] = json!({"maxReplicas": 5, "metrics": []});
        scaler["metadata"] = live["metadata"].clone();
        let path = Path::fields(["spec", "maxReplicas"]);
        for [from, to] in [["ours", "theirs"], ["theirs", "ours"]] {
            let error = give(&scaler, &path, [from, to], &options).expect_err("other version").to_string();
            assert!(error.contains("`ours` has applied the object as autoscaling/v1"), "{error}");
        }
        assert!(give(&live, &path, ["ours", "ours"], &options).is_err());
        assert!(give(&live, &path, ["theirs", "ours"], &options).is_err());
    }

    #[test]
    fn dropped_managers_leave_their_values() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let live = apply(None, &web(json!({"replicas": 3})), "a", &options)
            .expect("valid")
            .into_object()
            .expect("new");
        let other = apply(Some(&live), &web(json!({"paused": true})), "b", &options).expect("valid");
        let live = other.into_object().expect("no conflict");
        let done = after(&live, &[drop_manager(&live, "a").expect("there")], &options);
        assert_eq!(done["spec"], live["spec"]);
        let managed = ManagedFields::from_object(&done).expect("valid");
        assert_eq!(managed.iter().map(|(manager, _)| manager.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(drop_manager(&live, "c").is_err());
    }

    #[test]
    fn maps_and_lists_that_a_manager_applied_empty_are_applied_empty_again() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let mut ours = containers(&json!([{"name": "a", "image": "i", "securityContext": {}, "env": []}]));
        ours["metadata"]["labels"] = json!({});
        ours["spec"]["strategy"] = json!({});
        ours["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        let live = apply(None, &ours, "ours", &options).expect("valid").into_object().expect("new");
        let mut new = live.clone();
        new["spec"]["strategy"] = json!({"type": "Recreate"});
        new["spec"]["template"]["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
        new["metadata"]["labels"] = json!({"x": "y"});
        let live = update(Some(&live), &new, "theirs", &options).expect("valid");
        let path = find_path(&live, "spec.template.spec.containers[name=a].image", &options).expect("there");
        let steps = give(&live, &path, ["ours", "theirs"], &options).expect("owned");
        let done = after(&live, &steps, &options);
        assert_eq!(
            (&done["spec"], &done["metadata"]["labels"]),
            (&live["spec"], &live["metadata"]["labels"])
        );
        let Some(OwnershipStep::Apply { object, .. }) = steps.last() else { panic!("a patch") };
        assert_eq!(object["spec"]["strategy"], json!({}));
        assert_eq!(object["metadata"]["name"], "web");
        assert_eq!(object["spec"]["template"]["spec"]["volumes"][0]["emptyDir"], json!({}));
    }

    #[test]
    fn requests_have_the_name_even_if_no_metadata_is_owned() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let mut ours = web(json!({"replicas": 1, "paused": true}));
        ours["metadata"]["annotations"] = Value::Null;
        let mut live = apply(None, &ours, "ours", &options).expect("valid").into_object().expect("new");
        live["metadata"].as_object_mut().map(|metadata| metadata.remove("annotations"));
        let step = take(&live, &Path::fields(["spec", "replicas"]), "ours", &options).expect("owned");
        let OwnershipStep::Apply { object, .. } = step else { panic!("a patch") };
        assert_eq!(object["metadata"], json!({"name": "web"}));
    }
}
