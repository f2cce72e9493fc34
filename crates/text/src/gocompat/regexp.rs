//! Go's `regexp`: the regular expression syntax of kustomizations.
//!
//! Rust's syntax is nearly the same. But Rust rejects a brace that is not a repetition, supports set operations within
//! brackets, and matches Unicode with `\w`, `\d`, `\s` and `\b`. Source: <https://pkg.go.dev/regexp/syntax>.

use std::fmt::{self, Write as _};
use std::sync::{LazyLock, PoisonError, RwLock};

use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

/// The maximum repetition count in Go.
const MAX_REPEAT: u32 = 1000;

/// The class names in `[[:alpha:]]`.
const NAMED_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Compiles a regular expression in Go syntax.
///
/// # Errors
/// Go rejects the pattern (the error is the reason), the expression is too large, or a repetition directly follows
/// flags, as in `a(?i)*`. Go applies such a repetition to the expression before the flags.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    static KNOWN: Known<Result<Regex, String>> = Known::new();
    KNOWN.get(pattern, compile_new)
}

fn compile_new(pattern: &str) -> Result<Regex, String> {
    Regex::new(&translation(pattern)?).map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the expression is too large".to_string(),
        error => reason(&error),
    })
}

/// Returns the reason why Go rejects a pattern, or `None` if it is valid. The pattern is not compiled, since that can
/// be slow.
pub fn rejection_reason(pattern: &str) -> Option<String> {
    static KNOWN: Known<Option<String>> = Known::new();
    KNOWN.get(pattern, new_rejection_reason)
}

/// A cache of the results for patterns, since CRDs repeat a few patterns many times.
struct Known<T>(LazyLock<RwLock<FxHashMap<Box<str>, T>>>);

impl<T: Clone> Known<T> {
    /// The maximum number of cached patterns.
    const MAX: usize = 1024;

    const fn new() -> Self {
        Self(LazyLock::new(RwLock::default))
    }

    fn get(&self, pattern: &str, find: fn(&str) -> T) -> T {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(pattern) {
            return known.clone();
        }
        let found = find(pattern);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < Self::MAX {
            known.insert(pattern.into(), found.clone());
        }
        found
    }
}

fn new_rejection_reason(pattern: &str) -> Option<String> {
    let translated = match translation(pattern) {
        Ok(translated) => translated,
        Err(why) => return Some(why.into()),
    };
    // Syntax errors are reported before the size limit.
    match RegexBuilder::new(&translated).size_limit(0).build() {
        Err(regex::Error::CompiledTooBig(_)) | Ok(_) => None,
        // Go applies a repetition after flags to the expression before them.
        Err(_) if pattern.contains(")*") && pattern.contains("(?") => None,
        Err(error) => Some(reason(&error)),
    }
}

fn translation(pattern: &str) -> Translated<String> {
    let mut translation =
        Translation { rest: pattern, out: String::new(), repeated: false, has_named_classes: true };
    while !translation.rest.is_empty() {
        translation.piece()?;
    }
    Ok(translation.out)
}

/// Returns the last line of an error, which contains the reason. The previous lines show the translated pattern.
fn reason(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().replace("error: ", "")
}

/// A part of the translation, or the reason why Go rejects the pattern.
type Translated<T = ()> = Result<T, &'static str>;

struct Translation<'p> {
    rest: &'p str,
    out: String,
    /// True after a repetition, which must not be repeated again.
    repeated: bool,
    /// True if the rest of the pattern may contain a `:]`.
    has_named_classes: bool,
}

impl<'p> Translation<'p> {
    fn take(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn take_until(&mut self, end: &str) -> Option<&'p str> {
        let (taken, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(taken)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn push(&mut self, piece: fmt::Arguments<'_>) {
        self.out.write_fmt(piece).expect("a string takes everything");
    }

    fn push_literal(&mut self, c: char) {
        self.push(format_args!("\\x{{{:x}}}", u32::from(c)));
    }

    fn piece(&mut self) -> Translated {
        match self.take() {
            Some(operator @ ('*' | '+' | '?')) => return self.repetition(&operator.to_string()),
            Some('{') => match self.repeat_count()? {
                Some(bounds) => return self.repetition(&format!("{{{bounds}}}")),
                None => self.push_literal('{'),
            },
            Some('(') => self.group()?,
            Some('[') => self.class()?,
            Some('\\') => self.escape()?,
            Some(other @ (')' | '|' | '.' | '^' | '$')) => self.out.push(other),
            Some(other) => self.push_literal(other),
            None => {}
        }
        self.repeated = false;
        Ok(())
    }

    fn repetition(&mut self, operator: &str) -> Translated {
        if self.repeated {
            return Err("invalid nested repetition operator");
        }
        self.out.push_str(operator);
        if self.skip("?") {
            self.out.push('?');
        }
        self.repeated = true;
        Ok(())
    }

    /// Returns the content of `{2}`, `{2,}` or `{2,3}`, or `None` if the brace is a literal.
    fn repeat_count(&mut self) -> Translated<Option<&'p str>> {
        let length = self.rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b',').count();
        let (bounds, rest) = self.rest.split_at(length);
        let Some(rest) = rest.strip_prefix('}') else { return Ok(None) };
        let number = |text: &str| {
            let digits = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
            (digits && !text.is_empty()).then(|| text.parse::<u32>().unwrap_or(u32::MAX))
        };
        let (least, most) = match bounds.split_once(',') {
            None => (number(bounds), number(bounds)),
            Some((least, "")) => (number(least), number(least)),
            Some((least, most)) => (number(least), number(most)),
        };
        let (Some(least), Some(most)) = (least, most) else { return Ok(None) };
        if least > most || most > MAX_REPEAT {
            return Err("invalid repeat count: it is at most 1000, and the minimum comes first");
        }
        self.rest = rest;
        Ok(Some(bounds))
    }

