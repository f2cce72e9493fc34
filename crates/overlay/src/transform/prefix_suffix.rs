//! The name prefix and suffix transformers.

use smol_str::{SmolStr, format_smolstr};

use super::field_spec::{Create, FieldSpecs, matches_gvk, set_scalar};
use crate::resource::{Resource, ResourceSet};
use smp_merge::schema::{Gvk, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::{Node, Spanned, Tag};

/// The field whose change creates a former ID.
const NAME: &str = "metadata/name";

/// Adds a prefix to names. The old names are stored as former names, so that references are updated.
///
/// # Errors
/// A field is not a scalar.
pub fn name_prefix<'p>(
    set: &mut ResourceSet,
    prefix: impl Into<Spanned<&'p str>>,
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    add(set, prefix.into(), specs, schema, &PREFIX)
}

/// Appends a suffix to names, like [`name_prefix`].
///
/// # Errors
/// A field is not a scalar.
pub fn name_suffix<'s>(
    set: &mut ResourceSet,
    suffix: impl Into<Spanned<&'s str>>,
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    add(set, suffix.into(), specs, schema, &SUFFIX)
}

/// The operations in which prefixes and suffixes differ.
struct Affix {
    history: fn(&mut Resource) -> &mut Vec<SmolStr>,
    join: fn(&str, &str) -> SmolStr,
}

const PREFIX: Affix = Affix {
    history: |resource| &mut resource.prefixes,
    join: |affix, name| format_smolstr!("{affix}{name}"),
};

const SUFFIX: Affix = Affix {
    history: |resource| &mut resource.suffixes,
    join: |affix, name| format_smolstr!("{name}{affix}"),
};

/// Returns true for kinds whose names have a meaning outside of references and are thus kept.
fn keeps_its_name(original: &Gvk) -> bool {
    matches_gvk(["", "", "CustomResourceDefinition"], original)
        || matches_gvk(["apiregistration.k8s.io", "", "APIService"], original)
        || matches_gvk(["", "", "Namespace"], original)
}

fn add(
    set: &mut ResourceSet,
    affix: Spanned<&str>,
    specs: &FieldSpecs,
    schema: &Schema,
    operations: &Affix,
) -> Result<()> {
    if affix.is_empty() {
        return Ok(());
    }
    set.count_copies(affix.len(), set.len())?;
    set.change_each(|resource| {
        let original = resource.original_id().gvk.clone();
        if keeps_its_name(&original) {
            return Ok(());
        }
        // Specs are applied one by one, since each spec for the name creates a former ID.
        for (i, spec) in specs.as_slice().iter().enumerate().filter(|(_, s)| s.selects(&original)) {
            if spec.path == NAME {
                // kustomize keeps affixes in a comma-separated annotation, so a comma splits the affix.
                (operations.history)(resource).extend(affix.split(',').map(SmolStr::new));
                resource.store_previous_id();
            }
            let mut set = |field: &mut Node| {
                let name = field.scalar_text().cloned().unwrap_or_default();
                let joined = (operations.join)(affix.value, &name);
                set_scalar(field, Spanned::new(joined.as_str(), affix.span), Tag::Undecided)
            };
            specs.visit_one(i, resource, Create::Scalar(Tag::Str), &mut set)?;
            resource.sync(schema);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::field_spec::FieldSpec;
    use super::super::testing::{at, names, set};
    use super::*;

    const SOME: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: \"1\"}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: n}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: s}}
---
{apiVersion: x.io/v1, kind: APIService, metadata: {name: t}}
";

    #[test]
    fn names_change_and_former_names_are_kept() {
        let mut set = set(SOME);
        let (config, schema) = (TransformerConfig::builtin(), Schema::kustomize());
        name_prefix(&mut set, "p-", &config.name_prefix, &schema).expect("prefix");
        name_prefix(&mut set, "q-", &config.name_prefix, &schema).expect("prefix");
        name_suffix(&mut set, "-s", &config.name_suffix, &schema).expect("suffix");
        assert_eq!(names(&set), ["q-p-a-s", "q-p-1-s", "n", "c", "s", "q-p-t-s"]);
        let first = &set.as_slice()[0];
        assert_eq!(
            (first.prefixes.as_slice(), first.suffixes.as_slice()),
            (&["p-".into(), "q-".into()][..], &["-s".into()][..])
        );
        let former: Vec<_> = first.previous.iter().map(|id| id.name.as_str()).collect();
        assert_eq!(former, ["a", "p-a", "q-p-a"]);
        assert!(set.as_slice()[2].previous.is_empty());
    }

    #[test]
    fn quoted_names_stay_strings() {
        let mut set = set("
{apiVersion: v1, kind: ConfigMap, metadata: {name: \"2\"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: 3}}
");
        name_prefix(&mut set, "1", &TransformerConfig::builtin().name_prefix, &Schema::kustomize())
            .expect("prefix");
        assert_eq!(
            (at(&set, 0, "metadata.name").as_str(), at(&set, 1, "metadata.name").as_str()),
            ("\"12\"", "13")
        );
    }

    #[test]
    fn other_fields_create_no_former_id() {
        let mut set = set("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}");
        let specs = FieldSpecs::from(vec![
            FieldSpec::for_all_kinds("data/x"),
            FieldSpec::created_for_all_kinds("data/z"),
        ]);
        name_suffix(&mut set, "-s", &specs, &Schema::kustomize()).expect("suffix");
        assert_eq!(at(&set, 0, "data"), "x: y-s\nz: -s");
        assert!(set.as_slice()[0].previous.is_empty() && set.as_slice()[0].suffixes.is_empty());
    }
}
