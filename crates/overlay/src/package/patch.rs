//! Patches packages: finds the targets of each patch and applies it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::change::ChangedPackage;
use super::lost::{Losses, UnmatchedEntry, ineffective_entries};
use super::manifest::{Manifest, gvk_of, manifests};
use super::other_files::MergedFiles;
use super::plan::{NewValue, RewritePlan};
use super::read::Package;
use super::removals::{locate_at_removal, removals};
use super::schema_violations::new_violations;
use super::secret::{cannot_hold_secrets, is_secret};
use super::selection::{ManifestSelection, NamedTarget, PatchCandidates, is_kustomization};
use smp_merge::merge::directive::PATCH_MERGE_KEY;
use smp_merge::merge::{Exceptions, MergeRules, Merged, PatchRules, Rules, UnmatchedDeletions};
use smp_merge::patch::{
    ApplyOptions, JsonPatch, JsonPatchOptions, PatchType, apply, check_numbers, check_strategic_support,
    parse_json_patch,
};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::path::PathElement;
use smp_text::source::{SourceId, Span};
use smp_text::yaml::{Node, Style, Tag, Value};

/// Patches that are applied in order.
#[derive(Debug, Clone)]
pub struct Patches(Vec<TargetedPatch>);

#[derive(Debug, Clone)]
struct TargetedPatch {
    node: Node,
    /// Source of the patch. Its lines are not shown if the patch targets a Secret.
    source: SourceId,
    patch_type: PatchType,
    /// Parsed operations of a JSON patch.
    json: Option<JsonPatch>,
    target: NamedTarget,
}

/// Options of [`patch_package`].
#[derive(Debug, Clone)]
pub struct PackagePatchOptions {
    /// Rules by which strategic merge patches are applied.
    pub rules: Rules,
    /// Restricts the targets, in addition to the identities in the patches.
    pub selection: ManifestSelection,
    /// Schema definition used for manifests without a kind.
    pub type_name: Option<String>,
    /// The handling of strategic merge patches for custom resources under the API server's rules.
    pub custom_kinds: CustomKinds,
    /// Returns true if kustomizations have a field of this name. Their schema only has the lists that merge by keys or as
    /// sets.
    pub is_kustomization_field: fn(&str) -> bool,
}

impl Default for PackagePatchOptions {
    /// Uses the API server's rules, which reject strategic merge patches of custom resources.
    fn default() -> Self {
        let (selection, custom_kinds) = (ManifestSelection::default(), CustomKinds::default());
        let rules = PatchRules::Apiserver.into();
        Self { rules, selection, type_name: None, custom_kinds, is_kustomization_field: |_| true }
    }
}

impl PackagePatchOptions {
    /// Returns the strategic merge rules for a manifest. Kustomizations always use the overlay rules: no API
    /// server accepts them, and their lists merge by name.
    fn rules_for(&self, manifest: &Manifest<'_>) -> Rules {
        match self.rules {
            Rules::Patch(PatchRules::Apiserver) if is_kustomization(manifest) => PatchRules::Overlay.into(),
            rules => rules,
        }
    }
}

/// The handling of strategic merge patches for custom resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CustomKinds {
    /// Rejected, as by the API server.
    #[default]
    Rejected,
    /// Applied with the schema that was given for them.
    Patched,
}

impl Patches {
    /// Parses patches. Empty documents are skipped.
    ///
    /// # Errors
    /// All documents are empty, or one is malformed.
    pub fn new(documents: Vec<Node>, patch_type: PatchType) -> Result<Self> {
        let patches = documents.into_iter().filter(|node| !node.is_null());
        let patches: Vec<_> =
            patches.map(|node| TargetedPatch::new(node, patch_type)).collect::<Result<_>>()?;
        if patches.is_empty() {
            return Err(Diagnostic::error(Code::InvalidValue, "the patch is empty"));
        }
        Ok(Self(patches))
    }
}

