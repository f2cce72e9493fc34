//! Which resources are the source or the target of a replacement.

use super::args::{ReplacementSource, ReplacementTarget};
use crate::resource::{Likely, Resource, ResourceSet, Selector};
use crate::transform::config::SelectorArgs;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Spanned;

/// The position of the one resource that is a source.
///
/// # Errors
/// There is none, or there are several.
pub(super) fn source(source: &ReplacementSource, set: &ResourceSet, likely: &Likely<'_>) -> Result<usize> {
    let [name, kind] = [&source.name, &source.kind].map(|text| (!text.is_empty()).then_some(text.as_str()));
    let selected = set.find(name, kind, |resource| is_source(source, resource));
    match selected.as_slice() {
        [one] => Ok(*one),
        [] => {
            let error = Diagnostic::error(Code::NoMatch, format!("no resource is the source {source}"));
            let id = source.id();
            let likely = likely.suggestion(set, &id);
            Err(error.help(likely.unwrap_or_else(|| {
                "all fields must be equal to those of one resource; expressions cannot be used here".into()
            })))
        }
        [first, second, ..] => {
            let message = format!("several resources are the source {source}");
            let [first, second] = [*first, *second].map(|i| set.as_slice()[i].id());
            Err(Diagnostic::error(Code::Ambiguous, message)
                .note(format!("one is {first}, another {second}"))
                .help("add `name`, `namespace` or `group`"))
        }
    }
}

fn is_source(source: &ReplacementSource, resource: &Resource) -> bool {
    let fits = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
    let gvk = &resource.id().gvk;
    fits(&source.group, &gvk.group)
        && fits(&source.version, &gvk.version)
        && any_id(resource, |kind, name, namespace| {
            fits(&source.kind, kind)
                && fits(&source.name, name)
                && (source.namespace.is_empty() || effective(&source.namespace) == effective(namespace))
        })
}

/// A namespace as it counts in comparisons here.
fn effective(namespace: &str) -> &str {
    if namespace.is_empty() { "default" } else { namespace }
}

/// Whether kind, name and namespace of the current id, or of a former one, fit.
///
/// As in kustomize the current namespace is taken as written, and former ones in full: `default`
/// for none.
fn any_id(resource: &Resource, fits: impl Fn(&str, &str, &str) -> bool) -> bool {
    let id = resource.id();
    fits(&id.gvk.kind, &id.name, &id.namespace)
        || resource.previous.iter().any(|id| fits(&id.gvk.kind, &id.name, id.effective_namespace()))
}

/// What selects the resources of a target.
pub(super) struct TargetSelector<'t> {
    select: Selector,
    reject: Vec<(&'t SelectorArgs, Selector)>,
}

impl<'t> TargetSelector<'t> {
    /// # Errors
    /// Nothing to select by, malformed expressions and label selectors.
    pub(super) fn new(target: &'t Spanned<ReplacementTarget>) -> Result<Self> {
        let Some(select) = &target.select else {
            return Err(Diagnostic::error(
                Code::MissingField,
                "this target does not say which resources are meant",
            )
            .at(target.span)
            .help("add `select`"));
        };
        let reject = target.reject.iter().map(|args| Ok((args, args.compile()?))).collect::<Result<_>>()?;
        Ok(Self { select: select.compile()?, reject })
    }

    /// The positions of the resources that are selected and not rejected, ascending.
    pub(super) fn positions(&self, set: &ResourceSet) -> Vec<usize> {
        set.find(self.select.name.exact(), self.select.kind.exact(), |resource| self.selects(resource))
    }

    fn selects(&self, resource: &Resource) -> bool {
        fits_id(&self.select, resource)
            && fits_labels(&self.select, resource)
            && !self.reject.iter().any(|(args, selector)| {
                // Labels alone reject as well, whatever else is said beside them.
                let by_labels = !selector.labels.is_any() || !selector.annotations.is_any();
                (by_labels && fits_labels(selector, resource))
                    || (!args.names_nothing() && fits_id(selector, resource))
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
