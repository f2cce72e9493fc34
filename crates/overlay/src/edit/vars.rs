//! `vars`: converts them to `replacements`, like `kustomize edit fix --vars`.
//!
//! Each `$(NAME)` in the files of the kustomization becomes `NAME_PLACEHOLDER`, and each field that contains it becomes
//! a target of a replacement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::deprecated::{Successor, move_entries};
use super::draft::{Draft, EditOptions, EditedText};
use super::fields::{
    entry_of, entry_text, get, is_true, list, new_string, remove, remove_if_empty, set_text, strings, text,
    update_list,
};
use super::text::{parsed, printed};
use crate::overlay::Root;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::path::join;
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::{Key, List, Map, Node, ParseOptions, decode, parse_documents};

const VARS: Successor = Successor::new("vars", "replacements");

/// A file that a kustomization uses, directly or through a base.
struct UsedFile {
    path: String,
    /// The entry of `patches` that refers to it.
    patch: Option<Node>,
}

/// The texts of used files, by path.
struct Texts {
    before: FxHashMap<String, String>,
    now: FxHashMap<String, String>,
}

/// A field that contains a variable: its path, and the position of the variable in it.
struct VarField {
    path: String,
    /// The delimiter and the position in the value; `None` if the variable is the entire value.
    part: Option<(String, usize)>,
}

/// Replaces `vars` in the text of a kustomization. Returns its new text and the other changed files, or `None` if there
/// are no variables.
///
/// Build results may change. For example, another kustomization that reads the same files gets the placeholders without
/// the replacements.
///
/// # Errors
/// The text is not valid, or a variable cannot be delimited.
pub fn replace_vars(root: &Root, before: &str) -> Result<Option<(String, Vec<EditedText>)>> {
    let (documents, fields) = parsed(before, &SourceMap::default())?;
    let mut draft = Draft::new(fields, root, EditOptions::default());
    if list(&draft.fields, "vars").is_empty() {
        return Ok(None);
    }
    convert(&mut draft)?;
    Ok(Some((printed(before, &documents, draft.fields)?, draft.files)))
}

/// Converts `vars`. With `as_kustomize`, existing replacements are dropped, as in kustomize.
///
/// # Errors
/// A variable cannot be delimited.
pub(super) fn convert(draft: &mut Draft<'_>) -> Result<()> {
    let Some(value) = get(&draft.fields, "vars") else { return Ok(()) };
    let vars: List = value.as_list().cloned().unwrap_or_default();
    if draft.options.as_kustomize && !list(&draft.fields, "replacements").is_empty() {
        draft.note("as in kustomize, the existing `replacements` were removed");
        update_list(&mut draft.fields, "replacements", List::clear);
    }
    let mut files = Vec::new();
    used_files(draft.root, &draft.fields, "", &mut files, 0)?;
    let mut texts = Texts::read(draft.root, &files);
    let mut replacements = List::new();
    for var in &vars {
        let name = entry_text(var, "name").to_string();
        replacements.push(replacement(var, targets(&name, &files, &texts)?));
        texts.insert_placeholder(&name);
    }
    if replacements.is_empty() {
        remove(&mut draft.fields, "vars");
        remove_if_empty(&mut draft.fields, "replacements");
    } else if let Some(value) =
        draft.fields.entries_mut().iter_mut().find(|e| e.key.text.eq_ignore_ascii_case("vars"))
    {
        value.value = Node { meta: value.value.meta.clone(), ..Node::list(replacements) };
        move_entries(&mut draft.fields, &VARS);
    }
    draft.files = texts.changed(draft.root);
    Ok(())
}

/// The maximum depth of bases. kustomize has no limit, and does not stop in a cycle.
const MAX_DEPTH: usize = 100;

/// Collects the resources and patches of a kustomization and of its bases. As in kustomize, the bases of bases are
/// looked up in the directory of the edited kustomization.
fn used_files(root: &Root, fields: &Map, below: &str, found: &mut Vec<UsedFile>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Diagnostic::error(Code::Cycle, "the bases of the kustomization include each other"));
    }
    let tree = root.reader().tree();
    for path in strings(fields, "resources") {
        for name in KUSTOMIZATION_FILES {
            let Ok(bytes) = tree.read(&root.path().join(&path).join(name)) else { continue };
            let base = parsed(&decode(bytes)?, root.reader().sources())?.1;
            used_files(root, &base, &path, found, depth + 1)?;
        }
        found.push(UsedFile { path: join(&[below, &path]), patch: None });
    }
    for patch in list(fields, "patches") {
        let path = entry_text(patch, "path");
        if !path.is_empty() {
            found.push(UsedFile { path: join(&[below, path]), patch: Some(patch.clone()) });
        }
    }
    Ok(())
}

impl Texts {
    fn read(root: &Root, files: &[UsedFile]) -> Self {
        let read = |file: &UsedFile| {
            let bytes = root.reader().tree().read(&root.path().join(&file.path)).ok()?;
            Some((file.path.clone(), String::from_utf8(bytes).ok()?))
        };
        let before: FxHashMap<String, String> = files.iter().filter_map(read).collect();
        Self { now: before.clone(), before }
    }

