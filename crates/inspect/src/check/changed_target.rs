//! The objects of a target before and after a change, as the rules about dangerous changes see them.

use super::objects::namespace_of;
use super::reference::pod_template;
use super::values::{entries, requirements, text};
use smp_overlay::resource::{LabelSelector, ResId, Resource};
use smp_text::yaml::{Map, Node};

/// All objects of a target before and after a change.
#[derive(Debug, Default)]
pub struct ChangedTarget<'c> {
    objects: Vec<[Option<&'c Resource>; 2]>,
}

impl<'c> ChangedTarget<'c> {
    /// Creates it from the objects, each before and after the change.
    #[must_use]
    pub fn new(objects: Vec<[Option<&'c Resource>; 2]>) -> Self {
        Self { objects }
    }

    /// Returns the identities of a service account before and after the change; none if it is not in the target, or
    /// deleted. A service account without a namespace may be in any.
    pub(super) fn service_account(&self, namespace: &str, name: &str) -> Option<[&'c ResId; 2]> {
        let of_both = |both: &[Option<&'c Resource>; 2]| Some([both[0]?.id(), both[1]?.id()]);
        let is_meant = |[old, _]: &[&ResId; 2]| {
            is_core(old, "ServiceAccount")
                && old.name == name
                && (old.namespace == namespace || old.namespace.is_empty())
        };
        self.objects.iter().filter_map(of_both).find(is_meant)
    }

    /// Returns true if the change deletes all Pods of a namespace that a selector matches: a workload or the whole
    /// namespace is deleted, and no other workload of the target is selected. A selector that is empty may match Pods of
    /// other targets.
    pub(super) fn deletes_selected_pods(&self, namespace: &str, selector: Option<&Node>) -> bool {
        let is_namespace = |one: &Resource| is_core(one.id(), "Namespace") && one.id().name == namespace;
        if self.objects.iter().any(|both| matches!(both, [Some(old), None] if is_namespace(old))) {
            return true;
        }
        let Some(parsed) = parse(selector).filter(|_| !requirements(selector).is_empty()) else {
            return false;
        };
        let is_selected = |one: &Resource| {
            let template = pod_template(one).filter(|_| namespace_of(one.id()) == namespace);
            template.is_some_and(|template| {
                parsed.matches(|key| text(template.labels.and_then(|labels| labels.get(key))))
            })
        };
        let mut selected =
            self.objects.iter().filter(|both| both.iter().flatten().any(|one| is_selected(one)));
        let is_deleted = |both: &[Option<&Resource>; 2]| both[1].is_none();
        selected.next().is_some_and(is_deleted) && selected.all(is_deleted)
    }
}

fn is_core(id: &ResId, kind: &str) -> bool {
    id.gvk.group.is_empty() && id.gvk.kind == kind
}

/// Parses the label selector of an object; none if it is invalid.
fn parse(selector: Option<&Node>) -> Option<LabelSelector> {
    let labels = selector.and_then(|selector| selector.get("matchLabels")).and_then(Node::as_map);
    let labels = labels.into_iter().flat_map(Map::iter);
    let mut all: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", text(Some(value)).unwrap_or_default())).collect();
    for expression in entries(selector.and_then(|selector| selector.get("matchExpressions"))) {
        let key = text(expression.get("key"))?;
        let values: Vec<&str> =
            entries(expression.get("values")).iter().filter_map(|value| text(Some(value))).collect();
        all.push(match text(expression.get("operator"))? {
            "Exists" => key.to_string(),
            "DoesNotExist" => format!("!{key}"),
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            _ => return None,
        });
    }
    LabelSelector::parse(&all.join(",")).ok()
}
