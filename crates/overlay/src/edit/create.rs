//! New kustomization files, as `kustomize create` writes them.

use std::vec;

use super::draft::EditOptions;
use super::expand::expand_loadable;
use super::fields::{new_string, remove_if_empty, set_entry, set_text, update_list, update_map};
use super::file::EditedKustomization;
use super::normalize::normalize;
use crate::overlay::Root;
use crate::resource::{Resource, flatten_lists};
use smp_files::FileKind;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::{Map, Node, ParseOptions, decode, parse_documents, write_documents_in_source_style};

/// The search for manifests that become resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detection {
    /// No search.
    #[default]
    Off,
    /// The files of the directory.
    Directory,
    /// Also those of subdirectories; a subdirectory with a kustomization is one resource.
    Recursive,
}

/// The fields of a new kustomization.
#[derive(Debug, Clone, Default)]
pub struct NewKustomization {
    /// Paths or patterns of resources.
    pub resources: Vec<String>,
    /// The search for further resources.
    pub detection: Detection,
    /// The namespace, or empty.
    pub namespace: String,
    /// The prefix of names, or empty.
    pub name_prefix: String,
    /// The suffix of names, or empty.
    pub name_suffix: String,
    /// Names and values of `commonLabels`.
    pub labels: Vec<(String, String)>,
    /// Names and values of `commonAnnotations`.
    pub annotations: Vec<(String, String)>,
}

/// Checks that a directory has no kustomization file.
///
/// # Errors
/// The directory has one.
pub fn check_no_kustomization(root: &Root) -> Result<()> {
    let (reader, path) = (root.reader(), root.path());
    let Some(name) = KUSTOMIZATION_FILES.iter().find(|name| reader.tree().contains(&path.join(name))) else {
        return Ok(());
    };
    let message = format!("{} exists already", reader.shown(&path.join(name)).display());
    Err(Diagnostic::error(Code::Io, message).help("change it with `edit`"))
}

/// Returns a new kustomization file of a directory, whether it has one or not. Nothing is written.
///
/// # Errors
/// A pattern of resources is malformed or matches nothing, or the files of the directory cannot be read.
pub fn new_kustomization(
    root: &Root,
    new: &NewKustomization,
    options: EditOptions,
) -> Result<EditedKustomization> {
    let mut resources = expand_loadable(root, &new.resources, options)?;
    if new.detection != Detection::Off {
        for path in detected(root, new.detection)? {
            if !resources.contains(&path) {
                resources.push(path);
            }
        }
    }
    let mut fields = Map::new();
    normalize(&mut fields, "");
    update_list(&mut fields, "resources", |list| list.extend(resources.iter().map(|path| new_string(path))));
    remove_if_empty(&mut fields, "resources");
    set_text(&mut fields, "namePrefix", &new.name_prefix);
    set_text(&mut fields, "nameSuffix", &new.name_suffix);
    set_text(&mut fields, "namespace", &new.namespace);
    for (field, pairs) in [("commonLabels", &new.labels), ("commonAnnotations", &new.annotations)] {
        update_map(&mut fields, field, |map| {
            for (name, value) in pairs {
                set_entry(map, name, value);
            }
        });
        remove_if_empty(&mut fields, field);
    }
    let after = write_documents_in_source_style(&[Node::map(fields)]);
    Ok(EditedKustomization {
        path: root.reader().shown(&root.path().join(KUSTOMIZATION_FILES[0])),
        before: String::new(),
        after,
        notes: Vec::new(),
        files: Vec::new(),
    })
}

/// Returns the files with manifests, and the subdirectories with a kustomization, by name.
fn detected(root: &Root, detection: Detection) -> Result<Vec<String>> {
    let (mut found, mut open) = (Vec::new(), vec![entries(root, "")?]);
    while let Some(directory) = open.last_mut() {
        let Some((path, kind)) = directory.next() else {
            open.pop();
            continue;
        };
        if KUSTOMIZATION_FILES.contains(&path.as_str()) {
            continue;
        }
        let at = root.path().join(&path);
        let tree = root.reader().tree();
        if kind != FileKind::Directory {
            let bytes =
                tree.read(&at).map_err(|error| read_error(root.reader().shown(&at).display(), &error))?;
            if has_manifests(bytes) {
                found.push(path);
            }
        } else if detection == Detection::Recursive {
            if KUSTOMIZATION_FILES.iter().any(|name| tree.contains(&at.join(name))) {
                found.push(path);
            } else {
                open.push(entries(root, &path)?);
            }
        }
    }
    Ok(found)
}

