//! One value on its way to the fields of one resource.

use std::cell::{Cell, RefCell};

use smol_str::SmolStr;

use super::args::FieldOptions;
use super::replaced::FieldWrite;
use crate::resource::{Copied, part_scalars};
use crate::transform::value_path::{
    FoundValue, Matches, NodeKind, TreePositions, lookup, lookup_mut, structured, text_of,
};
use smp_merge::cause::Touched;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{MAX_DEPTH, Node, Resolved, Style, Tag, Value, nearest_path};

/// The part of a value that the options of a source ask for.
pub(super) fn part_of(value: &Node, options: &FieldOptions) -> Result<Node> {
    let mut value = value.clone();
    part_scalars(&mut value);
    if options.delimiter.is_empty() {
        return Ok(value);
    }
    let text = value.scalar_text().cloned().ok_or_else(only_scalars)?;
    let index = usize::try_from(options.index).ok();
    let Some(part) = index.and_then(|i| text.split(&options.delimiter).nth(i)) else {
        let message = format!("the value has no part {} between its delimiters", options.index);
        return Err(Diagnostic::error(Code::InvalidValue, message).help("parts are counted from 0"));
    };
    set_text(&mut value, part);
    Ok(value)
}

fn only_scalars() -> Diagnostic {
    Diagnostic::error(Code::WrongType, "a `delimiter` can split only a single value, not a map or list")
}

/// What is kept from one writing to the next.
pub(super) struct WriteNotes<'n> {
    /// How much was written.
    pub(super) copied: &'n mut Copied,
    /// Where fields stand in the resource.
    pub(super) positions: &'n mut TreePositions,
    /// The values that were put into fields as a whole.
    pub(super) writes: &'n mut Vec<FieldWrite>,
    /// The values that may have changed.
    pub(super) touched: &'n mut Touched,
}

/// The fields of a resource that a value is written to.
#[derive(Clone, Copy)]
pub(super) struct FieldTarget<'t> {
    pub(super) path: &'t [String],
    pub(super) options: &'t FieldOptions,
}

/// Writes a value to all fields at a path. Returns a warning when something else came of it.
///
/// # Errors
/// No such field, a path that does not fit the types on its way, a value that does not fit the type
/// of a field.
///
/// `live` is the path of the value itself, when it is a field of this very resource: kustomize copies it
/// anew each time, so that what changes it changes what the fields behind it get.
pub(super) fn copy(
    value: &mut Node,
    live: Option<&[String]>,
    node: &mut Node,
    to: FieldTarget<'_>,
    notes: &mut WriteNotes<'_>,
) -> Result<Option<Diagnostic>> {
    let FieldTarget { path, options } = to;
    let source = live.and_then(|live| lookup(node, live).ok().flatten()).map(std::ptr::from_ref);
    let current = RefCell::new(value.clone());
    let copy = FieldCopy {
        value: &current,
        source,
        options,
        length: path.len(),
        oddity: Cell::new(None),
        in_text: Cell::new(false),
        copied: Cell::new(*notes.copied),
        positions: notes.positions,
        writes: RefCell::new(std::mem::take(notes.writes)),
        touched: RefCell::new(Touched::Paths(Vec::new())),
    };
    copy.to(node, path)?;
    let oddity = copy.oddity.get().map(Oddity::warning);
    *notes.copied = copy.copied.get();
    *notes.writes = copy.writes.take();
    notes.touched.add(copy.touched.into_inner());
    *value = current.into_inner();
    Ok(oddity)
}

/// What kustomize does other than what was asked, without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    /// The value was written only to a text that was read for this and thrown away.
    Lost,
    /// A map or list was to be written to a single value.
    Emptied,
}

impl Oddity {
    fn warning(self) -> Diagnostic {
        match self {
            Self::Lost => {
                let message = "the value is not written; kustomize v5.8 does not write into a text behind `*` or \
                               other types in it, nor into a null";
                let help =
                    "name the entry by its position or `[field=value]` instead of `*`, or remove the null";
                Diagnostic::warning(Code::UnmatchedReplacement, message).help(help)
            }
            Self::Emptied => {
                let message =
                    "the source is a map or list and the target a single value, which becomes empty";
                Diagnostic::warning(Code::WrongType, message).help("remove the target and use `create: true`")
            }
        }
    }
}

