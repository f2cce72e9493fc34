//! The sets of merge rules.
//!
//! Command-line values are converted to these sets before a merge starts. The rules never depend on the merged objects.

/// Rules for creating and applying strategic merge patches.
///
/// ```
/// use strategic_merge_patch::merge::{Exceptions, MergeRules, PatchRules, Rules, apply};
/// use strategic_merge_patch::schema::{Gvk, Schema};
/// use smp_text::yaml::Node;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
/// let live = json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
/// let patch = json!({"spec": {"containers": [{"name": "c"}, {"name": "b", "tty": true}]}});
/// let names = |rules: Rules| {
///     let merged = apply(Node::from(&live), &Node::from(&patch), pod, &schema, rules)?;
///     let merged = merged.node.map_or(json!(null), |node| node.to_json_value());
///     let list = merged["spec"]["containers"].as_array().cloned().unwrap_or_default();
///     Ok::<_, smp_text::diagnostic::Diagnostic>(list.iter().map(|one| one["name"].to_string()).collect::<String>())
/// };
/// assert_eq!(names(PatchRules::Overlay.into())?, r#""a""b""c""#, "existing entries keep their order");
/// assert_eq!(names(PatchRules::Apiserver.into())?, r#""c""a""b""#, "patched entries take the patch's order");
/// let kustomize = MergeRules::Kustomize { exceptions: Exceptions::Documented };
/// assert_eq!(names(kustomize.into())?, r#""c""b""a""#, "patched entries come first");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchRules {
    /// All directives of the schema. List types and list map keys take precedence. Existing entries keep their order.
    Overlay,
    /// The API server's rules (apimachinery 0.36): only patch strategies and patch merge keys.
    Apiserver,
}

/// Rules for merging two or three versions of an object.
///
/// These rules can also [apply](super::apply) a patch, but patches cannot be created for them:
///
/// ```compile_fail
/// use strategic_merge_patch::merge::MergeRules;
/// use strategic_merge_patch::patch::CreateOptions;
///
/// let options = CreateOptions::default().rules(MergeRules::Lossless);
/// ```
///
/// Conversely, patch rules cannot merge versions:
///
/// ```compile_fail
/// use strategic_merge_patch::merge::{MergeOptions, PatchRules};
///
/// let options = MergeOptions { rules: PatchRules::Overlay, ..MergeOptions::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeRules {
    /// The rules by which `kustomize build` applies a strategic merge patch.
    Kustomize {
        /// The exceptions in the cases in which kustomize's rules lose data.
        exceptions: Exceptions,
    },
    /// The rules of merge2 and merge3 in kyaml, the library of kustomize and kpt, bug for bug.
    Kyaml,
    /// A change in one version is applied, different changes in both are a conflict, and nothing is dropped without a
    /// warning.
    Lossless,
}

/// Rules for applying a strategic merge patch: a patch rule or a merge rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Patch rules.
    Patch(PatchRules),
    /// Merge rules.
    Merge(MergeRules),
}

impl Rules {
    pub(crate) fn is_kustomize(self) -> bool {
        matches!(self, Self::Merge(MergeRules::Kustomize { .. }))
    }
}

impl From<PatchRules> for Rules {
    fn from(rules: PatchRules) -> Self {
        Self::Patch(rules)
    }
}

impl From<MergeRules> for Rules {
    fn from(rules: MergeRules) -> Self {
        Self::Merge(rules)
    }
}

/// The exceptions to kustomize's rules that lose data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exceptions {
    /// None: bug for bug.
    None,
    /// The exceptions that the documentation lists as intentional differences.
    ///
    /// A patch entry without its merge key is an error, and so are two entries with equal keys. Absent keys have the
    /// default of the schema. `$patchMergeKey` is supported. Lists of custom resources merge by their list map keys.
    Documented,
}