    fn group(&mut self) -> Translated {
        if !self.skip("?") {
            self.out.push('(');
        } else if self.skip("P<") || self.skip("<") {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = self.take_until(">").filter(|name| !name.is_empty() && name.chars().all(word));
            // The name is dropped: it is not used, and Go allows duplicates.
            name.ok_or("invalid group name")?;
            self.out.push('(');
        } else {
            self.flags()?;
        }
        Ok(())
    }

    /// Translates `i-s:` or `i-s)`, after `(?`. If a flag occurs several times, the last one applies.
    fn flags(&mut self) -> Translated {
        const WRONG: &str = "invalid group flags: allowed are i, m, s and U, with at most one `-`";
        let mut flags = [('i', None), ('m', None), ('s', None), ('U', None)];
        let (mut on, mut dangling) = (true, false);
        let end = loop {
            let next = self.take().ok_or(WRONG)?;
            match (next, flags.iter_mut().find(|(flag, _)| *flag == next)) {
                (_, Some((_, set))) => (*set, dangling) = (Some(on), false),
                ('-', _) if on => (on, dangling) = (false, true),
                (':' | ')', _) if !dangling => break next,
                _ => return Err(WRONG),
            }
        };
        let with_state =
            |state| flags.iter().filter(move |(_, set)| *set == Some(state)).map(|(flag, _)| flag);
        let (on, off): (String, String) = (with_state(true).collect(), with_state(false).collect());
        let minus = if off.is_empty() { "" } else { "-" };
        // Rust rejects `(?)`, which sets no flags.
        let nothing = if on.is_empty() && off.is_empty() && end == ')' { ":" } else { "" };
        self.push(format_args!("(?{on}{minus}{off}{nothing}{end}"));
        Ok(())
    }

    fn class(&mut self) -> Translated {
        self.out.push('[');
        if self.skip("^") {
            self.out.push('^');
        }
        let mut first = true;
        while first || !self.skip("]") {
            first = false;
            if self.rest.starts_with("[:")
                && let Some(length) = self.end_of_named_class()
            {
                let (named, rest) = self.rest.split_at(length + 2);
                let name = &named[2..length];
                if !NAMED_CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
                    return Err("invalid character class name");
                }
                self.out.push_str(named);
                self.rest = rest;
            } else if !(self.rest.starts_with('\\') && self.set(&self.rest[1..])?) {
                self.range()?;
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// Returns the position of the next `:]`. If there is none, later calls do not search for it again, which could be
    /// slow.
    fn end_of_named_class(&mut self) -> Option<usize> {
        if self.has_named_classes {
            let found = self.rest[2..].find(":]");
            self.has_named_classes = found.is_some();
            return found.map(|length| length + 2);
        }
        None
    }

    /// Translates a character or a range in a class.
    fn range(&mut self) -> Translated {
        let low = self.class_char()?;
        self.push_literal(low);
        if self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]") {
            self.rest = &self.rest[1..];
            let high = self.class_char()?;
            if high < low {
                return Err("invalid character class range: the end is before the start");
            }
            self.out.push('-');
            self.push_literal(high);
        }
        Ok(())
    }

    fn class_char(&mut self) -> Translated<char> {
        match self.take() {
            Some('\\') => self.escaped(),
            Some(other) => Ok(other),
            None => Err("missing closing `]`"),
        }
    }

