//! Replacement of deprecated fields of kustomizations, in the text of the file.

use smol_str::SmolStr;

use super::draft::Draft;
use super::fields::{list as entries_of, position, remove_if_empty};
use crate::transform::is_path_of_patch;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{Reading, SourceMap, Span};
use smp_text::yaml::{
    Entry, Key, List, Map, Node, ParseOptions, Style, Value, comment_positions, edit_text, parse_documents,
};

/// A deprecated field and its successor.
pub(super) struct Successor {
    old: &'static str,
    new: &'static str,
    /// True if moved entries are inserted before those of the successor.
    is_first: bool,
    /// Converts the old value to entries of the successor. Returns `None` if the type is wrong.
    entries: fn(Node) -> Option<List>,
}

impl Successor {
    /// Creates a pair of fields that take the same list.
    pub(super) const fn new(old: &'static str, new: &'static str) -> Self {
        Self { old, new, is_first: false, entries: list }
    }
}

/// The fields whose successors take the same values.
pub(super) const SAME_VALUES: [Successor; 2] =
    [Successor::new("bases", "resources"), Successor::new("imageTags", "images")];

/// The fields that `kustomize edit fix` replaces in addition, in its order.
const BY_KUSTOMIZE: [Successor; 3] = [
    Successor::new("patchesJson6902", "patches"),
    Successor { old: "patchesStrategicMerge", new: "patches", is_first: false, entries: merge_patches },
    Successor { old: "commonLabels", new: "labels", is_first: false, entries: labels },
];

/// The replaceable fields. kustomize applies `patchesStrategicMerge` before `patches`, and `patchesJson6902` after
/// them.
const SUCCESSORS: [Successor; 5] = [
    Successor::new("bases", "resources"),
    Successor::new("imageTags", "images"),
    Successor { old: "patchesStrategicMerge", new: "patches", is_first: true, entries: merge_patches },
    Successor::new("patchesJson6902", "patches"),
    Successor { old: "commonLabels", new: "labels", is_first: false, entries: labels },
];

/// Returns the deprecated fields of a kustomization that have a successor with nearly the same meaning.
#[must_use]
pub fn replaceable_fields() -> Vec<&'static str> {
    SUCCESSORS.iter().map(|successor| successor.old).collect()
}

/// Returns the deprecated fields of a kustomization that `fix` may replace, including `vars`. Returns an empty list if
/// the text is not valid.
#[must_use]
pub fn deprecated_fields(text: &str) -> Vec<&'static str> {
    let documents = document(text).unwrap_or_default();
    let fields = documents.first().and_then(Node::as_map);
    let known = replaceable_fields().into_iter().chain(["vars"]);
    known.filter(|name| fields.is_some_and(|fields| position(fields, name).is_some())).collect()
}

/// The result of a replacement of deprecated fields.
#[derive(Debug, Default)]
pub struct Replaced {
    /// The new text of the kustomization.
    pub text: String,
    /// The fields that were replaced.
    pub fields: Vec<&'static str>,
    /// The fields that are not changed, because comments would be lost or the type of the value is wrong.
    pub left: Vec<&'static str>,
}

/// Replaces deprecated fields in the text of a kustomization with their successors.
///
/// The build result may change: for example, kustomize applied JSON patches after it set names and namespaces.
///
/// # Errors
/// Fails if the text is not valid YAML.
pub fn replace_deprecated(text: &str, selected: &[&str]) -> Result<Replaced> {
    let mut result = Replaced { text: text.to_string(), ..Replaced::default() };
    let mut before = document(text)?;
    for successor in SUCCESSORS.iter().filter(|successor| selected.contains(&successor.old)) {
        let Some(fields) = before.first().and_then(Node::as_map) else { break };
        if position(fields, successor.old).is_none() {
            continue;
        }
        let attempt = |is_renamed| {
            let after = replaced(&result.text, &before, successor, is_renamed)?;
            Ok(after.filter(|after| comments(after) == comments(&result.text)))
        };
        let without = without_empty(&result.text, &before, successor.old);
        // A rename in place keeps all lines. If entries get another form, their comments may prevent the change.
        let renamed = without.map_or_else(|| attempt(true), |text| Ok(Some(text)))?;
        match renamed.map_or_else(|| attempt(false), |after| Ok(Some(after)))? {
            Some(after) => {
                before = document(&after)?;
                result.text = after;
                result.fields.push(successor.old);
            }
            None => result.left.push(successor.old),
        }
    }
    Ok(result)
}

