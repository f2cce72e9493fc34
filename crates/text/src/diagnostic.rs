//! What went wrong, where, and what to do: data, and the forms in which it is told.
//!
//! One error type serves all rooms, so that a place found deep in a merge reaches the terminal
//! without being wrapped and unwrapped on the way. Programs tell errors apart by [`Code`].
//! Prints nothing: [`MessageRenderer`] makes texts.
//!
//! A message quotes names, never a value of a manifest: the excerpt at its place shows that, where it may.

mod code;
mod escape;
mod fix;
mod name;
mod problems;
mod refusal;
mod render;
mod status;
mod words;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

pub use self::code::{Code, RuleText};
pub use self::escape::guarded;
pub use self::escape::without_quoted;
pub use self::escape::{
    escaped, escaped_json, escaped_line, escaped_markdown, escaped_xml, markdown_code, quoted_path,
};
pub use self::fix::{Applicability, Fix};
pub use self::name::{ObjectName, ResourceName};
pub use self::problems::Problems;
pub use self::refusal::PatchRefusal;
pub use self::render::{Coloring, MessageFormat, MessageRenderer, RenderedPlace};
pub use self::words::{by_count, counted, io_reason, unreadable};

use crate::source::Span;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The work was not done.
    Error,
    /// The work was done, perhaps not as meant.
    Warning,
    /// All is well, and this is worth knowing.
    Note,
}

impl Severity {
    /// The word for it: `error`, `warning` or `note`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A place and what it has to do with the problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there; may be empty for the main place.
    pub text: String,
    /// Whether the line may be shown, as far as the one who found the problem can tell.
    pub excerpt: Excerpt,
}

/// Whether the text at a place may be shown. What may hold secrets by its looks never is, whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Excerpt {
    /// As it stands there.
    #[default]
    Shown,
    /// Not at all: it is secret.
    Hidden,
}

/// How many entries of each end of a long way are told.
const TOLD_OF_TRAIL: usize = 3;

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
    /// By what it was reached, the innermost first.
    trail: Vec<String>,
    target: Option<PathBuf>,
    fix: Option<Fix>,
    others: Vec<Diagnostic>,
    refusal: Option<PatchRefusal>,
}

/// One problem: what, where (places, resource, field path) and what to do about it.
///
/// ```
/// use smp_text::diagnostic::{Code, Diagnostic};
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

    /// What is worth knowing and no problem.
    #[must_use]
    pub fn info(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message.into())
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

    /// The same with what caused it as its first place; the one that was the first says what it is about.
    #[must_use]
    pub fn caused(mut self, at: Span, about: &str) -> Self {
        if at.is_none() || self.0.labels.first().is_some_and(|label| label.span == at) {
            return self;
        }
        if let Some(label) = self.0.labels.first_mut().filter(|label| label.text.is_empty()) {
            label.text = about.into();
        }
        self.0.labels.insert(0, Label { span: at, text: String::new(), excerpt: Excerpt::Shown });
        self
    }

    /// Names the resource, unless a deeper call already did.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<ResourceName>) -> Self {
        self.0.resource.get_or_insert_with(|| resource.into());
        self
    }

    /// Names the target that was being built, of the other problems, too, unless a deeper call already did.
    #[must_use]
    pub fn target(self, target: &Path) -> Self {
        self.map_each(|mut problem| {
            problem.0.target.get_or_insert_with(|| target.to_path_buf());
            problem
        })
    }

    /// Names the field path, unless a deeper call already did.
    #[must_use]
    pub fn field(mut self, field: impl fmt::Display) -> Self {
        self.0.field.get_or_insert_with(|| field.to_string());
        self
    }

    /// Says how an API server refuses what this is about, unless a deeper call already did.
    #[must_use]
    pub fn refused(mut self, refusal: PatchRefusal) -> Self {
        self.0.refusal.get_or_insert(refusal);
        self
    }

    /// Says what the user can do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Says which text in the place of which one most likely mends it; a span that is no place is left out.
    #[must_use]
    pub fn fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.fixed(span, replacement.into(), Applicability::Likely)
    }

    /// As [`Diagnostic::fix`], where it mends the problem for certain.
    #[must_use]
    pub fn certain_fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.fixed(span, replacement.into(), Applicability::Certain)
    }

    fn fixed(mut self, span: Span, replacement: String, applicability: Applicability) -> Self {
        if !span.is_none() {
            self.0.fix = Some(Fix { span, replacement, applicability });
        }
        self
    }

    /// The same with another problem, and those that came with it, behind its own.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        let more = std::mem::take(&mut other.0.others);
        self.0.others.push(other);
        self.0.others.extend(more);
        self
    }

    /// It and the problems that came with it, each by itself.
    pub fn into_each(mut self) -> impl Iterator<Item = Self> {
        let others = std::mem::take(&mut self.0.others);
        std::iter::once(self).chain(others)
    }

    /// What `change` makes of it and of each problem that came with it.
    #[must_use]
    pub fn map_each(mut self, change: impl Fn(Self) -> Self) -> Self {
        let others = std::mem::take(&mut self.0.others);
        let mut changed = change(self);
        changed.0.others = others.into_iter().map(change).collect();
        changed
    }

    /// Adds a line of background, such as which kustomization led here.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.notes.push(note.into());
        self
    }

    /// Adds by what it was reached, from the inside out; of a long way messages tell both ends.
    #[must_use]
    pub fn reached_by(mut self, entry: impl Into<String>) -> Self {
        self.0.trail.push(entry.into());
        self
    }

    /// The same with other words: message, notes and help as `reword` makes them.
    #[must_use]
    pub fn reworded(mut self, reword: impl Fn(&str) -> String) -> Self {
        self.0.message = reword(&self.0.message);
        self.0.notes.iter_mut().chain(&mut self.0.help).for_each(|text| *text = reword(text));
        self
    }

    /// The same as a warning, where the work goes on without.
    #[must_use]
    pub fn into_warning(mut self) -> Self {
        self.0.severity = Severity::Warning;
        self
    }

    /// The same as an error, where warnings are refused.
    #[must_use]
    pub fn into_error(mut self) -> Self {
        self.0.severity = Severity::Error;
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
        self.0.resource.as_ref().map(ResourceName::as_str)
    }

    /// The resource by its parts, where it has them.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectName> {
        self.0.resource.as_ref().and_then(ResourceName::object)
    }

    /// The target that was being built.
    #[must_use]
    pub fn target_path(&self) -> Option<&Path> {
        self.0.target.as_deref()
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

    /// What most likely mends it, where that is known.
    #[must_use]
    pub fn known_fix(&self) -> Option<&Fix> {
        self.0.fix.as_ref()
    }

    /// The other problems of what was tried: the first does not hide those behind it.
    #[must_use]
    pub fn others(&self) -> &[Self] {
        &self.0.others
    }

    /// Lines of background.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// All lines of background, with the way to the place; of a long way both ends.
    fn shown_notes(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let trail = self.0.trail.as_slice();
        let left_out = trail.len().saturating_sub(2 * TOLD_OF_TRAIL);
        let (first, last) = match left_out {
            0 => (trail, &trail[..0]),
            _ => (&trail[..TOLD_OF_TRAIL], &trail[trail.len() - TOLD_OF_TRAIL..]),
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
