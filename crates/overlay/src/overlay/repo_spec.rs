//! References to remote git repositories, parsed as kustomize does.
//!
//! Owns the grammar of such references: no network, no files. As in kustomize (v5.8.3), a reference that does not
//! parse is a local path.

use std::path::Path;
use std::time::Duration;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv::parse_bool;
use smp_text::gocompat::time::parse_duration;
use smp_text::gocompat::url::parse_query;

/// The timeout of one git command, unless the reference sets another.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(27);

/// A git repository, the revision to check out, and a directory in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoSpec {
    raw: String,
    /// Scheme, user and host up to the path: `https://github.com/`, `git@example.com:`, `file://`.
    pub host: String,
    /// The path of the repository on the host.
    pub repository: String,
    /// The directory in the repository, without a leading slash; empty for its top.
    pub directory: String,
    /// The branch, tag or commit; empty for the repository's default branch.
    pub revision: String,
    /// Also checks out submodules.
    pub submodules: bool,
    /// The timeout of one git command.
    pub timeout: Duration,
    /// True if the reference starts with `git::`, which kustomize strips with a warning.
    pub forced_git: bool,
}

impl RepoSpec {
    /// Parses a reference.
    ///
    /// # Errors
    /// The reference is not a repository, but a local path or another URL.
    pub fn parse(reference: &str) -> Result<Self> {
        if Path::new(reference).is_absolute() {
            return Err(invalid_reference(reference, "it is an absolute path"));
        }
        let (address, query) = reference.split_once('?').unwrap_or((reference, ""));
        let query = Query::parse(query);
        let (address, forced_git) = match strip_prefix_ignore_case(address, "git::") {
            Some(rest) => (rest, true),
            None => (address, false),
        };
        let (host, path) = split_host(address).map_err(|why| invalid_reference(reference, why))?;
        let (repository, directory) =
            split_path(path, &host).map_err(|why| invalid_reference(reference, why))?;
        Ok(Self {
            raw: reference.to_string(),
            repository: repository.to_string(),
            directory: directory.to_string(),
            host,
            revision: query.revision,
            submodules: query.submodules,
            timeout: query.timeout,
            forced_git,
        })
    }

    /// Returns the reference as written.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the URL that git fetches from.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}{}", self.host, self.repository)
    }

    /// Returns [`RepoSpec::url`] without password, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        without_password(&self.url())
    }

    /// Returns true if the repository is on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        strip_prefix_ignore_case(&self.host, "file:").is_some()
    }

    /// Returns true if entering this reference would be a cycle. `earlier` is a reference through which this one was
    /// reached.
    ///
    /// kustomize compares references as written: the new one must not be a prefix of the earlier one.
    #[must_use]
    pub fn is_cycle_with(&self, earlier: &Self) -> bool {
        earlier.raw.starts_with(&self.raw)
    }

    /// Returns true if the revision is a full commit hash, which never changes its meaning.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        is_commit(&self.revision)
    }
}

/// Returns true if a text is a full commit hash as git prints it.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

/// Returns true if a text contains only lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn invalid_reference(reference: &str, why: &str) -> Diagnostic {
    let shown = without_password(reference);
    Diagnostic::error(Code::InvalidValue, format!("`{shown}` is not a reference to a git repository: {why}"))
        .help("use https://HOST/ORG/REPO//DIRECTORY?ref=TAG or git@HOST:ORG/REPO")
}

/// Removes user information that may be secret from a URL: all of it for HTTP, otherwise the password.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let Some((user, host)) = authority.rsplit_once('@') else { return url.to_string() };
    let path = &rest[authority.len()..];
    // `git::https` is HTTP as well.
    let scheme_name = scheme.rsplit(':').next().unwrap_or_default();
    if ["http", "https"].iter().any(|http| http.eq_ignore_ascii_case(scheme_name)) {
        return format!("{scheme}://***@{host}{path}");
    }
    match user.split_once(':') {
        Some((name, _)) => format!("{scheme}://{name}:***@{host}{path}"),
        None => url.to_string(),
    }
}

/// Returns a URL as it may be stored: without credentials in the user information, and without query parameters whose
/// names suggest a secret.
pub fn without_secrets(url: &str) -> String {
    let shown = without_password(url).replacen("://***@", "://", 1).replacen(":***@", "@", 1);
    let Some((path, query)) = shown.split_once('?') else { return shown };
    let is_secret = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        SECRET_WORDS.iter().any(|word| name.contains(word)) || SECRET_NAMES.contains(&name.as_str())
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_secret(pair)).collect();
    if kept.is_empty() { path.to_string() } else { format!("{path}?{}", kept.join("&")) }
}

/// Words in the names of query parameters that hold secrets.
const SECRET_WORDS: [&str; 7] =
    ["token", "secret", "password", "signature", "credential", "api_key", "apikey"];
/// Names of query parameters that hold secrets.
const SECRET_NAMES: [&str; 4] = ["sig", "key", "auth", "jwt"];

const FILE: &str = "file://";
const SCHEMES: [&str; 4] = ["ssh://", "https://", "http://", FILE];

