//! The images transformer: new names, tags and digests of container images.

use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use smol_str::SmolStr;

use super::field_spec::{Create, FieldSpecs, set_scalar};
use crate::resource::{ResourceSet, SimilarNames};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::regexp;
use smp_text::source::Span;
use smp_text::yaml::{Node, Spanned, Tag, Value};

/// An entry of a kustomization's `images`.
///
/// ```
/// use smp_overlay::resource::{Resource, ResourceSet};
/// use smp_merge::schema::Schema;
/// use smp_overlay::transform::{FieldSpecs, Image, images};
/// use smol_str::SmolStr;
///
/// let schema = Schema::embedded();
/// let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: 'web:1'}]}}";
/// let mut set = ResourceSet::new();
/// set.append(Resource::new(pod.parse()?, &schema)?)?;
/// let image = Image { name: SmolStr::new("web").into(), new_tag: SmolStr::new("2").into(), ..Image::default() };
/// images(&mut set, &[image], &FieldSpecs::default(), &schema)?;
/// let text = smp_text::yaml::to_yaml(set.as_slice()[0].node())?;
/// assert!(text.contains("image: web:2"));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Image {
    /// The current name without tag and digest; a regular expression.
    pub name: Spanned<SmolStr>,
    /// The new name.
    pub new_name: Spanned<SmolStr>,
    /// The suffix to append to the tag.
    pub tag_suffix: Spanned<SmolStr>,
    /// The new tag, which replaces tag and digest.
    pub new_tag: Spanned<SmolStr>,
    /// The new digest, which replaces tag and digest.
    pub digest: Spanned<SmolStr>,
}

impl Image {
    /// Returns the location of the field that changes the image the most.
    fn location(&self) -> Span {
        let parts = [&self.new_tag, &self.digest, &self.new_name, &self.tag_suffix];
        parts.into_iter().find(|part| !part.is_empty()).map_or(self.name.span, |part| part.span)
    }

    /// Returns the locations of all fields.
    pub(crate) fn locations(&self) -> [Span; 5] {
        [&self.name, &self.new_tag, &self.digest, &self.new_name, &self.tag_suffix].map(|part| part.span)
    }
}

/// The names of container lists, in which images of all kinds are changed.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The kind that contains definitions of resources instead of resources.
const DEFINITION: &str = "CustomResourceDefinition";

/// Changes images, first in all container lists at any depth, then in the fields of `specs`. CustomResourceDefinitions
/// are not changed.
///
/// As in kustomize 5.8, an image that is in both is changed twice, so that a tag suffix is appended twice.
///
/// Returns warnings about entries that match no image; kustomize has no such warnings.
///
/// # Errors
/// An image is not a scalar, or a container is not a map.
pub fn images(
    set: &mut ResourceSet,
    images: &[Image],
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<Vec<Diagnostic>> {
    let changes: Vec<ImageChange<'_>> = images.iter().filter_map(ImageChange::new).collect();
    for Image { new_name, tag_suffix, new_tag, digest, .. } in images {
        set.count_copies(
            [new_name, tag_suffix, new_tag, digest].map(|text| text.value.len()).iter().sum(),
            set.len(),
        )?;
    }
    set.change_each(|resource| {
        if resource.id().gvk.kind == DEFINITION {
            return Ok(());
        }
        let has_containers = has_containers(resource.node());
        let mut has_fields = false;
        specs.visit(resource, Create::Never, &mut |_| {
            has_fields = true;
            Ok(())
        })?;
        if !has_containers && !has_fields {
            return Ok(());
        }
        for change in &changes {
            if has_containers {
                in_containers(resource.node_mut(), change).map_err(|d| d.resource(resource.id()))?;
            }
            if has_fields {
                specs.visit(resource, Create::Never, &mut |field| change.apply(field))?;
            }
        }
        resource.sync(schema);
        Ok(())
    })?;
    let matched: FxHashSet<*const Image> = changes
        .iter()
        .filter(|change| change.has_matched.load(Ordering::Relaxed))
        .map(|change| std::ptr::from_ref(change.image))
        .collect();
    let unmatched: Vec<&Image> =
        images.iter().filter(|image| !matched.contains(&std::ptr::from_ref(*image))).collect();
    Ok(if unmatched.is_empty() { Vec::new() } else { unmatched_warnings(&unmatched, images, set) })
}

/// Creates a warning for each entry that matches no image.
fn unmatched_warnings(unmatched: &[&Image], all: &[Image], set: &ResourceSet) -> Vec<Diagnostic> {
    let mut names = ImageNames::default();
    set.iter().for_each(|resource| names.collect(resource.node(), ImageField::Other));
    names.renamed = all
        .iter()
        .filter(|image| !image.new_name.is_empty() && image.new_name.value != image.name.value)
        .map(|image| (image.name.value.clone(), image))
        .collect();
    let similar: SimilarNames = names.of_containers.keys().collect();
    unmatched.iter().map(|image| names.warning(image, &similar)).collect()
}

/// The names of all images of a set after all changes.
#[derive(Default)]
struct ImageNames<'i> {
    /// The images of containers, each with its first location.
    of_containers: FxHashMap<SmolStr, Span>,
    /// The images of containers by the last part of their names, after registry and project.
    by_last: FxHashMap<SmolStr, SmolStr>,
    /// The `image` fields that the transformer does not change.
    elsewhere: FxHashMap<SmolStr, Span>,
    /// The entries that rename an image, by the old name.
    renamed: FxHashMap<SmolStr, &'i Image>,
}

