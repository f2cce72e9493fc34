//! The manifest of a generated ConfigMap or Secret.

use super::args::{GeneratorArgs, GeneratorOptions};
use crate::resource::{Behavior, Generated, Resource};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, Spanned, Style, nearest_name};

/// A manifest under construction.
pub(in crate::transform) struct GeneratedManifest<'a> {
    map: Map,
    args: &'a GeneratorArgs,
    options: GeneratorOptions,
}

impl<'a> GeneratedManifest<'a> {
    /// Creates a manifest with its metadata. `global` is the options of all generators.
    ///
    /// # Errors
    /// The name is missing.
    pub(in crate::transform) fn new(
        kind: &str,
        args: &'a GeneratorArgs,
        global: Option<&GeneratorOptions>,
    ) -> Result<Self> {
        if args.name.is_empty() {
            return Err(Diagnostic::error(
                Code::MissingField,
                format!("a generated {kind} must have a name"),
            )
            .at(args.location())
            .help("set `name` in the generator"));
        }
        let options = args.options.merged_with(global);
        let mut map = Map::new();
        map.push("apiVersion", Node::plain("v1"));
        map.push("kind", Node::plain(kind));
        map.push("metadata", Node::map(metadata(args, &options)));
        Ok(Self { map, args, options })
    }

    /// Adds a field.
    pub(in crate::transform) fn push(&mut self, field: &str, value: Node) {
        self.map.push(field, value);
    }

    /// Completes the resource, with its behavior.
    pub(in crate::transform) fn finish(mut self, schema: &Schema) -> WithWarnings<Resource> {
        let immutable = self.options.immutable;
        if *immutable {
            self.map.push("immutable", Node::from(true).with_span(immutable.span));
        }
        let node = Node::map(self.map).with_span(self.args.location());
        let name_hash = !self.options.disable_name_suffix_hash;
        behavior(&self.args.behavior).map(|behavior| {
            let mut resource = Resource::unchecked(node, schema);
            resource.generated = Some(Generated { behavior, name_hash });
            resource
        })
    }
}

fn metadata(args: &GeneratorArgs, options: &GeneratorOptions) -> Map {
    let mut metadata = Map::new();
    metadata.push("name", string_node(args.name.value.clone(), args.name.span));
    if !args.namespace.is_empty() {
        metadata.push("namespace", string_node(args.namespace.value.clone(), args.namespace.span));
    }
    for (field, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
        if !pairs.is_empty() {
            let pairs = pairs.iter().map(|(k, v)| (k.as_str(), Node::string(v.as_str()).with_span(v.span)));
            metadata.push(field, Node::map(pairs.collect()));
        }
    }
    metadata
}

/// Creates a string with a location for messages. Multi-line text gets the literal block style.
pub(in crate::transform) fn string_node(text: String, span: Span) -> Node {
    let block = text.contains('\n');
    let mut node = Node::string(text).with_span(span);
    if block {
        node.meta.style = Style::Literal;
    }
    node
}

/// Parses the behavior. As in kustomize, an unknown value is treated as not set; a warning is added.
fn behavior(text: &Spanned<String>) -> WithWarnings<Behavior> {
    let behavior = Behavior::from_name(text);
    let mut warnings = Vec::new();
    if behavior.is_none() && !text.is_empty() {
        // A value that is not similar to a behavior may be a secret in the wrong place, so it is not shown.
        let word = nearest_name(text, &["create", "replace", "merge"]).map(|_| format!(" `{}`", **text));
        let word = word.unwrap_or_default();
        let message = format!("unknown generator behavior{word}, using `create`");
        let help = "valid values are `create`, `replace` and `merge`";
        warnings.push(Diagnostic::warning(Code::InvalidValue, message).at(text.span).help(help));
    }
    WithWarnings { value: behavior.unwrap_or_default(), warnings }
}
