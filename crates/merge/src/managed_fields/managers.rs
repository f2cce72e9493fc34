//! The entries of `metadata.managedFields`: reading, writing and their order.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use smol_str::SmolStr;

use super::field_set::FieldSet;
use super::json_value::{Escape, write_json_string};
use super::path_element::Path;
use super::time::Timestamp;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The operation of a managed fields entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// A create, an update or a patch of another type.
    Update,
}

impl Operation {
    /// Returns the name in managed fields.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A field manager as managed fields distinguish managers: by name, operation and subresource, and by version where it
/// does not apply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manager {
    /// The name that requests give as `fieldManager`.
    pub name: SmolStr,
    /// The operation.
    pub operation: Operation,
    /// The API version of updates; empty for server-side apply.
    pub api_version: SmolStr,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: SmolStr,
}

impl Manager {
    /// Returns the manager of this name that applies objects themselves, server-side.
    #[must_use]
    pub fn applier(name: &str) -> Self {
        Self::new(name, Operation::Apply, "", "")
    }

    pub(super) fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        let (name, api_version, subresource) = (name.into(), api_version.into(), subresource.into());
        Self { name, operation, api_version, subresource }
    }

    /// Returns the text by which servers sort managers.
    pub(super) fn identifier(&self) -> String {
        let fields = [
            ("manager", self.name.as_str()),
            ("operation", self.operation.name()),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ];
        let mut out = String::from("{");
        for (name, text) in fields.into_iter().filter(|(_, text)| !text.is_empty()) {
            out.push_str(if out.len() == 1 { "" } else { "," });
            write_json_string(name, Escape::Html, &mut out);
            out.push(':');
            write_json_string(text, Escape::Html, &mut out);
        }
        out.push('}');
        out
    }
}

/// The fields that one manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner<'m> {
    /// The manager.
    pub manager: &'m Manager,
    /// The API version of the paths.
    pub api_version: &'m str,
    /// The fields that it owns.
    pub fields: &'m FieldSet,
    /// The time at which it last changed what it owns, in RFC 3339.
    pub time: Option<String>,
}

/// The fields that a manager owns, in the paths of one API version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ownership {
    pub(super) fields: FieldSet,
    pub(super) api_version: SmolStr,
}

/// The managed fields of an object: each manager with the fields that it owns.
///
/// ```
/// use strategic_merge_patch::managed_fields::{ManagedFields, Path};
/// use serde_json::json;
///
/// let object = json!({"metadata": {"managedFields": [{
///     "manager": "kubectl", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-31T12:00:00Z",
///     "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
/// }]}});
/// let managed = ManagedFields::from_object(&object)?;
/// assert_eq!(managed.owners(&Path::fields(["spec", "replicas"]))[0].name, "kubectl");
/// assert_eq!(managed.to_value(), object["metadata"]["managedFields"]);
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedFields {
    pub(super) owned: BTreeMap<Manager, Ownership>,
    /// Also of managers that own nothing any more, until the fields are written.
    pub(super) times: BTreeMap<Manager, Timestamp>,
}

impl ManagedFields {
    /// Reads the managed fields of an object. An object without any has none.
    ///
    /// # Errors
    /// Fails on malformed entries, as API servers do.
    pub fn from_object(object: &Value) -> Result<Self> {
        Self::from_value(entries_of(object).unwrap_or(&Value::Null))
    }

    /// Reads a list of managed fields entries.
    ///
    /// # Errors
    /// Fails as [`ManagedFields::from_object`] does.
    pub fn from_value(entries: &Value) -> Result<Self> {
        let entries = match entries {
            Value::Array(entries) => entries.as_slice(),
            Value::Null => &[],
            _ => return Err(malformed("managedFields must be a list")),
        };
        let mut managed = Self::default();
        for (i, entry) in entries.iter().enumerate() {
            managed.add(entry, i)?;
        }
        Ok(managed)
    }

