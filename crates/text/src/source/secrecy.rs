//! Which lines of a text nobody shall see in a message.
//!
//! Goes by the looks of the text and not by its tree, since messages are about texts that have none. It errs on
//! the side of hiding: a document that may hold a secret shows only what stands below keys that never do.

use std::path::Path;

use super::kustomization::is_kustomization;
use super::operations::{OperationList, PatchForm};
use super::password::{has_password, is_secret};

/// The lines of a text that are not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HiddenLines {
    None,
    All,
    /// Whether each line is hidden.
    Some(Vec<bool>),
}

/// What a document has in it that may hold a secret: a Secret, a patch of one, a kubeconfig, a generator.
const SIGNS: [&str; 12] = [
    "Secret",
    "stringData",
    "/data",
    "last-applied-configuration",
    "literals",
    "envs",
    "Generator",
    "users",
    "clusters",
    "current-context",
    "client-key",
    "PRIVATE KEY",
];

/// Keys at the left edge below which nothing is secret, even in such a document.
const PLAIN_KEYS: [&str; 27] = [
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

/// Keys of kustomizations below which paths of files stand, or what the files would hold.
const FILE_KEYS: [&str; 4] = ["transformers", "generators", "validators", "patchesStrategicMerge"];

/// What ends that: behind a line with one of them everything is hidden, up to the next key at the left edge.
const OPENERS: [&str; 7] =
    ["stringData", "literals", "last-applied-configuration", "Generator", "patch", "values", "envs"];

/// Keys whose values are secret wherever they stand.
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

impl HiddenLines {
    pub(super) fn of(name: &Path, text: &str) -> Self {
        if is_env_file(name) {
            return Self::All;
        }
        let lines: Vec<&str> = text.split('\n').collect();
        let documents = documents(&lines);
        let prose = is_prose(name);
        let holds: Vec<bool> =
            documents.iter().map(|document| !prose && may_hold_secrets(document)).collect();
        let any = holds.contains(&true);
        let mut hidden = Vec::with_capacity(lines.len());
        for (document, holds) in documents.iter().zip(holds) {
            // What has no kind beside a document that holds secrets may be torn off from it.
            let torn = any && !document.iter().any(|line| has_key(line, "kind"));
            if holds || torn {
                hide(document, name, &mut hidden);
            } else {
                hidden.extend(document.iter().map(|line| is_secret_line(line)));
            }
        }
        if hidden.contains(&true) { Self::Some(hidden) } else { Self::None }
    }

    /// Whether a line (from 1) is hidden.
    pub(super) fn contains(&self, line: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(hidden) => hidden.get(line.saturating_sub(1)).copied().unwrap_or(true),
        }
    }
}

/// Whether a text of this name may hold a secret, by its looks.
pub fn may_be_secret(name: &Path, text: &str) -> bool {
    HiddenLines::of(name, text) != HiddenLines::None
}

/// Whether a field of this name holds a secret, wherever it stands, and not the name or path of one.
pub fn is_secret_key(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let is_of_one = ["name", "namespace", "ref", "path", "file"].iter().any(|end| lower.ends_with(end));
    !is_of_one && (is_secret(&lower) || SECRET_KEYS.contains(&lower.as_str()))
}

/// Prose may speak of Secrets, and has none.
fn is_prose(name: &Path) -> bool {
    let extension = name.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["md", "rst", "adoc"].iter().any(|prose| prose.eq_ignore_ascii_case(extension))
}

fn is_env_file(name: &Path) -> bool {
    let name = name.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.starts_with(".env")
        || name.rsplit('.').next().is_some_and(|extension| extension == "env" && name.len() > 3)
}

