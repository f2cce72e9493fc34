//! The formats of names: DNS labels and subdomains, label keys and values, port names.

/// Returns true if an expression contains a key as a word. Messages may show such a key; any other key may be copied
/// from a secret value.
#[must_use]
pub fn names_key(text: &str, key: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    !key.is_empty()
        && text
            .match_indices(key)
            .any(|(at, word)| !text[..at].ends_with(is_name) && !text[at + word.len()..].starts_with(is_name))
}

/// Returns true for a lowercase ASCII letter or a digit.
fn is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Returns true for an RFC 1123 DNS label: `a-z`, `0-9`, and `-` inside, at most 63 characters.
pub(super) fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|&b| is_small(b) || b == b'-')
        && is_small(bytes[0])
        && is_small(bytes[bytes.len() - 1])
}

/// Returns true for an RFC 1035 DNS label, which starts with a letter.
pub(super) fn is_dns_1035_label(text: &str) -> bool {
    is_dns_label(text) && text.as_bytes()[0].is_ascii_lowercase()
}

/// Returns true for an RFC 1123 subdomain: labels separated by dots, at most 253 characters.
pub(super) fn is_dns_subdomain(text: &str) -> bool {
    let label = |part: &str| {
        let bytes = part.as_bytes();
        !bytes.is_empty()
            && bytes.iter().all(|&b| is_small(b) || b == b'-')
            && is_small(bytes[0])
            && is_small(bytes[bytes.len() - 1])
    };
    (1..=253).contains(&text.len()) && text.split('.').all(label)
}

/// Returns true for a subdomain whose first label is `*`.
pub(super) fn is_wildcard_subdomain(text: &str) -> bool {
    text.strip_prefix("*.").is_some_and(is_dns_subdomain)
}

/// Returns true if a text can be a path segment: not `.` or `..`, without `/` and `%`.
pub(super) fn is_path_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '%'])
}

/// Returns true for at most 63 letters, digits, `-`, `_` and `.` that start and end with a letter or digit.
fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && bytes[0].is_ascii_alphanumeric()
        && bytes[bytes.len() - 1].is_ascii_alphanumeric()
}

/// Returns true for a label key: a name, optionally with a subdomain and `/` in front of it.
pub(super) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_qualified_part(name),
        None => is_qualified_part(text),
    }
}

/// Returns true for a label value.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_qualified_part(text)
}

/// Returns true for a port name (IANA service name): at most 15 characters, at least one letter, no two adjacent
/// dashes.
pub(super) fn is_port_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=15).contains(&bytes.len())
        && bytes.iter().all(|&b| is_small(b) || b == b'-')
        && bytes.iter().any(u8::is_ascii_lowercase)
        && !text.contains("--")
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Returns true for a key of a ConfigMap or Secret.
pub(super) fn is_data_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text != "."
        && !text.starts_with("..")
}

/// Returns true for the name of an environment variable: printable ASCII without `=`.
pub(super) fn is_env_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    type Form = fn(&str) -> bool;

    #[test]
    fn valid_and_invalid_names_are_told_apart() {
        let table: [(Form, &[&str], &[&str]); 8] = [
            (is_dns_label, &["a", "a-1", "1a"], &["", "-a", "a-", "A", "a.b", "a_b"]),
            (is_dns_1035_label, &["a1"], &["1a"]),
            (is_dns_subdomain, &["a.b", "a"], &["a..b", ".a", "a.", "a_b", "A.b", "a-.b"]),
            (is_qualified_name, &["a", "A_b.c", "a.b/C"], &["", "/a", "a/", "A/b", "-a", "a/b/c"]),
            (is_label_value, &["", "A.b"], &["-a", "a b", "a/b"]),
            (is_port_name, &["http", "a1", "8a"], &["", "80", "a--b", "-a", "HTTP", "sixteen-letters-"]),
            (is_data_key, &["a.b", ".x", "A_b"], &["", "..", "..a", "a/b", ".", "a b"]),
            (is_env_name, &["A", "a.b", "a b", "1"], &["", "a=b", "\u{e4}"]),
        ];
        for (form, right, wrong) in table {
            for text in right {
                assert!(form(text), "{text}");
            }
            for text in wrong {
                assert!(!form(text), "{text}");
            }
        }
        assert!(!is_dns_label(&"a".repeat(64)) && is_dns_subdomain(&"a".repeat(253)));
    }
}
