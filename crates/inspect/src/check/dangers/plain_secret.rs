//! Rule: password or token added as plain text.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashSet;

use super::prelude::*;
use crate::check::walk::walk;
use smp_merge::schema::Cursor;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "plain-secret",
        meaning: "A change adds a password, token or private key as plain text.",
        remedy: "Store it in a Secret that is encrypted in git or comes from a secret store, and refer to it with `valueFrom`.",
    }),
    title: "Password or token added as plain text",
    severity: Severity::Error,
    why: "Everyone who can read the repository, the object or the environment of a process can read the value.",
    suppress: Some(
        "The value is a placeholder. For a Secret: its values are encrypted before they are stored in git.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/configuration/secret/",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", env: [{name: DB_PASSWORD, value: hunter2}]}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", env: [{name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

/// The last words of names of settings, whose values are not secrets.
const SETTINGS: &str = "\
    age algorithm attempts audience count days dir directory disabled duration enable enabled endpoint \
    expiration expiry field file format header host hours interval issuer length lifetime limit max \
    method min minutes mode name namespace path policy port provider ref reloader required reviewer \
    rotation rounds seconds size timeout ttl type uri url validity version";

/// Values that are not secrets: booleans, durations, and URLs without credentials.
static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:true|false|yes|no|on|off|none|(?:\d+(?:\.\d+)?(?:ns|us|ms|[smhdw]))+|[a-z][a-z0-9+.-]*://[^@\s]*)$",
    )
});

/// Placeholders that a tool replaces.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$[({]|^\$\w+$|^<.*>$|\{\{|^ENC\["));

/// Private keys, and tokens with the prefix of their issuer.
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*",
        r"|\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abp]-[\w-]{10,})",
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    ))
});

/// A command-line argument with a value: name and value.
static ARGUMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?:^|\s)--?([A-Za-z][\w.-]*)=["']?([^\s"']+)"#));

/// A URL with a password: the password.
static URL_PASSWORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/@"',?#]+)@"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if object.is_kind("", &["Secret"]) {
        return new_secret(object).into_iter().collect();
    }
    let mut found = variables(object);
    found.extend(config_keys(object));
    let known: FxHashSet<Vec<SmolStr>> = found.iter().map(|danger| danger.path.clone()).collect();
    found.extend(credentials(object).into_iter().filter(|danger| !known.contains(&danger.path)));
    found
}

/// Returns true if a value with this name is a secret.
fn is_plain(name: &str, value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok() && !name.to_ascii_lowercase().ends_with("password");
    let is_harmless =
        value.is_empty() || is_number || HARMLESS.is_match(value) || PLACEHOLDER.is_match(value);
    is_secret_key(name) && !is_harmless && !is_setting(name)
}

/// Returns true if the last word of a name is that of a setting.
fn is_setting(name: &str) -> bool {
    let last = name.rsplit(['_', '-', '.', '/']).next().unwrap_or(name);
    let has_lower = last.contains(|c: char| c.is_ascii_lowercase());
    let start = last.rfind(|c: char| has_lower && c.is_ascii_uppercase()).unwrap_or_default();
    let word = last[start..].to_ascii_lowercase();
    SETTINGS.split_whitespace().any(|known| known == word)
}

/// Returns the danger of a new Secret with values that are not encrypted. The values themselves are masked here.
fn new_secret(object: &ChangedObject<'_>) -> Option<Danger> {
    let new = object.new.filter(|new| object.old.is_none() && new.get("sops").is_none())?;
    let is_value = |value: &Node| text(Some(value)).is_some_and(|value| !value.is_empty());
    let has_values = |field: &&str| {
        new.get(field).and_then(Node::as_map).is_some_and(|map| map.iter().any(|(_, value)| is_value(value)))
    };
    let field = ["stringData", "data"].into_iter().find(has_values)?;
    Some(Danger::at(&[field], "the new Secret is stored without encryption"))
}

fn variables(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let [old, new] = [container.old, container.new].map(|side| side.and_then(|side| side.get("env")));
        for (i, variable) in added_entries(old, new) {
            let name = text(variable.get("name")).unwrap_or_default();
            if is_plain(name, text(variable.get("value")).unwrap_or_default()) {
                let path = container.field(&["env", &i.to_string(), "value"]);
                found.push(Danger::at(
                    &path,
                    format!("the variable `{name}` contains a secret as plain text"),
                ));
            }
        }
    }
    found
}

fn config_keys(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("", &["ConfigMap"]) {
        return Vec::new();
    }
    let [old, new] = object.values(&["data"]);
    let is_added = |(key, value): &(&str, &Node)| {
        old.and_then(|old| old.get(key)) != Some(*value)
            && is_plain(key, text(Some(value)).unwrap_or_default())
    };
    let added = new.and_then(Node::as_map).into_iter().flat_map(Map::iter).filter(is_added);
    let message = |key: &str| format!("the key `{key}` contains a secret as plain text");
    added.map(|(key, _)| Danger::at(&["data", key], message(key))).collect()
}

/// Returns the dangers of values that contain credentials, in any field.
fn credentials(object: &ChangedObject<'_>) -> Vec<Danger> {
    let Some(new) = object.new else { return Vec::new() };
    let old = object.old.into_iter().flat_map(Node::nodes).filter_map(|node| text(Some(node)));
    let known: FxHashSet<&str> = old.flat_map(credentials_in).collect();
    let mut found = Vec::new();
    walk(new, Cursor::unknown(), &mut |visit| {
        let value = text(Some(visit.node)).unwrap_or_default();
        if credentials_in(value).iter().any(|one| !known.contains(one)) {
            found.push(Danger::at(&visit.steps(), "the value contains a password, token or private key"));
        }
    });
    found
}

fn credentials_in(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = CREDENTIAL.find_iter(text).map(|found| found.as_str()).collect();
    let arguments = ARGUMENT.captures_iter(text).map(|found| found.extract::<2>());
    all.extend(arguments.filter(|(_, [name, value])| is_plain(name, value)).map(|(whole, _)| whole.trim()));
    let passwords = URL_PASSWORD.captures_iter(text).map(|found| found.extract::<1>());
    all.extend(passwords.filter(|(_, [value])| !PLACEHOLDER.is_match(value)).map(|(whole, _)| whole));
    all
}