/// The field that contains a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ImageField {
    /// A container list.
    Containers,
    Other,
}

impl ImageNames<'_> {
    fn collect(&mut self, node: &Node, field: ImageField) {
        match &node.value {
            Value::Scalar(_) => {}
            Value::List(list) => list.iter().for_each(|entry| self.collect(entry, field)),
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let below =
                        if CONTAINERS.contains(&key) { ImageField::Containers } else { ImageField::Other };
                    match value.scalar_text() {
                        Some(image) if key == "image" => self.add(split(image).0.into(), value.span(), field),
                        _ => self.collect(value, below),
                    }
                }
            }
        }
    }

    fn add(&mut self, name: SmolStr, at: Span, field: ImageField) {
        if field == ImageField::Other {
            self.elsewhere.entry(name).or_insert(at);
            return;
        }
        self.by_last.entry(last_part(&name).into()).or_insert_with(|| name.clone());
        self.of_containers.entry(name).or_insert(at);
    }

    fn warning(&self, image: &Image, similar: &SimilarNames) -> Diagnostic {
        let name = &image.name.value;
        if name.is_empty() {
            let message = "the entry of `images` has no `name` and has no effect";
            return Diagnostic::warning(Code::UnmatchedImage, message)
                .at(image.location())
                .help("set `name` to the image name of the manifests, such as `nginx`");
        }
        let message = format!("no image matches `{name}`");
        let warning = Diagnostic::warning(Code::UnmatchedImage, message).at(image.name.span);
        if let Some(other) = self.renamed.get(name).filter(|other| !std::ptr::eq(**other, image)) {
            let new = &other.new_name;
            let help = format!("another entry renames the image to `{}`: combine both entries", new.value);
            return warning.label(new.span, "other entry").help(help);
        }
        if let Some(at) = self.elsewhere.get(name) {
            return warning.label(*at, "field with this image").help(
                "a field outside of containers has this image: add the field to a file under `configurations`, e.g. \
                 `images: [{path: spec/image, kind: KIND}]`",
            );
        }
        match similar.nearest(name).or_else(|| self.by_last.get(last_part(name)).cloned()) {
            Some(near) => {
                let at = self.of_containers.get(&near).copied().unwrap_or_default();
                let warning = warning.label(at, "similar image");
                warning.help(format!("did you mean `{near}`?"))
            }
            None => warning.help("use the image name of the manifests, without the tag"),
        }
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn has_containers(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => false,
        Value::List(list) => list.iter().any(has_containers),
        Value::Map(map) => map.iter().any(|(key, value)| CONTAINERS.contains(&key) || has_containers(value)),
    }
}

