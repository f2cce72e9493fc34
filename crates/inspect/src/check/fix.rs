//! Applies the safe fixes of findings and returns the new contents of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::findings::CheckReport;
use smp_text::diagnostic::{Applicability, Diagnostic};
use smp_text::source::{SourceMap, Span};

/// A file with the fixes applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    /// The path.
    pub path: PathBuf,
    /// The content that was read.
    pub before: String,
    /// The content with the fixes.
    pub after: String,
    /// The number of fixed findings.
    pub fixes: usize,
}

/// The first path and the text of a file, and the replacements in the text.
type FileFixes<'f> = (PathBuf, String, Vec<(Span, &'f str)>);

/// Applies all safe fixes and returns the changed files. If two fixes overlap, only the first one is applied.
///
/// `real` resolves a path to the real file, so that a file read through several symlinks is fixed once.
#[must_use]
pub fn fixed_files(
    report: &CheckReport,
    sources: &SourceMap,
    real: impl Fn(&Path) -> PathBuf,
) -> Vec<FixedFile> {
    let mut by_file: BTreeMap<PathBuf, FileFixes<'_>> = BTreeMap::new();
    for (span, replacement) in report.findings.iter().filter_map(|finding| replaced(finding, sources)) {
        let Some(source) = sources.get(span.source) else { continue };
        let new = || (source.name().to_path_buf(), source.text().to_string(), Vec::new());
        by_file.entry(real(source.name())).or_insert_with(new).2.push((span, replacement));
    }
    by_file.into_values().map(|(path, before, fixes)| fixed(path, before, fixes)).collect()
}

/// Returns the replacement of a safe fix. Returns `None` for a fix inside an embedded text that is escaped in its file,
/// and for a replacement with line breaks.
fn replaced<'f>(finding: &'f Diagnostic, sources: &SourceMap) -> Option<(Span, &'f str)> {
    let fix = finding.suggested_fix().filter(|fix| fix.applicability == Applicability::MachineApplicable)?;
    let outer = sources.outermost(fix.span);
    let is_same = sources.text_at(outer) == sources.text_at(fix.span);
    (is_same && !fix.replacement.contains('\n')).then_some((outer, fix.replacement.as_str()))
}

fn fixed(path: PathBuf, before: String, mut fixes: Vec<(Span, &str)>) -> FixedFile {
    fixes.sort_by_key(|(span, _)| (span.start, span.end));
    fixes.dedup_by_key(|(span, _)| (span.start, span.end));
    let (mut after, mut from, mut fixes_applied) = (String::with_capacity(before.len()), 0, 0);
    for (span, replacement) in fixes {
        let (start, end) = (span.start as usize, span.end as usize);
        let Some(kept) = before.get(from..start).filter(|_| end <= before.len()) else { continue };
        after.extend([kept, replacement]);
        from = end;
        fixes_applied += 1;
    }
    after.push_str(before.get(from..).unwrap_or_default());
    FixedFile { path, before, after, fixes: fixes_applied }
}
