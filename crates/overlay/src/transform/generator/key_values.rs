//! Key-value pairs from literals, files and env files, for ConfigMaps and Secrets.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::args::GeneratorArgs;
use crate::transform::Files;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::gocompat;
use smp_text::source::{SourceId, Span};
use smp_text::yaml::Spanned;

/// A key, its value in bytes, and the location of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::transform) struct DataPair {
    /// The key.
    pub(in crate::transform) key: String,
    /// The value.
    pub(in crate::transform) value: Vec<u8>,
    /// The location of the literal or of the file path.
    pub(in crate::transform) span: Span,
    /// The location of the value in its file if the file is a recorded source, otherwise the same as `span`.
    pub(in crate::transform) value_span: Span,
    /// The type of the source.
    from: PairOrigin,
}

/// The type of the source of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairOrigin {
    Literal,
    /// A line of an env file, counted from 1.
    Line(usize),
    File,
}

impl DataPair {
    /// Describes the key in messages. The keys of literals and env files are not shown: a malformed one may
    /// be part of a secret.
    fn describe_key(&self) -> String {
        match self.from {
            PairOrigin::Literal => "the key of this literal".to_string(),
            PairOrigin::Line(line) => format!("the key in line {line} of this env file"),
            PairOrigin::File => format!("the key `{}`", self.key),
        }
    }
}

impl GeneratorArgs {
    /// Returns the paths of the files to read. Malformed entries are skipped.
    pub fn file_paths(&self) -> impl Iterator<Item = Spanned<String>> {
        let path_of = |source: &Spanned<String>| {
            let (_, path) = file_source(source).ok()?;
            Some(Spanned::new(path.to_string(), source.span))
        };
        let env = self.env.iter().filter(|path| !path.is_empty() && !self.has_own_file);
        self.envs.iter().chain(env).cloned().chain(self.files.iter().filter_map(path_of))
    }
}

/// Returns all pairs of a generator, sorted by key.
///
/// # Errors
/// The errors of [`load`].
pub(in crate::transform) fn load_sorted(
    args: &GeneratorArgs,
    files: &dyn Files,
) -> Result<WithWarnings<Vec<DataPair>>> {
    let mut pairs = load(args, files)?;
    pairs.value.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(pairs)
}

/// Returns all pairs of a generator: first from env files, then from literals, then from files.
///
/// Warns about keys that the API server rejects; kustomize does not.
///
/// # Errors
/// A source is malformed, a file cannot be read, or a key occurs twice.
fn load(args: &GeneratorArgs, files: &dyn Files) -> Result<WithWarnings<Vec<DataPair>>> {
    let (mut pairs, mut warnings) = (Vec::new(), Vec::new());
    // kustomize appends `env` to `envs`, but not for a generator in a file of its own.
    let env = args.env.as_ref().filter(|path| !path.is_empty());
    if let Some(path) = env.filter(|_| args.has_own_file) {
        let message = "`env` is ignored in a generator's own file, as in kustomize v5.8";
        let help = format!("use `envs: [{}]`", **path);
        warnings.push(Diagnostic::warning(Code::Unsupported, message).at(path.span).help(help));
    }
    for path in args.envs.iter().chain(env.filter(|_| !args.has_own_file)) {
        let content = read(path, path, files)?;
        pairs.extend(env_file(&content, path, files.source_of(path, &content))?);
    }
    for source in &args.literals {
        pairs.push(literal(source)?);
    }
    for source in &args.files {
        let (key, path) = file_source(source)?;
        let value = read(path, source, files)?;
        let value_span =
            files.source_of(path, &value).map_or(source.span, |text| Span::new(text, 0, value.len()));
        pairs.push(DataPair {
            key: key.into(),
            value,
            span: source.span,
            value_span,
            from: PairOrigin::File,
        });
    }
    warnings.extend(check(args, &pairs)?);
    Ok(WithWarnings { value: pairs, warnings })
}

/// Reads the file of an entry. If the entry may be a literal by mistake, the error does not show it, because it may be
/// a secret.
fn read(path: &str, entry: &Spanned<String>, files: &dyn Files) -> Result<Vec<u8>> {
    files.read(path, entry.span).map_err(|error| {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_ending = (1..=10).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_lowercase());
        if is_ending || !entry.contains('=') {
            return error;
        }
        Diagnostic::error(error.code(), "cannot read the file of this entry")
            .at(entry.span)
            .help("use `path` or `key=path`; literal values (`key=value`) belong under `literals`")
    })
}

/// Rejects duplicate keys, and warns about keys that the API server rejects.
fn check(args: &GeneratorArgs, pairs: &[DataPair]) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
    for pair in pairs {
        if let Some(first) = seen.insert(&pair.key, pair.span) {
            let message = format!("{} occurs twice in generator `{}`", pair.describe_key(), *args.name);
            return Err(Diagnostic::error(Code::DuplicateKey, message)
                .label(pair.span, "duplicate")
                .label(first, "first one")
                .help("remove one of them"));
        }
        if !is_data_key(&pair.key) {
            let message = format!("{} is invalid", pair.describe_key());
            let help = "the API server accepts at most 253 letters, digits, `-`, `_` and `.`, but not `.` or a key that begins \
                        with `..`";
            warnings.push(Diagnostic::warning(Code::InvalidValue, message).at(pair.span).help(help));
        }
    }
    Ok(warnings)
}

/// Returns true for a valid key of ConfigMaps and Secrets.
fn is_data_key(key: &str) -> bool {
    let has_valid_characters = key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    has_valid_characters && !key.is_empty() && key.len() <= 253 && key != "." && !key.starts_with("..")
}

