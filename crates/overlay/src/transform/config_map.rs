//! The ConfigMap generator: literals, files and env files.

use super::Files;
use super::generator::{
    DataPair, GeneratedManifest, GeneratorArgs, GeneratorOptions, load_sorted, string_node,
};
use crate::resource::{Resource, base64_lines};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::yaml::{Map, Node};

/// Generates a ConfigMap. UTF-8 text goes to `data`, other bytes to `binaryData` as base64.
///
/// # Errors
/// The name is missing, `type` is set, a source is malformed, a file cannot be read, or a key occurs twice.
pub fn config_map(
    args: &GeneratorArgs,
    global: Option<&GeneratorOptions>,
    files: &dyn Files,
    schema: &Schema,
) -> Result<WithWarnings<Resource>> {
    if let Some(kind) = args.secret_type.as_ref().filter(|_| !args.has_own_file) {
        return Err(Diagnostic::error(Code::UnknownField, "a ConfigMap has no field `type`")
            .at(kind.span)
            .field("type")
            .help("remove the field, or use `secretGenerator`"));
    }
    let mut manifest = GeneratedManifest::new("ConfigMap", args, global)?;
    Ok(load_sorted(args, files)?.and_then(|pairs| {
        let (mut data, mut binary) = (Map::new(), Map::new());
        for DataPair { key, value, value_span, .. } in pairs {
            match String::from_utf8(value) {
                Ok(text) => data.push(key.as_str(), string_node(text, value_span)),
                Err(error) => {
                    binary.push(key.as_str(), string_node(base64_lines(error.as_bytes()), value_span));
                }
            }
        }
        for (field, values) in [("data", data), ("binaryData", binary)] {
            if !values.is_empty() {
                manifest.push(field, Node::map(values));
            }
        }
        manifest.finish(schema)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SomeFiles, generator_args, nodes};
    use super::*;
    use crate::resource::{Behavior, Generated};

    fn make(text: &str) -> Result<WithWarnings<Resource>> {
        config_map(&generator_args(text), None, &SomeFiles, &Schema::empty())
    }

    #[test]
    fn config_map_is_generated() {
        let WithWarnings { value: made, warnings } = make(
            "{name: '1', namespace: ns, literals: ['b=2'], files: [dir/text, k=bin], envs: [x.env], behavior: merge,
              options: {labels: {l: x}, annotations: {a: z}, immutable: true, disableNameSuffixHash: true}}",
        )
        .expect("made");
        let want = nodes(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: '1', namespace: ns, labels: {l: x}, annotations: {a: z}},
              data: {E: '1', F: '2', b: '2', text: \"two\\nlines\\n\"},
              binaryData: {k: \"//////////////////////////////////////////////////////////////////////\\n//////////\\n\"},
              immutable: true}",
        );
        assert_eq!(made.node(), &want[0]);
        assert_eq!(made.generated, Some(Generated { behavior: Behavior::Merge, name_hash: false }));
        assert_eq!(made.id().name, "1");
        assert!(warnings.is_empty());
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for text in [
            "{literals: [a=b]}",
            "{name: a, literals: [a=b, a=c]}",
            "{name: a, literals: [E=b], envs: [x.env]}",
            "{name: a, envs: [x.env], env: x.env}",
            "{name: a, files: [nothing]}",
            "{name: a, files: [dir/text, text=bin]}",
            "{name: a, literals: [novalue]}",
        ] {
            let error = make(text).expect_err(text);
            assert!(!error.labels().is_empty(), "{text}: {error} has no location");
        }
    }

    #[test]
    fn invalid_key_and_unknown_behavior_are_warned_of() {
        let WithWarnings { value: made, warnings } =
            make("{name: a, behavior: mrege, literals: ['a b=c']}").expect("made");
        assert_eq!(made.generated.unwrap_or_default().behavior, Behavior::Unspecified);
        let messages: Vec<_> = warnings.iter().map(Diagnostic::message).collect();
        assert_eq!(
            messages,
            ["the key of this literal is invalid", "unknown generator behavior `mrege`, using `create`"]
        );
    }
}
