//! Compiled ValidatingAdmissionPolicies, with their bindings.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::SmolStr;
use smp_text::yaml::Node;
use smp_validate::policy::{
    AdmissionPolicy, AdmissionRequest, Decision, PolicyBinding, PolicyObjects, review,
};

pub(crate) const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
pub(crate) const BINDINGS: &str = "validatingadmissionpolicybindings.admissionregistration.k8s.io";

/// The compiled policies, in the order of their names.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    compiled: BTreeMap<SmolStr, AdmissionPolicy>,
    /// The bindings by their policies.
    bindings: BTreeMap<String, BTreeMap<SmolStr, PolicyBinding>>,
    /// The policies by the names of their bindings.
    bound: FxHashMap<SmolStr, String>,
}

impl Policies {
    /// Returns true if no policy is bound.
    pub(crate) fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// Compiles a stored policy or binding, or removes a deleted one.
    pub(crate) fn note_change(&mut self, collection: &str, name: &SmolStr, object: Option<&Value>) {
        match collection {
            POLICIES => match object {
                Some(object) => {
                    self.compiled.insert(name.clone(), AdmissionPolicy::new(&Node::from(object)));
                }
                None => drop(self.compiled.remove(name)),
            },
            BINDINGS => {
                if let Some(bindings) = self.bound.remove(name).and_then(|old| self.bindings.get_mut(&old)) {
                    bindings.remove(name);
                }
                if let Some(object) = object {
                    let binding = PolicyBinding::new(&Node::from(object));
                    self.bound.insert(name.clone(), binding.policy.clone());
                    self.bindings.entry(binding.policy.clone()).or_default().insert(name.clone(), binding);
                }
            }
            _ => {}
        }
    }

    /// Returns the decisions of the policies about a request.
    pub(crate) fn decisions(
        &self,
        request: &AdmissionRequest<'_>,
        objects: &dyn PolicyObjects,
    ) -> Vec<(&AdmissionPolicy, Decision<'_>)> {
        let bindings =
            |name: &SmolStr| self.bindings.get(name.as_str()).into_iter().flat_map(BTreeMap::values);
        review(self.compiled.iter().map(|(name, policy)| (policy, bindings(name))), request, objects)
    }
}