/// Parses `key=value`. Quotes around the whole value are removed.
fn literal(source: &Spanned<String>) -> Result<DataPair> {
    let Some((key, value)) = source.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        let problem = if source.contains('=') { "no key before `=`" } else { "no `=`" };
        return Err(Diagnostic::error(Code::InvalidValue, format!("the literal has {problem}"))
            .at(source.span)
            .help("use `key=value`"));
    };
    let value = match value.as_bytes() {
        [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        all => all,
    };
    let (span, from) = (source.span, PairOrigin::Literal);
    Ok(DataPair { key: key.into(), value: value.to_vec(), span, value_span: span, from })
}

/// Parses `path`, whose last part is the key, or `key=path`.
fn file_source(source: &Spanned<String>) -> Result<(Cow<'_, str>, &str)> {
    // The entry may be a literal by mistake, so no message shows it.
    let invalid = |message: &str| {
        Err(Diagnostic::error(Code::InvalidValue, format!("the entry {message}"))
            .at(source.span)
            .help("use `path` or `key=path`; literal values (`key=value`) belong under `literals`"))
    };
    match source.split_once('=') {
        None => Ok((gocompat::path::base(source).into(), source)),
        Some((_, path)) if path.contains('=') => invalid("has more than one `=`"),
        Some(("", _)) => invalid("has no key before `=`"),
        Some((_, "")) => invalid("has no path after `=`"),
        Some((key, path)) => Ok((key.into(), path)),
    }
}

/// Parses an env file with lines `KEY=value`, or `KEY` for an empty value. Values keep their quotes and spaces.
/// `source` is the recorded source of the file, if there is one.
fn env_file(content: &[u8], path: &Spanned<String>, source: Option<SourceId>) -> Result<Vec<DataPair>> {
    let (mut pairs, mut next) = (Vec::new(), 0);
    for (i, line) in content.split(|&b| b == b'\n').enumerate() {
        let start = next;
        next += line.len() + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let end = start + line.len();
        let Ok(line) = str::from_utf8(line) else {
            let message = format!("line {} of the env file {} is not valid UTF-8", i + 1, **path);
            return Err(Diagnostic::error(Code::Syntax, message)
                .at(path.span)
                .help("use `files` for binary content"));
        };
        let line = if i == 0 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        // kustomize trims by Go's `unicode.IsSpace`, which is the same set of characters as in Rust.
        let line = line.trim_start();
        if line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        // A line without a key is skipped like an empty line.
        if !key.is_empty() {
            let from = PairOrigin::Line(i + 1);
            let value_span = source.map_or(path.span, |source| Span::new(source, end - value.len(), end));
            pairs.push(DataPair { key: key.into(), value: value.into(), span: path.span, value_span, from });
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pair: &DataPair) -> (String, String) {
        (pair.key.clone(), String::from_utf8(pair.value.clone()).expect("a text"))
    }

    #[test]
    fn literals_are_parsed() {
        let table = [
            ("a=b", Some(("a", "b"))),
            ("a=", Some(("a", ""))),
            ("a=b=c", Some(("a", "b=c"))),
            ("a=\"x y\"", Some(("a", "x y"))),
            ("a='x\"'", Some(("a", "x\""))),
            ("a='x\"", Some(("a", "'x\""))),
            ("a=\"", Some(("a", "\""))),
            ("a=\"\"", Some(("a", ""))),
            (" a = b ", Some((" a ", " b "))),
            ("a", None),
            ("=b", None),
            ("", None),
        ];
        for (source, want) in table {
            let got = literal(&source.to_string().into()).ok().map(|p| text(&p));
            assert_eq!(got, want.map(|(k, v)| (k.to_string(), v.to_string())), "{source:?}");
        }
    }

    #[test]
    fn file_sources_are_parsed() {
        let table = [
            ("a/b.txt", Some(("b.txt", "a/b.txt"))),
            ("a/", Some(("a", "a/"))),
            ("/", Some(("/", "/"))),
            ("", Some((".", ""))),
            ("k=a/b", Some(("k", "a/b"))),
            ("=a", None),
            ("k=", None),
            ("k=a=b", None),
            ("=", None),
        ];
        for (source, want) in table {
            let source: Spanned<String> = source.to_string().into();
            let got = file_source(&source).ok();
            assert_eq!(got.as_ref().map(|(k, p)| (k.as_ref(), *p)), want, "{source:?}");
        }
    }

    #[test]
    fn env_files_are_parsed() {
        let content = "\u{feff}A=1\r\n  B = \"2\" \n\n=no key\n# C=3\n\tD\n\u{feff}E=1\u{a0}\nF=\r\r";
        let pairs = env_file(content.as_bytes(), &"x.env".to_string().into(), None).expect("valid");
        let got: Vec<_> = pairs.iter().map(text).collect();
        let want = [("A", "1"), ("B ", " \"2\" "), ("D", ""), ("\u{feff}E", "1\u{a0}"), ("F", "\r")];
        assert_eq!(got, want.map(|(k, v)| (k.to_string(), v.to_string())));
        assert!(env_file(b"A=\xff", &"x.env".to_string().into(), None).is_err());
    }

    #[test]
    fn valid_keys_are_those_of_the_api_server() {
        for key in ["a", ".a", "a..b", "-", "A_1.x"] {
            assert!(is_data_key(key), "{key}");
        }
        for key in ["", ".", "..", "..a", "a b", "é"] {
            assert!(!is_data_key(key), "{key}");
        }
    }
}
