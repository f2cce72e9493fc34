//! Fetches files over HTTP.

use std::fmt;

/// The reason why a file could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HttpFailure {
    /// The server answered with a status other than success.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only constructed with HTTP support"))]
    Status(u16),
    /// The server did not answer.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only constructed with HTTP support"))]
    NoAnswer(String),
    /// The content exceeds the limit in bytes.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only constructed with HTTP support"))]
    TooLarge(u64),
    /// The program was built without the feature `remote`.
    Unsupported,
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "server returned status {status}"),
            Self::NoAnswer(why) => f.write_str(why),
            Self::TooLarge(limit) => write!(f, "larger than {limit} bytes"),
            Self::Unsupported => f.write_str("this program was built without support for HTTP"),
        }
    }
}

/// The maximum size of a file in bytes. Anything larger is not a manifest.
pub(super) const MAX_SIZE: u64 = 256 << 20;

/// Returns the content of a URL. `max_size` limits the decompressed size in bytes. Up to ten redirects are
/// followed.
#[cfg(feature = "remote")]
pub(super) fn get(url: &str, max_size: u64) -> Result<Vec<u8>, HttpFailure> {
    use std::io::Read as _;
    use std::time::Duration;

    use ureq::Agent;
    use ureq::tls::{RootCerts, TlsConfig};

    let failed = |error: ureq::Error| match error {
        // The prefix `io: ` and the number of the error do not help users.
        ureq::Error::Io(error) if error.raw_os_error().is_some() => {
            HttpFailure::NoAnswer(error.kind().to_string())
        }
        error => HttpFailure::NoAnswer(error.to_string()),
    };
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        // The certificates trusted by the system, including those of the user's organization.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .timeout_connect(Some(Duration::from_secs(30)))
        .timeout_global(Some(Duration::from_secs(300)))
        .build()
        .into();
    let mut response = agent.get(url).call().map_err(failed)?;
    if !response.status().is_success() {
        return Err(HttpFailure::Status(response.status().as_u16()));
    }
    // ureq's own limit applies to the compressed size, so the decompressed size is limited here.
    let mut content = Vec::new();
    let mut body = response.body_mut().as_reader().take(max_size.saturating_add(1));
    body.read_to_end(&mut content).map_err(|error| HttpFailure::NoAnswer(error.to_string()))?;
    let is_too_large = u64::try_from(content.len()).is_ok_and(|size| size > max_size);
    if is_too_large { Err(HttpFailure::TooLarge(max_size)) } else { Ok(content) }
}

/// Returns an error, because the program was built without HTTP support.
#[cfg(not(feature = "remote"))]
pub(super) fn get(_url: &str, _max_size: u64) -> Result<Vec<u8>, HttpFailure> {
    Err(HttpFailure::Unsupported)
}
