//! Options for merges of two or three versions: rules, list order, inferred keys, conflict resolution.

use smol_str::SmolStr;

use super::rules::{Exceptions, MergeRules};

/// The position of new entries in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    /// After the existing entries.
    #[default]
    Append,
    /// Before the existing entries. With kyaml's rules, entries that the patch changes also move to the front, as in
    /// `kustomize build`. In a three-way merge only new entries move, because kyaml has no such option there.
    Prepend,
}

/// The keys that identify list entries if there is no schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InferKeys {
    /// None: lists without a schema are replaced.
    #[default]
    Off,
    /// The first of these keys that all entries of the list have. With the lossless rules, its values must also
    /// be unique in each version.
    Keys(Vec<SmolStr>),
}

impl InferKeys {
    /// Returns only `name`, as in current kyaml.
    #[must_use]
    pub fn name() -> Self {
        Self::Keys(vec![SmolStr::new_static("name")])
    }

    /// Returns the seven keys of the original kpt merge tools, in their order.
    #[must_use]
    pub fn common() -> Self {
        let keys = ["mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"];
        Self::Keys(keys.map(SmolStr::new_static).to_vec())
    }

    /// Returns the candidate keys in order.
    #[must_use]
    pub fn keys(&self) -> &[SmolStr] {
        match self {
            Self::Off => &[],
            Self::Keys(keys) => keys,
        }
    }
}

/// The input that is used if `updated` and `dest` changed a field differently in a three-way merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConflictPolicy {
    /// The updated version, unless dest has null.
    #[default]
    Updated,
    /// Dest.
    Dest,
}

/// The meaning of null in a lossless three-way merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NullPolicy {
    /// Null is an ordinary value if only `updated` or only `dest` changed the field. If both changed it, null removes
    /// the field, or the value of dest is kept under [`ConflictPolicy::Dest`].
    #[default]
    Keep,
    /// Null in the updated version or in dest always removes the field.
    Clear,
}

/// Options for merges of versions. The default is lossless.
///
/// ```
/// use strategic_merge_patch::merge::{ConflictPolicy, InferKeys, MergeOptions};
///
/// let options = MergeOptions::default().conflicts(ConflictPolicy::Dest).infer_keys(InferKeys::name());
/// assert_eq!(options.conflicts, ConflictPolicy::Dest);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOptions {
    /// The merge rules.
    pub rules: MergeRules,
    /// The position of new list entries. `None` uses the default of the rules: kyaml appends them, and a
    /// lossless three-way merge inserts them after their predecessor in their own version.
    pub list_order: Option<ListOrder>,
    /// The keys that identify the entries of lists without a schema.
    pub infer_keys: InferKeys,
    /// The input that is used for conflicts.
    pub conflicts: ConflictPolicy,
    /// The meaning of null under the lossless rules. Under kyaml's rules, null always removes the field.
    pub nulls: NullPolicy,
}

impl Default for MergeOptions {
    /// Returns [`MergeOptions::lossless`].
    fn default() -> Self {
        Self::lossless()
    }
}

impl MergeOptions {
    /// Returns lossless options: lists without a schema merge by common keys, and the updated value is used for
    /// conflicts.
    #[must_use]
    pub fn lossless() -> Self {
        Self {
            rules: MergeRules::Lossless,
            list_order: None,
            infer_keys: InferKeys::common(),
            conflicts: ConflictPolicy::default(),
            nulls: NullPolicy::default(),
        }
    }

    /// Returns the rules by which `kustomize build` applies a strategic merge patch, with the given exceptions.
    #[must_use]
    pub fn kustomize(exceptions: Exceptions) -> Self {
        let rules = MergeRules::Kustomize { exceptions };
        Self { rules, ..Self::kyaml(ListOrder::Prepend, InferKeys::Off) }
    }

    /// Returns the rules of kyaml's merge2 and merge3, bug for bug.
    #[must_use]
    pub fn kyaml(list_order: ListOrder, infer_keys: InferKeys) -> Self {
        Self { rules: MergeRules::Kyaml, list_order: Some(list_order), infer_keys, ..Self::lossless() }
    }

    /// Sets the position of new list entries. `None` uses the default of the rules.
    #[must_use]
    pub fn list_order(mut self, order: impl Into<Option<ListOrder>>) -> Self {
        self.list_order = order.into();
        self
    }

    /// Sets the keys that identify the entries of lists without a schema.
    #[must_use]
    pub fn infer_keys(mut self, keys: InferKeys) -> Self {
        self.infer_keys = keys;
        self
    }

    /// Sets the input that is used for conflicts.
    #[must_use]
    pub fn conflicts(mut self, policy: ConflictPolicy) -> Self {
        self.conflicts = policy;
        self
    }

    /// Sets the treatment of null.
    #[must_use]
    pub fn nulls(mut self, policy: NullPolicy) -> Self {
        self.nulls = policy;
        self
    }

    /// Returns the exceptions to kustomize's rules.
    pub(super) fn exceptions(&self) -> Exceptions {
        match self.rules {
            MergeRules::Kustomize { exceptions } => exceptions,
            _ => Exceptions::None,
        }
    }

    /// Returns the position of new list entries for kyaml's engine.
    pub(super) fn order(&self) -> ListOrder {
        self.list_order.unwrap_or_default()
    }
}