impl TargetedPatch {
    fn new(node: Node, patch_type: PatchType) -> Result<Self> {
        check_numbers(&node)?;
        let source = node.span().source;
        let node = restyled(node);
        let is_json = patch_type == PatchType::Json;
        let json = if is_json { Some(parse_json_patch(&node)?) } else { None };
        if !is_json && node.as_map().is_none() {
            let message = format!("expected a map for a patch of this type, found {}", node.type_name());
            return Err(Diagnostic::error(Code::WrongType, message)
                .at(node.span().at_start())
                .help("use patch type `json` for a list of operations"));
        }
        let target = if is_json { NamedTarget::default() } else { NamedTarget::from_patch(&node) };
        Ok(Self { node, source, patch_type, json, target })
    }

    /// Rejects strategic merge patches of kinds that are not built into the API server.
    fn check_schema(
        &self,
        manifest: &Manifest<'_>,
        kind: Cursor<'_>,
        options: &PackagePatchOptions,
    ) -> Result<()> {
        let is_given = options.custom_kinds == CustomKinds::Patched && kind.is_known();
        let is_for_server = options.rules_for(manifest) == Rules::Patch(PatchRules::Apiserver);
        if is_given || self.patch_type != PatchType::Strategic || !is_for_server {
            return Ok(());
        }
        check_strategic_support(manifest.node)
    }

    /// Adds the location of the patch, if the error has none, and the file of the manifest.
    fn locate_error(&self, error: Diagnostic, manifest: &Manifest<'_>) -> Diagnostic {
        let has_location = !error.labels().is_empty();
        let error = if has_location { error } else { error.at(self.node.span().at_start()) };
        error.note(format!("target: {} in {}", manifest.display_name(), manifest.path.display()))
    }

    fn apply(&self, mut node: Node, schema: &Schema, kind: Cursor<'_>, rules: Rules) -> Result<Merged> {
        if let Some(operations) = &self.json {
            let warnings =
                operations.apply_with_warnings(&mut node, JsonPatchOptions::default())?.into_warnings();
            return Ok(Merged { warnings, ..Merged::from_node(Some(node)) });
        }
        let options = ApplyOptions::default().rules(rules).kind(kind).schema(schema);
        let is_lossy = rules == Rules::Merge(MergeRules::Kustomize { exceptions: Exceptions::None });
        if !is_lossy || self.patch_type != PatchType::Strategic {
            return apply(node, &self.node, self.patch_type, &options);
        }
        let mut merged = apply(node.clone(), &self.node, self.patch_type, &options)?;
        let warnings = self.lost_by_kustomize(&node, merged.node.as_ref(), &options);
        merged.warnings.extend(warnings);
        Ok(merged)
    }

    /// Returns warnings for data that kustomize loses silently and that builds reject, for example if it keeps only one
    /// of several entries with equal keys.
    fn lost_by_kustomize(
        &self,
        node: &Node,
        merged: Option<&Node>,
        options: &ApplyOptions<'_>,
    ) -> Vec<Diagnostic> {
        let careful = options.rules(MergeRules::Kustomize { exceptions: Exceptions::Documented });
        let refused = apply(node.clone(), &self.node, self.patch_type, &careful).err();
        let refused = refused
            .map(|error| error.into_warning().note("kustomize merges this list anyway and may drop entries"));
        let lost = merged.map_or_else(Vec::new, |merged| self.lost_entries(node, merged, options));
        refused.into_iter().chain(lost).chain(patch_merge_key_warnings(&self.node)).collect()
    }

