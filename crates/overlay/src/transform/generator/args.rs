//! Arguments of ConfigMap and Secret generators, in kustomizations or in files of their own.

use std::collections::BTreeMap;

use serde::Deserialize;

use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The `generatorOptions` of a kustomization, or the `options` of one generator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// The labels of generated resources.
    pub labels: BTreeMap<String, Spanned<String>>,
    /// The annotations of generated resources.
    pub annotations: BTreeMap<String, Spanned<String>>,
    /// True if the name gets no hash suffix.
    pub disable_name_suffix_hash: bool,
    /// True if generated resources are immutable.
    pub immutable: Spanned<bool>,
}

impl GeneratorOptions {
    /// Merges the options of one generator with the options of all generators.
    ///
    /// Labels and annotations of the generator take precedence. A flag that is true for all generators remains true,
    /// because `false` cannot be distinguished from a missing value.
    #[must_use]
    pub fn merged_with(&self, global: Option<&Self>) -> Self {
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
    /// The namespace; empty if there is none.
    pub namespace: Spanned<String>,
    /// `create`, `replace` or `merge`; empty means `create`.
    pub behavior: Spanned<String>,
    /// Literals of the form `key=value`.
    pub literals: Vec<Spanned<String>>,
    /// Files of the form `path` or `key=path`.
    pub files: Vec<Spanned<String>>,
    /// Paths of files with `key=value` lines.
    pub envs: Vec<Spanned<String>>,
    /// The deprecated form of `envs`.
    pub env: Option<Spanned<String>>,
    /// Options of this generator.
    pub options: GeneratorOptions,
    /// The type of a Secret; not allowed for ConfigMaps.
    #[serde(rename = "type")]
    pub secret_type: Option<Spanned<String>>,
    /// True if the generator is in a file of its own, where kustomize validates less.
    #[serde(skip)]
    pub has_own_file: bool,
}

/// The metadata of a generator in a file of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GeneratorMetadata {
    /// The default name of [`GeneratorArgs`].
    pub name: Spanned<String>,
    /// The default namespace of [`GeneratorArgs`].
    pub namespace: Spanned<String>,
}

impl GeneratorArgs {
    /// Uses the metadata of the generator's file if the arguments have no name or namespace. In such files
    /// kustomize v5.8 ignores `env`.
    #[must_use]
    pub fn with_metadata(mut self, metadata: GeneratorMetadata) -> Self {
        self.has_own_file = true;
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
    /// Returns the first known location of the arguments.
    pub(crate) fn location(&self) -> Span {
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
    fn options_of_all_generators_are_merged() {
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
        assert_eq!(own.merged_with(Some(&global)), want);
        assert_eq!(own.merged_with(None), own);
    }
}
