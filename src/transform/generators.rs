//! ConfigMaps and Secrets made from literals, files and env files.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::Files;
use super::key_values::{self, KeyValue};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::{Behavior, Generated, Resource};
use crate::schema::Schema;
use crate::source::Span;
use crate::yaml::{Map, Node, Spanned, Style};

/// What `generatorOptions`, and `options` of one generator, can say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// Labels of what is generated.
    pub labels: BTreeMap<String, String>,
    /// Annotations of what is generated.
    pub annotations: BTreeMap<String, String>,
    /// Whether the name stays without the hash of the content.
    pub disable_name_suffix_hash: bool,
    /// Whether what is generated cannot be changed in the cluster.
    pub immutable: bool,
}

impl GeneratorOptions {
    /// These options of one generator, completed by the options of all.
    ///
    /// Labels and annotations of the generator win. A switch that is on for all stays on, since
    /// `false` cannot be told from "not given".
    #[must_use]
    pub fn completed_by(&self, global: Option<&Self>) -> Self {
        let mut all = self.clone();
        if let Some(global) = global {
            for (mine, theirs) in
                [(&mut all.labels, &global.labels), (&mut all.annotations, &global.annotations)]
            {
                for (key, value) in theirs {
                    mine.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            all.disable_name_suffix_hash |= global.disable_name_suffix_hash;
            all.immutable |= global.immutable;
        }
        all
    }
}

/// One entry of `configMapGenerator` or `secretGenerator`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorArgs {
    /// The name, before prefixes, suffixes and the hash.
    pub name: Spanned<String>,
    /// The namespace; empty when there is none.
    pub namespace: Spanned<String>,
    /// `create`, `replace` or `merge`; empty counts as `create`.
    pub behavior: Spanned<String>,
    /// `key=value`.
    pub literals: Vec<Spanned<String>>,
    /// `path` or `key=path`.
    pub files: Vec<Spanned<String>>,
    /// Paths of files with lines `key=value`.
    pub envs: Vec<Spanned<String>>,
    /// The older form of `envs`.
    pub env: Option<Spanned<String>>,
    /// Options of this generator.
    pub options: GeneratorOptions,
    /// The type of a Secret; ConfigMaps have none.
    #[serde(rename = "type")]
    pub secret_type: Option<Spanned<String>>,
    /// Whether they stand in a file of their own, where kustomize looks less closely.
    #[serde(skip)]
    pub own_file: bool,
}

/// The part of a generator's own file that the entry of a kustomization does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorMetadata {
    /// Stands in for the name of [`GeneratorArgs`].
    pub name: Spanned<String>,
    /// Stands in for the namespace of [`GeneratorArgs`].
    pub namespace: Spanned<String>,
}

impl GeneratorArgs {
    /// These arguments, named by the metadata of the file that they stand in where they have no
    /// name or namespace of their own. In such files kustomize v5.8 does not look at `env`.
    #[must_use]
    pub fn or_named_by(mut self, metadata: GeneratorMetadata) -> Self {
        self.own_file = true;
        if self.name.is_empty() {
            self.name = metadata.name;
        }
        if self.namespace.is_empty() {
            self.namespace = metadata.namespace;
        }
        self
    }
}

