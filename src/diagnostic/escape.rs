//! What of a foreign text is not shown as it is: characters that steer a terminal, and secrets in URLs.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Parameters of URLs that are no secrets; the value of any other one is masked.
const PLAIN_PARAMETERS: [&str; 6] = ["ref", "version", "timeout", "submodules", "depth", "hash"];

/// What the names of parameters have in them that are secret wherever they stand.
const SECRET_WORDS: [&str; 7] = ["token", "password", "passwd", "secret", "signature", "apikey", "api_key"];

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
/// What is no URL stays as it is.
pub(super) fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains(['@', '?', '#']) {
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

/// Writes a word that has no scheme: a URL without one, perhaps since something is missing in it, or no URL.
fn push_word(out: &mut String, word: &str) {
    if let Some(url) = word.strip_prefix("//") {
        out.push_str("//");
        return push_url(out, url);
    }
    let (mut rest, mut is_url) = (word, begins_with_host(word));
    if let Some(((user, _), (to_host, host))) = word.split_once(':').zip(word.rsplit_once('@'))
        && to_host.len() > user.len() + 1
        && !host.starts_with("sha")
        && is_plain(user)
    {
        out.extend([user, ":***@"]);
        (rest, is_url) = (host, true);
    }
    let (before, parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    out.push_str(before);
    push_parameters(out, parameters, |name| if is_url { is_shown(name) } else { !is_secret(name) });
}

/// Whether a word may be a URL without a scheme: `github.com/org/repo?ref=v1`.
fn begins_with_host(word: &str) -> bool {
    let Some((host, _)) = word.split_once('/') else { return false };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    host.contains('.') && !host.starts_with('.') && host.chars().all(is_host)
}

/// Whether the part before the first colon may be a user, or all of a URL before its password.
fn is_plain(user: &str) -> bool {
    !user.is_empty() && !user.contains(['(', '[', '?', '*', '\\'])
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '<' | '>' | '{' | '}' | '|')
}

/// Writes what follows the `://` of a URL.
fn push_url(out: &mut String, url: &str) {
    let slashes = url.len() - url.trim_start_matches('/').len();
    // A path behind `file://` has no user.
    let (slashes, url) = if out.ends_with("file://") { ("", url) } else { url.split_at(slashes) };
    out.push_str(slashes);
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
    let (path, parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    out.push_str(path);
    push_parameters(out, parameters, is_shown);
}

fn is_shown(name: &str) -> bool {
    PLAIN_PARAMETERS.contains(&name)
}

/// Whether a parameter is secret by its name, whatever the text around it is.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Writes parameters and a fragment, from the `?` or `#` on, with the values of those that may be shown.
fn push_parameters(out: &mut String, parameters: &str, may_show: impl Fn(&str) -> bool) {
    for pair in parameters.split_inclusive(['&', '?', ';', '#']) {
        let end = pair.trim_end_matches(['&', '?', ';', '#']).len();
        let (pair, separator) = pair.split_at(end);
        match pair.split_once('=') {
            Some((name, _)) if !may_show(name) => out.extend([name, "=***"]),
            _ => out.push_str(pair),
        }
        out.push_str(separator);
    }
}

/// A text of another program's in which nothing is left of what stood between quotes: such as the value that
/// a parser found where it wanted another.
#[cfg(any(test, feature = "cluster"))]
pub(crate) fn without_quoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, quote)) = rest.find(['"', '`']).map(|i| (&rest[..i], &rest[i..=i])) {
        let behind = &rest[before.len() + 1..];
        // What is missing is a name of ours, and nothing that stood in the text.
        if let Some((name, behind)) = behind.split_once('`').filter(|_| before.ends_with("missing field ")) {
            out.extend([before, "`", name, "`"]);
            rest = behind;
            continue;
        }
        out.extend([before, quote, "***", quote]);
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
            ("x(?:a)(?P<n>b)?c `what?is=this?or=that.yaml`", "x(?:a)(?P<n>b)?c `what?is=this?or=that.yaml`"),
            ("https://h/a?ref=1;x=y?z=1#a=b", "https://h/a?ref=1;x=***?z=***#a=***"),
            ("https://h#access_token=x&state=y", "https://h#access_token=***&state=***"),
            ("a#access_token=x", "a#access_token=***"),
            ("`http:////u:pw@h`: //u:pw@h", "`http:////***@h`: //***@h"),
            ("u:p#x@h u:p?x@h u:pw@h:1/a", "u:***@h u:***@h u:***@h:1/a"),
            ("github.com/a/b?ref=v1&x=y", "github.com/a/b?ref=v1&x=***"),
            ("file:///a?b#c a # b", "file:///a?b#c a # b"),
        ];
        for (text, want) in table {
            assert_eq!(without_passwords(text), want);
        }
    }

    #[test]
    fn quotes_lose_what_is_in_them() {
        let table = [
            ("missing field `spec` at line 1", "missing field `spec` at line 1"),
            ("string \"missing field `x` y\", z", "string \"***\", z"),
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
