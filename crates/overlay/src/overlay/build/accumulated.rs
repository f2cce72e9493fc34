//! The result of building a directory so far.

use crate::resource::ResourceSet;
use crate::transform::{TransformerConfig, VarSet};
use smp_text::diagnostic::Result;

/// The resources of a directory, with the configuration and variables that its users need.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulated {
    pub(super) resources: ResourceSet,
    pub(super) config: TransformerConfig,
    pub(super) vars: VarSet,
}

impl Accumulated {
    /// Adds the result of another directory.
    ///
    /// # Errors
    /// Duplicate IDs or variables, or contradicting field specs.
    pub(super) fn absorb(&mut self, other: Self) -> Result<()> {
        self.resources.append_all(other.resources)?;
        self.config = self.config.merge(&other.config)?;
        self.vars.merge(other.vars)
    }
}
