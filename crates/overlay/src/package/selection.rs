//! Which manifests of a package are meant: by what a patch names, and by what the user asks for.

use smol_str::SmolStr;

use super::manifest::{GroupKindName, Manifest, gvk_of};
use crate::resource::{LabelSelector, is_kind};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Node, suggestion};

/// How many candidates an error lists.
const LISTED: usize = 10;

/// The group of kustomizations.
const KUSTOMIZE: &str = "kustomize.config.k8s.io";

/// The manifests that a user asks for. Without any of it only those are meant that have a kind and are no
/// kustomizations.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ManifestSelection {
    /// Of this kind, as kubectl takes it: `Deployment`, `deploy`, with its group `deployments.apps`.
    pub kind: Option<SmolStr>,
    /// Of this name.
    pub name: Option<SmolStr>,
    /// With these labels.
    pub labels: Option<LabelSelector>,
    /// Of this namespace, or of none.
    pub namespace: Option<SmolStr>,
    /// All of them.
    pub all: bool,
}

impl ManifestSelection {
    /// Whether anything is asked for.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.all || self.kind.is_some() || self.name.is_some() || self.labels.is_some()
    }

    fn has_namespace(&self, manifest: &Manifest<'_>) -> bool {
        let namespace = &manifest.key.names().namespace;
        namespace.is_empty() || self.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
    }

    fn selects(&self, manifest: &Manifest<'_>) -> bool {
        let name = GroupKindName::of(manifest.node).name;
        // What labels do not say may be said of anything.
        if !self.all && self.kind.is_none() && self.name.is_none() && !is_usual(manifest) {
            return false;
        }
        let labels = manifest.node.get_path(&["metadata", "labels"]);
        let label = |key: &str| labels?.get(key)?.scalar_text().map(SmolStr::as_str);
        self.kind.as_ref().is_none_or(|wanted| is_kind(&manifest.gvk, wanted))
            && self.name.as_ref().is_none_or(|wanted| name == *wanted)
            && self.labels.as_ref().is_none_or(|selector| selector.matches(label))
    }
}

/// What a patch names: each part that is there must be the manifest's.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedTarget {
    gvk: Gvk,
    namespace: SmolStr,
    name: SmolStr,
}

impl NamedTarget {
    pub fn of(patch: &Node) -> Self {
        // What is null takes away, and names nothing.
        let node = |path: &[&str]| patch.get_path(path).filter(|node| !node.is_null());
        let text = |path| node(path).and_then(Node::scalar_text).cloned().unwrap_or_default();
        let gvk = Gvk::from_manifest(&text(&["apiVersion"]), &text(&["kind"]));
        Self { gvk, namespace: text(&["metadata", "namespace"]), name: text(&["metadata", "name"]) }
    }

    /// Whether it names something that tells manifests apart. A namespace alone may be one to be set.
    fn names_something(&self) -> bool {
        self.gvk != Gvk::default() || !self.name.is_empty()
    }

    fn is_for(&self, node: &Node) -> bool {
        let namespace = GroupKindName::of(node).namespace;
        // A manifest without a namespace gets one where it is applied.
        let in_namespace = namespace.is_empty() || self.namespace.is_empty() || self.namespace == namespace;
        in_namespace && self.is_for_any_namespace(node)
    }

    /// The same, whatever namespace the manifest names.
    fn is_for_any_namespace(&self, node: &Node) -> bool {
        let (gvk, name) = (gvk_of(node), GroupKindName::of(node).name);
        let is = |wanted: &SmolStr, has: &SmolStr| wanted.is_empty() || wanted == has;
        let has_version = self.gvk.version.is_empty() || self.gvk.api_version() == gvk.api_version();
        has_version && is(&self.gvk.kind, &gvk.kind) && is(&self.name, &name)
    }

    /// Whether it names the very namespace that a manifest names.
    fn has_namespace(&self, node: &Node) -> bool {
        self.namespace == GroupKindName::of(node).namespace
    }

