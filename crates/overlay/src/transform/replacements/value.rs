//! The value that a replacement copies.

use super::args::{DEFAULT_FIELD, Replacement, ReplacementSource};
use super::replaced::ReplacedFields;
use super::{copy, select};
use crate::resource::{Likely, Resource, ResourceSet, holds_data, part_scalars};
use crate::transform::value_path::{check_length, lookup, split_dotted};
use smp_text::diagnostic::{Code, Diagnostic, Excerpt, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, nearest_path};

/// The value that is copied.
pub(super) struct SourceValue {
    pub(super) node: Node,
    /// The resource and the field in it that kustomize copies from anew each time, since the value is
    /// that field itself: a target that changes it changes what the next ones get. None for a part of
    /// a field, or when the replacement says the value.
    live: Option<(usize, Vec<String>)>,
    /// Whether it is read from the data of a Secret.
    of_secret: bool,
}

impl SourceValue {
    /// # Errors
    /// No source or target, a source that is not exactly one field.
    pub(super) fn of(
        replacement: &Replacement,
        set: &ResourceSet,
        likely: &Likely<'_>,
        replaced: &mut ReplacedFields,
    ) -> Result<Self> {
        if replacement.targets.is_empty() {
            return Err(Diagnostic::error(Code::MissingField, "this replacement has no targets")
                .help("say under `targets` which fields get the value"));
        }
        match (&replacement.source, &replacement.source_value) {
            (None, None) => Err(Diagnostic::error(Code::MissingField, "this replacement has no source")
                .help("add `source` or `sourceValue`")),
            (Some(_), Some(_)) => {
                let message = "`source` and `sourceValue` cannot both be given";
                Err(Diagnostic::error(Code::InvalidValue, message).help("remove one of the two"))
            }
            (None, Some(value)) => Ok(Self {
                node: Node::undecided(value.as_str()).with_span(value.span),
                live: None,
                of_secret: false,
            }),
            (Some(source), None) => Self::of_field(source, set, likely, replaced),
        }
    }

    fn of_field(
        source: &ReplacementSource,
        set: &ResourceSet,
        likely: &Likely<'_>,
        replaced: &mut ReplacedFields,
    ) -> Result<Self> {
        let i = select::source(source, set, likely)?;
        let resource = &set.as_slice()[i];
        let path = if source.field_path.is_empty() { DEFAULT_FIELD } else { &source.field_path };
        let placed = |error: Diagnostic| error.at(source.field_path.span).resource(resource.id()).field(path);
        let path = split_dotted(path);
        check_length(&path).map_err(placed)?;
        let value = lookup(resource.node(), &path).map_err(placed)?;
        let Some(value) = value.filter(|value| !value.is_null() && !value.is_empty_collection()) else {
            let error = Diagnostic::error(Code::NoMatch, "the source has no value here");
            let root = resource.node();
            return Err(match nearest_path(root, &path) {
                Some(meant) => {
                    let place = lookup(root, &meant).ok().flatten().map(Node::span).unwrap_or_default();
                    placed(error)
                        .label_with(place, "perhaps this one is meant", Excerpt::Hidden)
                        .help(format!("did you mean `{}`?", meant.join(".")))
                }
                None => placed(error).label(root.span().at_start(), "the source"),
            });
        };
        replaced.take(i);
        let node = copy::part_of(value, &source.options).map_err(placed)?;
        let of_secret = holds_data(resource.node(), &path);
        Ok(Self { node, of_secret, live: source.options.delimiter.is_empty().then_some((i, path)) })
    }

    /// Returns whether it is a value of a Secret, or was copied out of one.
    pub(super) fn is_secret(&self, sources: &SourceMap) -> bool {
        self.of_secret || self.node.nodes().any(|node| sources.is_secret(node.span()))
    }

    /// The path of the value, when it is a field of the resource at a position.
    pub(super) fn live_in(&self, position: usize) -> Option<&[String]> {
        self.live.as_ref().filter(|(i, _)| *i == position).map(|(_, path)| path.as_slice())
    }

    /// Follows a change of the resource at a position.
    pub(super) fn follow(&mut self, position: usize, resource: &Resource) {
        if let Some(path) = self.live_in(position)
            && let Ok(Some(field)) = lookup(resource.node(), path)
        {
            let mut node = field.clone();
            part_scalars(&mut node);
            self.node = node;
        }
    }
}
