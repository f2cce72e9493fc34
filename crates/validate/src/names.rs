//! The forms of names that servers demand: labels and subdomains of DNS, label keys and values, names of ports.

/// Letters and digits of ASCII, the letters small.
fn is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// A label of DNS (RFC 1123): `a-z`, `0-9`, `-` inside, up to 63.
pub(super) fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|&b| is_small(b) || b == b'-')
        && is_small(bytes[0])
        && is_small(bytes[bytes.len() - 1])
}

/// A label of DNS (RFC 1035): it begins with a letter.
pub(super) fn is_dns_1035_label(text: &str) -> bool {
    is_dns_label(text) && text.as_bytes()[0].is_ascii_lowercase()
}

/// A subdomain (RFC 1123): labels with dots between them, up to 253 in all.
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

/// A subdomain whose first label may be `*`.
pub(super) fn is_wildcard_subdomain(text: &str) -> bool {
    text.strip_prefix("*.").is_some_and(is_dns_subdomain)
}

/// What may be a step of a path: not `.` or `..`, no `/` and no `%`.
pub(super) fn is_path_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '%'])
}

/// Letters, digits, `-`, `_` and `.`, the first and the last a letter or digit, up to 63.
fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && bytes[0].is_ascii_alphanumeric()
        && bytes[bytes.len() - 1].is_ascii_alphanumeric()
}

/// A key of a label: a name, with or without a subdomain and `/` in front of it.
pub(super) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_qualified_part(name),
        None => is_qualified_part(text),
    }
}

/// The value of a label.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_qualified_part(text)
}

/// The name of a port (IANA service name): a letter in it, no two dashes in a row, up to 15.
pub(super) fn is_port_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=15).contains(&bytes.len())
        && bytes.iter().all(|&b| is_small(b) || b == b'-')
        && bytes.iter().any(u8::is_ascii_lowercase)
        && !text.contains("--")
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A key of a ConfigMap or Secret.
pub(super) fn is_data_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text != "."
        && !text.starts_with("..")
}

/// The name of a variable of the environment: printable ASCII without `=`.
pub(super) fn is_env_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    type Form = fn(&str) -> bool;

    #[test]
    fn each_name_has_its_form() {
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
