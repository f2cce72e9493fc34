//! The preview as a page on the loopback interface.
//!
//! The page itself holds nothing secret. Every other request needs a token, which a page gets once for the key in the
//! fragment of its address. Requests with the name of another host, or from another origin, are refused: a name of an
//! attacker may resolve to the loopback address.

mod access;
mod assets;
mod routes;
mod shared;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::sync::broadcast;

use self::access::Access;
use self::shared::Shared;
use super::{Event, Session};

/// The number of events that a slow page may fall behind before it gets all targets again.
const MAX_PENDING: usize = 64;

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
        // Without a page, there is no receiver.
        let _ = self.0.events.send(event);
    }

    /// Returns an address that gives one page access. The key is in the fragment, which browsers do not send.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn address_with_key(&self) -> io::Result<String> {
        Ok(format!("http://127.0.0.1:{}/#{}", self.0.port, self.0.access.new_key()?))
    }
}

impl Server {
    /// Listens on a port of the loopback interface; 0 chooses a free one.
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
            axum::serve(listener, routes::router(self.shared)).await
        })
    }
}
