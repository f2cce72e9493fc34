//! The keys in the addresses of pages, and the tokens of their requests.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use sha2::{Digest as _, Sha256};

/// The hash of a key or token. Lookups compare hashes, so that their timing does not reveal how many characters of a guess
/// are correct.
type Hash = [u8; 32];

/// The valid keys and tokens.
#[derive(Default)]
pub(super) struct Access {
    /// The keys that have not been used yet.
    keys: Mutex<HashSet<Hash>>,
    tokens: Mutex<HashSet<Hash>>,
}

impl Access {
    /// Creates a key, which can be exchanged for a token once.
    pub(super) fn new_key(&self) -> io::Result<String> {
        add_secret(&self.keys)
    }

    /// Returns a token for a key, or `None` if the key is unknown or was already used.
    pub(super) fn exchange(&self, key: &str) -> Option<String> {
        let is_valid = self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(key));
        if is_valid { add_secret(&self.tokens).ok() } else { None }
    }

    /// Returns true if a request has a valid token.
    pub(super) fn has_token(&self, headers: &HeaderMap) -> bool {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        token.is_some_and(|token| tokens.contains(&hash(token)))
    }
}

/// Returns true if a request is addressed to this server by a name of the loopback interface, and does not come from
/// another page.
pub(super) fn is_same_origin(headers: &HeaderMap, port: u16) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
    let Some(host) = text(HOST).filter(|host| hosts.iter().any(|known| known == host)) else { return false };
    let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
    headers.get_all(HOST).iter().count() == 1
        && (!headers.contains_key(ORIGIN) || text(ORIGIN).is_some_and(is_own))
}

fn add_secret(secrets: &Mutex<HashSet<Hash>>) -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let secret = smp_files::hex(&bytes);
    secrets.lock().unwrap_or_else(PoisonError::into_inner).insert(hash(&secret));
    Ok(secret)
}

fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_one_token() {
        let access = Access::default();
        let key = access.new_key().expect("random");
        let token = access.exchange(&key).expect("valid");
        assert_eq!(
            (access.exchange(&key), access.exchange("x"), access.exchange(&token)),
            (None, None, None)
        );
        let with = |value: &str| HeaderMap::from_iter([(AUTHORIZATION, value.parse().expect("valid"))]);
        assert!(access.has_token(&with(&format!("Bearer {token}"))));
        let refused =
            [format!("Bearer {key}"), format!("bearer {token}"), token, "Bearer ".into(), String::new()];
        for value in refused {
            assert!(!access.has_token(&with(&value)), "{value}");
        }
        assert!(!access.has_token(&HeaderMap::new()));
    }

    #[test]
    fn other_hosts_and_origins_are_refused() {
        let table: [(&[(_, &str)], bool); 9] = [
            (&[(HOST, "127.0.0.1:80")], true),
            (&[(HOST, "localhost:80"), (ORIGIN, "http://localhost:80")], true),
            (&[], false),
            (&[(HOST, "127.0.0.1")], false),
            (&[(HOST, "evil.example:80")], false),
            (&[(HOST, "127.0.0.1:81")], false),
            (&[(HOST, "127.0.0.1:80"), (ORIGIN, "http://localhost:80")], false),
            (&[(HOST, "127.0.0.1:80"), (ORIGIN, "null")], false),
            (&[(HOST, "127.0.0.1:80"), (ORIGIN, "https://127.0.0.1:80")], false),
        ];
        for (headers, want) in table {
            let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().expect("valid")));
            let headers: HeaderMap = headers.collect();
            assert_eq!(is_same_origin(&headers, 80), want, "{headers:?}");
        }
    }
}
