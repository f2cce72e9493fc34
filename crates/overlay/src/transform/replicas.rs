//! The replicas transformer: replica counts by current or former names of workloads.

use serde::Deserialize;
use smol_str::{SmolStr, format_smolstr};

use super::field_spec::{Create, FieldSpecs, set_scalar};
use crate::resource::{ResId, Resource, ResourceSet, SimilarNames};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::{Spanned, Style, Tag, replacement_text};

/// An entry of a kustomization's `replicas`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Replica {
    /// The current or a former name of the workload.
    pub name: Spanned<SmolStr>,
    /// The number of replicas.
    pub count: Spanned<i64>,
}

/// Sets the replica counts in the fields of `specs`.
///
/// # Errors
/// A name matches no resource of a suitable kind, or a field is not a scalar.
pub fn replicas(
    set: &mut ResourceSet,
    counts: &[Replica],
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    let (mut problems, mut known_names) = (Problems::default(), None);
    for replica in counts {
        let is_match =
            |id: &ResId| id.name == *replica.name && specs.as_slice().iter().any(|s| s.selects(&id.gvk));
        // Resources of any kind are examined; `is_match` checks the kind.
        let matching = set.find(Some(&replica.name), None, |resource| resource.ids().any(is_match));
        if matching.is_empty() {
            let known_names = known_names.get_or_insert_with(|| names_with_replicas(specs, set));
            problems.add(no_match_error(replica, specs, known_names));
            continue;
        }
        let text = format_smolstr!("{}", *replica.count);
        let count = Spanned::new(text.as_str(), replica.count.span);
        for i in matching {
            let done = set.update(i, |resource| {
                let create = Create::Scalar(Tag::Int);
                specs.visit(resource, create, &mut |field| set_scalar(field, count, Tag::Int))?;
                resource.sync(schema);
                Ok(())
            });
            // The position is from `find`, so `update` returns a result.
            problems.ok_or_add(done.unwrap_or(Ok(())));
        }
    }
    problems.into_result(())
}

/// Returns the current and former names of the resources with replicas. Setting counts does not change them.
fn names_with_replicas(specs: &FieldSpecs, set: &ResourceSet) -> SimilarNames {
    let has_replicas = |id: &&ResId| specs.as_slice().iter().any(|s| s.selects(&id.gvk));
    set.iter().flat_map(Resource::ids).filter(has_replicas).map(|id| &id.name).collect()
}

fn no_match_error(replica: &Replica, specs: &FieldSpecs, names: &SimilarNames) -> Diagnostic {
    let kinds: Vec<&str> = specs.as_slice().iter().map(|s| s.kind.as_str()).collect();
    let message = format!("no resource with replicas matches `{}`", replica.name);
    let error = Diagnostic::error(Code::NoMatch, message)
        .at(replica.name.span)
        .note(format!("searched kinds: {}", kinds.join(", ")));
    match names.nearest(&replica.name) {
        Some(name) => error
            .help(format!("did you mean `{name}`?"))
            .fix(replica.name.span, replacement_text(Style::Plain, &name)),
        None => error.help("use the name from the base, without prefix and suffix"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::prefix_suffix::name_prefix;
    use super::super::testing::{at, set};
    use super::*;

    const SOME: &str = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: \"7\"}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs}, spec: {replicas: null}}
";

    fn run(counts: &[(&str, i64)]) -> Result<ResourceSet> {
        let mut set = set(SOME);
        let (config, schema) = (TransformerConfig::builtin(), Schema::kustomize());
        name_prefix(&mut set, "p-", &config.name_prefix, &schema)?;
        let counts: Vec<_> = counts
            .iter()
            .map(|&(name, count)| Replica { name: SmolStr::new(name).into(), count: count.into() })
            .collect();
        replicas(&mut set, &counts, &config.replicas, &schema).map(|()| set)
    }

    #[test]
    fn replicas_are_set_by_current_and_former_names() {
        let set = run(&[("web", 3), ("p-rs", 0)]).expect("counts");
        let count = |i| at(&set, i, "spec.replicas");
        // A string remains a string.
        assert_eq!([count(0), count(1), count(3)], ["\"3\"", "3", "0"]);
        assert_eq!(at(&set, 2, "spec"), "");
    }

    #[test]
    fn unknown_names_are_rejected() {
        for name in ["agent", "nobody"] {
            assert_eq!(run(&[(name, 1)]).expect_err("no match").code(), Code::NoMatch, "{name}");
        }
    }
}
