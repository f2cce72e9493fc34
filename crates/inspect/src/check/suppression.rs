//! Suppression comments: `# smp:ignore CODE REASON`, at the end of the line of the finding or on the line above
//! it.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};

use super::registry::{code_by_name, nearest_code};
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_text::source::{Source, SourceId, SourceMap, Span, is_kustomization};
use smp_text::yaml::comment_positions;

const WORD: &str = "smp:ignore";

/// A suppression comment.
#[derive(Debug)]
struct Suppression {
    codes: Vec<Result<Code, String>>,
    /// The number of the line to which the comment applies, starting at 1.
    line: usize,
    at: Span,
    is_used: bool,
    /// True if the comment is part of the text of a scalar, which may itself be YAML.
    is_in_value: bool,
    /// True if the text of the scalar may be meant for other programs, as in a ConfigMap.
    is_foreign: bool,
}

/// The number of suppression comments by file, key of the line to which they apply, and text.
type CommentCounts = FxHashMap<(PathBuf, String, String), usize>;

/// The suppression comments of a revision. Only these are trusted, so that a later change cannot suppress its own
/// findings.
#[derive(Debug, Default)]
pub struct KnownComments(CommentCounts);

impl KnownComments {
    /// Collects the comments in all texts of a run.
    #[must_use]
    pub fn new(sources: &SourceMap) -> Self {
        let mut known = CommentCounts::default();
        let mut seen = FxHashSet::default();
        for id in sources.top_level_texts() {
            // A file may have been read several times.
            let Some(source) = sources.get(id).filter(|source| seen.insert(source.name().to_path_buf()))
            else {
                continue;
            };
            for (key, count) in counts(&read(id, &source), &source) {
                *known.entry(key).or_default() += count;
            }
        }
        Self(known)
    }
}

fn counts(suppressions: &[Suppression], source: &Source) -> CommentCounts {
    let mut counts = CommentCounts::default();
    for suppression in suppressions {
        *counts.entry(comment_key(suppression, source)).or_default() += 1;
    }
    counts
}

fn comment_key(suppression: &Suppression, source: &Source) -> (PathBuf, String, String) {
    let (line, _) = source.line_column(suppression.at.start);
    let text = source.line(line);
    let comment = text.find(WORD).and_then(|start| text.get(start..)).unwrap_or_default();
    let covered = source.line(suppression.line);
    let key = covered.split([':', '#']).next().unwrap_or_default();
    (source.name().to_path_buf(), key.trim().to_string(), comment.trim().to_string())
}

/// The suppressions that are trusted.
#[derive(Debug, Clone, Copy, Default)]
pub enum SuppressionTrust<'c> {
    /// All comments and configurations.
    #[default]
    All,
    /// Configurations, and comments that also exist in a revision.
    Known(&'c KnownComments),
    /// None: all findings are reported.
    None,
}

/// The suppression comments in the sources of a run. A source is scanned when the first finding in it is reported.
#[derive(Debug, Default)]
pub struct SuppressionComments<'c> {
    by_source: FxHashMap<SourceId, Vec<Suppression>>,
    trust: SuppressionTrust<'c>,
}

impl<'c> SuppressionComments<'c> {
    /// Creates the comments of a run. Only those that `trust` includes are used.
    pub(super) fn new(trust: SuppressionTrust<'c>) -> Self {
        Self { by_source: FxHashMap::default(), trust }
    }

    /// Returns true if a comment suppresses the finding at a location, and marks the comment as used.
    ///
    /// The text of a scalar contains no comments, unless it is YAML that contains the finding, such as an inline patch.
    pub fn suppresses(&mut self, code: Code, location: Span, sources: &SourceMap) -> bool {
        let outer = sources.outermost(location);
        let by_comment = self.use_at(code, outer, sources, |suppression| !suppression.is_in_value);
        if outer.source == location.source
            || !self.use_at(code, location, sources, |suppression| !suppression.is_in_value)
        {
            return by_comment;
        }
        self.use_at(code, outer, sources, |suppression| suppression.is_in_value);
        true
    }

    /// Returns true if a comment that applies to the line of a location suppresses a rule, and marks all such
    /// comments as used.
    fn use_at(
        &mut self,
        code: Code,
        location: Span,
        sources: &SourceMap,
        may_cover: impl Fn(&Suppression) -> bool,
    ) -> bool {
        let Some(source) = sources.get(location.source) else { return false };
        let (line, _) = source.line_column(location.start);
        let suppressions = self.comments(location.source, &source);
        // The list is sorted by line.
        let first = suppressions.partition_point(|suppression| suppression.line < line);
        let here = suppressions[first..].iter_mut().take_while(|suppression| suppression.line == line);
        let mut covers = false;
        for suppression in
            here.filter(|suppression| may_cover(suppression) && suppression.codes.contains(&Ok(code)))
        {
            suppression.is_used = true;
            covers = true;
        }
        covers
    }

