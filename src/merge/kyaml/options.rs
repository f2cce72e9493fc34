//! How to merge: the order of lists, which keys tell list entries apart, whose rules count.

use smol_str::SmolStr;

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

/// Whose rules count where they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rules {
    /// What kustomize does, with all its oddities.
    Kustomize,
    /// As kustomize, but where it silently loses data this is an error or does what was meant.
    ///
    /// A patch entry without its merge key and two entries with equal keys are errors; keys that an
    /// entry lacks count with the schema's default; `$patchMergeKey` works; lists of custom
    /// resources merge by their list map keys.
    #[default]
    Auto,
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

/// How to merge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeOptions {
    /// Where new list entries go.
    pub list_order: ListOrder,
    /// What to do where no schema is known.
    pub infer_keys: InferKeys,
    /// Whose rules count.
    pub rules: Rules,
    /// For three-way merges.
    pub conflicts: ConflictPolicy,
}

impl MergeOptions {
    /// What `kustomize build` does with a strategic patch, bug for bug.
    #[must_use]
    pub fn kustomize() -> Self {
        Self { list_order: ListOrder::Prepend, rules: Rules::Kustomize, ..Self::default() }
    }

    /// The default for kustomizations: [`Rules::Auto`].
    #[must_use]
    pub fn auto() -> Self {
        Self { list_order: ListOrder::Prepend, rules: Rules::Auto, ..Self::default() }
    }

    /// What kyaml's merge2 and merge3 do, bug for bug.
    #[must_use]
    pub fn kyaml(list_order: ListOrder, infer_keys: InferKeys) -> Self {
        Self { list_order, infer_keys, rules: Rules::Kustomize, ..Self::default() }
    }
}
