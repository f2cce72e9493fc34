//! Source texts and positions in them.
//!
//! Owns the texts, the choice of the YAML parser ([`Reading`]), the parts that messages must not show, and the mapping
//! of byte ranges to lines and columns. Must not depend on YAML.

mod kustomization;
mod secrecy;
mod secret_values;
mod url_secrets;

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;

pub use self::kustomization::{KUSTOMIZATION_FILES, is_kustomization};
use self::secrecy::is_secret_line;
pub(crate) use self::secrecy::{
    Marker, PLAIN_KEYS, documents, has_sign, is_credential_key, is_env_file, is_prose, mark_secret_lines,
    mark_unparsed,
};
pub use self::secrecy::{SecretRanges, is_secret_key};
pub use self::secret_values::SecretValues;
pub(crate) use self::url_secrets::mask_url_secrets;

/// The parser whose behavior is used when kustomize and kubectl read different values from the same text.
///
/// kustomize parses YAML 1.2 with parts of 1.1. kubectl parses YAML 1.1, converts it to JSON, and also accepts
/// several concatenated JSON objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reading {
    /// kustomize's parser, for files that a kustomization loads. `yes`, `on` and `y` are strings. Dates become times.
    /// Keys that are not strings are errors. A map's own fields override those of `<<`.
    #[default]
    Kustomize,
    /// kubectl's parser, for plain manifests. `yes`, `on` and `y` are booleans. Dates keep their text. Keys become
    /// strings (`n` is `"false"`, `1` is `"1"`). Fields override those of a `<<` above them.
    Kubectl,
}

impl Reading {
    /// Returns the reading of a file among files with this reading. Kustomization files are always read like kustomize
    /// does.
    #[must_use]
    pub fn for_file(self, path: &Path) -> Self {
        if is_kustomization(path) { Self::Kustomize } else { self }
    }
}

/// The ID of a text in a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SourceId(u32);

impl SourceId {
    /// Returns the ID as a number, to pass it through serde.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Creates an ID from a number that [`SourceId::number`] returned.
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A half-open byte range `start..end` of a text.
///
/// The default span, `0..0` of source 0, means "no location". Generated values have this span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// The first byte.
    pub start: u32,
    /// The end, which is exclusive.
    pub end: u32,
}

impl Span {
    /// Creates the span of bytes `start..end` of `source`; offsets beyond 4 GiB are truncated.
    #[must_use]
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let cut = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { source, start: cut(start), end: cut(end) }
    }

    /// Returns true if there is no location, because the value was not read from a text.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.source == SourceId::default()
    }

    /// Returns the empty span at the start of this one.
    #[must_use]
    pub fn at_start(self) -> Self {
        Self { end: self.start, ..self }
    }
}

/// A text and its name.
#[derive(Debug)]
pub struct Source {
    name: PathBuf,
    text: Arc<str>,
    /// The byte offsets of line starts. Computed on first use, since they are only needed for messages.
    lines: OnceLock<Vec<u32>>,
    /// The number of characters before each block of bytes, for the fast computation of columns in long lines.
    characters: OnceLock<Vec<usize>>,
    /// The function that returns the hidden parts. Set when the text is parsed.
    marker: OnceLock<Marker>,
    /// The hidden parts. Computed on first use.
    hidden: OnceLock<SecretRanges>,
    /// Set if the whole text was marked as secret.
    marked_secret: OnceLock<()>,
    /// Set if the text is the output of a program.
    printed: OnceLock<()>,
    /// Set if the text was marked as not secret, except for secret keys.
    marked_public: OnceLock<()>,
    /// The position in the enclosing text, if the text is embedded in another one.
    enclosing: Option<Enclosing>,
}

/// A function that returns the offset of each byte of an embedded text in the scalar of the enclosing text. Its
/// arguments are the embedded text and the scalar.
pub(crate) type Locate = fn(&str, &str) -> Vec<u32>;

/// The position of an embedded text in the enclosing one.
#[derive(Debug)]
struct Enclosing {
    span: Span,
    locate: Locate,
    /// The offset of each byte in the scalar. Computed on first use.
    offsets: OnceLock<Vec<u32>>,
}

impl Enclosing {
    /// Maps a part of `inner` to the enclosing text.
    fn map_span(&self, part: Span, inner: &str, outer: &str) -> Span {
        let offsets = self.offsets.get_or_init(|| {
            let scalar = outer.get(self.span.start as usize..self.span.end as usize).unwrap_or_default();
            (self.locate)(inner, scalar)
        });
        let at = |offset: u32| self.span.start.saturating_add(offset);
        let after = |i: u32| offsets.get(i as usize).map_or(self.span.end, |&offset| at(offset) + 1);
        let start = match offsets.get(part.start as usize) {
            Some(&offset) => at(offset),
            None => part.start.checked_sub(1).map_or(self.span.start, after),
        };
        let end = if part.end > part.start { after(part.end - 1).max(start) } else { start };
        Span { source: self.span.source, start, end }
    }
}

