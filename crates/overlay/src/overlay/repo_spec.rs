//! Where a remote base is: URLs of git repositories, taken apart as kustomize does.
//!
//! Owns the grammar of such references and nothing else: no network, no files. A reference that
//! does not parse is a local path, which is how kustomize (v5.8.3) tells the two apart.

use std::path::Path;
use std::time::Duration;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv::parse_bool;
use smp_text::gocompat::time::parse_duration;
use smp_text::gocompat::url::parse_query;

/// How long one git command may take, unless the reference says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(27);

/// A git repository, what to check out of it, and a directory in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoSpec {
    raw: String,
    /// Scheme, user and host up to the path: `https://github.com/`, `git@example.com:`, `file://`.
    pub host: String,
    /// The path of the repository on the host.
    pub repository: String,
    /// The directory in the repository, without a leading slash; empty for its top.
    pub directory: String,
    /// The branch, tag or commit; empty for the repository's own default.
    pub reference: String,
    /// Whether submodules are checked out, too.
    pub submodules: bool,
    /// How long one git command may take.
    pub timeout: Duration,
    /// Whether the reference began with `git::`, which kustomize strips with a warning.
    pub forced_git: bool,
}

impl RepoSpec {
    /// Takes a reference apart.
    ///
    /// # Errors
    /// It is no reference to a repository: a local path, or the URL of something else.
    pub fn parse(reference: &str) -> Result<Self> {
        if Path::new(reference).is_absolute() {
            return Err(refused(reference, "an absolute path is no repository"));
        }
        let (address, query) = reference.split_once('?').unwrap_or((reference, ""));
        let query = Query::parse(query);
        let (address, forced_git) = match strip_prefix_ignore_case(address, "git::") {
            Some(rest) => (rest, true),
            None => (address, false),
        };
        let (host, path) = split_host(address).map_err(|why| refused(reference, why))?;
        let (repository, directory) = split_path(path, &host).map_err(|why| refused(reference, why))?;
        Ok(Self {
            raw: reference.to_string(),
            repository: repository.to_string(),
            directory: directory.to_string(),
            host,
            reference: query.reference,
            submodules: query.submodules,
            timeout: query.timeout,
            forced_git,
        })
    }

    /// The reference as it was written.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What git is told to fetch from.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}{}", self.host, self.repository)
    }

    /// [`RepoSpec::url`] without a password, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        without_password(&self.url())
    }

    /// Whether it is on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        strip_prefix_ignore_case(&self.host, "file:").is_some()
    }

    /// Whether entering this reference leads back to `earlier`, which led here.
    ///
    /// kustomize compares the references as they are written, the new one as a prefix of the earlier.
    #[must_use]
    pub fn leads_back_to(&self, earlier: &Self) -> bool {
        earlier.raw.starts_with(&self.raw)
    }

    /// Whether the reference names a commit by its full hash, which can never mean anything else.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        is_commit(&self.reference)
    }
}

/// Whether a text is the full hash of a commit, as git writes it.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

/// Whether a text has nothing but digits of a hash.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn refused(reference: &str, why: &str) -> Diagnostic {
    let shown = without_password(reference);
    Diagnostic::error(Code::InvalidValue, format!("`{shown}` is no reference to a git repository: {why}"))
        .help("write it as https://HOST/ORG/REPO//DIRECTORY?ref=TAG, or as git@HOST:ORG/REPO")
}

/// A URL without the user information that may be a secret: all of it over HTTP, else the password.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let Some((user, host)) = authority.rsplit_once('@') else { return url.to_string() };
    let path = &rest[authority.len()..];
    // `git::https` is HTTP, too.
    let scheme_name = scheme.rsplit(':').next().unwrap_or_default();
    if ["http", "https"].iter().any(|http| http.eq_ignore_ascii_case(scheme_name)) {
        return format!("{scheme}://***@{host}{path}");
    }
    match user.split_once(':') {
        Some((name, _)) => format!("{scheme}://{name}:***@{host}{path}"),
        None => url.to_string(),
    }
}

/// A URL as it may be stored: without user information that may be a secret, and without parameters that are
/// called as secrets are.
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

/// What the names of parameters with secrets have in them.
const SECRET_WORDS: [&str; 7] =
    ["token", "secret", "password", "signature", "credential", "api_key", "apikey"];
/// What they are called.
const SECRET_NAMES: [&str; 4] = ["sig", "key", "auth", "jwt"];

const FILE: &str = "file://";
const SCHEMES: [&str; 4] = ["ssh://", "https://", "http://", FILE];

fn strip_prefix_ignore_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Splits an address into what names the host and the path on it.
fn split_host(address: &str) -> std::result::Result<(String, &str), &'static str> {
    let (scheme, rest) = SCHEMES
        .iter()
        .find_map(|scheme| strip_prefix_ignore_case(address, scheme).map(|rest| (*scheme, rest)))
        .unwrap_or(("", address));
    if scheme == FILE {
        // All that follows is a path, even if it looks like a user.
        return Ok((FILE.to_string(), rest));
    }
    let (user, rest) = split_user(rest);
    let github = ["github.com/", "github.com:"].iter().any(|h| strip_prefix_ignore_case(rest, h).is_some());
    // Without a scheme, a colon may end the host: `user@host:path`. Only GitHub needs no user.
    let colon_ends_host = scheme.is_empty() && (!user.is_empty() || github);
    if scheme.is_empty() && !colon_ends_host {
        return Err("it has no scheme, such as https://");
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

/// The byte that ends the host, which belongs to it, where a colon may do so.
fn end_of_host(text: &str) -> Option<usize> {
    match (text.find('/'), text.find(':')) {
        (Some(slash), Some(colon)) if colon == 0 || colon > slash => Some(slash),
        (Some(slash), None) => Some(slash),
        (_, colon) => colon,
    }
}

/// GitHub is reached in one of two ways, whatever is written.
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
        split.filter(|(repository, _)| !repository.is_empty()).ok_or("it names no repository")?;
    let directory_in_it = directory.strip_prefix('/').unwrap_or(directory);
    if leaves(directory_in_it) {
        return Err("its path leads out of the repository");
    }
    Ok((repository, directory_in_it))
}

/// Splits at what says where the repository ends: behind `_git/NAME` (Azure), at `//`, behind `.git`.
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

/// Splits behind organization and repository.
fn split_at_second_slash(path: &str) -> Option<(&str, &str)> {
    let first = path.find('/')? + 1;
    Some(match path[first..].find('/') {
        Some(second) => (&path[..first + second], &path[first + second + 1..]),
        None => (path, ""),
    })
}

/// Whether a relative path leads above its start.
fn leaves(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.trim_start_matches('/').split('/') {
        match part {
            "" | "." => {}
            // An absolute path has nothing above it.
            ".." if depth == 0 => return !path.starts_with('/'),
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// What stands behind the `?`.
struct Query {
    reference: String,
    timeout: Duration,
    submodules: bool,
}

impl Query {
    fn parse(query: &str) -> Self {
        let mut parsed = Self { reference: String::new(), timeout: DEFAULT_TIMEOUT, submodules: true };
        // One wrong escape, and kustomize uses none of the parameters.
        let Some(pairs) = parse_query(query) else { return parsed };
        let first = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
                .filter(|v| !v.is_empty())
        };
        if let Some(reference) = first("ref").or_else(|| first("version")) {
            parsed.reference = reference.to_string();
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

/// `61` as seconds, or a duration as Go writes it; only what is longer than nothing.
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
