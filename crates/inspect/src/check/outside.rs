//! What is there though no build makes it: what others make, and what controllers make of objects.

use regex::Regex;
use smol_str::SmolStr;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// What `.smp.yaml` says of objects that no build makes.
#[derive(Debug, Default)]
pub struct Outside {
    /// Objects that somebody else makes.
    pub external: Vec<External>,
    /// What controllers make of objects.
    pub controllers: Vec<ControllerOutput>,
}

/// Objects that are there though no build makes them.
#[derive(Debug)]
pub struct External {
    pub(super) kind: SmolStr,
    pub(super) name: Regex,
    pub(super) namespace: Option<SmolStr>,
    /// Where it is said.
    pub(super) at: Span,
}

impl External {
    /// Returns whether it declares an object.
    #[must_use]
    pub fn is(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.kind == kind
            && self.name.is_match(name)
            && self.namespace.as_deref().is_none_or(|own| own == namespace)
    }
}

/// What a controller makes of each object of a kind.
#[derive(Debug, Clone)]
pub struct ControllerOutput {
    /// The kind of the objects that it makes others of.
    pub kind: SmolStr,
    /// The kind of those others.
    pub makes: SmolStr,
    /// The field of the first that has the name of the second, with dots between steps; none: they have the same name.
    pub name: Option<SmolStr>,
}

/// A name in which `*` stands for any text and `?` for any character; empty: any name.
pub(super) fn pattern(text: &Spanned<String>) -> Result<Regex> {
    let escaped = regex::escape(text).replace("\\*", ".*").replace("\\?", ".");
    let all = if text.is_empty() { ".*".to_string() } else { escaped };
    Regex::new(&format!("^{all}$"))
        .map_err(|_| Diagnostic::error(Code::LimitExceeded, "this pattern is too long").at(text.span))
}
