//! How values are decoded.

/// What to do about fields that a struct does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownFields {
    /// They are errors, with the name that was probably meant.
    #[default]
    Deny,
    /// They are passed over.
    Ignore,
}

/// Which scalars are strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScalarTyping {
    /// YAML 1.1: `yes`, `on` and `y` are booleans, dates are strings.
    #[default]
    Yaml11,
    /// As in resources: `yes` is a string, dates become RFC 3339.
    Resource,
}

/// How to decode. The default is how kustomization files are read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// What to do about fields that a struct does not have.
    pub unknown_fields: UnknownFields,
    /// Whether numbers and booleans may stand where strings are wanted.
    pub scalars_as_strings: bool,
    /// Which scalars are strings.
    pub scalars: ScalarTyping,
}

impl DecodeOptions {
    /// How kustomize reads the configuration of generators and transformers, which it loads as resources.
    #[must_use]
    pub fn plugin() -> Self {
        Self { scalars: ScalarTyping::Resource, ..Self::lenient() }
    }

    /// How kustomize reads files with replacements and targets, which it decodes as they are.
    #[must_use]
    pub fn lenient() -> Self {
        Self { unknown_fields: UnknownFields::Ignore, scalars_as_strings: true, ..Self::default() }
    }

    /// How kustomize reads the files that `configurations` names.
    #[must_use]
    pub fn transformer_config() -> Self {
        Self { scalars_as_strings: true, ..Self::default() }
    }
}