struct FieldCopy<'v> {
    value: &'v RefCell<Node>,
    /// Where the value stands, when it is the field itself: only to be compared.
    source: Option<*const Node>,
    options: &'v FieldOptions,
    /// How many parts the path has: nothing that it leads to lies deeper.
    length: usize,
    oddity: Cell<Option<Oddity>>,
    /// Whether it is being written to a text that was read as JSON or YAML.
    in_text: Cell<bool>,
    copied: Cell<Copied>,
    positions: &'v TreePositions,
    writes: RefCell<Vec<FieldWrite>>,
    touched: RefCell<Touched>,
}

impl FieldCopy<'_> {
    /// Takes note of what is written to a field.
    fn count(&self, bytes: usize) -> Result<()> {
        let mut copied = self.copied.get();
        let counted = copied.add(bytes);
        self.copied.set(copied);
        counted
    }

    fn create(&self) -> Option<NodeKind> {
        self.options.create.then(|| NodeKind::like(&self.value.borrow()))
    }

    /// Checks that there is room for a whole value where the path leads.
    fn check_size(&self, value: &Node) -> Result<()> {
        let size = value.size();
        self.count(size.bytes)?;
        if self.length + size.depth <= MAX_DEPTH {
            return Ok(());
        }
        let message = format!("with this value maps and lists nest more than {MAX_DEPTH} levels deep");
        Err(Diagnostic::error(Code::LimitExceeded, message))
    }

    fn to(&self, node: &mut Node, path: &[String]) -> Result<()> {
        if self.write_inside(node, path) {
            self.touched.replace(Touched::All);
            return Ok(());
        }
        self.oddity.set(None);
        let found = self.matches(node, path)?;
        if found > 0 {
            return Ok(());
        }
        let error = Diagnostic::error(Code::NoMatch, "the target has no such field");
        Err(match nearest_path(node, path) {
            Some(meant) => error
                .help(format!("did you mean `{}`? `options: {{create: true}}` adds fields", meant.join("."))),
            None if self.options.create => error,
            None => error.help("`options: {create: true}` adds it"),
        })
    }

    fn matches(&self, node: &mut Node, path: &[String]) -> Result<usize> {
        let each = |found: FoundValue<'_>| self.set(found);
        let inside = |text: &mut Node, rest: &[String]| self.read_only(text, rest);
        let matches = Matches { create: self.create(), each: &each, inside: &inside };
        // A text that was read is another tree.
        let positions = (!self.in_text.get()).then_some(self.positions);
        matches.find(node, path, positions)
    }

    /// In a text any value can be written anywhere.
    fn matches_in_text(&self, document: &mut Node, path: &[String]) -> Result<usize> {
        let before = self.in_text.replace(true);
        let found = self.matches(document, path);
        self.in_text.set(before);
        found
    }

    /// Writes into a scalar that holds JSON or YAML, when the path leads into one. Returns whether
    /// it did; whatever goes wrong, the path is tried in another way.
    fn write_inside(&self, node: &mut Node, path: &[String]) -> bool {
        let mut field = node;
        for i in 1..path.len() {
            let (outer, inner) = path.split_at(i);
            // Where one part leads nowhere, those behind it do not, either.
            let Ok(Some(next)) = lookup_mut(field, &outer[i - 1..]) else { return false };
            field = next;
            let Value::Scalar(text) = &field.value else { continue };
            let Ok(document) = structured::read(text) else { continue };
            let Some(mut document) = document else { return false };
            if document.is_null() {
                return self.lose_in_null(inner);
            }
            if !matches!(self.matches_in_text(&mut document, inner), Ok(found) if found > 0) {
                return false;
            }
            match structured::write(&document, text) {
                Ok(text) => field.value = Value::Scalar(text.into()),
                // kustomize then tries the path in the other way, and finds it.
                Err(_) => self.oddity.set(Some(Oddity::Lost)),
            }
            return true;
        }
        false
    }

    /// What is created in a null gets lost.
    fn lose_in_null(&self, path: &[String]) -> bool {
        let lost = self.options.create && path.first().is_some_and(|part| part != "*");
        self.oddity.set(lost.then_some(Oddity::Lost));
        lost
    }

    /// Looks into a text behind `*` or a list, of which a copy is changed.
    fn read_only(&self, text: &mut Node, path: &[String]) -> Result<usize> {
        let Some(mut document) = structured::read(text_of(text))? else {
            let message = format!("expected a map, found {}", text.type_name());
            return Err(Diagnostic::error(Code::WrongType, message));
        };
        if document.is_null() {
            return Ok(usize::from(self.lose_in_null(path)));
        }
        let found = self.matches_in_text(&mut document, path)?;
        self.oddity.set((found > 0).then_some(Oddity::Lost));
        Ok(found)
    }

    /// Sets one field. A scalar keeps its type and quotes, anything else is replaced.
    fn set(&self, FoundValue { node, created, way }: FoundValue<'_>) -> Result<()> {
        let is_noted = self.options.delimiter.is_empty() && !self.in_text.get();
        let noted = way.filter(|_| is_noted).map(|way| (way.pointer(), node.clone()));
        self.put(node, created)?;
        if !self.in_text.get() {
            let touched = way.map_or(Touched::All, |way| Touched::Paths(vec![way.touched()]));
            self.touched.borrow_mut().add(touched);
        }
        if let Some((pointer, before)) = noted {
            self.writes.borrow_mut().push(FieldWrite { pointer, before, after: node.clone() });
        }
        if self.source.is_some_and(|source| std::ptr::eq(source, node)) {
            let mut value = self.value.borrow_mut();
            value.clone_from(node);
            part_scalars(&mut value);
        }
        Ok(())
    }

    fn put(&self, node: &mut Node, created: bool) -> Result<()> {
        let delimiter = &self.options.delimiter;
        let value = self.value.borrow();
        let text = if delimiter.is_empty() {
            SmolStr::new(text_of(&value))
        } else {
            let old = node.scalar_text().ok_or_else(only_scalars)?;
            let new = if value.is_null() { "" } else { text_of(&value) };
            spliced(old, new, delimiter, self.options.index).into()
        };
        self.count(text.len())?;
        match node.value {
            Value::Scalar(_) if created => node.value = Value::Scalar(text),
            Value::Scalar(_) => {
                if delimiter.is_empty() && value.scalar_text().is_none() {
                    self.oddity.set(Some(Oddity::Emptied));
                }
                set_text(node, &text);
                if !self.in_text.get() {
                    structured::check_type(node)?;
                }
            }
            _ => {
                self.check_size(&value)?;
                // What is below it now is something else.
                self.positions.borrow_mut().clear();
                *node = value.clone();
                if let Value::Scalar(old) = &mut node.value {
                    *old = text;
                }
            }
        }
        if !value.span().is_none() {
            node.meta.span = value.span();
        }
        Ok(())
    }
}

