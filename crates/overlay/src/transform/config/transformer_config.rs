//! Transformer configurations: which fields each transformer changes.
//!
//! The built-in ones, those of `configurations:` documents, and how they are merged.

use std::sync::LazyLock;

use serde::Deserialize;

use super::defaults;
use crate::transform::field_spec::{FieldSpecs, ListedSpec, NameReferences, SpecList};
use smp_text::diagnostic::{Diagnostic, Result};

/// The field specs of all transformers; cheap to clone. The default is empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TransformerConfig {
    /// Names that get prefixes.
    pub name_prefix: FieldSpecs,
    /// Names that get suffixes.
    pub name_suffix: FieldSpecs,
    /// Fields with the namespace, beside `metadata.namespace`.
    pub namespace: FieldSpecs,
    /// Labels and selectors.
    pub common_labels: FieldSpecs,
    /// What all entries of `labels` set, beside `metadata.labels`.
    pub labels: FieldSpecs,
    /// Labels, those of templates included.
    pub template_labels: FieldSpecs,
    /// Labels of volume claim templates.
    pub volume_claim_template_labels: FieldSpecs,
    /// Annotations.
    pub common_annotations: FieldSpecs,
    /// Fields that name other resources.
    pub name_reference: NameReferences,
    /// Fields in which `$(NAME)` is replaced.
    pub var_reference: FieldSpecs,
    /// Images outside lists of containers.
    pub images: FieldSpecs,
    /// Replica counts.
    pub replicas: FieldSpecs,
}

impl TransformerConfig {
    /// What kustomize 5.8 has built in.
    #[must_use]
    pub fn builtin() -> Self {
        static BUILTIN: LazyLock<TransformerConfig> = LazyLock::new(|| TransformerConfig {
            name_prefix: FieldSpecs::builtin(defaults::names()),
            name_suffix: FieldSpecs::builtin(defaults::names()),
            namespace: FieldSpecs::builtin(defaults::namespace()),
            common_labels: FieldSpecs::builtin(defaults::common_labels()),
            labels: FieldSpecs::default(),
            template_labels: FieldSpecs::builtin(defaults::template_labels()),
            volume_claim_template_labels: FieldSpecs::builtin(defaults::volume_claim_template_labels()),
            common_annotations: FieldSpecs::builtin(defaults::common_annotations()),
            name_reference: NameReferences::builtin(defaults::name_reference()),
            var_reference: FieldSpecs::builtin(defaults::var_reference()),
            images: FieldSpecs::builtin(defaults::images()),
            replicas: FieldSpecs::builtin(defaults::replicas()),
        });
        BUILTIN.clone()
    }

    /// The built-in specs and those of the documents of `configurations:`, in their order.
    ///
    /// # Errors
    /// Specs of one field that do not agree on whether it is created.
    pub fn with_configurations(documents: impl IntoIterator<Item = Self>) -> Result<Self> {
        let own = documents.into_iter().try_fold(Self::default(), |all, next| all.merge(&next.sorted()))?;
        Self::builtin().merge(&own)
    }

    /// These specs and those of `other` that are new, sorted.
    ///
    /// # Errors
    /// Specs of one field that do not agree on whether it is created.
    pub fn merge(&self, other: &Self) -> Result<Self> {
        Ok(Self {
            name_prefix: merge("namePrefix", &self.name_prefix, &other.name_prefix)?,
            name_suffix: merge("nameSuffix", &self.name_suffix, &other.name_suffix)?,
            namespace: merge("namespace", &self.namespace, &other.namespace)?,
            common_labels: merge("commonLabels", &self.common_labels, &other.common_labels)?,
            labels: merge("labels", &self.labels, &other.labels)?,
            template_labels: merge("templateLabels", &self.template_labels, &other.template_labels)?,
            volume_claim_template_labels: merge(
                "volumeClaimTemplateLabels",
                &self.volume_claim_template_labels,
                &other.volume_claim_template_labels,
            )?,
            common_annotations: merge(
                "commonAnnotations",
                &self.common_annotations,
                &other.common_annotations,
            )?,
            name_reference: merge("nameReference", &self.name_reference, &other.name_reference)?,
            var_reference: merge("varReference", &self.var_reference, &other.var_reference)?,
            images: merge("images", &self.images, &other.images)?,
            replicas: merge("replicas", &self.replicas, &other.replicas)?,
        })
    }

    /// Each list in kustomize's order of kinds.
    #[must_use]
    pub fn sorted(self) -> Self {
        Self {
            name_prefix: self.name_prefix.sorted(),
            name_suffix: self.name_suffix.sorted(),
            namespace: self.namespace.sorted(),
            common_labels: self.common_labels.sorted(),
            labels: self.labels.sorted(),
            template_labels: self.template_labels.sorted(),
            volume_claim_template_labels: self.volume_claim_template_labels.sorted(),
            common_annotations: self.common_annotations.sorted(),
            name_reference: self.name_reference.sorted(),
            var_reference: self.var_reference.sorted(),
            images: self.images.sorted(),
            replicas: self.replicas.sorted(),
        }
    }
}

/// Two lists of one name as a sorted one.
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

    /// All lists of field specs.
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
    fn the_builtin_lists_need_no_merge() {
        // What the short cuts of `merge` rely on: merging them with nothing or themselves changes nothing.
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
    fn configurations_add_to_the_builtin_ones() {
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
            .fields_of(&gvk)
            .map(|f| (f.entry.kind.as_str(), f.spec.path.as_str()))
            .collect();
        assert_eq!(fields, [("ConfigMap", "spec/map"), ("Foo", "spec/foo")]);
        let pod = Gvk::from_manifest("v1", "Pod");
        let own = |c: &TransformerConfig| c.name_reference.fields_of(&pod).count();
        assert_eq!(own(&config), own(&TransformerConfig::builtin()), "what is there is not added again");
    }

    #[test]
    fn contradictions() {
        let conflict = read("commonAnnotations: [{path: metadata/annotations, create: false}]");
        let error = TransformerConfig::with_configurations([conflict]).expect_err("contradicts");
        assert_eq!(error.code(), Code::InvalidValue);
        assert!(error.notes()[0].contains("commonAnnotations"));
        // A narrower spec may differ, but not when all is merged into a base's configuration once more.
        let narrower =
            read("commonAnnotations: [{path: metadata/annotations, kind: Deployment, create: false}]");
        let config = TransformerConfig::with_configurations([narrower]).expect("stands beside the wider");
        assert!(TransformerConfig::default().merge(&config).is_err());
    }
}
