//! Finds resources by the names that users type.

use smol_str::SmolStr;

use super::blame::ResourceBlame;
use smp_overlay::resource::ObjectArg;
use smp_text::yaml::nearest_name;

/// Returns true if a name such as `deployment/web`, `deploy.apps/web` or `deployment/shop/web` refers to a
/// resource.
#[must_use]
pub fn matches_name(resource: &ResourceBlame, object: &str) -> bool {
    ObjectArg::parse(object).is_some_and(|words| words.matches(&resource.id))
}

/// Splits a resource and one of its fields at a colon. The name of a role may also contain a colon.
#[must_use]
pub fn split_field<'w>(resources: &[ResourceBlame], text: &'w str) -> (&'w str, Option<&'w str>) {
    let is_one = |object: &str| resources.iter().any(|resource| matches_name(resource, object));
    if is_one(text) {
        return (text, None);
    }
    let ends = text.rmatch_indices(':').map(|(at, _)| text.split_at(at));
    let split = ends.map(|(object, field)| (object, Some(&field[1..])));
    let longest = split.into_iter().find(|(object, _)| is_one(object));
    longest.unwrap_or_else(|| text.split_once(':').map_or((text, None), |(o, f)| (o, Some(f))))
}

/// Returns a suggestion for an unknown resource: a resource of the same kind with a similar current or former name,
/// otherwise a resource of another kind with the same name.
#[must_use]
pub fn nearest_object(resources: &[ResourceBlame], object: &str) -> Option<String> {
    let words = ObjectArg::parse(object);
    let name = words.as_ref().map_or(object, |words| words.name);
    let is_of_kind = |one: &&ResourceBlame| words.as_ref().is_some_and(|words| words.is_kind(&one.id.gvk));
    let (mut of_kind, others): (Vec<&ResourceBlame>, Vec<&ResourceBlame>) =
        resources.iter().partition(is_of_kind);
    // A resource in the same namespace is a better suggestion.
    of_kind.sort_by_key(|one| !words.as_ref().is_some_and(|words| words.is_in(&one.id)));
    let found = named(&of_kind, name).first().copied().or_else(|| named_similarly(&of_kind, name));
    let found = found.or_else(|| {
        let namesakes = named(&others, name);
        let kinds: Vec<&str> = namesakes.iter().map(|one| &*one.id.gvk.kind).collect();
        let kind = words.as_ref().and_then(|words| nearest_name(words.kind.split('.').next()?, &kinds));
        namesakes.iter().find(|one| Some(&*one.id.gvk.kind) == kind).or(namesakes.first()).copied()
    });
    let shown = |one: &ResourceBlame| shown(one, resources, words.as_ref());
    let found = found.map(shown).or_else(|| {
        let all: Vec<String> = resources.iter().map(shown).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        nearest_name(object, &all).map(ToString::to_string)
    });
    found.filter(|found| found != object)
}

/// Returns the current name of a resource, and its former names before prefixes, suffixes and hashes were added.
fn names(resource: &ResourceBlame) -> impl Iterator<Item = &str> {
    let field = resource.fields.iter().find(|field| field.pointer == "/metadata/name");
    let writes = field.into_iter().flat_map(|field| &field.writes);
    let former = writes.filter_map(|write| write.value.scalar_text()).map(SmolStr::as_str);
    std::iter::once(&*resource.id.name).chain(former)
}

/// Returns the resources with a current or former name. Those with the current name come first.
fn named<'b>(resources: &[&'b ResourceBlame], name: &str) -> Vec<&'b ResourceBlame> {
    let with_name = resources.iter().filter(|one| names(one).any(|known| known == name));
    let mut found: Vec<_> = with_name.copied().collect();
    found.sort_by_key(|one| one.id.name != name);
    found
}

fn named_similarly<'b>(resources: &[&'b ResourceBlame], name: &str) -> Option<&'b ResourceBlame> {
    let known: Vec<&str> = resources.iter().flat_map(|one| names(one)).collect();
    let alike = nearest_name(name, &known)?;
    named(resources, alike).first().copied()
}

/// Returns a name such as `deployment.apps/web`. It includes the namespace if the user typed one or if it is needed to
/// identify the resource.
fn shown(resource: &ResourceBlame, all: &[ResourceBlame], words: Option<&ObjectArg<'_>>) -> String {
    let id = &resource.id;
    let needs_namespace = words.is_some_and(|words| words.namespace.is_some())
        || all.iter().filter(|other| other.id.same_gvk_and_name(id)).count() > 1;
    let name = match id.namespace.as_str() {
        namespace if needs_namespace && !namespace.is_empty() => format!("{namespace}/{}", id.name),
        _ => id.name.to_string(),
    };
    id.gvk.object_name(&name)
}
