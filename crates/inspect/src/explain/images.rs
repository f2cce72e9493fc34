//! The images that built objects use, and the locations that set them.

use smol_str::{SmolStr, ToSmolStr};

use smp_merge::cause::{History, OperationPart};
use smp_overlay::overlay::Built;
use smp_overlay::resource::{ResId, Resource};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// An image in a field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageField {
    /// The image.
    pub image: SmolStr,
    /// The field path. List entries are identified by name if they have one, otherwise by index.
    pub path: String,
    /// The field names and list indices.
    pub positions: Vec<SmolStr>,
}

/// An image that an object of a build uses.
#[derive(Debug, Clone)]
pub struct ImageUse {
    /// The image.
    pub image: SmolStr,
    /// The object.
    pub id: ResId,
    /// The field path.
    pub path: String,
    /// The location that set the image.
    pub at: Option<Span>,
}

/// Returns the images of all objects of a build.
#[must_use]
pub fn image_uses(built: &Built) -> Vec<ImageUse> {
    let uses = |resource: &Resource| {
        let used = |field: ImageField| {
            let history = resource.history.as_deref();
            let at =
                history.and_then(|history| history.write_location(&field.positions, OperationPart::Value));
            ImageUse { image: field.image, id: resource.id().clone(), path: field.path, at }
        };
        image_fields(resource).into_iter().map(used).collect::<Vec<_>>()
    };
    built.resources.iter().flat_map(uses).collect()
}

/// Returns the images of an object of any kind: fields with the name `image`, the `reference` of image volumes, and
/// values that the kustomization field `images` wrote to other fields by a field spec. The data of ConfigMaps and
/// Secrets and the schemas of CRDs are skipped.
#[must_use]
pub fn image_fields(resource: &Resource) -> Vec<ImageField> {
    let node = resource.node();
    let kind = node.get("kind").and_then(Node::as_str).unwrap_or_default();
    if ["ConfigMap", "Secret", "CustomResourceDefinition"].contains(&kind) {
        return Vec::new();
    }
    let mut finder = ImageFinder { history: resource.history.as_deref(), ..ImageFinder::default() };
    finder.visit(node);
    finder.found
}

/// The name of the step that sets images, before the index of its entry.
const IMAGES_STEP: &str = "images";

/// Collects the images of an object.
#[derive(Default)]
struct ImageFinder<'h> {
    history: Option<&'h History>,
    /// The parts of the path of the current value, as displayed.
    shown: Vec<String>,
    positions: Vec<SmolStr>,
    found: Vec<ImageField>,
}

impl ImageFinder<'_> {
    fn visit(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar(_) => {
                if let Some(image) = node.as_str().filter(|image| !image.is_empty() && self.is_image()) {
                    let path = self.shown.concat().trim_start_matches('.').to_string();
                    self.found.push(ImageField {
                        image: image.into(),
                        path,
                        positions: self.positions.clone(),
                    });
                }
            }
            Value::Map(map) => {
                for (name, value) in map.iter() {
                    self.enter(format!(".{name}"), name.into(), value);
                }
            }
            Value::List(list) => {
                for (i, entry) in list.iter().enumerate() {
                    let name = entry.get("name").and_then(Node::as_str);
                    let shown = name.map_or_else(|| format!("[{i}]"), |name| format!("[name={name}]"));
                    self.enter(shown, i.to_smolstr(), entry);
                }
            }
        }
    }

    fn enter(&mut self, shown: String, position: SmolStr, value: &Node) {
        self.shown.push(shown);
        self.positions.push(position);
        self.visit(value);
        self.shown.pop();
        self.positions.pop();
    }

    /// Returns true if the current value is an image.
    fn is_image(&self) -> bool {
        let is_step = |name: &str| {
            name.strip_prefix(IMAGES_STEP).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        let is_written = || {
            let writes = self.history.and_then(|history| history.writes_at(&self.positions));
            writes.is_some_and(|writes| writes.iter().any(|write| is_step(write.by.name())))
        };
        self.positions.last().is_some_and(|last| last == "image")
            || self.positions.ends_with(&["image".into(), "reference".into()])
            || is_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Schema;

    #[test]
    fn images_of_containers_volumes_and_custom_resources_are_found() {
        let node: Node = "
kind: Pod
spec:
  containers: [{name: web, image: a:1}]
  volumes: [{name: m, image: {reference: b@sha256:0}}]
  image: c
  status: {image: ''}
"
        .parse()
        .expect("YAML");
        let resource = Resource::unchecked(node, &Schema::embedded());
        let found: Vec<_> =
            image_fields(&resource).into_iter().map(|one| format!("{} {}", one.path, one.image)).collect();
        let want = [
            "spec.containers[name=web].image a:1",
            "spec.volumes[name=m].image.reference b@sha256:0",
            "spec.image c",
        ];
        assert_eq!(found, want);
    }
}
