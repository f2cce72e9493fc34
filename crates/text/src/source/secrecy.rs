//! The secret parts of texts, which messages must not show.
//!
//! In valid YAML, `yaml::secrets` finds secrets in the node tree. This file contains the result, and the rules for
//! documents that cannot be parsed: these are hidden, except for the lines below keys that never contain secrets.

use std::ops::Range;
use std::path::Path;

use super::url_secrets::{has_url_secret, is_secret_parameter};

/// A function that returns the parts of a text with possible secrets. The YAML parser sets it on each parsed text.
pub(crate) type Marker = fn(&Path, &str) -> SecretRanges;

/// The hidden byte ranges of a text, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretRanges(Vec<Range<usize>>);

impl SecretRanges {
    /// Returns the ranges of the marked bytes. Brackets, quotes and white space at their ends are excluded.
    pub(crate) fn of_marks(text: &str, marks: &[bool]) -> Self {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let is_hidden = |(byte, marked): (u8, &bool)| *marked && !b" \t\r\n{}[],:\"'-".contains(&byte);
        let bytes = text.bytes().zip(marks).map(is_hidden).enumerate();
        for (i, _) in bytes.filter(|(_, is_hidden)| *is_hidden) {
            match ranges.last_mut() {
                Some(last) if last.end == i => last.end += 1,
                _ => ranges.push(i..i + 1),
            }
        }
        Self(ranges)
    }

    /// Returns the hidden ranges of a text without parsing it.
    pub(super) fn of_unparsed(name: &Path, text: &str) -> Self {
        let mut marks = vec![is_env_file(name); text.len()];
        if !is_prose(name) {
            for document in documents(text) {
                mark_unparsed(&text[document.clone()], &mut marks[document]);
            }
        }
        mark_secret_lines(text, &mut marks);
        Self::of_marks(text, &marks)
    }

    /// Returns true if nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a part of the text overlaps a hidden range.
    pub(crate) fn overlap(&self, part: Range<usize>) -> bool {
        let next = self.0.partition_point(|hidden| hidden.end <= part.start);
        self.0.get(next).is_some_and(|hidden| hidden.start < part.end)
    }
}

/// Top-level keys below which nothing is secret, even in a document that contains secrets.
pub(crate) const PLAIN_KEYS: [&str; 27] = [
    "apiVersion",
    "kind",
    "metadata",
    "type",
    "immutable",
    "spec",
    "rules",
    "subjects",
    "roleRef",
    "resources",
    "bases",
    "components",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "images",
    "replicas",
    "crds",
    "configurations",
    "sortOptions",
    "generatorOptions",
    "buildMetadata",
    "vars",
    "openapi",
];

/// Words that are typical of documents that may contain secrets: a Secret, a patch of one, a kubeconfig, a generator.
const SIGNS: [&str; 12] = [
    "secret",
    "stringdata",
    "/data",
    "last-applied-configuration",
    "literals",
    "envs",
    "generator",
    "users",
    "clusters",
    "current-context",
    "client-key",
    "private key",
];

/// Words that hide the rest of the lines below a key.
const OPENERS: [&str; 7] = ["data", "literal", "last-applied", "generator", "patch", "values", "envs"];

/// Keys whose values are secret in any document.
const SECRET_KEYS: [&str; 12] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "client-key-data",
    "client-secret",
    "clientsecret",
    "id-token",
    "refresh-token",
    "access-token",
    "apikey",
    "api-key",
];

/// Returns true if a field with this name contains a secret, and not the name or path of one.
pub fn is_secret_key(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let is_of_one = ["name", "namespace", "ref", "path", "file"].iter().any(|end| lower.ends_with(end));
    !is_of_one && (is_secret_parameter(&lower) || is_credential_key(key))
}

/// Returns true if a key is that of a credential, such as `password`.
pub(crate) fn is_credential_key(key: &str) -> bool {
    SECRET_KEYS.iter().any(|known| known.eq_ignore_ascii_case(key))
}

/// Returns true if a text contains a word that is typical of documents with secrets.
pub(crate) fn has_sign(text: &str) -> bool {
    let lower = text.to_ascii_lowercase().replace("metadata", "");
    SIGNS.iter().any(|sign| lower.contains(sign)) || (lower.contains("data") && !lower.contains("configmap"))
}

/// Returns true for documentation, which may describe Secrets but contains none.
pub(crate) fn is_prose(name: &Path) -> bool {
    let extension = name.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["md", "rst", "adoc"].iter().any(|prose| prose.eq_ignore_ascii_case(extension))
}