/// The size in bytes of a block for character counts.
const BLOCK: usize = 4096;

impl Source {
    /// Returns the path as the user would write it, or a name such as `<stdin>`.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the whole text.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns true if a line (starting at 1) may be shown, because it contains no secret.
    #[must_use]
    pub fn may_show(&self, line: usize) -> bool {
        if self.is_marked_secret() {
            return false;
        }
        if self.marked_public.get().is_some() {
            return !is_secret_line(self.line(line));
        }
        let start = self.line_start(line);
        !self.hidden().overlap(start..start + self.line(line).len())
    }

    /// Returns the hidden parts. If the text was parsed, they are determined by its tree, otherwise by its words.
    fn hidden(&self) -> &SecretRanges {
        self.hidden.get_or_init(|| match self.marker.get() {
            Some(mark) => mark(&self.name, &self.text),
            None => SecretRanges::of_unparsed(&self.name, &self.text),
        })
    }

    /// Returns true if a part of the text may be part of a Secret.
    fn hides(&self, part: Span) -> bool {
        if self.marked_public.get().is_some() {
            let [first, last] = [part.start, part.end].map(|at| self.line_column(at).0);
            return (first..=last).any(|line| !self.may_show(line));
        }
        self.hidden().overlap(part.start as usize..part.end as usize)
    }

    /// Sets the function that finds the hidden parts.
    pub(crate) fn mark_with(&self, marker: Marker) {
        self.marker.get_or_init(|| marker);
    }

    /// Returns true if the text was marked with [`SourceMap::mark_secret`].
    #[must_use]
    pub fn is_marked_secret(&self) -> bool {
        self.marked_secret.get().is_some()
    }

