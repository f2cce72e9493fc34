//! Errors, warnings and notes as data, and their output formats.
//!
//! All crates share one error type, so that an error with a location deep in a merge reaches the terminal without
//! conversions. Programs distinguish errors by [`Code`]. Nothing is printed here: [`MessageRenderer`] returns text.
//!
//! A message quotes names, but never a value of a manifest. The excerpt at the location shows the value, unless the
//! excerpt is hidden.

mod code;
mod escape;
mod fix;
mod name;
mod patch_rejection;
mod phrases;
mod problems;
mod render;
mod status;

use std::borrow::Cow;
use std::fmt;
use std::mem;
use std::path::{Path, PathBuf};

pub use self::code::{Code, RuleText};
pub use self::escape::escaped_line_start;
pub use self::escape::mask_quoted;
pub use self::escape::{
    escaped, escaped_json, escaped_line, escaped_markdown, escaped_xml, markdown_code, quoted_path,
};
pub use self::fix::{Applicability, Fix};
pub use self::name::{ObjectName, ResourceName};
pub use self::patch_rejection::PatchRejection;
pub use self::phrases::{counted, io_reason, plural, read_error};
pub use self::problems::Problems;
pub use self::render::{ColorMode, MessageFormat, MessageRenderer, RenderedLocation};

use crate::source::Span;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed.
    Error,
    /// The operation succeeded, but the result may not be the intended one.
    Warning,
    /// Information; there is no problem.
    Note,
}

impl Severity {
    /// Returns `error`, `warning` or `note`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A location and its role in the problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label {
    /// The location.
    pub span: Span,
    /// The explanation; may be empty for the main location.
    pub text: String,
    /// The visibility of the line, as determined by the code that reports the problem.
    pub excerpt: Excerpt,
}

/// The visibility of the text at a location. Text that may be secret is always hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Excerpt {
    /// The line is shown.
    #[default]
    Shown,
    /// The line is secret and never shown.
    Hidden,
}

/// The number of entries that are shown from each end of a long trail.
const SHOWN_TRAIL_ENTRIES: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    severity: Severity,
    code: Code,
    message: String,
    labels: Vec<Label>,
    resource: Option<ResourceName>,
    field: Option<String>,
    help: Option<String>,
    notes: Vec<String>,
    /// The chain of files that led to the location. The innermost file comes first.
    trail: Vec<String>,
    target: Option<PathBuf>,
    fix: Option<Fix>,
    others: Vec<Diagnostic>,
    refusal: Option<PatchRejection>,
}

/// One problem: a message, its locations, the resource, the field path, and how to fix it.
///
/// ```
/// use smp_text::diagnostic::{Code, Diagnostic};
///
/// let error = Diagnostic::error(Code::MissingMergeKey, "this entry has no `name`")
///     .resource("Pod web")
///     .field("spec.containers[0]")
///     .help("add the merge key of this list");
/// assert_eq!(error.to_string(), "Pod web: spec.containers[0]: this entry has no `name`");
/// assert_eq!((error.code(), error.field_path()), (Code::MissingMergeKey, Some("spec.containers[0]")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic(Box<Inner>);

impl Diagnostic {
    fn new(severity: Severity, code: Code, message: String) -> Self {
        let (labels, notes, others) = (Vec::new(), Vec::new(), Vec::new());
        Self(Box::new(Inner {
            severity,
            code,
            message,
            labels,
            resource: None,
            field: None,
            help: None,
            notes,
            trail: Vec::new(),
            target: None,
            fix: None,
            others,
            refusal: None,
        }))
    }

