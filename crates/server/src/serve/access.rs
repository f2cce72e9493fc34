//! Access control: accepts only clients on this machine that send the token.

use std::fmt::Write as _;
use std::io;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{Request, Response};

use crate::body::Body;
use crate::service;
use crate::status::Failure;

/// The checks of each request.
pub(super) struct Access {
    hosts: [String; 2],
    token: String,
}

impl Access {
    pub(super) fn new(port: u16) -> io::Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let token = bytes.iter().fold(String::new(), |mut token, byte| {
            let _ = write!(token, "{byte:02x}");
            token
        });
        Ok(Self { hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")], token })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the response to a rejected request: from a web page, with another Host, or without the token.
    pub(super) fn refusal<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_string();
        let header = |name| request.headers().get(name).map(text);
        let mut hosts: Vec<String> = request.headers().get_all(HOST).iter().map(text).collect();
        hosts.extend(request.uri().authority().map(ToString::to_string));
        let is_own = |host: &String| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if hosts.is_empty() || !hosts.iter().all(is_own) || header(ORIGIN).is_some() {
            let message = "requests from web pages, or with another Host, are rejected";
            return Some(service::failed(&Failure::new(403, "Forbidden", message)));
        }
        let is_open = crate::discovery::is_health_path(request.uri().path());
        let given = header(AUTHORIZATION);
        let given = given.as_deref().and_then(|text| text.strip_prefix("Bearer "));
        if is_open || given == Some(self.token.as_str()) {
            return None;
        }
        Some(service::failed(&Failure::new(401, "Unauthorized", "Unauthorized")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_of_a_request_must_be_this_server() {
        let access = Access::new(1234).expect("random bytes");
        let authorization = format!("Bearer {}", access.token());
        let code = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri).header("authorization", &authorization);
            for host in hosts {
                request = request.header("host", *host);
            }
            access.refusal(&request.body(()).expect("a request")).map(|response| response.status().as_u16())
        };
        assert_eq!(code("/api", &[]), Some(403));
        assert_eq!(code("/api", &["127.0.0.1:1234", "example.com"]), Some(403));
        assert_eq!(code("https://example.com/api", &["127.0.0.1:1234"]), Some(403));
        assert_eq!(code("https://127.0.0.1:1234/api", &["127.0.0.1:1234"]), None);
    }

    #[test]
    fn web_pages_and_clients_without_the_token_are_refused() {
        let access = Access::new(1234).expect("random bytes");
        let bearer = format!("Bearer {}", access.token());
        let code = |host: &str, origin: Option<&str>, authorization: &str| {
            let mut request =
                Request::builder().uri("/api").header("host", host).header("authorization", authorization);
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            access.refusal(&request.body(()).expect("a request")).map(|response| response.status().as_u16())
        };
        assert_eq!(code("127.0.0.1:1234", None, &bearer), None);
        assert_eq!(code("localhost:1234", None, &bearer), None);
        assert_eq!(code("LOCALHOST:1234", None, &bearer), None);
        assert_eq!(code("example.com:1234", None, &bearer), Some(403));
        assert_eq!(code("127.0.0.1:1234", Some("http://example.com"), &bearer), Some(403));
        assert_eq!(code("127.0.0.1:1234", None, "Bearer other"), Some(401));
    }
}
