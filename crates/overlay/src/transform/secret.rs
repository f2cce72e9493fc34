//! Generates Secrets from literals, files and env files.

use super::Files;
use super::generator::{GeneratedManifest, GeneratorArgs, GeneratorOptions, load_sorted, string_node};
use crate::resource::{Resource, base64_lines};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Result, WithWarnings};
use smp_text::yaml::{Map, Node};

/// Generates a Secret. All values are base64-encoded.
///
/// # Errors
/// The name is missing, a source is malformed, a file cannot be read, or a key occurs twice.
pub fn secret(
    args: &GeneratorArgs,
    global: Option<&GeneratorOptions>,
    files: &dyn Files,
    schema: &Schema,
) -> Result<WithWarnings<Resource>> {
    let mut manifest = GeneratedManifest::new("Secret", args, global)?;
    let kind = args.secret_type.as_ref().filter(|kind| !kind.is_empty());
    manifest
        .push("type", kind.map_or_else(|| Node::string("Opaque"), |k| string_node(k.value.clone(), k.span)));
    Ok(load_sorted(args, files)?.and_then(|pairs| {
        let mut data = Map::new();
        for pair in &pairs {
            data.push(pair.key.as_str(), string_node(base64_lines(&pair.value), pair.value_span));
        }
        manifest.push("data", Node::map(data));
        manifest.finish(schema)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SomeFiles, generator_args, nodes};
    use super::*;
    use crate::resource::{Behavior, Generated};

    fn make(text: &str) -> Resource {
        secret(&generator_args(text), None, &SomeFiles, &Schema::empty()).expect("made").value
    }

    #[test]
    fn secret_is_generated_with_type_and_base64_data() {
        let made = make("{name: s, literals: [a=x], type: kubernetes.io/tls}");
        let want =
            "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/tls, data: {a: eA==}}";
        assert_eq!(made.node(), &nodes(want)[0]);
        let empty = make("{name: s}");
        let want = "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: Opaque, data: {}}";
        assert_eq!(empty.node(), &nodes(want)[0], "an empty Secret keeps its `data`");
        assert_eq!(empty.generated, Some(Generated { behavior: Behavior::Unspecified, name_hash: true }));
    }
}
