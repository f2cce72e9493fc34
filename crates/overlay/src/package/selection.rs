//! Selects manifests of a package by the identity in a patch and by the user's options.

use smol_str::SmolStr;

use super::manifest::{GroupKindName, Manifest, gvk_of};
use crate::resource::{LabelSelector, is_kind};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Node, did_you_mean};

/// Maximum number of candidates listed in an error.
const MAX_LISTED: usize = 10;

/// API group of kustomizations.
const KUSTOMIZE: &str = "kustomize.config.k8s.io";

/// The user's selection of manifests. Without one, all manifests with a kind are selected except kustomizations.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ManifestSelection {
    /// Kind, in any form that kubectl accepts: `Deployment`, `deploy`, or with its group `deployments.apps`.
    pub kind: Option<SmolStr>,
    /// Name.
    pub name: Option<SmolStr>,
    /// Label selector.
    pub labels: Option<LabelSelector>,
    /// Namespace; manifests without a namespace match too.
    pub namespace: Option<SmolStr>,
    /// Selects all manifests.
    pub all: bool,
}

impl ManifestSelection {
    /// Returns true if anything is selected explicitly.
    #[must_use]
    pub fn is_explicit(&self) -> bool {
        self.all || self.kind.is_some() || self.name.is_some() || self.labels.is_some()
    }

    fn has_namespace(&self, manifest: &Manifest<'_>) -> bool {
        let namespace = &manifest.key.names().namespace;
        namespace.is_empty() || self.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
    }

    fn selects(&self, manifest: &Manifest<'_>) -> bool {
        let name = GroupKindName::from_manifest(manifest.node).name;
        // A selector for absent labels would match documents of any kind.
        if !self.all && self.kind.is_none() && self.name.is_none() && !is_default_target(manifest) {
            return false;
        }
        let labels = manifest.node.get_path(&["metadata", "labels"]);
        let label = |key: &str| labels?.get(key)?.scalar_text().map(SmolStr::as_str);
        self.kind.as_ref().is_none_or(|wanted| is_kind(&manifest.gvk, wanted))
            && self.name.as_ref().is_none_or(|wanted| name == *wanted)
            && self.labels.as_ref().is_none_or(|selector| selector.matches(label))
    }
}

/// Target that a patch identifies. Every given part must match the manifest.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedTarget {
    gvk: Gvk,
    namespace: SmolStr,
    name: SmolStr,
}

impl NamedTarget {
    pub fn from_patch(patch: &Node) -> Self {
        // A null value removes a field, and is not part of the target.
        let node = |path: &[&str]| patch.get_path(path).filter(|node| !node.is_null());
        let text = |path| node(path).and_then(Node::scalar_text).cloned().unwrap_or_default();
        let gvk = Gvk::from_manifest(&text(&["apiVersion"]), &text(&["kind"]));
        Self { gvk, namespace: text(&["metadata", "namespace"]), name: text(&["metadata", "name"]) }
    }

    /// Returns true if it has a kind, apiVersion or name. A namespace alone may be a value to set.
    fn is_specific(&self) -> bool {
        self.gvk != Gvk::default() || !self.name.is_empty()
    }

    fn matches(&self, node: &Node) -> bool {
        let namespace = GroupKindName::from_manifest(node).namespace;
        // A manifest without a namespace gets one when it is applied.
        let in_namespace = namespace.is_empty() || self.namespace.is_empty() || self.namespace == namespace;
        in_namespace && self.matches_in_any_namespace(node)
    }

    /// Returns true if the manifest matches in any namespace.
    fn matches_in_any_namespace(&self, node: &Node) -> bool {
        let (gvk, name) = (gvk_of(node), GroupKindName::from_manifest(node).name);
        let matches = |target: &SmolStr, own: &SmolStr| target.is_empty() || target == own;
        let has_version = self.gvk.version.is_empty() || self.gvk.api_version() == gvk.api_version();
        has_version && matches(&self.gvk.kind, &gvk.kind) && matches(&self.name, &name)
    }

    /// Returns true if the manifest has exactly the target's namespace.
    fn has_namespace(&self, node: &Node) -> bool {
        self.namespace == GroupKindName::from_manifest(node).namespace
    }

    /// Returns the number of parts that match the manifest.
    fn similarity(&self, node: &Node) -> usize {
        let (gvk, name) = (gvk_of(node), GroupKindName::from_manifest(node).name);
        let parts =
            [self.gvk.kind == gvk.kind, self.name == name, self.gvk.api_version() == gvk.api_version()];
        parts.into_iter().filter(|same| *same).count()
    }
}