fn strip_prefix_ignore_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Splits an address into the host part and the path on the host.
fn split_host(address: &str) -> std::result::Result<(String, &str), &'static str> {
    let (scheme, rest) = SCHEMES
        .iter()
        .find_map(|scheme| strip_prefix_ignore_case(address, scheme).map(|rest| (*scheme, rest)))
        .unwrap_or(("", address));
    if scheme == FILE {
        // Everything that follows is a path, even if it looks like a user.
        return Ok((FILE.to_string(), rest));
    }
    let (user, rest) = split_user(rest);
    let github = ["github.com/", "github.com:"].iter().any(|h| strip_prefix_ignore_case(rest, h).is_some());
    // Without a scheme, a colon may end the host: `user@host:path`. Only GitHub works without a user.
    let colon_ends_host = scheme.is_empty() && (!user.is_empty() || github);
    if scheme.is_empty() && !colon_ends_host {
        return Err("it has no scheme such as https://");
    }
    let end = if colon_ends_host { end_of_host(rest) } else { rest.find('/') };
    let (host, path) = match end {
        Some(end) => rest.split_at(end + 1),
        None => (rest, ""),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    if github {
        return Ok((github_host(scheme, user), path));
    }
    Ok((format!("{scheme}{user}{host}"), path))
}

/// Splits off `user@`.
fn split_user(text: &str) -> (&str, &str) {
    let name = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
    let is_user = name.starts_with(|c: char| c.is_ascii_alphabetic()) && text[name.len()..].starts_with('@');
    if is_user { text.split_at(name.len() + 1) } else { ("", text) }
}

/// Returns the index of the last byte of the host part, if a colon may end it.
fn end_of_host(text: &str) -> Option<usize> {
    match (text.find('/'), text.find(':')) {
        (Some(slash), Some(colon)) if colon == 0 || colon > slash => Some(slash),
        (Some(slash), None) => Some(slash),
        (_, colon) => colon,
    }
}

/// Returns the normalized host part for GitHub, which is either SSH or HTTPS.
fn github_host(scheme: &str, user: &str) -> String {
    if scheme == "ssh://" || !user.is_empty() {
        return format!("{user}github.com:");
    }
    "https://github.com/".to_string()
}

/// Splits a path on a host into the repository and the directory in it.
fn split_path<'p>(path: &'p str, host: &str) -> std::result::Result<(&'p str, &'p str), &'static str> {
    let whole = Some((path, "")).filter(|_| host == FILE);
    let split = split_at_marker(path).or(whole).or_else(|| split_at_second_slash(path));
    let (repository, directory) =
        split.filter(|(repository, _)| !repository.is_empty()).ok_or("it has no repository")?;
    let directory_in_it = directory.strip_prefix('/').unwrap_or(directory);
    if leaves(directory_in_it) {
        return Err("its path is outside of the repository");
    }
    Ok((repository, directory_in_it))
}

/// Splits at an explicit end of the repository: after `_git/NAME` (Azure), at `//`, or after `.git`.
fn split_at_marker(path: &str) -> Option<(&str, &str)> {
    if let Some(at) = path.find("_git/") {
        let name = at + "_git/".len();
        let end = path[name..].find('/').map_or(path.len(), |i| name + i);
        return Some((&path[..end], path.get(end + 1..).unwrap_or_default()));
    }
    if let Some(split) = path.split_once("//") {
        return Some(split);
    }
    path.find(".git").map(|at| path.split_at(at + ".git".len()))
}

/// Splits after organization and repository.
fn split_at_second_slash(path: &str) -> Option<(&str, &str)> {
    let first = path.find('/')? + 1;
    Some(match path[first..].find('/') {
        Some(second) => (&path[..first + second], &path[first + second + 1..]),
        None => (path, ""),
    })
}

/// Returns true if a relative path leaves its starting directory. Absolute paths never do.
fn leaves(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.trim_start_matches('/').split('/') {
        match part {
            "" | "." => {}
            // An absolute path cannot refer to something above the root.
            ".." if depth == 0 => return !path.starts_with('/'),
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// The query of a reference.
struct Query {
    revision: String,
    timeout: Duration,
    submodules: bool,
}

impl Query {
    fn parse(query: &str) -> Self {
        let mut parsed = Self { revision: String::new(), timeout: DEFAULT_TIMEOUT, submodules: true };
        // With one invalid escape kustomize ignores all parameters.
        let Some(pairs) = parse_query(query) else { return parsed };
        let first = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
                .filter(|v| !v.is_empty())
        };
        if let Some(revision) = first("ref").or_else(|| first("version")) {
            parsed.revision = revision.to_string();
        }
        if let Some(timeout) = first("timeout").and_then(seconds_or_duration) {
            parsed.timeout = timeout;
        }
        if let Some(submodules) = first("submodules").and_then(parse_bool) {
            parsed.submodules = submodules;
        }
        parsed
    }
}

/// Parses `61` as seconds, or a Go duration. Returns `None` unless it is positive.
fn seconds_or_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<i64>()
        && let Ok(seconds) = u64::try_from(seconds)
        && seconds > 0
    {
        return Some(Duration::from_secs(seconds));
    }
    parse_duration(text).filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests;