    /// Returns a warning for each list entry that kustomize's rules lose: one that the API server's rules or the
    /// overlay rules keep, or one of the patch that is not in the result. An entry is not reported if the result agrees
    /// with one of the two other sets of rules, because it is then only merged by another key.
    fn lost_entries(&self, node: &Node, merged: &Node, options: &ApplyOptions<'_>) -> Vec<Diagnostic> {
        let mut patch = self.node.clone();
        remove_patch_merge_keys(&mut patch);
        let losses = |rules: PatchRules| {
            let expected = apply(node.clone(), &patch, self.patch_type, &options.rules(rules)).ok()?.node?;
            Some(Losses::between(&expected, merged, options.kind))
        };
        let (server, overlay) =
            (losses(PatchRules::Apiserver), losses(PatchRules::Overlay).unwrap_or_default());
        let is_refused = server.is_none();
        let server = server.unwrap_or_default();
        let mut reported = FxHashSet::default();
        let lost_by_server_rules = server.lost.iter().filter(|lost| !overlay.kept.contains(&lost.span));
        // The API server's rules may merge an entry of the patch into another entry. If that entry is lost, only the
        // overlay rules show that the entry of the patch is lost, too.
        let lost_by_overlay_rules = overlay.lost.iter().filter(|lost| {
            is_refused || lost.span.source == self.source && !server.kept.contains(&lost.span)
        });
        let mut lost: Vec<&UnmatchedEntry> = lost_by_server_rules
            .chain(lost_by_overlay_rules)
            .filter(|lost| reported.insert(lost.span))
            .collect();
        let missing = ineffective_entries(&patch, merged, options.kind);
        let known: FxHashSet<&[PathElement]> = lost.iter().map(|lost| lost.list()).collect();
        lost.extend(missing.iter().filter(|missing| !known.contains(missing.list())));
        let left = entry_spans(merged);
        lost.into_iter().map(|lost| lost.warning(left.contains(&lost.span))).collect()
    }
}

impl UnmatchedEntry {
    fn warning(&self, is_left: bool) -> Diagnostic {
        let message = if is_left {
            "kustomize confuses entries of this list and does not apply the patch to this one"
        } else {
            "kustomize confuses entries of this list and drops this one"
        };
        Diagnostic::warning(Code::Ambiguous, message)
            .field(&self.path)
            .at(self.span)
            .help(
                "kustomize identifies entries by fewer merge keys if an entry lacks one: set all merge keys on each entry \
                 of the list and the patch, each combination once, or use --dialect schema or apiserver",
            )
    }
}

/// Returns the locations of the entries of all lists.
fn entry_spans(node: &Node) -> FxHashSet<Span> {
    node.nodes().filter_map(Node::as_list).flatten().map(Node::span).collect()
}

/// Removes `$patchMergeKey` directives, which kustomize does not support.
fn remove_patch_merge_keys(node: &mut Node) {
    node.for_each_mut(&mut |node| drop(node.as_map_mut().and_then(|map| map.remove(PATCH_MERGE_KEY))));
}

/// Applies each patch to the manifests with the patch's apiVersion, kind and name that the options select.
///
/// # Errors
/// Any error of applying a patch. A patch matches no manifest, or identifies no target while the package has several
/// manifests. A type is not in the schema.
pub fn patch_package(
    package: &Package,
    patches: &Patches,
    schema: &Schema,
    options: &PackagePatchOptions,
) -> Result<ChangedPackage> {
    let fallback_type = fallback_type(schema, options)?;
    let candidates = PatchCandidates::new(manifests(package), &options.selection, package.is_directory());
    let by_manifest = patches_of(&candidates, patches, package)?;
    let mut plan = RewritePlan::new(package);
    let mut absences = UnmatchedDeletions::default();
    let patched = candidates.manifests().iter().zip(&by_manifest).filter(|(_, patches)| !patches.is_empty());
    let kind_of = |manifest: &Manifest<'_>| {
        // The user chose the type for the only document, whatever its kind.
        let is_meant = candidates.manifests().len() == 1 || gvk_of(manifest.node).kind.is_empty();
        let rest = if is_meant { fallback_type } else { Cursor::unknown() };
        schema.kind(&schema_kind(manifest)).unwrap_or(rest)
    };
    check_schemas(patched.clone(), kind_of, options)?;
    for (manifest, patches) in patched {
        let kind = kind_of(manifest);
        let named = |error: Diagnostic| error.resource(manifest);
        let mut node = Some(manifest.node.clone());
        for patch in patches {
            let failed = |error| named(patch.locate_error(error, manifest));
            let Some(before) = node else { break };
            if patch.patch_type == PatchType::Strategic {
                // `violations_by` reports fields missing from the result.
                drop(absences.check(&before, &patch.node, kind, manifest));
            }
            let merged = patch.apply(before, schema, kind, options.rules_for(manifest)).map_err(failed)?;
            plan.add_warnings(merged.warnings.into_iter().map(named));
            node = merged.node;
            if let Some(after) = &node {
                check_identity(manifest.node, after).map_err(failed)?;
            }
        }
        match node {
            Some(node) => {
                plan.add_warnings(violations_by(patches, manifest, &node, kind, options).map(named));
                plan.change(manifest, NewValue::new(manifest, node, schema));
            }
            None => plan.remove(manifest),
        }
    }
    plan.add_warnings(absences.into_warnings());
    plan.finish(MergedFiles::default())
}

