//! Options of decoding.

/// Handling of fields that a struct does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownFields {
    /// Unknown fields are errors, with the name that was probably meant.
    #[default]
    Deny,
    /// Unknown fields are ignored.
    Ignore,
}

/// The rules by which scalars are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScalarTyping {
    /// YAML 1.1: `yes`, `on` and `y` are booleans, dates are strings.
    #[default]
    Yaml11,
    /// The rules for resources: `yes` is a string, dates become RFC 3339.
    Resource,
}

/// Options of decoding. The default matches how kustomization files are read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Handling of fields that a struct does not have.
    pub unknown_fields: UnknownFields,
    /// Accept numbers and booleans where strings are expected.
    pub scalars_as_strings: bool,
    /// The rules by which scalars are typed.
    pub scalars: ScalarTyping,
}

impl DecodeOptions {
    /// Options for the configuration of generators and transformers, which kustomize loads as resources.
    #[must_use]
    pub fn plugin() -> Self {
        Self { scalars: ScalarTyping::Resource, ..Self::lenient() }
    }

    /// Options for files that `replacements` or a ValueAddTransformer refer to, which kustomize decodes directly.
    #[must_use]
    pub fn lenient() -> Self {
        Self { unknown_fields: UnknownFields::Ignore, scalars_as_strings: true, ..Self::default() }
    }

    /// Options for the files listed in `configurations`.
    #[must_use]
    pub fn transformer_config() -> Self {
        Self { scalars_as_strings: true, ..Self::default() }
    }
}
