//! Selectors of resources: patterns for IDs, and selectors of labels and annotations.

use regex::Regex;
use smol_str::SmolStr;

use super::manifest::Resource;
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::regexp;
use smp_validate::LabelSelector;

/// A regular expression that must match the whole text. An empty pattern matches everything.
#[derive(Debug, Clone, Default)]
pub struct Pattern(Option<Matcher>);

#[derive(Debug, Clone)]
enum Matcher {
    /// A plain name. Most patterns are plain names, which need no regular expression.
    Exact(SmolStr),
    Regex(Box<Regex>),
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The regular expression is malformed.
    pub fn new(pattern: &str) -> Result<Self> {
        if pattern.is_empty() {
            return Ok(Self(None));
        }
        if pattern.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_/ ".contains(&b)) {
            return Ok(Self(Some(Matcher::Exact(pattern.into()))));
        }
        let regex = regexp::compile(&format!("^(?:{pattern})$")).map_err(|why| {
            Diagnostic::error(Code::InvalidValue, format!("`{pattern}` is not a valid regular expression"))
                .note(why)
                .help("escape characters that are meant literally, as in `\\(`; the pattern must match the whole name")
        })?;
        Ok(Self(Some(Matcher::Regex(Box::new(regex)))))
    }

    /// Returns true if the pattern matches the whole text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match &self.0 {
            None => true,
            Some(Matcher::Exact(exact)) => exact == text,
            Some(Matcher::Regex(regex)) => regex.is_match(text),
        }
    }

    /// Returns true if the pattern is empty and thus matches everything.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the text to match if the pattern is a plain name.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        if let Some(Matcher::Exact(exact)) = &self.0 { Some(exact) } else { None }
    }
}

/// Selects resources by patterns for their IDs, and by labels and annotations.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    /// The API group.
    pub group: Pattern,
    /// The version.
    pub version: Pattern,
    /// The kind.
    pub kind: Pattern,
    /// The original or current name.
    pub name: Pattern,
    /// The original or current effective namespace.
    pub namespace: Pattern,
    /// The labels.
    pub labels: LabelSelector,
    /// The annotations.
    pub annotations: LabelSelector,
}

impl Selector {
    /// Returns true if the selector matches this group, version and kind.
    #[must_use]
    pub fn matches_gvk(&self, gvk: &Gvk) -> bool {
        self.group.matches(&gvk.group) && self.version.matches(&gvk.version) && self.kind.matches(&gvk.kind)
    }

    /// Returns true if the selector matches this resource.
    #[must_use]
    pub fn matches(&self, resource: &Resource) -> bool {
        let (original, current) = (resource.original_id(), resource.id());
        (self.namespace.matches(original.effective_namespace())
            || self.namespace.matches(current.effective_namespace()))
            && (self.name.matches(&original.name) || self.name.matches(&current.name))
            && self.matches_gvk(&current.gvk)
            && (self.labels.is_any()
                || self.labels.matches(|key| resource.labels().find(|(k, _)| *k == key).map(|(_, v)| v)))
            && (self.annotations.is_any() || self.annotations.matches(|key| resource.annotation(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_whole_text() {
        let matches = |p: &str, t: &str| Pattern::new(p).expect(p).matches(t);
        assert!(
            matches("", "x") && matches("a|b", "b") && matches("my-.*", "my-app") && matches("web", "web")
        );
        assert!(!matches("web", "web2") && !matches("a|b", "ab") && !matches("v1.2", "v1x20"));
        assert!(Pattern::new("(").is_err());
    }
}
