//! Rule: password or token added as plain text.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
    why: "Everyone who can read the repository, the object or the environment of a process can read the value. For an existing Secret, a key is reported only if it had no unencrypted value before. A changed value is not reported.",
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

/// The last words of names of settings whose values are not secrets.
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

/// Matches names of settings whose value is the name of a Secret, such as `passwordSecret`. `TOKEN_SECRET` does not
/// match, since its value is a secret.
static SECRET_OF_PASSWORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?:password|passwd|credentials?)[-_.]?secret$"));

/// Matches names of objects that consist of several words.
static OBJECT_NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$"));

/// Matches private keys, and tokens with the prefix of their issuer.
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*",
        r"|\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abp]-[\w-]{10,})",
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    ))
});

/// Matches a command-line argument with a value, and captures its name and value.
static ARGUMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?:^|\s)--?([A-Za-z][\w.-]*)=["']?([^\s"']+)"#));

/// Matches a URL with a password, and captures the password.
static URL_PASSWORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/@"',?#]+)@"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if object.is_kind("", &["Secret"]) {
        return secret_values(object);
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
    is_secret_key(name) && !is_harmless && !is_setting(name) && !is_secret_name(name, value)
}

/// Returns true if the value of a setting such as `smtp-password-secret` is the name of a Secret.
fn is_secret_name(name: &str, value: &str) -> bool {
    SECRET_OF_PASSWORD.is_match(name) && OBJECT_NAME.is_match(value)
}

/// Returns true if the last word of a name is in `SETTINGS`.
fn is_setting(name: &str) -> bool {
    let last = name.rsplit(['_', '-', '.', '/']).next().unwrap_or(name);
    let has_lower = last.contains(|c: char| c.is_ascii_lowercase());
    let start = last.rfind(|c: char| has_lower && c.is_ascii_uppercase()).unwrap_or_default();
    let word = last[start..].to_ascii_lowercase();
    SETTINGS.split_whitespace().any(|known| known == word)
}

/// Returns the dangers of unencrypted values of a Secret. For a new Secret, this is one danger. Otherwise there is one
/// for each key that had no such value before. A changed value, or a value that was moved to another key, is not a
/// danger.
fn secret_values(object: &ChangedObject<'_>) -> Vec<Danger> {
    let [old, new] = [object.old, object.new].map(|side| side.map(plain_values).unwrap_or_default());
    let keys: FxHashSet<&str> = old.iter().map(|one| one.key).collect();
    let values: FxHashSet<&str> = old.iter().map(|one| one.value.as_str()).collect();
    let is_added = |one: &&PlainValue<'_>| !keys.contains(one.key) && !values.contains(one.value.as_str());
    let mut added = new.iter().filter(is_added);
    if object.old.is_none() {
        let danger =
            |one: &PlainValue<'_>| Danger::at(&[one.field], "the new Secret is stored without encryption");
        return added.next().map(danger).into_iter().collect();
    }
    let danger = |one: &PlainValue<'_>| {
        let message = format!("the key `{}` of the Secret is stored without encryption", one.key);
        Danger::at(&[one.field, one.key], message)
    };
    added.map(danger).collect()
}

/// A value of a Secret that is neither encrypted nor a placeholder.
struct PlainValue<'n> {
    field: &'static str,
    key: &'n str,
    value: String,
}

/// Returns the values of a Secret that are neither encrypted nor placeholders.
fn plain_values(secret: &Node) -> Vec<PlainValue<'_>> {
    let mut all = Vec::new();
    for field in ["stringData", "data"] {
        let map = secret.get(field).filter(|_| secret.get("sops").is_none()).and_then(Node::as_map);
        for (key, value) in map.into_iter().flat_map(Map::iter) {
            let text = text(Some(value)).unwrap_or_default();
            let decoded = STANDARD.decode(text).ok().filter(|_| field == "data");
            let value =
                decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| text.to_string());
            all.push(PlainValue { field, key, value });
        }
    }
    all.retain(|one| !one.value.is_empty() && !PLACEHOLDER.is_match(&one.value));
    all
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

/// Returns the dangers of values with credentials, in any field.
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
