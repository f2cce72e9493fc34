//! Transformer configurations: which fields each transformer changes.
//!
//! The built-in ones, those of `configurations:` documents, and how they are merged.

use std::sync::{Arc, LazyLock, OnceLock};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer};
use smol_str::SmolStr;

use super::field_path::Path;
use super::field_spec::{FieldSpec, FieldSpecs, index_by_kind, merge_lists, selects};
use super::{defaults, sort};
use crate::diagnostic::Result;
use crate::schema::Gvk;

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
        static BUILTIN: LazyLock<TransformerConfig> = LazyLock::new(|| {
            let sorted = |list: Vec<FieldSpec>| {
                FieldSpecs::builtin(FieldSpecs::from(list).sorted().as_slice().to_vec())
            };
            TransformerConfig {
                name_prefix: sorted(defaults::names()),
                name_suffix: sorted(defaults::names()),
                namespace: sorted(defaults::namespace()),
                common_labels: sorted(defaults::common_labels()),
                labels: FieldSpecs::default(),
                template_labels: sorted(defaults::template_labels()),
                volume_claim_template_labels: sorted(defaults::volume_claim_template_labels()),
                common_annotations: sorted(defaults::common_annotations()),
                name_reference: NameReferences::builtin(defaults::name_reference()),
                var_reference: sorted(defaults::var_reference()),
                images: sorted(defaults::images()),
                replicas: sorted(defaults::replicas()),
            }
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
        let named = |name: &'static str| {
            move |d: crate::diagnostic::Diagnostic| {
                d.note(format!("in the transformer configuration `{name}`"))
            }
        };
        let merge = |a: &FieldSpecs, b: &FieldSpecs, name| Ok(a.merge(b).map_err(named(name))?.sorted());
        Ok(Self {
            name_prefix: merge(&self.name_prefix, &other.name_prefix, "namePrefix")?,
            name_suffix: merge(&self.name_suffix, &other.name_suffix, "nameSuffix")?,
            namespace: merge(&self.namespace, &other.namespace, "namespace")?,
            common_labels: merge(&self.common_labels, &other.common_labels, "commonLabels")?,
            labels: merge(&self.labels, &other.labels, "labels")?,
            template_labels: merge(&self.template_labels, &other.template_labels, "templateLabels")?,
            volume_claim_template_labels: merge(
                &self.volume_claim_template_labels,
                &other.volume_claim_template_labels,
                "volumeClaimTemplateLabels",
            )?,
            common_annotations: merge(
                &self.common_annotations,
                &other.common_annotations,
                "commonAnnotations",
            )?,
            name_reference: self
                .name_reference
                .merge(&other.name_reference)
                .map_err(named("nameReference"))?
                .sorted(),
            var_reference: merge(&self.var_reference, &other.var_reference, "varReference")?,
            images: merge(&self.images, &other.images, "images")?,
            replicas: merge(&self.replicas, &other.replicas, "replicas")?,
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

/// A kind, and the fields of other kinds that name resources of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct NameBackReference {
    /// The API group that is referred to; empty for any.
    pub group: SmolStr,
    /// The version that is referred to; empty for any.
    pub version: SmolStr,
    /// The kind that is referred to; empty for any.
    pub kind: SmolStr,
    /// The fields that hold the name.
    pub field_specs: Vec<FieldSpec>,
}

impl NameBackReference {
    fn parts(&self) -> [&str; 3] {
        [&self.group, &self.version, &self.kind]
    }

    /// Whether a kind is the one that is referred to.
    #[must_use]
    pub fn refers_to(&self, gvk: &Gvk) -> bool {
        selects(self.parts(), gvk)
    }
}

/// A list of back references; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct NameReferences(Arc<References>);

#[derive(Debug, Default)]
struct References {
    list: Vec<NameBackReference>,
    /// As in [`FieldSpecs`].
    builtin: bool,
    fields: OnceLock<Fields>,
}

/// All fields of all back references in order, taken apart and by kind.
#[derive(Debug)]
struct Fields {
    all: Vec<(usize, usize, Path)>,
    by_kind: FxHashMap<SmolStr, Vec<usize>>,
    of_any_kind: Vec<usize>,
}

/// A field that names resources of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameField<'c> {
    /// What is referred to.
    pub target: &'c NameBackReference,
    /// The field.
    pub spec: &'c FieldSpec,
    /// Its path, taken apart.
    pub path: &'c Path,
}

impl From<Vec<NameBackReference>> for NameReferences {
    fn from(list: Vec<NameBackReference>) -> Self {
        Self(Arc::new(References { list, ..References::default() }))
    }
}

impl<'de> Deserialize<'de> for NameReferences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Option::<Vec<NameBackReference>>::deserialize(deserializer)
            .map(|list| list.unwrap_or_default().into())
    }
}

