//! What goes wrong while values are decoded, and where.

use std::fmt;

use serde::de;

use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::suggest::{one_of, suggestion};

/// What went wrong, on its way through serde.
#[derive(Debug)]
pub(super) struct DecodeError(pub Diagnostic);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Diagnostic::error(Code::InvalidValue, message.to_string()))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let diagnostic = Diagnostic::error(Code::InvalidValue, format!("`{variant}` is not possible here"));
        Self(diagnostic.help(suggestion(variant, expected).unwrap_or_else(|| one_of(expected))))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(Diagnostic::error(Code::MissingField, format!("`{field}` is missing")))
    }
}

/// Where a value stands, from the inside out.
#[derive(Clone, Copy)]
pub(super) struct DecodePath<'p> {
    pub parent: Option<&'p DecodePath<'p>>,
    pub step: DecodeStep<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum DecodeStep<'p> {
    Field(&'p str),
    Index(usize),
}

impl fmt::Display for DecodePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            DecodeStep::Index(i) => write!(f, "[{i}]"),
            DecodeStep::Field(name) if name.contains(['.', '/', '[']) => write!(f, "[{name}]"),
            DecodeStep::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            DecodeStep::Field(name) => f.write_str(name),
        }
    }
}