    fn comments(&mut self, id: SourceId, source: &Arc<Source>) -> &mut [Suppression] {
        let trust = self.trust;
        self.by_source.entry(id).or_insert_with(|| {
            let mut suppressions = read(id, source);
            match trust {
                SuppressionTrust::All => {}
                SuppressionTrust::None => suppressions.clear(),
                SuppressionTrust::Known(KnownComments(known)) => {
                    let own = counts(&suppressions, source);
                    suppressions.retain(|suppression| {
                        let key = comment_key(suppression, source);
                        // If there is an additional copy of a comment, it is unknown which one is new, so none is
                        // trusted.
                        known.get(&key).is_some_and(|known| known >= &own[&key])
                    });
                }
            }
            suppressions
        })
    }

    /// Returns findings for comments of texts that contain no rule or an unknown one, or that suppressed nothing
    /// although their rules were enabled. A source may have been read twice.
    pub(super) fn unused(
        &mut self,
        unused: Code,
        texts: &[SourceId],
        sources: &SourceMap,
        is_enabled: impl Fn(Code) -> bool,
    ) -> Vec<Diagnostic> {
        let mut all: BTreeMap<(PathBuf, u32), &Suppression> = BTreeMap::new();
        for id in texts {
            let Some(source) = sources.get(*id) else { continue };
            self.comments(*id, &source);
        }
        for suppression in texts.iter().filter_map(|id| self.by_source.get(id)).flatten() {
            let Some(source) = sources.get(suppression.at.source) else { continue };
            let known = all.entry((source.name().to_path_buf(), suppression.at.start)).or_insert(suppression);
            if suppression.is_used {
                *known = suppression;
            }
        }
        let finding = |suppression: &&Suppression| {
            let unknown = suppression.codes.iter().find_map(|code| code.as_ref().err());
            let unknown = unknown.filter(|_| !suppression.is_foreign);
            if let Some(name) = unknown {
                let message = match name.as_str() {
                    "" => "this suppression comment names no rule".to_string(),
                    name => format!("this suppression comment names an unknown rule: `{name}`"),
                };
                let help = match nearest_code(name) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write `# smp:ignore CODE REASON`".to_string(),
                };
                return Some(Diagnostic::warning(unused, message).at(suppression.at).help(help));
            }
            let message = "this comment suppresses no finding";
            let codes = || suppression.codes.iter().flatten().copied();
            (!suppression.is_used && !suppression.is_foreign && codes().all(&is_enabled))
                .then(|| Diagnostic::warning(unused, message).at(suppression.at).help("remove the comment"))
        };
        all.values().filter_map(finding).collect()
    }
}

/// Removes the build warnings that comments suppress. Errors are kept.
#[must_use]
pub fn without_suppressed(warnings: Vec<Diagnostic>, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut suppressions = SuppressionComments::default();
    let mut is_suppressed = |warning: &Diagnostic| {
        let location = warning.labels().first().map(|label| label.span);
        location.is_some_and(|location| suppressions.suppresses(warning.code(), location, sources))
    };
    let is_kept = |warning: &Diagnostic| warning.severity() == Severity::Error || !is_suppressed(warning);
    warnings.into_iter().filter(is_kept).collect()
}

/// Collects the suppression comments of a text, and texts in its scalars that have the same format, sorted by line.
fn read(id: SourceId, source: &Source) -> Vec<Suppression> {
    let text = source.text();
    let mut all = Vec::new();
    let starts = LazyCell::new(|| comment_positions(text));
    for start in memmem::find_iter(text.as_bytes(), WORD) {
        let (line, _) = source.line_column(u32::try_from(start).unwrap_or(u32::MAX));
        let from = source.line_start(line);
        let before = &text[from..start];
        // A comment begins with a `#` after a space or at the start of the line.
        let Some(sign) = before.rfind('#') else { continue };
        let lead = &before[..sign];
        let is_comment =
            before[sign + 1..].trim().is_empty() && (lead.is_empty() || lead.ends_with([' ', '\t']));
        if !is_comment {
            continue;
        }
        let rest = source.line(line).get(start - from + WORD.len()..).unwrap_or_default();
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            continue;
        }
        let is_in_value = starts.as_ref().is_some_and(|starts| starts.binary_search(&(from + sign)).is_err());
        let codes = rest.split_whitespace().next().unwrap_or_default().split(',');
        all.push(Suppression {
            codes: codes.map(|name| code_by_name(name).ok_or_else(|| name.to_string())).collect(),
            // A comment on a line of its own applies to the next line.
            line: if lead.trim().is_empty() { line + 1 } else { line },
            at: Span::new(id, from + sign, start + WORD.len()),
            is_used: false,
            is_in_value,
            is_foreign: is_in_value && !is_kustomization(source.name()),
        });
    }
    all.sort_by_key(|suppression| suppression.line);
    all
}