fn in_containers(node: &mut Node, change: &ImageChange<'_>) -> Result<()> {
    match &mut node.value {
        Value::Scalar(_) => Ok(()),
        Value::List(list) => list.iter_mut().try_for_each(|entry| in_containers(entry, change)),
        Value::Map(map) => map.iter_mut().try_for_each(|(key, value)| {
            in_containers(value, change)?;
            let list = if CONTAINERS.contains(&key) { value.as_list_mut() } else { None };
            list.into_iter().flatten().try_for_each(|c| in_container(c, change)).map_err(|d| d.field(key))
        }),
    }
}

fn in_container(container: &mut Node, change: &ImageChange<'_>) -> Result<()> {
    if container.is_null() {
        return Ok(());
    }
    let (span, found) = (container.span(), container.type_name());
    let Some(map) = container.as_map_mut() else {
        let message = format!("expected a container (a map), found {found}");
        return Err(Diagnostic::error(Code::WrongType, message).at(span));
    };
    map.get_mut("image").map_or(Ok(()), |image| change.apply(image))
}

/// A compiled entry.
struct ImageChange<'i> {
    image: &'i Image,
    name: ImageName,
    /// True if the entry has matched an image.
    has_matched: AtomicBool,
}

/// The image name that an entry matches.
enum ImageName {
    /// A plain name, in which a dot matches any character. Nearly all entries have one.
    Plain(SmolStr),
    Regex(Box<Regex>),
}

impl ImageName {
    fn matches(&self, image: &str) -> bool {
        let name = match self {
            Self::Regex(regex) => return regex.is_match(image),
            Self::Plain(name) => name,
        };
        let mut rest = image.chars();
        let same =
            |expected: char| rest.next().is_some_and(|c| c == expected || (expected == '.' && c != '\n'));
        name.chars().all(same) && is_tag_and_digest(rest.as_str())
    }
}

/// Returns true for `[:tag][@algorithm:digest]`.
fn is_tag_and_digest(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || "_.{}-".contains(c);
    let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let after_tag = text.strip_prefix(':').map_or(text, |tag| tag.trim_start_matches(word));
    let digest = after_tag.strip_prefix('@').and_then(|digest| digest.split_once(':'));
    after_tag.is_empty()
        || digest.is_some_and(|(algorithm, digest)| {
            algorithm.split(['.', '+', '_', '-']).all(part) && digest.chars().all(word)
        })
}

impl<'i> ImageChange<'i> {
    /// Compiles an entry. Returns `None` if the name is not a valid regular expression, since it matches
    /// nothing.
    fn new(image: &'i Image) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/:-_.@".contains(c);
        if image.name.chars().all(plain) {
            return Some(Self::with_name(image, ImageName::Plain(image.name.value.clone())));
        }
        let tag = "(:[a-zA-Z0-9_.{}-]*)?";
        let digest = "(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?";
        let regex = regexp::compile(&format!("^{}{tag}{digest}$", image.name)).ok()?;
        Some(Self::with_name(image, ImageName::Regex(Box::new(regex))))
    }

    fn with_name(image: &'i Image, name: ImageName) -> Self {
        Self { image, name, has_matched: AtomicBool::new(false) }
    }

    fn apply(&self, field: &mut Node) -> Result<()> {
        let Some(text) = field.scalar_text() else {
            let message = format!("expected an image (a string), found {}", field.type_name());
            return Err(Diagnostic::error(Code::WrongType, message).at(field.span()));
        };
        if !self.name.matches(text) {
            return Ok(());
        }
        self.has_matched.store(true, Ordering::Relaxed);
        let new = self.changed_image(text);
        set_scalar(field, Spanned::new(new.as_str(), self.image.location()), Tag::Undecided)
    }

