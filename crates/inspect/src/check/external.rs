//! Objects that exist although no build defines them: declared external objects, and objects that controllers create.

use regex::Regex;
use smol_str::SmolStr;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The declarations in `.smp.yaml` of objects that no build defines.
#[derive(Debug, Default)]
pub struct ExternalObjects {
    /// Objects that are created elsewhere.
    pub objects: Vec<ExternalObject>,
    /// Objects that controllers create.
    pub controllers: Vec<ControllerOutput>,
}

/// A declaration of external objects.
#[derive(Debug)]
pub struct ExternalObject {
    pub(super) kind: SmolStr,
    pub(super) name: Regex,
    pub(super) namespace: Option<SmolStr>,
    /// The location of the declaration.
    pub(super) at: Span,
}

impl ExternalObject {
    /// Returns true if the declaration matches an object.
    #[must_use]
    pub fn matches(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.kind == kind
            && self.name.is_match(name)
            && self.namespace.as_deref().is_none_or(|own| own == namespace)
    }
}

/// The object that a controller creates from each object of a kind.
#[derive(Debug, Clone)]
pub struct ControllerOutput {
    /// The kind of the source objects.
    pub kind: SmolStr,
    /// The kind of the created objects.
    pub creates: SmolStr,
    /// The field path, with dots, of the name of the created object in the source object. If it is `None`, both objects
    /// have the same name.
    pub name: Option<SmolStr>,
}

/// Compiles a glob pattern. `*` matches any text, `?` any character, and an empty pattern everything.
pub(super) fn pattern(text: &Spanned<String>) -> Result<Regex> {
    let escaped = regex::escape(text).replace("\\*", ".*").replace("\\?", ".");
    let all = if text.is_empty() { ".*".to_string() } else { escaped };
    Regex::new(&format!("^{all}$"))
        .map_err(|_| Diagnostic::error(Code::LimitExceeded, "this pattern is too long").at(text.span))
}
