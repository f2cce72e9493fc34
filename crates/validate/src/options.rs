//! The options of validation, and a cache of compiled constraints.

use std::sync::{Arc, RwLock};

use rustc_hash::FxHashMap;

use super::constraints::CompiledConstraints;
#[cfg(feature = "cel")]
use super::policy::AdmissionPolicies;
#[cfg(feature = "cel")]
use smp_text::yaml::Node;

/// The newest Kubernetes release that is supported.
pub(super) const NEWEST_RELEASE: (u32, u32) = (1, 37);

/// The oldest release since which all removals are known.
pub(super) const OLDEST_RELEASE: (u32, u32) = (1, 16);

/// The options of validation. Regular expressions and CEL rules are compiled once and shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct ValidateOptions {
    /// The Kubernetes release, such as `(1, 34)`. It determines which API versions are deprecated or removed. Defaults
    /// to the newest known release.
    pub kubernetes: Option<(u32, u32)>,
    pub(super) has_positions: bool,
    #[cfg(feature = "cel")]
    pub(super) policies: Option<Arc<AdmissionPolicies>>,
    compiled: Arc<RwLock<FxHashMap<Box<str>, Arc<CompiledConstraints>>>>,
}

impl ValidateOptions {
    /// Creates options for a Kubernetes release, such as 1.34.
    #[must_use]
    pub fn for_kubernetes(major: u32, minor: u32) -> Self {
        Self { kubernetes: Some((major, minor)), ..Self::default() }
    }

    /// Identifies list entries by their index in the paths of violations, as API servers do. By default they are
    /// identified by their merge keys.
    #[must_use]
    pub fn with_positions(self) -> Self {
        Self { has_positions: true, ..self }
    }

    /// Returns the oldest and the newest known Kubernetes release.
    #[must_use]
    pub fn known_releases() -> [(u32, u32); 2] {
        [OLDEST_RELEASE, NEWEST_RELEASE]
    }

    /// Also evaluates the admission policies among these manifests, which must contain their bindings and
    /// parameters.
    #[cfg(feature = "cel")]
    #[must_use]
    pub fn with_policies(self, manifests: &[Node]) -> Self {
        Self { policies: Some(Arc::new(AdmissionPolicies::new(manifests))), ..self }
    }

    /// Returns the compiled form of constraints. Equal texts are compiled only once.
    pub(super) fn compiled_constraints(&self, text: &str) -> Arc<CompiledConstraints> {
        let known = self.compiled.read().ok().and_then(|compiled| compiled.get(text).cloned());
        known.unwrap_or_else(|| {
            let demands = Arc::new(CompiledConstraints::compile(text));
            if let Ok(mut compiled) = self.compiled.write() {
                compiled.insert(text.into(), Arc::clone(&demands));
            }
            demands
        })
    }
}
