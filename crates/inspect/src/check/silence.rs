//! Comments that silence findings: `# smp:ignore CODE why`, on the line of the finding or alone on the line above.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memmem;
use rustc_hash::FxHashMap;

use super::registry::{code_named, nearest_code};
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_text::source::{Source, SourceId, SourceMap, Span, is_kustomization};
use smp_text::yaml::comment_starts;

const WORD: &str = "smp:ignore";

/// A comment.
#[derive(Debug)]
struct Silence {
    codes: Vec<Result<Code, String>>,
    /// The line that it speaks of, from 1.
    line: usize,
    at: Span,
    is_used: bool,
    /// Whether it is text of a scalar, which may be YAML itself.
    is_in_value: bool,
    /// Whether such a text may be for other programs, as in a ConfigMap.
    is_foreign: bool,
}

/// The comments of the texts of a run; each text is looked through when something is found in it.
#[derive(Debug, Default)]
pub(super) struct Silences {
    by_source: FxHashMap<SourceId, Vec<Silence>>,
}

impl Silences {
    /// Whether a finding at a place is suppressed; the comment counts as used then.
    ///
    /// The text of a scalar has no comments, unless it is YAML in which the finding is, such as an inline patch.
    pub(super) fn cover(&mut self, code: Code, place: Span, sources: &SourceMap) -> bool {
        let outer = sources.outermost(place);
        let by_comment = self.use_at(code, outer, sources, |silence| !silence.is_in_value);
        if outer.source == place.source || !self.use_at(code, place, sources, |silence| !silence.is_in_value)
        {
            return by_comment;
        }
        self.use_at(code, outer, sources, |silence| silence.is_in_value);
        true
    }

    /// Whether one of the comments for the line of a place suppresses a rule; all of them count as used.
    fn use_at(
        &mut self,
        code: Code,
        place: Span,
        sources: &SourceMap,
        may_cover: impl Fn(&Silence) -> bool,
    ) -> bool {
        let Some(source) = sources.get(place.source) else { return false };
        let (line, _) = source.line_column(place.start);
        let silences = self.of(place.source, &source);
        // They are sorted by line.
        let first = silences.partition_point(|silence| silence.line < line);
        let here = silences[first..].iter_mut().take_while(|silence| silence.line == line);
        let mut covers = false;
        for silence in here.filter(|silence| may_cover(silence) && silence.codes.contains(&Ok(code))) {
            silence.is_used = true;
            covers = true;
        }
        covers
    }

    fn of(&mut self, id: SourceId, source: &Arc<Source>) -> &mut [Silence] {
        self.by_source.entry(id).or_insert_with(|| read(id, source))
    }

    /// What is to be said of comments that silenced nothing of what was asked, or name no rule. A text may have been
    /// read twice.
    pub(super) fn unused(
        &mut self,
        unused: Code,
        sources: &SourceMap,
        is_asked: impl Fn(Code) -> bool,
    ) -> Vec<Diagnostic> {
        let mut all: BTreeMap<(PathBuf, u32), &Silence> = BTreeMap::new();
        for id in sources.outer_texts() {
            let Some(source) = sources.get(id) else { continue };
            self.of(id, &source);
        }
        let is_outer = |silence: &&Silence| sources.outermost(silence.at).source == silence.at.source;
        for silence in self.by_source.values().flatten().filter(is_outer) {
            let Some(source) = sources.get(silence.at.source) else { continue };
            let known = all.entry((source.name().to_path_buf(), silence.at.start)).or_insert(silence);
            if silence.is_used {
                *known = silence;
            }
        }
        let told = |silence: &&Silence| {
            let unknown = silence.codes.iter().find_map(|code| code.as_ref().err());
            let unknown = unknown.filter(|_| !silence.is_foreign);
            if let Some(name) = unknown {
                let message = match name.as_str() {
                    "" => "this comment names no rule".to_string(),
                    name => format!("this comment names `{name}`, and no rule is called so"),
                };
                let help = match nearest_code(name) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write it as `# smp:ignore CODE why`".to_string(),
                };
                return Some(Diagnostic::warning(unused, message).at(silence.at).help(help));
            }
            let message = "this comment silences nothing";
            let codes = || silence.codes.iter().flatten().copied();
            (!silence.is_used && !silence.is_foreign && codes().all(&is_asked))
                .then(|| Diagnostic::warning(unused, message).at(silence.at).help("remove the comment"))
        };
        all.values().filter_map(told).collect()
    }
}

/// What builds warn of without what comments silence. What stops them stays.
#[must_use]
pub fn unsilenced(warnings: Vec<Diagnostic>, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut silences = Silences::default();
    let mut is_silent = |warning: &Diagnostic| {
        let place = warning.labels().first().map(|label| label.span);
        place.is_some_and(|place| silences.cover(warning.code(), place, sources))
    };
    let is_kept = |warning: &Diagnostic| warning.severity() == Severity::Error || !is_silent(warning);
    warnings.into_iter().filter(is_kept).collect()
}

/// The comments of a text, and what looks like one in its scalars, by line.
fn read(id: SourceId, source: &Source) -> Vec<Silence> {
    let text = source.text();
    let mut all = Vec::new();
    let starts = LazyCell::new(|| comment_starts(text));
    for start in memmem::find_iter(text.as_bytes(), WORD) {
        let (line, _) = source.line_column(u32::try_from(start).unwrap_or(u32::MAX));
        let from = source.line_start(line);
        let before = &text[from..start];
        // A comment begins at a `#` behind a space or at the start of the line.
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
        all.push(Silence {
            codes: codes.map(|name| code_named(name).ok_or_else(|| name.to_string())).collect(),
            // Alone on a line it speaks of the one below.
            line: if lead.trim().is_empty() { line + 1 } else { line },
            at: Span::new(id, from + sign, start + WORD.len()),
            is_used: false,
            is_in_value,
            is_foreign: is_in_value && !is_kustomization(source.name()),
        });
    }
    all.sort_by_key(|silence| silence.line);
    all
}
