//! Consecutive JSON objects without `---` between them.
//!
//! `jq` prints such texts, and kubectl reads them. This module does not depend on YAML.

use serde::de::IgnoredAny;

/// Returns the starts of all values but the first one, if the text consists of several JSON values and the first one is
/// an object. Returns `None` for any other text.
pub(super) fn further_value_starts(text: &str) -> Option<Vec<usize>> {
    if !is_json_like(text) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut starts = Vec::new();
    while let Some(value) = values.next() {
        value.ok()?;
        let end = values.byte_offset();
        starts.push(text.len() - text[end..].trim_start().len());
    }
    // No value follows the last one.
    starts.pop();
    (!starts.is_empty()).then_some(starts)
}

/// Returns true if kubectl tries to parse the text as JSON first, because it begins with `{`.
pub(super) fn is_json_like(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Returns true if the first value of a text is valid JSON.
pub(super) fn starts_with_json(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    matches!(values.next(), Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_several_objects_are_a_stream() {
        let table: [(&str, Option<&[usize]>); 9] = [
            ("{}{}", Some(&[2])),
            (" {\"a\": 1}\n\n{\"b\": \"}{\"} [1]\n", Some(&[11, 23])),
            ("{}", None),
            ("", None),
            ("{} # comment\n{}", None),
            ("{a: 1}\n{b: 2}", None),
            ("{}\n---\n{}", None),
            ("[]\n[]", None),
            ("{} {", None),
        ];
        for (text, want) in table {
            assert_eq!(further_value_starts(text).as_deref(), want, "{text}");
        }
    }
}
