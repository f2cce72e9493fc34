//! Which file, which bytes: the texts that nodes come from.
//!
//! Owns the texts, says as whose they are read and what of them may be shown, and turns byte ranges into lines and
//! columns. Knows nothing of YAML.

mod kustomization;
mod password;
mod secrecy;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

pub use self::kustomization::{KUSTOMIZATION_FILES, is_kustomization};
pub(crate) use self::password::without_passwords;
use self::secrecy::is_secret_line;
pub(crate) use self::secrecy::{
    Marker, PLAIN_KEYS, documents, has_sign, is_credential_key, is_env_file, is_prose, mark_secret_lines,
    mark_torn,
};
pub use self::secrecy::{SecretRanges, is_secret_key};

/// Whose reader is followed, where kustomize and kubectl make different values of the same text.
///
/// kustomize reads YAML 1.2 with some of 1.1; kubectl reads YAML 1.1, makes JSON of it, and also takes several
/// JSON objects one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reading {
    /// kustomize's, for what a kustomization loads: `yes`, `on` and `y` are strings, dates become times, keys that
    /// are no strings are errors, and a map's own fields win over those of `<<`.
    #[default]
    Kustomize,
    /// kubectl's, for plain manifests: `yes`, `on` and `y` are booleans, dates stay the text that they are, keys
    /// become strings (`n` is `"false"`, `1` is `"1"`), and fields win over those of a `<<` above them.
    Kubectl,
}

impl Reading {
    /// As whose text a file is read that lies among files that are read this way: kustomizations are read by
    /// kustomize alone.
    #[must_use]
    pub fn of_file(self, path: &Path) -> Self {
        if is_kustomization(path) { Self::Kustomize } else { self }
    }
}

/// Names one text of a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SourceId(u32);

impl SourceId {
    /// The id as a number, to carry it through serde.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The id of a number that [`SourceId::number`] gave.
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A half-open byte range `start..end` of one text.
///
/// The default span, `0..0` of the source 0, stands for "no place": values that a program made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of bytes `start..end` of `source`; offsets past 4 GiB are cut.
    #[must_use]
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let cut = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { source, start: cut(start), end: cut(end) }
    }

    /// Whether this is no place at all: the value was not read from a text.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.source == SourceId::default()
    }

    /// The empty span at this one's start.
    #[must_use]
    pub fn at_start(self) -> Self {
        Self { end: self.start, ..self }
    }
}

/// One text and its name.
#[derive(Debug)]
pub struct Source {
    name: PathBuf,
    text: Arc<str>,
    /// Byte offsets at which lines begin; made on first use, since only messages need it.
    lines: OnceLock<Vec<u32>>,
    /// How many characters begin before each block of bytes, so that places on long lines are found quickly.
    characters: OnceLock<Vec<usize>>,
    /// Returns the parts that are not shown; set when the text is parsed.
    marker: OnceLock<Marker>,
    /// The parts that are not shown; computed on first use.
    hidden: OnceLock<SecretRanges>,
    /// Whether something beside its looks says that it is secret as a whole.
    kept_secret: OnceLock<()>,
    /// Whether a program printed it.
    printed: OnceLock<()>,
    /// Whether something beside its looks says that it is not, but for what is secret by its key.
    shown_plain: OnceLock<()>,
    /// Where it stands, when that is in another text.
    outer: Option<Outer>,
}

/// Says of a text and the scalar of another text that it is the value of, where in this each of its bytes stands.
pub(crate) type Locate = fn(&str, &str) -> Vec<u32>;

/// Where a text stands in another one.
#[derive(Debug)]
struct Outer {
    span: Span,
    locate: Locate,
    /// Where each byte stands in the scalar; found out on first use.
    offsets: OnceLock<Vec<u32>>,
}

impl Outer {
    /// Where a part of `inner` stands in the text that has the scalar.
    fn place_of(&self, part: Span, inner: &str, outer: &str) -> Span {
        let offsets = self.offsets.get_or_init(|| {
            let scalar = outer.get(self.span.start as usize..self.span.end as usize).unwrap_or_default();
            (self.locate)(inner, scalar)
        });
        let at = |offset: u32| self.span.start.saturating_add(offset);
        let behind = |i: u32| offsets.get(i as usize).map_or(self.span.end, |&offset| at(offset) + 1);
        let start = match offsets.get(part.start as usize) {
            Some(&offset) => at(offset),
            None => part.start.checked_sub(1).map_or(self.span.start, behind),
        };
        let end = if part.end > part.start { behind(part.end - 1).max(start) } else { start };
        Span { source: self.span.source, start, end }
    }
}