    /// Returns true if the text is the output of a program and not in a file.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        self.printed.get().is_some()
    }

    /// Returns true if the text is embedded in another one.
    pub fn is_embedded(&self) -> bool {
        self.enclosing.is_some()
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
            // A byte order mark is not counted as a character of the first line.
            let first = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
            std::iter::once(first).chain(breaks.map(|i| u32::try_from(i + 1).unwrap_or(u32::MAX))).collect()
        })
    }

    /// Returns the line and column of a byte offset. Both start at 1, and columns count characters.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let lines = self.lines();
        let line = lines.partition_point(|&start| start <= offset).max(1);
        let start = lines[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let part = self.text.as_bytes().get(start..end).unwrap_or_default();
        let before = match part.len() {
            0..BLOCK => characters(part),
            // For long lines, the numbers of characters in blocks are computed once.
            _ => self.characters_before(end) - self.characters_before(start),
        };
        (line, before + 1)
    }

    /// Returns the number of characters before a byte offset.
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

    /// Returns the byte offset of a line (starting at 1), or 0 if there is no such line.
    #[must_use]
    pub fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|i| self.lines().get(i)).map_or(0, |start| *start as usize)
    }

    /// Returns a line (starting at 1) without its line break. Returns an empty string if there is no such line.
    #[must_use]
    pub fn line(&self, line: usize) -> &str {
        let lines = self.lines();
        let Some(&start) = line.checked_sub(1).and_then(|i| lines.get(i)) else { return "" };
        let end = lines.get(line).map_or(self.text.len(), |&next| next as usize);
        self.text.get(start as usize..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// Counts the characters that start in UTF-8 bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// All texts of one run. The map is shared by threads, and texts are never removed from it: [`SourceMap::retained`]
/// returns another map.
///
/// ```
/// use smp_text::source::SourceMap;
/// use smp_text::yaml::{ParseOptions, parse_one};
///
/// let sources = SourceMap::default();
/// let id = sources.add("web.yaml", "kind: Deployment\nspec:\n  replicas: 3\n");
/// let node = parse_one(&sources, id, ParseOptions::kubectl())?;
/// let replicas = node.get_path(&["spec", "replicas"]).expect("exists");
/// assert_eq!(sources.describe(replicas.span()).as_deref(), Some("web.yaml:3:13"));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    /// The text of each ID; `None` for a text that was not retained.
    sources: Arc<RwLock<Vec<Option<Arc<Source>>>>>,
    /// The IDs of retained texts.
    retained: Arc<FxHashMap<SourceKey, SourceId>>,
    /// The values that were copied from Secrets.
    secrets: Arc<RwLock<SecretValues>>,
}

/// The name and the text of a source, and its position in the enclosing text.
type SourceKey = (PathBuf, Arc<str>, Option<Span>);

/// The keys of reports whose values never come from an input.
const CONSTANT_KEYS: [&str; 9] = [
    "$schema",
    "code",
    "columnKind",
    "informationUri",
    "level",
    "ruleId",
    "semanticVersion",
    "severity",
    "version",
];

impl SourceMap {
    /// Adds a text and returns its ID.
    pub fn add(&self, name: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> SourceId {
        self.add_source(name.into(), text.into(), None)
    }

    /// Adds a text embedded in a scalar of another text, and returns its ID. Its locations are reported as locations in
    /// the enclosing text, which `locate` computes.
    pub(crate) fn add_embedded(
        &self,
        name: impl Into<PathBuf>,
        text: impl Into<Arc<str>>,
        at: Span,
        locate: Locate,
    ) -> SourceId {
        let outer = (!at.is_none()).then(|| Enclosing { span: at, locate, offsets: OnceLock::new() });
        self.add_source(name.into(), text.into(), outer)
    }

    fn add_source(&self, name: PathBuf, text: Arc<str>, outer: Option<Enclosing>) -> SourceId {
        let (name, text) = if self.retained.is_empty() {
            (name, text)
        } else {
            let key = (name, text, outer.as_ref().map(|outer| outer.span));
            if let Some(id) = self.retained.get(&key) {
                return *id;
            }
            (key.0, key.1)
        };
        let source = Source {
            name,
            text,
            lines: OnceLock::new(),
            characters: OnceLock::new(),
            marker: OnceLock::new(),
            hidden: OnceLock::new(),
            marked_secret: OnceLock::new(),
            printed: OnceLock::new(),
            marked_public: OnceLock::new(),
            enclosing: outer,
        };
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        sources.push(Some(Arc::new(source)));
        SourceId(u32::try_from(sources.len()).unwrap_or(u32::MAX))
    }

    /// Returns a map for another run. It keeps the top-level texts for which a function returns true, and the texts
    /// embedded in them. These texts keep their IDs, even when they are added again.
    #[must_use]
    pub fn retained(&self, is_kept: impl Fn(&Source) -> bool) -> Self {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        let mut kept: Vec<Option<Arc<Source>>> = Vec::with_capacity(sources.len());
        for source in sources.iter() {
            let is_kept = |source: &&Arc<Source>| match &source.enclosing {
                // Enclosing texts come before embedded ones.
                Some(outer) => {
                    (outer.span.source.0 as usize).checked_sub(1).is_some_and(|i| kept[i].is_some())
                }
                None => is_kept(source),
            };
            let source = source.as_ref().filter(is_kept).cloned();
            kept.push(source);
        }
        let key = |source: &Source| {
            (source.name.clone(), Arc::clone(&source.text), source.enclosing.as_ref().map(|outer| outer.span))
        };
        let retained =
            (1..).zip(&kept).filter_map(|(id, source)| Some((key(source.as_ref()?), SourceId(id))));
        let retained = Arc::new(retained.collect());
        Self { sources: Arc::new(RwLock::new(kept)), retained, secrets: Arc::default() }
    }

    /// Returns the texts that are not embedded in others, in the order in which they were added.
    #[must_use]
    pub fn top_level_texts(&self) -> Vec<SourceId> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        let is_top_level = |source: &Arc<Source>| source.enclosing.is_none();
        let ids = (1..).zip(sources.iter()).filter(|(_, source)| source.as_ref().is_some_and(is_top_level));
        ids.map(|(number, _)| SourceId(number)).collect()
    }

    /// Returns the text of an ID, or `None` for the ID of generated values.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<Arc<Source>> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        id.0.checked_sub(1).and_then(|i| sources.get(i as usize)).cloned().flatten()
    }

    /// Marks a text as secret, so that messages show none of its lines.
    pub fn mark_secret(&self, id: SourceId) {
        if let Some(source) = self.get(id) {
            source.marked_secret.get_or_init(|| ());
        }
    }

    /// Masks a value that was copied from a Secret in all output, including names, labels and field paths. Values of
    /// one or two characters are not masked.
    pub fn hide_value(&self, value: &str) {
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).add(value);
    }

    /// Returns true if there are values to mask.
    #[must_use]
    pub fn has_hidden_values(&self) -> bool {
        !self.secrets.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Masks the values in a text that were copied from Secrets.
    #[must_use]
    pub fn without_hidden_values<'t>(&self, report: &'t str) -> Cow<'t, str> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner).mask(report)
    }

    /// Masks the values in the strings of a JSON report that were copied from Secrets.
    #[must_use]
    pub fn json_without_hidden_values<'t>(&self, report: &'t str) -> Cow<'t, str> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner).mask_json(report, &[])
    }

    /// Masks a JSON or SARIF report of findings like [`SourceMap::json_without_hidden_values`], except for the
    /// severities, codes and URLs of this program.
    #[must_use]
    pub fn findings_without_hidden_values<'t>(&self, report: &'t str) -> Cow<'t, str> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner).mask_json(report, &CONSTANT_KEYS)
    }

    /// Returns true if the value at a location may be part of a Secret. The rest of its line is ignored.
    #[must_use]
    pub fn is_secret(&self, span: Span) -> bool {
        let span = self.outermost(span);
        self.get(span.source).is_some_and(|source| source.is_marked_secret() || source.hides(span))
    }

    /// Adds the output of a program and returns its ID.
    pub fn add_printed(&self, name: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> SourceId {
        let id = self.add(name, text);
        if let Some(source) = self.get(id) {
            source.printed.get_or_init(|| ());
        }
        id
    }

    /// Marks a text as not secret, because the caller knows that its objects contain no secrets. Messages then show its
    /// lines, except those with secret keys. A text that was marked with [`SourceMap::mark_secret`] remains hidden.
    pub fn mark_public(&self, id: SourceId) {
        if let Some(source) = self.get(id) {
            source.marked_public.get_or_init(|| ());
        }
    }

    /// Returns the text at a location, or `None` for an empty location.
    pub fn text_at(&self, span: Span) -> Option<String> {
        let source = self.get(span.source)?;
        source.text().get(span.start as usize..span.end as usize).map(str::to_string)
    }

    /// Returns true if all lines of a location may be shown. Generated values may always be shown.
    #[must_use]
    pub fn may_show(&self, span: Span) -> bool {
        if self.get(span.source).is_some_and(|source| source.is_marked_secret()) {
            return false;
        }
        // The secrets of an embedded text are marked in the enclosing text, which has more context.
        let span = self.outermost(span);
        self.get(span.source).is_none_or(|source| {
            let [first, last] = [span.start, span.end].map(|at| source.line_column(at).0);
            (first..=last).all(|line| source.may_show(line))
        })
    }

    /// Maps a span in an embedded text to the outermost enclosing text.
    #[must_use]
    pub fn outermost(&self, mut span: Span) -> Span {
        while let Some(inner) = self.get(span.source)
            && let Some(at) = &inner.enclosing
            && let Some(outer) = self.get(at.span.source)
        {
            span = at.map_span(span, &inner.text, &outer.text);
        }
        span
    }

    /// Returns `path:line:column` of a span's start, or `None` if there is no location.
    #[must_use]
    pub fn describe(&self, span: Span) -> Option<String> {
        let span = self.outermost(span);
        let source = self.get(span.source)?;
        let (line, column) = source.line_column(span.start);
        Some(format!("{}:{line}:{column}", source.name().display()))
    }
}

