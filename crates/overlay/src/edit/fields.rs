//! Fields of kustomizations in their tree. Names match in any case, and null means "not set".

use smol_str::SmolStr;

use smp_text::yaml::{List, Map, Meta, Node, Style, Tag, Value};

/// Returns the position of a field. The exact name takes precedence over one in another case, as in Go.
pub(super) fn position(map: &Map, name: &str) -> Option<usize> {
    map.position(name)
        .or_else(|| map.entries().iter().position(|entry| entry.key.text.eq_ignore_ascii_case(name)))
}

/// Returns the value of a field that is set.
pub(super) fn get<'m>(map: &'m Map, name: &str) -> Option<&'m Node> {
    position(map, name).map(|i| &map.entries()[i].value).filter(|value| !value.is_null())
}

/// Returns the text of a scalar field; empty if it is not set.
pub(super) fn text<'m>(map: &'m Map, name: &str) -> &'m str {
    get(map, name).and_then(Node::scalar_text).map_or("", SmolStr::as_str)
}

/// Returns the text of a field of a list entry; empty if the entry has no such field.
pub(super) fn entry_text<'n>(entry: &'n Node, name: &str) -> &'n str {
    entry.as_map().map_or("", |map| text(map, name))
}

/// The plain words besides `true` that YAML 1.1, and therefore kustomize, reads as true in a boolean field.
const TRUE: [&str; 8] = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"];

/// Returns true if a boolean field is true.
pub(super) fn is_true(map: &Map, name: &str) -> bool {
    let is_word = |value: &Node| {
        value.meta.style == Style::Plain
            && value.scalar_text().is_some_and(|text| TRUE.contains(&text.as_str()))
    };
    get(map, name).is_some_and(|value| *value == Node::from(true) || is_word(value))
}

/// Returns the entries of a list; empty if it is not set.
pub(super) fn list<'m>(map: &'m Map, name: &str) -> &'m [Node] {
    get(map, name).and_then(Node::as_list).map_or(&[], List::as_slice)
}

/// Returns the texts of a list of strings.
pub(super) fn strings(map: &Map, name: &str) -> Vec<String> {
    list(map, name).iter().map(|entry| string_of(entry).to_string()).collect()
}

/// Returns the text of an entry of a list of strings. Null is the empty string.
pub(super) fn string_of(entry: &Node) -> &str {
    if entry.is_null() { "" } else { entry.scalar_text().map_or("", SmolStr::as_str) }
}

/// Changes a list, which is created if it is not set.
pub(super) fn update_list<T>(map: &mut Map, name: &str, change: impl FnOnce(&mut List) -> T) -> T {
    let value = value_mut(map, name, || Node::list(List::new()));
    let old = value.as_list_mut().map(std::mem::take);
    let mut list = old.unwrap_or_default();
    let was_empty = list.is_empty();
    let result = change(&mut list);
    if was_empty {
        *value = Node::list(list);
    } else {
        value.value = Value::List(list);
    }
    result
}

/// Changes a map, which is created if it is not set.
pub(super) fn update_map<T>(map: &mut Map, name: &str, change: impl FnOnce(&mut Map) -> T) -> T {
    let value = value_mut(map, name, || Node::map(Map::new()));
    let mut fields = value.as_map_mut().map(std::mem::take).unwrap_or_default();
    let was_empty = fields.is_empty();
    let result = change(&mut fields);
    if was_empty {
        *value = Node::map(fields);
    } else {
        value.value = Value::Map(fields);
    }
    result
}

fn value_mut<'m>(map: &'m mut Map, name: &str, new: impl FnOnce() -> Node) -> &'m mut Node {
    let i = position(map, name).unwrap_or_else(|| {
        map.push(name, new());
        map.len() - 1
    });
    &mut map.entries_mut()[i].value
}

/// Removes a field.
pub(super) fn remove(map: &mut Map, name: &str) {
    if let Some(i) = position(map, name) {
        map.entries_mut().remove(i);
    }
}

/// Removes a list or map that has no entries, or a null.
pub(super) fn remove_if_empty(map: &mut Map, name: &str) {
    let is_empty = |value: &Node| match &value.value {
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Scalar(_) => value.is_null(),
    };
    if position(map, name).is_some_and(|i| is_empty(&map.entries()[i].value)) {
        remove(map, name);
    }
}

/// Sets a string field, or removes it if the text is empty. An existing value keeps its quoting and comments.
pub(super) fn set_text(map: &mut Map, name: &str, text: &str) {
    match position(map, name) {
        _ if text.is_empty() => remove(map, name),
        Some(i) => set_string(&mut map.entries_mut()[i].value, text),
        None => map.push(name, new_string(text)),
    }
}

/// Sets a string entry of a map with arbitrary keys, such as labels. The text may be empty.
pub(super) fn set_entry(map: &mut Map, key: &str, text: &str) {
    match map.get_mut(key) {
        Some(value) => set_string(value, text),
        None => map.push(string_key(key), new_string(text)),
    }
}

/// Creates the key of a label or annotation. It is quoted if it would otherwise not be a string.
fn string_key(key: &str) -> smp_text::yaml::Key {
    smp_text::yaml::Key { text: key.into(), meta: Meta { tag: Tag::Str, ..Meta::default() } }
}

/// Sets the value of a string if it differs. Keeps its comments, and its quotes if the text is a single line.
pub(super) fn set_string(node: &mut Node, text: &str) {
    if node.as_str() == Some(text) {
        return;
    }
    let style = match node.meta.style {
        style @ (Style::SingleQuoted | Style::DoubleQuoted) if !text.contains('\n') => style,
        _ => new_string(text).meta.style,
    };
    let comments = node.meta.comments.take();
    let meta = Meta { span: node.meta.span, style, tag: Tag::Str, comments, ..Meta::default() };
    *node = Node { value: Value::Scalar(text.into()), meta };
}

/// Creates a string. A multi-line string becomes a literal block if possible.
pub(super) fn new_string(text: &str) -> Node {
    let mut node = Node::string(text);
    if text.contains('\n') {
        node.meta.style = Style::Literal;
    }
    node
}

/// Creates a list entry from those fields that are not empty.
pub(super) fn entry_of(fields: &[(&str, &str)]) -> Node {
    let set = fields.iter().filter(|(_, text)| !text.is_empty());
    Node::map(set.map(|(name, text)| (*name, new_string(text))).collect())
}