/// Returns the kind whose schema is used for merging: the kind of the manifest, or for a kustomization without a kind
/// the one that its file name implies.
fn schema_kind(manifest: &Manifest<'_>) -> Gvk {
    if is_kustomization(manifest) { manifest.gvk.clone() } else { gvk_of(manifest.node) }
}

/// Returns warnings for schema violations that the patches introduced, located in the patches.
fn violations_by(
    patches: &[&TargetedPatch],
    manifest: &Manifest<'_>,
    after: &Node,
    kind: Cursor<'_>,
    options: &PackagePatchOptions,
) -> impl Iterator<Item = Diagnostic> {
    let before = manifest.node;
    let forbidden = new_violations(before, after, kind);
    let is_missing = forbidden.iter().any(|warning| warning.code() == Code::MissingField);
    let nodes: Vec<&Node> = patches.iter().map(|patch| &patch.node).collect();
    let removed = if is_missing { removals(&nodes, [before, after]) } else { FxHashMap::default() };
    let located = forbidden.into_iter().map(move |warning| locate_at_removal(warning, &removed));
    let is_known = is_kustomization(manifest).then_some(options.is_kustomization_field);
    located.filter_map(move |warning| match is_known {
        Some(is_known) => violation_of_kustomization(warning, is_known),
        None => Some(warning),
    })
}

/// Corrects a warning about a kustomization. Returns `None` for a field that kustomize knows.
fn violation_of_kustomization(warning: Diagnostic, is_known: fn(&str) -> bool) -> Option<Diagnostic> {
    let Some(name) = warning.field_path().filter(|_| warning.code() == Code::UnknownField) else {
        return Some(warning);
    };
    if is_known(name) {
        return None;
    }
    let unknown = Diagnostic::warning(Code::UnknownField, warning.message()).field(name);
    let unknown = unknown.help("kustomize rejects unknown fields");
    Some(match warning.labels().first() {
        Some(label) => unknown.at(label.span),
        None => unknown,
    })
}

/// Checks that the API server would accept all strategic merge patches.
///
/// # Errors
/// Reports one error per kind that does not support them.
fn check_schemas<'a>(
    patched: impl Iterator<Item = (&'a Manifest<'a>, &'a Vec<&'a TargetedPatch>)>,
    kind_of: impl Fn(&Manifest<'a>) -> Cursor<'a>,
    options: &PackagePatchOptions,
) -> Result<()> {
    let (mut refused, mut reported) = (Problems::default(), FxHashSet::default());
    for (manifest, patches) in patched {
        let check = |patch: &&TargetedPatch| {
            let checked = patch.check_schema(manifest, kind_of(manifest), options);
            checked.map_err(|error| patch.locate_error(error, manifest).resource(manifest)).err()
        };
        let Some(error) = patches.iter().find_map(check) else { continue };
        if reported.insert(&manifest.gvk) {
            refused.add(error);
        }
    }
    refused.into_result(())
}