    fn changed_image(&self, text: &str) -> String {
        let image = self.image;
        let (name, old_tag, old_digest) = split(text);
        let name = if image.new_name.is_empty() { name } else { &image.new_name };
        let suffixed = format!("{old_tag}{}", image.tag_suffix);
        let (tag, digest) = match (!image.new_tag.is_empty(), !image.digest.is_empty()) {
            (false, false) if image.tag_suffix.is_empty() => (old_tag, old_digest),
            (false, false) => (suffixed.as_str(), ""),
            _ => (image.new_tag.as_str(), image.digest.as_str()),
        };
        let mut new = name.to_string();
        for (sign, part) in [(':', tag), ('@', digest)] {
            if !part.is_empty() {
                new.push(sign);
                new.push_str(part);
            }
        }
        new
    }
}

/// Splits `[[host[:port]/]path/]name[:tag][@digest]` into name, tag and digest.
fn split(image: &str) -> (&str, &str, &str) {
    // A colon before the first slash starts a port.
    let path = image.find('/').unwrap_or(0);
    let (tag, digest) = (image[path..].find(':'), image[path..].find('@'));
    let (tag, digest) = (tag.map(|i| i + path), digest.map(|i| i + path));
    match (tag, digest) {
        (None, None) => (image, "", ""),
        (Some(tag), Some(digest)) if tag < digest => {
            (&image[..tag], &image[tag + 1..digest], &image[digest + 1..])
        }
        (_, Some(digest)) => (&image[..digest], "", &image[digest + 1..]),
        (Some(tag), None) => (&image[..tag], &image[tag + 1..], ""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::testing::{at, set};
    use super::*;

    #[test]
    fn image_is_split_into_name_tag_and_digest() {
        let table = [
            ("nginx", ("nginx", "", "")),
            ("nginx:1.2", ("nginx", "1.2", "")),
            ("nginx@sha256:ab", ("nginx", "", "sha256:ab")),
            ("nginx:1@sha256:ab", ("nginx", "1", "sha256:ab")),
            ("host:5000/nginx", ("host:5000/nginx", "", "")),
            ("host:5000/a/nginx:1", ("host:5000/a/nginx", "1", "")),
            ("host:5000/nginx:1@sha256:ab", ("host:5000/nginx", "1", "sha256:ab")),
            ("/nginx:1", ("/nginx", "1", "")),
            (":", ("", "", "")),
            ("", ("", "", "")),
        ];
        for (image, want) in table {
            assert_eq!(split(image), want, "{image:?}");
        }
    }

    fn image(name: &str, new_name: &str, new_tag: &str, digest: &str, tag_suffix: &str) -> Image {
        let text = |text: &str| SmolStr::new(text).into();
        Image {
            name: text(name),
            new_name: text(new_name),
            new_tag: text(new_tag),
            digest: text(digest),
            tag_suffix: text(tag_suffix),
        }
    }

    #[test]
    fn names_tags_and_digests_are_changed() {
        let digest = "sha256:ab";
        let table = [
            (image("nginx", "", "2", "", ""), "nginx:1", Some("nginx:2")),
            (image("nginx", "", "2", "", ""), "nginx:1@sha256:ff", Some("nginx:2")),
            (image("nginx", "", "", digest, ""), "nginx:1", Some("nginx@sha256:ab")),
            (image("nginx", "", "2", digest, ""), "nginx:1", Some("nginx:2@sha256:ab")),
            (image("nginx", "apache", "", "", ""), "nginx:1@sha512:ff", Some("apache:1@sha512:ff")),
            (image("nginx", "", "", "", "-x"), "nginx:1@sha256:ff", Some("nginx:1-x")),
            (image("nginx", "", "2", "", "-x"), "nginx:1", Some("nginx:2")),
            (image("nginx", "", "", "", ""), "nginx:1", Some("nginx:1")),
            (image("nginx", "", "2", "", ""), "my/nginx:1", None),
            (image("nginx", "", "2", "", ""), "nginx-alpine", None),
            (image("nginx", "", "2", "", ""), "nginx:{TAG}", Some("nginx:2")),
            (image("h:5/nginx", "", "2", "", ""), "h:5/nginx", Some("h:5/nginx:2")),
            (image("g.io/nginx", "", "2", "", ""), "gxio/nginx:1", Some("gxio/nginx:2")),
            (image("g.io/nginx", "", "2", "", ""), "g.io/nginx:1 ", None),
            (image("nginx", "", "2", "", ""), "nginx:1@sha256:a@b", None),
            (image("nginx", "", "2", "", ""), "nginx@multihash+base58:a", Some("nginx:2")),
            (image("nginx", "", "2", "", ""), "nginx@a+:a", None),
            (image("nginx", "", "2", "", ""), "nginx@ab", None),
            (image("nginx", "", "2", "", ""), "nginx:@sha256:", Some("nginx:2")),
            (image("(.*/)?nginx", "x", "", "", ""), "a/b/nginx:1", Some("x:1")),
        ];
        for (image, text, want) in table {
            let change = ImageChange::new(&image).expect("a valid name");
            let got = change.name.matches(text).then(|| change.changed_image(text));
            assert_eq!(got.as_deref(), want, "{image:?} {text}");
        }
        assert!(ImageChange::new(&image("[", "", "", "", "")).is_none());
    }

    fn run(list: &[Image], text: &str) -> Result<ResourceSet> {
        let mut set = set(text);
        images(&mut set, list, &TransformerConfig::builtin().images, &Schema::kustomize()).map(|_| set)
    }

    #[test]
    fn images_are_changed_in_containers_and_field_specs() {
        let list = [image("a", "b", "", "", ""), image("b", "", "9", "", "")];
        let set = run(
            &list,
            "
apiVersion: x.io/v1
kind: Foo
metadata: {name: f}
deep: [{er: {containers: [{image: 'a:1'}, {name: none}, null], other: {image: a}}}]
spec: {containers: null, volumes: [{image: {reference: a}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec: {containers: [{image: a}]}
",
        )
        .expect("images");
        assert_eq!(at(&set, 0, "deep.0.er.containers.0.image"), "b:9");
        assert_eq!(at(&set, 0, "deep.0.er.other.image"), "a");
        assert_eq!(at(&set, 0, "spec.containers"), "[]");
        assert_eq!(at(&set, 0, "spec.volumes.0.image.reference"), "b:9");
        assert_eq!(at(&set, 1, "spec.containers.0.image"), "a");
    }

    #[test]
    fn entry_that_matches_nothing_is_warned_of() {
        let pod =
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{image: 'r.io/nginx:1'}]}}";
        let list = [
            image("r.io/nginx", "", "2", "", ""),
            image("nginx", "", "2", "", ""),
            image("[", "", "", "", ""),
        ];
        let (mut set, specs) = (set(pod), TransformerConfig::builtin().images);
        let warnings = images(&mut set, &list, &specs, &Schema::kustomize()).expect("images");
        let helps: Vec<_> = warnings.iter().map(|warning| (warning.code(), warning.help_text())).collect();
        let near = (Code::UnmatchedImage, Some("did you mean `r.io/nginx`?"));
        let none = (Code::UnmatchedImage, Some("use the image name of the manifests, without the tag"));
        assert_eq!(helps, [near, none]);
    }

    #[test]
    fn tag_suffix_is_appended_twice_as_in_kustomize() {
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{image: 'a:1'}]}}";
        let set = run(&[image("a", "", "", "", "-s")], pod).expect("images");
        assert_eq!(at(&set, 0, "spec.containers.0.image"), "a:1-s-s");
    }

    #[test]
    fn image_or_container_of_wrong_type_is_rejected() {
        for containers in ["[x]", "[{image: {name: x}}]"] {
            let text =
                format!("{{apiVersion: x/v1, kind: Foo, metadata: {{name: f}}, containers: {containers}}}");
            let error = run(&[image("a", "b", "", "", "")], &text).expect_err(containers);
            assert_eq!(
                (error.code(), error.field_path()),
                (Code::WrongType, Some("containers")),
                "{containers}"
            );
        }
    }
}
