//! What went wrong, where, and what to do: data only, rendered by `cli`.
//!
//! One error type serves all rooms, so that a place found deep in a merge reaches the terminal
//! without being wrapped and unwrapped on the way. Programs tell errors apart by [`Code`].

mod status;

use std::fmt;

use crate::source::Span;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The work was not done.
    Error,
    /// The work was done, perhaps not as meant.
    Warning,
}

/// The kind of a problem, for programs; stable across releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The text is not well-formed YAML or JSON.
    Syntax,
    /// One mapping has the same key twice.
    DuplicateKey,
    /// A bound on depth, size or alias expansion was passed.
    LimitExceeded,
    /// A value has another type than its place needs.
    WrongType,
    /// A field that nobody knows.
    UnknownField,
    /// A field or feature that exists and that this version does not have.
    Unsupported,
    /// A needed field is missing or empty.
    MissingField,
    /// A value is of the right type and still makes no sense.
    InvalidValue,
    /// A file or directory is not there, or cannot be read or written.
    Io,
    /// A path leads outside the directory that it must stay in.
    OutsideRoot,
    /// Kustomizations that contain each other.
    Cycle,
    /// Two resources with the same id.
    DuplicateResource,
    /// No resource, or not exactly one, fits what names it.
    NoMatch,
    /// Several things fit where one must.
    Ambiguous,
    /// A list entry lacks its merge key.
    MissingMergeKey,
    /// Two entries of a list have the same merge key.
    DuplicateMergeKey,
    /// A directive (`$patch`, ...) is wrong or stands where it cannot.
    Directive,
    /// Both sides changed the same field.
    Conflict,
    /// The `test` of a JSON patch found another value.
    TestFailed,
    /// No schema is known for a kind.
    NoSchema,
    /// The cluster, or another server, did not answer or refused.
    Remote,
    /// A lock file lacks what is used, or differs from it.
    Locked,
    /// A remote reference is not at hand and may not be fetched: offline, or since the lock file lacks it.
    NotFetched,
    /// A command that was run failed.
    Command,
    /// The command line is wrong.
    Usage,
}

/// A place and what it has to do with the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there; may be empty for the main place.
    pub text: String,
    /// Whether the line may be shown.
    pub excerpt: Excerpt,
}

/// Whether the text at a place may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Excerpt {
    /// As it stands there.
    #[default]
    Shown,
    /// Not at all: it is secret.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    severity: Severity,
    code: Code,
    message: String,
    labels: Vec<Label>,
    resource: Option<String>,
    field: Option<String>,
    help: Option<String>,
    notes: Vec<String>,
}

/// One problem: what, where (places, resource, field path) and what to do about it.
///
/// ```
/// use kubectl_smp::diagnostic::{Code, Diagnostic};
///
/// let error = Diagnostic::error(Code::MissingMergeKey, "this entry has no `name`")
///     .resource("Pod web")
///     .field("spec.containers[0]")
///     .help("add the key, by which entries of this list are told apart");
/// assert_eq!(error.to_string(), "Pod web: spec.containers[0]: this entry has no `name`");
/// assert_eq!((error.code(), error.field_path()), (Code::MissingMergeKey, Some("spec.containers[0]")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic(Box<Inner>);

impl Diagnostic {
    fn new(severity: Severity, code: Code, message: String) -> Self {
        let (labels, notes) = (Vec::new(), Vec::new());
        Self(Box::new(Inner {
            severity,
            code,
            message,
            labels,
            resource: None,
            field: None,
            help: None,
            notes,
        }))
    }

    /// An error. The message is a sentence without a capital or a full stop.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning.
    #[must_use]
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    /// Adds the place that the message speaks of; a span that is no place is left out.
    #[must_use]
    pub fn at(self, span: Span) -> Self {
        self.label(span, "")
    }

    /// Adds a place with a text of its own; a span that is no place is left out.
    #[must_use]
    pub fn label(self, span: Span, text: impl Into<String>) -> Self {
        self.label_with(span, text, Excerpt::Shown)
    }

    /// As [`Diagnostic::label`], and says whether the text at that place may be shown.
    #[must_use]
    pub fn label_with(mut self, span: Span, text: impl Into<String>, excerpt: Excerpt) -> Self {
        if !span.is_none() {
            self.0.labels.push(Label { span, text: text.into(), excerpt });
        }
        self
    }

    /// Names the resource, unless a deeper call already did.
    #[must_use]
    pub fn resource(mut self, resource: impl fmt::Display) -> Self {
        self.0.resource.get_or_insert_with(|| resource.to_string());
        self
    }

    /// Names the field path, unless a deeper call already did.
    #[must_use]
    pub fn field(mut self, field: impl fmt::Display) -> Self {
        self.0.field.get_or_insert_with(|| field.to_string());
        self
    }

    /// Says what the user can do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Adds a line of background, such as which kustomization led here.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// The same as a warning, where the work goes on without.
    #[must_use]
    pub fn into_warning(mut self) -> Self {
        self.0.severity = Severity::Warning;
        self
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// The kind of the problem.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The message alone.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The places, the main one first.
    #[must_use]
    pub fn labels(&self) -> &[Label] {
        &self.0.labels
    }

    /// The resource, as the user would name it.
    #[must_use]
    pub fn resource_name(&self) -> Option<&str> {
        self.0.resource.as_deref()
    }

    /// The field path.
    #[must_use]
    pub fn field_path(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// What the user can do.
    #[must_use]
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Lines of background.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(resource) = &self.0.resource {
            write!(f, "{resource}: ")?;
        }
        if let Some(field) = &self.0.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Diagnostic {}

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Diagnostic>;

/// A value, and what is odd about it or about the way to it.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Warned<T> {
    /// The value.
    pub value: T,
    /// What is odd.
    pub warnings: Vec<Diagnostic>,
}

impl<T> Warned<T> {
    /// The value alone; what is odd about it joins other warnings.
    pub fn note_in(self, warnings: &mut Vec<Diagnostic>) -> T {
        warnings.extend(self.warnings);
        self.value
    }

    /// What is made of the value; what is odd about that comes behind the rest.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> Warned<U>) -> Warned<U> {
        let mut made = make(self.value);
        made.warnings.splice(0..0, self.warnings);
        made
    }

    /// Another value made of this one, with the same warnings.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Warned<U> {
        Warned { value: make(self.value), warnings: self.warnings }
    }
}

impl<T> From<T> for Warned<T> {
    fn from(value: T) -> Self {
        Self { value, warnings: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_resource_and_field_win() {
        let inner =
            Diagnostic::error(Code::WrongType, "expected a list").resource("Service a").field("spec.ports");
        let outer = inner.resource("Service b").field("spec");
        assert_eq!(outer.to_string(), "Service a: spec.ports: expected a list");
    }
}