/// Returns the patches of each manifest. Lines are hidden for patches of a Secret, and for patches without a known
/// target if the package has a Secret. For targets that cannot hold secrets, only the values of secret keys are hidden.
///
/// # Errors
/// A patch that matches no manifest or is ambiguous.
fn patches_of<'a>(
    candidates: &PatchCandidates<'_>,
    patches: &'a Patches,
    package: &Package,
) -> Result<Vec<Vec<&'a TargetedPatch>>> {
    let manifests = candidates.manifests();
    let mut by_manifest = vec![Vec::new(); manifests.len()];
    for patch in &patches.0 {
        let targets = candidates.targets(&patch.target, &patch.node);
        let is_secret = match &targets {
            Ok(targets) => targets.iter().any(|&target| is_secret(manifests[target].key.names())),
            Err(_) => package.has_secrets(),
        };
        let is_plain = |targets: &Vec<usize>| {
            targets.iter().all(|&target| cannot_hold_secrets(manifests[target].key.names()))
        };
        if is_secret {
            package.sources().mark_secret(patch.source);
        } else if targets.as_ref().is_ok_and(is_plain) {
            package.sources().mark_public(patch.source);
        }
        targets?.into_iter().for_each(|target| by_manifest[target].push(patch));
    }
    Ok(by_manifest)
}

/// Returns the type to use for manifests without a kind.
fn fallback_type<'s>(schema: &'s Schema, options: &PackagePatchOptions) -> Result<Cursor<'s>> {
    let Some(name) = &options.type_name else { return Ok(Cursor::unknown()) };
    schema.named(name).ok_or_else(|| {
        Diagnostic::error(Code::NoMatch, format!("the schema has no type `{name}`"))
            .help("use the name of a definition in the schema document")
    })
}

/// Returns a warning for each `$patchMergeKey`, which kustomize treats as an ordinary field.
fn patch_merge_key_warnings(node: &Node) -> Vec<Diagnostic> {
    let directives = node.nodes().filter_map(Node::as_map).filter_map(|map| map.get(PATCH_MERGE_KEY));
    let warnings = directives.map(|directive| {
        let message =
            format!("kustomize does not support `{PATCH_MERGE_KEY}` and treats it as an ordinary field");
        Diagnostic::warning(Code::Directive, message)
            .at(directive.span())
            .help("use --dialect schema or apiserver, which support it")
    });
    warnings.collect()
}

/// The fields that identify an object.
const IDENTITY: [&[&str]; 4] =
    [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];

/// Checks that a patch does not change the identity of a manifest. Missing identity fields may be added.
///
/// # Errors
/// The identity changed or was removed. The API server rejects renamed objects (422) and objects without a kind.
fn check_identity(before: &Node, after: &Node) -> Result<()> {
    let text = |node: &Node, path: &[&str]| node.get_path(path).and_then(Node::scalar_text).cloned();
    for path in IDENTITY {
        let Some(was) = text(before, path) else { continue };
        let (is, name) = (text(after, path), path.join("."));
        if is.as_ref() == Some(&was) {
            continue;
        }
        let message = match &is {
            Some(is) => format!("patch changes the identity of the object from `{was}` to `{is}`"),
            None => format!("patch removes the identifying value `{was}` of the object"),
        };
        let error = Diagnostic::error(Code::InvalidValue, message).field(name.as_str());
        let error = match after.get_path(path) {
            Some(node) => error.at(node.span()),
            None => error,
        };
        return Err(
            error.help("the API server rejects this change: edit the file to turn it into another object")
        );
    }
    Ok(())
}

/// Changes the style of a JSON patch to block style, so that added values look like the rest of the manifest.
fn restyled(mut node: Node) -> Node {
    if node.meta.style == Style::Flow {
        restyle(&mut node);
    }
    node
}

fn restyle(node: &mut Node) {
    node.for_each_mut(&mut |node| {
        let is_string = node.as_str().is_some();
        match &mut node.value {
            Value::Scalar(_) if is_string => (node.meta.style, node.meta.tag) = (Style::Plain, Tag::Str),
            Value::Scalar(_) => {}
            Value::List(_) => node.meta.style = Style::Block,
            Value::Map(map) => {
                map.entries_mut().iter_mut().for_each(|entry| entry.key.meta.style = Style::Plain);
                node.meta.style = Style::Block;
            }
        }
    });
}
