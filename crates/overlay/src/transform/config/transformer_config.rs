//! Transformer configurations: the fields that each transformer changes.
//!
//! Contains the built-in configuration, the documents of `configurations:`, and their merge.

use std::sync::LazyLock;

use serde::Deserialize;

use super::defaults;
use crate::transform::field_spec::{FieldSpecs, ListedSpec, NameReferences, SpecList};
use smp_text::diagnostic::{Diagnostic, Result};

/// Declares the lists of a [`TransformerConfig`]: the type, the field name in a document, and the built-in
/// list.
macro_rules! transformer_config {
    ($($(#[$doc:meta])* $field:ident: $type:ident = $name:literal, $builtin:expr;)*) => {
        /// The field specs of all transformers. Cheap to clone. The default is empty.
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
        pub struct TransformerConfig {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl TransformerConfig {
            /// Returns the built-in configuration of kustomize 5.8.
            #[must_use]
            pub fn builtin() -> Self {
                static BUILTIN: LazyLock<TransformerConfig> =
                    LazyLock::new(|| TransformerConfig { $($field: $type::builtin(|| $builtin),)* });
                BUILTIN.clone()
            }

            /// Adds the specs of `other` that are missing here. The result is sorted.
            ///
            /// # Errors
            /// Two specs of one field have different values of `create`.
            pub fn merge(&self, other: &Self) -> Result<Self> {
                Ok(Self { $($field: merge($name, &self.$field, &other.$field)?,)* })
            }

            /// Sorts each list in kustomize's order of kinds.
            #[must_use]
            pub fn sorted(self) -> Self {
                Self { $($field: self.$field.sorted(),)* }
            }
        }
    };
}

transformer_config! {
    /// Name fields that get a prefix.
    name_prefix: FieldSpecs = "namePrefix", defaults::names();
    /// Name fields that get a suffix.
    name_suffix: FieldSpecs = "nameSuffix", defaults::names();
    /// Namespace fields, in addition to `metadata.namespace`.
    namespace: FieldSpecs = "namespace", defaults::namespace();
    /// Labels and selectors.
    common_labels: FieldSpecs = "commonLabels", defaults::common_labels();
    /// Further fields into which each entry of `labels` is written, besides `metadata.labels`.
    labels: FieldSpecs = "labels", Vec::new();
    /// Fields into which `labels` with `includeTemplates` are written: `metadata.labels` of objects and Pod templates.
    template_labels: FieldSpecs = "templateLabels", defaults::template_labels();
    /// Labels of volume claim templates.
    volume_claim_template_labels: FieldSpecs = "volumeClaimTemplateLabels", defaults::volume_claim_template_labels();
    /// Annotations.
    common_annotations: FieldSpecs = "commonAnnotations", defaults::common_annotations();
    /// Fields that name other resources.
    name_reference: NameReferences = "nameReference", defaults::name_reference();
    /// Fields in which `$(NAME)` is replaced.
    var_reference: FieldSpecs = "varReference", defaults::var_reference();
    /// Image fields outside of container lists.
    images: FieldSpecs = "images", defaults::images();
    /// Replica counts.
    replicas: FieldSpecs = "replicas", defaults::replicas();
}

impl TransformerConfig {
    /// Merges the built-in specs with the documents of `configurations:`, in their order.
    ///
    /// # Errors
    /// Two specs of one field have different values of `create`.
    pub fn with_configurations(documents: impl IntoIterator<Item = Self>) -> Result<Self> {
        let own = documents.into_iter().try_fold(Self::default(), |all, next| all.merge(&next.sorted()))?;
        Self::builtin().merge(&own)
    }
}

/// Merges two lists of the same name into a sorted list.
fn merge<S: ListedSpec>(name: &str, own: &SpecList<S>, other: &SpecList<S>) -> Result<SpecList<S>> {
    let named = |problem: Diagnostic| problem.note(format!("in the transformer configuration `{name}`"));
    Ok(own.merge(other).map_err(named)?.sorted())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::testing::nodes;
    use smp_merge::schema::Gvk;
    use smp_text::diagnostic::Code;
    use smp_text::yaml::{DecodeOptions, from_node_with};

    fn read(text: &str) -> TransformerConfig {
        from_node_with(&nodes(text)[0], DecodeOptions::transformer_config()).expect("a configuration")
    }

    /// Returns all lists of field specs, that is all lists except `name_reference`.
    fn lists(c: &TransformerConfig) -> [&FieldSpecs; 11] {
        [
            &c.name_prefix,
            &c.name_suffix,
            &c.namespace,
            &c.common_labels,
            &c.labels,
            &c.template_labels,
            &c.volume_claim_template_labels,
            &c.common_annotations,
            &c.var_reference,
            &c.images,
            &c.replicas,
        ]
    }

    #[test]
    fn merging_builtin_lists_changes_nothing() {
        // The shortcuts of `merge` rely on this: merging the lists with an empty list or with themselves
        // changes nothing.
        let builtin = TransformerConfig::builtin();
        for list in lists(&builtin) {
            let own = list.as_slice();
            assert_eq!(ListedSpec::merge(&[], own).expect("agrees"), own);
            assert_eq!(ListedSpec::merge(own, own).expect("agrees"), own);
        }
        let own = builtin.name_reference.as_slice();
        assert_eq!(ListedSpec::merge(own, own).expect("agrees"), own);
        let counts = lists(&builtin).map(|list| list.as_slice().len());
        assert_eq!(counts, [1, 1, 3, 32, 0, 9, 1, 9, 72, 7, 4]);
        let references = builtin.name_reference.as_slice();
        assert_eq!(references.iter().map(|r| r.field_specs.len()).sum::<usize>(), 167);
        assert_eq!(references[0].kind, "StorageClass");
        let merged =
            TransformerConfig::default().merge(&builtin).expect("agrees").merge(&builtin).expect("agrees");
        let list = |config: &TransformerConfig| config.name_reference.as_slice().as_ptr();
        assert_eq!(list(&merged), list(&builtin), "it is the same list");
    }

    #[test]
    fn configurations_are_added_to_the_builtin_ones() {
        let config = TransformerConfig::with_configurations([
            read("
namePrefix: [{path: spec/name, kind: Foo}]
namereference:
- {kind: Foo, fieldSpecs: [{kind: Bar, path: spec/foo}]}
- {kind: ConfigMap, version: v1, fieldSpecs: [{kind: Bar, path: spec/map}, {kind: Pod, version: v1, path: spec/volumes/configMap/name}]}
labels: null
"),
            read("namePrefix: [{path: spec/name, kind: Foo}, {path: metadata/name}]"),
        ])
        .expect("agrees");
        assert_eq!(config.name_prefix.as_slice().len(), 2);
        let gvk = Gvk::from_manifest("x/v1", "Bar");
        let fields: Vec<_> = config
            .name_reference
            .fields_for(&gvk)
            .map(|f| (f.entry.kind.as_str(), f.spec.path.as_str()))
            .collect();
        assert_eq!(fields, [("ConfigMap", "spec/map"), ("Foo", "spec/foo")]);
        let pod = Gvk::from_manifest("v1", "Pod");
        let own = |c: &TransformerConfig| c.name_reference.fields_for(&pod).count();
        assert_eq!(own(&config), own(&TransformerConfig::builtin()), "existing specs are not added again");
    }

    #[test]
    fn contradicting_specs_are_rejected() {
        let conflict = read("commonAnnotations: [{path: metadata/annotations, create: false}]");
        let error = TransformerConfig::with_configurations([conflict]).expect_err("contradicts");
        assert_eq!(error.code(), Code::InvalidValue);
        assert!(error.notes()[0].contains("commonAnnotations"));
        // A narrower spec may differ from the built-in one. Merging the built-in ones into the result is then an error.
        let narrower =
            read("commonAnnotations: [{path: metadata/annotations, kind: Deployment, create: false}]");
        let config = TransformerConfig::with_configurations([narrower]).expect("a narrower spec may differ");
        assert!(TransformerConfig::default().merge(&config).is_err());
    }
}