impl std::fmt::Display for NamedTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (version, kind) = (self.gvk.api_version(), &self.gvk.kind);
        let parts = [version.as_str(), kind, &self.name].into_iter().filter(|part| !part.is_empty());
        write!(f, "`{}`", parts.collect::<Vec<_>>().join(" "))
    }
}

/// Returns true if a manifest is a kustomization or component, by its kind or file name.
pub(super) fn is_kustomization(manifest: &Manifest<'_>) -> bool {
    manifest.gvk.group == KUSTOMIZE
}

/// Returns true if the manifest has a kind and is not a kustomization.
fn is_default_target(manifest: &Manifest<'_>) -> bool {
    !manifest.gvk.kind.is_empty() && !is_kustomization(manifest)
}

/// The manifests that a patch can target.
pub(super) struct PatchCandidates<'p> {
    selection: &'p ManifestSelection,
    is_directory: bool,
    manifests: Vec<Manifest<'p>>,
    /// Positions of the selected manifests.
    selected: Vec<usize>,
}

impl<'p> PatchCandidates<'p> {
    /// Applies the selection. The only document of a file is always selected if the user selects nothing.
    pub fn new(manifests: Vec<Manifest<'p>>, selection: &'p ManifestSelection, is_directory: bool) -> Self {
        let is_only = manifests.len() == 1 && !is_directory;
        let has_selection = selection.is_explicit();
        let is_target = |manifest: &Manifest<'_>| {
            let is_selected = if has_selection {
                selection.selects(manifest)
            } else {
                is_only || is_default_target(manifest)
            };
            is_selected && selection.has_namespace(manifest)
        };
        let selected =
            manifests.iter().enumerate().filter(|(_, manifest)| is_target(manifest)).map(|(i, _)| i);
        Self { selection, is_directory, selected: selected.collect(), manifests }
    }

    pub fn manifests(&self) -> &[Manifest<'p>] {
        &self.manifests
    }

    /// Returns the positions of the manifests that a patch targets.
    ///
    /// # Errors
    /// No manifest matches, or several match and neither the patch nor the selection identifies one.
    pub fn targets(&self, target: &NamedTarget, patch: &Node) -> Result<Vec<usize>> {
        let has_selection = self.selection.is_explicit();
        let error = |message: String| Diagnostic::error(Code::NoMatch, message).at(patch.span().at_start());
        if self.selected.is_empty() {
            let what = if has_selection { "selection matches no manifest" } else { "no manifests to patch" };
            let all: Vec<usize> = (0..self.manifests.len()).collect();
            let error = self.with_candidates(error(what.into()), &all, target);
            let help = self
                .suggested_selection()
                .unwrap_or_else(|| "check the kind, name and labels of the selection".into());
            return Err(error.help(help));
        }
        if !has_selection && !target.is_specific() && self.selected.len() > 1 {
            let message =
                format!("patch names no target, and the input has {} manifests", self.selected.len());
            let error = Diagnostic::error(Code::Ambiguous, message).at(patch.span().at_start());
            let error = self.with_candidates(error, &self.selected, target);
            return Err(error.help("set apiVersion, kind and name in the patch, or select manifests"));
        }
        let is_for = |i: &usize| target.matches(self.manifests[*i].node);
        let found: Vec<usize> = self.selected.iter().copied().filter(is_for).collect();
        if !found.is_empty() {
            return self.in_namespace(found, target, patch);
        }
        let error = error(format!("patch target matches no manifest: {target}"));
        let passed_over =
            (0..self.manifests.len()).filter(|i| is_for(i)).any(|i| self.selected.binary_search(&i).is_err());
        let error = if passed_over && !has_selection {
            error.note(
                "kustomizations and documents without a kind are only patched if --kind, --name, -l or --all selects them",
            )
        } else {
            error
        };
        Err(self.with_candidates(error, &self.selected, target))
    }

    /// Restricts matches to the namespace in the patch. If none has it, manifests without a namespace match only if the
    /// user selected them, because the patch would set their namespace, and thus make them other objects.
    ///
    /// # Errors
    /// Only unselected manifests without a namespace match.
    fn in_namespace(&self, found: Vec<usize>, target: &NamedTarget, patch: &Node) -> Result<Vec<usize>> {
        if target.namespace.is_empty() {
            return Ok(found);
        }
        let is_exact = |i: &usize| target.has_namespace(self.manifests[*i].node);
        let exact: Vec<usize> = found.iter().copied().filter(is_exact).collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let is_only = self.manifests.len() == 1 && !self.is_directory;
        if is_only || self.selection.is_explicit() {
            return Ok(found);
        }
        let namespace = &target.namespace;
        let message = format!("patch target matches no manifest: {target} in namespace `{namespace}`");
        let span = patch.get_path(&["metadata", "namespace"]).unwrap_or(patch).span();
        let error = Diagnostic::error(Code::NoMatch, message).at(span);
        let elsewhere = |i: &usize| target.matches_in_any_namespace(self.manifests[*i].node);
        let near: Vec<usize> = self.selected.iter().copied().filter(elsewhere).collect();
        let error = self.with_candidates(error, &near, target);
        let known = near.iter().map(|&i| GroupKindName::from_manifest(self.manifests[i].node).namespace);
        let known: Vec<SmolStr> = known.filter(|known| !known.is_empty()).collect();
        let known: Vec<&str> = known.iter().map(SmolStr::as_str).collect();
        let error = did_you_mean(namespace, &known).into_iter().fold(error, Diagnostic::note);
        Err(error.help(format!(
            "remove the namespace from the patch, or select the manifest by kind or name to set `namespace: \
             {namespace}`"
        )))
    }

    /// Suggests the kind or name that the user probably meant.
    fn suggested_selection(&self) -> Option<String> {
        let suggested = |wanted: Option<&str>, of: &dyn Fn(&Manifest<'_>) -> SmolStr| {
            let wanted = wanted?;
            let known: Vec<SmolStr> = self.manifests.iter().map(of).collect();
            if known.iter().any(|known| known == wanted) {
                return None;
            }
            did_you_mean(wanted, &known.iter().map(SmolStr::as_str).collect::<Vec<_>>())
        };
        let ManifestSelection { kind, name, .. } = self.selection;
        if let Some((kind, group)) = kind.as_deref().and_then(|kind| kind.split_once('.'))
            && let Some(other) = self.manifests.iter().find(|manifest| manifest.gvk.kind == kind)
            && self.manifests.iter().all(|manifest| manifest.gvk.kind != kind || manifest.gvk.group != group)
        {
            let group = &other.gvk.group;
            let meant = if group.is_empty() { kind.to_string() } else { format!("{kind}.{group}") };
            return Some(format!("did you mean `{meant}`?"));
        }
        let kind = kind.as_deref().and_then(|kind| kind.split('.').next());
        suggested(kind, &|manifest| manifest.gvk.kind.clone()).or_else(|| {
            suggested(name.as_deref(), &|manifest| GroupKindName::from_manifest(manifest.node).name)
        })
    }

    /// Adds the candidates to an error, most similar first.
    fn with_candidates(&self, error: Diagnostic, positions: &[usize], target: &NamedTarget) -> Diagnostic {
        let mut near: Vec<&Manifest<'_>> = positions.iter().map(|&i| &self.manifests[i]).collect();
        near.sort_by_key(|manifest| std::cmp::Reverse(target.similarity(manifest.node)));
        let show =
            |manifest: &&Manifest<'_>| format!("{} in {}", manifest.display_name(), manifest.path.display());
        let error = if near.is_empty() { error } else { error.note("the input has these manifests:") };
        let mut error = near.iter().take(MAX_LISTED).map(show).fold(error, Diagnostic::note);
        if near.len() > MAX_LISTED {
            error = error.note(format!("and {} more", near.len() - MAX_LISTED));
        }
        let help = nearest(&near, target).unwrap_or_else(|| {
            "set apiVersion, kind and name in the patch to those of one of the manifests".into()
        });
        error.help(help)
    }
}

