//! Resources by the words that people name them with.

use smol_str::SmolStr;

use super::blame::ResourceBlame;
use smp_overlay::resource::ObjectWords;
use smp_text::yaml::nearest;

/// Whether a resource is meant by `deployment/web`, `deploy.apps/web` or `deployment/shop/web`.
#[must_use]
pub fn is_named(resource: &ResourceBlame, object: &str) -> bool {
    ObjectWords::parse(object).is_some_and(|words| words.means(&resource.id))
}

/// Takes apart what names a resource and one of its fields, with a colon between them; names of roles have some, too.
#[must_use]
pub fn split_field<'w>(resources: &[ResourceBlame], wanted: &'w str) -> (&'w str, Option<&'w str>) {
    let is_one = |object: &str| resources.iter().any(|resource| is_named(resource, object));
    if is_one(wanted) {
        return (wanted, None);
    }
    let ends = wanted.rmatch_indices(':').map(|(at, _)| wanted.split_at(at));
    let split = ends.map(|(object, field)| (object, Some(&field[1..])));
    let longest = split.into_iter().find(|(object, _)| is_one(object));
    longest.unwrap_or_else(|| wanted.split_once(':').map_or((wanted, None), |(o, f)| (o, Some(f))))
}

/// What was probably meant by the name of a resource that there is not: one of its kind that is or was called alike,
/// else one of another kind that is called so.
#[must_use]
pub fn nearest_object(resources: &[ResourceBlame], object: &str) -> Option<String> {
    let words = ObjectWords::parse(object);
    let name = words.as_ref().map_or(object, |words| words.name);
    let is_of_kind = |one: &&ResourceBlame| words.as_ref().is_some_and(|words| words.is_kind(&one.id.gvk));
    let (mut of_kind, others): (Vec<&ResourceBlame>, Vec<&ResourceBlame>) =
        resources.iter().partition(is_of_kind);
    // Of those that are called alike, one in the namespace is nearer.
    of_kind.sort_by_key(|one| !words.as_ref().is_some_and(|words| words.is_in(&one.id)));
    let found = called(&of_kind, name).first().copied().or_else(|| called_alike(&of_kind, name));
    let found = found.or_else(|| {
        let namesakes = called(&others, name);
        let kinds: Vec<&str> = namesakes.iter().map(|one| &*one.id.gvk.kind).collect();
        let kind = words.as_ref().and_then(|words| nearest(words.kind.split('.').next()?, &kinds));
        namesakes.iter().find(|one| Some(&*one.id.gvk.kind) == kind).or(namesakes.first()).copied()
    });
    let shown = |one: &ResourceBlame| shown(one, resources, words.as_ref());
    let found = found.map(shown).or_else(|| {
        let all: Vec<String> = resources.iter().map(shown).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        nearest(object, &all).map(ToString::to_string)
    });
    found.filter(|found| found != object)
}

/// The names that a resource has and had: before prefixes, suffixes and hashes.
fn names(resource: &ResourceBlame) -> impl Iterator<Item = &str> {
    let field = resource.fields.iter().find(|field| field.pointer == "/metadata/name");
    let writes = field.into_iter().flat_map(|field| &field.writes);
    let former = writes.filter_map(|write| write.value.scalar_text()).map(SmolStr::as_str);
    std::iter::once(&*resource.id.name).chain(former)
}

/// Those that are called so, those before them that were.
fn called<'b>(resources: &[&'b ResourceBlame], name: &str) -> Vec<&'b ResourceBlame> {
    let was = resources.iter().filter(|one| names(one).any(|known| known == name));
    let mut found: Vec<_> = was.copied().collect();
    found.sort_by_key(|one| one.id.name != name);
    found
}

fn called_alike<'b>(resources: &[&'b ResourceBlame], name: &str) -> Option<&'b ResourceBlame> {
    let known: Vec<&str> = resources.iter().flat_map(|one| names(one)).collect();
    let alike = nearest(name, &known)?;
    called(resources, alike).first().copied()
}

/// `deployment.apps/web`, with the namespace where only that tells which one it is.
fn shown(resource: &ResourceBlame, all: &[ResourceBlame], words: Option<&ObjectWords<'_>>) -> String {
    let id = &resource.id;
    let is_told = words.is_some_and(|words| words.namespace.is_some())
        || all.iter().filter(|other| other.id.same_gvk_and_name(id)).count() > 1;
    let name = match id.namespace.as_str() {
        namespace if is_told && !namespace.is_empty() => format!("{namespace}/{}", id.name),
        _ => id.name.to_string(),
    };
    id.gvk.object_name(&name)
}