    fn insert_placeholder(&mut self, name: &str) {
        let (variable, placeholder) = (format!("$({name})"), format!("{name}_PLACEHOLDER"));
        for text in self.now.values_mut().filter(|text| text.contains(&variable)) {
            *text = text.replace(&variable, &placeholder);
        }
    }

    fn changed(self, root: &Root) -> Vec<EditedText> {
        let mut all: BTreeMap<PathBuf, EditedText> = BTreeMap::new();
        for (path, after) in self.now {
            let before = &self.before[&path];
            if *before != after {
                let path = root.reader().shown(&root.path().join(Path::new(&path)));
                all.insert(path.clone(), EditedText { path, before: before.clone(), after });
            }
        }
        all.into_values().collect()
    }
}

/// Returns the targets of the replacement for a variable.
fn targets(name: &str, files: &[UsedFile], texts: &Texts) -> Result<List> {
    let variable = format!("$({name})");
    // Only the last entry of `patches` for a file is used, and it applies to all uses of the file.
    let patches: FxHashMap<&str, &Node> =
        files.iter().filter_map(|file| Some((file.path.as_str(), file.patch.as_ref()?))).collect();
    let mut targets = List::new();
    for file in files {
        let Some(text) = texts.now.get(&file.path).filter(|text| text.contains(&variable)) else { continue };
        let sources = SourceMap::default();
        let id = sources.add(PathBuf::from(&file.path), text.as_str());
        let Ok(documents) = parse_documents(&sources, id, ParseOptions::default()) else { continue };
        for document in unwrapped(documents) {
            if document.as_list().is_some() && text.contains(&variable) {
                let message = format!("`{variable}` cannot be replaced in the JSON patch {}", file.path);
                return Err(
                    Diagnostic::error(Code::Unsupported, message).help("write the replacement by hand")
                );
            }
            let mut fields = Vec::new();
            find(&document, &variable, &mut Vec::new(), &mut fields)
                .map_err(|error| error.note(format!("the variable is used in {}", file.path)))?;
            let patch = patches.get(file.path.as_str()).copied().filter(|patch| !changes_identity(patch));
            let select =
                patch.map_or_else(|| selection(&document), |patch| patch_selection(patch, &document));
            targets.extend(fields.into_iter().map(|field| field.target(select.clone())));
        }
    }
    Ok(targets)
}

/// Returns the items if a file consists of one list, otherwise the documents.
fn unwrapped(documents: Vec<Node>) -> Vec<Node> {
    let is_list = |node: &Node| matches!(entry_text(node, "kind"), "List" | "ResourceList");
    match documents.as_slice() {
        [one] if is_list(one) => match one.get("items").and_then(Node::as_list) {
            Some(items) => items.clone(),
            None => documents,
        },
        _ => documents,
    }
}

/// Finds the fields of a manifest that contain a variable.
fn find(node: &Node, variable: &str, path: &mut Vec<SmolStr>, found: &mut Vec<VarField>) -> Result<()> {
    if let Some(map) = node.as_map() {
        for (name, value) in map.iter() {
            let step = name.trim();
            path.push(if step.contains('.') { format!("[{step}]").into() } else { step.into() });
            find(value, variable, path, found)?;
            path.pop();
        }
    } else if let Some(entries) = node.as_list() {
        for (i, entry) in entries.iter().enumerate() {
            path.push(i.to_string().into());
            find(entry, variable, path, found)?;
            path.pop();
        }
    } else if let Some(text) = node.scalar_text().filter(|text| text.contains(variable)) {
        found.push(VarField { path: path.join("."), part: part(text, variable)? });
    }
    Ok(())
}

/// Returns the delimiter and the position of a variable in a value that contains it, or `None` if the variable is the
/// entire value.
///
/// # Errors
/// There is text on both sides, and the characters next to the variable differ, or they occur in the variable.
fn part(value: &str, variable: &str) -> Result<Option<(String, usize)>> {
    let Some((before, after)) = value.split_once(variable).filter(|_| value != variable) else {
        return Ok(None);
    };
    // kustomize uses single bytes.
    let byte = |byte: Option<u8>| byte.map(|byte| char::from(byte).to_string()).unwrap_or_default();
    let (pre, post) = (byte(before.bytes().next_back()), byte(after.bytes().next()));
    if before.is_empty() {
        return Ok(Some((post, 0)));
    }
    if after.is_empty() {
        let position = value.split(&pre).count() - 1;
        return Ok(Some((pre, position)));
    }
    let position = value.split(&pre).position(|part| part == variable).filter(|_| pre == post);
    position.map(|position| Some((pre, position))).ok_or_else(|| {
        // The value may be that of a Secret.
        let message =
            format!("`{variable}` cannot be replaced in a value that contains it: it has no delimiter");
        Diagnostic::error(Code::Unsupported, message)
            .help("write the variable between two equal delimiters, such as `-$(NAME)-`, or write the replacement by hand")
    })
}

