//! By whose rules trees are merged.
//!
//! The words that a user gives are resolved to these before a merge starts: nothing here depends on
//! what is being merged.

/// By whose rules a patch is applied or made, or two versions of an object are joined.
///
/// ```
/// use strategic_merge_patch::merge::{Exceptions, Rules, apply};
/// use strategic_merge_patch::schema::{Gvk, Schema};
/// use smp_text::yaml::Node;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
/// let live = json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
/// let patch = json!({"spec": {"containers": [{"name": "c"}, {"name": "b", "tty": true}]}});
/// let names = |rules| {
///     let merged = apply(Node::from(&live), &Node::from(&patch), pod, &schema, rules)?;
///     let merged = merged.node.map_or(json!(null), |node| node.to_json_value());
///     let list = merged["spec"]["containers"].as_array().cloned().unwrap_or_default();
///     Ok::<_, smp_text::diagnostic::Diagnostic>(list.iter().map(|one| one["name"].to_string()).collect::<String>())
/// };
/// assert_eq!(names(Rules::Overlay)?, r#""a""b""c""#, "what is there keeps its order");
/// assert_eq!(names(Rules::Apiserver)?, r#""c""a""b""#, "what is patched takes the patch's order");
/// assert_eq!(names(Rules::Kustomize { exceptions: Exceptions::Listed })?, r#""c""b""a""#, "and comes first");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// By everything that the schema says, list types and list map keys first; existing order is kept.
    Overlay,
    /// As the API server applies a strategic merge patch (apimachinery 0.36): patch strategies and
    /// patch merge keys only.
    Apiserver,
    /// As `kustomize build` applies a strategic merge patch.
    Kustomize {
        /// Where its rules are left because they lose data.
        exceptions: Exceptions,
    },
    /// As kyaml's merge2 and merge3 do, the library behind kustomize and kpt, bug for bug.
    Kyaml,
    /// By what changed: what only one version changed is taken, what both changed is listed, and nothing
    /// is dropped in silence. For merges of two or three versions of an object.
    Lossless,
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
