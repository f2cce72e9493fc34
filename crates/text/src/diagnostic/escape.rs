//! Escaping of untrusted text for each output format: terminals and logs, JSON, XML, Markdown, URIs, lists of paths.
//!
//! File names and resource names come from untrusted repositories. They must not control a terminal, reverse the
//! surrounding text, or become a command of the CI system that reads the log.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Returns true if a character changes how the surrounding text is displayed: C0 and C1 control characters, line
/// breaks, direction marks and overrides, zero-width characters, and tags.
pub(crate) fn is_display_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns true if a text contains control characters or may contain a CI command (`##name[`).
pub(super) fn may_need_escape(text: &str) -> bool {
    let is_printable_ascii = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    text.contains("##") || (!is_printable_ascii && text.chars().any(is_display_control))
}

/// Escapes control characters as YAML does (`\n`, `\x1b`, `\u202e`), and the `##name[` of a CI command.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !may_need_escape(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (i, c) in text.char_indices() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '#' if is_command(&text[i..]) => out.write_str("\\x23"),
            _ if !is_display_control(c) => out.write_char(c),
            _ if code <= 0xff => write!(out, "\\x{code:02x}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    Cow::Owned(out)
}

/// Returns true if a text starts with a command that Azure Pipelines, GitHub or TeamCity recognize anywhere in a line:
/// `##vso[`, `##[`.
fn is_command(text: &str) -> bool {
    let name = text.strip_prefix("##").unwrap_or_default();
    name.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with('[')
}

/// Escapes text that is printed as a line of its own, which must not start with a GitHub command (`::error::`).
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    match escaped_line_start(text) {
        Cow::Borrowed(text) => escaped(text),
        Cow::Owned(text) => escaped(&text).into_owned().into(),
    }
}

/// Escapes the `::` at the start of a line. GitHub ignores blanks before it.
pub fn escaped_line_start(line: &str) -> Cow<'_, str> {
    let start = line.trim_start_matches(|c: char| c.is_whitespace() || is_display_control(c));
    match start.strip_prefix("::") {
        Some(rest) => format!("{}\\x3a:{rest}", &line[..line.len() - start.len()]).into(),
        None => line.into(),
    }
}

/// Escapes serialized JSON. The characters can only occur in strings, so the data stays the same.
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for (i, c) in json.char_indices() {
        let is_layout = c == '\n';
        if (is_display_control(c) && !is_layout) || (c == '#' && is_command(&json[i..])) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Escapes multi-line text for XML attributes and elements.
pub fn escaped_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push_str("&#10;");
        }
        for c in escaped_line(line).chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                // XML does not allow these characters.
                '\u{fffe}' | '\u{ffff}' => {}
                c => out.push(c),
            }
        }
    }
    out
}

/// Escapes multi-line text for a cell of a Markdown table. Text between single backticks becomes code.
///
/// Names in the text may contain backticks. The output contains none, and code and text are escaped in the same way, so
/// that neither HTML nor Markdown in a name is interpreted, however the backticks are paired.
pub fn escaped_markdown(text: &str) -> String {
    text.split('\n').map(|line| markdown_line(&escaped(line))).collect::<Vec<_>>().join("<br>")
}

fn markdown_line(line: &str) -> String {
    let single = single_backticks(line);
    let (mut out, mut done, mut i) = (String::with_capacity(line.len() + 16), 0, 0);
    while let [open, close, ..] = single[i..] {
        // Code must not contain a longer run of backticks.
        if line[open + 1..close].contains('`') {
            i += 1;
            continue;
        }
        out.push_str(&markdown_text(&line[done..open]));
        out.extend(["<code>", &markdown_text(&line[open + 1..close]), "</code>"]);
        (done, i) = (close + 1, i + 2);
    }
    out.push_str(&markdown_text(&line[done..]));
    out
}

/// Returns the positions of single backticks, which have no other backtick next to them.
fn single_backticks(line: &str) -> Vec<usize> {
    let bytes = line.as_bytes();
    let is_single = |i: &usize| (*i == 0 || bytes[i - 1] != b'`') && bytes.get(i + 1) != Some(&b'`');
    line.match_indices('`').map(|(i, _)| i).filter(is_single).collect()
}

