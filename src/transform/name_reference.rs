//! References by name, mended after names and namespaces have changed.

use smol_str::SmolStr;

use super::config::{NameField, NameReferences};
use super::field_spec::{Create, overwrite};
use super::referral::{Beside, Candidates, Reference, Referrer};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::ResourceSet;
use crate::schema::Schema;
use crate::yaml::{Map, Node, Tag, Value};

/// Writes the present names of resources wherever others use a former one.
///
/// Each reference is read with the former names, namespaces, prefixes and suffixes of all resources;
/// which names resources have meanwhile is decided before the first reference is written, so the
/// order of the resources does not matter. The ids of referrers are kept in `referred_by`.
///
/// # Errors
/// A name that may mean several resources; a field that is no reference.
pub fn name_references(set: &mut ResourceSet, references: &NameReferences, schema: &Schema) -> Result<()> {
    if references.is_empty() {
        return Ok(());
    }
    let resources = set.resources_mut();
    // Apart from their manifests, resources can be looked at while manifests are changed.
    let mut nodes: Vec<Node> =
        resources.iter_mut().map(|r| std::mem::replace(r.node_mut(), Node::null())).collect();
    let places = nodes.iter().map(Node::span).collect();
    let outcome = mend_all(&Candidates::new(resources, places), &mut nodes, references);
    for (resource, node) in resources.iter_mut().zip(nodes) {
        *resource.node_mut() = node;
    }
    for (referrer, targets) in outcome?.into_iter().enumerate() {
        for target in targets {
            let Some(id) = resources.get(referrer).map(|r| r.id().clone()) else { continue };
            if let Some(target) = resources.get_mut(target) {
                target.referred_by.push(id);
            }
        }
    }
    resources.iter_mut().for_each(|resource| {
        resource.sync(schema);
    });
    Ok(())
}

/// Mends the references of all manifests. Returns for each the positions of what it refers to.
fn mend_all(
    candidates: &Candidates<'_>,
    nodes: &mut [Node],
    references: &NameReferences,
) -> Result<Vec<Vec<usize>>> {
    let mend = |(i, node): (usize, &mut Node)| {
        let Some(resource) = candidates.resources().get(i) else { return Ok(Vec::new()) };
        let original = &resource.original_id().gvk;
        let mut fields = references.fields_of(original).peekable();
        if fields.peek().is_none() {
            return Ok(Vec::new());
        }
        let bound = bound_namespaces(node, &resource.id().gvk.kind, resource.id().cluster_scoped);
        let bound = bound.map_err(|d| d.resource(resource.id()))?;
        let mut mender = Mender { candidates, referrer: Referrer { resource, bound }, found: Vec::new() };
        for field in fields {
            mender.mend(node, field).map_err(|d| d.field(&field.spec.path).resource(resource.id()))?;
        }
        mender.found.sort_unstable();
        mender.found.dedup();
        Ok(mender.found)
    };
    nodes.iter_mut().enumerate().map(mend).collect()
}

/// The namespaces of the service accounts that a RoleBinding names.
fn bound_namespaces(node: &Node, kind: &str, cluster_scoped: bool) -> Result<Vec<SmolStr>> {
    let mut namespaces = Vec::new();
    if kind != "RoleBinding" || cluster_scoped {
        return Ok(namespaces);
    }
    let subjects = node.get("subjects").and_then(Node::as_list).into_iter().flatten();
    for subject in subjects.filter(|s| s.get("kind").and_then(Node::as_str) == Some("ServiceAccount")) {
        let Some(namespace) = subject.get("namespace") else { continue };
        let name = namespace.as_str().ok_or_else(|| {
            let message = format!("the namespace of a service account is {}", namespace.type_name());
            Diagnostic::error(Code::WrongType, message).at(namespace.span()).field("subjects")
        })?;
        namespaces.push(name.into());
    }
    Ok(namespaces)
}

/// Group and kind of a `roleRef`; none when one is missing.
fn role_of(node: &Node) -> Option<(SmolStr, SmolStr)> {
    let role = node.get("roleRef")?;
    let text = |field| Some(role.get(field)?.scalar_text().cloned().unwrap_or_default());
    Some((text("apiGroup")?, text("kind")?))
}

/// Mends the references of one manifest.
struct Mender<'c, 'r> {
    candidates: &'c Candidates<'r>,
    referrer: Referrer<'r>,
    /// The positions of what it refers to.
    found: Vec<usize>,
}

impl Mender<'_, '_> {
    fn mend(&mut self, node: &mut Node, field: NameField<'_>) -> Result<()> {
        let role = if field.spec.path.ends_with("roleRef/name") { role_of(node) } else { None };
        field.path.visit(node, Create::Never, &mut |field_node| match &mut field_node.value {
            Value::List(list) => list.iter_mut().try_for_each(|entry| self.one(entry, field, role.as_ref())),
            _ => self.one(field_node, field, role.as_ref()),
        })
    }

    /// A name, or a map with a name and perhaps a namespace.
    fn one(
        &mut self,
        node: &mut Node,
        field: NameField<'_>,
        role: Option<&(SmolStr, SmolStr)>,
    ) -> Result<()> {
        if node.is_null() {
            return Ok(());
        }
        let span = node.span();
        match &mut node.value {
            Value::Scalar(name) => {
                let name = name.clone();
                let reference =
                    Reference { name: &name, namespace: Beside::Nothing, target: field.target, role };
                self.name(node, &reference).map_err(|d| d.at(span))
            }
            Value::Map(map) => self.map(map, field, role).map_err(|d| d.at(span)),
            Value::List(_) => {
                let message = "expected a name, or a map with a name, found a list";
                Err(Diagnostic::error(Code::WrongType, message).at(span))
            }
        }
    }

    fn name(&mut self, node: &mut Node, reference: &Reference<'_>) -> Result<()> {
        let Some(id) = self.find(reference)? else { return Ok(()) };
        if id.name != reference.name {
            overwrite(node, &id.name, Tag::None);
        }
        Ok(())
    }

    fn map(&mut self, map: &mut Map, field: NameField<'_>, role: Option<&(SmolStr, SmolStr)>) -> Result<()> {
        let text = |node: &Node| node.scalar_text().cloned().unwrap_or_default();
        let name = map.get("name").map(text).ok_or_else(|| {
            Diagnostic::error(Code::MissingField, "there is no `name` in this reference")
                .help("every reference needs a `name`; or the field spec names the wrong field")
        })?;
        let namespace = map.get("namespace").map(text);
        let beside = namespace.as_deref().map_or(Beside::NoNamespace, Beside::Namespace);
        let reference = Reference { name: &name, namespace: beside, target: field.target, role };
        let Some(id) = self.find(&reference)? else { return Ok(()) };
        if id.name == name && id.namespace.is_empty() {
            return Ok(());
        }
        if let Some(node) = map.get_mut("name") {
            overwrite(node, &id.name, Tag::None);
        }
        if !id.namespace.is_empty() {
            match map.get_mut("namespace") {
                Some(node) => overwrite(node, &id.namespace, Tag::None),
                None => map.push("namespace", Node::string(id.namespace.clone())),
            }
        }
        Ok(())
    }

    /// The id of what is meant, which is remembered.
    fn find(&mut self, reference: &Reference<'_>) -> Result<Option<crate::resource::ResId>> {
        let found = self.candidates.find(&self.referrer, reference)?;
        let Some(i) = found else { return Ok(None) };
        self.found.push(i);
        Ok(self.candidates.resources().get(i).map(|r| r.id().clone()))
    }
}
