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

/// How to decode. The default is how kustomization files are read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// What to do about fields that a struct does not have.
    pub unknown_fields: UnknownFields,
    /// Whether numbers and booleans may stand where strings are wanted.
    pub scalars_as_strings: bool,
}

impl DecodeOptions {
    /// How kustomize reads the configuration of generators and transformers in files of their own.
    #[must_use]
    pub fn plugin() -> Self {
        Self { unknown_fields: UnknownFields::Ignore, scalars_as_strings: true }
    }

    /// How kustomize reads the files that `configurations` names.
    #[must_use]
    pub fn transformer_config() -> Self {
        Self { unknown_fields: UnknownFields::Deny, scalars_as_strings: true }
    }
}