/// Parses a kustomization: a single document.
fn document(text: &str) -> Result<Vec<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("kustomization.yaml", text);
    let documents = parse_documents(&sources, id, ParseOptions::default().with_comments())?;
    Ok(if documents.len() == 1 { documents } else { Vec::new() })
}

/// Replaces one field in the text. Returns `None` if its value has the wrong type.
fn replaced(text: &str, before: &[Node], successor: &Successor, is_renamed: bool) -> Result<Option<String>> {
    let [document] = before else { return Ok(None) };
    let mut after = document.clone();
    if let Some(map) = after.as_map_mut() {
        release_comments(map, successor, text);
        if !is_renamed {
            // Without its location, the key is treated as new.
            map.entries_mut().iter_mut().for_each(|entry| entry.key.meta.span = Span::default());
        }
    }
    if after.as_map_mut().and_then(|map| move_entries(map, successor)).is_none() {
        return Ok(None);
    }
    edit_text(text, Reading::Kustomize, before, &[Some(after)]).map(Some)
}

/// Returns the comments of a text, sorted.
pub(super) fn comments(text: &str) -> Vec<&str> {
    let starts = comment_positions(text).unwrap_or_default();
    let line = |start: usize| text.get(start..)?.lines().next().map(str::trim_end);
    let mut comments: Vec<&str> = starts.into_iter().filter_map(line).collect();
    comments.sort_unstable();
    comments
}

/// Replaces the deprecated fields like `kustomize edit fix`, which may change the output.
///
/// # Errors
/// A label is in both `commonLabels` and `labels`.
pub(super) fn fix(draft: &mut Draft<'_>) -> Result<()> {
    let common = super::fields::get(&draft.fields, "commonLabels").and_then(Node::as_map);
    let labels = entries_of(&draft.fields, "labels").iter().filter_map(|entry| entry.as_map());
    let pairs = labels.filter_map(|label| super::fields::get(label, "pairs")?.as_map());
    for (name, _) in pairs.flat_map(Map::iter) {
        if common.is_some_and(|common| common.contains_key(name)) {
            let message = format!("label `{name}` is in `commonLabels` and in `labels`");
            return Err(Diagnostic::error(Code::DuplicateKey, message).help("remove one of them"));
        }
    }
    inline_missing(draft);
    for successor in &BY_KUSTOMIZE {
        release_comments(&mut draft.fields, successor, &draft.text);
        if let Some(i) = position(&draft.fields, successor.old) {
            let Entry { key, value } = &mut draft.fields.entries_mut()[i];
            if has_comments(value) {
                // After a rename in place, the comments of entries that get another form would be written twice.
                key.meta.span = Span::default();
            }
        }
        move_entries(&mut draft.fields, successor);
    }
    Ok(())
}

/// Changes maps and lists with comments between their brackets to block style, which keeps them.
fn without_brackets(mut node: Node) -> Node {
    node.for_each_mut(&mut |node| {
        if node.meta.style == Style::Flow && has_inner_comments(node) {
            node.meta.style = Style::Block;
        }
    });
    node
}

fn has_comments(node: &Node) -> bool {
    node.meta.comments.is_some() || has_inner_comments(node)
}

fn has_inner_comments(node: &Node) -> bool {
    let is_commented = |entry: &Entry| entry.key.meta.comments.is_some() || has_comments(&entry.value);
    node.as_map().is_some_and(|map| map.entries().iter().any(is_commented))
        || node.as_list().is_some_and(|list| list.iter().any(has_comments))
}

/// Replaces entries of `patchesStrategicMerge` by entries of `patches` if their text is misleading: one that looks like
/// a path but refers to no file becomes an inline patch, and one that does not look like a path but refers to a file
/// becomes a path. kustomize does the same.
fn inline_missing(draft: &mut Draft<'_>) {
    let (tree, directory) = (draft.root.reader().tree(), draft.root.path());
    let Some(i) = position(&draft.fields, "patchesStrategicMerge") else { return };
    let Some(entries) = draft.fields.entries_mut()[i].value.as_list_mut() else { return };
    for entry in entries {
        let Some(text) = entry.scalar_text().cloned() else { continue };
        let is_file = tree.read(&directory.join(text.as_str())).is_ok();
        if is_file != is_path_of_patch(&text) {
            let field = if is_file { "path" } else { "patch" };
            let inner = entry.clone();
            *entry = Node::map([(field, inner)].into_iter().collect());
        }
    }
}

