//! Go's `net/url`: query parameters.

/// Parses the parameters in order, like `ParseQuery`. Returns `None` if one is malformed.
pub fn parse_query(query: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        if part.contains(';') {
            return None;
        }
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        pairs.push((unescape(key)?, unescape(value)?));
    }
    Some(pairs)
}

/// Decodes `%XX` and `+`. Returns `None` if the result is not UTF-8.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|d| u8::try_from(d).ok());
                digit()? * 16 + digit()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_unescaped() {
        let pairs = |query: &str| {
            let pairs = parse_query(query)?;
            Some(pairs.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "))
        };
        let table = [
            ("", Some("")),
            ("a=b&&c", Some("a=b c=")),
            ("a%20b=%2F+x", Some("a b=/ x")),
            ("a=b=c", Some("a=b=c")),
            ("a;b=c", None),
            ("a=%2", None),
            ("a=%zz", None),
            ("a=%ff", None),
        ];
        for (query, want) in table {
            assert_eq!(pairs(query).as_deref(), want, "{query:?}");
        }
    }
}
