//! Secrets in URLs: masks them in messages, and finds lines that contain them.

use std::borrow::Cow;

/// URL parameters that are not secret. The values of all other parameters are masked.
const PLAIN_PARAMETERS: [&str; 6] = ["ref", "version", "timeout", "submodules", "depth", "hash"];

/// Words in the names of parameters that are secret, even outside of URLs.
const SECRET_WORDS: [&str; 7] = ["token", "password", "passwd", "secret", "signature", "apikey", "api_key"];

/// Masks the passwords and parameter values of the URLs in a text, including misspelled URLs. Other text is
/// unchanged.
pub(crate) fn mask_url_secrets(text: &str) -> Cow<'_, str> {
    if !text.contains(['@', '?', '#']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (i, part) in text.split('`').enumerate() {
        out.push_str(if i == 0 { "" } else { "`" });
        match part.split_once("://") {
            // A quoted text is a single URL, even if it contains spaces.
            Some((scheme, url)) if i % 2 == 1 && !scheme.contains(char::is_whitespace) => {
                out.extend([scheme, "://"]);
                push_url(&mut out, url);
            }
            _ => push_words(&mut out, part),
        }
    }
    Cow::Owned(out)
}

/// Appends a text word by word.
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

/// Appends a word without a scheme: a URL without a scheme, which may be misspelled, or another word.
fn push_word(out: &mut String, word: &str) {
    if let Some(url) = word.strip_prefix("//") {
        out.push_str("//");
        return push_url(out, url);
    }
    let (mut rest, mut is_url) = (word, begins_with_host(word));
    if let Some(((user, _), (to_host, host))) = word.split_once(':').zip(word.rsplit_once('@'))
        && to_host.len() > user.len() + 1
        && !is_digest(host)
        && is_plain(user)
    {
        out.extend([user, ":***@"]);
        (rest, is_url) = (host, true);
    }
    let (before, parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    out.push_str(before);
    push_parameters(out, parameters, |name| if is_url { is_shown(name) } else { !is_secret_parameter(name) });
}

/// Returns true if a word may be a URL without a scheme: `github.com/org/repo?ref=v1`.
fn begins_with_host(word: &str) -> bool {
    let Some((host, _)) = word.split_once('/') else { return false };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    host.contains('.') && !host.starts_with('.') && host.chars().all(is_host)
}

/// Returns true if the text before the first colon may be a user, or the part of a URL before its password.
fn is_plain(user: &str) -> bool {
    !user.is_empty() && !user.contains(['(', '[', '?', '*', '\\'])
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '<' | '>' | '{' | '}' | '|')
}

/// Appends the part of a URL after its `://`.
fn push_url(out: &mut String, url: &str) {
    let slashes = url.len() - url.trim_start_matches('/').len();
    // A path after `file://` has no user.
    let (slashes, url) = if out.ends_with("file://") { ("", url) } else { url.split_at(slashes) };
    out.push_str(slashes);
    let (authority, rest) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
    // These characters end the host, but a password may contain them unescaped.
    let may_have_user = authority.contains(':') || rest.starts_with(['?', '#']);
    match authority.rsplit_once('@') {
        // A user without a password is only shown if it is `git`, or for ssh.
        Some((user, host)) if !user.contains(':') && (user == "git" || out.ends_with("ssh://")) => {
            out.extend([user, "@", host]);
        }
        Some((image, digest)) if is_digest(digest) => out.extend([image, "@", digest]),
        Some((_, host)) => out.extend(["***@", host]),
        // The password contains such a character. In paths, an `@` occurs only after the name of an image.
        None if may_have_user && rest.split('@').skip(1).any(|host| !is_digest(host)) => {
            out.push_str("***@");
            return push_url(out, rest.rsplit('@').next().unwrap_or_default());
        }
        None => out.push_str(authority),
    }
    let (path, parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    out.push_str(path);
    push_parameters(out, parameters, is_shown);
}

/// Returns true if the text after an `@` is an image digest: `sha256:0a1b`.
fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(kind, _)| matches!(kind, "sha256" | "sha384" | "sha512"))
}

/// Returns true if a line may contain a URL with secrets.
pub(super) fn has_url_secret(line: &str) -> bool {
    // Only users and the values of parameters are masked.
    let has_parameters = line.contains('=') && line.contains(['?', '#']);
    if !has_parameters && !line.contains('@') {
        return false;
    }
    let is_cut = |text: &str| mask_url_secrets(text) != text;
    let is_end = |c: char| matches!(c, '"' | '\'' | '`' | '[' | ']' | '{' | '}' | ',');
    // Messages quote the value of a line, or the entries of a list, so these parts are also checked.
    let entry = line.trim().trim_start_matches(['-', ' ']);
    let value = entry.split_once(": ").map_or(entry, |(_, value)| value.trim());
    let values = [entry, value].into_iter().chain(line.split(is_end)).filter(|value| !value.contains('`'));
    is_cut(line) || values.into_iter().any(|value| is_cut(value) || is_cut(&format!("`{}`", value.trim())))
}

fn is_shown(name: &str) -> bool {
    PLAIN_PARAMETERS.contains(&name)
}

/// Returns true if the name of a parameter is secret in any text.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Appends parameters and a fragment, starting at the `?` or `#`. Values for which `may_show` returns false are masked.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_passwords_are_found() {
        let table = [
            ("resources: [\"u:pw@h:1/x\"]", true),
            ("resources: [u:pw@h:1/x, a.yaml]", true),
            ("- u:pw@h:1/x", true),
            ("- \"https://u:p#w@h/x\"", true),
            ("- \"https://u:p w@h/x\"", true),
            ("- https://u:p w@h/x", true),
            ("repo: https://to?ken@h/x # why", true),
            ("- https://h/a?ref=v1", false),
            ("- https://git@h/a?ref=v1 # a@b, c?", false),
            ("image: a/b:1@sha256:0 # x: y", false),
            ("pattern: ^[a-z]+(:[a-z]+)?@x$", false),
            ("- git@h:a/b", false),
        ];
        for (line, want) in table {
            assert_eq!(has_url_secret(line), want, "{line}");
        }
    }

    #[test]
    fn secrets_in_urls_are_masked() {
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
            ("`https://u:p#w@h/a` `https://u:p?w@h/a`", "`https://***@h/a` `https://***@h/a`"),
            ("https://to#ken@h/a https://git@h/a", "https://***@h/a https://git@h/a"),
            ("https://u:pw@shop.io u:pw@shop.io", "https://***@shop.io u:***@shop.io"),
            ("docker://a@sha256:0", "docker://a@sha256:0"),
        ];
        for (text, want) in table {
            assert_eq!(mask_url_secrets(text), want);
        }
    }
}