impl NameReferences {
    fn builtin(list: Vec<NameBackReference>) -> Self {
        let list = Self::from(list).sorted().as_slice().to_vec();
        Self(Arc::new(References { list, builtin: true, ..References::default() }))
    }

    /// The back references in order.
    #[must_use]
    pub fn as_slice(&self) -> &[NameBackReference] {
        &self.0.list
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    /// These back references and those of `other` that are new.
    ///
    /// # Errors
    /// Specs of one field that do not agree on whether it is created.
    pub fn merge(&self, other: &Self) -> Result<Self> {
        if other.is_empty() || (self.0.builtin && Arc::ptr_eq(&self.0, &other.0)) {
            return Ok(self.clone());
        }
        if self.is_empty() && other.0.builtin {
            return Ok(other.clone());
        }
        let mut list = self.0.list.clone();
        for incoming in &other.0.list {
            let mut found = false;
            for own in list.iter_mut().filter(|own| own.parts() == incoming.parts()) {
                own.field_specs = merge_lists(&own.field_specs, &incoming.field_specs)?;
                found = true;
            }
            if !found {
                list.push(incoming.clone());
            }
        }
        Ok(list.into())
    }

    /// In kustomize's order of the kinds that are referred to; the fields of each keep their order.
    #[must_use]
    pub fn sorted(self) -> Self {
        let order = |a: &NameBackReference, b: &NameBackReference| sort::compare_kinds(a.parts(), b.parts());
        if self.0.builtin || self.0.list.is_sorted_by(|a, b| order(a, b).is_le()) {
            return self;
        }
        let mut list = self.0.list.clone();
        list.sort_by(order);
        list.into()
    }

    /// The fields in which resources of a kind name others, in order.
    pub(super) fn fields_of<'c>(&'c self, gvk: &'c Gvk) -> impl Iterator<Item = NameField<'c>> {
        let fields = self.0.fields.get_or_init(|| Fields::new(&self.0.list));
        let positions = fields.by_kind.get(&gvk.kind).unwrap_or(&fields.of_any_kind);
        positions.iter().filter_map(move |&i| {
            let (target, spec, path) = fields.all.get(i)?;
            let target = self.0.list.get(*target)?;
            let spec = target.field_specs.get(*spec)?;
            spec.selects(gvk).then_some(NameField { target, spec, path })
        })
    }
}

impl Fields {
    fn new(list: &[NameBackReference]) -> Self {
        let specs = || list.iter().flat_map(|target| &target.field_specs);
        let (by_kind, of_any_kind) = index_by_kind(specs().map(|s| &s.kind));
        let numbered = |(i, target): (usize, &NameBackReference)| {
            let specs = target.field_specs.iter().enumerate();
            specs.map(move |(j, spec)| (i, j, Path::new(&spec.path))).collect::<Vec<_>>()
        };
        Self { all: list.iter().enumerate().flat_map(numbered).collect(), by_kind, of_any_kind }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::nodes;
    use super::*;
    use crate::diagnostic::Code;
    use crate::yaml::{DecodeOptions, from_node_with};

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
            assert_eq!(merge_lists(&[], own).expect("agrees"), own);
            assert_eq!(merge_lists(own, own).expect("agrees"), own);
        }
        for target in builtin.name_reference.as_slice() {
            assert_eq!(
                merge_lists(&target.field_specs, &target.field_specs).expect("agrees"),
                target.field_specs
            );
        }
        let counts = lists(&builtin).map(|list| list.as_slice().len());
        assert_eq!(counts, [1, 1, 3, 32, 0, 9, 1, 9, 72, 6, 4]);
        let references = builtin.name_reference.as_slice();
        assert_eq!(references.iter().map(|r| r.field_specs.len()).sum::<usize>(), 167);
        assert_eq!(references[0].kind, "StorageClass");
        let merged =
            TransformerConfig::default().merge(&builtin).expect("agrees").merge(&builtin).expect("agrees");
        assert!(Arc::ptr_eq(&merged.name_reference.0, &builtin.name_reference.0));
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
            .map(|f| (f.target.kind.as_str(), f.spec.path.as_str()))
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
