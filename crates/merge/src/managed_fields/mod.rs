//! Server-side apply without a server: field ownership, conflicts and managed fields.
//!
//! For fake clients, previews and tools that report who owns a field. [`apply`] and [`update`] return the object that
//! kube-apiserver 1.36 stores, apart from defaults and admission. The types of lists and maps come from the
//! [`Schema`](crate::schema::Schema). Knows neither clusters nor files.
//!
//! To transfer a field without losing its value, first the new manager applies its configuration plus the field. Then
//! the old manager applies its configuration without the field:
//!
//! ```
//! use strategic_merge_patch::managed_fields::{ManagedFields, Options, Path, apply, extract};
//! use strategic_merge_patch::schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::embedded();
//! let options = Options::new(&schema);
//! let web = |spec| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
//! let live = apply(None, &web(json!({"replicas": 3, "paused": true})), "deployer", &options)?.into_object()?;
//!
//! let live = apply(Some(&live), &web(json!({"replicas": 3})), "scaler", &options)?.into_object()?;
//! let mut rest = extract(&live, "deployer", &options)?.expect("applied");
//! rest["spec"].as_object_mut().expect("a map").remove("replicas");
//! let live = apply(Some(&live), &rest, "deployer", &options)?.into_object()?;
//!
//! assert_eq!(live["spec"], json!({"replicas": 3, "paused": true}));
//! let managed = ManagedFields::from_object(&live)?;
//! let owners = managed.owners(&Path::fields(["spec", "replicas"]));
//! assert_eq!(owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(), ["scaler"]);
//! # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
//! ```

mod apply;
mod comparison;
mod conflict;
mod field_set;
mod fields_v1;
mod handover;
mod json_value;
mod last_applied;
#[cfg(test)]
mod laws;
mod located;
mod managers;
mod merging;
mod options;
mod owned;
mod path_element;
mod removal;
mod reset;
mod scale;
mod time;
mod typed;
mod types;
mod updater;
mod validation;
mod versions;

pub use apply::{Applied, apply, conflicts, extract, extract_fields, keep_times, update, update_in_place};
pub use conflict::{Conflict, Conflicts};
pub use field_set::FieldSet;
pub use handover::{OwnershipStep, drop_manager, find_path, give, take};
pub use managers::{ManagedFields, Manager, Operation, Owner};
pub use options::{Converter, Options};
pub use path_element::{Path, PathElement};
pub use reset::PathPattern;
pub use scale::ReplicasPaths;
pub use time::Timestamp;
pub use typed::{apply_typed, extract_typed, update_typed};

#[cfg(test)]
mod tests;
