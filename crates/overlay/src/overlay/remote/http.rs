//! Getting a file over HTTP.

use std::fmt;

/// Why a file did not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HttpFailure {
    /// The server answered with another status than success.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "nobody is asked"))]
    Status(u16),
    /// There was no answer.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "nobody is asked"))]
    NoAnswer(String),
    /// The content is longer than so many bytes.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "nobody is asked"))]
    TooLarge(u64),
    /// This program was built without the feature `remote`.
    Unsupported,
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the server answered with status {status}"),
            Self::NoAnswer(why) => f.write_str(why),
            Self::TooLarge(limit) => write!(f, "it has more than {limit} bytes"),
            Self::Unsupported => f.write_str("this program was built without support for HTTP"),
        }
    }
}

/// What is larger is no manifest.
pub(super) const MAX_SIZE: u64 = 256 << 20;

/// The content of a URL, which may have so many bytes, however they were compressed on the way; up to ten
/// redirections are followed.
#[cfg(feature = "remote")]
pub(super) fn get(url: &str, max_size: u64) -> Result<Vec<u8>, HttpFailure> {
    use std::io::Read as _;
    use std::time::Duration;

    use ureq::Agent;
    use ureq::tls::{RootCerts, TlsConfig};

    let failed = |error: ureq::Error| HttpFailure::NoAnswer(error.to_string());
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        // The certificates that the system trusts, among them those of the user's company.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .timeout_connect(Some(Duration::from_secs(30)))
        .timeout_global(Some(Duration::from_secs(300)))
        .build()
        .into();
    let mut response = agent.get(url).call().map_err(failed)?;
    if !response.status().is_success() {
        return Err(HttpFailure::Status(response.status().as_u16()));
    }
    // ureq's own limit counts what comes over the network, before it is decompressed.
    let mut content = Vec::new();
    let mut body = response.body_mut().as_reader().take(max_size.saturating_add(1));
    body.read_to_end(&mut content).map_err(|error| HttpFailure::NoAnswer(error.to_string()))?;
    let is_too_large = u64::try_from(content.len()).is_ok_and(|size| size > max_size);
    if is_too_large { Err(HttpFailure::TooLarge(max_size)) } else { Ok(content) }
}

/// Says that there is no HTTP here.
#[cfg(not(feature = "remote"))]
pub(super) fn get(_url: &str, _max_size: u64) -> Result<Vec<u8>, HttpFailure> {
    Err(HttpFailure::Unsupported)
}
