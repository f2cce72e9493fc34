//! The sets of rules by which trees are merged.
//!
//! Command-line words are resolved to these before a merge starts: nothing here depends on what is merged.

/// Rules by which strategic merge patches are made and applied.
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
/// let kustomize = MergeRules::Kustomize { exceptions: Exceptions::Listed };
/// assert_eq!(names(kustomize.into())?, r#""c""b""a""#, "patched entries come first");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchRules {
    /// Everything in the schema, list types and list map keys first; existing order is kept.
    Overlay,
    /// The API server's rules (apimachinery 0.36): patch strategies and patch merge keys only.
    Apiserver,
}

/// Rules by which two or three versions of an object are merged.
///
/// They can also [apply](super::apply) a patch, but no patch can be made for them:
///
/// ```compile_fail
/// use strategic_merge_patch::merge::MergeRules;
/// use strategic_merge_patch::patch::CreateOptions;
///
/// let options = CreateOptions::default().rules(MergeRules::Lossless);
/// ```
///
/// Nor do the rules of patches merge versions:
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
        /// Exceptions from kustomize's rules where they lose data.
        exceptions: Exceptions,
    },
    /// The rules of merge2 and merge3 of kyaml, the library behind kustomize and kpt, bug for bug.
    Kyaml,
    /// Changes of one version are taken, changes of both are reported as conflicts, and nothing is dropped
    /// without a report.
    Lossless,
}

/// Rules by which a strategic merge patch can be applied: all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Those of patches.
    Patch(PatchRules),
    /// Those of merges.
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

/// Which of kustomize's losses are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exceptions {
    /// None: bug for bug.
    None,
    /// Those that the README lists as differences on purpose.
    ///
    /// A patch entry without its merge key and two entries with equal keys are errors; keys that an
    /// entry lacks count with the schema's default; `$patchMergeKey` works; lists of custom
    /// resources merge by their list map keys.
    Listed,
}