    /// Creates an error. The message is a sentence in lower case without a full stop.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// Creates a warning.
    #[must_use]
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    /// Creates a note.
    #[must_use]
    pub fn info(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message.into())
    }

    /// Adds the location of the problem; an empty span is ignored.
    #[must_use]
    pub fn at(self, span: Span) -> Self {
        self.label(span, "")
    }

    /// Adds a location with a text of its own; an empty span is ignored.
    #[must_use]
    pub fn label(self, span: Span, text: impl Into<String>) -> Self {
        self.label_with(span, text, Excerpt::Shown)
    }

    /// Adds a location like [`Diagnostic::label`], with the visibility of its excerpt.
    #[must_use]
    pub fn label_with(mut self, span: Span, text: impl Into<String>, excerpt: Excerpt) -> Self {
        if !span.is_none() {
            self.0.labels.push(Label { span, text: text.into(), excerpt });
        }
        self
    }

    /// Makes the cause the main location. The former main location gets the label `about`.
    #[must_use]
    pub fn with_cause(mut self, at: Span, about: &str) -> Self {
        if at.is_none() || self.0.labels.first().is_some_and(|label| label.span == at) {
            return self;
        }
        if let Some(label) = self.0.labels.first_mut().filter(|label| label.text.is_empty()) {
            label.text = about.into();
        }
        self.0.labels.insert(0, Label { span: at, text: String::new(), excerpt: Excerpt::Shown });
        self
    }

    /// Sets the resource, unless an inner function has already set it.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<ResourceName>) -> Self {
        self.0.resource.get_or_insert_with(|| resource.into());
        self
    }

    /// Sets the build target of this problem and the attached ones, unless an inner function has already set it.
    #[must_use]
    pub fn target(self, target: &Path) -> Self {
        self.map_each(|mut problem| {
            problem.0.target.get_or_insert_with(|| target.to_path_buf());
            problem
        })
    }

    /// Sets the field path, unless an inner function has already set it.
    #[must_use]
    pub fn field(mut self, field: impl fmt::Display) -> Self {
        self.0.field.get_or_insert_with(|| field.to_string());
        self
    }

    /// Sets how an API server rejects the patch, unless an inner function has already set it.
    #[must_use]
    pub fn patch_rejection(mut self, refusal: PatchRejection) -> Self {
        self.0.refusal.get_or_insert(refusal);
        self
    }

    /// Sets the help text, which describes how to fix the problem.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Suggests replacing the text at `span`; an empty span is ignored. The user should review the change.
    #[must_use]
    pub fn fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.set_fix(span, replacement.into(), Applicability::MaybeIncorrect)
    }

    /// Suggests a fix like [`Diagnostic::fix`] that is always correct, so that a program may apply it.
    #[must_use]
    pub fn machine_applicable_fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.set_fix(span, replacement.into(), Applicability::MachineApplicable)
    }

    fn set_fix(mut self, span: Span, replacement: String, applicability: Applicability) -> Self {
        if !span.is_none() {
            self.0.fix = Some(Fix { span, replacement, applicability });
        }
        self
    }

    /// Attaches another problem together with the problems attached to it.
    #[must_use]
    pub fn with_attached(mut self, mut other: Self) -> Self {
        let more = std::mem::take(&mut other.0.others);
        self.0.others.push(other);
        self.0.others.extend(more);
        self
    }

    /// Iterates over this problem and the attached ones, each without its attachments.
    pub fn into_each(mut self) -> impl Iterator<Item = Self> {
        let others = std::mem::take(&mut self.0.others);
        std::iter::once(self).chain(others)
    }

    /// Applies `change` to this problem and to each attached one.
    #[must_use]
    pub fn map_each(mut self, change: impl Fn(Self) -> Self) -> Self {
        let others = std::mem::take(&mut self.0.others);
        let mut changed = change(self);
        changed.0.others = others.into_iter().map(change).collect();
        changed
    }

    /// Adds a note, such as the command that failed.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// Adds an entry to the chain of files that led to the location, from the inside out. Messages show both ends of a
    /// long chain.
    #[must_use]
    pub fn reached_by(mut self, entry: impl Into<String>) -> Self {
        self.0.trail.push(entry.into());
        self
    }

    /// Applies `reword` to the message, the notes and the help.
    #[must_use]
    pub fn map_text(mut self, reword: impl Fn(&str) -> String) -> Self {
        self.0.message = reword(&self.0.message);
        self.0.notes.iter_mut().chain(&mut self.0.help).for_each(|text| *text = reword(text));
        self
    }

    /// Applies `change` to all texts that are shown, in this problem and the attached ones.
    pub(crate) fn map_texts(mut self, change: &impl Fn(&str) -> String) -> Self {
        let Inner { message, labels, resource, field, help, notes, trail, fix, others, .. } = &mut *self.0;
        let labels = labels.iter_mut().map(|label| &mut label.text);
        let names = resource.iter_mut().flat_map(ResourceName::texts_mut);
        let fix = fix.iter_mut().map(|fix| &mut fix.replacement);
        let texts = notes.iter_mut().chain(trail).chain(field).chain(help).chain([message]);
        texts.chain(labels).chain(names).chain(fix).for_each(|text| *text = change(text));
        *others = mem::take(others).into_iter().map(|other| other.map_texts(change)).collect();
        self
    }

    /// Converts the problem to a warning, for operations that continue after it.
    #[must_use]
    pub fn into_warning(mut self) -> Self {
        self.0.severity = Severity::Warning;
        self
    }

    /// Converts the problem to an error, for runs in which warnings are not allowed.
    #[must_use]
    pub fn into_error(mut self) -> Self {
        self.0.severity = Severity::Error;
        self
    }

    /// Returns the severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// Returns the code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the message without resource and field.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the locations. The first one is the main location.
    #[must_use]
    pub fn labels(&self) -> &[Label] {
        &self.0.labels
    }

    /// Returns the resource as messages show it.
    #[must_use]
    pub fn resource_name(&self) -> Option<&str> {
        self.0.resource.as_ref().map(ResourceName::as_str)
    }

    /// Returns the parts of the resource's name, if it is an object.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectName> {
        self.0.resource.as_ref().and_then(ResourceName::object)
    }

    /// Returns the target that was being built.
    #[must_use]
    pub fn target_path(&self) -> Option<&Path> {
        self.0.target.as_deref()
    }

    /// Returns the field path.
    #[must_use]
    pub fn field_path(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// Returns the help.
    #[must_use]
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the suggested fix, if there is one.
    #[must_use]
    pub fn suggested_fix(&self) -> Option<&Fix> {
        self.0.fix.as_ref()
    }

    /// Returns the attached problems, which are the further errors of an operation.
    #[must_use]
    pub fn attached(&self) -> &[Self] {
        &self.0.others
    }

    /// Returns the notes.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// Returns the notes, and the chain of files that led to the location. Only both ends of a long chain are included.
    fn shown_notes(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let trail = self.0.trail.as_slice();
        let left_out = trail.len().saturating_sub(2 * SHOWN_TRAIL_ENTRIES);
        let (first, last) = match left_out {
            0 => (trail, &trail[..0]),
            _ => (&trail[..SHOWN_TRAIL_ENTRIES], &trail[trail.len() - SHOWN_TRAIL_ENTRIES..]),
        };
        let between = (left_out > 0).then(|| format!("... {left_out} more").into());
        self.0
            .notes
            .iter()
            .chain(first)
            .map(|note| note.as_str().into())
            .chain(between)
            .chain(last.iter().map(|note| note.as_str().into()))
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

/// The result of every fallible function of the workspace.
pub type Result<T> = std::result::Result<T, Diagnostic>;

/// A value with the warnings about it.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct WithWarnings<T> {
    /// The value.
    pub value: T,
    /// The warnings.
    pub warnings: Vec<Diagnostic>,
}

impl<T> WithWarnings<T> {
    /// Moves the warnings to `warnings`, and returns the value.
    pub fn into_value(self, warnings: &mut Vec<Diagnostic>) -> T {
        warnings.extend(self.warnings);
        self.value
    }

    /// Applies `make` to the value. The new warnings follow those of this value.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> WithWarnings<U>) -> WithWarnings<U> {
        let mut made = make(self.value);
        made.warnings.splice(0..0, self.warnings);
        made
    }

    /// Applies `make` to the value and keeps the warnings.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> WithWarnings<U> {
        WithWarnings { value: make(self.value), warnings: self.warnings }
    }
}

impl<T> From<T> for WithWarnings<T> {
    fn from(value: T) -> Self {
        Self { value, warnings: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_resource_and_field_win() {
        let inner =
            Diagnostic::error(Code::WrongType, "expected a list").resource("Service a").field("spec.ports");
        let outer = inner.resource("Service b").field("spec");
        assert_eq!(outer.to_string(), "Service a: spec.ports: expected a list");
    }
}