/// Suggests the target that was probably meant.
fn nearest(candidates: &[&Manifest<'_>], target: &NamedTarget) -> Option<String> {
    let kinds: Vec<Gvk> = candidates.iter().map(|manifest| gvk_of(manifest.node)).collect();
    let has_kind = |gvk: &Gvk| target.gvk.kind.is_empty() || gvk.kind == target.gvk.kind;
    if !kinds.iter().any(has_kind) {
        return did_you_mean(
            &target.gvk.kind,
            &kinds.iter().map(|gvk| gvk.kind.as_str()).collect::<Vec<_>>(),
        );
    }
    let same: Vec<(&Gvk, SmolStr)> = kinds
        .iter()
        .zip(candidates)
        .filter(|(gvk, _)| has_kind(gvk))
        .map(|(gvk, manifest)| (gvk, GroupKindName::from_manifest(manifest.node).name))
        .collect();
    let by_name = |(_, name): &&(&Gvk, SmolStr)| target.name.is_empty() || *name == target.name;
    match same.iter().find(by_name) {
        Some((gvk, _)) if gvk.api_version() != target.gvk.api_version() && !target.gvk.version.is_empty() => {
            Some(format!("its apiVersion is `{}`", gvk.api_version()))
        }
        Some(_) => None,
        None => did_you_mean(&target.name, &same.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>()),
    }
}