/// Values of so few characters are no secrets, and are part of many words.
const SHORT: usize = 2;

/// How many bytes a block has at whose start characters were counted.
const BLOCK: usize = 4096;

impl Source {
    /// The path as the user would write it, or a name such as `<stdin>`.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether a line (from 1) may be shown: it holds no secret, by the looks of the text and by what names it.
    #[must_use]
    pub fn may_show(&self, line: usize) -> bool {
        if self.is_kept_secret() {
            return false;
        }
        if self.shown_plain.get().is_some() {
            return !is_secret_line(self.line(line));
        }
        let start = self.line_start(line);
        !self.hidden().overlap(start..start + self.line(line).len())
    }

    /// Returns the parts that are not shown: by the tree of the text, if it was parsed, or else by its words.
    fn hidden(&self) -> &SecretRanges {
        self.hidden.get_or_init(|| match self.marker.get() {
            Some(mark) => mark(&self.name, &self.text),
            None => SecretRanges::of_unparsed(&self.name, &self.text),
        })
    }

    /// Sets how the parts that are not shown are found.
    pub(crate) fn mark_with(&self, marker: Marker) {
        self.marker.get_or_init(|| marker);
    }

    /// Whether [`SourceMap::keep_secret`] was said of it.
    #[must_use]
    pub fn is_kept_secret(&self) -> bool {
        self.kept_secret.get().is_some()
    }