/// Makes a ConfigMap. Text goes to `data`, anything else in base64 to `binaryData`.
///
/// # Errors
/// No name, malformed sources, unreadable files, a key that comes twice.
pub fn config_map(
    args: &GeneratorArgs,
    global: Option<&GeneratorOptions>,
    files: &dyn Files,
    schema: &Schema,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Resource> {
    if let Some(kind) = args.secret_type.as_ref().filter(|_| !args.own_file) {
        return Err(Diagnostic::error(Code::UnknownField, "a ConfigMap has no type")
            .at(kind.span)
            .field("type")
            .help("remove the field, or use `secretGenerator`"));
    }
    let options = args.options.completed_by(global);
    let mut map = base("ConfigMap", args, &options)?;
    let (mut data, mut binary) = (Map::new(), Map::new());
    for KeyValue { key, value, span } in sorted(args, files, warnings)? {
        match String::from_utf8(value) {
            Ok(text) => data.push(key.as_str(), string(text, span)),
            Err(error) => binary.push(key.as_str(), string(base64_lines(error.as_bytes()), span)),
        }
    }
    for (field, values) in [("data", data), ("binaryData", binary)] {
        if !values.is_empty() {
            map.push(field, Node::map(values));
        }
    }
    Ok(finish(map, args, &options, schema, warnings))
}

/// Makes a Secret. All values are in base64.
///
/// # Errors
/// No name, malformed sources, unreadable files, a key that comes twice.
pub fn secret(
    args: &GeneratorArgs,
    global: Option<&GeneratorOptions>,
    files: &dyn Files,
    schema: &Schema,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Resource> {
    let options = args.options.completed_by(global);
    let mut map = base("Secret", args, &options)?;
    let kind = args.secret_type.as_ref().filter(|kind| !kind.is_empty());
    map.push("type", kind.map_or_else(|| Node::string("Opaque"), |k| string(k.value.clone(), k.span)));
    let pairs = sorted(args, files, warnings)?.into_iter();
    let data = pairs.map(|p| (p.key.as_str().into(), string(base64_lines(&p.value), p.span)));
    map.push("data", Node::map(data.collect::<Vec<(crate::yaml::Key, Node)>>().into_iter().collect()));
    Ok(finish(map, args, &options, schema, warnings))
}

fn sorted(args: &GeneratorArgs, files: &dyn Files, warnings: &mut Vec<Diagnostic>) -> Result<Vec<KeyValue>> {
    let mut pairs = key_values::load(args, files, warnings)?;
    pairs.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(pairs)
}

/// A string that stands, for messages, where it was asked for.
fn string(text: String, span: Span) -> Node {
    let block = text.contains('\n');
    let mut node = Node::string(text).with_span(span);
    if block {
        node.meta.style = Style::Literal;
    }
    node
}

fn base(kind: &str, args: &GeneratorArgs, options: &GeneratorOptions) -> Result<Map> {
    if args.name.is_empty() {
        return Err(Diagnostic::error(Code::MissingField, format!("a generated {kind} must have a name"))
            .at(args.place())
            .help("add `name:` to the generator"));
    }
    let mut metadata = Map::new();
    metadata.push("name", string(args.name.value.clone(), args.name.span));
    if !args.namespace.is_empty() {
        metadata.push("namespace", string(args.namespace.value.clone(), args.namespace.span));
    }
    for (field, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
        if !pairs.is_empty() {
            let pairs = pairs.iter().map(|(k, v)| (k.as_str(), Node::string(v.as_str())));
            metadata.push(field, Node::map(pairs.collect()));
        }
    }
    let mut map = Map::new();
    map.push("apiVersion", Node::plain("v1"));
    map.push("kind", Node::plain(kind));
    map.push("metadata", Node::map(metadata));
    Ok(map)
}

fn finish(
    mut map: Map,
    args: &GeneratorArgs,
    options: &GeneratorOptions,
    schema: &Schema,
    warnings: &mut Vec<Diagnostic>,
) -> Resource {
    if options.immutable {
        map.push("immutable", Node::from(true));
    }
    let mut resource = Resource::unchecked(Node::map(map).with_span(args.place()), schema);
    let behavior = behavior(&args.behavior, warnings);
    resource.generated = Some(Generated { behavior, name_hash: !options.disable_name_suffix_hash });
    resource
}

/// What a generated resource does when it exists; kustomize takes a word that it does not know
/// for "nothing was said".
fn behavior(text: &Spanned<String>, warnings: &mut Vec<Diagnostic>) -> Behavior {
    let behavior = Behavior::named(text);
    if behavior.is_none() && !text.is_empty() {
        let message = format!("there is no behavior `{}`; it counts as `create`", **text);
        let help = "possible are `create`, `replace` and `merge`";
        warnings.push(Diagnostic::warning(Code::InvalidValue, message).at(text.span).help(help));
    }
    behavior.unwrap_or_default()
}

impl GeneratorArgs {
    /// The first place that these arguments know.
    fn place(&self) -> Span {
        let lists = [&self.literals, &self.files, &self.envs];
        let firsts = lists.into_iter().filter_map(|list| list.first()).map(|s| s.span);
        [self.name.span, self.namespace.span, self.behavior.span]
            .into_iter()
            .chain(firsts)
            .find(|span| !span.is_none())
            .unwrap_or_default()
    }
}

/// The width of a line of base64.
const WIDTH: usize = 70;

/// Base64 in lines, each with a line break behind it; what fits one line has none.
fn base64_lines(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < WIDTH {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / WIDTH + 1);
    for line in encoded.as_bytes().chunks(WIDTH) {
        lines.extend(line.iter().map(|&b| b as char));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, from_node, parse_one};

    struct Some3;

    impl Files for Some3 {
        fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
            match path {
                "dir/text" => Ok(b"two\nlines\n".to_vec()),
                "bin" => Ok(vec![0xff; 60]),
                "x.env" => Ok(b"E=1\nF=2".to_vec()),
                _ => Err(Diagnostic::error(Code::Io, format!("no file {path}")).at(at)),
            }
        }
    }

    fn args(text: &str) -> GeneratorArgs {
        let sources = SourceMap::default();
        let id = sources.add("k.yaml", text);
        from_node(&parse_one(&sources, id, ParseOptions::default()).expect("YAML")).expect("arguments")
    }

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("want.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("YAML")
    }

    fn make(text: &str, is_secret: bool) -> (Result<Resource>, Vec<Diagnostic>) {
        let mut warnings = Vec::new();
        let generator = if is_secret { secret } else { config_map };
        let made = generator(&args(text), None, &Some3, &Schema::none(), &mut warnings);
        (made, warnings)
    }

    #[test]
    fn a_config_map() {
        let (made, warnings) = make(
            "{name: '1', namespace: ns, literals: ['b=2'], files: [dir/text, k=bin], envs: [x.env], behavior: merge,
              options: {labels: {l: x}, annotations: {a: z}, immutable: true, disableNameSuffixHash: true}}",
            false,
        );
        let made = made.expect("made");
        let want = node(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: '1', namespace: ns, labels: {l: x}, annotations: {a: z}},
              data: {E: '1', F: '2', b: '2', text: \"two\\nlines\\n\"},
              binaryData: {k: \"//////////////////////////////////////////////////////////////////////\\n//////////\\n\"},
              immutable: true}",
        );
        assert_eq!(made.node(), &want);
        assert_eq!(made.generated, Some(Generated { behavior: Behavior::Merge, name_hash: false }));
        assert_eq!(made.id().name, "1");
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_secret() {
        let made = make("{name: s, literals: [a=x], type: kubernetes.io/tls}", true).0.expect("made");
        let want =
            "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/tls, data: {a: eA==}}";
        assert_eq!(made.node(), &node(want));
        let empty = make("{name: s}", true).0.expect("made");
        let want = "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: Opaque, data: {}}";
        assert_eq!(empty.node(), &node(want), "an empty Secret keeps its `data`");
        assert_eq!(empty.generated, Some(Generated { behavior: Behavior::Unspecified, name_hash: true }));
    }

    #[test]
    fn what_goes_wrong() {
        for text in [
            "{literals: [a=b]}",
            "{name: a, literals: [a=b, a=c]}",
            "{name: a, literals: [E=b], envs: [x.env]}",
            "{name: a, envs: [x.env], env: x.env}",
            "{name: a, files: [nothing]}",
            "{name: a, files: [dir/text, text=bin]}",
            "{name: a, literals: [novalue]}",
        ] {
            let error = make(text, false).0.expect_err(text);
            assert!(!error.labels().is_empty(), "{text}: {error} has no place");
        }
    }

    #[test]
    fn what_is_warned_of() {
        let (made, warnings) = make("{name: a, behavior: mrege, literals: ['a b=c']}", false);
        assert_eq!(made.expect("made").generated.unwrap_or_default().behavior, Behavior::Unspecified);
        let messages: Vec<_> = warnings.iter().map(Diagnostic::message).collect();
        assert_eq!(
            messages,
            [
                "the API server will refuse the key `a b`",
                "there is no behavior `mrege`; it counts as `create`"
            ]
        );
    }

    #[test]
    fn options_of_all_generators() {
        let global: GeneratorOptions = serde_yaml::from_str(
            "{labels: {a: g, b: g}, annotations: {x: g}, disableNameSuffixHash: true, immutable: false}",
        )
        .expect("options");
        let own: GeneratorOptions =
            serde_yaml::from_str("{labels: {a: own}, immutable: true}").expect("options");
        let want: GeneratorOptions = serde_yaml::from_str(
            "{labels: {a: own, b: g}, annotations: {x: g}, disableNameSuffixHash: true, immutable: true}",
        )
        .expect("options");
        assert_eq!(own.completed_by(Some(&global)), want);
        assert_eq!(own.completed_by(None), own);
    }

    #[test]
    fn base64_is_wrapped_from_70_columns_on() {
        assert_eq!(base64_lines(&[0; 51]).len(), 68);
        assert_eq!(base64_lines(&[0; 52]), format!("{}\n{}\n", "A".repeat(70), "=="));
        assert_eq!(base64_lines(&[0; 105]), format!("{0}\n{0}\n", "A".repeat(70)));
    }
}
