//! The common imports of the rule files.

pub(super) use super::image_name::ImageName;
pub(super) use crate::check::changed_object::{ChangedObject, Danger};
pub(super) use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
pub(super) use crate::check::values::{added_entries, entries, is_true, requirements, text};
pub(super) use smol_str::SmolStr;
pub(super) use smp_text::diagnostic::{Code, RuleText, Severity};
pub(super) use smp_text::source::is_secret_key;
pub(super) use smp_text::yaml::{Map, Node};

/// The parts that all rules about dangerous changes have in common.
pub(super) const DANGER: Rule = Rule {
    code: Code::Io,
    title: "",
    group: RuleGroup::Dangers,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "",
    suppress: None,
    documentation: "",
    bad: &[],
    good: &[],
    finder: Finder::Run,
};

/// Formats a scalar for a message.
pub(super) fn shown(node: &Node) -> &str {
    text(Some(node)).unwrap_or("a map or list")
}

/// A Flux Kustomization before the change in an example.
pub(super) const FLUX_KUSTOMIZATION: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n  sourceRef: {kind: GitRepository, name: apps}\n";

/// A Service before the change in an example.
pub(super) const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: ClusterIP\n  selector: {app: web}\n  ports: [{port: 80}]\n";

/// A Deployment before the change in an example.
pub(super) const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n";

/// The files of an example: an object before and after a change.
macro_rules! change {
    ($before:expr, $after:expr) => {
        &[("before.yaml", $before), ("after.yaml", $after)]
    };
}
pub(super) use change;
