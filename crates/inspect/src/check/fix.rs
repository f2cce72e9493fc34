//! What mends findings for certain, as new contents of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::findings::CheckReport;
use smp_text::diagnostic::{Applicability, Diagnostic};
use smp_text::source::{SourceMap, Span};

/// A file of which parts are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    /// The file.
    pub path: PathBuf,
    /// What it was when it was read.
    pub before: String,
    /// What it becomes.
    pub after: String,
    /// How many findings that mends.
    pub mended: usize,
}

/// A file by the first of its paths, its text, and what replaces which parts of it.
type FileFixes<'f> = (PathBuf, String, Vec<(Span, &'f str)>);

/// The files that change when all that is mended for certain is. Of two fixes of the same text the first counts.
///
/// `real` says which file a path leads to: what is read by several links is one file, and is mended once.
#[must_use]
pub fn fixed_files(
    report: &CheckReport,
    sources: &SourceMap,
    real: impl Fn(&Path) -> PathBuf,
) -> Vec<FixedFile> {
    let mut by_file: BTreeMap<PathBuf, FileFixes<'_>> = BTreeMap::new();
    for (place, replacement) in report.findings.iter().filter_map(|finding| replaced(finding, sources)) {
        let Some(source) = sources.get(place.source) else { continue };
        let new = || (source.name().to_path_buf(), source.text().to_string(), Vec::new());
        by_file.entry(real(source.name())).or_insert_with(new).2.push((place, replacement));
    }
    by_file.into_values().map(|(path, before, fixes)| fixed(path, before, fixes)).collect()
}

/// What replaces which part of a file; none where it stands in a text that is written otherwise in its file.
fn replaced<'f>(finding: &'f Diagnostic, sources: &SourceMap) -> Option<(Span, &'f str)> {
    let fix = finding.known_fix().filter(|fix| fix.applicability == Applicability::Certain)?;
    let outer = sources.outermost(fix.span);
    let is_same = sources.written(outer) == sources.written(fix.span);
    (is_same && !fix.replacement.contains('\n')).then_some((outer, fix.replacement.as_str()))
}

fn fixed(path: PathBuf, before: String, mut fixes: Vec<(Span, &str)>) -> FixedFile {
    fixes.sort_by_key(|(span, _)| (span.start, span.end));
    fixes.dedup_by_key(|(span, _)| (span.start, span.end));
    let (mut after, mut from, mut mended) = (String::with_capacity(before.len()), 0, 0);
    for (span, replacement) in fixes {
        let (start, end) = (span.start as usize, span.end as usize);
        let Some(kept) = before.get(from..start).filter(|_| end <= before.len()) else { continue };
        after.extend([kept, replacement]);
        from = end;
        mended += 1;
    }
    after.push_str(before.get(from..).unwrap_or_default());
    FixedFile { path, before, after, mended }
}