    /// Whether a program printed it, so that no file has it.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        self.printed.get().is_some()
    }

    /// Whether it stands in another text.
    pub fn is_within(&self) -> bool {
        self.outer.is_some()
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
            // A byte order mark is no character of the first line.
            let first = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
            std::iter::once(first).chain(breaks.map(|i| u32::try_from(i + 1).unwrap_or(u32::MAX))).collect()
        })
    }

    /// The line and column of a byte offset, both from 1; columns count characters.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let lines = self.lines();
        let line = lines.partition_point(|&start| start <= offset).max(1);
        let start = lines[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let part = self.text.as_bytes().get(start..end).unwrap_or_default();
        let before = match part.len() {
            0..BLOCK => characters(part),
            // Of a long line, most was counted when another place in it was asked for.
            _ => self.characters_before(end) - self.characters_before(start),
        };
        (line, before + 1)
    }

    /// How many characters begin before a byte offset.
    fn characters_before(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let blocks = self.characters.get_or_init(|| {
            let sums = bytes.chunks(BLOCK).scan(0, |sum, block| {
                *sum += characters(block);
                Some(*sum)
            });
            std::iter::once(0).chain(sums).collect()
        });
        let block = offset / BLOCK;
        blocks.get(block).map_or(0, |before| before + characters(&bytes[block * BLOCK..offset]))
    }

    /// The byte at which a line (from 1) begins; 0 when there is no such line.
    #[must_use]
    pub fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|i| self.lines().get(i)).map_or(0, |start| *start as usize)
    }

    /// The text of a line (from 1), without its line break; empty when there is no such line.
    #[must_use]
    pub fn line(&self, line: usize) -> &str {
        let lines = self.lines();
        let Some(&start) = line.checked_sub(1).and_then(|i| lines.get(i)) else { return "" };
        let end = lines.get(line).map_or(self.text.len(), |&next| next as usize);
        self.text.get(start as usize..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// How many characters begin in bytes of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// All texts of one run. Shared by threads; texts are only ever added.
///
/// ```
/// use smp_text::source::SourceMap;
/// use smp_text::yaml::{ParseOptions, parse_one};
///
/// let sources = SourceMap::default();
/// let id = sources.add("web.yaml", "kind: Deployment\nspec:\n  replicas: 3\n");
/// let node = parse_one(&sources, id, ParseOptions::kubectl())?;
/// let replicas = node.get_path(&["spec", "replicas"]).expect("it is there");
/// assert_eq!(sources.describe(replicas.span()).as_deref(), Some("web.yaml:3:13"));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    sources: Arc<RwLock<Vec<Arc<Source>>>>,
    /// Texts that were copied out of Secrets.
    secrets: Arc<RwLock<BTreeSet<String>>>,
}

impl SourceMap {
    /// Adds a text and returns its id.
    pub fn add(&self, name: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> SourceId {
        self.add_source(name.into(), text.into(), None)
    }

    /// Adds a text that is the value of a scalar of another text, and returns its id. Places in it are told as
    /// places there, which `locate` finds.
    pub(crate) fn add_within(
        &self,
        name: impl Into<PathBuf>,
        text: impl Into<Arc<str>>,
        at: Span,
        locate: Locate,
    ) -> SourceId {
        let outer = (!at.is_none()).then(|| Outer { span: at, locate, offsets: OnceLock::new() });
        self.add_source(name.into(), text.into(), outer)
    }

    fn add_source(&self, name: PathBuf, text: Arc<str>, outer: Option<Outer>) -> SourceId {
        let source = Source {
            name,
            text,
            lines: OnceLock::new(),
            characters: OnceLock::new(),
            marker: OnceLock::new(),
            hidden: OnceLock::new(),
            kept_secret: OnceLock::new(),
            printed: OnceLock::new(),
            shown_plain: OnceLock::new(),
            outer,
        };
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        sources.push(Arc::new(source));
        SourceId(u32::try_from(sources.len()).unwrap_or(u32::MAX))
    }

    /// The texts so far that are not within others, in the order in which they were added.
    #[must_use]
    pub fn outer_texts(&self) -> Vec<SourceId> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        let ids = (1..).zip(sources.iter()).filter(|(_, source)| source.outer.is_none());
        ids.map(|(number, _)| SourceId(number)).collect()
    }

    /// The text behind an id; none for the id of values that a program made.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<Arc<Source>> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        id.0.checked_sub(1).and_then(|i| sources.get(i as usize)).cloned()
    }

    /// Keeps all lines of a text out of messages: whoever names it says that it is secret.
    pub fn keep_secret(&self, id: SourceId) {
        if let Some(source) = self.get(id) {
            source.kept_secret.get_or_init(|| ());
        }
    }

    /// Hides a value that is copied out of a Secret, wherever a report would show it: a name, a label, a field path.
    /// Values of one or two characters are left alone.
    pub fn hide_value(&self, value: &str) {
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        let lines = value.lines().map(str::trim).chain([value.trim()]);
        for line in lines.filter(|line| line.chars().count() > SHORT) {
            secrets.insert(line.to_string());
            secrets.insert(line.escape_debug().to_string());
        }
    }

    /// Returns a report without the values that were copied out of Secrets.
    #[must_use]
    pub fn without_hidden_values<'t>(&self, report: &'t str) -> Cow<'t, str> {
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<&String> =
            secrets.iter().filter(|secret| report.contains(secret.as_str())).collect();
        // A value may contain another one.
        found.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        let mask = |text: Cow<'t, str>, secret: &&String| Cow::Owned(text.replace(secret.as_str(), "***"));
        found.iter().fold(Cow::Borrowed(report), mask)
    }

    /// Returns whether the value at a location may be part of a Secret, whatever stands beside it on its line.
    #[must_use]
    pub fn is_secret(&self, span: Span) -> bool {
        let span = self.outermost(span);
        self.get(span.source).is_some_and(|source| {
            source.is_kept_secret() || source.hidden().overlap(span.start as usize..span.end as usize)
        })
    }

    /// Adds what a program printed, and returns its id.
    pub fn add_printed(&self, name: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> SourceId {
        let id = self.add(name, text);
        if let Some(source) = self.get(id) {
            source.printed.get_or_init(|| ());
        }
        id
    }

    /// Lets messages show the lines of a text whatever it looks like, but for those that are secret by their key:
    /// whoever names it knows that it is about nothing that holds secrets. What [`SourceMap::keep_secret`] was said of
    /// stays hidden.
    pub fn show_plain(&self, id: SourceId) {
        if let Some(source) = self.get(id) {
            source.shown_plain.get_or_init(|| ());
        }
    }

    /// What is written at a place; none for what is no place.
    pub fn written(&self, span: Span) -> Option<String> {
        let source = self.get(span.source)?;
        source.text().get(span.start as usize..span.end as usize).map(str::to_string)
    }

    /// Returns whether all lines of a location may be shown; true for values that were not read from a text.
    #[must_use]
    pub fn may_show(&self, span: Span) -> bool {
        if self.get(span.source).is_some_and(|source| source.is_kept_secret()) {
            return false;
        }
        // A text within another one is marked there, where more is known about it.
        let span = self.outermost(span);
        self.get(span.source).is_none_or(|source| {
            let [first, last] = [span.start, span.end].map(|at| source.line_column(at).0);
            (first..=last).all(|line| source.may_show(line))
        })
    }

    /// The place of a span in a text that stands in no other.
    #[must_use]
    pub fn outermost(&self, mut span: Span) -> Span {
        while let Some(inner) = self.get(span.source)
            && let Some(at) = &inner.outer
            && let Some(outer) = self.get(at.span.source)
        {
            span = at.place_of(span, &inner.text, &outer.text);
        }
        span
    }

    /// `path:line:column` of a span's start, or none when the span is no place.
    #[must_use]
    pub fn describe(&self, span: Span) -> Option<String> {
        let span = self.outermost(span);
        let source = self.get(span.source)?;
        let (line, column) = source.line_column(span.start);
        Some(format!("{}:{line}:{column}", source.name().display()))
    }
}