/// Returns the entries of a directory below the root, with their paths.
fn entries(root: &Root, below: &str) -> Result<vec::IntoIter<(String, FileKind)>> {
    let directory = root.path().join(below);
    let listed = root.reader().tree().list(&directory);
    let listed = listed.map_err(|error| read_error(root.reader().shown(&directory).display(), &error))?;
    let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
    let named = listed.into_iter().filter_map(|e| Some((format!("{prefix}{}", e.name.to_str()?), e.kind)));
    Ok(named.collect::<Vec<_>>().into_iter())
}

/// Returns true if a file consists of manifests. As in kustomize, this includes files without any document.
fn has_manifests(bytes: Vec<u8>) -> bool {
    let sources = SourceMap::default();
    let Ok(text) = decode(bytes) else { return false };
    let id = sources.add("", text);
    let documents = parse_documents(&sources, id, ParseOptions::default()).and_then(flatten_lists);
    documents.is_ok_and(|documents| {
        documents
            .into_iter()
            .all(|node| !has_null_entry(&node) && Resource::new(node, &Schema::empty()).is_ok())
    })
}

/// Returns true if a list in the tree has a null entry.
fn has_null_entry(node: &Node) -> bool {
    if let Some(list) = node.as_list() {
        return list.iter().any(|entry| entry.is_null() || has_null_entry(entry));
    }
    node.as_map().is_some_and(|map| map.iter().any(|(_, value)| has_null_entry(value)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::overlay::{Reader, Remotes};
    use smp_files::MemoryTree;

    fn created(files: &[(&str, &str)], new: &NewKustomization) -> Result<String> {
        let all = files.iter().map(|(path, text)| (format!("/w/{path}"), text.as_bytes()));
        let tree = MemoryTree::new(all)?.with_working_directory("/w");
        let reader = Reader::new(Arc::new(tree), SourceMap::default(), true, Remotes::new(None, true))?;
        let options = EditOptions { as_kustomize: true };
        let root = reader.open(Path::new("."))?;
        check_no_kustomization(&root)?;
        new_kustomization(&root, new, options).map(|created| created.after)
    }

    #[test]
    fn manifests_are_detected() {
        let web = "kind: A\nmetadata: {name: a}\n";
        let files = [
            ("b.yaml", web),
            ("a.txt", "hello"),
            (".hidden.yaml", web),
            ("list.yaml", "kind: A\nmetadata: {name: a}\nx: [null]\n"),
            ("sub/c.yaml", web),
            ("over/kustomization.yaml", "resources: []\n"),
            ("over/d.yaml", web),
        ];
        let new = |detection| NewKustomization { detection, ..NewKustomization::default() };
        let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
        let text = created(&files, &new(Detection::Directory)).expect("created");
        assert_eq!(text, format!("{head}- .hidden.yaml\n- b.yaml\n"));
        let text = created(&files, &new(Detection::Recursive)).expect("created");
        assert_eq!(text, format!("{head}- .hidden.yaml\n- b.yaml\n- over\n- sub/c.yaml\n"));
    }

    #[test]
    fn fields_are_set_and_existing_files_stay() {
        let new = NewKustomization {
            resources: vec!["*.yaml".into()],
            namespace: "shop".into(),
            labels: vec![("a".into(), "1".into())],
            ..NewKustomization::default()
        };
        let text = created(&[("x.yaml", "a")], &new).expect("created");
        assert!(
            text.ends_with("resources:\n- x.yaml\nnamespace: shop\ncommonLabels:\n  a: \"1\"\n"),
            "{text}"
        );
        assert!(created(&[("x.yaml", "a"), ("Kustomization", "")], &new).is_err());
        assert!(created(&[], &new).is_err(), "no file matches");
    }
}