/// Escapes text for Markdown with entities, since some renderers show backslashes.
fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.char_indices() {
        let (before, after) = (&text[..i], &text[i + c.len_utf8()..]);
        let is_link = match c {
            ':' => after.starts_with("//"),
            '.' => before.ends_with(['w', 'W']),
            _ => false,
        };
        match c {
            c if is_plain_in_markdown(c) && !is_link => out.push(c),
            // Writing to a string cannot fail.
            c => _ = write!(out, "&#{};", u32::from(c)),
        }
        // Renderers recognize mentions, issue numbers and links after they have decoded entities.
        if matches!(c, '@' | '#') || is_link {
            out.push_str("<!-- -->");
        }
    }
    out
}

fn is_plain_in_markdown(c: char) -> bool {
    !c.is_ascii_punctuation()
        || matches!(c, '.' | ',' | ':' | ';' | '/' | '-' | '(' | ')' | '\'' | '"' | '?' | '=')
}

/// Formats text as Markdown code. Backticks, pipes and backslashes are special in the code of a table.
pub fn markdown_code(text: &str) -> String {
    let text = escaped(text);
    if !text.is_empty() && !text.contains(['`', '|', '\\', '<', '@']) {
        return format!("`{text}`");
    }
    format!("<code>{}</code>", markdown_text(&text))
}

/// Converts a path to a relative or `file:` URI.
pub(crate) fn path_uri(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    let mut uri = String::with_capacity(text.len());
    for byte in text {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            byte if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=@".contains(byte) => {
                uri.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    if path.is_absolute() {
        format!("file://{}{uri}", if uri.starts_with('/') { "" } else { "/" })
    } else {
        uri
    }
}

/// Formats a path as a line for programs. Special characters are escaped and the path is quoted, as in git.
pub fn quoted_path(path: &str) -> Cow<'_, str> {
    if matches!(escaped_line(path), Cow::Borrowed(_)) && !path.starts_with('"') {
        return path.into();
    }
    let mut out = String::from('"');
    for (i, c) in path.char_indices() {
        // Writing to a string cannot fail.
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '"' | '\\' => write!(out, "\\{c}"),
            c if is_display_control(c) || (c == '#' && is_command(&path[i..])) => {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes).bytes().try_for_each(|byte| write!(out, "\\{byte:03o}"))
            }
            c => out.write_char(c),
        };
    }
    out.push('"');
    out.into()
}

