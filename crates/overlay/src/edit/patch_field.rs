//! The fields of new patches: parses `FIELD=VALUE`, with types from the schema.

use smol_str::SmolStr;

use super::fields::entry_text;
use super::patched_object::PatchedObject;
use smp_merge::schema::{Cursor, Gvk, Schema, TypeKind};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::SourceMap;
use smp_text::yaml::{Entry, Map, Node, ParseOptions, Style, Value, parse_documents};
use smp_validate::{UNKNOWN_FIELD, Violation, WRONG_TYPE, type_violations};

/// A value of a patch.
#[derive(Debug, Clone)]
pub struct PatchedField {
    steps: Vec<Step>,
    value: Node,
}

/// A step of a field path.
#[derive(Debug, Clone)]
enum Step {
    Field(SmolStr),
    /// The entry of a list with these fields.
    Entry(Vec<(SmolStr, Node)>),
}

impl PatchedField {
    /// Parses `FIELD=VALUE`. The field is a path such as `spec.template.spec.containers[name=web].image`; a name with
    /// dots is written in brackets or with backslashes, as in `metadata.annotations[example.com/a]` or
    /// `metadata.annotations.example\.com/a`. The value is YAML.
    ///
    /// # Errors
    /// The argument has another form.
    pub fn parse(argument: &str) -> Result<Self> {
        let invalid = |why: &str| {
            Diagnostic::error(Code::InvalidValue, format!("invalid field `{argument}`: {why}"))
                .help("use FIELD=VALUE, such as spec.replicas=3 or spec.template.spec.containers[name=web].image=web:2")
        };
        let (mut steps, mut rest) = (Vec::new(), argument);
        loop {
            if let Some(inner) = rest.strip_prefix('[') {
                let (inner, after) =
                    inner.split_once(']').ok_or_else(|| invalid("a bracket is not closed"))?;
                steps.push(
                    Step::in_brackets(inner)
                        .ok_or_else(|| invalid("list entries are named by their keys"))?,
                );
                rest = after;
            } else {
                let (name, after) = name_and_rest(rest);
                if name.is_empty() {
                    return Err(invalid("a name is missing"));
                }
                steps.push(Step::Field(name.into()));
                rest = after;
            }
            match rest.chars().next() {
                Some('.') => rest = &rest[1..],
                Some('[') => {}
                Some('=') => break,
                _ => return Err(invalid("it has no value")),
            }
        }
        if matches!(steps.first(), Some(Step::Entry(_))) {
            return Err(invalid("it must begin with a field"));
        }
        Ok(Self { steps, value: value(&rest[1..]) })
    }

    /// Checks the field by the schema of the object.
    fn check(&self, object: &PatchedObject, cursor: Cursor<'_>) -> Result<()> {
        let patch = with_fields(object.node(), std::slice::from_ref(self))?;
        if !object.is_patched_by(&patch) || entry_text(&patch, "apiVersion") != object.api_version {
            let message = "a patch cannot change the apiVersion, kind, name or namespace of its object";
            return Err(Diagnostic::error(Code::InvalidValue, message).field(self.path()).help(
                "change the manifest, or use `namePrefix`, `nameSuffix` or `namespace` of the kustomization",
            ));
        }
        // No schema contains directives such as `$patch`.
        let is_directive = |violation: &Violation| {
            let last = violation.path.elements().last();
            matches!(last, Some(PathElement::Field(name)) if name.starts_with('$'))
        };
        let is_wrong = |violation: &Violation| {
            violation.rule == WRONG_TYPE || violation.rule == UNKNOWN_FIELD && !is_directive(violation)
        };
        let Some(Violation { rule, path, message, help, .. }) =
            type_violations(&patch, cursor).into_iter().find(is_wrong)
        else {
            return Ok(());
        };
        let error = Diagnostic::error(rule.diagnostic_code(), message).field(path);
        Err(error.help(help.unwrap_or_else(|| "use a value of the type in the schema".into())))
    }

    /// Returns the path without the keys of list entries, for messages.
    fn path(&self) -> FieldPath {
        self.steps.iter().fold(FieldPath::root(), |path, step| match step {
            Step::Field(name) => path.field(name.clone()),
            Step::Entry(_) => path,
        })
    }

    /// Returns the field, with strings where the schema requires strings.
    fn typed(&self, object: Cursor<'_>) -> Self {
        let (mut cursor, mut steps) = (object, Vec::new());
        for step in &self.steps {
            match step {
                Step::Field(name) => {
                    cursor = cursor.field(name);
                    steps.push(step.clone());
                }
                Step::Entry(keys) => {
                    cursor = cursor.element();
                    let typed =
                        keys.iter().map(|(name, key)| (name.clone(), with_strings(key, cursor.field(name))));
                    steps.push(Step::Entry(typed.collect()));
                }
            }
        }
        Self { steps, value: with_strings(&self.value, cursor) }
    }
}

