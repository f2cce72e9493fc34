//! Matching of policies and bindings: the requests that they select.

use super::admission_request::{AdmissionRequest, Equivalents, Operation, RequestResource, Reviewed};
use super::objects::{labels, list, text};
use crate::labels::{selects, selects_by};
use smp_text::yaml::{Map, Node};

/// The label that the API server sets on each namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The result of matching. If several selectors apply, the result is the lowest one.
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

/// Returns true if a selector is absent or empty.
fn is_empty(selector: &Node) -> bool {
    list(selector, "matchExpressions").is_empty()
        && selector.get("matchLabels").and_then(Node::as_map).is_none_or(Map::is_empty)
}

impl Reviewed<'_> {
    /// Returns the result of the match rules, and the index of the version that they select. A policy must have rules;
    /// a binding may omit them.
    pub(super) fn matches(&self, constraints: &Node, requires_rules: bool) -> (Match, usize) {
        let request = self.request;
        let exact = text(constraints, &["matchPolicy"]) == "Exact";
        let rules = list(constraints, "resourceRules");
        let selected =
            if rules.is_empty() && !requires_rules { Some(0) } else { request.version_of(rules, exact) };
        let excluded = request.version_of(list(constraints, "excludeResourceRules"), exact);
        let (Some(version), None) = (selected, excluded) else { return (Match::No, 0) };
        let has_labels = |selector: &Node| {
            let objects = [request.object, request.old_object];
            is_empty(selector)
                || objects.into_iter().flatten().any(|object| selects(selector, labels(object)))
        };
        if !constraints.get("objectSelector").is_none_or(has_labels) {
            return (Match::No, 0);
        }
        let namespaces = constraints.get("namespaceSelector");
        (namespaces.map_or(Match::Yes, |selector| self.is_namespace_selected(selector)), version)
    }

    fn is_namespace_selected(&self, selector: &Node) -> Match {
        let is_namespace = self.request.is_namespace();
        if self.request.namespace.is_none() && !is_namespace {
            return Match::Yes;
        }
        let own = self.namespace_labels.as_ref();
        if is_namespace || self.namespace_object.is_some() {
            return selects(selector, own).into();
        }
        selects_by(selector, NAME_LABEL, own).map_or(Match::Unknown, Match::from)
    }

    /// Returns the reason why the result of a `namespaceSelector` is unknown.
    pub(super) fn unknown_labels(&self) -> String {
        match self.request.namespace.unwrap_or_default() {
            "" => "the labels of the namespace are unknown".into(),
            name => format!("the labels of namespace {name} are unknown"),
        }
    }

    /// Returns the labels of the namespace, including the one with its name that the API server sets. For a Namespace,
    /// these are the labels in the request.
    pub(super) fn labels_of_namespace(&self) -> Option<Map> {
        let request = self.request;
        let own = request.object.filter(|_| {
            request.is_namespace() && request.subresource.is_empty() && request.operation != Operation::Delete
        });
        let namespace = own.or_else(|| self.namespace_object.as_ref().map(|object| &object.node));
        let mut all = namespace.and_then(labels).cloned().unwrap_or_default();
        let name = if request.is_namespace() { request.name } else { request.namespace? };
        all.insert(NAME_LABEL, Node::string(name));
        Some(all)
    }
}

impl AdmissionRequest<'_> {
    /// Returns the index of the version of the resource that rules select: 0 for the version of the request.
    fn version_of(&self, rules: &[Node], exact: bool) -> Option<usize> {
        let any_version = !exact && matches!(self.equivalents, Equivalents::AnyVersion);
        if rules.iter().any(|rule| self.selects(rule, &self.resource, any_version)) {
            return Some(0);
        }
        let Equivalents::Known(others) = &self.equivalents else { return None };
        let is_selected = |rule: &Node| others.iter().position(|other| self.selects(rule, other, false));
        if exact { None } else { rules.iter().find_map(is_selected).map(|position| position + 1) }
    }

    /// Returns true if a rule selects the request.
    fn selects(&self, rule: &Node, resource: &RequestResource, any_version: bool) -> bool {
        let has = |field: &str, own: &str| {
            list(rule, field)
                .iter()
                .any(|entry| entry.as_str().is_some_and(|word| word == "*" || word == own))
        };
        let is_resource = |entry: &Node| {
            let entry = entry.as_str().unwrap_or_default();
            let (plural, subresource) = entry.split_once('/').unwrap_or((entry, ""));
            (plural == "*" || plural == resource.plural)
                && (subresource == "*" || subresource == self.subresource)
        };
        let is_in_namespace = self.namespace.is_some() && !self.is_namespace();
        let scope = match text(rule, &["scope"]) {
            "Namespaced" => is_in_namespace,
            "Cluster" => !is_in_namespace,
            _ => true,
        };
        let names = list(rule, "resourceNames");
        has("apiGroups", &resource.group)
            && (any_version || has("apiVersions", &resource.version))
            && list(rule, "resources").iter().any(is_resource)
            && has("operations", self.operation.name())
            && scope
            && (names.is_empty() || names.iter().any(|name| name.as_str() == Some(self.name)))
    }
}
