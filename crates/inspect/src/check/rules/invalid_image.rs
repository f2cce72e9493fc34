//! Rule: container runtimes reject an image.

use rustc_hash::FxHashSet;

use crate::check::image_reference::{InvalidImagePart, invalid_image_part};
use crate::check::reference::{PodImage, pod_images};
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_merge::cause::Write;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::Node;

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "invalid-image",
        meaning: "No container runtime accepts an image, because its name, tag or digest is invalid.",
        remedy: "Write `[HOST[:PORT]/]NAME[:TAG][@DIGEST]`, with the name in lowercase.",
    }),
    title: "Invalid image",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Error,
    default: RuleDefault::Enabled,
    scope: RuleScope::BuildableOverlays,
    why: "The API server accepts any text as an image, but kubelet never starts the container: the Pod stays in \
          `InvalidImageName`. Images of containers and of image volumes are checked, also those that entries of \
          `images` in a kustomization change. Images with a placeholder that another tool replaces, such as \
          `$(IMAGE)`, `{{ image }}` or `PROJECT_ID`, are not reported. Leading and trailing spaces are reported as \
          `image`.",
    suppress: Some("Another tool replaces the image before it reaches the cluster."),
    documentation: "https://kubernetes.io/docs/concepts/containers/images/",
    bad: &[
        ("kustomization.yaml", "resources: [pod.yaml]\nimages:\n- name: nginx\n  newTag: nginx:1.29\n"),
        ("pod.yaml", POD),
    ],
    good: &[
        ("kustomization.yaml", "resources: [pod.yaml]\nimages:\n- name: nginx\n  newTag: \"1.29\"\n"),
        ("pod.yaml", POD),
    ],
    finder: Finder::Target(find),
};

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n";

/// The field in which SOPS stores its metadata. In such an object, the image may be encrypted.
const SOPS: &str = "sops";

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let (mut found, mut reported) = (Vec::new(), FxHashSet::default());
    for resource in target.resources().filter(|resource| resource.node().get(SOPS).is_none()) {
        for image in pod_images(resource) {
            let Some(invalid) = image.node.as_str().and_then(invalid_image_part) else { continue };
            let writes = resource.history.as_deref().and_then(|history| history.writes_at(&image.path));
            let (at, written) = origin(&image, writes.unwrap_or_default(), invalid, target.sources);
            if reported.insert((at, invalid.text)) {
                found.push(finding(written, invalid).at(at).resource(resource.id()).field(&image.field));
            }
        }
    }
    found
}

fn finding(image: &str, invalid: InvalidImagePart<'_>) -> Diagnostic {
    let InvalidImagePart { part, text, help } = invalid;
    let message = if text == image {
        format!("the image `{image}` is invalid")
    } else {
        format!("the image `{image}` has an invalid {part}: `{text}`")
    };
    Diagnostic::error(RULE.code, message).help(help)
}

/// Returns the location of the invalid part, and the image that it was first written in.
fn origin<'n>(
    image: &PodImage<'n>,
    writes: &'n [Write],
    invalid: InvalidImagePart<'_>,
    sources: &SourceMap,
) -> (Span, &'n str) {
    let text = |node: &'n Node| node.as_str().unwrap_or_default();
    let has_part = |write: &&Write| {
        let part = write.value.as_str().and_then(invalid_image_part);
        part.is_some_and(|part| (part.part, part.text) == (invalid.part, invalid.text))
    };
    match writes.iter().take_while(has_part).last() {
        Some(write) => (location(write, invalid.text, sources), text(&write.value)),
        None => (image.node.span(), text(image.node)),
    }
}

/// Returns the location of a write. For an entry of `images`, returns the location of the field with the invalid text.
fn location(write: &Write, invalid: &str, sources: &SourceMap) -> Span {
    let entries = write.by.writer().entries.iter().filter(|entry| entry.name == *write.by.name());
    let is_invalid =
        |span: &Span| sources.text_at(*span).is_some_and(|text| text.trim_matches(['"', '\'']) == invalid);
    let field = entries.map(|entry| entry.location).find(is_invalid);
    field.or(Some(write.at).filter(|at| !at.is_none())).unwrap_or_else(|| write.by.location())
}