    /// How much of what it names a manifest has.
    fn likeness(&self, node: &Node) -> usize {
        let (gvk, name) = (gvk_of(node), GroupKindName::of(node).name);
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

/// Reports whether a manifest is a kustomization or component, by what it says or by the name of its file.
pub(super) fn is_kustomization(manifest: &Manifest<'_>) -> bool {
    manifest.gvk.group == KUSTOMIZE
}

/// Whether it has a kind, and does not say how others are built.
fn is_usual(manifest: &Manifest<'_>) -> bool {
    !manifest.gvk.kind.is_empty() && !is_kustomization(manifest)
}

/// The manifests that one may select from.
pub(super) struct PatchCandidates<'p> {
    selection: &'p ManifestSelection,
    is_directory: bool,
    manifests: Vec<Manifest<'p>>,
    /// The positions of those that are meant.
    meant: Vec<usize>,
}

impl<'p> PatchCandidates<'p> {
    /// Of manifests those that are asked for. The only document of a file that the user names is always meant.
    pub fn new(manifests: Vec<Manifest<'p>>, selection: &'p ManifestSelection, is_directory: bool) -> Self {
        let is_only = manifests.len() == 1 && !is_directory;
        let is_asked = selection.is_given();
        let is_meant = |manifest: &Manifest<'_>| {
            let is_asked_for =
                if is_asked { selection.selects(manifest) } else { is_only || is_usual(manifest) };
            is_asked_for && selection.has_namespace(manifest)
        };
        let meant = manifests.iter().enumerate().filter(|(_, manifest)| is_meant(manifest)).map(|(i, _)| i);
        Self { selection, is_directory, meant: meant.collect(), manifests }
    }

    pub fn manifests(&self) -> &[Manifest<'p>] {
        &self.manifests
    }

    /// The positions of the manifests that a patch is for.
    ///
    /// # Errors
    /// There are none; there are several, and neither the patch nor the user says which.
    pub fn targets(&self, target: &NamedTarget, patch: &Node) -> Result<Vec<usize>> {
        let is_asked = self.selection.is_given();
        let error = |message: String| Diagnostic::error(Code::NoMatch, message).at(patch.span().at_start());
        if self.meant.is_empty() {
            let what =
                if is_asked { "no manifest is what was asked for" } else { "there is nothing to patch" };
            let all: Vec<usize> = (0..self.manifests.len()).collect();
            let error = self.with_candidates(error(what.into()), &all, target);
            let help = self
                .nearest_asked()
                .unwrap_or_else(|| "kind, name and labels must be those of a manifest".into());
            return Err(error.help(help));
        }
        if !is_asked && !target.names_something() && self.meant.len() > 1 {
            let message = format!("this patch names no manifest, and there are {}", self.meant.len());
            let error = Diagnostic::error(Code::Ambiguous, message).at(patch.span().at_start());
            let error = self.with_candidates(error, &self.meant, target);
            return Err(error
                .help("say which are meant: by apiVersion, kind and name in the patch, or by a selection"));
        }
        let is_for = |i: &usize| target.is_for(self.manifests[*i].node);
        let found: Vec<usize> = self.meant.iter().copied().filter(is_for).collect();
        if !found.is_empty() {
            return self.of_namespace(found, target, patch);
        }
        let error = error(format!("this patch is for {target}, and there is no such manifest"));
        let passed_over =
            (0..self.manifests.len()).filter(|i| is_for(i)).any(|i| self.meant.binary_search(&i).is_err());
        let error = if passed_over && !is_asked {
            error.note(
                "kustomizations, and documents without a kind, are patched only when asked for: by kind, name, labels, \
                 or with all others",
            )
        } else {
            error
        };
        Err(self.with_candidates(error, &self.meant, target))
    }

