//! Values of Secrets that messages and reports must not contain.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The replacement for a secret value.
const HIDDEN: &str = "***";

/// The maximum length in characters of values that are not masked, because such short strings occur in many words.
const MAX_SHOWN_LENGTH: usize = 2;

/// A set of secret values, which are masked in texts.
#[derive(Debug, Clone, Default)]
pub struct SecretValues(BTreeSet<String>);

impl SecretValues {
    /// Adds a value, its lines, and the texts to which JSON and Go quote them. Values of one or two characters are
    /// ignored.
    pub fn add(&mut self, value: &str) {
        let lines = value.lines().map(str::trim).chain([value.trim(), value]);
        for line in lines.filter(|line| line.chars().count() > MAX_SHOWN_LENGTH) {
            self.0.insert(line.to_string());
            self.0.insert(line.escape_debug().to_string());
        }
    }

    /// Adds a value that may be base64-encoded or a literal such as `key=value`, together with its encoded and decoded
    /// forms.
    pub fn add_encodings(&mut self, value: &str) {
        self.add(&STANDARD.encode(value));
        let decoded = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        for form in decoded.as_deref().into_iter().chain([value]) {
            self.add(form);
            form.split_once('=').iter().for_each(|(_, value)| self.add(value));
        }
    }

    /// Returns true if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the secret values in a text.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        // Most values contain a byte that is not in the text.
        let mut bytes = [false; 256];
        text.bytes().for_each(|byte| bytes[usize::from(byte)] = true);
        let may_contain = |value: &str| value.bytes().all(|byte| bytes[usize::from(byte)]);
        let is_found = |value: &&String| may_contain(value) && text.contains(value.as_str());
        let mut found: Vec<&String> = self.0.iter().filter(is_found).collect();
        // Longer values are replaced first, because a value may contain another one.
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        found.iter().fold(Cow::Borrowed(text), |text, value| text.replace(value.as_str(), HIDDEN).into())
    }

    /// Replaces the secret values in the strings of a JSON text. Keys, numbers and punctuation are kept, so that the
    /// text remains valid. The values of the keys in `constants` are also kept.
    #[must_use]
    pub fn mask_json<'t>(&self, json: &'t str, constants: &[&str]) -> Cow<'t, str> {
        if matches!(self.mask(json), Cow::Borrowed(_)) {
            return Cow::Borrowed(json);
        }
        let mut masked = String::with_capacity(json.len());
        let (mut rest, mut is_constant) = (json, false);
        while let Some((before, string, after)) = next_string(rest) {
            masked.push_str(before);
            let is_key = after.trim_start().starts_with(':');
            let text = serde_json::from_str::<String>(string).ok();
            // The value of a key follows the key. Any other text in between ends the exception.
            let is_kept = is_key || (is_constant && before.trim() == ":");
            is_constant = is_key && text.as_deref().is_some_and(|key| constants.contains(&key));
            match text.filter(|_| !is_kept) {
                Some(text) => masked.push_str(&serde_json::Value::from(&*self.mask(&text)).to_string()),
                None => masked.push_str(string),
            }
            rest = after;
        }
        Cow::Owned(masked + rest)
    }
}

/// Splits a JSON text into the parts before, in and after its first string.
fn next_string(json: &str) -> Option<(&str, &str, &str)> {
    let start = json.find('"')?;
    let mut is_escaped = false;
    let end = json[start + 1..].find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    let (string, after) = json[start..].split_at(end + 2);
    Some((&json[..start], string, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_valid() {
        let mut values = SecretValues::default();
        for value in ["file", "\": \"", "a\"b", "123"] {
            values.add(value);
        }
        let json = r#"{"file": "my file", "b": ["x", "a\"b\\"], "c" : "\": \"", "d": 123}"#;
        let masked = values.mask_json(json, &[]);
        assert_eq!(masked, r#"{"file": "my ***", "b": ["x", "***\\"], "c" : "***", "d": 123}"#);
        assert_eq!(values.mask_json("{\"file\": \"open", &[]), "{\"file\": \"open");
        let json = r#"{"kind":"file", "other": "file", "kind": ["file"], "kind": {"x": "file"}, "kind": 1, "y": "file"}"#;
        let masked = values.mask_json(json, &["kind"]);
        assert_eq!(
            masked,
            r#"{"kind":"file", "other": "***", "kind": ["***"], "kind": {"x": "***"}, "kind": 1, "y": "***"}"#
        );
    }
}
