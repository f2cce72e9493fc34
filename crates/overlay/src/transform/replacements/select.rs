//! Selects the source and target resources of a replacement.

use super::args::{ReplacementSource, ReplacementTarget};
use crate::resource::{Resource, ResourceSet, Selector, Suggestions};
use crate::transform::config::SelectorArgs;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Spanned;

/// Returns the position of the source resource.
///
/// # Errors
/// No resource matches, or several do.
pub(super) fn find_source(
    source: &ReplacementSource,
    set: &ResourceSet,
    likely: &Suggestions<'_>,
) -> Result<usize> {
    let [name, kind] = [&source.name, &source.kind].map(|text| (!text.is_empty()).then_some(text.as_str()));
    let selected = set.find(name, kind, |resource| is_source(source, resource));
    match selected.as_slice() {
        [one] => Ok(*one),
        [] => {
            let error =
                Diagnostic::error(Code::NoMatch, format!("replacement source matches no resource: {source}"));
            let id = source.id();
            let likely = likely.suggestion(set, &id);
            Err(error.help(likely.unwrap_or_else(|| {
                "all fields must equal those of a resource; regular expressions are not supported in `source`".into()
            })))
        }
        [first, second, ..] => {
            let message = format!("replacement source matches several resources: {source}");
            let [first, second] = [*first, *second].map(|i| set.as_slice()[i].id());
            Err(Diagnostic::error(Code::Ambiguous, message)
                .note(format!("matches {first} and {second}"))
                .help("add `name`, `namespace` or `group` to select one of them"))
        }
    }
}

fn is_source(source: &ReplacementSource, resource: &Resource) -> bool {
    let fits = |expected: &str, actual: &str| expected.is_empty() || expected == actual;
    let gvk = &resource.id().gvk;
    fits(&source.group, &gvk.group)
        && fits(&source.version, &gvk.version)
        && any_id(resource, |kind, name, namespace| {
            fits(&source.kind, kind)
                && fits(&source.name, name)
                && (source.namespace.is_empty() || effective(&source.namespace) == effective(namespace))
        })
}

/// Returns the effective namespace.
fn effective(namespace: &str) -> &str {
    if namespace.is_empty() { "default" } else { namespace }
}

/// Returns true if `fits` returns true for kind, name and namespace of the current ID or of a former one.
///
/// As in kustomize, the current namespace is compared as written, but a former one as the effective namespace:
/// `default` if there is none.
fn any_id(resource: &Resource, fits: impl Fn(&str, &str, &str) -> bool) -> bool {
    let id = resource.id();
    fits(&id.gvk.kind, &id.name, &id.namespace)
        || resource.previous.iter().any(|id| fits(&id.gvk.kind, &id.name, id.effective_namespace()))
}

/// The compiled selectors of a target.
pub(super) struct TargetSelector<'t> {
    select: Selector,
    reject: Vec<(&'t SelectorArgs, Selector)>,
}

impl<'t> TargetSelector<'t> {
    /// Compiles the selectors of a target.
    ///
    /// # Errors
    /// `select` is missing, or a regular expression or label selector is malformed.
    pub(super) fn new(target: &'t Spanned<ReplacementTarget>) -> Result<Self> {
        let Some(select) = &target.select else {
            return Err(Diagnostic::error(Code::MissingField, "the replacement target has no `select`")
                .at(target.span)
                .help("add `select` with the kind or name of the resources"));
        };
        let reject = target.reject.iter().map(|args| Ok((args, args.compile()?))).collect::<Result<_>>()?;
        Ok(Self { select: select.compile()?, reject })
    }

    /// Returns the ascending positions of the resources that are selected and not rejected.
    pub(super) fn positions(&self, set: &ResourceSet) -> Vec<usize> {
        set.find(self.select.name.exact(), self.select.kind.exact(), |resource| self.selects(resource))
    }

    fn selects(&self, resource: &Resource) -> bool {
        fits_id(&self.select, resource)
            && fits_labels(&self.select, resource)
            && !self.reject.iter().any(|(args, selector)| {
                // Matching labels and annotations alone reject a resource, even if the other fields of the selector do
                // not match.
                let by_labels = !selector.labels.is_any() || !selector.annotations.is_any();
                (by_labels && fits_labels(selector, resource))
                    || (!args.has_empty_id() && fits_id(selector, resource))
            })
    }
}

fn fits_id(selector: &Selector, resource: &Resource) -> bool {
    let gvk = &resource.id().gvk;
    selector.group.matches(&gvk.group)
        && selector.version.matches(&gvk.version)
        && any_id(resource, |kind, name, namespace| {
            selector.kind.matches(kind)
                && selector.name.matches(name)
                && selector.namespace.matches(namespace)
        })
}

fn fits_labels(selector: &Selector, resource: &Resource) -> bool {
    let label = |key: &str| resource.labels().find(|(k, _)| *k == key).map(|(_, v)| v);
    selector.annotations.matches(|key| resource.annotation(key)) && selector.labels.matches(label)
}