    /// Of manifests that a patch may be for those in the namespace that it names. Where there are none, a manifest
    /// without a namespace would get one, and be another object: that is done only when asked for.
    ///
    /// # Errors
    /// There are only such, and the user does not say that they are meant.
    fn of_namespace(&self, found: Vec<usize>, target: &NamedTarget, patch: &Node) -> Result<Vec<usize>> {
        if target.namespace.is_empty() {
            return Ok(found);
        }
        let is_exact = |i: &usize| target.has_namespace(self.manifests[*i].node);
        let exact: Vec<usize> = found.iter().copied().filter(is_exact).collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let is_only = self.manifests.len() == 1 && !self.is_directory;
        if is_only || self.selection.is_given() {
            return Ok(found);
        }
        let namespace = &target.namespace;
        let message =
            format!("this patch is for {target} in namespace `{namespace}`, and no such manifest names one");
        let place = patch.get_path(&["metadata", "namespace"]).unwrap_or(patch).span();
        let error = Diagnostic::error(Code::NoMatch, message).at(place);
        let elsewhere = |i: &usize| target.is_for_any_namespace(self.manifests[*i].node);
        let near: Vec<usize> = self.meant.iter().copied().filter(elsewhere).collect();
        let error = self.with_candidates(error, &near, target);
        let known = near.iter().map(|&i| GroupKindName::of(self.manifests[i].node).namespace);
        let known: Vec<SmolStr> = known.filter(|known| !known.is_empty()).collect();
        let known: Vec<&str> = known.iter().map(SmolStr::as_str).collect();
        let error = suggestion(namespace, &known).into_iter().fold(error, Diagnostic::note);
        Err(error.help(format!(
            "leave the namespace out of the patch, or select the manifest by kind or name, to write `namespace: \
             {namespace}` into it"
        )))
    }

    /// What the user probably asks for.
    fn nearest_asked(&self) -> Option<String> {
        let suggested = |wanted: Option<&str>, of: &dyn Fn(&Manifest<'_>) -> SmolStr| {
            let wanted = wanted?;
            let known: Vec<SmolStr> = self.manifests.iter().map(of).collect();
            if known.iter().any(|known| known == wanted) {
                return None;
            }
            suggestion(wanted, &known.iter().map(SmolStr::as_str).collect::<Vec<_>>())
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
        suggested(kind, &|manifest| manifest.gvk.kind.clone())
            .or_else(|| suggested(name.as_deref(), &|manifest| GroupKindName::of(manifest.node).name))
    }

    /// Lists the manifests that there are, the likeliest first.
    fn with_candidates(&self, error: Diagnostic, positions: &[usize], target: &NamedTarget) -> Diagnostic {
        let mut near: Vec<&Manifest<'_>> = positions.iter().map(|&i| &self.manifests[i]).collect();
        near.sort_by_key(|manifest| std::cmp::Reverse(target.likeness(manifest.node)));
        let show = |manifest: &&Manifest<'_>| format!("{} in {}", manifest.shown(), manifest.path.display());
        let mut error = near.iter().take(LISTED).map(show).fold(error, Diagnostic::note);
        if near.len() > LISTED {
            error = error.note(format!("and {} more", near.len() - LISTED));
        }
        let help = nearest(&near, target).unwrap_or_else(|| {
            "a patch is for the manifests that have its apiVersion, kind and name, as far as it names them".into()
        });
        error.help(help)
    }
}

/// What was probably meant.
fn nearest(candidates: &[&Manifest<'_>], target: &NamedTarget) -> Option<String> {
    let kinds: Vec<Gvk> = candidates.iter().map(|manifest| gvk_of(manifest.node)).collect();
    let of_kind = |gvk: &Gvk| target.gvk.kind.is_empty() || gvk.kind == target.gvk.kind;
    if !kinds.iter().any(of_kind) {
        return suggestion(&target.gvk.kind, &kinds.iter().map(|gvk| gvk.kind.as_str()).collect::<Vec<_>>());
    }
    let same: Vec<(&Gvk, SmolStr)> = kinds
        .iter()
        .zip(candidates)
        .filter(|(gvk, _)| of_kind(gvk))
        .map(|(gvk, manifest)| (gvk, GroupKindName::of(manifest.node).name))
        .collect();
    let by_name = |(_, name): &&(&Gvk, SmolStr)| target.name.is_empty() || *name == target.name;
    match same.iter().find(by_name) {
        Some((gvk, _)) if gvk.api_version() != target.gvk.api_version() && !target.gvk.version.is_empty() => {
            Some(format!("its apiVersion is `{}`", gvk.api_version()))
        }
        Some(_) => None,
        None => suggestion(&target.name, &same.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>()),
    }
}
