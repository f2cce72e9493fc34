//! Finds images and objects of edits in the build of the kustomization. kustomize does not do this.

use std::path::Path;

use super::proof::build;
use smp_files::{DiskTree, FileTree as _};
use smp_inspect::check::{InvalidImagePart, code_by_name, invalid_image_part};
use smp_inspect::explain::image_fields;
use smp_merge::schema::{Schema, find_kind};
use smp_overlay::edit::{ImageEdit, PatchedObject, image_name, text_without};
use smp_overlay::overlay::Built;
use smp_overlay::resource::{ObjectArg, ResId, Resource};
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::{Node, ParseOptions, did_you_mean, parse_documents};

/// Builds the kustomization of a directory without some of its fields.
fn build_without(directory: &Path, fields: &[&str]) -> Option<Built> {
    let path =
        KUSTOMIZATION_FILES.iter().map(|name| directory.join(name)).find(|path| DiskTree.contains(path))?;
    let text = text_without(&DiskTree.read_text(&path).ok()?, fields).ok()?;
    build(directory, &[(&path, &text)])
}

/// Finds the entries of `images` to which edits refer: by the name in the manifests, the `newName`
/// of an entry, or the last part of the name. Warns about images that the build does not use.
pub(super) fn images(directory: &Path, edits: &[ImageEdit]) -> WithWarnings<Vec<ImageEdit>> {
    let Some(built) = build_without(directory, &["images", "imageTags"]) else {
        return edits.to_vec().into();
    };
    let fields = built.resources.iter().flat_map(image_fields);
    let mut used: Vec<String> = fields.map(|field| image_name(&field.image).to_string()).collect();
    used.sort();
    used.dedup();
    let entries = entries(directory);
    let mut warnings = Vec::new();
    let resolved = edits.iter().map(|edit| {
        let (edit, note) = resolved(edit, &entries, &used);
        warnings.extend(note.or_else(|| unmatched(&edit, &used)));
        edit
    });
    let resolved = resolved.collect();
    WithWarnings { value: resolved, warnings }
}

/// Returns a warning for each edit with a name, tag or digest that no container runtime accepts.
pub(super) fn invalid_images(edits: &[ImageEdit]) -> impl Iterator<Item = Diagnostic> {
    edits.iter().filter_map(|ImageEdit { new_name, new_tag, digest, .. }| {
        let parts = [(":", new_tag), ("@", digest)].map(|(sign, part)| match part.as_str() {
            "" | "*" => String::new(),
            part => format!("{sign}{part}"),
        });
        // The name in the manifests is replaced, or is a regular expression.
        let name = if matches!(new_name.as_str(), "" | "*") { "name" } else { new_name };
        let image = format!("{name}{}", parts.concat());
        let InvalidImagePart { part, text, help } = invalid_image_part(&image)?;
        let message = format!("no container runtime accepts the image {part} `{text}`");
        Some(Diagnostic::warning(code_by_name("invalid-image")?, message).help(help))
    })
}

/// Returns the name and new name of each entry of `images`.
fn entries(directory: &Path) -> Vec<(String, String)> {
    let text = KUSTOMIZATION_FILES.iter().find_map(|name| DiskTree.read_text(&directory.join(name)).ok());
    let sources = SourceMap::default();
    let id = sources.add(directory.to_path_buf(), text.unwrap_or_default());
    let documents = parse_documents(&sources, id, ParseOptions::default()).unwrap_or_default();
    let images = documents.first().and_then(|node| node.get("images")?.as_list());
    let field = |entry: &Node, name| entry.get(name).and_then(Node::as_str).unwrap_or_default().to_string();
    images.into_iter().flatten().map(|entry| (field(entry, "name"), field(entry, "newName"))).collect()
}

fn resolved(
    edit: &ImageEdit,
    entries: &[(String, String)],
    used: &[String],
) -> (ImageEdit, Option<Diagnostic>) {
    let name = edit.name.as_str();
    let renamed = |to: &str, why: String| {
        let note =
            Diagnostic::info(Code::Summary, format!("set the image `{to}` instead of `{name}`: {why}"));
        (ImageEdit { name: to.to_string(), ..edit.clone() }, Some(note))
    };
    if entries.iter().any(|(known, _)| known == name) || used.iter().any(|image| image == name) {
        return (edit.clone(), None);
    }
    let by_new_name: Vec<&str> =
        entries.iter().filter(|(_, new)| new == name).map(|(known, _)| known.as_str()).collect();
    if let [one] = by_new_name[..] {
        let (mut found, note) = renamed(one, format!("its newName is `{name}`"));
        if found.new_name.is_empty() {
            found.new_name = name.to_string();
        }
        return (found, note);
    }
    let by_end: Vec<&String> = used
        .iter()
        .filter(|image| image.strip_suffix(name).is_some_and(|above| above.ends_with('/')))
        .collect();
    match by_end[..] {
        [one] => renamed(one, "the build uses no other image with this name".into()),
        _ => (edit.clone(), None),
    }
}

