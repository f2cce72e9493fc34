//! Changes that a review ignores.

use regex::Regex;

use super::changes::FieldChange;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::{is_within, pointer_to};
use smp_text::yaml::Node;

/// The fields that `--ignore-noise` ignores: certificates that controllers set, configuration hashes that restart Pods,
/// and the version of the chart that rendered an object.
const NOISE: [&str; 3] =
    [r"(^|\.)caBundle$", r#"annotations(\.|\[")checksum/"#, r#"labels\["helm\.sh/chart"\]$"#];

/// The changes that are ignored.
#[derive(Debug, Clone, Default)]
pub struct NoiseRules {
    /// JSON pointers to ignored values.
    pointers: Vec<String>,
    /// Ignored kinds.
    kinds: Vec<String>,
    /// Regular expressions of ignored field paths.
    paths: Vec<Regex>,
}

impl NoiseRules {
    /// Creates rules from a list of JSON pointers (`/spec/replicas`), kinds (`ConfigMap`) and regular expressions of
    /// field paths.
    ///
    /// # Errors
    /// A regular expression is invalid.
    pub fn new<'t>(ignored: impl IntoIterator<Item = &'t str>, with_defaults: bool) -> Result<Self> {
        let mut rules = Self::default();
        let defaults = if with_defaults { &NOISE[..] } else { &[] };
        defaults.iter().copied().chain(ignored).try_for_each(|text| rules.add(text))?;
        Ok(rules)
    }

    /// Adds a JSON pointer, a kind or a regular expression.
    ///
    /// # Errors
    /// A regular expression is invalid.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let is_kind = text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_alphanumeric());
        if text.starts_with('/') {
            self.pointers.push(text.to_string());
        } else if is_kind {
            self.kinds.push(text.to_string());
        } else {
            let regex = Regex::new(text).map_err(|error| {
                let message = format!("`{text}` is not a regular expression: {error}");
                Diagnostic::error(Code::Usage, message)
                    .help("pass a JSON pointer, a kind, or a regular expression")
            })?;
            self.paths.push(regex);
        }
        Ok(())
    }

    /// Returns true if changes of objects of this kind are ignored.
    pub(super) fn ignores_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|ignored| ignored == kind)
    }

    /// Returns true if nothing is ignored.
    pub(super) fn is_empty(&self) -> bool {
        self.pointers.is_empty() && self.kinds.is_empty() && self.paths.is_empty()
    }

    /// Returns the change of a field unless it is ignored, and counts ignored changes. If some fields of an added or
    /// removed map are ignored, its change is divided into those of its fields.
    pub(super) fn without(
        &self,
        change: FieldChange,
        sides: [Option<&Node>; 2],
        ignored: &mut usize,
    ) -> Vec<FieldChange> {
        if self.ignores(&change, sides) {
            *ignored += 1;
            return Vec::new();
        }
        let before = *ignored;
        let fields = fields_of(&change).into_iter();
        let kept: Vec<_> = fields.flat_map(|field| self.without(field, sides, ignored)).collect();
        if *ignored == before { vec![change] } else { kept }
    }

    /// Returns true if the change of a field is ignored.
    fn ignores(&self, change: &FieldChange, [old, new]: [Option<&Node>; 2]) -> bool {
        let path = change.path.to_string();
        if self.paths.iter().any(|ignored| ignored.is_match(&path)) {
            return true;
        }
        let node = if change.new.is_some() { new } else { old };
        let pointer = || node.map(|node| pointer_to(&change.path.positions(node))).unwrap_or_default();
        !self.pointers.is_empty() && {
            let pointer = pointer();
            self.pointers.iter().any(|ignored| is_within(ignored, &pointer))
        }
    }
}

/// Returns a change for each field of a map that exists only in one version.
fn fields_of(change: &FieldChange) -> Vec<FieldChange> {
    let ((None, Some(value)) | (Some(value), None)) = (&change.old, &change.new) else { return Vec::new() };
    let Some(map) = value.as_map() else { return Vec::new() };
    let field = |(name, value): (&str, &Node)| {
        let side = |is_there: bool| is_there.then(|| value.clone());
        let (old, new) = (side(change.old.is_some()), side(change.new.is_some()));
        FieldChange { path: change.path.clone().field(name), old, new, at: change.at }
    };
    map.iter().map(field).collect()
}
