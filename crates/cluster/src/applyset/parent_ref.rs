//! Which object is the parent of a set: `[RESOURCE[.GROUP]/]NAME`, and which kinds may be parents.

use std::collections::BTreeSet;

use serde_json::Value;
use smol_str::SmolStr;

use super::id::{IS_PARENT_TYPE, set_id};
use super::scope::GroupKind;
use crate::client::Cluster;
use crate::exchange::Ask;
use crate::mapping::Mapping;
use crate::plan::Object;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// An object that is, or will be, a parent.
#[derive(Debug, Clone)]
pub(super) struct ParentRef {
    pub(super) mapping: Mapping,
    /// Empty for a kind without namespaces.
    pub(super) namespace: SmolStr,
    pub(super) name: SmolStr,
}

impl ParentRef {
    /// Finds the kind that is named; without one it is a Secret. The namespace must be asked for, as for kubectl: a
    /// default could make a second set where somebody works elsewhere by default.
    ///
    /// # Errors
    /// Nothing or several things are called so, objects of the kind are no parents, the namespace is missing.
    pub(super) async fn resolve(cluster: &Cluster, text: &str) -> Result<Self> {
        check_parent_name(text)?;
        let (word, name) = text.split_once('/').unwrap_or(("secrets", text));
        cluster.discover_all().await?;
        let mapping = named(cluster, word)?;
        if mapping.namespaced && !cluster.namespace_is_enforced() {
            let message = format!("the parent {text} of the ApplySet needs a namespace");
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .help("give it with --namespace, which objects in other namespaces are refused for then; a set over several namespaces has a parent without one: a custom resource whose CRD has the label applyset.kubernetes.io/is-parent-type"));
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

    /// Whether it is a Secret or ConfigMap, which are made where they are missing.
    pub(super) fn is_built_in(&self) -> bool {
        is_built_in(&self.mapping)
    }

    async fn check_type(&self, cluster: &Cluster) -> Result<()> {
        if self.is_built_in() {
            return Ok(());
        }
        let definition: Option<Value> = cluster.find_json(&Ask::get(self.mapping.definition_path())).await?;
        let labels = definition.as_ref().and_then(|definition| definition.pointer("/metadata/labels"));
        let label = labels.and_then(|labels| labels.get(IS_PARENT_TYPE));
        if label.is_some() { Ok(()) } else { Err(self.is_no_parent()) }
    }

    fn is_no_parent(&self) -> Diagnostic {
        let kind = GroupKind::of(&self.mapping.gvk);
        Diagnostic::error(Code::InvalidValue, format!("a {kind} cannot be the parent of an ApplySet")).help(
            format!(
                "Secrets and ConfigMaps can, and custom resources whose CRD has the label {IS_PARENT_TYPE}"
            ),
        )
    }
}

/// Makes sure that a text names a parent: `[RESOURCE[.GROUP]/]NAME`.
///
/// # Errors
/// It does not.
pub fn check_parent_name(text: &str) -> Result<()> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() <= 2 && !parts.contains(&"") {
        return Ok(());
    }
    let message = format!("`{text}` names no parent of an ApplySet");
    Err(Diagnostic::error(Code::InvalidValue, message)
        .help("it is NAME for a Secret, or RESOURCE[.GROUP]/NAME, such as configmaps/shop"))
}

pub(super) fn is_built_in(mapping: &Mapping) -> bool {
    mapping.gvk.group.is_empty() && matches!(mapping.gvk.kind.as_str(), "Secret" | "ConfigMap")
}

/// The resource that a word means, in its most stable version. Without a group, that of the core comes first.
fn named(cluster: &Cluster, word: &str) -> Result<Mapping> {
    let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
    let known = cluster.known_mappings().into_iter().filter(|mapping| {
        mapping.named_kind().is_called(name) && group.is_none_or(|group| mapping.gvk.group == group)
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
        let message = match found.len() {
            0 => format!("the server has no resource `{word}`, which the parent of the ApplySet shall be"),
            _ => format!("several resources are called `{word}`"),
        };
        let groups: Vec<_> = found.iter().map(|(group, _)| format!("{name}.{group}")).collect();
        let problem = Diagnostic::error(Code::NoMatch, message);
        if groups.is_empty() { problem } else { problem.help(format!("say which: {}", groups.join(", "))) }
    })
}
