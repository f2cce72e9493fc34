//! The managed fields of the subresource `scale`, whose objects have the kind `Scale`.

use std::collections::BTreeMap;

use super::field_set::FieldSet;
use super::managers::{ManagedFields, Ownership};
use super::path_element::Path;

/// The name of the subresource.
pub(super) const SCALE: &str = "scale";

/// The API version of the objects of the subresource.
const API_VERSION: &str = "autoscaling/v1";

/// The path of the replicas in each API version of a kind. It is `None` for versions without the subresource.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Path, ReplicasPaths};
///
/// let paths = ReplicasPaths::from([("apps/v1".into(), Some(Path::fields(["spec", "replicas"])))]);
/// ```
pub type ReplicasPaths = BTreeMap<String, Option<Path>>;

fn replicas() -> Path {
    Path::fields(["spec", "replicas"])
}

impl ManagedFields {
    /// Returns the managed fields of the `Scale` of an object. They contain the managers that own its replicas.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{ManagedFields, Options, Path, ReplicasPaths, apply, update};
    /// use strategic_merge_patch::schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::embedded();
    /// let options = Options::new(&schema);
    /// let paths = ReplicasPaths::from([("apps/v1".into(), Some(Path::fields(["spec", "replicas"])))]);
    /// let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1}});
    /// let live = apply(None, &web, "deployer", &options)?.into_object()?;
    /// let managed = ManagedFields::from_object(&live)?;
    ///
    /// // A server changes the `Scale`, and transfers its managed fields back to the object.
    /// let mut scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 1}});
    /// scale["metadata"]["managedFields"] = managed.to_scale(&paths).to_value();
    /// let mut new = scale.clone();
    /// new["spec"]["replicas"] = json!(5);
    /// let scale = update(Some(&scale), &new, "scaler", &options.subresource("scale"))?;
    /// let managed = managed.from_scale(&ManagedFields::from_object(&scale)?, "apps/v1", &paths);
    /// let owners = managed.owners(&Path::fields(["spec", "replicas"]));
    /// assert_eq!((owners[0].name.as_str(), owners[0].subresource.as_str(), owners.len()), ("scaler", "scale", 1));
    /// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn to_scale(&self, paths: &ReplicasPaths) -> Self {
        let mut scale = Self::default();
        for (manager, owned) in &self.owned {
            let Some(Some(path)) = paths.get(owned.api_version.as_str()) else { continue };
            if owned.fields.contains(path) {
                let fields = FieldSet::from_iter([replicas()]);
                scale.owned.insert(manager.clone(), Ownership { fields, api_version: API_VERSION.into() });
                if let Some(time) = self.times.get(manager) {
                    scale.times.insert(manager.clone(), *time);
                }
            }
        }
        scale
    }

    /// Returns the managed fields of an object after its `Scale` changed. `api_version` is the version of the request.
    /// Managers that no longer own the replicas of the `Scale` also lose those of the object. Managers of API versions
    /// that are not in `paths` are dropped.
    #[must_use]
    pub fn from_scale(&self, scale: &Self, api_version: &str, paths: &ReplicasPaths) -> Self {
        let mut left = scale.owned.clone();
        let mut managed = Self::default();
        for (manager, owned) in &self.owned {
            let Some(path) = paths.get(owned.api_version.as_str()) else { continue };
            let mut fields = owned.fields.clone();
            if let Some(path) = path.as_ref().filter(|path| fields.contains(path))
                && left.remove(manager).is_none()
            {
                fields = fields.difference(&FieldSet::from_iter([path.clone()]));
            }
            if !fields.is_empty() {
                managed.owned.insert(manager.clone(), Ownership { fields, ..owned.clone() });
            }
        }
        let own = paths.get(api_version).cloned().flatten();
        left.retain(|_, owned| owned.fields.contains(&replicas()));
        for manager in left.into_keys() {
            let fields: FieldSet = own.clone().into_iter().collect();
            managed.owned.insert(manager, Ownership { fields, api_version: api_version.into() });
        }
        managed.times = self.times.clone();
        managed.times.retain(|manager, _| managed.owned.contains_key(manager));
        managed
    }
}
