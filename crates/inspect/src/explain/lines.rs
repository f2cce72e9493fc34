//! The printed lines of a manifest, with the values that they show.

use std::ptr;

use rustc_hash::FxHashMap;

use super::blame::ResourceBlame;
use super::secret::{HIDDEN, is_secret_pointer};
use super::text::each_leaf;
use smp_overlay::resource::{PUBLIC_SECRET_FIELDS, Resource, is_secret_kind};
use smp_text::diagnostic::Result;
use smp_text::path::{pointer_steps, with_step};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, Value, to_yaml_with_leaves};

/// A line of a printed manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedLine {
    /// The text without its line break.
    pub text: String,
    /// The JSON pointer to the value on the line; `None` if the line contains only the key of a map or list.
    pub pointer: Option<String>,
    /// True if the value is hidden.
    pub is_hidden: bool,
}

/// Prints a resource like a build, but with `***` for the data of Secrets and for values that were copied from Secrets.
///
/// # Errors
/// A value cannot be printed.
pub fn printed_lines(resource: &Resource, sources: &SourceMap) -> Result<Vec<PrintedLine>> {
    let (shown, hidden) = without_secrets(resource, sources);
    let mut pointers = FxHashMap::default();
    each_leaf(&shown, &mut String::new(), &mut |pointer, leaf| {
        pointers.insert(ptr::from_ref(leaf), pointer.to_string());
    });
    let (text, leaves) = to_yaml_with_leaves(&shown)?;
    let mut leaves = leaves.iter().peekable();
    let mut end = 0;
    let line = |line: &str| {
        let start = end;
        end += line.len();
        while leaves.next_if(|leaf| leaf.text.end <= start).is_some() {}
        let pointer = leaves.peek().filter(|leaf| leaf.text.start < end);
        let pointer = pointer.and_then(|leaf| pointers.get(&ptr::from_ref(leaf.node))).cloned();
        let is_hidden = pointer.as_ref().is_some_and(|pointer| hidden.contains_key(pointer));
        PrintedLine { text: line.trim_end_matches('\n').to_string(), pointer, is_hidden }
    };
    Ok(text.split_inclusive('\n').map(line).collect())
}

/// Returns the text of a value that [`printed_lines`] hides, or `None` for any other value.
#[must_use]
pub fn hidden_value(resource: &Resource, pointer: &str, sources: &SourceMap) -> Option<String> {
    without_secrets(resource, sources).1.remove(pointer)
}

impl ResourceBlame {
    /// Returns the field at a JSON pointer, without values of Secrets.
    #[must_use]
    pub fn shown_field(&self, pointer: &str) -> Option<super::BlamedField> {
        let mut field = self.fields.iter().find(|field| field.pointer == pointer)?.clone();
        if is_secret_kind(&self.id.gvk.kind) && is_value(pointer) {
            field.writes.iter_mut().for_each(|write| write.value = Node::string(HIDDEN));
        }
        Some(field)
    }
}

/// Returns true if a JSON pointer refers to a value of a Secret. All fields but the known ones may contain values,
/// including misspelled ones.
fn is_value(pointer: &str) -> bool {
    let first = pointer_steps(pointer).next().unwrap_or_default();
    is_secret_pointer(pointer) || !PUBLIC_SECRET_FIELDS.contains(&&*first)
}

/// Returns the manifest without values of Secrets, and the hidden values by their pointers.
fn without_secrets(resource: &Resource, sources: &SourceMap) -> (Node, FxHashMap<String, String>) {
    let gvk = &resource.id().gvk;
    let (mut shown, mut hidden) = (resource.node().clone(), FxHashMap::default());
    let is_data = |pointer: &str| is_secret_kind(&gvk.kind) && is_value(pointer);
    if is_secret_kind(&gvk.kind) || sources.has_hidden_values() {
        hide(&mut shown, &mut String::new(), &is_data, sources, &mut hidden);
    }
    (shown, hidden)
}

fn hide(
    value: &mut Node,
    pointer: &mut String,
    is_data: &impl Fn(&str) -> bool,
    sources: &SourceMap,
    hidden: &mut FxHashMap<String, String>,
) {
    match &mut value.value {
        Value::Map(map) => map.iter_mut().for_each(|(name, value)| {
            with_step(pointer, name, |pointer| hide(value, pointer, is_data, sources, hidden));
        }),
        Value::List(list) => list.iter_mut().enumerate().for_each(|(i, entry)| {
            with_step(pointer, &i.to_string(), |pointer| hide(entry, pointer, is_data, sources, hidden));
        }),
        Value::Scalar(_) => {
            let Some(text) = value.scalar_text() else { return };
            let shown = if is_data(pointer) { HIDDEN.into() } else { sources.without_hidden_values(text) };
            if *shown != **text {
                hidden.insert(pointer.clone(), text.to_string());
                *value = Node::string(&*shown).with_span(value.span());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use smp_files::MemoryTree;
    use smp_overlay::overlay::{BuildOptions, Builder};

    #[test]
    fn lines_have_pointers_and_hide_secrets() {
        let tree = MemoryTree::new([
            ("kustomization.yaml", "resources: [s.yaml, d.yaml]"),
            (
                "s.yaml",
                "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: hunter22hunter}}",
            ),
            (
                "d.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  a: |\n    one\n    two\n  b: '3'\n",
            ),
        ]);
        let options = BuildOptions::default().tree(Arc::new(tree.expect("valid")));
        let builder = Builder::new(options).expect("valid");
        let built = builder.build(Path::new("")).expect("builds");
        let resources = built.resources.as_slice();
        let lines = |i: usize| printed_lines(&resources[i], builder.sources()).expect("printed");
        let shown = |lines: Vec<PrintedLine>| {
            let shown =
                lines.into_iter().map(|line| (line.text, line.pointer.unwrap_or_default(), line.is_hidden));
            shown.collect::<Vec<_>>()
        };
        let line = |text: &str, pointer: &str, hidden| (text.to_string(), pointer.to_string(), hidden);
        let secret = shown(lines(1));
        assert!(secret.contains(&line("  a: '***'", "/stringData/a", true)), "{secret:?}");
        let map = shown(lines(0));
        assert_eq!(
            map[2..6],
            [
                line("  a: |", "/data/a", false),
                line("    one", "/data/a", false),
                line("    two", "/data/a", false),
                line("  b: \"3\"", "/data/b", false)
            ]
        );
        assert_eq!(map[1], line("data:", "", false));
        assert_eq!(
            hidden_value(&resources[1], "/stringData/a", builder.sources()).as_deref(),
            Some("hunter22hunter")
        );
        assert_eq!(hidden_value(&resources[0], "/data/b", builder.sources()), None);
    }
}