pub(crate) fn is_env_file(name: &Path) -> bool {
    let name = name.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.starts_with(".env")
        || name.rsplit('.').next().is_some_and(|extension| extension == "env" && name.len() > 3)
}

/// Returns the documents of a stream. Each one starts at its `---`.
pub(crate) fn documents(text: &str) -> impl Iterator<Item = Range<usize>> {
    let breaks = text.match_indices("\n---").map(|(i, _)| i + 1);
    let ends = breaks.chain(std::iter::once(text.len()));
    ends.scan(0, |start, end| Some(std::mem::replace(start, end)..end))
}

/// Marks a document that cannot be parsed, if it may contain secrets. Known top-level keys and the lines below them
/// remain visible. Of the metadata, only name and namespace remain visible.
pub(crate) fn mark_unparsed(document: &str, marks: &mut [bool]) {
    if !has_sign(document) {
        return;
    }
    let (mut shows_below, mut is_metadata) = (false, false);
    for line in lines(document) {
        let text = &document[line.clone()];
        let lower = text.to_ascii_lowercase().replace("metadata", "");
        let opens = text.contains('=') || OPENERS.iter().any(|word| lower.contains(word));
        let shown = match key_at_edge(text) {
            Some((key, value)) => {
                // If a key has a value on the same line, there are no lines below it.
                let is_plain = PLAIN_KEYS.contains(&key);
                shows_below = is_plain && value.trim().is_empty() && !opens;
                is_metadata = key == "metadata";
                is_plain
            }
            None if is_metadata => {
                let field = text.trim_start().split_once(':').map(|(key, _)| key);
                shows_below && matches!(field, Some("name" | "namespace" | "generateName"))
            }
            None => {
                shows_below &= !opens;
                shows_below
            }
        };
        if !shown || opens {
            marks[line].fill(true);
        }
    }
}

/// Marks the lines that are secret in any document: credentials, according to their keys, and URLs with passwords.
pub(crate) fn mark_secret_lines(text: &str, marks: &mut [bool]) {
    lines(text).filter(|line| is_secret_line(&text[line.clone()])).for_each(|line| marks[line].fill(true));
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_inclusive('\n').scan(0, |start, line| {
        let end = *start + line.len();
        Some(std::mem::replace(start, end)..end)
    })
}

/// Returns the key and value of a line that is not indented.
fn key_at_edge(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches('\u{feff}');
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!key.is_empty() && !line.starts_with([' ', '\t', '-']) && key.chars().all(is_word))
        .then_some((key, value))
}

/// Returns true if a line has the key of a credential, or a URL with a password.
pub(super) fn is_secret_line(line: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let by_key = line.match_indices([':', '=']).any(|(i, _)| {
        let before = line[..i].trim_end_matches(['"', '\'', ' ']);
        is_credential_key(before.rsplit(|c| !is_word(c)).next().unwrap_or_default())
    });
    by_key || has_url_secret(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the visible lines of a text.
    fn shown(name: &str, text: &str) -> Vec<usize> {
        let hidden = SecretRanges::of_unparsed(Path::new(name), text);
        let is_shown = |(_, line): &(usize, Range<usize>)| !hidden.overlap(line.clone());
        lines(text).enumerate().filter(is_shown).map(|(i, _)| i + 1).collect()
    }

    #[test]
    fn unparsed_documents_that_may_hold_secrets_show_plain_keys_only() {
        let table: [(&str, &str, &[usize]); 8] = [
            ("a.yaml", "a: {{\nspec:\n  a: 1\n", &[1, 2, 3]),
            ("a.yaml", "kind: Secret\nmetadata:\n  name: a\n  x: b\nstringData:\n  a: 1\n", &[1, 2, 3]),
            ("a.yaml", "kind: Secret\ntype: Opaque\n  a: 1\n", &[1, 2]),
            ("k.yaml", "resources:\n- a.yaml\n literals:\n - a=b\n- c\n", &[1, 2]),
            ("a.yaml", "kind: Secret\nbad\n---\nkind: A\nx: 1\n", &[1, 4, 5]),
            ("x.env", "A=1\n", &[]),
            ("README.md", "A Secret has `data`.\n", &[1]),
            ("notes", "a\npassword: x\nhttps://me:pw@h/a\n", &[1]),
        ];
        for (name, text, want) in table {
            let without_dashes = |line: &usize| text.lines().nth(line - 1).is_none_or(|l| l != "---");
            let shown: Vec<usize> = shown(name, text).into_iter().filter(without_dashes).collect();
            assert_eq!(shown, want, "{text}");
        }
    }
}
