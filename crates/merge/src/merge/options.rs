//! How two or three versions are merged: by whose rules, the order of lists, which keys tell list entries
//! apart, which side is taken.

use smol_str::SmolStr;

use super::rules::{Exceptions, MergeRules};

/// Where the entries of a patch go that a list does not have yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    /// Behind the entries that are there.
    #[default]
    Append,
    /// Before them, and with them by kyaml's rules the entries that the patch changes, as `kustomize build`
    /// does. In a three-way merge, for which kyaml has no such choice, the new ones alone.
    Prepend,
}

/// The keys that entries of a list are told apart by where no schema is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InferKeys {
    /// None: such lists are replaced.
    #[default]
    Off,
    /// The first of these that all entries of the list have; where nothing may be lost, with values that are
    /// unique in each version.
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

    /// The keys that are tried, in order.
    #[must_use]
    pub fn keys(&self) -> &[SmolStr] {
        match self {
            Self::Off => &[],
            Self::Keys(keys) => keys,
        }
    }
}

/// What a three-way merge takes where both sides changed a field differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConflictPolicy {
    /// The updated side, except where dest says `null`.
    #[default]
    Updated,
    /// What is in dest.
    Dest,
}

/// What null means in a three-way merge without losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NullPolicy {
    /// A value like any other while versions are equal: what only one side changed is taken, null or not. Where both
    /// sides changed the field, null clears it.
    #[default]
    Keep,
    /// Null in the updated version or in dest clears the field, changed or not.
    Clear,
}

/// How versions are merged. By default with nothing lost.
///
/// ```
/// use strategic_merge_patch::merge::{ConflictPolicy, InferKeys, MergeOptions};
///
/// let options = MergeOptions::default().conflicts(ConflictPolicy::Dest).infer_keys(InferKeys::name());
/// assert_eq!(options.conflicts, ConflictPolicy::Dest);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOptions {
    /// The rules.
    pub rules: MergeRules,
    /// Where new list entries go. None: where the rules have it, which for kyaml is behind all others, and
    /// for a three-way merge without losses behind the entry that they follow in their own version.
    pub list_order: Option<ListOrder>,
    /// What to do where no schema is known.
    pub infer_keys: InferKeys,
    /// What to take in case of a conflict.
    pub conflicts: ConflictPolicy,
    /// What null means by the rules that lose nothing; by kyaml's it always clears.
    pub nulls: NullPolicy,
}

impl Default for MergeOptions {
    /// As [`MergeOptions::lossless`].
    fn default() -> Self {
        Self::lossless()
    }
}

impl MergeOptions {
    /// With nothing lost: lists that no schema knows merge by the usual keys, and of a conflict the updated
    /// value is taken.
    #[must_use]
    pub fn lossless() -> Self {
        Self {
            rules: MergeRules::Lossless,
            list_order: None,
            infer_keys: InferKeys::usual(),
            conflicts: ConflictPolicy::default(),
            nulls: NullPolicy::default(),
        }
    }

    /// What `kustomize build` does with a strategic patch, but for the exceptions.
    #[must_use]
    pub fn kustomize(exceptions: Exceptions) -> Self {
        let rules = MergeRules::Kustomize { exceptions };
        Self { rules, ..Self::kyaml(ListOrder::Prepend, InferKeys::Off) }
    }

    /// What kyaml's merge2 and merge3 do, bug for bug.
    #[must_use]
    pub fn kyaml(list_order: ListOrder, infer_keys: InferKeys) -> Self {
        Self { rules: MergeRules::Kyaml, list_order: Some(list_order), infer_keys, ..Self::lossless() }
    }

    /// The same with new list entries elsewhere; none: where the rules have them.
    #[must_use]
    pub fn list_order(mut self, order: impl Into<Option<ListOrder>>) -> Self {
        self.list_order = order.into();
        self
    }

    /// The same with other keys where no schema is known.
    #[must_use]
    pub fn infer_keys(mut self, keys: InferKeys) -> Self {
        self.infer_keys = keys;
        self
    }

    /// The same with another side taken in case of a conflict.
    #[must_use]
    pub fn conflicts(mut self, policy: ConflictPolicy) -> Self {
        self.conflicts = policy;
        self
    }

    /// The same with another meaning of null.
    #[must_use]
    pub fn nulls(mut self, policy: NullPolicy) -> Self {
        self.nulls = policy;
        self
    }

    /// Which of the losses of kyaml's engine are left out.
    pub(super) fn exceptions(&self) -> Exceptions {
        match self.rules {
            MergeRules::Kustomize { exceptions } => exceptions,
            _ => Exceptions::None,
        }
    }

    /// Where kyaml's engine puts new list entries.
    pub(super) fn order(&self) -> ListOrder {
        self.list_order.unwrap_or_default()
    }
}
