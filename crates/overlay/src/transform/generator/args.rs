//! What kustomizations, and generators in files of their own, say of ConfigMaps and Secrets.

use std::collections::BTreeMap;

use serde::Deserialize;

use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// What `generatorOptions`, and `options` of one generator, can say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// Labels of what is generated.
    pub labels: BTreeMap<String, Spanned<String>>,
    /// Annotations of what is generated.
    pub annotations: BTreeMap<String, Spanned<String>>,
    /// Whether the name stays without the hash of the content.
    pub disable_name_suffix_hash: bool,
    /// Whether what is generated cannot be changed in the cluster.
    pub immutable: Spanned<bool>,
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
            if !*all.immutable {
                all.immutable = global.immutable;
            }
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

impl GeneratorArgs {
    /// The first place that these arguments know.
    pub(crate) fn place(&self) -> Span {
        let lists = [&self.literals, &self.files, &self.envs];
        let firsts = lists.into_iter().filter_map(|list| list.first()).map(|s| s.span);
        [self.name.span, self.namespace.span, self.behavior.span]
            .into_iter()
            .chain(firsts)
            .find(|span| !span.is_none())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::testing::nodes;
    use smp_text::yaml::{DecodeOptions, from_node_with};

    #[test]
    fn options_of_all_generators() {
        let read = |text: &str| -> GeneratorOptions {
            from_node_with(&nodes(text)[0], DecodeOptions::transformer_config()).expect("options")
        };
        let global = read(
            "{labels: {a: g, b: g}, annotations: {x: g}, disableNameSuffixHash: true, immutable: false}",
        );
        let own = read("{labels: {a: own}, immutable: true}");
        let want = read(
            "{labels: {a: own, b: g}, annotations: {x: g}, disableNameSuffixHash: true, immutable: true}",
        );
        assert_eq!(own.completed_by(Some(&global)), want);
        assert_eq!(own.completed_by(None), own);
    }
}
