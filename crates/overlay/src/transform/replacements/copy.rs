//! Copies a value to the fields of a resource.

use std::cell::{Cell, RefCell};

use smol_str::SmolStr;

use super::args::FieldOptions;
use super::written_fields::FieldWrite;
use crate::resource::{Copied, unlink_scalars};
use crate::transform::value_path::{
    FoundValue, Matches, NodeKind, TreePositions, lookup, lookup_mut, structured, text_of,
};
use smp_merge::cause::Touched;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{MAX_DEPTH, Node, Resolved, Style, Tag, Value, nearest_path};

/// Returns the part of a value that the options of a source select.
pub(super) fn source_part(value: &Node, options: &FieldOptions) -> Result<Node> {
    let mut value = value.clone();
    unlink_scalars(&mut value);
    if options.delimiter.is_empty() {
        return Ok(value);
    }
    let text = value.scalar_text().cloned().ok_or_else(scalars_only)?;
    let index = usize::try_from(options.index).ok();
    let Some(part) = index.and_then(|i| text.split(&options.delimiter).nth(i)) else {
        let message = format!("the value has no part with index {}", options.index);
        return Err(Diagnostic::error(Code::InvalidValue, message).help("the index of the first part is 0"));
    };
    set_text(&mut value, part);
    Ok(value)
}

fn scalars_only() -> Diagnostic {
    Diagnostic::error(Code::WrongType, "a `delimiter` can only split a scalar, not a map or list")
}

/// State that is kept between writes.
pub(super) struct WriteState<'n> {
    /// The number of bytes written.
    pub(super) copied: &'n mut Copied,
    /// The positions of fields in the resource.
    pub(super) positions: &'n mut TreePositions,
    /// The fields that were replaced as a whole.
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

/// Writes a value to all fields at a path. Returns a warning if kustomize has an unexpected result.
///
/// `live` is the path of the source if it is a field of this resource. kustomize reads such a source again for each
/// field, so that a write to the source changes the value for all later fields.
///
/// # Errors
/// The field does not exist, the path does not match the types of the values, or the value does not match the
/// type of a field.
pub(super) fn copy_to_fields(
    value: &mut Node,
    live: Option<&[String]>,
    node: &mut Node,
    to: FieldTarget<'_>,
    notes: &mut WriteState<'_>,
) -> Result<Option<Diagnostic>> {
    let FieldTarget { path, options } = to;
    let source = live.and_then(|live| lookup(node, live).ok().flatten()).map(std::ptr::from_ref);
    let current = RefCell::new(value.clone());
    let copy = FieldCopy {
        value: &current,
        source,
        options,
        length: path.len(),
        problem: Cell::new(None),
        in_text: Cell::new(false),
        copied: Cell::new(*notes.copied),
        positions: notes.positions,
        writes: RefCell::new(std::mem::take(notes.writes)),
        touched: RefCell::new(Touched::Paths(Vec::new())),
    };
    copy.write_to(node, path)?;
    let problem = copy.problem.get().map(WriteProblem::warning);
    *notes.copied = copy.copied.get();
    *notes.writes = copy.writes.take();
    notes.touched.add(copy.touched.into_inner());
    *value = current.into_inner();
    Ok(problem)
}

/// A result of kustomize that is not the requested one, without an error of kustomize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteProblem {
    /// The value was only written to structured text that was parsed for this purpose and then discarded.
    Lost,
    /// The source is a map or list and the target a scalar.
    Emptied,
}

impl WriteProblem {
    fn warning(self) -> Diagnostic {
        match self {
            Self::Lost => {
                let message = "the value is not written: kustomize v5.8 does not write into text below `*`, \
                               values of another type in text, or null";
                let help = "use a position or `[field=value]` instead of `*`, or remove the null";
                Diagnostic::warning(Code::UnmatchedReplacement, message).help(help)
            }
            Self::Emptied => {
                let message = "the source is a map or list, so the scalar in the target becomes empty";
                Diagnostic::warning(Code::WrongType, message)
                    .help("remove the target field and use `create: true`")
            }
        }
    }
}

