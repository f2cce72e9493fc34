//! Applies a patch to a resource, with everything that kustomize does before and after.

use std::sync::Arc;

use smol_str::SmolStr;

use super::args::{PatchContext, PatchOptions};
use super::load::LoadedJsonPatch;
use crate::resource::{Copied, ResId, Resource, hide_data_copied_by};
use smp_merge::merge::{UnmatchedDeletions, merge2};
use smp_merge::patch::{JsonPatch, JsonPatchOptions};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::gocompat::strconv::format_float;
use smp_text::source::SourceMap;
use smp_text::yaml::{
    FieldPositions, Map, Node, Resolved, Style, Tag, Value, apply_round_trip_changes, style_of_string,
    to_json,
};

/// A prepared strategic merge patch.
pub(super) struct StrategicPatch {
    node: Arc<Node>,
    options: PatchOptions,
    /// True if the patch was prepared for resources that a `target` selects.
    for_selected_targets: bool,
}

impl StrategicPatch {
    /// Prepares a patch for the resource that it identifies.
    pub(super) fn for_named_target(patch: Resource, options: PatchOptions) -> WithWarnings<Self> {
        let warnings = warning_of_replacement(patch.node()).into_iter().collect();
        WithWarnings {
            value: Self { node: Arc::new(patch.into_node()), options, for_selected_targets: false },
            warnings,
        }
    }

    /// Prepares a patch for all resources that a `target` selects.
    ///
    /// As in kustomize, all labels and annotations become strings. Null, which is meant to remove an entry, also
    /// becomes a string; a warning is added.
    pub(super) fn for_selected_targets(mut patch: Resource, options: PatchOptions) -> WithWarnings<Self> {
        let mut warnings: Vec<_> = warning_of_replacement(patch.node()).into_iter().collect();
        for field in ["labels", "annotations"] {
            let values = patch.node().get_path(&["metadata", field]).and_then(Node::as_map);
            for (key, value) in values.into_iter().flat_map(Map::iter).filter(|(_, value)| value.is_null()) {
                let text = raw_text(value);
                let message =
                    format!("`{key}` is not removed: kustomize v5.8 sets it to the string `{text}`");
                let path = format!("metadata.{field}.{key}");
                let warning = Diagnostic::warning(Code::InvalidValue, message).at(value.span()).field(path);
                warnings.push(warning.help("use a JSON patch to remove it"));
            }
            values_to_strings(&mut patch, field);
        }
        WithWarnings {
            value: Self { node: Arc::new(patch.into_node()), options, for_selected_targets: true },
            warnings,
        }
    }

    /// Returns the size of the patch.
    pub(super) fn bytes(&self) -> usize {
        self.node.size().bytes
    }

