//! Options of decoding.

/// The handling of fields that the struct does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownFields {
    /// Unknown fields are errors. The message contains the name that was probably intended.
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
    /// The rules for resources: `yes` is a string, dates become RFC 3339 strings.
    Resource,
}

/// Options of decoding. By default, kustomization files are decoded.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// The handling of fields that the struct does not have.
    pub unknown_fields: UnknownFields,
    /// True to accept numbers and booleans as strings.
    pub scalars_as_strings: bool,
    /// The rules by which scalars are typed.
    pub scalars: ScalarTyping,
}

impl DecodeOptions {
    /// Returns the options for the configuration of generators and transformers, which kustomize loads as resources.
    #[must_use]
    pub fn plugin() -> Self {
        Self { scalars: ScalarTyping::Resource, ..Self::lenient() }
    }

    /// Returns the options for files to which `replacements` or a ValueAddTransformer refer. kustomize decodes these
    /// files directly.
    #[must_use]
    pub fn lenient() -> Self {
        Self { unknown_fields: UnknownFields::Ignore, scalars_as_strings: true, ..Self::default() }
    }

    /// Returns the options for the files listed in `configurations`.
    #[must_use]
    pub fn transformer_config() -> Self {
        Self { scalars_as_strings: true, ..Self::default() }
    }
}