/// A text with one part replaced, or with a part more in front or behind.
fn spliced(old: &str, new: &str, delimiter: &str, index: i64) -> String {
    let mut parts: Vec<&str> = old.split(delimiter).collect();
    match usize::try_from(index) {
        Err(_) => parts.insert(0, new),
        Ok(i) => match parts.get_mut(i) {
            Some(part) => *part = new,
            None => parts.push(new),
        },
    }
    parts.join(delimiter)
}

/// Sets the text of a scalar whose type stays, whatever the text looks like. Quotes say enough: with no
/// tag of its own, the field stays open to what a later patch puts into the quotes.
fn set_text(node: &mut Node, text: &str) {
    if node.meta.tag == Tag::None && node.meta.style == Style::Plain {
        node.meta.tag = match node.resolve() {
            Some(Resolved::Null) => Tag::Null,
            Some(Resolved::Bool(_)) => Tag::Bool,
            Some(Resolved::Int(_) | Resolved::UInt(_)) => Tag::Int,
            Some(Resolved::Float(_)) => Tag::Float,
            Some(Resolved::Timestamp(_)) => Tag::Timestamp,
            Some(Resolved::Str(_)) | None => Tag::Str,
        };
    }
    node.value = Value::Scalar(text.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::value_path::split_dotted;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one, to_json};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("YAML")
    }

    const CREATE: FieldOptions =
        FieldOptions { delimiter: String::new(), index: 0, encoding: String::new(), create: true };

    /// The JSON afterwards without quotes, with `!` behind it when there is a warning.
    fn copied(value: &Node, text: &str, path: &str, options: &FieldOptions) -> String {
        let mut tree = node(text);
        let to = FieldTarget { path: &split_dotted(path), options };
        let mut notes = WriteNotes {
            copied: &mut Copied::default(),
            positions: &mut TreePositions::default(),
            writes: &mut Vec::new(),
            touched: &mut Touched::All,
        };
        match copy(&mut value.clone(), None, &mut tree, to, &mut notes) {
            Ok(warning) => to_json(&tree).expect("JSON") + if warning.is_some() { "!" } else { "" },
            Err(error) => format!("error: {}", error.message()),
        }
    }

    #[test]
    fn fields_keep_their_types() {
        let table = [
            ("{a: x}", "7", r#"{"a":"7"}"#),
            ("{a: 1}", "7", r#"{"a":7}"#),
            ("{a: 1}", "x", "error: the field is an integer, and the value is none"),
            ("{a: 1}", "1.5", "error: the field is an integer, and the value is none"),
            ("{a: 1.5}", "2", r#"{"a":2}"#),
            ("{a: true}", "false", r#"{"a":false}"#),
            ("{a: true}", "yes", "error: the field is a boolean, and the value is none"),
            ("{a: null}", "x", "error: the field is null, and the value is none"),
            ("{a: {}}", "7", r#"{"a":7}"#),
            ("{a: []}", "x", r#"{"a":"x"}"#),
            ("{}", "x", "error: the target has no such field"),
        ];
        for (text, value, want) in table {
            assert_eq!(
                copied(&Node::plain(value), text, "a", &FieldOptions::default()),
                want,
                "{text} {value}"
            );
        }
        assert_eq!(copied(&Node::plain("7"), "{}", "a", &CREATE), r#"{"a":7}"#, "new fields have no type");
        let string = node("'7'");
        assert_eq!(copied(&string, "{a: {}}", "a", &CREATE), r#"{"a":"7"}"#, "the type of the source");
        assert_eq!(copied(&string, "{}", "a", &CREATE), r#"{"a":7}"#, "which is lost in new fields");
    }

    #[test]
    fn maps_and_lists_are_copied_whole() {
        let map = node("{x: [1, y]}");
        assert_eq!(copied(&map, "{a: {z: 1}}", "a", &CREATE), r#"{"a":{"x":[1,"y"]}}"#);
        assert_eq!(copied(&map, "{}", "a.b", &CREATE), r#"{"a":{"b":{"x":[1,"y"]}}}"#);
        assert_eq!(copied(&map, "{a: old}", "a", &CREATE), r#"{"a":""}!"#);
    }

    #[test]
    fn parts_of_texts() {
        let options = |index| FieldOptions { delimiter: "/".into(), index, ..FieldOptions::default() };
        let table = [
            (0, r#"{"a":"new/y/z"}"#),
            (2, r#"{"a":"x/y/new"}"#),
            (9, r#"{"a":"x/y/z/new"}"#),
            (-1, r#"{"a":"new/x/y/z"}"#),
        ];
        for (index, want) in table {
            assert_eq!(copied(&Node::plain("new"), "{a: x/y/z}", "a", &options(index)), want, "{index}");
        }
        let got = copied(&Node::plain("new"), "{a: {}}", "a", &options(0));
        assert!(got.starts_with("error: a `delimiter`"), "{got}");
        let part = |index| part_of(&node("x/7"), &options(index)).ok();
        assert_eq!(part(1), Some(Node::string("7")), "a part of a string is a string");
        assert_eq!((part(2), part(-1)), (None, None));
    }

    #[test]
    fn texts_that_are_json_or_yaml() {
        let json = r#"{f: '{"a": {"b": 1}, "l": [1]}'}"#;
        let yaml = "{f: \"# top\\na:\\n  b: x # why\\n\"}";
        let table = [
            (json, "f.a.b", "2", r#"{"f":"{\"a\":{\"b\":2},\"l\":[1]}"}"#),
            (json, "f.l.0", "2", r#"{"f":"{\"a\":{\"b\":1},\"l\":[2]}"}"#),
            (json, "f.a.b", "x", r#"{"f":"{\"a\": {\"b\": 1}, \"l\": [1]}"}!"#),
            (yaml, "f.a.b", "y", r#"{"f":"\# top\na:\n  b: y \# why"}"#),
            ("{f: word}", "f.a", "x", "error: expected a map to look for `a` in, found a string"),
            ("{f: }", "f.a", "x", "error: expected a map, found null"),
        ];
        for (text, path, value, want) in table {
            let want = want.replace("\\#", "#");
            assert_eq!(
                copied(&Node::plain(value), text, path, &FieldOptions::default()),
                want,
                "{path} {value}"
            );
        }
        assert_eq!(copied(&Node::plain("x"), "{f: null}", "f.a", &CREATE), "{\"f\":null}!");
        let behind = copied(&Node::plain("2"), r#"{l: [{f: '{"a": 1}'}]}"#, "l.*.f.a", &CREATE);
        assert_eq!(behind, r#"{"l":[{"f":"{\"a\": 1}"}]}!"#);
    }
}
