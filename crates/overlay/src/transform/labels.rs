//! The labels transformer: labels of metadata and templates, and selectors.

use std::collections::BTreeMap;

use serde::Deserialize;
use smol_str::SmolStr;

use super::config::TransformerConfig;
use super::field_spec::{Create, FieldSpec, FieldSpecs, set_entries};
use crate::resource::ResourceSet;
use smp_merge::schema::Schema;
use smp_text::diagnostic::Result;
use smp_text::yaml::Spanned;

/// An entry of a kustomization's `labels`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // The file format has these fields.
pub struct LabelArgs {
    /// The labels.
    pub pairs: BTreeMap<SmolStr, Spanned<SmolStr>>,
    /// Also adds the labels to selectors and templates.
    pub include_selectors: bool,
    /// Also adds the labels to pod templates.
    pub include_templates: bool,
    /// Also adds the labels to volume claim templates.
    pub include_volume_claim_templates: bool,
    /// More fields for the labels.
    #[serde(rename = "fields")]
    pub field_specs: Vec<FieldSpec>,
}

impl LabelArgs {
    /// Returns the field specs for the labels.
    ///
    /// # Errors
    /// Two specs of one field have different values of `create`.
    pub fn fields(&self, config: &TransformerConfig) -> Result<FieldSpecs> {
        let specs = FieldSpecs::from(self.field_specs.clone()).merge(&config.labels)?;
        if self.include_selectors {
            return specs.merge(&config.common_labels);
        }
        let templates = if self.include_templates { specs.merge(&config.template_labels)? } else { specs };
        let claims = if self.include_volume_claim_templates {
            templates.merge(&config.volume_claim_template_labels)?
        } else {
            templates
        };
        claims.with(FieldSpec::created_for_all_kinds("metadata/labels"))
    }
}

