//! What validation is told beside the object, and what it keeps between objects.

use std::sync::{Arc, RwLock};

use rustc_hash::FxHashMap;

use super::demands::Demands;
#[cfg(feature = "cel")]
use super::policy::AdmissionPolicies;
#[cfg(feature = "cel")]
use smp_text::yaml::Node;

/// The newest release that is known.
pub(super) const NEWEST: (u32, u32) = (1, 37);

/// The oldest one of which all is known that ended since.
pub(super) const OLDEST: (u32, u32) = (1, 16);

/// How objects are judged. What is compiled for one object (regular expressions, rules) is kept for the next one, of
/// clones, too.
#[derive(Debug, Clone, Default)]
pub struct ValidateOptions {
    /// The release of Kubernetes, such as `(1, 34)`, by which API versions are removed or deprecated; the newest one
    /// that is known when there is none.
    pub kubernetes: Option<(u32, u32)>,
    #[cfg(feature = "cel")]
    pub(super) policies: Option<Arc<AdmissionPolicies>>,
    compiled: Arc<RwLock<FxHashMap<Box<str>, Arc<Demands>>>>,
}

impl ValidateOptions {
    /// For a release of Kubernetes, such as 1.34.
    #[must_use]
    pub fn for_kubernetes(major: u32, minor: u32) -> Self {
        Self { kubernetes: Some((major, minor)), ..Self::default() }
    }

    /// The oldest and the newest release of Kubernetes of which is known what it serves.
    #[must_use]
    pub fn known_releases() -> [(u32, u32); 2] {
        [OLDEST, NEWEST]
    }

    /// Asks the admission policies among these manifests, too, which have their bindings and parameters beside them.
    #[cfg(feature = "cel")]
    #[must_use]
    pub fn with_policies(self, manifests: &[Node]) -> Self {
        Self { policies: Some(Arc::new(AdmissionPolicies::of(manifests))), ..self }
    }

    /// What a text of constraints demands; equal texts are compiled once.
    pub(super) fn demands(&self, text: &str) -> Arc<Demands> {
        let known = self.compiled.read().ok().and_then(|compiled| compiled.get(text).cloned());
        known.unwrap_or_else(|| {
            let demands = Arc::new(Demands::compile(text));
            if let Ok(mut compiled) = self.compiled.write() {
                compiled.insert(text.into(), Arc::clone(&demands));
            }
            demands
        })
    }
}
