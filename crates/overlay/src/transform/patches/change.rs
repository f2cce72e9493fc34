//! Changing one resource by a patch, with all that kustomize does before and after.

use std::sync::Arc;

use smol_str::SmolStr;

use super::args::{PatchContext, PatchOptions};
use super::load::LoadedJsonPatch;
use crate::resource::{Copied, ResId, Resource};
use smp_merge::merge::{Absences, merge2};
use smp_merge::patch::{JsonPatch, JsonPatchOptions};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result, Warned};
use smp_text::gocompat::strconv::format_float;
use smp_text::yaml::{
    FieldPositions, Map, Node, Resolved, Style, Tag, Value, reread, style_of_string, to_json,
};

/// A strategic merge patch, ready to be merged into resources.
pub(super) struct StrategicPatch {
    node: Arc<Node>,
    options: PatchOptions,
    /// Whether it was prepared for any resource that a target selects.
    selected: bool,
}

impl StrategicPatch {
    /// A patch for the resource that it names.
    pub(super) fn own(patch: Resource, options: PatchOptions) -> Warned<Self> {
        let warnings = warning_of_replacement(patch.node()).into_iter().collect();
        Warned { value: Self { node: Arc::new(patch.into_node()), options, selected: false }, warnings }
    }

    /// A patch for all resources that a target selects, prepared as kustomize does: its labels and
    /// annotations become strings. A null there, which is meant to remove one, becomes a text, too.
    pub(super) fn selected(mut patch: Resource, options: PatchOptions) -> Warned<Self> {
        let mut warnings: Vec<_> = warning_of_replacement(patch.node()).into_iter().collect();
        for field in ["labels", "annotations"] {
            let values = patch.node().get_path(&["metadata", field]).and_then(Node::as_map);
            for (key, value) in values.into_iter().flat_map(Map::iter).filter(|(_, value)| value.is_null()) {
                let text = raw_text(value);
                let message = format!("`{key}` is not removed; kustomize v5.8 sets it to the text `{text}`");
                let place = format!("metadata.{field}.{key}");
                let warning = Diagnostic::warning(Code::InvalidValue, message).at(value.span()).field(place);
                warnings.push(warning.help("remove it by a JSON patch"));
            }
            texts_of(&mut patch, field);
        }
        Warned { value: Self { node: Arc::new(patch.into_node()), options, selected: true }, warnings }
    }

    /// How much it is.
    pub(super) fn bytes(&self) -> usize {
        self.node.size().bytes
    }

    /// Merges the patch into a resource, which is empty afterwards when the patch deletes it. Name,
    /// kind and namespace stay unless the options allow a change. Returns whether the id did change.
    ///
    /// # Errors
    /// The patch does not fit. The resource is lost then, and with it the set that it is in.
    pub(super) fn merge_into(
        &self,
        resource: &mut Resource,
        context: &PatchContext<'_>,
        absences: &mut Absences,
    ) -> Result<Warned<bool>> {
        let id = resource.id().clone();
        // Places are asked for only where somebody keeps histories.
        let identity = resource.history.is_some().then(|| resource.identity());
        if self.options.allow_name_change || self.options.allow_kind_change {
            resource.store_previous_id();
        }
        if is_replacement(&self.node) {
            return Ok(false.into());
        }
        // Who asks for causes is told of mistakes, and only of those that are: what is patched wrongly stays as it was.
        let unpatched = resource.history.is_some().then(|| resource.node().clone());
        let patch = self.for_api_version(&id.gvk.api_version());
        let patch = patch.as_ref().unwrap_or(&self.node);
        let kind = context.schema.kind(&id.gvk).unwrap_or_else(Cursor::unknown);
        let mut merge = |resource: &mut Resource| {
            let dest = std::mem::replace(resource.node_mut(), Node::map(Map::new()));
            resource.required_removed.extend(absences.note(&dest, patch, kind, &id));
            let merged = merge2(Some(dest), patch, context.schema, context.merge)?;
            *resource.node_mut() = merged.node.unwrap_or_else(|| Node::map(Map::new()));
            Ok(merged.warnings)
        };
        // Only a patch of annotations can meet the notes of the build there.
        let touches = |metadata: &Node| ["annotations", "$patch"].iter().any(|f| metadata.get(f).is_some());
        let meets_notes = patch.get("metadata").is_some_and(touches);
        let merged = if meets_notes { resource.with_build_annotations(&mut merge) } else { merge(resource) };
        if merged.is_err()
            && let Some(unpatched) = unpatched
        {
            *resource.node_mut() = unpatched;
        }
        let replaced = merged.map_err(|error: Diagnostic| {
            let error = if error.labels().is_empty() { error.at(patch.span().at_start()) } else { error };
            error.resource(&id)
        })?;
        let warnings = replaced.into_iter().map(|warning| warning.resource(&id));
        let warnings = warnings.chain(context.schema.merge_note(&id.gvk).cloned()).collect();
        self.restore_id(resource, &id, context.schema);
        if let Some(identity) = identity {
            resource.keep_identity(identity);
        }
        note_patch(resource, &self.node);
        Ok(Warned { value: !resource.is_empty() && is_other(&id, resource), warnings })
    }

