//! New patch files, made from fields and values.

use smol_str::SmolStr;

use super::draft::{Applied, Draft, EditedText};
use super::fields::{entry_of, entry_text};
use super::patches::{self, PatchEntry};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{Map, Node, ParseOptions, edit_text, parse_documents, write_documents_in_source_style};

/// The object that a patch changes, as the patches of the kustomization see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchedObject {
    /// The API version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace, or empty.
    pub namespace: String,
}

/// A value of a patch.
#[derive(Debug, Clone)]
pub struct PatchedField {
    steps: Vec<Step>,
    value: Node,
}

/// A step of a field path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(SmolStr),
    /// The entry of a list with these fields.
    Entry(Vec<(SmolStr, SmolStr)>),
}

impl PatchedField {
    /// Parses `FIELD=VALUE`. The field is a path such as `spec.template.spec.containers[name=web].image`; a name with
    /// dots is written in brackets, as in `metadata.annotations[example.com/a]`. The value is YAML.
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
                let end = rest.find(['.', '[', '=']).unwrap_or(rest.len());
                if end == 0 {
                    return Err(invalid("a name is missing"));
                }
                steps.push(Step::Field(rest[..end].into()));
                rest = &rest[end..];
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
}

impl Step {
    fn in_brackets(text: &str) -> Option<Self> {
        let text = text.trim_matches('"');
        if !text.contains('=') {
            return (!text.is_empty() && text.parse::<usize>().is_err()).then(|| Self::Field(text.into()));
        }
        let keys =
            text.split(',').map(|key| key.split_once('=').map(|(key, value)| (key.into(), value.into())));
        keys.collect::<Option<Vec<_>>>().map(Self::Entry)
    }
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

/// Writes the fields to a patch file, which is created if it does not exist, and adds it to `patches`.
pub(super) fn add(
    draft: &mut Draft<'_>,
    object: &PatchedObject,
    fields: &[PatchedField],
    path: &str,
) -> Result<Applied> {
    let tree = draft.root.reader().tree();
    let at = draft.root.path().join(path);
    let shown = draft.root.reader().shown(&at);
    let (before, after) = if tree.contains(&at) {
        let before =
            tree.read_text(&at).map_err(|error| smp_text::diagnostic::read_error(shown.display(), &error))?;
        let after = extended(&before, object, fields, path)?;
        (before, after)
    } else {
        (String::new(), write_documents_in_source_style(&[with_fields(object.node(), fields)?]))
    };
    draft.files.push(EditedText { path: shown, before, after });
    let entry = PatchEntry { path: path.to_string(), ..PatchEntry::default() };
    if patches::add(draft, &entry) == Applied::Nothing {
        draft.notes.pop();
    }
    Ok(Applied::Changed)
}

/// Adds fields to the text of a patch file of the same object.
fn extended(before: &str, object: &PatchedObject, fields: &[PatchedField], path: &str) -> Result<String> {
    let sources = SourceMap::default();
    let id = sources.add(std::path::PathBuf::from(path), before);
    let documents = parse_documents(&sources, id, ParseOptions::default().with_comments())?;
    let [document] = documents.as_slice() else { return Err(other_object(path)) };
    if !object.is_patched_by(document) {
        return Err(other_object(path));
    }
    let after = with_fields(document.clone(), fields)?;
    edit_text(before, Reading::Kustomize, &documents, &[Some(after)])
}

fn other_object(path: &str) -> Diagnostic {
    Diagnostic::error(Code::Ambiguous, format!("{path} exists, and is not a patch of this object alone"))
        .help("use --path for another file")
}

impl PatchedObject {
    fn node(&self) -> Node {
        let mut fields: Map = entry_of(&[("apiVersion", &self.api_version), ("kind", &self.kind)])
            .as_map()
            .cloned()
            .unwrap_or_default();
        fields.push("metadata", entry_of(&[("name", &self.name), ("namespace", &self.namespace)]));
        Node::map(fields)
    }

    fn is_patched_by(&self, node: &Node) -> bool {
        let metadata = |name| node.get("metadata").map_or("", |metadata| entry_text(metadata, name));
        entry_text(node, "kind") == self.kind
            && metadata("name") == self.name
            && metadata("namespace") == self.namespace
    }
}

fn with_fields(mut node: Node, fields: &[PatchedField]) -> Result<Node> {
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
            let matches = |entry: &Node| keys.iter().all(|(name, text)| entry_text(entry, name) == text);
            let i = list.iter().position(matches).unwrap_or_else(|| {
                let keys = keys.iter().map(|(name, text)| (name.clone(), self::value(text)));
                list.push(Node::map(keys.collect()));
                list.len() - 1
            });
            set(&mut list[i], rest, value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(arguments: &[&str]) -> Result<String> {
        let fields = arguments.iter().map(|text| PatchedField::parse(text)).collect::<Result<Vec<_>>>()?;
        let object = PatchedObject { kind: "A".into(), name: "a".into(), ..PatchedObject::default() };
        Ok(write_documents_in_source_style(&[with_fields(object.node(), &fields)?]))
    }

    #[test]
    fn fields_become_a_patch() {
        let got = text(&[
            "spec.replicas=3",
            "spec.containers[name=web].image=web:2",
            "spec.containers[name=web].ports[containerPort=80,protocol=TCP].name=http",
            "metadata.annotations[example.com/a.b]='1'",
            "spec.list=[a, b]",
            "spec.gone=null",
        ]);
        let want = "kind: A\nmetadata:\n  name: a\n  annotations:\n    example.com/a.b: '1'\nspec:\n  replicas: 3\n  containers:\n  - name: web\n    image: web:2\n    ports:\n    - containerPort: 80\n      protocol: TCP\n      name: http\n  list: [a, b]\n  gone: null\n";
        assert_eq!(got.expect("valid"), want);
        for wrong in ["spec", "spec[0].a=1", "=1", "a..b=1", "a[b=1", "[a=b].c=1"] {
            assert!(PatchedField::parse(wrong).is_err(), "{wrong}");
        }
        assert!(text(&["a=1", "a.b=1"]).is_err());
    }

    #[test]
    fn existing_patches_are_extended() {
        let object = PatchedObject { kind: "A".into(), name: "a".into(), ..PatchedObject::default() };
        let before = "# why\nkind: A\nmetadata: {name: a}\nspec:\n  x: 1 # one\n";
        let fields = [
            PatchedField::parse("spec.z=2").expect("valid"),
            PatchedField::parse("spec.x=3").expect("valid"),
        ];
        let got = extended(before, &object, &fields, "p.yaml").expect("extended");
        assert_eq!(got, "# why\nkind: A\nmetadata: {name: a}\nspec:\n  x: 3 # one\n  z: 2\n");
        assert!(extended("kind: B\nmetadata: {name: a}\n", &object, &fields, "p.yaml").is_err());
    }
}