    fn escape(&mut self) -> Translated {
        if self.set(self.rest)? {
            return Ok(());
        }
        let assertion = match self.rest.bytes().next() {
            Some(b'A') => "\\A",
            Some(b'z') => "\\z",
            Some(b'b') => "(?-u:\\b)",
            Some(b'B') => "(?-u:\\B)",
            Some(b'Q') => {
                let text = &self.rest[1..];
                let (quoted, rest) = text.split_once("\\E").unwrap_or((text, ""));
                quoted.chars().for_each(|c| self.push_literal(c));
                self.rest = rest;
                return Ok(());
            }
            _ => {
                let c = self.escaped()?;
                self.push_literal(c);
                return Ok(());
            }
        };
        self.out.push_str(assertion);
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// Translates a named set of characters, after its backslash. Returns false if there is no such set.
    fn set(&mut self, after: &'p str) -> Translated<bool> {
        let mut chars = after.chars();
        let set = match chars.next() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('s') => "[\\t\\n\\x0c\\r ]",
            Some('S') => "[^\\t\\n\\x0c\\r ]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some(p @ ('p' | 'P')) => {
                self.rest = chars.as_str();
                let name = if self.skip("{") {
                    self.take_until("}").ok_or("missing closing `}`")?
                } else {
                    let length = self.rest.chars().next().map_or(0, char::len_utf8);
                    let (name, rest) = self.rest.split_at(length);
                    self.rest = rest;
                    name
                };
                let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
                let p = if (p == 'P') == negated { 'p' } else { 'P' };
                self.push(format_args!("\\{p}{{{name}}}"));
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.out.push_str(set);
        self.rest = chars.as_str();
        Ok(true)
    }

    /// Returns the character of an escape, after its backslash.
    fn escaped(&mut self) -> Translated<char> {
        const WRONG: &str = "invalid escape sequence";
        let is_octal = |c: char| c.is_digit(8);
        let code = match self.take().ok_or("trailing backslash at end of expression")? {
            first if first == '0' || (is_octal(first) && self.rest.starts_with(is_octal)) => {
                let mut code = first.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    self.rest = &self.rest[1..];
                }
                code
            }
            'x' => {
                let digits = if self.skip("{") {
                    self.take_until("}").ok_or(WRONG)?
                } else {
                    let (digits, rest) = self.rest.split_at_checked(2).ok_or(WRONG)?;
                    self.rest = rest;
                    digits
                };
                let digits = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
                u32::from_str_radix(digits.ok_or(WRONG)?, 16).map_err(|_| WRONG)?
            }
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => u32::from(other),
            _ => return Err(WRONG),
        };
        char::from_u32(code).ok_or(WRONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_patterns_match_as_in_go() {
        let table: [(&str, &[&str], &[&str]); 20] = [
            (r"^\${NAME}-x$", &["${NAME}-x"], &["$-x", "NAME-x"]),
            ("^a{,3}$", &["a{,3}"], &["aaa", ""]),
            ("^a{02}$", &["a{02}"], &["aa"]),
            ("^a{2,}?$", &["aa", "aaa"], &["a", "a{2,}"]),
            ("^{x}{2}$", &["{x}}"], &["{x}{x}"]),
            ("^[a[b]$", &["a", "[", "b"], &["ab"]),
            ("^[a&&b]$", &["a", "&", "b"], &[""]),
            ("^[a~~+--c]$", &["a", "~", "c", ","], &["."]),
            ("^[]a-]+$", &["]a-"], &["b"]),
            (r"^[^\d\pL]$", &["-", "\n"], &["1", "é"]),
            (r"^[[:alpha:]\]]$", &["x", "]"], &["1", ":"]),
            (r"^\w\d\s$", &["a1\t"], &["é1 ", "a\u{661} ", "a1\u{b}"]),
            (r"\bx\B", &["éxy", "xy"], &["axy", "éx"]),
            (r"^\<\_\ \%$", &["<_ %"], &[""]),
            (r"^\Qa.b*\E+$", &["a.b*", "a.b**"], &["axb"]),
            (r"^\x41\x{e9}\101\0$", &["AéA\0"], &[""]),
            (r"^(?P<1>a)(?i-s:B)(?<c>.)(?)$", &["abc", "aBc"], &["Abc"]),
            (r"^\p{^Lu}\P{Greek}$", &["ab"], &["Ab", "aλ"]),
            (r"^(?P<a>x)(?<a>y)|(?P<a>z)$", &["xy", "z"], &["x"]),
            (r"^[[:a]$", &["[", ":", "a"], &["b"]),
        ];
        for (pattern, fits, others) in table {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(fits.iter().all(|text| regex.is_match(text)), "{pattern} fits");
            assert!(!others.iter().any(|text| regex.is_match(text)), "{pattern} does not fit");
        }
    }

    #[test]
    fn patterns_that_go_rejects_are_rejected() {
        for pattern in [
            "*",
            "a**",
            "a+?*",
            "a{2}{3}",
            "{2}",
            "a{1001}",
            "a{3,2}",
            "(",
            ")",
            "(?x)a",
            "(?i-)a",
            "(?P<>a)",
            "(?P<é>a)",
            "(?=a)",
            "[",
            "[]",
            "[z-a]",
            "[a-\\d]",
            "[[:nope:]]",
            "\\",
            "\\8",
            "\\1",
            "\\Z",
            "\\C",
            "\\q",
            "\\x4",
            "\\x{110000}",
            "\\x{+1}",
            "\\pX",
            "\\p{Greek",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn long_patterns_compile_in_time() {
        for piece in ["{", "[[:a]", "{1,", "{1{", "(?i)", "(?P<a>b)"] {
            let start = std::time::Instant::now();
            let _ = compile(&piece.repeat(50_000));
            assert!(start.elapsed().as_secs() < 5, "{piece}");
        }
    }

    #[test]
    fn reason_is_one_line() {
        assert_eq!(compile("a**").expect_err("refused"), "invalid nested repetition operator");
        assert_eq!(compile("(a").expect_err("refused"), "unclosed group");
    }
}
