//! Which resources a patch changes, without looking at all of them for each patch.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::{ResId, Resource, ResourceSet, Selector};

/// Positions of resources by ids, names and kinds, former ones too.
///
/// Positions of ids that a resource has no more may stay; all that is found is looked at again.
#[derive(Debug, Default)]
pub(super) struct Index {
    ids: FxHashMap<ResId, Vec<usize>>,
    names: FxHashMap<SmolStr, Vec<usize>>,
    kinds: FxHashMap<SmolStr, Vec<usize>>,
}

impl Index {
    pub(super) fn new(set: &ResourceSet) -> Self {
        let mut index = Self::default();
        for (i, resource) in set.iter().enumerate() {
            index.add(i, resource);
        }
        index
    }

    /// Takes note of the ids that a resource has and had.
    pub(super) fn add(&mut self, i: usize, resource: &Resource) {
        for id in resource.previous.iter().chain([resource.id()]) {
            note(self.ids.entry(id.clone()).or_default(), i);
            note(self.names.entry(id.name.clone()).or_default(), i);
        }
        note(self.kinds.entry(resource.id().gvk.kind.clone()).or_default(), i);
    }

    /// The positions of all resources that a selector fits, ascending.
    pub(super) fn select(&self, set: &ResourceSet, selector: &Selector) -> Vec<usize> {
        let resources = set.as_slice();
        let fits = |i: &usize| resources.get(*i).is_some_and(|r| !r.is_empty() && selector.matches(r));
        let exact = match (selector.name.exact(), selector.kind.exact()) {
            (Some(name), _) => Some(self.names.get(name)),
            (None, Some(kind)) => Some(self.kinds.get(kind)),
            (None, None) => None,
        };
        match exact {
            Some(positions) => positions.into_iter().flatten().copied().filter(fits).collect(),
            None => (0..resources.len()).filter(fits).collect(),
        }
    }

    /// The position of the one resource that has or had an id.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub(super) fn unique(&self, set: &ResourceSet, id: &ResId) -> Result<usize> {
        let resources = set.as_slice();
        let has = |i: &usize| {
            resources.get(*i).is_some_and(|r| !r.is_empty() && (r.id() == id || r.previous.contains(id)))
        };
        let mut found = self.ids.get(id).into_iter().flatten().copied().filter(has);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(first), Some(second)) => {
                let message = format!("the patch fits several resources: {id}");
                Err(Diagnostic::error(Code::Ambiguous, message)
                    .label(resources[first].node().span().at_start(), "this one")
                    .label(resources[second].node().span().at_start(), "and this one")
                    .help("use a `target` that selects one of them"))
            }
            (None, _) => Err(self.no_match(set, id)),
        }
    }

    fn no_match(&self, set: &ResourceSet, id: &ResId) -> Diagnostic {
        let error = Diagnostic::error(Code::NoMatch, format!("no resource matches this patch: {id}"));
        let alike = self.names.get(&id.name).into_iter().flatten().filter_map(|&i| set.as_slice().get(i));
        let mut alike = alike.filter(|r| !r.is_empty()).map(Resource::id);
        match alike.find(|other| other.gvk.kind == id.gvk.kind) {
            Some(other) if other.gvk != id.gvk => {
                let version = other.gvk.api_version();
                error.help(format!("there is one with `apiVersion: {version}`; the patch must have the same"))
            }
            Some(other) => error.help(match other.namespace.as_str() {
                "" => "there is one without a namespace; the patch must have none either".into(),
                namespace => format!("there is one in namespace {namespace}; the patch must name it, too"),
            }),
            None => error.help("the patch must have kind, name and namespace of a resource, or a `target`"),
        }
    }
}

/// Looks for ids that two resources have.
///
/// # Errors
/// There is one.
pub(super) fn check_ids(set: &ResourceSet) -> Result<()> {
    let mut seen: FxHashMap<&ResId, &Resource> = FxHashMap::default();
    for resource in set.iter().filter(|resource| !resource.is_empty()) {
        if let Some(first) = seen.insert(resource.id(), resource) {
            let message = format!("the patch makes two resources the same: {}", resource.id());
            return Err(Diagnostic::error(Code::DuplicateResource, message)
                .label(resource.node().span().at_start(), "one is this")
                .label(first.node().span().at_start(), "the other is this")
                .help("let the `target` select only one of them, or change the name by hand"));
        }
    }
    Ok(())
}

fn note(positions: &mut Vec<usize>, i: usize) {
    // Positions come in ascending order, except when a resource gets another id.
    if let Err(at) = positions.binary_search(&i) {
        positions.insert(at, i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Pattern;
    use crate::schema::Schema;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_documents};

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

    fn selected(set: &ResourceSet, kind: &str, name: &str) -> Vec<usize> {
        let pattern = |text| Pattern::new(text).expect("valid");
        let selector = Selector { kind: pattern(kind), name: pattern(name), ..Selector::default() };
        let found = Index::new(set).select(set, &selector);
        assert_eq!(found, set.select(&selector), "as without an index");
        found
    }

    #[test]
    fn selectors_find_the_same_with_an_index() {
        let mut set = set(THREE);
        assert_eq!(selected(&set, "", "x"), [0, 2]);
        assert_eq!(selected(&set, "A", ""), [0, 1]);
        assert_eq!(selected(&set, "A|B", "x|y"), [0, 1, 2]);
        assert!(selected(&set, "B", "y").is_empty());
        set.resources_mut()[1].store_previous_id();
        set.resources_mut()[1].set_name("z");
        assert_eq!(selected(&set, "", "y"), [1], "the former name");
        assert_eq!(selected(&set, "", "z"), [1], "the current name");
    }

    #[test]
    fn ids_find_one_resource() {
        let mut set = set(THREE);
        let mut index = Index::new(&set);
        let id = set.as_slice()[1].id().clone();
        assert_eq!(index.unique(&set, &id).expect("one"), 1);
        let unnamed = ResId { namespace: SmolStr::default(), ..id.clone() };
        let error = index.unique(&set, &unnamed).expect_err("another namespace");
        let help = "there is one in namespace n; the patch must name it, too";
        assert_eq!((error.code(), error.help_text()), (Code::NoMatch, Some(help)));

        // The id counts when the resource had it before, and then two may have it.
        set.resources_mut()[0].previous.push(id.clone());
        index.add(0, &set.as_slice()[0]);
        assert_eq!(index.unique(&set, &id).expect_err("two").code(), Code::Ambiguous);
        *set.resources_mut()[1].node_mut() = crate::yaml::Node::map(crate::yaml::Map::new());
        assert_eq!(index.unique(&set, &id).expect("the other was deleted"), 0);
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
