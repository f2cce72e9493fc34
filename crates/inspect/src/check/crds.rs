//! Kinds and versions that are missing in the CRDs of a build.
//!
//! A CRD in the build declares all served versions of its kind. Other kinds of its group may be defined elsewhere, so
//! only likely misspellings are reported.

use rustc_hash::FxHashMap;

use super::target::CheckedTarget;
use smp_merge::schema::is_built_in_group;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::source::Span;
use smp_text::yaml::{Node, Resolved, nearest_name};
use smp_validate::UNKNOWN_KIND;

/// A CRD of the build.
struct BuiltCrd<'n> {
    kind: &'n str,
    /// The served versions.
    served: Vec<&'n str>,
    at: Span,
}

impl<'n> BuiltCrd<'n> {
    /// Returns the CRD with its group, or `None` for other resources.
    fn new(resource: &'n Resource) -> Option<(&'n str, Self)> {
        if !resource.id().gvk.is_crd() {
            return None;
        }
        let node = resource.node();
        let text = |path: &[&str]| node.get_path(path).and_then(Node::as_str);
        let versions = node.get_path(&["spec", "versions"]).and_then(Node::as_list).into_iter().flatten();
        let is_served =
            |version: &&Node| version.get("served").and_then(Node::resolve) != Some(Resolved::Bool(false));
        let names = versions.filter(is_served).filter_map(|version| version.get("name")?.as_str());
        // A `v1beta1` CRD may declare its only version in `spec.version`.
        let mut served: Vec<&str> = names.collect();
        if served.is_empty() {
            served.extend(text(&["spec", "version"]));
        }
        let kind = text(&["spec", "names", "kind"])?;
        Some((text(&["spec", "group"])?, Self { kind, served, at: node.span().at_start() }))
    }
}

/// Checks the kinds and versions of the resources of a target.
pub(super) fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let mut groups: FxHashMap<&str, Vec<BuiltCrd<'_>>> = FxHashMap::default();
    for (group, definition) in target.resources().filter_map(BuiltCrd::new) {
        groups.entry(group).or_default().push(definition);
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let finding = |resource: &Resource| check(resource, groups.get(resource.id().gvk.group.as_str())?);
    target.resources().filter_map(finding).collect()
}

fn check(resource: &Resource, definitions: &[BuiltCrd<'_>]) -> Option<Diagnostic> {
    let gvk = &resource.id().gvk;
    if is_built_in_group(&gvk.group) {
        return None;
    }
    let own = definitions.iter().find(|definition| definition.kind == gvk.kind);
    let (field, message, help, at) = if let Some(own) = own {
        if own.served.is_empty() || own.served.contains(&gvk.version.as_str()) {
            return None;
        }
        let message = format!("the CRD does not serve version {} of {}", gvk.version, gvk.kind);
        ("apiVersion", message, format!("served versions: {}", own.served.join(", ")), own.at)
    } else {
        let names: Vec<&str> = definitions.iter().map(|definition| definition.kind).collect();
        let meant = nearest_name(&gvk.kind, &names)?;
        let at = definitions.iter().find(|definition| definition.kind == meant)?.at;
        let message = format!("no CRD of the build defines kind {} in group {}", gvk.kind, gvk.group);
        ("kind", message, format!("did you mean `{meant}`?"), at)
    };
    let location = resource.node().get(field).map_or(resource.node().span(), Node::span);
    let finding = Diagnostic::error(UNKNOWN_KIND.diagnostic_code(), message);
    let finding = finding.at(location).label(at, "CRD").resource(resource.id()).field(field);
    Some(finding.help(help))
}