    fn add(&mut self, entry: &Value, position: usize) -> Result<()> {
        let text = |field: &str| match entry.get(field) {
            None | Some(Value::Null) => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| malformed(&format!("{field} must be a string"))),
        };
        let operation = match text("operation")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(malformed("operation must be `Apply` or `Update`")),
        };
        let api_version = text("apiVersion")?;
        if api_version.is_empty() {
            return Err(malformed("apiVersion must not be empty"));
        }
        match text("fieldsType")? {
            "FieldsV1" => {}
            "" => return Err(malformed(&format!("missing fieldsType in managed fields entry {position}"))),
            other => {
                let message = format!("invalid fieldsType {other:?} in managed fields entry {position}");
                return Err(malformed(&message));
            }
        }
        let manager = Manager::new(text("manager")?, operation, api_version, text("subresource")?);
        let fields = FieldSet::from_fields_v1(entry.get("fieldsV1").unwrap_or(&Value::Null))?;
        match text("time")? {
            "" => drop(self.times.remove(&manager)),
            time => drop(self.times.insert(manager.clone(), Timestamp::parse(time)?)),
        }
        self.owned.insert(manager, Ownership { fields, api_version: api_version.into() });
        Ok(())
    }

    /// Returns the list of entries as API servers write and sort it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let value = |(manager, owned): (&Manager, &Ownership)| {
            let mut entry = json!({
                "apiVersion": owned.api_version, "fieldsType": "FieldsV1", "fieldsV1": owned.fields.to_fields_v1(),
                "operation": manager.operation.name(),
            });
            let time = self.times.get(manager).map(Timestamp::to_string).unwrap_or_default();
            let optional = [
                ("manager", manager.name.to_string()),
                ("subresource", manager.subresource.to_string()),
                ("time", time),
            ];
            for (field, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
                entry[field] = text.into();
            }
            entry
        };
        Value::Array(self.sorted_entries().into_iter().map(value).collect())
    }

    fn sorted_entries(&self) -> Vec<(&Manager, &Ownership)> {
        let mut entries: Vec<(&Manager, &Ownership)> = self.owned.iter().collect();
        entries.sort_by_cached_key(|(manager, owned)| {
            let (name, version) = (manager.name.clone(), owned.api_version.clone());
            (manager.operation, self.seconds(manager), name, version, manager.subresource.clone())
        });
        entries
    }

    /// Returns what a manager owns.
    #[must_use]
    pub fn owner(&self, manager: &Manager) -> Option<Owner<'_>> {
        let (manager, owned) = self.owned.get_key_value(manager)?;
        Some(self.describe(manager, owned))
    }

    /// Returns what the manager of this name applied to the object itself.
    #[must_use]
    pub fn applied(&self, name: &str) -> Option<Owner<'_>> {
        self.owner(&Manager::applier(name))
    }

    /// Returns what each manager owns, in the order in which API servers write it.
    #[must_use]
    pub fn sorted(&self) -> Vec<Owner<'_>> {
        self.sorted_entries().into_iter().map(|(manager, owned)| self.describe(manager, owned)).collect()
    }

    fn describe<'m>(&self, manager: &'m Manager, owned: &'m Ownership) -> Owner<'m> {
        Owner { manager, api_version: &owned.api_version, fields: &owned.fields, time: self.time(manager) }
    }

    /// Sets what a manager owns, in the paths of an API version. The time stays.
    pub fn insert(&mut self, manager: Manager, api_version: &str, fields: FieldSet) {
        self.owned.insert(manager, Ownership { fields, api_version: api_version.into() });
    }

    /// Removes a manager. Returns true if it was there.
    pub fn remove(&mut self, manager: &Manager) -> bool {
        self.times.remove(manager);
        self.owned.remove(manager).is_some()
    }

    /// Returns the managers with the fields that they own, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&Manager, &FieldSet)> {
        self.owned.iter().map(|(manager, owned)| (manager, &owned.fields))
    }

    /// Returns the managers that own a path.
    #[must_use]
    pub fn owners(&self, path: &Path) -> Vec<&Manager> {
        self.iter().filter(|(_, fields)| fields.contains(path)).map(|(manager, _)| manager).collect()
    }

    /// Returns the time at which a manager last changed what it owns, in RFC 3339.
    #[must_use]
    pub fn time(&self, manager: &Manager) -> Option<String> {
        self.times.get(manager).map(Timestamp::to_string)
    }

    /// Returns true if no manager owns anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// An entry without a time counts as the oldest.
    fn seconds(&self, manager: &Manager) -> i64 {
        self.times.get(manager).map_or(0, |time| time.seconds())
    }

    /// Merges the oldest entries of updates if there are more than `limit`. Each version has its own merged entry.
    pub(super) fn merge_old_updates(&mut self, limit: usize) {
        let updates = self.owned.keys().filter(|manager| manager.operation == Operation::Update);
        let mut updates: Vec<Manager> = updates.cloned().collect();
        updates.sort_by_cached_key(|manager| (self.seconds(manager), manager.identifier()));
        let mut count = updates.len();
        let mut first_of_version: BTreeMap<SmolStr, Manager> = BTreeMap::new();
        for manager in updates {
            if count <= limit {
                return;
            }
            let Some(version) = self.owned.get(&manager).map(|owned| owned.api_version.clone()) else {
                continue;
            };
            let Some(first) = first_of_version.get(&version) else {
                first_of_version.insert(version, manager);
                continue;
            };
            let bucket = Manager::new(OLD_UPDATES, Operation::Update, &version, "");
            if !self.owned.contains_key(&bucket)
                && let Some(owned) = self.owned.remove(first)
            {
                self.owned.insert(bucket.clone(), owned);
            }
            if manager == bucket {
                // The server adds the merged entry to itself and removes it: what it had has no owner any more.
                self.owned.remove(&manager);
            } else {
                self.move_into(&manager, bucket);
            }
            count -= 1;
        }
    }

    /// Adds what a manager owns to another one, which takes its time: it is the later one.
    fn move_into(&mut self, manager: &Manager, bucket: Manager) {
        let Some(owned) = self.owned.remove(manager) else { return };
        let fields = match self.owned.get(&bucket) {
            Some(others) => owned.fields.union(&others.fields),
            None => owned.fields,
        };
        match self.times.get(manager).copied() {
            Some(time) => drop(self.times.insert(bucket.clone(), time)),
            None => drop(self.times.remove(&bucket)),
        }
        self.owned.insert(bucket, Ownership { fields, api_version: owned.api_version });
    }

    /// Writes the entries to an object. Without entries, the field is removed.
    pub(super) fn write_to(&self, object: &mut Value) {
        if self.is_empty() {
            remove_entries(object);
        } else if let Value::Object(fields) = object {
            let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(metadata) = metadata {
                metadata.insert("managedFields".into(), self.to_value());
            }
        }
    }
}

/// The manager of merged entries.
const OLD_UPDATES: &str = "ancient-changes";

fn malformed(message: &str) -> Diagnostic {
    Diagnostic::error(Code::InvalidValue, message).field("metadata.managedFields")
}

/// Returns the managed fields of an object.
pub(super) fn entries_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Removes the managed fields of an object.
pub(super) fn remove_entries(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}
