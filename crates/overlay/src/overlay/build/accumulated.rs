//! What a directory has become so far.

use crate::resource::ResourceSet;
use crate::transform::{TransformerConfig, VarSet};
use smp_text::diagnostic::Result;

/// The resources of a directory, and what those who use it need beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulated {
    pub(super) resources: ResourceSet,
    pub(super) config: TransformerConfig,
    pub(super) vars: VarSet,
}

impl Accumulated {
    /// Adds what another directory has become.
    ///
    /// # Errors
    /// Ids or variables that are there already, and field specs that contradict each other.
    pub(super) fn absorb(&mut self, other: Self) -> Result<()> {
        self.resources.append_all(other.resources)?;
        self.config = self.config.merge(&other.config)?;
        self.vars.merge(other.vars)
    }
}
