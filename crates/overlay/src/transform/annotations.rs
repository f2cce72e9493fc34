//! The annotations transformer: annotations of metadata and pod templates.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::field_spec::FieldSpecs;
use super::labels::labels;
use crate::resource::ResourceSet;
use smp_merge::schema::Schema;
use smp_text::diagnostic::Result;
use smp_text::yaml::Spanned;

/// Sets annotations in all fields of `specs`.
///
/// # Errors
/// A field is not a map.
pub fn annotations(
    set: &mut ResourceSet,
    pairs: &BTreeMap<SmolStr, Spanned<SmolStr>>,
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    // Annotations and labels are both maps of strings; only the field specs differ.
    labels(set, pairs, specs, schema)
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::testing::{at, set};
    use super::*;

    #[test]
    fn metadata_and_pod_templates_get_annotations() {
        let mut set = set("
{apiVersion: v1, kind: Service, metadata: {name: s, annotations: {note: old, x: y}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {jobTemplate: {}}}
");
        let pairs = [("note".into(), SmolStr::new("true").into())].into_iter().collect();
        let specs = TransformerConfig::builtin().common_annotations;
        annotations(&mut set, &pairs, &specs, &Schema::kustomize()).expect("annotates");
        assert_eq!(at(&set, 0, "metadata.annotations"), "note: \"true\"\nx: \"y\"");
        assert_eq!(at(&set, 0, "spec"), "");
        for path in ["metadata", "spec.jobTemplate.metadata", "spec.jobTemplate.spec.template.metadata"] {
            assert_eq!(at(&set, 1, &format!("{path}.annotations.note")), "\"true\"", "{path}");
        }
    }
}
