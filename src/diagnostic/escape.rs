//! What of a foreign text is not shown as it is: characters that steer a terminal, and secrets in URLs.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Parameters of URLs that are no secrets; the value of any other one is masked.
const PLAIN_PARAMETERS: [&str; 6] = ["ref", "version", "timeout", "submodules", "depth", "hash"];

/// Whether a character changes how the text around it is shown: control characters of both sets, breaks of
/// lines, marks and overrides of direction, characters without a width, tags.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text in which such characters are written as YAML escapes them: `\n`, `\x1b`, `\u202e`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            _ if !steers(c) => out.write_char(c),
            _ if code <= 0xff => write!(out, "\\x{code:02x}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    Cow::Owned(out)
}

/// A text whose URLs have lost their passwords and the values of their parameters, misspelt ones included.
pub(super) fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains(['@', '?']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (i, part) in text.split('`').enumerate() {
        out.push_str(if i == 0 { "" } else { "`" });
        match part.split_once("://") {
            // What is quoted is one URL, blanks in it included.
            Some((scheme, url)) if i % 2 == 1 && !scheme.contains(char::is_whitespace) => {
                out.extend([scheme, "://"]);
                push_url(&mut out, url);
            }
            _ => push_words(&mut out, part),
        }
    }
    Cow::Owned(out)
}

/// Writes a text word by word.
fn push_words(out: &mut String, text: &str) {
    for part in text.split_inclusive(ends_url) {
        let (word, end) = match part.char_indices().next_back() {
            Some((i, last)) if ends_url(last) => part.split_at(i),
            _ => (part, ""),
        };
        match word.split_once("://") {
            Some((scheme, url)) => {
                out.extend([scheme, "://"]);
                push_url(out, url);
            }
            None => push_word(out, word),
        }
        out.push_str(end);
    }
}

/// Writes a word that is no URL, perhaps since something is missing in it.
fn push_word(out: &mut String, word: &str) {
    let (before, query) = word.split_at(word.find('?').unwrap_or(word.len()));
    match before.split_once(':').zip(before.rsplit_once('@')) {
        Some(((user, _), (to_host, host))) if to_host.contains(':') && !host.starts_with("sha") => {
            out.extend([user, ":***@", host]);
        }
        _ => out.push_str(before),
    }
    push_query(out, query);
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '<' | '>' | '{' | '}' | '|')
}

/// Writes what follows the `://` of a URL.
fn push_url(out: &mut String, url: &str) {
    let (authority, rest) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
    match authority.rsplit_once('@') {
        // A user without a password is shown for ssh alone, where it is `git`.
        Some((user, host)) if !user.contains(':') && out.ends_with("ssh://") => {
            out.extend([user, "@", host]);
        }
        Some((_, host)) => out.extend(["***@", host]),
        // A password with a slash in it; paths have an `@` only behind the name of an image.
        None if authority.contains(':') && rest.contains('@') && !rest.contains("@sha") => {
            out.push_str("***@");
            return push_url(out, rest.rsplit('@').next().unwrap_or_default());
        }
        None => out.push_str(authority),
    }
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    out.push_str(path);
    push_query(out, query);
}

/// Writes parameters, from their `?` on.
fn push_query(out: &mut String, query: &str) {
    for (i, pair) in query.split(['&', '?', ';']).enumerate().skip(1) {
        out.push(if i == 1 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if !PLAIN_PARAMETERS.contains(&name) => out.extend([name, "=***"]),
            _ => out.push_str(pair),
        }
    }
}

/// A text of another program's in which nothing is left of what stood between quotes: such as the value that
/// a parser found where it wanted another.
#[cfg(any(test, feature = "cluster"))]
pub(crate) fn without_quoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, quote)) = rest.find(['"', '`']).map(|i| (&rest[..i], &rest[i..=i])) {
        out.extend([before, quote, "***", quote]);
        let behind = &rest[before.len() + 1..];
        // The last quote of its kind: a value may have some in it.
        rest = behind.rsplit_once(quote).map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        let table = [
            ("plain é ☃", "plain é ☃"),
            ("a\nerror: b", "a\\nerror: b"),
            ("\x1b[31m\u{9b}2J", "\\x1b[31m\\x9b2J"),
            ("\u{202e}\u{2066}\u{2028}", "\\u202e\\u2066\\u2028"),
            ("\u{e0041}", "\\U000e0041"),
        ];
        for (text, want) in table {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn urls_lose_what_is_secret() {
        let table = [
            ("`https://h/a?ref=v1` is", "`https://h/a?ref=v1` is"),
            ("at https://me:pw@h/a and ssh://git@h/b", "at https://***@h/a and ssh://git@h/b"),
            ("https://token@h/a", "https://***@h/a"),
            ("ssh://me:pw@h/b", "ssh://***@h/b"),
            ("https://h/a?token=x&ref=1&sig=y.", "https://h/a?token=***&ref=1&sig=***"),
            ("https://h?X-Amz-Signature=y z", "https://h?X-Amz-Signature=*** z"),
            ("https://me:p/w@h/a", "https://***@h/a"),
            ("`https://me:? pw@h/a?token=x y` is", "`https://***@h/a?token=***` is"),
            ("https://h:443/a@sha256:0", "https://h:443/a@sha256:0"),
            ("git::https://me:pw@h", "git::https://***@h"),
            ("`https//me:pw@h/a?token=x` is", "`https//me:***@h/a?token=***` is"),
            (
                "nginx:1@sha256:0 or git@h:a, really? yes = no",
                "nginx:1@sha256:0 or git@h:a, really? yes = no",
            ),
        ];
        for (text, want) in table {
            assert_eq!(without_passwords(text), want);
        }
    }

    #[test]
    fn quotes_lose_what_is_in_them() {
        let table = [
            ("invalid type: string \"pass\", expected a map", "invalid type: string \"***\", expected a map"),
            ("`a\"b` is no", "`***` is no"),
            ("\"a\"b\" no end", "\"***\" no end"),
            ("no end \"a", "no end \"***\""),
        ];
        for (text, want) in table {
            assert_eq!(without_quoted(text), want);
        }
    }
}
