//! The preview as a page on the loopback interface.
//!
//! The page itself contains no secrets. Every other request needs a token, which a page gets once for the key in the
//! fragment of its address. Requests with the name of another host, or from another origin, are rejected, because an
//! attacker's host name may resolve to the loopback address.

mod access;
mod assets;
mod routes;
mod shared;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::sleep;

use self::access::Access;
use self::shared::{REQUEST_TIME, Shared};
use super::{Event, Session};

/// The number of events by which a slow page may fall behind before it gets all targets again.
const MAX_PENDING: usize = 64;

/// The maximum number of connections that are served at a time. Others wait, so that builds can still open files.
const MAX_CONNECTIONS: usize = 128;

/// The pause after a connection could not be accepted, for example because there are no free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server of a session on the loopback interface.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// Sends events to all pages, and creates addresses for new pages.
#[derive(Clone)]
pub struct Publisher(Arc<Shared>);

impl Publisher {
    /// Sends an event to all pages.
    pub fn publish(&self, event: Event) {
        // If there is no page, there is no receiver.
        let _ = self.0.events.send(event);
    }

    /// Returns an address that gives a single page access. The key is in the fragment, which browsers do not send.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn address_with_key(&self) -> io::Result<String> {
        Ok(format!("http://127.0.0.1:{}/#{}", self.0.port, self.0.access.new_key()?))
    }
}

impl Server {
    /// Listens on a port of the loopback interface; 0 selects a free port.
    ///
    /// # Errors
    /// The port is in use.
    pub fn bind(session: Arc<Session>, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (events, _) = broadcast::channel(MAX_PENDING);
        let shared = Shared { session, access: Access::default(), events, port: address.port() };
        Ok(Self { listener, address, shared: Arc::new(shared) })
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the sender of events.
    pub fn publisher(&self) -> Publisher {
        Publisher(Arc::clone(&self.shared))
    }

    /// Serves pages until the program ends.
    ///
    /// # Errors
    /// The runtime cannot be started.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let (router, free) = (routes::router(self.shared), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
            loop {
                let permit = Arc::clone(&free).acquire_owned().await.map_err(io::Error::other)?;
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let answered = answer(stream, router.clone());
                        tokio::spawn(async move {
                            answered.await;
                            drop(permit);
                        });
                    }
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                }
            }
        })
    }
}

/// Serves the requests of a connection until it is closed, or idle for too long.
async fn answer(stream: TcpStream, router: Router) {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIME);
    // A page that closes its connection is not an error.
    let _ = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
}
