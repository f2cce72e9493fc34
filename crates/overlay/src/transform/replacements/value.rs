//! The value that a replacement copies.

use super::args::{DEFAULT_FIELD, Replacement, ReplacementSource};
use super::written_fields::WrittenFields;
use super::{copy, select};
use crate::resource::{Resource, ResourceSet, Suggestions, is_secret_data_path, unlink_scalars};
use crate::transform::value_path::{check_length, lookup, split_dotted};
use smp_text::diagnostic::{Code, Diagnostic, Excerpt, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, nearest_path};

/// The value that a replacement copies.
pub(super) struct SourceValue {
    pub(super) node: Node,
    /// The resource and the path of the source field. `None` for a part of a field and for `sourceValue`.
    ///
    /// kustomize reads the source field again for each target, so that a target that changes the source
    /// changes the value for later targets.
    live: Option<(usize, Vec<String>)>,
    /// True if the value is read from the data of a Secret.
    is_in_secret: bool,
}

impl SourceValue {
    /// Finds the value of a replacement.
    ///
    /// # Errors
    /// The source or targets are missing, or the source does not match exactly one field.
    pub(super) fn find(
        replacement: &Replacement,
        set: &ResourceSet,
        likely: &Suggestions<'_>,
        replaced: &mut WrittenFields,
    ) -> Result<Self> {
        if replacement.targets.is_empty() {
            return Err(Diagnostic::error(Code::MissingField, "the replacement has no targets")
                .help("add the fields that get the value under `targets`"));
        }
        match (&replacement.source, &replacement.source_value) {
            (None, None) => Err(Diagnostic::error(Code::MissingField, "the replacement has no source")
                .help("add `source` or `sourceValue`")),
            (Some(_), Some(_)) => {
                let message = "`source` and `sourceValue` are mutually exclusive";
                Err(Diagnostic::error(Code::InvalidValue, message).help("remove one of them"))
            }
            (None, Some(value)) => Ok(Self {
                node: Node::undecided(value.as_str()).with_span(value.span),
                live: None,
                is_in_secret: false,
            }),
            (Some(source), None) => Self::from_field(source, set, likely, replaced),
        }
    }

    fn from_field(
        source: &ReplacementSource,
        set: &ResourceSet,
        likely: &Suggestions<'_>,
        replaced: &mut WrittenFields,
    ) -> Result<Self> {
        let i = select::find_source(source, set, likely)?;
        let resource = &set.as_slice()[i];
        let path = if source.field_path.is_empty() { DEFAULT_FIELD } else { &source.field_path };
        let with_location =
            |error: Diagnostic| error.at(source.field_path.span).resource(resource.id()).field(path);
        let path = split_dotted(path);
        check_length(&path).map_err(with_location)?;
        let found = lookup(resource.node(), &path).map_err(with_location)?;
        let Some(value) = found.filter(|value| !value.is_null() && !value.is_empty_collection()) else {
            let is = if found.is_some() { "is empty" } else { "does not exist" };
            let message = format!("the source field `{}` {is}", path.join("."));
            let error = Diagnostic::error(Code::NoMatch, message);
            let root = resource.node();
            return Err(match nearest_path(root, &path) {
                Some(similar) => {
                    let location = lookup(root, &similar).ok().flatten().map(Node::span).unwrap_or_default();
                    let is_secret = is_secret_data_path(root, &similar);
                    let excerpt = if is_secret { Excerpt::Hidden } else { Excerpt::Shown };
                    with_location(error)
                        .label_with(location, "similar field", excerpt)
                        .help(format!("did you mean `{}`?", similar.join(".")))
                }
                None => with_location(error).label(root.span().at_start(), "source resource"),
            });
        };
        replaced.record_source(i);
        let node = copy::source_part(value, &source.options).map_err(with_location)?;
        let is_in_secret = is_secret_data_path(resource.node(), &path);
        Ok(Self { node, is_in_secret, live: source.options.delimiter.is_empty().then_some((i, path)) })
    }

    /// Returns true if the value is from a Secret or a copy of a Secret's value.
    pub(super) fn is_secret(&self, sources: &SourceMap) -> bool {
        self.is_in_secret || self.node.nodes().any(|node| sources.is_secret(node.span()))
    }

    /// Returns the path of the source field if it is in the resource at a position.
    pub(super) fn source_path_in(&self, position: usize) -> Option<&[String]> {
        self.live.as_ref().filter(|(i, _)| *i == position).map(|(_, path)| path.as_slice())
    }

    /// Reads the source field again after a change of the resource at a position.
    pub(super) fn refresh(&mut self, position: usize, resource: &Resource) {
        if let Some(path) = self.source_path_in(position)
            && let Ok(Some(field)) = lookup(resource.node(), path)
        {
            let mut node = field.clone();
            unlink_scalars(&mut node);
            self.node = node;
        }
    }
}