    /// Gives a patched resource back what the patch may not change.
    fn restore_id(&self, resource: &mut Resource, id: &ResId, schema: &Schema) {
        if resource.is_empty() {
            return;
        }
        resource.spread_shared();
        if !self.options.allow_kind_change {
            resource.set_kind(&id.gvk.kind, schema);
        }
        if !self.options.allow_name_change {
            resource.set_name(&id.name);
        }
        resource.set_namespace(&id.namespace);
        resource.sync(schema);
        if self.selected && id.gvk.version.is_empty() {
            // kustomize sets the version that it found, even when it found none.
            if let Some(map) = resource.node_mut().as_map_mut() {
                map.insert("apiVersion", Node::null());
            }
        }
    }

    /// The patch with the version of the resource that it meets, when it was selected for it and
    /// has another.
    fn for_api_version(&self, version: &SmolStr) -> Option<Node> {
        let own = self.node.get("apiVersion").and_then(Node::scalar_text);
        if !self.selected || own == Some(version) {
            return None;
        }
        let mut node = Node::clone(&self.node);
        if let Some(map) = node.as_map_mut() {
            if version.is_empty() {
                map.remove("apiVersion");
            } else {
                map.insert("apiVersion", Node::plain(version.clone()));
            }
        }
        Some(node)
    }
}

fn note_patch(resource: &mut Resource, patch: &Arc<Node>) {
    if let Some(history) = &mut resource.history {
        history.patched_by(patch);
    }
}

/// Whether the patch says of itself that it takes the place of the whole resource, which kustomize
/// v5.8 computes and then forgets.
fn is_replacement(patch: &Node) -> bool {
    patch.get("$patch").is_some_and(|directive| raw_text(directive) == "replace")
}

fn warning_of_replacement(patch: &Node) -> Option<Diagnostic> {
    let directive = patch.get("$patch").filter(|_| is_replacement(patch))?;
    let message = "this patch changes nothing; kustomize v5.8 does not replace whole resources";
    let help = "delete the resource by `$patch: delete` and add the new one to `resources`";
    Some(Diagnostic::warning(Code::Directive, message).at(directive.span()).help(help))
}

/// A JSON patch, ready to be applied to resources.
pub(super) struct ResourcePatch<'p> {
    patch: &'p JsonPatch,
    operations: &'p Arc<Node>,
    /// What comes to the same for a resource that was patched before, without a look at all of it: the patch leaves
    /// alone what identifies the resource, and its values have passed through JSON.
    small: Option<JsonPatch>,
}

/// What is known of a resource that a JSON patch has changed, as long as nothing else does.
#[derive(Default)]
pub(super) struct OpenResource {
    /// Whether another pass through JSON would change nothing.
    settled: bool,
    positions: FieldPositions<SmolStr>,
}

impl<'p> ResourcePatch<'p> {
    pub(super) fn new(LoadedJsonPatch { patch, operations }: &'p LoadedJsonPatch) -> Self {
        let identifies = |field: Option<SmolStr>| {
            field.is_none_or(|field| matches!(field.as_str(), "apiVersion" | "kind" | "metadata"))
        };
        let is_small = patch.is_simple() && !patch.fields().any(identifies);
        let small = is_small.then(|| {
            let mut small = patch.clone();
            let settled = small.written_mut().all(settle);
            settled.then_some(small)
        });
        Self { patch, operations, small: small.flatten() }
    }

    /// Records the patch in the history of a resource that it was applied to.
    pub(super) fn note_in(&self, resource: &mut Resource) {
        note_patch(resource, self.operations);
    }

    /// Whether a resource is as it was when the patch fails [on the short way](Self::apply_small).
    pub(super) fn is_all_or_nothing(&self) -> bool {
        self.patch.changes_at_its_end()
    }

    /// As [`json`], for a resource that such a patch has changed before. None when that is not enough.
    pub(super) fn apply_small(
        &self,
        resource: &mut Resource,
        open: &mut OpenResource,
        copied: &mut Copied,
    ) -> Option<Result<Vec<Diagnostic>>> {
        let small = self.small.as_ref()?;
        if !open.settled {
            reread(resource.node_mut());
            if let Err(error) = through_json(resource.node_mut()) {
                return Some(Err(error));
            }
            open.settled = true;
        }
        let patched = small.apply_open(resource.node_mut(), &mut open.positions);
        Some(patched.and_then(|patched| copied.add(patched.copied).map(|()| patched.warnings)))
    }
}

