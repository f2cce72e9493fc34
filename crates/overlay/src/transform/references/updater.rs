//! Updates the references of a manifest: resolves each one, and writes it again if the name of its target has changed.

use smol_str::SmolStr;

use super::candidates::{CandidateLocations, Candidates, Reference, ReferenceNamespace, Referrer};
use crate::resource::{ResId, Resource};
use crate::transform::field_spec::{Create, NameBackReference, NameReferences, SpecField, overwrite};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Spanned, Tag, Value};

/// A field that references resources of a kind.
type ReferenceField<'c> = SpecField<'c, NameBackReference>;

/// The result of updating the references of a manifest.
#[derive(Default)]
pub(in crate::transform) struct UpdatedReferences {
    /// The positions of the referenced resources.
    pub(in crate::transform) targets: Vec<usize>,
    /// True if a reference is a scalar that shares its value with others.
    pub(in crate::transform) changes_shared: bool,
}

/// Updates the references of a resource in its manifest, which is passed separately.
///
/// # Errors
/// A name matches several resources, or a field is not a reference.
pub(in crate::transform) fn update_references<'r>(
    candidates: &Candidates<'r>,
    resource: &'r Resource,
    node: &mut Node,
    references: &NameReferences,
) -> Result<UpdatedReferences> {
    let mut fields = references.fields_for(&resource.original_id().gvk).peekable();
    if fields.peek().is_none() {
        return Ok(UpdatedReferences::default());
    }
    let bound = bound_namespaces(node, resource.id()).map_err(|d| d.resource(resource.id()))?;
    let referrer = Referrer { resource, bound };
    let mut updater = ReferenceUpdater { candidates, referrer, updated: UpdatedReferences::default() };
    for field in fields {
        updater.update(node, &field).map_err(|d| d.field(&field.spec.path).resource(resource.id()))?;
    }
    let mut updated = updater.updated;
    updated.targets.sort_unstable();
    updated.targets.dedup();
    Ok(updated)
}

/// Returns the namespaces of the service accounts in the subjects of a RoleBinding.
fn bound_namespaces(node: &Node, id: &ResId) -> Result<Vec<SmolStr>> {
    let mut namespaces = Vec::new();
    if id.gvk.kind != "RoleBinding" || id.cluster_scoped {
        return Ok(namespaces);
    }
    let subjects = node.get("subjects").and_then(Node::as_list).into_iter().flatten();
    for subject in subjects.filter(|s| s.get("kind").and_then(Node::as_str) == Some("ServiceAccount")) {
        let Some(namespace) = subject.get("namespace") else { continue };
        let name = namespace.as_str().ok_or_else(|| {
            let message =
                format!("the namespace of a service account must be a string, not {}", namespace.type_name());
            Diagnostic::error(Code::WrongType, message).at(namespace.span()).field("subjects")
        })?;
        namespaces.push(name.into());
    }
    Ok(namespaces)
}

/// Returns the group and kind of a `roleRef`, or `None` if one is missing.
fn role_of(node: &Node) -> Option<(SmolStr, SmolStr)> {
    let role = node.get("roleRef")?;
    let text = |field| Some(role.get(field)?.scalar_text().cloned().unwrap_or_default());
    Some((text("apiGroup")?, text("kind")?))
}

struct ReferenceUpdater<'c, 'r> {
    candidates: &'c Candidates<'r>,
    referrer: Referrer<'r>,
    updated: UpdatedReferences,
}

impl ReferenceUpdater<'_, '_> {
    /// Updates the references in a field.
    ///
    /// # Errors
    /// A name matches several resources, or a field is not a reference.
    fn update(&mut self, node: &mut Node, field: &ReferenceField<'_>) -> Result<()> {
        let role = if field.spec.path.ends_with("roleRef/name") { role_of(node) } else { None };
        field.path.visit(node, Create::Never, &mut |field_node| match &mut field_node.value {
            Value::List(list) => {
                list.iter_mut().try_for_each(|entry| self.update_entry(entry, field, role.as_ref()))
            }
            _ => self.update_entry(field_node, field, role.as_ref()),
        })
    }

    /// Updates a name, or a map with a name and an optional namespace.
    fn update_entry(
        &mut self,
        node: &mut Node,
        field: &ReferenceField<'_>,
        role: Option<&(SmolStr, SmolStr)>,
    ) -> Result<()> {
        if node.is_null() {
            return Ok(());
        }
        let span = node.span();
        match &mut node.value {
            Value::Scalar(name) => {
                let name = name.clone();
                self.updated.changes_shared |= node.meta.shared_group != 0;
                let reference = Reference {
                    name: &name,
                    namespace: ReferenceNamespace::NotSupported,
                    target: field.entry,
                    role,
                };
                self.update_name(node, &reference).map_err(|d| d.at(span))
            }
            Value::Map(map) => self.update_map(map, field, role).map_err(|d| d.at(span)),
            Value::List(_) => {
                let message = "expected a name, or a map with a name, found a list";
                Err(Diagnostic::error(Code::WrongType, message).at(span))
            }
        }
    }

    fn update_name(&mut self, node: &mut Node, reference: &Reference<'_>) -> Result<()> {
        let Some((id, locations)) = self.find(reference)? else { return Ok(()) };
        if id.name != reference.name {
            overwrite(node, Spanned::new(id.name.as_str(), locations.name), Tag::Undecided);
        }
        Ok(())
    }

    fn update_map(
        &mut self,
        map: &mut Map,
        field: &ReferenceField<'_>,
        role: Option<&(SmolStr, SmolStr)>,
    ) -> Result<()> {
        let text = |node: &Node| node.scalar_text().cloned().unwrap_or_default();
        let name = map.get("name").map(text).ok_or_else(|| {
            Diagnostic::error(Code::MissingField, "the reference has no `name`")
                .help("add a `name`, or correct the path of the field spec")
        })?;
        let namespace = map.get("namespace").map(text);
        let reference_namespace =
            namespace.as_deref().map_or(ReferenceNamespace::Absent, ReferenceNamespace::Given);
        let reference = Reference { name: &name, namespace: reference_namespace, target: field.entry, role };
        let Some((id, locations)) = self.find(&reference)? else { return Ok(()) };
        if id.name == name && id.namespace.is_empty() {
            return Ok(());
        }
        if let Some(node) = map.get_mut("name") {
            overwrite(node, Spanned::new(id.name.as_str(), locations.name), Tag::Undecided);
        }
        if !id.namespace.is_empty() {
            let namespace = Spanned::new(id.namespace.as_str(), locations.namespace);
            match map.get_mut("namespace") {
                Some(node) => overwrite(node, namespace, Tag::Undecided),
                None => {
                    map.push("namespace", Node::string(id.namespace.clone()).with_span(locations.namespace));
                }
            }
        }
        Ok(())
    }

    /// Returns the ID and the locations of the referenced resource, and records its position.
    fn find(&mut self, reference: &Reference<'_>) -> Result<Option<(ResId, CandidateLocations)>> {
        let found = self.candidates.find(&self.referrer, reference)?;
        let Some(i) = found else { return Ok(None) };
        self.updated.targets.push(i);
        let found = self.candidates.resources().get(i);
        Ok(found.map(|resource| (resource.id().clone(), self.candidates.locations(i))))
    }
}
