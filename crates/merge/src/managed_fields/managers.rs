//! The entries of `metadata.managedFields`: reads, writes and sorts them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
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
    /// A create request, an update, or any patch but an apply.
    Update,
}

impl Operation {
    /// Returns the name of the operation in managed fields.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A field manager. Managed fields distinguish managers by name, operation and subresource, and those of updates also
/// by API version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manager {
    /// The name that requests give as `fieldManager`.
    pub name: SmolStr,
    /// The operation.
    pub operation: Operation,
    /// The API version of an update; empty for server-side apply.
    pub api_version: SmolStr,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: SmolStr,
}

impl Manager {
    /// Returns the manager of this name for server-side applies of the object itself.
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
    /// The time of its last change to these fields, in RFC 3339.
    pub time: Option<String>,
}

/// The fields that a manager owns. Their paths are those of one API version.
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
    /// Until the managed fields are written, also contains managers that no longer own anything.
    pub(super) times: BTreeMap<Manager, Timestamp>,
}

impl ManagedFields {
    /// Reads the managed fields of an object. Returns an empty value if the object has no managed fields.
    ///
    /// # Errors
    /// An entry is malformed. API servers reject it, too.
    pub fn from_object(object: &Value) -> Result<Self> {
        Self::from_value(entries_of(object).unwrap_or(&Value::Null))
    }

    /// Reads a list of managed fields entries.
    ///
    /// # Errors
    /// The errors of [`ManagedFields::from_object`].
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

    /// Returns the list of entries, sorted and written as API servers do.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let value = |(manager, owned): (&Manager, &Ownership)| {
            let time = self.times.get(manager).map(Timestamp::to_string).unwrap_or_default();
            let texts = [
                ("apiVersion", owned.api_version.as_str()),
                ("fieldsType", "FieldsV1"),
                ("manager", &manager.name),
                ("operation", manager.operation.name()),
                ("subresource", &manager.subresource),
                ("time", &time),
            ];
            let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
            let mut entry: Map<String, Value> =
                texts.map(|(field, text)| (field.into(), text.into())).collect();
            entry.insert("fieldsV1".into(), owned.fields.to_fields_v1());
            Value::Object(entry)
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

    /// Returns the fields that a manager owns.
    #[must_use]
    pub fn owner(&self, manager: &Manager) -> Option<Owner<'_>> {
        let (manager, owned) = self.owned.get_key_value(manager)?;
        Some(self.describe(manager, owned))
    }

    /// Returns the fields of the object itself that the manager with this name applied.
    #[must_use]
    pub fn applied(&self, name: &str) -> Option<Owner<'_>> {
        self.owner(&Manager::applier(name))
    }

    /// Returns the fields of each manager, in the order in which API servers write them.
    #[must_use]
    pub fn sorted(&self) -> Vec<Owner<'_>> {
        self.sorted_entries().into_iter().map(|(manager, owned)| self.describe(manager, owned)).collect()
    }

    fn describe<'m>(&self, manager: &'m Manager, owned: &'m Ownership) -> Owner<'m> {
        Owner { manager, api_version: &owned.api_version, fields: &owned.fields, time: self.time(manager) }
    }

    /// Sets the fields that a manager owns. Their paths are those of an API version. The time does not change.
    pub fn insert(&mut self, manager: Manager, api_version: &str, fields: FieldSet) {
        self.owned.insert(manager, Ownership { fields, api_version: api_version.into() });
    }

    /// Removes a manager. Returns true if it owned any fields.
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

    /// Returns the time at which a manager last changed its fields, in RFC 3339.
    #[must_use]
    pub fn time(&self, manager: &Manager) -> Option<String> {
        self.times.get(manager).map(Timestamp::to_string)
    }

    /// Returns true if no manager owns any fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// Returns the time of an entry in seconds. An entry without a time gets 0, so that it is sorted as the oldest.
    fn seconds(&self, manager: &Manager) -> i64 {
        self.times.get(manager).map_or(0, |time| time.seconds())
    }

    /// Merges the oldest `Update` entries if there are more than `limit`. Each API version has its own merged entry.
    pub(super) fn merge_old_updates(&mut self, limit: usize) {
        let updates = self.owned.keys().filter(|manager| manager.operation == Operation::Update);
        if updates.clone().count() <= limit {
            return;
        }
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
                // The server merges this entry into itself and then removes it, so its fields have no owner any more.
                self.owned.remove(&manager);
            } else {
                self.move_into(&manager, bucket);
            }
            count -= 1;
        }
    }

    /// Moves the fields of a manager to `bucket`. The bucket gets the time of `manager`, which is the later one, and
    /// its API version.
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

    /// Writes the entries to an object. Removes `metadata.managedFields` if there are no entries.
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

/// The name of the manager of merged entries.
const OLD_UPDATES: &str = "ancient-changes";

fn malformed(message: &str) -> Diagnostic {
    Diagnostic::error(Code::InvalidValue, message).field("metadata.managedFields")
}

/// Returns the managed fields of an object.
pub(super) fn entries_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Removes the managed fields from an object, and returns them.
pub(super) fn remove_entries(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}
