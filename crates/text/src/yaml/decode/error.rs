//! Errors of decoding, with their field paths.

use std::fmt;

use serde::de;

use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::suggest::{did_you_mean, list_expected};

/// A decoding error that can be passed through serde.
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

    /// Omits the value, which may be secret. Its location is known.
    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let message = format!("expected {expected}, found {}", type_name(found));
        Self(Diagnostic::error(Code::WrongType, message))
    }

    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self(Diagnostic::error(Code::InvalidValue, format!("expected {expected}")))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let diagnostic = Diagnostic::error(Code::InvalidValue, format!("`{variant}` is not a valid value"));
        Self(diagnostic.help(did_you_mean(variant, expected).unwrap_or_else(|| list_expected(expected))))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(Diagnostic::error(Code::MissingField, format!("`{field}` is missing")))
    }
}

fn type_name(found: de::Unexpected<'_>) -> &'static str {
    match found {
        de::Unexpected::Bool(_) => "a boolean",
        de::Unexpected::Unsigned(_) | de::Unexpected::Signed(_) | de::Unexpected::Float(_) => "a number",
        de::Unexpected::Str(_) | de::Unexpected::Char(_) => "a string",
        de::Unexpected::Unit | de::Unexpected::Option => "nothing",
        de::Unexpected::Seq => "a list",
        de::Unexpected::Map => "a map",
        _ => "something else",
    }
}

/// The path to a value, as a linked list from the value to the root.
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