/// Returns the text of a kustomization without those deprecated fields that contain only comments. The comments are
/// kept. `is_fix` also removes fields that only `edit fix` replaces. `documents` is the parsed text.
pub(super) fn without_empty_fields(text: &str, documents: &[Node], is_fix: bool) -> Result<Option<String>> {
    let mut result: Option<(String, Vec<Node>)> = None;
    for successor in SAME_VALUES.iter().chain(BY_KUSTOMIZE.iter().filter(|_| is_fix)) {
        let (now, documents) = result.as_ref().map_or((text, documents), |(text, all)| (text, all));
        if let [_] = documents
            && let Some(rest) = without_empty(now, documents, successor.old)
        {
            let documents = document(&rest)?;
            result = Some((rest, documents));
        }
    }
    Ok(result.map(|(text, _)| text))
}

/// Returns the text of a kustomization without a deprecated field that contains only comments. The comments are kept.
/// Returns `None` if the field is not set, has entries or has no comments.
fn without_empty(text: &str, documents: &[Node], old: &str) -> Option<String> {
    let root = documents.first().filter(|root| root.meta.style == Style::Block)?;
    let Entry { key, value } = &root.as_map()?.entries()[position(root.as_map()?, old)?];
    if !value.is_null() && !value.is_empty_collection() {
        return None;
    }
    let start = key.meta.span.start as usize;
    let end = start + text.get(start..)?.find('\n').map_or(text.len() - start, |line| line + 1);
    let behind = comment_positions(text)?.into_iter().find(|at| (start..end).contains(at));
    let has_comments = behind.is_some()
        || key.meta.comments.is_some()
        || text[end..].starts_with(' ') && text[end..].trim_start().starts_with('#');
    let is_line = value.meta.span.end as usize <= behind.unwrap_or(end)
        && (start == 0 || text[..start].ends_with('\n'));
    (has_comments && is_line).then(|| text[..start].to_string() + &text[behind.unwrap_or(end)..])
}

/// Finds the comments that move with the entries of a deprecated field: those directly above it, and the one behind its
/// value. The others above it remain in the text when the field is removed.
pub(super) fn release_comments(map: &mut Map, successor: &Successor, text: &str) {
    let Some(i) = position(map, successor.old) else { return };
    // A field that is renamed in place keeps the comments below it.
    let is_renamed = position(map, successor.new).is_none();
    let Entry { key: Key { meta, .. }, value } = &mut map.entries_mut()[i];
    if value.meta.style == Style::Flow && value.as_list().is_some() {
        // The parser attaches a comment behind brackets to the next field.
        let behind = text.get(value.meta.span.end as usize..).and_then(|rest| rest.lines().next());
        if let Some(comment) = behind.map(str::trim).filter(|rest| rest.starts_with('#')) {
            value.meta.comments.get_or_insert_default().line = Some(comment.into());
        }
    }
    let below = if is_renamed { Vec::new() } else { comments_below_last(value, text) };
    if !below.is_empty() {
        value.meta.comments.get_or_insert_default().foot = below;
    }
    let Some(comments) = meta.comments.as_mut().filter(|_| !meta.span.is_none()) else { return };
    let above =
        text.get(..meta.span.start as usize).filter(|above| above.ends_with('\n')).unwrap_or_default();
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let between = above.lines().rev().take_while(|line| is_comment(line) || line.trim().is_empty());
    let mut between: Vec<&str> = between.collect();
    let adjacent = between.iter().take_while(|line| is_comment(line)).count();
    // Indented comments belong to the previous field.
    between.retain(|line| is_comment(line));
    let indented = between.iter().rev().take_while(|line| line.starts_with(' ')).count();
    let own = adjacent.min(between.len() - indented);
    comments.head.drain(..comments.head.len().saturating_sub(own));
}

