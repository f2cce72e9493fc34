//! Which resource a patch means that names its target itself.

use crate::resource::{Likely, ResId, Resource, ResourceSet, WrongPart};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// The position of the one resource that a patch names by its kind, name and namespace, now or before.
///
/// # Errors
/// There is none, or there are several.
pub(super) fn own_target(set: &ResourceSet, patch: &Resource, alike: &Likely<'_>) -> Result<usize> {
    let start = patch.node().span().at_start();
    if !set.by_any_id(patch.id()).is_empty() {
        return unique(set, patch.id(), start, alike);
    }
    let part = alike.wrong_part(set, patch.id());
    let at = wrong_part(patch.node(), part).map_or(start, Node::span);
    unique(set, patch.id(), at, alike).map_err(|error| with_namesake(error, set, &patch.id().name, part))
}

/// The same with the place of the resource that has the name and another kind: it may be that one which is misspelled.
pub(super) fn with_namesake(error: Diagnostic, set: &ResourceSet, name: &str, part: WrongPart) -> Diagnostic {
    let mut namesakes = set.by_name(name).filter_map(|i| set.as_slice()[i].node().get("kind"));
    match namesakes.next().filter(|_| part == WrongPart::Kind) {
        Some(kind) => error.label(kind.span(), "this has the name"),
        None => error,
    }
}

/// The value by which a patch misses what it was probably meant for.
fn wrong_part(patch: &Node, part: WrongPart) -> Option<&Node> {
    let metadata = |field| patch.get_path(&["metadata", field]);
    match part {
        WrongPart::ApiVersion => patch.get("apiVersion"),
        WrongPart::Kind => patch.get("kind"),
        WrongPart::Name => metadata("name"),
        WrongPart::Namespace => metadata("namespace").or(metadata("name")),
    }
}

fn unique(set: &ResourceSet, id: &ResId, at: Span, alike: &Likely<'_>) -> Result<usize> {
    match set.by_any_id(id).as_slice() {
        [one] => Ok(*one),
        [first, second, ..] => {
            let place =
                |i: usize| set.as_slice().get(i).map(|r| r.node().span().at_start()).unwrap_or_default();
            Err(Diagnostic::error(Code::Ambiguous, format!("the patch fits several resources: {id}"))
                .label(place(*first), "this one")
                .label(place(*second), "and this one")
                .at(at)
                .help("use a `target` that selects one of them"))
        }
        [] => Err(no_match(set, id, at, alike)),
    }
}

/// Names the patch, and what is perhaps meant.
fn no_match(set: &ResourceSet, id: &ResId, at: Span, likely: &Likely<'_>) -> Diagnostic {
    let error = Diagnostic::error(Code::NoMatch, format!("no resource matches this patch: {id}")).at(at);
    let mut alike = set.by_name(&id.name).filter_map(|i| set.as_slice().get(i));
    let found = alike.find(|other| other.id().gvk.kind == id.gvk.kind);
    let place = found.map(|other| other.node().span().at_start()).or_else(|| likely.place(set, id));
    let error = match place {
        Some(place) => error.label(place, "perhaps this one is meant"),
        None => error,
    };
    match found.map(Resource::id) {
        Some(other) if other.gvk != id.gvk => {
            let version = other.gvk.api_version();
            error.help(format!("there is one with `apiVersion: {version}`; the patch must have the same"))
        }
        Some(other) => error.help(match other.namespace.as_str() {
            "" => "there is one without a namespace; the patch must have none either".into(),
            namespace => format!("there is one in namespace {namespace}; the patch must name it, too"),
        }),
        None => error.help(likely.suggestion(set, id).unwrap_or_else(|| {
            "the patch must have kind, name and namespace of a resource, or a `target`".into()
        })),
    }
}

/// Looks for ids that two resources have.
///
/// # Errors
/// There is one.
pub(super) fn check_ids(set: &ResourceSet) -> Result<()> {
    let Some(twins) = set.equal_ids() else { return Ok(()) };
    let [first, second] = twins.map(|i| &set.as_slice()[i]);
    let message = format!("the patch makes two resources the same: {}", second.id());
    Err(Diagnostic::error(Code::DuplicateResource, message)
        .label(second.node().span().at_start(), "one is this")
        .label(first.node().span().at_start(), "the other is this")
        .help("let the `target` select only one of them, or change the name by hand"))
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
            set.append(Resource::new(node, &Schema::none()).expect("a resource")).expect("distinct");
        }
        set
    }

    const THREE: &str = "{apiVersion: v1, kind: A, metadata: {name: x}}\n---\n\
                         {apiVersion: v1, kind: A, metadata: {name: y, namespace: n}}\n---\n\
                         {apiVersion: v1, kind: B, metadata: {name: x}}\n";

    #[test]
    fn ids_find_one_resource() {
        let mut set = set(THREE);
        let id = set.as_slice()[1].id().clone();
        let schema = Schema::none();
        let unique = |set: &ResourceSet, id: &ResId| unique(set, id, Span::default(), &Likely::new(&schema));
        assert_eq!(unique(&set, &id).expect("one"), 1);
        let unnamed = ResId { namespace: SmolStr::default(), ..id.clone() };
        let error = unique(&set, &unnamed).expect_err("another namespace");
        let help = "there is one in namespace n; the patch must name it, too";
        assert_eq!((error.code(), error.help_text()), (Code::NoMatch, Some(help)));
        let meant = error.labels().last().expect("where it stands");
        assert_eq!(
            (meant.span, meant.text.as_str()),
            (set.as_slice()[1].node().span().at_start(), "perhaps this one is meant")
        );

        // The id counts when the resource had it before, and then two may have it.
        set.update(0, |first| first.previous.push(id.clone()));
        assert_eq!(unique(&set, &id).expect_err("two").code(), Code::Ambiguous);
        set.update(1, |second| *second.node_mut() = Node::map(Map::new()));
        assert_eq!(unique(&set, &id).expect("the other was deleted"), 0);
    }

    #[test]
    fn ids_that_two_have() {
        let mut set = set(THREE);
        assert!(check_ids(&set).is_ok());
        set.resources_mut()[1].set_name("x");
        set.resources_mut()[1].set_namespace("");
        let error = check_ids(&set).expect_err("the same");
        assert_eq!((error.code(), error.labels().len()), (Code::DuplicateResource, 2));
    }
}