fn unmatched(edit: &ImageEdit, used: &[String]) -> Option<Diagnostic> {
    if used.contains(&edit.name) {
        return None;
    }
    let names: Vec<&str> = used.iter().map(String::as_str).collect();
    let help = did_you_mean(&edit.name, &names).unwrap_or_else(|| match names.as_slice() {
        [] => "the build has no images".into(),
        names => format!("the build uses {}", names.join(", ")),
    });
    let message = format!("no image of the build matches `{}`", edit.name);
    Some(Diagnostic::warning(Code::UnmatchedImage, message).help(help))
}

/// Finds an object by its name in the build or in the manifests, and returns it as the patches of
/// the kustomization see it. If the kustomization cannot be built, the kind is looked up among
/// those of Kubernetes.
pub(super) fn object(directory: &Path, text: &str) -> Result<PatchedObject> {
    let invalid = || {
        Diagnostic::error(Code::InvalidValue, format!("`{text}` is not an object"))
            .help("use KIND/NAME, such as deploy/web")
    };
    let wanted = ObjectArg::parse(text).ok_or_else(invalid)?;
    // Patches are applied before these fields.
    let Some(built) = build_without(directory, &["namePrefix", "nameSuffix", "namespace"]) else {
        let words: Vec<&str> = wanted.kind.split('.').collect();
        let (gvk, _) = find_kind(&Schema::embedded(), &words, None)?;
        return Ok(PatchedObject {
            api_version: gvk.api_version().to_string(),
            kind: gvk.kind.to_string(),
            name: wanted.name.to_string(),
            namespace: wanted.namespace.unwrap_or_default().to_string(),
        });
    };
    let before: Vec<&Resource> = built.resources.iter().collect();
    let is_wanted = |resource: &&&Resource| resource.ids().any(|id| wanted.matches(id));
    let found: Vec<&ResId> = before.iter().filter(is_wanted).map(|one| id_for_patches(one)).collect();
    match found[..] {
        [] => {}
        [one] => return Ok(patched(one)),
        _ => return Err(ambiguous(text, &found)),
    }
    // The name may be that in the output. The build with these fields has the same objects in the same order.
    let full = build(directory, &[]);
    let after: Vec<&ResId> = full.iter().flat_map(|built| built.resources.iter().map(Resource::id)).collect();
    let matching: Vec<&ResId> = after.iter().copied().filter(|id| wanted.matches(id)).collect();
    let as_before = |id: &ResId| {
        let same = |one: &&ResId| one.gvk == id.gvk && id.name.contains(one.name.as_str());
        let mut found = before.iter().map(|one| id_for_patches(one)).filter(same);
        found.next().filter(|_| found.next().is_none()).map(patched)
    };
    if let [one] = matching[..]
        && let Some(found) = as_before(one)
    {
        return Ok(found);
    }
    Err(unmatched_object(text, &before))
}

/// Returns the ID with which a patch selects a resource. Its current name may end with a hash.
fn id_for_patches(resource: &Resource) -> &ResId {
    let has_hash = resource.generated.is_some_and(|generated| generated.name_hash);
    if has_hash { resource.original_id() } else { resource.id() }
}

fn unmatched_object(text: &str, before: &[&Resource]) -> Diagnostic {
    let names: Vec<String> =
        before.iter().map(|one| format!("{}/{}", one.id().gvk.kind.to_lowercase(), one.id().name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let help = did_you_mean(text, &names).unwrap_or_else(|| match names.as_slice() {
        few if few.len() <= 5 => format!("the build has {}", few.join(", ")),
        _ => "`kubectl smp build -o name` lists the objects".into(),
    });
    Diagnostic::error(Code::NoMatch, format!("no object of the build matches `{text}`")).help(help)
}

fn ambiguous(text: &str, found: &[&ResId]) -> Diagnostic {
    let shown = found
        .iter()
        .map(|id| format!("{}/{}/{}", id.gvk.kind.to_lowercase(), id.effective_namespace(), id.name));
    Diagnostic::error(Code::Ambiguous, format!("several objects of the build match `{text}`"))
        .help(format!("use one of {}", shown.collect::<Vec<_>>().join(", ")))
}

fn patched(id: &ResId) -> PatchedObject {
    PatchedObject {
        api_version: id.gvk.api_version().to_string(),
        kind: id.gvk.kind.to_string(),
        name: id.name.to_string(),
        namespace: id.namespace.to_string(),
    }
}
