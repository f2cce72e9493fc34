//! References to the parent of a set, `[RESOURCE[.GROUP]/]NAME`, and the kinds that may be parents.

use std::collections::BTreeSet;

use serde_json::Value;
use smol_str::SmolStr;

use super::id::{IS_PARENT_TYPE, set_id};
use super::scope::GroupKind;
use crate::client::Cluster;
use crate::mapping::ResourceMapping;
use crate::plan::Object;
use crate::request::ApiRequest;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// An object that is, or will be, a parent.
#[derive(Debug, Clone)]
pub(super) struct ParentRef {
    pub(super) mapping: ResourceMapping,
    /// The namespace; empty for a cluster-scoped kind.
    pub(super) namespace: SmolStr,
    pub(super) name: SmolStr,
}

impl ParentRef {
    /// Resolves the kind. The default is Secret. As in kubectl, the namespace must be set explicitly, since users with
    /// different default namespaces would create different sets.
    ///
    /// # Errors
    /// The kind is unknown, ambiguous, or not allowed for parents, or the namespace is missing.
    pub(super) async fn resolve(cluster: &Cluster, text: &str) -> Result<Self> {
        check_parent_name(text)?;
        let (word, name) = text.split_once('/').unwrap_or(("secrets", text));
        cluster.discover_all().await?;
        let mapping = find_resource(cluster, word)?;
        if mapping.namespaced && !cluster.namespace_is_explicit() {
            let message = format!("the parent {text} of the ApplySet requires a namespace");
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .help(format!(
                    "set --namespace, which then rejects objects of other namespaces; a set over several namespaces \
                     requires a cluster-scoped parent: a custom resource whose CRD has the label {IS_PARENT_TYPE}"
                )));
        }
        let namespace = if mapping.namespaced { cluster.namespace().into() } else { SmolStr::default() };
        let parent = Self { mapping, namespace, name: name.into() };
        parent.check_type(cluster).await?;
        Ok(parent)
    }

    pub(super) fn id(&self) -> String {
        set_id(&self.name, &self.namespace, &self.mapping.gvk.kind, &self.mapping.gvk.group)
    }

    pub(super) fn path(&self) -> String {
        self.mapping.path(&self.namespace, &self.name)
    }

    pub(super) fn object(&self) -> Object {
        Object { gvk: self.mapping.gvk.clone(), namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// Returns true for Secrets and ConfigMaps, which are created if missing.
    pub(super) fn is_built_in(&self) -> bool {
        is_built_in(&self.mapping)
    }

    async fn check_type(&self, cluster: &Cluster) -> Result<()> {
        if self.is_built_in() {
            return Ok(());
        }
        let crd: Option<Value> = cluster.find_json(&ApiRequest::get(self.mapping.crd_path())).await?;
        let labels = crd.as_ref().and_then(|crd| crd.pointer("/metadata/labels"));
        let label = labels.and_then(|labels| labels.get(IS_PARENT_TYPE));
        if label.is_some() { Ok(()) } else { Err(self.invalid_kind()) }
    }

    fn invalid_kind(&self) -> Diagnostic {
        let kind = GroupKind::from_gvk(&self.mapping.gvk);
        Diagnostic::error(Code::InvalidValue, format!("a {kind} cannot be the parent of an ApplySet")).help(
            format!(
                "use a Secret, a ConfigMap, or a custom resource whose CRD has the label {IS_PARENT_TYPE}"
            ),
        )
    }
}

/// Checks the syntax of a parent reference: `[RESOURCE[.GROUP]/]NAME`.
///
/// # Errors
/// The reference is invalid.
pub fn check_parent_name(text: &str) -> Result<()> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() <= 2 && !parts.contains(&"") {
        return Ok(());
    }
    let message = format!("invalid ApplySet parent `{text}`");
    Err(Diagnostic::error(Code::InvalidValue, message)
        .help("use NAME for a Secret, or RESOURCE[.GROUP]/NAME, such as configmaps/shop"))
}

pub(super) fn is_built_in(mapping: &ResourceMapping) -> bool {
    mapping.gvk.group.is_empty() && matches!(mapping.gvk.kind.as_str(), "Secret" | "ConfigMap")
}

/// Finds a resource by name, in its most stable version. Without a group, the core group takes precedence.
fn find_resource(cluster: &Cluster, word: &str) -> Result<ResourceMapping> {
    let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
    let known = cluster.known_mappings().into_iter().filter(|mapping| {
        mapping.named_kind().has_name(name) && group.is_none_or(|group| mapping.gvk.group == group)
    });
    let found: BTreeSet<(SmolStr, SmolStr)> = known.map(|one| (one.gvk.group, one.gvk.kind)).collect();
    let mut found: Vec<_> = found.into_iter().collect();
    if found.first().is_some_and(|(group, _)| group.is_empty()) {
        found.truncate(1);
    }
    match found.as_slice() {
        [(group, kind)] => cluster.mapping_of(group, kind),
        _ => None,
    }
    .ok_or_else(|| {
        let (code, message) = match found.len() {
            0 => {
                let message = format!("the server has no resource `{word}` for the parent of the ApplySet");
                (Code::NoMatch, message)
            }
            _ => (Code::Ambiguous, format!("several resources are named `{word}`")),
        };
        let groups: Vec<_> = found.iter().map(|(group, _)| format!("{name}.{group}")).collect();
        let problem = Diagnostic::error(code, message);
        if groups.is_empty() { problem } else { problem.help(format!("use one of: {}", groups.join(", "))) }
    })
}