/// Sets labels in all fields of `specs`.
///
/// # Errors
/// A field is not a map.
pub fn labels(
    set: &mut ResourceSet,
    pairs: &BTreeMap<SmolStr, Spanned<SmolStr>>,
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    set.count_copies(pairs.iter().map(|(key, value)| key.len() + value.len()).sum(), set.len())?;
    set.change_each(|resource| {
        // If a kind has only one field for labels, like most kinds, they need not be shared.
        let first =
            specs.has_several(&resource.id().gvk).then(|| resource.reserve_shared(pairs.len())).flatten();
        let mut counts = vec![0; pairs.len()];
        specs.visit(resource, Create::Map, &mut |field| {
            for (is_new, count) in set_entries(field, pairs, first)?.into_iter().zip(&mut counts) {
                *count += usize::from(is_new);
            }
            Ok(())
        })?;
        if let Some(first) = first {
            resource.link_shared(first, &counts);
        }
        resource.sync(schema);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, set, text};
    use super::*;
    use smp_text::diagnostic::Code;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<SmolStr, Spanned<SmolStr>> {
        pairs.iter().map(|(k, v)| (SmolStr::new(k), SmolStr::new(v).into())).collect()
    }

    const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: \"1\", keep: me}}
spec:
  selector: null
  template:
    spec:
      topologySpreadConstraints: [{labelSelector: {matchLabels: {a: b}}}, {topologyKey: zone}]
";

    fn run(label: &LabelArgs, resources: &str) -> ResourceSet {
        let mut set = set(resources);
        let fields = label.fields(&TransformerConfig::builtin()).expect("agrees");
        labels(&mut set, &label.pairs, &fields, &Schema::kustomize()).expect("labels");
        set
    }

    #[test]
    fn labels_without_options_are_set_in_metadata_only() {
        let label = LabelArgs { pairs: pairs(&[("app", "2")]), ..LabelArgs::default() };
        let set = run(&label, DEPLOYMENT);
        assert_eq!(at(&set, 0, "metadata.labels"), "app: \"2\"\nkeep: me");
        assert_eq!(at(&set, 0, "spec.selector"), "null");
        assert_eq!(at(&set, 0, "spec.template.metadata"), "");
    }

    #[test]
    fn labels_are_added_to_templates_and_selectors() {
        let label =
            LabelArgs { pairs: pairs(&[("t", "1")]), include_templates: true, ..LabelArgs::default() };
        let set = run(&label, DEPLOYMENT);
        assert_eq!(at(&set, 0, "spec.template.metadata.labels.t"), "\"1\"");
        assert_eq!(at(&set, 0, "spec.selector"), "null");
        let label = LabelArgs { include_selectors: true, ..label };
        let set = run(&label, DEPLOYMENT);
        assert_eq!(at(&set, 0, "spec.selector.matchLabels.t"), "\"1\"");
        let spread = "spec.template.spec.topologySpreadConstraints";
        assert_eq!(at(&set, 0, &format!("{spread}.0.labelSelector.matchLabels")), "a: b\nt: \"1\"");
        assert_eq!(at(&set, 0, &format!("{spread}.1")), "topologyKey: zone");
    }

    #[test]
    fn volume_claim_templates_are_not_created() {
        let stateful = |claims: &str| {
            format!("{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: s}}, spec: {{{claims}}}}}")
        };
        let label = LabelArgs {
            pairs: pairs(&[("t", "x")]),
            include_volume_claim_templates: true,
            ..LabelArgs::default()
        };
        let set = run(&label, &stateful("volumeClaimTemplates: [{metadata: {name: c}}]"));
        assert_eq!(at(&set, 0, "spec.volumeClaimTemplates.0.metadata.labels"), "t: x");
        let set = run(&label, &stateful("a: 1"));
        assert_eq!(at(&set, 0, "spec"), "a: 1");
        let set = run(&label, &stateful("volumeClaimTemplates: null"));
        assert_eq!(at(&set, 0, "spec"), "volumeClaimTemplates: []");
    }

    #[test]
    fn own_fields_are_used_and_conflicts_rejected() {
        let field = FieldSpec { kind: "Foo".into(), ..FieldSpec::created_for_all_kinds("spec/labels") };
        let label =
            LabelArgs { pairs: pairs(&[("a", "b")]), field_specs: vec![field], ..LabelArgs::default() };
        let foo = "{apiVersion: x/v1, kind: Foo, metadata: {name: f}}";
        assert_eq!(at(&run(&label, foo), 0, "spec.labels.a"), "b");
        let conflict = LabelArgs { field_specs: vec![FieldSpec::for_all_kinds("metadata/labels")], ..label };
        let error = conflict.fields(&TransformerConfig::builtin()).expect_err("conflict");
        assert_eq!(error.code(), Code::InvalidValue);
    }

    #[test]
    fn labels_added_together_share_one_value() {
        // As in kustomize 5.8.3, where they are one YAML node.
        let selectors = LabelArgs {
            pairs: pairs(&[("t", "1"), ("app", "x")]),
            include_selectors: true,
            ..LabelArgs::default()
        };
        let mut set = run(&selectors, DEPLOYMENT);
        let metadata: FieldSpecs = vec![FieldSpec::created_for_all_kinds("metadata/labels")].into();
        labels(&mut set, &pairs(&[("t", "2"), ("app", "y")]), &metadata, &Schema::kustomize())
            .expect("labels");
        assert_eq!(at(&set, 0, "spec.selector.matchLabels"), "app: x\nt: \"2\"", "`app` existed before");
        assert_eq!(at(&set, 0, "spec.template.metadata.labels"), "app: x\nt: \"2\"");
        set.resources_mut()[0].unlink_shared();
        labels(&mut set, &pairs(&[("t", "3")]), &metadata, &Schema::kustomize()).expect("labels");
        assert_eq!(at(&set, 0, "metadata.labels.t"), "\"3\"");
        assert_eq!(at(&set, 0, "spec.template.metadata.labels.t"), "\"2\"");
    }

    #[test]
    fn labels_that_are_not_a_map_are_rejected() {
        let specs = FieldSpecs::from(vec![FieldSpec::for_all_kinds("metadata/labels")]);
        let one = pairs(&[("a", "b")]);
        let run = |labels: &str| {
            let mut set =
                set(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p, labels: {labels}}}}}"));
            super::labels(&mut set, &one, &specs, &Schema::kustomize()).map(|()| text(&set))
        };
        assert!(run("null").expect("null is kept if the field is not created").contains("labels: null"));
        let error = run("[x]").expect_err("a list is not a map");
        assert_eq!(error.code(), Code::WrongType);
        assert_eq!(error.field_path(), Some("metadata/labels"));
        assert_eq!(error.resource_name(), Some("Pod p"));
    }
}