/// Returns the error for a path that does not exist. It names the list that lacks an entry, if that is the reason.
fn no_match_error(node: &Node, path: &[String]) -> Diagnostic {
    let missing = (1..=path.len()).find(|end| !matches!(lookup(node, &path[..*end]), Ok(Some(_))));
    let no_entry = missing.and_then(|end| {
        let (step, parents) = path[..end].split_last()?;
        let (key, value) = step.strip_prefix('[')?.strip_suffix(']')?.split_once('=')?;
        Some(format!("no entry of `{}` has `{key}: {value}`", parents.join(".")))
    });
    let message = no_entry.unwrap_or_else(|| "the target field does not exist".into());
    Diagnostic::error(Code::NoMatch, message)
}

struct FieldCopy<'v> {
    value: &'v RefCell<Node>,
    /// The source, if it is a field of the same resource. Only used for comparison.
    source: Option<*const Node>,
    options: &'v FieldOptions,
    /// The number of parts of the path, which limits the depth of the fields.
    length: usize,
    problem: Cell<Option<WriteProblem>>,
    /// True while writing to text that was parsed as JSON or YAML.
    in_text: Cell<bool>,
    copied: Cell<Copied>,
    positions: &'v TreePositions,
    writes: RefCell<Vec<FieldWrite>>,
    touched: RefCell<Touched>,
}