/// Makes of a value what two passes through JSON make of it. Returns whether one would do: the second takes place
/// only when there is another patch.
fn settle(value: &mut Node) -> bool {
    if through_json(value).is_err() {
        return false;
    }
    let mut again = value.clone();
    reread(&mut again);
    through_json(&mut again).is_ok() && is_written_alike(value, &again)
}

fn is_written_alike(a: &Node, b: &Node) -> bool {
    let meta = (a.meta.style, a.meta.tag) == (b.meta.style, b.meta.tag);
    meta && match (&a.value, &b.value) {
        (Value::Scalar(a), Value::Scalar(b)) => a == b,
        (Value::Map(a), Value::Map(b)) => a
            .iter()
            .map(|(_, value)| value)
            .zip(b.iter().map(|(_, value)| value))
            .all(|(a, b)| is_written_alike(a, b)),
        (Value::List(a), Value::List(b)) => a.iter().zip(b).all(|(a, b)| is_written_alike(a, b)),
        _ => false,
    }
}

/// Changes a resource by a JSON patch. Returns whether its id did change.
///
/// As in kustomize the whole resource passes through JSON, where all numbers are floats, and its
/// annotations become strings. What the patch copies is added to `copied`.
pub(super) fn json(
    resource: &mut Resource,
    patch: &ResourcePatch<'_>,
    schema: &Schema,
    copied: &mut Copied,
) -> Result<Warned<bool>> {
    let id = resource.id().clone();
    let warnings = resource.with_build_annotations_kept(|resource| {
        reread(resource.node_mut());
        let patched = patch.patch.apply_noting(resource.node_mut(), JsonPatchOptions::kubernetes())?;
        copied.add(patched.copied).map(|()| patched.warnings)
    })?;
    if resource.node().as_map().is_none() {
        let message = format!("the patch leaves {} where a resource must be", resource.node().type_name());
        return Err(Diagnostic::error(Code::WrongType, message));
    }
    through_json(resource.node_mut())?;
    resource.part_shared();
    texts_of(resource, "annotations");
    resource.sync(schema);
    if resource.id().gvk.kind.is_empty() || resource.id().name.is_empty() {
        let message = "the patch leaves a resource without kind or name";
        return Err(Diagnostic::error(Code::MissingField, message));
    }
    Ok(Warned { value: is_other(&id, resource), warnings })
}

/// Whether a resource has another id now; a namespace that is written out makes another one.
fn is_other(id: &ResId, resource: &Resource) -> bool {
    resource.id() != id || resource.id().namespace != id.namespace
}

/// The text of a scalar, whatever its type; maps and lists have none.
fn raw_text(node: &Node) -> &str {
    node.scalar_text().map_or("", |text| text.as_str())
}

/// Makes the values of `metadata.labels` or `metadata.annotations` strings, sorted by key; drops
/// the field when it is empty. They stand where they stood.
fn texts_of(resource: &mut Resource, field: &str) {
    if resource.node().get_path(&["metadata", field]).is_some() {
        let texts = resource.placed_strings(field).collect();
        resource.set_strings(field, texts);
    }
}

/// What becomes of values that are written as JSON and read again by Go: numbers are floats, dates
/// are strings, and quotes are where they must be.
fn through_json(node: &mut Node) -> Result<()> {
    node.meta.comments = None;
    match &mut node.value {
        Value::Map(map) => {
            for entry in map.entries_mut() {
                entry.key.meta.comments = None;
                through_json(&mut entry.value)?;
            }
            return Ok(());
        }
        Value::List(list) => return list.iter_mut().try_for_each(through_json),
        Value::Scalar(_) => {}
    }
    let (text, style) = match node.resolve() {
        None | Some(Resolved::Null) => ("null".to_string(), Style::Plain),
        Some(Resolved::Bool(bool)) => (bool.to_string(), Style::Plain),
        #[allow(clippy::cast_precision_loss)] // It is what happens there.
        Some(Resolved::Int(int)) => (format_float(int as f64), Style::Plain),
        #[allow(clippy::cast_precision_loss)] // It is what happens there.
        Some(Resolved::UInt(int)) => (format_float(int as f64), Style::Plain),
        Some(Resolved::Float(float)) if float.is_finite() => (format_float(float), Style::Plain),
        // Infinity and NaN are errors in JSON.
        Some(Resolved::Timestamp(_) | Resolved::Float(_)) => {
            (to_json(node)?.trim_matches('"').to_string(), Style::DoubleQuoted)
        }
        Some(Resolved::Str(text)) => (text.to_string(), style_of_string(text)),
    };
    node.value = Value::Scalar(text.into());
    node.meta.style = style;
    node.meta.tag = Tag::None;
    Ok(())
}