/// The documents of a stream, each from its `---` on.
fn documents<'l>(lines: &'l [&'l str]) -> Vec<&'l [&'l str]> {
    let mut documents = Vec::new();
    let mut start = 0;
    for (i, line) in lines.iter().enumerate().skip(1) {
        if line.starts_with("---") {
            documents.push(&lines[start..i]);
            start = i;
        }
    }
    documents.push(&lines[start..]);
    documents
}

fn may_hold_secrets(document: &[&str]) -> bool {
    let has_sign = |line: &&str| SIGNS.iter().any(|sign| line.contains(sign));
    let has_data = |line: &&str| has_key(line, "data") || has_key(line, "binaryData");
    document.iter().any(has_sign)
        || document.iter().any(|line| line.contains("//") && has_password(line))
        || (document.iter().any(has_data) && !document.iter().any(|line| line.contains("ConfigMap")))
}

fn hide(document: &[&str], name: &Path, hidden: &mut Vec<bool>) {
    // What stands below the last key at the left edge.
    let (mut below_is_hidden, mut is_metadata) = (true, false);
    let (mut entry, of_kustomization) = (GeneratorEntry::None, is_kustomization(name));
    let mut paths = PathList::None;
    let form = if of_kustomization { PatchForm::Text } else { PatchForm::Document };
    let mut operations = OperationList::at_start(form);
    for line in document {
        entry = entry.after(line);
        paths = if of_kustomization { paths.after(line) } else { PathList::None };
        operations = match key_at_edge(line) {
            Some((key, _)) => OperationList::at_key(key, form),
            None => operations.after(line, form),
        };
        let mut is_hidden = below_is_hidden;
        if let Some((key, value)) = key_at_edge(line) {
            let is_meant = |known: &&str| of_kustomization && is_one_slip(known, key);
            is_hidden = !PLAIN_KEYS.contains(&key) && !PLAIN_KEYS.iter().any(is_meant);
            // A key with a value on its line has nothing below it; a line there has lost its own.
            below_is_hidden = is_hidden || !value.trim().is_empty();
            is_metadata = key == "metadata" && value.trim().is_empty();
        } else if is_metadata {
            is_hidden |= !["name", "namespace", "generateName"].iter().any(|key| has_key(line, key));
        }
        if OPENERS.iter().any(|opener| line.contains(opener)) || has_key(line, "data") {
            (is_hidden, below_is_hidden) = (true, true);
        }
        is_hidden &= !matches!(entry, GeneratorEntry::Name(_)) && !paths.shows(line);
        let is_plain = operations.shows() || entry != GeneratorEntry::None && is_behavior(line);
        is_hidden &= !is_plain;
        // `key=value` as literals and env files have it.
        is_hidden |= line.contains('=') && !line.contains("://");
        hidden.push(is_hidden || is_secret_line(line));
    }
}

/// What the behavior of a generator can be.
const BEHAVIORS: [&str; 3] = ["create", "replace", "merge"];

/// Whether a line says how a generator behaves, in whatever spelling, and nothing else.
fn is_behavior(line: &str) -> bool {
    let field = line.trim_start_matches([' ', '-']).split_once(':');
    field.is_some_and(|(key, value)| {
        let value = value.trim().trim_matches(['"', '\'']);
        is_one_slip("behavior", key.trim_end()) && BEHAVIORS.contains(&value)
    })
}

/// Where a line stands in the entries of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GeneratorEntry {
    /// In none.
    None,
    /// In the list, with the indentation of its dashes once that is known.
    Within(Option<usize>),
    /// At the name of an entry with a dash of that indentation.
    Name(usize),
}

impl GeneratorEntry {
    /// Where the next line stands. Only a name that begins an entry of the list is taken for one: below it may stand
    /// anything.
    fn after(self, line: &str) -> Self {
        let known = match (key_at_edge(line), self) {
            (Some((key, value)), _) if key.ends_with("Generator") && value.trim().is_empty() => {
                return Self::Within(None);
            }
            (Some(_), _) | (None, Self::None) => return Self::None,
            (None, Self::Within(indent)) => indent,
            (None, Self::Name(indent)) => Some(indent),
        };
        let trimmed = line.trim_start_matches(' ');
        let Some(entry) = trimmed.strip_prefix("- ") else { return Self::Within(known) };
        let indent = line.len() - trimmed.len();
        let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-. ".contains(c));
        match entry.strip_prefix("name:").filter(|name| is_word(name)) {
            Some(_) if known.is_none_or(|known| known == indent) => Self::Name(indent),
            _ => Self::Within(known.or(Some(indent))),
        }
    }
}

