//! How to merge: the order of lists, which keys tell list entries apart, which losses are left out.

use smol_str::SmolStr;

use crate::merge::Exceptions;

/// Where the entries of a patch go that a list does not have yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    /// Behind the entries that are there.
    #[default]
    Append,
    /// Before them, and with them the entries that the patch changes, as `kustomize build` does. In a
    /// three-way merge, for which kyaml has no such choice, the new ones alone.
    Prepend,
}

/// The keys that entries of a list are told apart by where no schema is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InferKeys {
    /// None: such lists are replaced.
    #[default]
    Off,
    /// The first of these that all entries of the list have.
    Keys(Vec<SmolStr>),
}

impl InferKeys {
    /// `name` only, as current kyaml has it.
    #[must_use]
    pub fn name() -> Self {
        Self::Keys(vec![SmolStr::new_static("name")])
    }

    /// The seven keys of the original merge tools, in their order.
    #[must_use]
    pub fn usual() -> Self {
        let keys = ["mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"];
        Self::Keys(keys.map(SmolStr::new_static).to_vec())
    }

    pub(super) fn keys(&self) -> &[SmolStr] {
        match self {
            Self::Off => &[],
            Self::Keys(keys) => keys,
        }
    }
}

/// What a three-way merge takes where both sides changed a field differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConflictPolicy {
    /// What kyaml takes: the updated side, except where dest says `null`.
    #[default]
    Updated,
    /// What is in dest.
    Dest,
}

/// How kyaml's engine merges, by [`Rules::Kyaml`] or [`Rules::Kustomize`].
///
/// [`Rules::Kyaml`]: crate::merge::Rules::Kyaml
/// [`Rules::Kustomize`]: crate::merge::Rules::Kustomize
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOptions {
    /// Where new list entries go.
    pub list_order: ListOrder,
    /// What to do where no schema is known.
    pub infer_keys: InferKeys,
    /// Which losses are left out.
    pub exceptions: Exceptions,
    /// For three-way merges.
    pub conflicts: ConflictPolicy,
}

impl MergeOptions {
    /// What `kustomize build` does with a strategic patch, but for the exceptions.
    #[must_use]
    pub fn kustomize(exceptions: Exceptions) -> Self {
        Self { exceptions, ..Self::kyaml(ListOrder::Prepend, InferKeys::Off) }
    }

    /// What kyaml's merge2 and merge3 do, bug for bug.
    #[must_use]
    pub fn kyaml(list_order: ListOrder, infer_keys: InferKeys) -> Self {
        Self { list_order, infer_keys, exceptions: Exceptions::None, conflicts: ConflictPolicy::default() }
    }
}
