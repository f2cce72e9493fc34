//! The order of resources: kustomize's fixed order of kinds, or the order in which they came.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use smol_str::SmolStr;

use crate::resource::{Resource, ResourceSet, compare_ids, kind_rank};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// How resources are ordered: `sortOptions` of a kustomization.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct SortOptions {
    /// The order; it must be given.
    pub order: Option<SortOrder>,
    /// The kinds that come first and last; only with the order `legacy`.
    pub legacy_sort_options: Option<LegacySortOptions>,
}

/// An order of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// By kind, namespaces first and webhooks last; then by group, version, namespace and name.
    Legacy,
    /// The order in which they came.
    Fifo,
}

/// Kinds that come first and last in the order `legacy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LegacySortOptions {
    /// Kinds before all others.
    pub order_first: Vec<SmolStr>,
    /// Kinds behind all others.
    pub order_last: Vec<SmolStr>,
}

impl SortOptions {
    /// The order `legacy` with kustomize's list of kinds, which holds when nothing is said.
    #[must_use]
    pub fn legacy() -> Self {
        Self { order: Some(SortOrder::Legacy), legacy_sort_options: None }
    }

    /// The order `fifo`.
    #[must_use]
    pub fn fifo() -> Self {
        Self { order: Some(SortOrder::Fifo), legacy_sort_options: None }
    }
}

/// Puts the resources in order.
///
/// # Errors
/// Options that contradict each other; two resources of the same id, whatever the order, since a prefix or a patch can
/// give one the name of another.
pub fn sort(set: &mut ResourceSet, options: &SortOptions) -> Result<()> {
    set.check_ids()?;
    let named = options.legacy_sort_options.as_ref();
    let order = options.order.ok_or_else(|| {
        Diagnostic::error(Code::MissingField, "`order` is missing")
            .field("sortOptions")
            .help("set it to `legacy` or `fifo`")
    })?;
    if order == SortOrder::Fifo {
        return named.map_or(Ok(()), |_| {
            Err(Diagnostic::error(Code::InvalidValue, "`legacySortOptions` needs the order `legacy`")
                .field("sortOptions")
                .help("set `order: legacy`, or remove `legacySortOptions`"))
        });
    }
    let ranks = named.map(ranks);
    let rank = |r: &Resource| match &ranks {
        Some(ranks) => ranks.get(r.id().gvk.kind.as_str()).copied().unwrap_or(0),
        None => kind_rank(&r.id().gvk.kind),
    };
    // Positions are sorted, since resources are large.
    let resources = set.as_slice();
    let mut order: Vec<(i64, usize)> = resources.iter().enumerate().map(|(i, r)| (rank(r), i)).collect();
    let id = |i: usize| resources[i].id();
    order.sort_by(|&(a, i), &(b, j)| a.cmp(&b).then_with(|| compare_ids(id(i), id(j))));
    let mut resources: Vec<_> = std::mem::take(set.resources_mut()).into_iter().map(Some).collect();
    let sorted = order.into_iter().filter_map(|(_, i)| resources.get_mut(i).and_then(Option::take));
    set.resources_mut().extend(sorted);
    Ok(())
}

/// Negative for kinds that come first, positive for those that come last.
fn ranks(options: &LegacySortOptions) -> FxHashMap<&str, i64> {
    let number = |i: usize| i64::try_from(i).unwrap_or(i64::MAX);
    let first = options.order_first.iter().enumerate();
    let first = first.map(|(i, kind)| (kind.as_str(), number(i) - number(options.order_first.len())));
    let last = options.order_last.iter().enumerate().map(|(i, kind)| (kind.as_str(), number(i) + 1));
    first.chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{names, set};
    use super::*;

    const MIXED: &str = "
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}}
---
{apiVersion: v1, kind: Service, metadata: {name: b, namespace: z}}
---
{apiVersion: v1, kind: Service, metadata: {name: c}}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: z-y}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}}
---
{apiVersion: x.io/v1, kind: Namespace, metadata: {name: other}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: n}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}
";

    #[test]
    fn the_fixed_order() {
        let mut resources = set(MIXED);
        sort(&mut resources, &SortOptions::legacy()).expect("sorts");
        // `-` sorts before `|`, and no namespace behind all namespaces; core kinds behind groups.
        assert_eq!(names(&resources), ["n", "other", "a", "b", "c", "d", "j", "p", "w"]);
    }

    #[test]
    fn an_order_of_ones_own() {
        let mut resources = set(MIXED);
        let legacy = LegacySortOptions {
            order_first: vec!["Pod".into(), "Job".into()],
            order_last: vec!["Service".into(), "Namespace".into()],
        };
        let options = SortOptions { legacy_sort_options: Some(legacy), ..SortOptions::legacy() };
        sort(&mut resources, &options).expect("sorts");
        assert_eq!(names(&resources), ["p", "j", "w", "d", "a", "b", "c", "n", "other"]);
    }

    #[test]
    fn fifo_and_contradictions() {
        let mut resources = set(MIXED);
        let fifo = SortOptions::fifo();
        sort(&mut resources, &fifo).expect("nothing to do");
        assert_eq!(names(&resources)[..3], ["w", "b", "c"]);
        let both = SortOptions { legacy_sort_options: Some(LegacySortOptions::default()), ..fifo };
        assert_eq!(sort(&mut resources, &both).expect_err("refused").code(), Code::InvalidValue);
        assert_eq!(
            sort(&mut resources, &SortOptions::default()).expect_err("refused").code(),
            Code::MissingField
        );
    }

    #[test]
    fn equal_ids_are_noticed() {
        let mut resources = set(MIXED);
        resources.resources_mut()[1].set_name("c");
        resources.resources_mut()[1].set_namespace("default");
        for options in [SortOptions::legacy(), SortOptions::fifo()] {
            let error = sort(&mut resources, &options).expect_err("two services c");
            assert_eq!(error.code(), Code::DuplicateResource);
        }
    }
}