/// Where a line stands in a list of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathList {
    /// In none, or behind an entry that is something else.
    None,
    /// At the key.
    Key,
    /// At an entry, which is a path, with a dash of that indentation.
    Entry(usize),
}

impl PathList {
    /// Where the next line stands.
    fn after(self, line: &str) -> Self {
        if let Some((key, value)) = key_at_edge(line) {
            let is_list = FILE_KEYS.contains(&key) && (value.trim().is_empty() || is_path_list(value));
            return if is_list { Self::Key } else { Self::None };
        }
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        match (self, trimmed.strip_prefix("- ").filter(|path| is_path(path.trim()))) {
            (Self::Key, Some(_)) => Self::Entry(indent),
            (Self::Entry(known), Some(_)) if known == indent => self,
            _ => Self::None,
        }
    }

    /// Whether the line that it stands at may be shown; so may one that names env files.
    fn shows(self, line: &str) -> bool {
        let env_files = line.trim_start_matches([' ', '-']).strip_prefix("envs:");
        self != Self::None || env_files.is_some_and(is_path_list)
    }
}

/// Whether a value is a list of paths in brackets.
fn is_path_list(value: &str) -> bool {
    let list = value.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    list.is_some_and(|list| list.split(',').all(|path| is_path(path.trim())))
}

fn is_path(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// Whether two words differ by one letter: another, one more, one less, or two that are swapped.
fn is_one_slip(known: &str, word: &str) -> bool {
    let (known, word) = (known.as_bytes(), word.as_bytes());
    let before = known.iter().zip(word).take_while(|(a, b)| a == b).count();
    let (known, word) = (&known[before..], &word[before..]);
    let behind = known.iter().rev().zip(word.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&known[..known.len() - behind], &word[..word.len() - behind]) {
        ([a, b], [c, d]) => a == d && b == c,
        (known, word) => known.len() <= 1 && word.len() <= 1,
    }
}

/// The key that a line at the left edge begins with, and what follows its colon.
fn key_at_edge(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches('\u{feff}');
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!key.is_empty() && !line.starts_with([' ', '\t', '-']) && key.chars().all(is_word))
        .then_some((key, value))
}

/// Whether a key of this name stands in a line, at its start or within brackets.
fn has_key(line: &str, key: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    line.match_indices(key).any(|(i, _)| {
        let behind = line[i + key.len()..].trim_start_matches(['"', '\'', ' ', '\t']);
        behind.starts_with(':') && !line[..i].ends_with(is_part)
    })
}