impl FieldCopy<'_> {
    /// Counts bytes written to a field.
    fn count(&self, bytes: usize) -> Result<()> {
        let mut copied = self.copied.get();
        let counted = copied.add(bytes);
        self.copied.set(copied);
        counted
    }

    fn create(&self) -> Option<NodeKind> {
        self.options.create.then(|| NodeKind::of_node(&self.value.borrow()))
    }

    /// Checks that a value fits within the size and depth limits.
    fn check_size(&self, value: &Node) -> Result<()> {
        let size = value.size();
        self.count(size.bytes)?;
        if self.length + size.depth <= MAX_DEPTH {
            return Ok(());
        }
        let message = format!("the value exceeds the nesting limit of {MAX_DEPTH} levels");
        Err(Diagnostic::error(Code::LimitExceeded, message))
    }

    fn write_to(&self, node: &mut Node, path: &[String]) -> Result<()> {
        if self.write_inside(node, path) {
            self.touched.replace(Touched::All);
            return Ok(());
        }
        self.problem.set(None);
        let found = self.matches(node, path)?;
        if found > 0 {
            return Ok(());
        }
        let error = no_match_error(node, path);
        Err(match nearest_path(node, path) {
            Some(similar) => error.help(format!(
                "did you mean `{}`? use `options: {{create: true}}` to add fields",
                similar.join(".")
            )),
            None if self.options.create => error,
            None => error.help("correct the path, or use `options: {create: true}` to add what is missing"),
        })
    }

    fn matches(&self, node: &mut Node, path: &[String]) -> Result<usize> {
        let each = |found: FoundValue<'_>| self.set(found);
        let inside = |text: &mut Node, rest: &[String]| self.read_only(text, rest);
        let matches = Matches { create: self.create(), each: &each, inside: &inside };
        // Parsed text is another tree.
        let positions = (!self.in_text.get()).then_some(self.positions);
        matches.find(node, path, positions)
    }

    /// Like [`Self::matches`], for parsed text, in which any value can be written to any field.
    fn matches_in_text(&self, document: &mut Node, path: &[String]) -> Result<usize> {
        let before = self.in_text.replace(true);
        let found = self.matches(document, path);
        self.in_text.set(before);
        found
    }

    /// Writes into a scalar that contains JSON or YAML, if the path continues in one.
    ///
    /// Returns true if a value was written, or if kustomize loses it (recorded in `problem`). Returns false after any
    /// other error, and the caller then tries the path in the ordinary way.
    fn write_inside(&self, node: &mut Node, path: &[String]) -> bool {
        let mut field = node;
        for i in 1..path.len() {
            let (outer, inner) = path.split_at(i);
            // If one part does not exist, the parts below it do not exist either.
            let Ok(Some(next)) = lookup_mut(field, &outer[i - 1..]) else { return false };
            field = next;
            let Value::Scalar(text) = &field.value else { continue };
            let Ok(document) = structured::parse(text) else { continue };
            let Some(mut document) = document else { return false };
            if document.is_null() {
                return self.record_loss_in_null(inner);
            }
            if !matches!(self.matches_in_text(&mut document, inner), Ok(found) if found > 0) {
                return false;
            }
            match structured::print(&document, text) {
                Ok(text) => field.value = Value::Scalar(text.into()),
                // kustomize then tries the path in the ordinary way, and finds the field.
                Err(_) => self.problem.set(Some(WriteProblem::Lost)),
            }
            return true;
        }
        false
    }

    /// Records that a value created in a null is lost.
    fn record_loss_in_null(&self, path: &[String]) -> bool {
        let lost = self.options.create && path.first().is_some_and(|part| part != "*");
        self.problem.set(lost.then_some(WriteProblem::Lost));
        lost
    }

    /// Searches text below `*` or a list. Only a copy is changed.
    fn read_only(&self, text: &mut Node, path: &[String]) -> Result<usize> {
        let Some(mut document) = structured::parse(text_of(text))? else {
            let message = format!("expected a map, found {}", text.type_name());
            return Err(Diagnostic::error(Code::WrongType, message));
        };
        if document.is_null() {
            return Ok(usize::from(self.record_loss_in_null(path)));
        }
        let found = self.matches_in_text(&mut document, path)?;
        self.problem.set((found > 0).then_some(WriteProblem::Lost));
        Ok(found)
    }

    /// Sets a field. A scalar keeps its type and quoting style; any other value is replaced.
    fn set(&self, FoundValue { node, created, path: way }: FoundValue<'_>) -> Result<()> {
        let is_recorded = self.options.delimiter.is_empty() && !self.in_text.get();
        let recorded = way.filter(|_| is_recorded).map(|way| (way.pointer(), node.clone()));
        self.put(node, created)?;
        if !self.in_text.get() {
            let touched = way.map_or(Touched::All, |way| Touched::Paths(vec![way.touched_path()]));
            self.touched.borrow_mut().add(touched);
        }
        if let Some((pointer, before)) = recorded {
            self.writes.borrow_mut().push(FieldWrite { pointer, before, after: node.clone() });
        }
        if self.source.is_some_and(|source| std::ptr::eq(source, node)) {
            let mut value = self.value.borrow_mut();
            value.clone_from(node);
            unlink_scalars(&mut value);
        }
        Ok(())
    }

    fn put(&self, node: &mut Node, created: bool) -> Result<()> {
        let delimiter = &self.options.delimiter;
        let value = self.value.borrow();
        let text = if delimiter.is_empty() {
            SmolStr::new(text_of(&value))
        } else {
            let old = node.scalar_text().ok_or_else(scalars_only)?;
            let new = if value.is_null() { "" } else { text_of(&value) };
            replace_part(old, new, delimiter, self.options.index).into()
        };
        self.count(text.len())?;
        match node.value {
            Value::Scalar(_) if created => node.value = Value::Scalar(text),
            Value::Scalar(_) => {
                if delimiter.is_empty() && value.scalar_text().is_none() {
                    self.problem.set(Some(WriteProblem::Emptied));
                }
                set_text(node, &text);
                if !self.in_text.get() {
                    structured::check_type(node)?;
                }
            }
            _ => {
                self.check_size(&value)?;
                // The positions of fields below it have changed.
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

/// Replaces a part of the text, or prepends or appends a part.
fn replace_part(old: &str, new: &str, delimiter: &str, index: i64) -> String {
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

/// Sets the text of a scalar and keeps its type, whatever the text looks like.
///
/// A quoted scalar needs no tag. Without one, a later patch can still change its type.
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

    /// Returns the JSON after the copy, with `!` appended if there is a warning, or the error.
    fn copied(value: &Node, text: &str, path: &str, options: &FieldOptions) -> String {
        let mut tree = node(text);
        let to = FieldTarget { path: &split_dotted(path), options };
        let mut notes = WriteState {
            copied: &mut Copied::default(),
            positions: &mut TreePositions::default(),
            writes: &mut Vec::new(),
            touched: &mut Touched::All,
        };
        match copy_to_fields(&mut value.clone(), None, &mut tree, to, &mut notes) {
            Ok(warning) => to_json(&tree).expect("JSON") + if warning.is_some() { "!" } else { "" },
            Err(error) => format!("error: {}", error.message()),
        }
    }

    #[test]
    fn target_fields_keep_their_types() {
        let table = [
            ("{a: x}", "7", r#"{"a":"7"}"#),
            ("{a: 1}", "7", r#"{"a":7}"#),
            ("{a: 1}", "x", "error: the field is an integer, but the value is not"),
            ("{a: 1}", "1.5", "error: the field is an integer, but the value is not"),
            ("{a: 1.5}", "2", r#"{"a":2}"#),
            ("{a: true}", "false", r#"{"a":false}"#),
            ("{a: true}", "yes", "error: the field is a boolean, but the value is not"),
            ("{a: null}", "x", "error: the field is null, but the value is not"),
            ("{a: {}}", "7", r#"{"a":7}"#),
            ("{a: []}", "x", r#"{"a":"x"}"#),
            ("{}", "x", "error: the target field does not exist"),
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
        assert_eq!(
            copied(&string, "{a: {}}", "a", &CREATE),
            r#"{"a":"7"}"#,
            "the type of the source is used"
        );
        assert_eq!(copied(&string, "{}", "a", &CREATE), r#"{"a":7}"#, "the type is lost in new fields");
    }

    #[test]
    fn maps_and_lists_are_copied_as_a_whole() {
        let map = node("{x: [1, y]}");
        assert_eq!(copied(&map, "{a: {z: 1}}", "a", &CREATE), r#"{"a":{"x":[1,"y"]}}"#);
        assert_eq!(copied(&map, "{}", "a.b", &CREATE), r#"{"a":{"b":{"x":[1,"y"]}}}"#);
        assert_eq!(copied(&map, "{a: old}", "a", &CREATE), r#"{"a":""}!"#);
    }

    #[test]
    fn delimiter_selects_a_part() {
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
        let part = |index| source_part(&node("x/7"), &options(index)).ok();
        assert_eq!(part(1), Some(Node::string("7")), "a part of a string is a string");
        assert_eq!((part(2), part(-1)), (None, None));
    }

    #[test]
    fn values_are_written_into_json_and_yaml_text() {
        let json = r#"{f: '{"a": {"b": 1}, "l": [1]}'}"#;
        let yaml = "{f: \"# top\\na:\\n  b: x # why\\n\"}";
        let table = [
            (json, "f.a.b", "2", r#"{"f":"{\"a\":{\"b\":2},\"l\":[1]}"}"#),
            (json, "f.l.0", "2", r#"{"f":"{\"a\":{\"b\":1},\"l\":[2]}"}"#),
            (json, "f.a.b", "x", r#"{"f":"{\"a\": {\"b\": 1}, \"l\": [1]}"}!"#),
            (yaml, "f.a.b", "y", r#"{"f":"\# top\na:\n  b: y \# why"}"#),
            ("{f: word}", "f.a", "x", "error: expected a map with `a`, found a string"),
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
        let below = copied(&Node::plain("2"), r#"{l: [{f: '{"a": 1}'}]}"#, "l.*.f.a", &CREATE);
        assert_eq!(below, r#"{"l":[{"f":"{\"a\": 1}"}]}!"#);
    }
}
