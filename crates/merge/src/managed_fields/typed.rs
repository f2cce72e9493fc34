//! The requests of this module for typed objects, such as those of `k8s-openapi`, and any other types that serde
//! converts from and to JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::apply::{Applied, apply, extract, update};
use super::conflict::Conflicts;
use super::options::Options;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Applies a typed object as [`apply`](super::apply()) does. Returns the object that the server would store, or the
/// conflicts.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use strategic_merge_patch::managed_fields::{Options, apply_typed};
/// use strategic_merge_patch::schema::Schema;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let mut settings = ConfigMap { data: Some([("a".into(), "1".into())].into()), ..ConfigMap::default() };
/// settings.metadata.name = Some("settings".into());
/// let live = apply_typed(None, &settings, "ours", &options)?.expect("no conflict");
/// settings.data = Some([("a".into(), "2".into())].into());
/// let conflicts = apply_typed(Some(&live), &settings, "theirs", &options)?.expect_err("a conflict");
/// assert_eq!(conflicts.as_slice()[0].path.to_string(), ".data.a");
/// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`apply`](super::apply()), or an object cannot be converted.
pub fn apply_typed<T: Serialize + DeserializeOwned>(
    live: Option<&T>,
    applied: &T,
    manager: &str,
    options: &Options<'_>,
) -> Result<std::result::Result<T, Conflicts>> {
    let live = live.map(to_json).transpose()?;
    match apply(live.as_ref(), &to_json(applied)?, manager, options)? {
        Applied::Object(object) => from_json(object).map(Ok),
        Applied::Conflicts(conflicts) => Ok(Err(conflicts)),
    }
}

/// Returns a typed object with the managed fields that it has after a create, update or patch, as
/// [`update`](super::update()) does.
///
/// # Errors
/// The errors of [`update`](super::update()), or an object cannot be converted.
pub fn update_typed<T: Serialize + DeserializeOwned>(
    live: Option<&T>,
    new: &T,
    manager: &str,
    options: &Options<'_>,
) -> Result<T> {
    let live = live.map(to_json).transpose()?;
    from_json(update(live.as_ref(), &to_json(new)?, manager, options)?)
}

/// Returns the part of a typed object that a manager has applied, as [`extract`](super::extract()) does.
///
/// # Errors
/// The errors of [`extract`](super::extract()), or an object cannot be converted.
pub fn extract_typed<T: Serialize + DeserializeOwned>(
    object: &T,
    manager: &str,
    options: &Options<'_>,
) -> Result<Option<T>> {
    extract(&to_json(object)?, manager, options)?.map(from_json).transpose()
}

fn to_json<T: Serialize>(object: &T) -> Result<Value> {
    serde_json::to_value(object).map_err(|error| invalid(&error))
}

fn from_json<T: DeserializeOwned>(object: Value) -> Result<T> {
    serde_json::from_value(object).map_err(|error| invalid(&error))
}

fn invalid(error: &serde_json::Error) -> Diagnostic {
    Diagnostic::error(Code::InvalidValue, format!("the object cannot be converted: {error}"))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};

    use super::*;
    use crate::schema::Schema;

    fn web(replicas: Option<i32>, paused: Option<bool>) -> Deployment {
        let spec = DeploymentSpec { replicas, paused, ..DeploymentSpec::default() };
        let mut object = Deployment { spec, ..Deployment::default() };
        object.metadata.name = Some("web".into());
        object
    }

    #[test]
    fn typed_objects_are_applied_updated_and_extracted() {
        let schema = Schema::embedded();
        let options = Options::new(&schema);
        let live = apply_typed(None, &web(Some(1), None), "a", &options).expect("valid").expect("new");
        let mut new = live.clone();
        new.spec.replicas = Some(3);
        let live = update_typed(Some(&live), &new, "scaler", &options).expect("valid");
        let managers = live.metadata.managed_fields.as_deref().unwrap_or_default();
        assert!(managers.iter().any(|entry| entry.manager.as_deref() == Some("scaler")));
        let conflicts = apply_typed(Some(&live), &web(Some(1), None), "a", &options).expect("valid");
        assert_eq!(conflicts.expect_err("a conflict").as_slice()[0].manager.name, "scaler");
        let own = extract_typed(&live, "a", &options).expect("valid").expect("applied");
        assert_eq!(own.metadata.name.as_deref(), Some("web"));
        assert_eq!(own.spec.replicas, None);
    }
}
