//! Matching of policies and bindings: the resources, objects and namespaces that they select.

use super::create_request::{CreateRequest, labels, list, text};
use crate::labels::{selects, selects_by};
use smp_text::yaml::{Map, Node};

/// The label that the API server sets on each namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The result of matching. If several rules apply, the lowest result counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// The result depends on labels of a namespace that is not among the manifests.
    Unknown,
    Yes,
}

impl From<bool> for Match {
    fn from(is_match: bool) -> Self {
        if is_match { Self::Yes } else { Self::No }
    }
}

impl CreateRequest<'_> {
    /// Returns true if the match rules select this object. A policy needs rules, but a binding may have none.
    pub(super) fn matches(&self, constraints: &Node, of_policy: bool) -> Match {
        let exact = text(constraints, &["matchPolicy"]) == "Exact";
        let rules = list(constraints, "resourceRules");
        let is_matched = ((rules.is_empty() && !of_policy)
            || rules.iter().any(|rule| self.selects_creation(rule, exact)))
            && !list(constraints, "excludeResourceRules")
                .iter()
                .any(|rule| self.selects_creation(rule, exact))
            && constraints
                .get("objectSelector")
                .is_none_or(|selector| selects(selector, labels(self.object)));
        match constraints.get("namespaceSelector") {
            Some(selector) if is_matched => self.is_namespace_selected(selector),
            _ => is_matched.into(),
        }
    }

    fn is_namespace_selected(&self, selector: &Node) -> Match {
        if self.namespace.is_none() && !self.is_namespace() {
            return Match::Yes;
        }
        let own = self.namespace_labels.as_ref();
        if self.is_namespace() || self.namespace_object.is_some() {
            return selects(selector, own).into();
        }
        selects_by(selector, NAME_LABEL, own).map_or(Match::Unknown, Match::from)
    }

    /// Returns the reason why the result of a `namespaceSelector` is unknown.
    pub(super) fn unknown_labels(&self) -> String {
        match self.namespace.unwrap_or_default() {
            "" => "the labels of the namespace are unknown".into(),
            name => format!("the labels of namespace {name} are unknown"),
        }
    }

    fn is_namespace(&self) -> bool {
        self.gvk.kind == "Namespace" && self.gvk.group.is_empty()
    }

    /// Returns the labels of the namespace, including the one with its name that the API server sets.
    pub(super) fn labels_of_namespace(&self) -> Option<Map> {
        let is_namespace = self.is_namespace();
        let namespace =
            if is_namespace { Some(self.object) } else { self.namespace_object.map(|object| &object.node) };
        let mut all = namespace.and_then(labels).cloned().unwrap_or_default();
        let name = if is_namespace { self.name } else { self.namespace? };
        all.insert(NAME_LABEL, Node::string(name));
        Some(all)
    }

    /// Returns true if a rule matches the creation of this object. By default it matches all versions.
    fn selects_creation(&self, rule: &Node, exact: bool) -> bool {
        let has = |field: &str, own: &str| {
            list(rule, field)
                .iter()
                .any(|entry| entry.as_str().is_some_and(|word| word == "*" || word == own))
        };
        let any_resource = || list(rule, "resources").iter().any(|entry| entry.as_str() == Some("*/*"));
        let scope = match text(rule, &["scope"]) {
            "Namespaced" => self.namespace.is_some(),
            "Cluster" => self.namespace.is_none(),
            _ => true,
        };
        let names = list(rule, "resourceNames");
        has("apiGroups", &self.gvk.group)
            && (!exact || has("apiVersions", &self.gvk.version))
            && (has("resources", self.plural) || any_resource())
            && has("operations", "CREATE")
            && scope
            && (names.is_empty() || names.iter().any(|name| name.as_str() == Some(self.name)))
    }
}