/// Returns the comments below the last entry of the value of a top-level field that are removed with it: those that are
/// indented deeper than its dash, or those that are indented below a map. The others remain in the text.
fn comments_below_last(value: &Node, text: &str) -> Vec<SmolStr> {
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let last = match &value.value {
        _ if value.meta.style == Style::Flow => None,
        Value::List(list) => list.last(),
        Value::Map(map) => map.entries().last().map(|entry| &entry.value),
        Value::Scalar(_) => None,
    };
    let Some(span) = last.map(Node::span).filter(|span| !span.is_none()) else { return Vec::new() };
    let before = text.get(..span.start as usize).filter(|_| value.as_list().is_some());
    let own = before.and_then(|before| before.lines().last()).map_or(0, indentation);
    let below = text.get(span.end as usize..).unwrap_or_default().lines().skip(1);
    let is_own = |line: &&str| indentation(line) > own && line.trim_start().starts_with('#');
    below.take_while(is_own).map(|line| line.trim().into()).collect()
}

/// Moves the entries of a field to its successor. A field without entries is removed.
pub(super) fn move_entries(map: &mut Map, successor: &Successor) -> Option<()> {
    let old = position(map, successor.old)?;
    remove_if_empty(map, successor.old);
    if position(map, successor.old).is_none() {
        return Some(());
    }
    let moved = (successor.entries)(map.entries()[old].value.clone())?;
    let mut moved: List = moved.into_iter().map(without_brackets).collect();
    let Some(new) = position(map, successor.new) else {
        let Entry { key, value } = &mut map.entries_mut()[old];
        key.text = successor.new.into();
        if old == 0 {
            drop(without_head(key));
        }
        let comments = value.meta.comments.take().filter(|_| value.as_list().is_some());
        *value = Node::list(moved);
        value.meta.comments = comments;
        return Some(());
    };
    if !map.entries()[new].value.is_null() {
        map.entries()[new].value.as_list()?;
    }
    let Entry { mut key, value } = map.entries_mut().remove(old);
    if old == 0 {
        drop(without_head(&mut key));
    }
    let is_list = value.as_list().is_some();
    let comments = value.meta.comments.unwrap_or_default();
    keep_comments(key, comments.line.filter(|_| is_list), moved.first_mut()?);
    add_above(moved.last_mut()?, comments.foot);
    let list = &mut map.entries_mut()[if new > old { new - 1 } else { new }].value;
    if list.is_null() {
        *list = Node::list(List::new());
    }
    if moved.iter().any(|entry| entry.meta.comments.is_some()) {
        list.meta.style = Style::Block;
    }
    let entries = list.as_list_mut()?;
    let at = if successor.is_first { 0 } else { entries.len() };
    drop(entries.splice(at..at, moved));
    Some(())
}

/// Removes and returns the comments above a field. Comments above the first field remain at the top of the file.
fn without_head(key: &mut Key) -> Vec<SmolStr> {
    key.meta.comments.as_mut().map(|comments| std::mem::take(&mut comments.head)).unwrap_or_default()
}

/// Adds comments above an entry, below those that it has.
fn add_above(entry: &mut Node, comments: Vec<SmolStr>) {
    if !comments.is_empty() {
        entry.meta.comments.get_or_insert_default().head.extend(comments);
    }
}

/// Moves the comments of a removed field, and the one behind its value, above the first of its entries.
pub(super) fn keep_comments(key: Key, behind: Option<SmolStr>, first: &mut Node) {
    let comments = key.meta.comments.unwrap_or_default();
    let above: Vec<SmolStr> = comments.head.into_iter().chain(comments.line).chain(behind).collect();
    if above.is_empty() {
        return;
    }
    let own = first.meta.comments.get_or_insert_default();
    own.head = above.into_iter().chain(std::mem::take(&mut own.head)).collect();
}

fn list(value: Node) -> Option<List> {
    match value.value {
        Value::List(list) if !list.is_empty() => Some(list),
        _ => None,
    }
}

/// Converts each patch to a path or an inline patch.
fn merge_patches(value: Node) -> Option<List> {
    list(value)?.into_iter().map(merge_patch).collect()
}

fn merge_patch(mut entry: Node) -> Option<Node> {
    if entry.as_map().is_some() {
        return Some(entry);
    }
    let field = if is_path_of_patch(entry.as_str()?) { "path" } else { "patch" };
    let comments = entry.meta.comments.as_mut();
    let around = comments.map(|all| (std::mem::take(&mut all.head), std::mem::take(&mut all.foot)));
    let mut map = Node::map([(field, entry)].into_iter().collect());
    map.meta.style = Style::Block;
    if let Some((head, foot)) = around.filter(|(head, foot)| !head.is_empty() || !foot.is_empty()) {
        let comments = map.meta.comments.get_or_insert_default();
        (comments.head, comments.foot) = (head, foot);
    }
    Some(map)
}

