//! Serves a cluster on a loopback port, for clients in other languages. Uses HTTPS with its own CA, and a token.

mod access;
mod certificates;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::cluster::TestCluster;
use crate::service::ClusterService;
use access::Access;

/// The interval at which accepting connections is retried after an error.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A cluster that listens on a port, see [`Server::bind`].
pub struct Server {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    service: ClusterService,
    access: Arc<Access>,
    certificate: String,
}

impl Server {
    /// Binds a loopback port; 0 selects a free one. Requests are not answered before [`Server::run`].
    ///
    /// With `is_plain`, the server uses HTTP without TLS.
    ///
    /// # Errors
    /// Fails if the port is in use, or if a certificate cannot be created.
    pub async fn bind(cluster: &TestCluster, port: u16, is_plain: bool) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let (tls, certificate) = if is_plain {
            (None, String::new())
        } else {
            let created = certificates::create()?;
            (Some(TlsAcceptor::from(created.configuration)), created.authority)
        };
        let access = Arc::new(Access::new(listener.local_addr()?.port())?);
        Ok(Self { listener, tls, service: cluster.service(), access, certificate })
    }

    /// Returns the URL, such as `https://127.0.0.1:6443`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let port = self.listener.local_addr().map_or(0, |address: SocketAddr| address.port());
        format!("{scheme}://127.0.0.1:{port}")
    }

    /// Returns the token that requests must have.
    #[must_use]
    pub fn token(&self) -> &str {
        self.access.token()
    }

    /// Returns the certificate of the CA in PEM; an empty text without TLS.
    #[must_use]
    pub fn certificate_authority(&self) -> &str {
        &self.certificate
    }

    /// Returns a kubeconfig for the server, as YAML.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        use base64::Engine as _;
        let authority = match self.certificate.as_str() {
            "" => String::new(),
            text => {
                let data = base64::engine::general_purpose::STANDARD.encode(text);
                format!("\n    certificate-authority-data: {data}")
            }
        };
        format!(
            "\
apiVersion: v1
kind: Config
current-context: test-server
clusters:
- name: test-server
  cluster:
    server: {}{authority}
contexts:
- name: test-server
  context:
    cluster: test-server
    user: test-server
users:
- name: test-server
  user:
    token: {}
",
            self.url(),
            self.token()
        )
    }

    /// Answers requests until the future is dropped.
    pub async fn run(self) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // There are too many connections, or a client closed one early. Other connections are still served.
                tokio::time::sleep(RETRY_INTERVAL).await;
                continue;
            };
            let (service, access) = (self.service.clone(), Arc::clone(&self.access));
            match self.tls.clone() {
                None => drop(tokio::spawn(connection(stream, service, access))),
                Some(tls) => drop(tokio::spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        connection(stream, service, access).await;
                    }
                })),
            }
        }
    }
}

/// Answers the requests of a connection.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    service: ClusterService,
    access: Arc<Access>,
) {
    let answer = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (service, access) = (service.clone(), Arc::clone(&access));
        async move {
            match access.refusal(&request) {
                Some(refusal) => Ok(refusal),
                None => service.oneshot(request).await,
            }
        }
    });
    // It is not an error of the server if a client closes its connection.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}