/// Masks quoted text in a message of another program, such as the value that a parser rejected.
pub fn mask_quoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, quote)) = rest.find(['"', '`']).map(|i| (&rest[..i], &rest[i..=i])) {
        let after = &rest[before.len() + 1..];
        // The name of a missing field is one of this program and not part of the input.
        if let Some((name, after)) = after.split_once('`').filter(|_| before.ends_with("missing field ")) {
            out.extend([before, "`", name, "`"]);
            rest = after;
            continue;
        }
        out.extend([before, quote, "***", quote]);
        // Continue after the last quote of this kind, since the value may contain quotes.
        rest = after.rsplit_once(quote).map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let table = [
            ("plain é ☃", "plain é ☃"),
            ("a\nerror: b", "a\\nerror: b"),
            ("\x1b[31m\u{9b}2J", "\\x1b[31m\\x9b2J"),
            ("\u{202e}\u{2066}\u{2028}", "\\u202e\\u2066\\u2028"),
            ("\u{e0041}", "\\U000e0041"),
            ("a ##vso[x] ##[b] ## c #[d]", "a \\x23#vso[x] \\x23#[b] ## c #[d]"),
        ];
        for (text, want) in table {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn lines_do_not_start_with_github_commands() {
        let table = [
            ("::error::x", "\\x3a:error::x"),
            (" \u{a0}::x", " \u{a0}\\x3a:x"),
            ("\u{200b}::x", "\\u200b\\x3a:x"),
            ("a::b", "a::b"),
            (":a", ":a"),
        ];
        for (text, want) in table {
            assert_eq!(escaped_line(text), want);
        }
    }

    #[test]
    fn escaped_json_has_the_same_data() {
        let json = "{\n  \"a\": \"\u{202e}##vso[x]\u{1f600}\"\n}";
        let escaped = escaped_json(json);
        assert_eq!(escaped, "{\n  \"a\": \"\\u202e\\u0023#vso[x]\u{1f600}\"\n}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(value(&escaped), value(json));
    }

    #[test]
    fn xml_has_no_control_characters() {
        assert_eq!(escaped_xml("a<\u{202e}\u{1b}>\n::b&\""), "a&lt;\\u202e\\x1b&gt;&#10;\\x3a:b&amp;&quot;");
    }

    #[test]
    fn markdown_keeps_only_code() {
        let table = [
            ("no image `a_b` *x*", "no image <code>a&#95;b</code> &#42;x&#42;"),
            ("`a`b`", "<code>a</code>b&#96;"),
            ("`a|b` c|d", "<code>a&#124;b</code> c&#124;d"),
            ("\r\u{1b}[0m\n@me", "&#92;r&#92;x1b&#91;0m<br>&#64;<!-- -->me"),
            ("`` `a` ``b", "&#96;&#96; <code>a</code> &#96;&#96;b"),
            ("no `a``b` and `c`", "no &#96;a&#96;&#96;b<code> and </code>c&#96;"),
            ("no field ```<b> @x`", "no field &#96;&#96;&#96;&#60;b&#62; &#64;<!-- -->x&#96;"),
            ("http://a www.b x#1", "http&#58;<!-- -->//a www&#46;<!-- -->b x&#35;<!-- -->1"),
        ];
        for (text, want) in table {
            assert_eq!(escaped_markdown(text), want);
        }
        assert_eq!(markdown_code("a`|.yaml:1:2"), "<code>a&#96;&#124;.yaml:1:2</code>");
        assert_eq!(markdown_code(""), "<code></code>");
    }

    #[test]
    fn random_text_never_becomes_markdown_or_html() {
        const PARTS: [&str; 20] = [
            "`",
            "``",
            "```",
            "\n",
            "<img src=//a.example/x>",
            "<!--",
            "@org/team",
            "[a](b)",
            "![a](b)",
            "*a*",
            "__a__",
            "| a |",
            "# a",
            "\\",
            "&lt;",
            "~~~",
            "http://a.example",
            "www.a.example",
            "a#1",
            " é ",
        ];
        // A linear congruential generator creates the same texts in each run.
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            let parts = (0..random(12)).map(|_| PARTS[usize::try_from(random(20)).expect("small")]);
            let text: String = parts.collect();
            for shown in [escaped_markdown(&text), escaped_markdown(&format!("no field `{text}` in `a`"))] {
                assert_eq!(shown.matches("<code>").count(), shown.matches("</code>").count(), "{text:?}");
                let ours = ["<code>", "</code>", "<!-- -->", "<br>"];
                let bare = ours.iter().fold(shown.clone(), |rest, tag| rest.replace(tag, "\0"));
                assert_eq!(
                    bare.find(['`', '<', '>', '[', ']', '*', '_', '|', '\\', '!', '@', '~']),
                    None,
                    "{shown}"
                );
                assert!(!bare.contains("://") && !bare.contains("www."), "{shown}");
                for (i, _) in bare.match_indices(['&', '#']) {
                    let is_entity = bare[..i].ends_with('&') || bare[i..].starts_with("&#");
                    assert!(is_entity, "{shown}");
                }
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn paths_become_uris() {
        let table = [("a\\b c.yaml", "a%5Cb%20c.yaml"), ("/x/é\n", "file:///x/%C3%A9%0A"), ("a:b", "a%3Ab")];
        for (path, want) in table {
            assert_eq!(path_uri(Path::new(path)), want);
        }
    }

    #[test]
    fn paths_are_quoted_as_git_quotes_them() {
        let table = [
            ("a b/é\\c.yaml", "a b/é\\c.yaml"),
            ("a\nb\\", "\"a\\nb\\\\\""),
            ("::error::x", "\"::error::x\""),
            ("\u{202e}\"", "\"\\342\\200\\256\\\"\""),
            ("\"a", "\"\\\"a\""),
            ("x##vso[y]", "\"x\\043#vso[y]\""),
        ];
        for (path, want) in table {
            assert_eq!(quoted_path(path), want);
        }
    }

    #[test]
    fn quoted_text_is_masked() {
        let table = [
            ("missing field `spec` at line 1", "missing field `spec` at line 1"),
            ("string \"missing field `x` y\", z", "string \"***\", z"),
            ("invalid type: string \"pass\", expected a map", "invalid type: string \"***\", expected a map"),
            ("`a\"b` is no", "`***` is no"),
            ("\"a\"b\" no end", "\"***\" no end"),
            ("no end \"a", "no end \"***\""),
        ];
        for (text, want) in table {
            assert_eq!(mask_quoted(text), want);
        }
    }
}
