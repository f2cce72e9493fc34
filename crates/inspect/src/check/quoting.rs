//! What replaces a scalar in its text, and whether that is all that changes.

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use super::target::CheckedTarget;
use smp_merge::schema::TypeKind;
use smp_text::diagnostic::Diagnostic;
use smp_text::source::Span;

/// Replaces scalars of a target. One that stands in several resources, or in several fields of one, may mean something
/// else there.
pub(super) struct Quoting<'q, 'c> {
    target: &'q CheckedTarget<'c>,
    /// What is wanted at each place; none where that differs.
    wanted: OnceCell<FxHashMap<Span, Option<TypeKind>>>,
}

impl<'q, 'c> Quoting<'q, 'c> {
    pub(super) fn new(target: &'q CheckedTarget<'c>) -> Self {
        Self { target, wanted: OnceCell::new() }
    }

    /// A finding with what puts its scalar in quotes.
    pub(super) fn quoted(&self, finding: Diagnostic, at: Span) -> Diagnostic {
        let Some(written) = self.target.sources.written(at) else { return finding };
        // What is said to be a number stays one in quotes.
        if self.words_before(at).any(|word| word.starts_with('!')) {
            return finding;
        }
        let replacement = format!("\"{written}\"");
        if self.is_only(at, TypeKind::String) && self.takes_quotes(at) {
            finding.certain_fix(at, replacement)
        } else {
            finding.fix(at, replacement)
        }
    }

    /// A finding with what stands for its scalar where a type is wanted.
    pub(super) fn replaced(
        &self,
        finding: Diagnostic,
        at: Span,
        (by, wanted): (&str, TypeKind),
    ) -> Diagnostic {
        if self.is_only(at, wanted) { finding.certain_fix(at, by) } else { finding.fix(at, by) }
    }

    /// Whether a type is wanted wherever the scalar is.
    fn is_only(&self, at: Span, kind: TypeKind) -> bool {
        self.wanted.get_or_init(|| wanted(self.target)).get(&at) == Some(&Some(kind))
            && !self.words_before(at).any(|word| word.starts_with('&'))
    }

    /// The anchor and the tag that stand before a scalar.
    fn words_before(&self, at: Span) -> impl Iterator<Item = String> {
        let line = self.line_before(at);
        let words = line.split_whitespace().rev().take_while(|word| word.starts_with(['&', '!']));
        words.map(str::to_string).collect::<Vec<_>>().into_iter()
    }

    /// Whether quotes mean the same there: in a text within a text only where that is a block.
    fn takes_quotes(&self, at: Span) -> bool {
        let begin = Span::new(at.source, 0, 0);
        self.target.sources.outermost(begin).source == at.source || self.line_before(begin).trim().is_empty()
    }

    /// The end of what stands before a place on its line, in the file.
    fn line_before(&self, at: Span) -> String {
        let outer = self.target.sources.outermost(at);
        let Some(source) = self.target.sources.get(outer.source) else { return String::new() };
        let end = outer.start as usize;
        // Of a long line nobody looks at more.
        let begin = (end.saturating_sub(LOOKED_AT)..=end).find(|i| source.text().is_char_boundary(*i));
        let before = begin.and_then(|begin| source.text().get(begin..end)).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default().to_string()
    }
}

/// How many bytes before a place are looked at.
const LOOKED_AT: usize = 256;

fn wanted(target: &CheckedTarget<'_>) -> FxHashMap<Span, Option<TypeKind>> {
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
