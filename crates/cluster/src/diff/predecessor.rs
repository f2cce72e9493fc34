//! Predecessors of objects with content hashes in their names. Changed content gives the object a new name, and the new
//! object replaces the former one.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::client::Cluster;
use crate::json;
use crate::plan::{Object, ObjectPlan, ObjectTarget};
use crate::request::ApiRequest;
use smp_overlay::transform::{content_hash, name_without_hash};
use smp_text::diagnostic::Result;
use smp_text::yaml::{Node, Value};

/// The live objects that objects with hash suffixes replace.
#[derive(Debug, Default)]
pub(super) struct Predecessors(FxHashMap<Object, Node>);

impl Predecessors {
    /// Lists the kinds of objects with hash suffixes, once for each namespace. Kinds that cannot be listed have no
    /// predecessors.
    pub(super) async fn load(cluster: &Cluster, plan: &ObjectPlan<'_>) -> Result<Self> {
        let mut collections: FxHashMap<String, Vec<&ObjectTarget<'_>>> = FxHashMap::default();
        for target in plan.targets.iter().filter(|target| target.served && stem(target).is_some()) {
            if let Some(mapping) = &target.mapping {
                collections.entry(mapping.collection(&target.object.namespace)).or_default().push(target);
            }
        }
        let mut found = Self::default();
        for (path, targets) in collections {
            let Ok(response) = cluster.send(&ApiRequest::get(path.as_str())).await?.into_result() else {
                continue;
            };
            let mut list = cluster.parse_response(json::parse_object, &response)?;
            let Some(Node { value: Value::List(items), .. }) =
                list.as_map_mut().and_then(|list| list.remove("items"))
            else {
                continue;
            };
            found.take_newest(items, &targets);
        }
        Ok(found)
    }

    /// Returns the live object that a new object replaces.
    pub(super) fn get(&self, object: &Object) -> Option<&Node> {
        self.0.get(object)
    }

    /// For each name without its hash, records the newest live object that is not in the manifests.
    fn take_newest(&mut self, items: Vec<Node>, targets: &[&ObjectTarget<'_>]) {
        let applied: FxHashSet<&str> = targets.iter().map(|target| target.object.name.as_str()).collect();
        let mut newest: FxHashMap<SmolStr, (String, Node)> = FxHashMap::default();
        for item in items {
            let text = |field| item.get_path(&["metadata", field]).and_then(Node::as_str);
            let (name, time) =
                (text("name").unwrap_or_default(), text("creationTimestamp").unwrap_or_default());
            let Some(stem) = name_without_hash(name).filter(|_| !applied.contains(name)) else { continue };
            let (stem, time) = (SmolStr::from(stem), time.to_string());
            if newest.get(&stem).is_none_or(|(other, _)| *other < time) {
                newest.insert(stem, (time, item));
            }
        }
        for target in targets {
            let Some((_, item)) = stem(target).and_then(|name| newest.get(name)) else {
                continue;
            };
            let mut item = item.clone();
            // Items of a list have no API version and kind.
            if let Some(map) = item.as_map_mut() {
                map.insert("apiVersion", Node::string(target.object.gvk.api_version()));
                map.insert("kind", Node::string(target.object.gvk.kind.clone()));
            }
            self.0.insert(target.object.clone(), item);
        }
    }
}

/// Returns the name without the hash suffix, if the object has such a suffix. The suffix must match the content, unless
/// this build generated it.
fn stem<'t>(target: &'t ObjectTarget<'_>) -> Option<&'t str> {
    let stem = name_without_hash(&target.object.name)?;
    let is_generated = target.resource.generated.is_some_and(|generated| generated.name_hash);
    let hash = &target.object.name[stem.len() + 1..];
    (is_generated || content_hash(target.resource.node()).is_ok_and(|own| own == hash)).then_some(stem)
}