/// A path as it is written by someone in a directory: with `..` where both lie in one directory that is not the
/// root, as it is where they do not, or where it is relative already.
pub fn as_seen_from<'p>(path: &'p Path, directory: &Path) -> Cow<'p, Path> {
    if let Ok(below) = path.strip_prefix(directory) {
        return if below.as_os_str().is_empty() { Path::new(".").into() } else { below.into() };
    }
    let shared = path.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let is_root = |part: Component<'_>| matches!(part, Component::RootDir | Component::Prefix(_));
    if directory.components().take(shared).all(is_root) {
        return path.into();
    }
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect::<PathBuf>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_directories() {
        let table = [
            ("/home/me/a/b.yaml", "a/b.yaml"),
            ("/home/me", "."),
            ("/home/you/b.yaml", "../you/b.yaml"),
            ("/home", ".."),
            ("/etc/b.yaml", "/etc/b.yaml"),
            ("a/b.yaml", "a/b.yaml"),
        ];
        for (path, want) in table {
            assert_eq!(as_seen_from(Path::new(path), Path::new("/home/me")), Path::new(want), "{path}");
        }
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let map = SourceMap::default();
        let id = map.add("a.yaml", "a: 1\r\né: 2\n");
        let source = map.get(id).expect("just added");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(6), (2, 1));
        assert_eq!(source.line_column(8), (2, 2), "é is two bytes and one column");
        let marked = SourceMap::default();
        let marked = marked.get(marked.add("a.yaml", "\u{feff}ab: c\nd")).expect("there");
        let places = [0, 3, 4, 9].map(|at| marked.line_column(at));
        assert_eq!((places, marked.line(1)), ([(1, 1), (1, 1), (1, 2), (2, 1)], "ab: c"), "no mark counts");
        assert_eq!(source.line(1), "a: 1");
        assert_eq!(source.line(2), "é: 2");
        assert_eq!(source.line(9), "");
        assert_eq!(map.describe(Span::new(id, 6, 7)).as_deref(), Some("a.yaml:2:1"));
    }

    #[test]
    fn columns_of_long_lines_count_characters() {
        let map = SourceMap::default();
        let text = format!("é\n{}", "aé☃😀".repeat(5000));
        let source = map.get(map.add("a.yaml", text.as_str())).expect("just added");
        for (before, (at, _)) in text[3..].char_indices().enumerate().step_by(379) {
            let at = u32::try_from(at + 3).expect("short");
            assert_eq!(source.line_column(at), (2, before + 1));
        }
        assert_eq!(source.line_column(u32::MAX), (2, 20_001));
    }

    #[test]
    fn no_place_has_no_description() {
        let map = SourceMap::default();
        map.add("a.yaml", "a: 1");
        assert!(Span::default().is_none());
        assert_eq!(map.describe(Span::default()), None);
    }
}