    /// Merges the patch into a resource. The resource is empty afterwards if the patch deletes it.
    ///
    /// Name, kind and namespace are kept unless the options allow a change. Returns true if the ID has changed.
    ///
    /// # Errors
    /// The patch does not match the structure of the resource. The resource and its set must then no longer be used.
    pub(super) fn merge_into(
        &self,
        resource: &mut Resource,
        context: &PatchContext<'_>,
        absences: &mut UnmatchedDeletions,
    ) -> Result<WithWarnings<bool>> {
        let id = resource.id().clone();
        // Locations are only needed if histories are kept.
        let identity = resource.history.is_some().then(|| resource.identity());
        if self.options.allow_name_change || self.options.allow_kind_change {
            resource.store_previous_id();
        }
        if is_replacement(&self.node) {
            return Ok(false.into());
        }
        // With histories, `check` continues after a failed patch to report the errors of all patches. So a failed patch
        // must leave the resource unchanged.
        let unpatched = resource.history.is_some().then(|| resource.node().clone());
        let patch = self.for_api_version(&id.gvk.api_version());
        let patch = patch.as_ref().unwrap_or(&self.node);
        let kind = context.schema.kind(&id.gvk).unwrap_or_else(Cursor::unknown);
        let mut merge = |resource: &mut Resource| {
            let dest = std::mem::replace(resource.node_mut(), Node::map(Map::new()));
            resource.required_removed.extend(absences.check(&dest, patch, kind, &id));
            let merged = merge2(Some(dest), patch, context.schema, context.merge)?;
            *resource.node_mut() = merged.node.unwrap_or_else(|| Node::map(Map::new()));
            Ok(merged.warnings)
        };
        // Only a patch of annotations can affect the build annotations.
        let touches = |metadata: &Node| ["annotations", "$patch"].iter().any(|f| metadata.get(f).is_some());
        let affects_annotations = patch.get("metadata").is_some_and(touches);
        let merged =
            if affects_annotations { resource.with_build_annotations(&mut merge) } else { merge(resource) };
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
            resource.restore_identity_locations(identity);
        }
        record_patch(resource, &self.node);
        Ok(WithWarnings { value: !resource.is_empty() && has_changed_id(&id, resource), warnings })
    }

    /// Restores the fields that the patch may not change.
    fn restore_id(&self, resource: &mut Resource, id: &ResId, schema: &Schema) {
        if resource.is_empty() {
            return;
        }
        resource.propagate_shared();
        if !self.options.allow_kind_change {
            resource.set_kind(&id.gvk.kind, schema);
        }
        if !self.options.allow_name_change {
            resource.set_name(&id.name);
        }
        resource.set_namespace(&id.namespace);
        resource.sync(schema);
        if self.for_selected_targets && id.gvk.version.is_empty() {
            // kustomize sets the version that it found, even if there was none.
            if let Some(map) = resource.node_mut().as_map_mut() {
                map.insert("apiVersion", Node::null());
            }
        }
    }

    /// Returns the patch with the API version of the resource, if a `target` selected the resource and the
    /// versions differ.
    fn for_api_version(&self, version: &SmolStr) -> Option<Node> {
        let own = self.node.get("apiVersion").and_then(Node::scalar_text);
        if !self.for_selected_targets || own == Some(version) {
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

fn record_patch(resource: &mut Resource, patch: &Arc<Node>) {
    if let Some(history) = &mut resource.history {
        history.record_patch(patch);
    }
}

/// Returns true if the patch has `$patch: replace` for the whole resource. kustomize v5.8 computes the result
/// and discards it.
fn is_replacement(patch: &Node) -> bool {
    patch.get("$patch").is_some_and(|directive| raw_text(directive) == "replace")
}

fn warning_of_replacement(patch: &Node) -> Option<Diagnostic> {
    let directive = patch.get("$patch").filter(|_| is_replacement(patch))?;
    let message =
        "the patch has no effect: kustomize v5.8 does not support `$patch: replace` for whole resources";
    let help = "delete the resource with `$patch: delete` and add the new one to `resources`";
    Some(Diagnostic::warning(Code::Directive, message).at(directive.span()).help(help))
}

/// A prepared JSON patch.
pub(super) struct PreparedJsonPatch<'p> {
    patch: &'p JsonPatch,
    operations: &'p Arc<Node>,
    /// An equivalent patch that does not process the whole resource. It is used if an earlier JSON patch already
    /// changed the resource.
    ///
    /// It exists if the patch does not change identifying fields and its values are unchanged by a JSON round
    /// trip.
    in_place: Option<JsonPatch>,
}

/// The state of a resource between two JSON patches. It is valid if nothing else changes the resource.
#[derive(Default)]
pub(super) struct JsonPatchState {
    /// True if another JSON round trip would change nothing.
    normalized: bool,
    positions: FieldPositions<SmolStr>,
}

impl<'p> PreparedJsonPatch<'p> {
    pub(super) fn new(LoadedJsonPatch { patch, operations }: &'p LoadedJsonPatch) -> Self {
        let identifies = |field: Option<SmolStr>| {
            field.is_none_or(|field| matches!(field.as_str(), "apiVersion" | "kind" | "metadata"))
        };
        let is_small = patch.has_single_changes() && !patch.fields().any(identifies);
        let small = is_small.then(|| {
            let mut small = patch.clone();
            let normalized = small.written_values_mut().all(normalize);
            normalized.then_some(small)
        });
        Self { patch, operations, in_place: small.flatten() }
    }

    /// Records the patch in the history of a resource.
    pub(super) fn record_in(&self, resource: &mut Resource) {
        record_patch(resource, self.operations);
    }

    /// Hides values in reports if the patch copies them from the data of a Secret. Returns the paths to which they
    /// are copied.
    pub(super) fn hide_copied_data(&self, resource: &Resource, sources: &SourceMap) -> Vec<Vec<SmolStr>> {
        hide_data_copied_by(self.patch, resource.node(), sources)
    }

    /// Returns true if a resource is unchanged after the patch failed in [`apply_in_place`](Self::apply_in_place).
    pub(super) fn is_all_or_nothing(&self) -> bool {
        self.patch.only_last_changes()
    }

    /// Like [`apply_json_patch`], for a resource that another JSON patch has changed before. Returns `None` if the
    /// patch needs the round trip of the whole resource.
    pub(super) fn apply_in_place(
        &self,
        resource: &mut Resource,
        state: &mut JsonPatchState,
        copied: &mut Copied,
    ) -> Option<Result<Vec<Diagnostic>>> {
        let small = self.in_place.as_ref()?;
        if !state.normalized {
            apply_round_trip_changes(resource.node_mut());
            if let Err(error) = through_json(resource.node_mut()) {
                return Some(Err(error));
            }
            state.normalized = true;
        }
        let patched = small.apply_in_place(resource.node_mut(), &mut state.positions);
        Some(patched.and_then(|patched| copied.add(patched.copied).map(|()| patched.warnings)))
    }
}

/// Changes a value as two JSON round trips do. Returns false if one round trip would have another result, because the
/// second one only takes place if there is another patch.
fn normalize(value: &mut Node) -> bool {
    if through_json(value).is_err() {
        return false;
    }
    let mut again = value.clone();
    apply_round_trip_changes(&mut again);
    through_json(&mut again).is_ok() && is_identical(value, &again)
}

fn is_identical(a: &Node, b: &Node) -> bool {
    let meta = (a.meta.style, a.meta.tag) == (b.meta.style, b.meta.tag);
    meta && match (&a.value, &b.value) {
        (Value::Scalar(a), Value::Scalar(b)) => a == b,
        (Value::Map(a), Value::Map(b)) => a
            .iter()
            .map(|(_, value)| value)
            .zip(b.iter().map(|(_, value)| value))
            .all(|(a, b)| is_identical(a, b)),
        (Value::List(a), Value::List(b)) => a.iter().zip(b).all(|(a, b)| is_identical(a, b)),
        _ => false,
    }
}

/// Applies a JSON patch to a resource. Returns true if the ID has changed.
///
/// As in kustomize, the whole resource makes a round trip through JSON, where all numbers are floats, and its
/// annotations become strings. The bytes that the patch copies are added to `copied`.
pub(super) fn apply_json_patch(
    resource: &mut Resource,
    patch: &PreparedJsonPatch<'_>,
    schema: &Schema,
    copied: &mut Copied,
) -> Result<WithWarnings<bool>> {
    let id = resource.id().clone();
    let warnings = resource.with_build_annotations_kept(|resource| {
        apply_round_trip_changes(resource.node_mut());
        let patched = patch.patch.apply_with_warnings(resource.node_mut(), JsonPatchOptions::kubernetes())?;
        copied.add(patched.copied).map(|()| patched.warnings)
    })?;
    if resource.node().as_map().is_none() {
        let message = format!("the patch replaces the resource with {}", resource.node().type_name());
        return Err(Diagnostic::error(Code::WrongType, message));
    }
    through_json(resource.node_mut())?;
    resource.unlink_shared();
    values_to_strings(resource, "annotations");
    resource.sync(schema);
    if resource.id().gvk.kind.is_empty() || resource.id().name.is_empty() {
        let message = "the patch removes the kind or name of the resource";
        return Err(Diagnostic::error(Code::MissingField, message));
    }
    Ok(WithWarnings { value: has_changed_id(&id, resource), warnings })
}

/// Returns true if the ID of a resource has changed. An explicit namespace is a different ID, even `default`.
fn has_changed_id(id: &ResId, resource: &Resource) -> bool {
    resource.id() != id || resource.id().namespace != id.namespace
}

/// Returns the text of a scalar of any type, or an empty string for maps and lists.
fn raw_text(node: &Node) -> &str {
    node.scalar_text().map_or("", |text| text.as_str())
}

/// Converts the values of `metadata.labels` or `metadata.annotations` to strings, sorted by key, and keeps
/// their locations. Removes the field if it is empty.
fn values_to_strings(resource: &mut Resource, field: &str) {
    if resource.node().get_path(&["metadata", field]).is_some() {
        let texts = resource.located_strings(field).collect();
        resource.set_strings(field, texts);
    }
}

/// Converts values like a round trip through Go's JSON: numbers become floats, dates become strings, and only strings
/// that need quotes have them.
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
        #[allow(clippy::cast_precision_loss)] // Go's decoder does the same.
        Some(Resolved::Int(int)) => (format_float(int as f64), Style::Plain),
        #[allow(clippy::cast_precision_loss)] // Go's decoder does the same.
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
