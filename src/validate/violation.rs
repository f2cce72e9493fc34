//! What validation finds, as data.

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::path::FieldPath;
use crate::source::Span;

/// Declares the rules once: the enum, their codes and their documentation cannot differ.
macro_rules! rules {
    ($($variant:ident $code:literal $doc:literal)*) => {
        /// Which rule an object breaks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ViolationRule {
            $(#[doc = $doc] $variant,)*
        }

        impl ViolationRule {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name for programs and comments, such as `unknown-field`.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// What it says, in a sentence.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }
        }
    };
}

rules! {
    UnknownField "unknown-field" "A field that the kind does not have."
    WrongType "wrong-type" "A value of another type than the server reads there."
    MissingRequired "missing-required" "A field is missing that the server demands."
    Enum "enum" "A value that is none of those that are possible."
    Format "format" "A text that has not the form that is demanded: a date, a duration, base64, an address."
    NullValue "null-value" "Null, where a custom resource must have a value."
    DuplicateKey "duplicate-key" "Two entries of a list with the same key, or twice the same entry in a set."
    Pattern "pattern" "A text that does not match the pattern of its definition."
    Bounds "bounds" "Too long, too short, too many, too few, too large or too small."
    Combination "combination" "A value that `allOf`, `anyOf`, `oneOf` or `not` of its definition refuses."
    Cel "cel" "A rule of the definition (`x-kubernetes-validations`) or of an admission policy is not kept."
    UnknownKind "unknown-kind" "A kind that its group, which is part of Kubernetes, does not have."
    RemovedApi "removed-api" "An API version that this release of Kubernetes no longer serves."
    DeprecatedApi "deprecated-api" "An API version that a coming release of Kubernetes will not serve."
}

/// One reason for which a server would refuse an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: ViolationRule,
    /// The field.
    pub path: FieldPath,
    /// The place of the value; of the key for an unknown field, of the map around it for a missing one.
    pub at: Span,
    /// What is wrong, in a sentence without a capital or a full stop, and without the value.
    pub message: String,
    /// What can be done.
    pub help: Option<String>,
    /// Error: refused. Warning: taken, and still a problem. Note: not checked.
    pub severity: Severity,
}

impl Violation {
    /// What a server refuses.
    pub(super) fn error(
        rule: ViolationRule,
        path: FieldPath,
        at: Span,
        message: impl Into<String>,
    ) -> Self {
        Self { rule, path, at, message: message.into(), help: None, severity: Severity::Error }
    }

    pub(super) fn help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    pub(super) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same as a diagnostic, by the nearest of its codes; the rule's own is in [`Violation::rule`].
    #[must_use]
    pub fn into_diagnostic(self) -> Diagnostic {
        use ViolationRule::{DeprecatedApi, DuplicateKey, MissingRequired, UnknownField, UnknownKind, WrongType};
        let code = match self.rule {
            UnknownField => Code::UnknownField,
            WrongType => Code::WrongType,
            MissingRequired => Code::MissingField,
            DuplicateKey => Code::DuplicateKey,
            UnknownKind => Code::NoSchema,
            DeprecatedApi => Code::DeprecatedField,
            _ => Code::InvalidValue,
        };
        let diagnostic = match self.severity {
            Severity::Error => Diagnostic::error(code, self.message),
            Severity::Warning => Diagnostic::warning(code, self.message),
            Severity::Note => Diagnostic::info(code, self.message),
        };
        let diagnostic = diagnostic.at(self.at).field(&self.path);
        self.help.into_iter().fold(diagnostic, Diagnostic::help)
    }
}