/// Whether a line is secret wherever it stands: by its key, or a URL with a password.
pub(super) fn is_secret_line(line: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let by_key = line.match_indices([':', '=']).any(|(i, _)| {
        let before = line[..i].trim_end_matches(['"', '\'', ' ']);
        let word = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
        SECRET_KEYS.iter().any(|key| key.eq_ignore_ascii_case(word))
    });
    by_key || has_password(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that are shown.
    fn shown(name: &str, text: &str) -> Vec<usize> {
        let hidden = HiddenLines::of(Path::new(name), text);
        (1..=text.lines().count()).filter(|line| !hidden.contains(*line)).collect()
    }

    #[test]
    fn what_may_hold_secrets_is_hidden() {
        let table: [(&str, &str, &[usize]); 25] = [
            (
                "kustomization.yaml",
                "transformers: [yy, a.yaml]\nopenapi: {path: oo}\nsecretGenerator:\n- name: a\n  envs: [c.env]\n  literals: [d]\n",
                &[1, 2, 4, 5],
            ),
            (
                "kustomization.yaml",
                "secretGenerator: []\ngenerators:\n- a.yaml\n- b/c\n- |-\n  - d\n- e\nvalidators:\n- f\n  - g\n",
                &[2, 3, 4, 8, 9],
            ),
            (
                "kustomization.yaml",
                "secretGenerator: []\npatchesStrategicMerge:\n- a\n- '{b: c\n- d\n'\n",
                &[2, 3],
            ),
            (
                "kustomization.yaml",
                "namespce: a\nsecretGenerator:\n- name: b\n  literals:\n  - c=d\n  - name: e\n- name: f\n  behavior: g\n",
                &[1, 3, 7],
            ),
            (
                "kustomization.yaml",
                "secretGenerator:\n- name: b\n  behaviour: merge\n  behavior: replace\n- behaviour: hunter2\n  hunter2: merge\n",
                &[2, 3, 4],
            ),
            (
                "kustomization.yaml",
                "patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: add\n      path: /stringData/b\n      value: c\n",
                &[4, 5],
            ),
            ("kustomization.yaml", "secretGenerator:\n- literals:\n  - a=b\nval: c\ntpye: d\n", &[5]),
            ("a.yaml", "kind: Deployment\nspec:\n  a: 1\n", &[1, 2, 3]),
            ("a.yaml", "kind: ConfigMap\ndata:\n  a: 1\n", &[1, 2, 3]),
            ("a.yaml", "kind: Secret\nmetadata:\n  name: a\nstringData:\n  a: 1\n", &[1, 2, 3]),
            ("a.yaml", "data:\n  a: 1\nkind: Secret\n", &[3]),
            ("a.yaml", "kid: Scret\ndata:\n  a: 1\n", &[]),
            ("a.yaml", "kind: Secret\ntype: Opaque\n  a: 1\n", &[1, 2]),
            ("a.yaml", "kind: Secret\nmetadata:\n  name: a\n  b: 1\n", &[1, 2, 3]),
            ("a.yaml", "kind: Secret\nmetadata: {annotations: {a-last-applied-configuration: x}}\n", &[1]),
            ("a.json", "{\"kind\": \"Secret\",\n\"data\": {}}\n", &[]),
            ("a.json", "{\n  \"kind\": \"Service\",\n  \"x\": 1\n}\n", &[1, 2, 3, 4]),
            ("a.yaml", "kind: Secret\ndata: {}\n---\ntorn off\n---\nkind: A\nx: 1\n", &[1, 5, 6, 7]),
            ("p.yaml", "- op: test\n  path: /data/a\n  value: x\n", &[1, 2]),
            ("config", "kind: Config\nusers:\n- user:\n    token: a\n", &[1]),
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\nsecretGenerator:\n- literals:\n  - a=b\nnamespace: c\n",
                &[1, 2, 6],
            ),
            ("kustomization.yaml", "resources:\n- a.yaml\n literals:\n - a=b\n", &[1, 2]),
            ("values.yaml", "a: 1\nadmin:\n  password: x\n", &[1, 2]),
            ("x.env", "A=1\n", &[]),
            (
                "k.yaml",
                "resources:\n- https://me:pw@h/a\n- https://h/a?ref=1\n- https://h?token=a\n",
                &[1, 3],
            ),
        ];
        for (name, text, want) in table {
            assert_eq!(shown(name, text), want, "{text}");
        }
    }

    #[test]
    fn broken_manifests_of_secrets_are_known() {
        for text in ["a: {{\nkind: Secret\n", "- kind:  \"Secret\"\n", "{\"kind\": \"Secret\",\n"] {
            assert!(may_be_secret(Path::new("a.yaml"), text), "{text}");
        }
        assert!(!may_be_secret(Path::new("a.yaml"), "kind: Service\n"));
        assert!(!may_be_secret(Path::new("README.md"), "A Secret has `data`.\n"));
    }

    #[test]
    fn a_line_that_is_not_there_is_hidden_where_others_are() {
        assert!(HiddenLines::of(Path::new("a"), "kind: Secret\ndata: x").contains(9));
    }
}
