//! Replica counts, by the names that workloads have or had.

use serde::Deserialize;
use smol_str::{SmolStr, format_smolstr};

use super::field_spec::{Create, FieldSpecs, set_scalar};
use crate::resource::{ResId, Resource, ResourceSet, SimilarNames};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::{Spanned, Style, Tag, in_place_of};

/// An entry of a kustomization's `replicas`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Replica {
    /// The name of the workload, now or before.
    pub name: Spanned<SmolStr>,
    /// The number of replicas.
    pub count: Spanned<i64>,
}

/// Sets the replica counts in the fields that `specs` names.
///
/// # Errors
/// A name that no resource of a fitting kind has; a field that is no scalar.
pub fn replicas(
    set: &mut ResourceSet,
    counts: &[Replica],
    specs: &FieldSpecs,
    schema: &Schema,
) -> Result<()> {
    let (mut problems, mut names) = (Problems::default(), None);
    for replica in counts {
        let is_meant =
            |id: &ResId| id.name == *replica.name && specs.as_slice().iter().any(|s| s.selects(&id.gvk));
        let named = set.find(Some(&replica.name), None, |resource| resource.ids().any(is_meant));
        if named.is_empty() {
            let names = names.get_or_insert_with(|| names_with_replicas(specs, set));
            problems.add(unknown(replica, specs, names));
            continue;
        }
        let text = format_smolstr!("{}", *replica.count);
        let count = Spanned::new(text.as_str(), replica.count.span);
        for i in named {
            let done = set.update(i, |resource| {
                let create = Create::Scalar(Tag::Int);
                specs.visit(resource, create, &mut |field| set_scalar(field, count, Tag::Int))?;
                resource.sync(schema);
                Ok(())
            });
            problems.value_of(done.unwrap_or(Ok(())));
        }
    }
    problems.or(())
}

/// What the resources that can have replicas are and were called. Setting counts changes no names.
fn names_with_replicas(specs: &FieldSpecs, set: &ResourceSet) -> SimilarNames {
    let has_replicas = |id: &&ResId| specs.as_slice().iter().any(|s| s.selects(&id.gvk));
    set.iter().flat_map(Resource::ids).filter(has_replicas).map(|id| &id.name).collect()
}

fn unknown(replica: &Replica, specs: &FieldSpecs, names: &SimilarNames) -> Diagnostic {
    let kinds: Vec<&str> = specs.as_slice().iter().map(|s| s.kind.as_str()).collect();
    let message = format!("no resource with replicas is named `{}`", replica.name);
    let error = Diagnostic::error(Code::NoMatch, message)
        .at(replica.name.span)
        .note(format!("looked for {}", kinds.join(", ")));
    match names.nearest(&replica.name) {
        Some(name) => error
            .help(format!("did you mean `{name}`?"))
            .fix(replica.name.span, in_place_of(Style::Plain, &name)),
        None => error.help("use the name as the base writes it, without prefix and suffix"),
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
    fn by_former_and_present_names() {
        let set = run(&[("web", 3), ("p-rs", 0)]).expect("counts");
        let count = |i| at(&set, i, "spec.replicas");
        // What was a string stays one.
        assert_eq!([count(0), count(1), count(3)], ["\"3\"", "3", "0"]);
        assert_eq!(at(&set, 2, "spec"), "");
    }

    #[test]
    fn names_that_are_nobodys() {
        for name in ["agent", "nobody"] {
            assert_eq!(run(&[(name, 1)]).expect_err("no match").code(), Code::NoMatch, "{name}");
        }
    }
}
