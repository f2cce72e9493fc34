//! JSON objects one behind the other, without `---` between them.
//!
//! `jq` prints such texts, and kubectl reads them. Knows nothing of YAML.

use serde::de::IgnoredAny;

/// Where the second and each further value of a text begins that is several JSON values, the first of them an
/// object; none when it is anything else.
pub(super) fn further_values(text: &str) -> Option<Vec<usize>> {
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
    // Behind the last one there is nothing.
    starts.pop();
    (!starts.is_empty()).then_some(starts)
}

/// Whether kubectl tries to read a text as JSON: it begins as an object does.
pub(super) fn is_json_like(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Whether the first value of a text is JSON.
pub(super) fn begins_with_json(text: &str) -> bool {
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
            assert_eq!(further_values(text).as_deref(), want, "{text}");
        }
    }
}
