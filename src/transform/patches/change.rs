//! Changing one resource by a patch, with all that kustomize does before and after.

use smol_str::SmolStr;

use super::{PatchContext, PatchOptions};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::merge2;
use crate::patch::JsonPatch;
use crate::resource::{ResId, Resource};
use crate::schema::Schema;
use crate::yaml::{Map, Node, Resolved, Style, Tag, Value, go_float, reread, style_of_string, to_json};

/// A strategic merge patch, ready to be merged into resources.
pub(super) struct Strategic {
    node: Node,
    options: PatchOptions,
    /// Whether it was prepared for any resource that a target selects.
    selected: bool,
}

impl Strategic {
    /// A patch for the resource that it names.
    pub(super) fn own(patch: Resource, options: PatchOptions, warnings: &mut Vec<Diagnostic>) -> Self {
        warn_of_replacement(patch.node(), warnings);
        Self { node: patch.into_node(), options, selected: false }
    }

    /// A patch for all resources that a target selects, prepared as kustomize does: its labels and
    /// annotations become strings. A null there, which is meant to remove one, becomes a text, too.
    pub(super) fn selected(
        mut patch: Resource,
        options: PatchOptions,
        warnings: &mut Vec<Diagnostic>,
    ) -> Self {
        warn_of_replacement(patch.node(), warnings);
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
        Self { node: patch.into_node(), options, selected: true }
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
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<bool> {
        let id = resource.id().clone();
        if self.options.allow_name_change || self.options.allow_kind_change {
            resource.store_previous_id();
        }
        if is_replacement(&self.node) {
            return Ok(false);
        }
        let patch = self.for_api_version(&id.gvk.api_version());
        let patch = patch.as_ref().unwrap_or(&self.node);
        let merge = |resource: &mut Resource| {
            let dest = std::mem::replace(resource.node_mut(), Node::map(Map::new()));
            let merged = merge2(Some(dest), patch, context.schema, context.merge)?;
            *resource.node_mut() = merged.node.unwrap_or_else(|| Node::map(Map::new()));
            Ok(merged.warnings)
        };
        // Only a patch of annotations can meet the notes of the build there.
        let touches = |metadata: &Node| ["annotations", "$patch"].iter().any(|f| metadata.get(f).is_some());
        let meets_notes = patch.get("metadata").is_some_and(touches);
        let merged = if meets_notes { resource.with_notes(merge) } else { merge(resource) };
        let replaced = merged.map_err(|error: Diagnostic| {
            let error = if error.labels().is_empty() { error.at(patch.span().at_start()) } else { error };
            error.resource(&id)
        })?;
        warnings.extend(replaced.into_iter().map(|warning| warning.resource(&id)));
        if resource.is_empty() {
            return Ok(false);
        }
        resource.spread_shared();
        if !self.options.allow_kind_change {
            resource.set_kind(&id.gvk.kind, context.schema);
        }
        if !self.options.allow_name_change {
            resource.set_name(&id.name);
        }
        resource.set_namespace(&id.namespace);
        resource.sync(context.schema);
        if self.selected && id.gvk.version.is_empty() {
            // kustomize sets the version that it found, even when it found none.
            if let Some(map) = resource.node_mut().as_map_mut() {
                map.insert("apiVersion", Node::null());
            }
        }
        Ok(is_other(&id, resource))
    }

    /// The patch with the version of the resource that it meets, when it was selected for it and
    /// has another.
    fn for_api_version(&self, version: &SmolStr) -> Option<Node> {
        let own = self.node.get("apiVersion").and_then(Node::scalar_text);
        if !self.selected || own == Some(version) {
            return None;
        }
        let mut node = self.node.clone();
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

/// Whether the patch says of itself that it takes the place of the whole resource, which kustomize
/// v5.8 computes and then forgets.
fn is_replacement(patch: &Node) -> bool {
    patch.get("$patch").is_some_and(|directive| raw_text(directive) == "replace")
}

fn warn_of_replacement(patch: &Node, warnings: &mut Vec<Diagnostic>) {
    if is_replacement(patch) {
        let message = "this patch changes nothing; kustomize v5.8 does not replace whole resources";
        let at = patch.get("$patch").map_or(patch.span(), Node::span);
        let help = "delete the resource by `$patch: delete` and add the new one to `resources`";
        warnings.push(Diagnostic::warning(Code::Directive, message).at(at).help(help));
    }
}

/// Changes a resource by a JSON patch. Returns whether its id did change.
///
/// As in kustomize the whole resource passes through JSON, where all numbers are floats, and its
/// annotations become strings. With `keeps_id` the id from before stays known.
pub(super) fn json(
    resource: &mut Resource,
    patch: &JsonPatch,
    keeps_id: bool,
    schema: &Schema,
) -> Result<bool> {
    let id = resource.id().clone();
    if keeps_id {
        resource.store_previous_id();
    }
    resource.with_notes_kept(|resource| {
        reread(resource.node_mut());
        patch.apply(resource.node_mut())
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
    Ok(is_other(&id, resource))
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
/// the field when it is empty.
fn texts_of(resource: &mut Resource, field: &str) {
    let Some(values) = resource.node().get_path(&["metadata", field]) else { return };
    let values = values.as_map().map(Map::iter).into_iter().flatten();
    let texts: Vec<(SmolStr, SmolStr)> = values.map(|(k, v)| (k.into(), raw_text(v).into())).collect();
    resource.set_strings(field, texts.iter().map(|(k, v)| (k.as_str(), v.as_str())));
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
        Some(Resolved::Int(int)) => (go_float(int as f64), Style::Plain),
        #[allow(clippy::cast_precision_loss)] // It is what happens there.
        Some(Resolved::UInt(int)) => (go_float(int as f64), Style::Plain),
        Some(Resolved::Float(float)) if float.is_finite() => (go_float(float), Style::Plain),
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