/// Creates one entry that also labels selectors.
fn labels(mut value: Node) -> Option<List> {
    value.as_map().filter(|map| !map.is_empty())?;
    let head = value.meta.comments.as_mut().map(|comments| std::mem::take(&mut comments.head));
    let mut entry =
        Node::map([("includeSelectors", Node::from(true)), ("pairs", value)].into_iter().collect());
    entry.meta.style = Style::Block;
    if let Some(head) = head.filter(|head| !head.is_empty()) {
        entry.meta.comments.get_or_insert_default().head = head;
    }
    Some(vec![entry])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_replaced(text: &str) -> String {
        replace_deprecated(text, &replaceable_fields()).expect("valid").text
    }

    #[test]
    fn fields_are_renamed_in_place_with_their_comments() {
        let before = "# top\nresources: [a.yaml]\n# ours\ncommonLabels:\n  # team\n  app: x # y\n# the patch\npatchesStrategicMerge:\n\
                      # one\n- p.yaml # first\n- |-\n  kind: A\n  metadata: {name: a}\nimageTags:\n- name: a\n";
        let after = all_replaced(before);
        for part in
            ["# top", "# ours\nlabels:", "# team", "app: x # y", "# the patch\npatches:", "# one", "# first"]
        {
            assert!(after.contains(part), "{part}: {after}");
        }
        for part in ["path: p.yaml", "- patch: ", "images:\n- name: a"] {
            assert!(after.contains(part), "{part}: {after}");
        }
        assert_eq!(all_replaced(&after), after, "nothing is left");
    }

    #[test]
    fn entries_join_those_of_the_successor() {
        let before = "resources:\n- a.yaml\n# the bases\nbases:\n- ../b\npatches:\n- path: p.yaml\npatchesJson6902:\n- path: \
                      j.yaml\npatchesStrategicMerge: [s.yaml]\n";
        let after = all_replaced(before);
        assert!(after.starts_with("resources:\n- a.yaml\n# the bases\n- ../b\npatches:\n- path: s.yaml\n- path: p.yaml\n- path: \
                                   j.yaml\n"), "{after}");
        let ends = "patchesStrategicMerge:\n- p.yaml\n# the next\n#- q.yaml\n\n# the end\n";
        assert_eq!(all_replaced(ends), ends.replace("StrategicMerge:\n- p", ":\n- path: p"));
        let between = "resources:\n- a.yaml\n#+scaffold\n\npatchesStrategicMerge:\n- p.yaml\n# next\n#- q.yaml\n\n# names\nnamePrefix: a\n";
        assert_eq!(all_replaced(between), between.replace("StrategicMerge:\n- p", ":\n- path: p"));
        let apart = "resources:\n- a.yaml\n# c1\n#- x\n\nbases:\n- b\n";
        assert_eq!(all_replaced(apart), "resources:\n- a.yaml\n- b\n# c1\n#- x\n");
        let behind = "bases: [b] # t\nresources: [a] # u\n";
        assert_eq!(all_replaced(behind), "resources: # u\n- a\n# t\n- b\n");
        let below = "commonLabels:\n  a: b\n  # tail\n\n# next\nnamespace: q\n";
        assert!(all_replaced(below).ends_with("  # tail\n\n# next\nnamespace: q\n"));
        for same in ["bases: x\n", "vars: [{name: a}]\n", "- a\n", ""] {
            assert_eq!(all_replaced(same), same);
        }
    }

    #[test]
    fn fields_without_entries_are_removed() {
        let before =
            "resources: [a]\n# the\nbases: [] # none\npatchesJson6902:\n  # - path: a\nnamePrefix: a\n";
        assert_eq!(all_replaced(before), "resources: [a]\n# the\n# none\n  # - path: a\nnamePrefix: a\n");
        for field in ["bases: []", "patchesStrategicMerge: []", "patchesJson6902:", "commonLabels: {}"] {
            let before = format!("# top\n{field}\n# files\nresources: [a] # all\n");
            assert_eq!(all_replaced(&before), "# top\n# files\nresources: [a] # all\n", "{field}");
            let before = format!("# top\nresources: [a] # all\n{field}\nnamePrefix: b\n");
            assert_eq!(all_replaced(&before), "# top\nresources: [a] # all\nnamePrefix: b\n", "{field}");
        }
    }
}