impl Step {
    fn in_brackets(text: &str) -> Option<Self> {
        let text = text.trim_matches('"');
        if !text.contains('=') {
            return (!text.is_empty() && text.parse::<usize>().is_err()).then(|| Self::Field(text.into()));
        }
        let keys = text
            .split(',')
            .map(|key| key.split_once('=').map(|(key, value)| (key.into(), self::value(value))));
        keys.collect::<Option<Vec<_>>>().map(Self::Entry)
    }
}

/// Splits a path after its first name. A backslash before a character adds the character to the name.
fn name_and_rest(text: &str) -> (String, &str) {
    let (mut name, mut rest) = (String::new(), text.chars());
    loop {
        let before = rest.as_str();
        match rest.next() {
            Some('\\') => name.extend(rest.next()),
            Some('.' | '[' | '=') | None => return (name, before),
            Some(other) => name.push(other),
        }
    }
}

/// Replaces other scalars by strings where the schema requires strings.
fn with_strings(node: &Node, cursor: Cursor<'_>) -> Node {
    if let Some(text) = node.scalar_text().filter(|_| cursor.type_kind() == TypeKind::String) {
        let is_quoted = node.meta.style != Style::Plain;
        return if node.is_null() || is_quoted { node.clone() } else { Node::string(text.as_str()) };
    }
    let mut node = node.clone();
    match &mut node.value {
        Value::Map(map) => {
            for Entry { key, value } in map.entries_mut() {
                *value = with_strings(value, cursor.field(&key.text));
            }
        }
        Value::List(list) => {
            for entry in list.iter_mut() {
                *entry = with_strings(entry, cursor.element());
            }
        }
        Value::Scalar(_) => {}
    }
    node
}

/// Returns the fields with the types of the schema. For custom resources, only the metadata is known.
///
/// # Errors
/// A field is unknown, has a value of another type, or identifies the object.
pub(super) fn typed_fields(object: &PatchedObject, fields: &[PatchedField]) -> Result<Vec<PatchedField>> {
    let schema = Schema::embedded();
    let kind = |api_version: &str, kind: &str| schema.kind(&Gvk::from_manifest(api_version, kind));
    let known = kind(&object.api_version, &object.kind);
    let typed = |field: &PatchedField| {
        let is_metadata = matches!(field.steps.first(), Some(Step::Field(name)) if name == "metadata");
        // All kinds have the same metadata.
        let cursor = known.or_else(|| kind("v1", "ConfigMap").filter(|_| is_metadata));
        let cursor = cursor.unwrap_or_else(Cursor::unknown);
        let typed = field.typed(cursor);
        typed.check(object, cursor)?;
        Ok(typed)
    };
    fields.iter().map(typed).collect()
}

/// Reads a value as YAML, or as a string if it is not valid YAML.
fn value(text: &str) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("value", text);
    let parsed = parse_documents(&sources, id, ParseOptions::default()).ok();
    match parsed.as_deref() {
        Some([one]) if !text.is_empty() => one.clone(),
        _ => Node::string(text),
    }
}

pub(super) fn with_fields(mut node: Node, fields: &[PatchedField]) -> Result<Node> {
    for field in fields {
        set(&mut node, &field.steps, &field.value)?;
    }
    Ok(node)
}

fn set(node: &mut Node, steps: &[Step], value: &Node) -> Result<()> {
    let conflict =
        || Diagnostic::error(Code::InvalidValue, "a field is both a list or map and a single value");
    match steps.split_first() {
        None => {
            let comments = node.meta.comments.take();
            *node = value.clone();
            node.meta.comments = comments;
            Ok(())
        }
        Some((Step::Field(name), rest)) => {
            if node.is_null() {
                *node = Node::map(Map::new());
            }
            let map = node.as_map_mut().ok_or_else(conflict)?;
            set(map.get_or_insert_with(name, Node::null), rest, value)
        }
        Some((Step::Entry(keys), rest)) => {
            if node.is_null() {
                *node = Node::list(Vec::new());
            }
            let list = node.as_list_mut().ok_or_else(conflict)?;
            let matches = |entry: &Node| {
                keys.iter()
                    .all(|(name, key)| key.scalar_text().is_some_and(|key| entry_text(entry, name) == key))
            };
            let i = list.iter().position(matches).unwrap_or_else(|| {
                list.push(Node::map(keys.iter().cloned().collect()));
                list.len() - 1
            });
            set(&mut list[i], rest, value)
        }
    }
}
