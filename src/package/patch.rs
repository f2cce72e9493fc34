//! Patches of packages: which manifests a patch is for, and what becomes of them.

use super::change::ChangedPackage;
use super::manifest::{GroupKindName, Manifest, gvk_of, manifests};
use super::others::MergedFiles;
use super::plan::{NewValue, RewritePlan};
use super::read::Package;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::{Merged, Rules, apply};
use crate::patch::{JsonPatch, apply_json_merge, parse_json_patch};
use crate::schema::{Cursor, Schema};
use crate::yaml::Node;

/// What a patch is and by whose rules it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchKind {
    /// A strategic merge patch.
    Strategic(Rules),
    /// A JSON merge patch (RFC 7386).
    Merge,
    /// A JSON patch (RFC 6902).
    Json,
}

/// Patches, which are applied one after the other.
#[derive(Debug, Clone)]
pub struct Patches(Vec<TargetedPatch>);

#[derive(Debug, Clone)]
struct TargetedPatch {
    node: Node,
    kind: Kind,
    /// What it names: each part that is not empty must be the manifest's.
    target: GroupKindName,
}

#[derive(Debug, Clone)]
enum Kind {
    Strategic(Rules),
    Merge,
    Json(JsonPatch),
}

impl Patches {
    /// Reads patches; empty documents are passed over.
    ///
    /// # Errors
    /// None is left, or one is malformed.
    pub fn new(documents: Vec<Node>, kind: &PatchKind) -> Result<Self> {
        let patches = documents.into_iter().filter(|node| !node.is_null());
        let patches: Vec<_> = patches.map(|node| TargetedPatch::new(node, kind)).collect::<Result<_>>()?;
        if patches.is_empty() {
            return Err(Diagnostic::error(Code::MissingField, "the patch is empty"));
        }
        Ok(Self(patches))
    }
}

impl TargetedPatch {
    fn new(node: Node, kind: &PatchKind) -> Result<Self> {
        let kind = match kind {
            PatchKind::Strategic(rules) => Kind::Strategic(*rules),
            PatchKind::Merge => Kind::Merge,
            PatchKind::Json => Kind::Json(parse_json_patch(&node)?),
        };
        let is_json = matches!(kind, Kind::Json(_));
        if !is_json && node.as_map().is_none() {
            let message = format!("a patch of this type must be a map, not {}", node.type_name());
            return Err(Diagnostic::error(Code::WrongType, message)
                .at(node.span().at_start())
                .help("for a JSON patch, a list of operations, say --type json"));
        }
        let target = if is_json { GroupKindName::of(&Node::null()) } else { GroupKindName::of(&node) };
        Ok(Self { node, kind, target })
    }

    /// Whether it is for a manifest. What neither says does not tell them apart.
    fn is_for(&self, node: &Node) -> bool {
        let (want, have) = (&self.target, GroupKindName::of(node));
        let fits = |want: &str, have: &str| want.is_empty() || have.is_empty() || want == have;
        // Without a kind there is no group to compare.
        let group = want.kind.is_empty() || have.kind.is_empty() || want.group == have.group;
        group
            && fits(&want.kind, &have.kind)
            && fits(&want.name, &have.name)
            && fits(&want.namespace, &have.namespace)
    }

    /// The API server refuses strategic patches of what it has no types for.
    fn check_schema(&self, manifest: &Manifest<'_>, known: bool) -> Result<()> {
        if known || !matches!(self.kind, Kind::Strategic(Rules::Apiserver)) {
            return Ok(());
        }
        let what = match gvk_of(manifest.node) {
            gvk if gvk.kind.is_empty() => "a document without a kind".to_string(),
            gvk => gvk.to_string(),
        };
        Err(Diagnostic::error(Code::NoSchema, format!("no schema is known for {what}"))
            .at(manifest.node.span().at_start())
            .help("name one with --schema (and --schema-type), or use --type=merge or --dialect=overlay"))
    }

    fn apply(&self, mut node: Node, schema: &Schema, kind: Cursor<'_>) -> Result<Merged> {
        match &self.kind {
            Kind::Strategic(rules) => return apply(node, &self.node, kind, schema, *rules),
            Kind::Merge => apply_json_merge(&mut node, &self.node),
            Kind::Json(patch) => patch.apply(&mut node)?,
        }
        Ok(Merged::of(Some(node)))
    }
}

/// Applies each patch to the manifests of the kind, name and namespace that it names; to all when it
/// names none. `type_name` is the definition of manifests without a kind.
///
/// # Errors
/// As the patch's own rules; a patch that is for no manifest; a type that the schema does not have.
pub fn patch_package(
    package: &Package,
    patches: &Patches,
    schema: &Schema,
    type_name: Option<&str>,
) -> Result<ChangedPackage> {
    let type_of_rest = match type_name {
        None => Cursor::unknown(),
        Some(name) => schema.named(name).ok_or_else(|| {
            Diagnostic::error(Code::NoMatch, format!("the schema has no type `{name}`"))
                .help("name a definition of the document given with --schema")
        })?,
    };
    let manifests = manifests(package);
    let mut used = vec![false; patches.0.len()];
    let mut plan = RewritePlan::new(package);
    for manifest in &manifests {
        let gvk = gvk_of(manifest.node);
        let cursor = schema.kind(&gvk).unwrap_or(type_of_rest);
        let known = type_name.is_some() || cursor.is_known();
        let mut warnings = Vec::new();
        let mut node = Some(manifest.node.clone());
        for (patch, used) in patches.0.iter().zip(&mut used).filter(|(patch, _)| patch.is_for(manifest.node))
        {
            *used = true;
            patch.check_schema(manifest, known)?;
            let Some(before) = node else { break };
            let merged = patch.apply(before, schema, cursor).map_err(|e| e.resource(&manifest.key))?;
            warnings.extend(merged.warnings);
            node = merged.node;
        }
        plan.warn(warnings.into_iter().map(|warning| warning.resource(&manifest.key)));
        match node {
            Some(node) => plan.change(manifest, NewValue::of(manifest, node, schema)),
            None => plan.remove(manifest),
        }
    }
    match used.iter().zip(&patches.0).find(|(used, _)| !**used) {
        Some((_, patch)) => Err(for_nothing(patch, &manifests)),
        None => plan.finish(MergedFiles::default()),
    }
}

fn for_nothing(patch: &TargetedPatch, manifests: &[Manifest<'_>]) -> Diagnostic {
    let message = if manifests.is_empty() {
        "there is nothing to patch"
    } else {
        "this patch is for none of the resources"
    };
    Diagnostic::error(Code::NoMatch, message)
        .at(patch.node.span().at_start())
        .help("a patch is for the resources of its kind, name and namespace, as far as it names them")
}