/// Returns a path relative to a directory, with `..` if needed. A relative path, and a path that has only the root in
/// common with the directory, are returned unchanged.
pub fn relative_path<'p>(path: &'p Path, directory: &Path) -> Cow<'p, Path> {
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
    fn paths_become_relative_to_a_directory() {
        let table = [
            ("/home/me/a/b.yaml", "a/b.yaml"),
            ("/home/me", "."),
            ("/home/you/b.yaml", "../you/b.yaml"),
            ("/home", ".."),
            ("/etc/b.yaml", "/etc/b.yaml"),
            ("a/b.yaml", "a/b.yaml"),
        ];
        for (path, want) in table {
            assert_eq!(relative_path(Path::new(path), Path::new("/home/me")), Path::new(want), "{path}");
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
        let positions = [0, 3, 4, 9].map(|at| marked.line_column(at));
        assert_eq!(
            (positions, marked.line(1)),
            ([(1, 1), (1, 1), (1, 2), (2, 1)], "ab: c"),
            "the byte order mark does not count"
        );
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
    fn retained_texts_keep_their_ids() {
        let map = SourceMap::default();
        let [kept, dropped] = ["kept.yaml", "dropped.yaml"].map(|name| map.add(name, "a: |\n  b: 1\n"));
        let inside =
            |map: &SourceMap, at| map.add_embedded("b", "b: 1", Span::new(at, 3, 12), |_, _| Vec::new());
        let embedded = [kept, dropped].map(|at| inside(&map, at));
        let next = map.retained(|source| source.name() == Path::new("kept.yaml"));
        assert_eq!(next.top_level_texts(), [kept]);
        assert_eq!(embedded.map(|id| next.get(id).is_some()), [true, false]);
        assert_eq!(next.add("kept.yaml", "a: |\n  b: 1\n"), kept);
        assert_eq!(inside(&next, kept), embedded[0]);
        let others = [next.add("kept.yaml", "a: 2"), next.add("dropped.yaml", "a: |\n  b: 1\n")];
        assert!(others.iter().all(|id| *id > embedded[1]), "{others:?}");
    }

    #[test]
    fn default_span_has_no_description() {
        let map = SourceMap::default();
        map.add("a.yaml", "a: 1");
        assert!(Span::default().is_none());
        assert_eq!(map.describe(Span::default()), None);
    }
}