/// Returns true if a patch may change the name and kind of its target.
fn changes_identity(patch: &Node) -> bool {
    let options = patch.get("options").and_then(Node::as_map);
    options.is_some_and(|options| is_true(options, "allowNameChange") && is_true(options, "allowKindChange"))
}

/// Selects a manifest by its kind and name.
fn selection(manifest: &Node) -> Node {
    let (group, version) = group_version(entry_text(manifest, "apiVersion"));
    let metadata = |name| manifest.get("metadata").map_or("", |metadata| entry_text(metadata, name));
    entry_of(&[
        ("group", group),
        ("version", version),
        ("kind", entry_text(manifest, "kind")),
        ("name", metadata("name")),
        ("namespace", metadata("namespace")),
    ])
}

/// Selects the target of a patch.
fn patch_selection(patch: &Node, manifest: &Node) -> Node {
    let metadata =
        |name| manifest.get("metadata").map_or("", |metadata| entry_text(metadata, name)).to_string();
    let mut fields = patch.get("target").and_then(Node::as_map).cloned().unwrap_or_default();
    let options = patch.get("options").and_then(Node::as_map);
    let allows = |name| options.is_some_and(|options| is_true(options, name));
    if allows("allowNameChange") {
        set_text(&mut fields, "name", &metadata("name"));
    }
    if allows("allowKindChange") {
        set_text(&mut fields, "kind", entry_text(manifest, "kind"));
    }
    let namespace = metadata("namespace");
    if !namespace.is_empty() {
        set_text(&mut fields, "namespace", &namespace);
    }
    Node::map(without_comments(&fields))
}

/// Removes the comments and layout of fields, for copies in another location.
fn without_comments(fields: &Map) -> Map {
    let plain = |(name, value): (&str, &Node)| {
        (Key::from(name), value.scalar_text().map_or_else(Node::null, |text| new_string(text)))
    };
    fields.iter().map(plain).collect()
}

impl VarField {
    fn target(self, select: Node) -> Node {
        let mut target: Map = [("select", select)].into_iter().collect();
        target.push("fieldPaths", Node::list([new_string(&self.path)].into_iter().collect()));
        if let Some((delimiter, index)) = self.part {
            let mut options: Map = [("delimiter", new_string(&delimiter))].into_iter().collect();
            if let Some(index) = i64::try_from(index).ok().filter(|index| *index != 0) {
                options.push("index", Node::int(index));
            }
            target.push("options", Node::map(options));
        }
        Node::map(target)
    }
}

/// Splits an API version into group and version.
fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Creates the replacement for a variable. It keeps the comments of the variable's entry.
fn replacement(var: &Node, targets: List) -> Node {
    let none = Map::new();
    let below = |name| var.get(name).and_then(Node::as_map).unwrap_or(&none);
    let object = below("objref");
    let (group, version) = group_version(text(object, "apiVersion"));
    let source = entry_of(&[
        ("group", group),
        ("version", version),
        ("kind", text(object, "kind")),
        ("name", text(object, "name")),
        ("namespace", text(object, "namespace")),
        ("fieldPath", text(below("fieldref"), "fieldPath")),
    ]);
    let mut fields: Map = [("source", source)].into_iter().collect();
    if !targets.is_empty() {
        fields.push("targets", Node::list(targets));
    }
    let mut node = Node::map(fields);
    let mut lines = Vec::new();
    collect_comments(var, &mut lines);
    if !lines.is_empty() {
        node.meta.comments.get_or_insert_default().head = lines;
    }
    node
}

/// Collects the comments of a node, in the order of the text.
fn collect_comments(node: &Node, lines: &mut Vec<SmolStr>) {
    let mut add = |meta: &smp_text::yaml::Meta| {
        if let Some(comments) = &meta.comments {
            lines.extend(comments.head.iter().chain(&comments.line).chain(&comments.foot).cloned());
        }
    };
    add(&node.meta);
    let entries = node.as_map().map(Map::entries).unwrap_or_default();
    for entry in entries {
        if let Some(comments) = &entry.key.meta.comments {
            lines.extend(comments.head.iter().chain(&comments.line).chain(&comments.foot).cloned());
        }
        collect_comments(&entry.value, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value, with the delimiter and index of its variable. The inner option is `None` if the value has no other
    /// text, the outer one if no delimiter can select the variable.
    type Case = (&'static str, Option<Option<(&'static str, usize)>>);

    #[test]
    fn parts_of_values_are_delimited() {
        let table: [Case; 7] = [
            ("$(A)", Some(None)),
            ("$(A)-x", Some(Some(("-", 0)))),
            ("x/y/$(A)", Some(Some(("/", 2)))),
            ("x.$(A).y", Some(Some((".", 1)))),
            ("x.$(A)-y", None),
            ("x-.-$(A)-y", Some(Some(("-", 2)))),
            ("x$(A)x", Some(Some(("x", 1)))),
        ];
        for (value, want) in table {
            let got = part(value, "$(A)").ok();
            let got = got.as_ref().map(|part| part.as_ref().map(|(text, at)| (text.as_str(), *at)));
            assert_eq!(got, want, "{value}");
        }
    }
}
