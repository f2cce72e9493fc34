//! The target of a patch that identifies its resource itself.

use crate::resource::{ResId, Resource, ResourceSet, Suggestions, WrongPart};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// Returns the position of the resource that a patch identifies by its kind, name and namespace, current or
/// former.
///
/// # Errors
/// No resource matches, or several do.
pub(super) fn find_target(set: &ResourceSet, patch: &Resource, likely: &Suggestions<'_>) -> Result<usize> {
    let start = patch.node().span().at_start();
    if !set.by_any_id(patch.id()).is_empty() {
        return unique(set, patch.id(), start, likely);
    }
    let part = likely.wrong_part(set, patch.id());
    let at = wrong_part(patch.node(), part).map_or(start, Node::span);
    unique(set, patch.id(), at, likely).map_err(|error| with_namesake(error, set, &patch.id().name, part))
}

/// Adds the location of the resource with this name and another kind, if the kind of the target is probably
/// wrong.
pub(super) fn with_namesake(error: Diagnostic, set: &ResourceSet, name: &str, part: WrongPart) -> Diagnostic {
    let mut namesakes = set.by_name(name).filter_map(|i| set.as_slice()[i].node().get("kind"));
    match namesakes.next().filter(|_| part == WrongPart::Kind) {
        Some(kind) => error.label(kind.span(), "resource with this name"),
        None => error,
    }
}

/// Returns the field of a patch that is probably wrong.
fn wrong_part(patch: &Node, part: WrongPart) -> Option<&Node> {
    let metadata = |field| patch.get_path(&["metadata", field]);
    match part {
        WrongPart::ApiVersion => patch.get("apiVersion"),
        WrongPart::Kind => patch.get("kind"),
        WrongPart::Name => metadata("name"),
        WrongPart::Namespace => metadata("namespace").or(metadata("name")),
    }
}

fn unique(set: &ResourceSet, id: &ResId, at: Span, likely: &Suggestions<'_>) -> Result<usize> {
    match set.by_any_id(id).as_slice() {
        [one] => Ok(*one),
        [first, second, ..] => {
            let location =
                |i: usize| set.as_slice().get(i).map(|r| r.node().span().at_start()).unwrap_or_default();
            Err(Diagnostic::error(Code::Ambiguous, format!("the patch matches several resources: {id}"))
                .label(location(*first), "first match")
                .label(location(*second), "second match")
                .at(at)
                .help("use a `target` that selects one of them"))
        }
        [] => Err(no_match(set, id, at, likely)),
    }
}

/// Creates the error for a patch that matches no resource, with a suggestion.
fn no_match(set: &ResourceSet, id: &ResId, at: Span, likely: &Suggestions<'_>) -> Diagnostic {
    let error =
        Diagnostic::error(Code::NoMatch, format!("the patch names a resource that does not exist: {id}"))
            .at(at);
    let mut same_name = set.by_name(&id.name).filter_map(|i| set.as_slice().get(i));
    let found = same_name.find(|other| other.id().gvk.kind == id.gvk.kind);
    let location = found.map(|other| other.node().span().at_start()).or_else(|| likely.location(set, id));
    let error = match location {
        Some(location) => error.label(location, "similar resource"),
        None => error,
    };
    match found.map(Resource::id) {
        Some(other) if other.gvk != id.gvk => {
            let version = other.gvk.api_version();
            error.help(format!("the resource has `apiVersion: {version}`; use the same in the patch"))
        }
        Some(other) => error.help(match other.namespace.as_str() {
            "" => "the resource has no namespace; remove the namespace from the patch".into(),
            namespace => {
                format!("the resource is in namespace {namespace}; set `metadata.namespace` in the patch")
            }
        }),
        None => error.help(likely.suggestion(set, id).unwrap_or_else(|| {
            "no resource of this kustomization and its bases has this kind and name, which are compared before namePrefix, \
             nameSuffix and namespace of this kustomization apply"
                .into()
        })),
    }
}

/// Checks for duplicate IDs.
///
/// # Errors
/// Two resources have the same ID.
pub(super) fn check_ids(set: &ResourceSet) -> Result<()> {
    let Some(duplicates) = set.equal_ids() else { return Ok(()) };
    let [first, second] = duplicates.map(|i| &set.as_slice()[i]);
    let message =
        format!("the patch gives two resources the same group, kind, namespace and name: {}", second.id());
    Err(Diagnostic::error(Code::DuplicateResource, message)
        .label(second.node().span().at_start(), "second resource")
        .label(first.node().span().at_start(), "first resource")
        .help("make the `target` select only one of them, or rename one of them"))
}

#[cfg(test)]
mod tests {
    use smol_str::SmolStr;

    use super::*;
    use smp_merge::schema::Schema;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{Map, ParseOptions, parse_documents};

    fn set(text: &str) -> ResourceSet {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        let mut set = ResourceSet::new();
        for node in parse_documents(&sources, id, ParseOptions::default()).expect("YAML") {
            set.append(Resource::new(node, &Schema::empty()).expect("a resource")).expect("distinct");
        }
        set
    }

    const THREE: &str = "{apiVersion: v1, kind: A, metadata: {name: x}}\n---\n\
                         {apiVersion: v1, kind: A, metadata: {name: y, namespace: n}}\n---\n\
                         {apiVersion: v1, kind: B, metadata: {name: x}}\n";

    #[test]
    fn patch_matches_one_resource_by_current_or_former_id() {
        let mut set = set(THREE);
        let id = set.as_slice()[1].id().clone();
        let schema = Schema::empty();
        let unique =
            |set: &ResourceSet, id: &ResId| unique(set, id, Span::default(), &Suggestions::new(&schema));
        assert_eq!(unique(&set, &id).expect("one"), 1);
        let unnamed = ResId { namespace: SmolStr::default(), ..id.clone() };
        let error = unique(&set, &unnamed).expect_err("another namespace");
        let help = "the resource is in namespace n; set `metadata.namespace` in the patch";
        assert_eq!((error.code(), error.help_text()), (Code::NoMatch, Some(help)));
        let label = error.labels().last().expect("a label");
        assert_eq!(
            (label.span, label.text.as_str()),
            (set.as_slice()[1].node().span().at_start(), "similar resource")
        );

        // A former ID matches, too, so two resources may match.
        set.update(0, |first| first.previous.push(id.clone()));
        assert_eq!(unique(&set, &id).expect_err("two").code(), Code::Ambiguous);
        set.update(1, |second| *second.node_mut() = Node::map(Map::new()));
        assert_eq!(unique(&set, &id).expect("the other one was deleted"), 0);
    }

    #[test]
    fn duplicate_ids_are_rejected() {
        let mut set = set(THREE);
        assert!(check_ids(&set).is_ok());
        set.resources_mut()[1].set_name("x");
        set.resources_mut()[1].set_namespace("");
        let error = check_ids(&set).expect_err("the same");
        assert_eq!((error.code(), error.labels().len()), (Code::DuplicateResource, 2));
    }
}
