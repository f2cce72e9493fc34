//! Fixes that replace a scalar, and the check that such a fix changes no other value.

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use super::target::CheckedTarget;
use smp_merge::schema::TypeKind;
use smp_text::diagnostic::Diagnostic;
use smp_text::source::Span;

/// Replaces scalars of a target. Several resources or fields may share a scalar, for example through an anchor, and
/// expect different types.
pub(super) struct ScalarFixes<'q, 'c> {
    target: &'q CheckedTarget<'c>,
    /// The expected type of the scalar at each location; `None` if different types are expected.
    expected: OnceCell<FxHashMap<Span, Option<TypeKind>>>,
}

impl<'q, 'c> ScalarFixes<'q, 'c> {
    pub(super) fn new(target: &'q CheckedTarget<'c>) -> Self {
        Self { target, expected: OnceCell::new() }
    }

    /// Adds a fix that quotes the scalar.
    pub(super) fn quoted(&self, finding: Diagnostic, at: Span) -> Diagnostic {
        let Some(written) = self.target.sources.text_at(at) else { return finding };
        // A tag such as `!!int` overrides the quotes.
        if self.words_before(at).any(|word| word.starts_with('!')) {
            return finding;
        }
        let replacement = format!("\"{written}\"");
        if self.is_expected_everywhere(at, TypeKind::String) && self.can_be_quoted(at) {
            finding.machine_applicable_fix(at, replacement)
        } else {
            finding.fix(at, replacement)
        }
    }

    /// Adds a fix that replaces the scalar by a value of the expected type.
    pub(super) fn replaced(
        &self,
        finding: Diagnostic,
        at: Span,
        (by, expected): (&str, TypeKind),
    ) -> Diagnostic {
        if self.is_expected_everywhere(at, expected) {
            finding.machine_applicable_fix(at, by)
        } else {
            finding.fix(at, by)
        }
    }

    /// Returns true if all values that share the scalar expect the type.
    fn is_expected_everywhere(&self, at: Span, kind: TypeKind) -> bool {
        self.expected.get_or_init(|| expected(self.target)).get(&at) == Some(&Some(kind))
            && !self.words_before(at).any(|word| word.starts_with('&'))
    }

    /// Returns the words before a scalar, which are its anchor and tag.
    fn words_before(&self, at: Span) -> impl Iterator<Item = String> {
        let line = self.line_before(at);
        let words = line.split_whitespace().rev().take_while(|word| word.starts_with(['&', '!']));
        words.map(str::to_string).collect::<Vec<_>>().into_iter()
    }

    /// Returns true if the scalar can be quoted in the file. In an embedded text this is only possible if the text is a
    /// block scalar.
    fn can_be_quoted(&self, at: Span) -> bool {
        let begin = Span::new(at.source, 0, 0);
        self.target.sources.outermost(begin).source == at.source || self.line_before(begin).trim().is_empty()
    }

    /// Returns the text before a location on its line in the file.
    fn line_before(&self, at: Span) -> String {
        let outer = self.target.sources.outermost(at);
        let Some(source) = self.target.sources.get(outer.source) else { return String::new() };
        let end = outer.start as usize;
        // Only the last part of a long line is searched.
        let begin =
            (end.saturating_sub(MAX_SEARCHED_BYTES)..=end).find(|i| source.text().is_char_boundary(*i));
        let before = begin.and_then(|begin| source.text().get(begin..end)).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default().to_string()
    }
}

/// The number of bytes to search before a location.
const MAX_SEARCHED_BYTES: usize = 256;

fn expected(target: &CheckedTarget<'_>) -> FxHashMap<Span, Option<TypeKind>> {
    let mut all = FxHashMap::default();
    for resource in target.resources() {
        target.walk(resource, &mut |visit| {
            if visit.node.scalar_text().is_some() {
                let kind = visit.cursor.type_kind();
                let known = all.entry(visit.node.span()).or_insert(Some(kind));
                if *known != Some(kind) {
                    *known = None;
                }
            }
        });
    }
    all
}
