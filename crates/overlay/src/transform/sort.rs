//! The order of resources: kustomize's legacy order, or the order of loading.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use smol_str::SmolStr;

use crate::resource::{Resource, ResourceSet, compare_ids, kind_rank};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The `sortOptions` of a kustomization.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct SortOptions {
    /// The order; required.
    pub order: Option<SortOrder>,
    /// The kinds that come first and last; only for the order `legacy`.
    pub legacy_sort_options: Option<LegacySortOptions>,
}

/// An order of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// By kind, with Namespaces first and webhooks last; then by group, version, namespace and name.
    Legacy,
    /// The order in which resources were loaded.
    Fifo,
}

/// The kinds that come first and last in the order `legacy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LegacySortOptions {
    /// The kinds before all others.
    pub order_first: Vec<SmolStr>,
    /// The kinds after all others.
    pub order_last: Vec<SmolStr>,
}

impl SortOptions {
    /// Returns the order `legacy` with kustomize's list of kinds, which is the default.
    #[must_use]
    pub fn legacy() -> Self {
        Self { order: Some(SortOrder::Legacy), legacy_sort_options: None }
    }

    /// Returns the order `fifo`.
    #[must_use]
    pub fn fifo() -> Self {
        Self { order: Some(SortOrder::Fifo), legacy_sort_options: None }
    }
}

/// Sorts the resources.
///
/// # Errors
/// The options lack `order` or contradict each other, or two resources have the same ID. Ids are checked for any order,
/// because a prefix or patch can make them equal.
pub fn sort(set: &mut ResourceSet, options: &SortOptions) -> Result<()> {
    set.check_ids()?;
    let legacy = options.legacy_sort_options.as_ref();
    let order = options.order.ok_or_else(|| {
        Diagnostic::error(Code::MissingField, "`order` is missing")
            .field("sortOptions")
            .help("set it to `legacy` or `fifo`")
    })?;
    if order == SortOrder::Fifo {
        return legacy.map_or(Ok(()), |_| {
            Err(Diagnostic::error(Code::InvalidValue, "`legacySortOptions` requires `order: legacy`")
                .field("sortOptions")
                .help("set `order: legacy`, or remove `legacySortOptions`"))
        });
    }
    let ranks = legacy.map(ranks);
    let rank = |r: &Resource| match &ranks {
        Some(ranks) => ranks.get(r.id().gvk.kind.as_str()).copied().unwrap_or(0),
        None => kind_rank(&r.id().gvk.kind),
    };
    // Positions are sorted instead of resources, which are large.
    let resources = set.as_slice();
    let mut order: Vec<(i64, usize)> = resources.iter().enumerate().map(|(i, r)| (rank(r), i)).collect();
    let id = |i: usize| resources[i].id();
    order.sort_by(|&(a, i), &(b, j)| a.cmp(&b).then_with(|| compare_ids(id(i), id(j))));
    let order = order.into_iter().map(|(_, i)| i).collect();
    permute(set.resources_mut(), order);
    Ok(())
}

/// Moves the values of a list in place: `order` has the position of the value that comes to each position.
fn permute<T>(list: &mut [T], mut order: Vec<usize>) {
    for first in 0..order.len() {
        // Each swap of a cycle moves one value to its position. A position that is done contains itself.
        let mut at = first;
        loop {
            let next = std::mem::replace(&mut order[at], at);
            if next == first {
                break;
            }
            list.swap(at, next);
            at = next;
        }
    }
}

/// Returns the ranks of kinds: negative for those that come first, positive for those that come last.
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
    fn legacy_order_is_kustomizes() {
        let mut resources = set(MIXED);
        sort(&mut resources, &SortOptions::legacy()).expect("sorts");
        // `-` sorts before `|`; no namespace sorts after all namespaces, and core kinds after those with a
        // group.
        assert_eq!(names(&resources), ["n", "other", "a", "b", "c", "d", "j", "p", "w"]);
    }

    #[test]
    fn legacy_order_with_own_kinds() {
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
    fn fifo_keeps_the_order_and_contradictions_are_rejected() {
        let mut resources = set(MIXED);
        let fifo = SortOptions::fifo();
        sort(&mut resources, &fifo).expect("nothing to do");
        assert_eq!(names(&resources)[..3], ["w", "b", "c"]);
        let both = SortOptions { legacy_sort_options: Some(LegacySortOptions::default()), ..fifo };
        assert_eq!(sort(&mut resources, &both).expect_err("rejected").code(), Code::InvalidValue);
        assert_eq!(
            sort(&mut resources, &SortOptions::default()).expect_err("rejected").code(),
            Code::MissingField
        );
    }

    #[test]
    fn equal_ids_are_rejected() {
        let mut resources = set(MIXED);
        resources.resources_mut()[1].set_name("c");
        resources.resources_mut()[1].set_namespace("default");
        for options in [SortOptions::legacy(), SortOptions::fifo()] {
            let error = sort(&mut resources, &options).expect_err("two services c");
            assert_eq!(error.code(), Code::DuplicateResource);
        }
    }
}
