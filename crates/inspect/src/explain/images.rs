//! The images that built objects run, and the locations that set them.

use smol_str::{SmolStr, ToSmolStr};

use smp_merge::cause::OperationPart;
use smp_overlay::overlay::Built;
use smp_overlay::resource::{ResId, Resource};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, Value};

/// An image in a field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageField {
    /// The image.
    pub image: SmolStr,
    /// The field path. Entries of lists have their name, if they have one.
    pub path: String,
    /// The field names and list positions.
    pub positions: Vec<SmolStr>,
}

/// An image that an object of a build runs.
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
        image_fields(resource.node()).into_iter().map(used).collect::<Vec<_>>()
    };
    built.resources.iter().flat_map(uses).collect()
}

/// Returns the images of an object of any kind: fields with the name `image`, and the `reference` of image volumes.
/// The data of ConfigMaps and Secrets and the schemas of custom resources have no images.
#[must_use]
pub fn image_fields(node: &Node) -> Vec<ImageField> {
    let kind = node.get("kind").and_then(Node::as_str).unwrap_or_default();
    let mut found = Vec::new();
    if !["ConfigMap", "Secret", "CustomResourceDefinition"].contains(&kind) {
        collect(node, &mut Vec::new(), &mut Vec::new(), &mut found);
    }
    found
}

fn collect(node: &Node, shown: &mut Vec<String>, positions: &mut Vec<SmolStr>, found: &mut Vec<ImageField>) {
    let is_image = positions.last().is_some_and(|last| last == "image")
        || positions.ends_with(&["image".into(), "reference".into()]);
    match &node.value {
        Value::Scalar(_) => {
            if let Some(image) = node.as_str().filter(|image| is_image && !image.is_empty()) {
                let path = shown.concat().trim_start_matches('.').to_string();
                found.push(ImageField { image: image.into(), path, positions: positions.clone() });
            }
        }
        Value::Map(map) => each_field(map, |name, value| {
            shown.push(format!(".{name}"));
            positions.push(name.into());
            collect(value, shown, positions, found);
            shown.pop();
            positions.pop();
        }),
        Value::List(list) => {
            for (i, entry) in list.iter().enumerate() {
                let name = entry.get("name").and_then(Node::as_str);
                shown.push(name.map_or_else(|| format!("[{i}]"), |name| format!("[name={name}]")));
                positions.push(i.to_smolstr());
                collect(entry, shown, positions, found);
                shown.pop();
                positions.pop();
            }
        }
    }
}

fn each_field<'n>(map: &'n Map, mut visit: impl FnMut(&'n str, &'n Node)) {
    for (name, value) in map.iter() {
        visit(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let found: Vec<_> =
            image_fields(&node).into_iter().map(|one| format!("{} {}", one.path, one.image)).collect();
        let want = [
            "spec.containers[name=web].image a:1",
            "spec.volumes[name=m].image.reference b@sha256:0",
            "spec.image c",
        ];
        assert_eq!(found, want);
    }
}
