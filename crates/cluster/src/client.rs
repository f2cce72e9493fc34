//! The connection to a cluster: a client and a small runtime.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::{Client, Config};
use tokio::runtime::{Builder, Handle, Runtime};

use super::errors::{Endpoint, connection_error};
use super::exec::{CredentialCache, user_with_credentials};
use super::kubeconfig::ConnectOptions;
use super::mapping::DiscoveryCache;
use super::timeout::RequestTimeout;
use smp_overlay::schema_chain::cache::ServerId;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A connection to a cluster.
///
/// ```no_run
/// use smp_cluster::{Cluster, ConnectOptions, DiffOptions, diff};
/// use smp_overlay::resource::Resource;
/// use smp_merge::schema::Schema;
///
/// // The cluster is found as by kubectl: from `KUBECONFIG`, `~/.kube/config`, or the Pod's service account.
/// let cluster = Cluster::connect(&ConnectOptions::default())?;
/// let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}".parse()?;
/// let report = diff(&cluster, &[Resource::new(map, &Schema::embedded())?], &DiffOptions::default())?;
/// println!("{} of {}", report.objects.iter().filter(|one| one.is_changed()).count(), cluster.server());
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// Its methods block until the server responds. They may be called from any thread, including from within another
/// asynchronous runtime. No request is sent before the first call.
pub struct Cluster {
    /// `None` only while the value is dropped.
    runtime: Option<Runtime>,
    client: Mutex<AuthenticatedClient>,
    login: ClientConfig,
    /// Locked while credentials are refreshed, so that parallel requests refresh them only once.
    logging_in: tokio::sync::Mutex<()>,
    pub(super) endpoint: Endpoint,
    id: ServerId,
    namespace: String,
    /// True if the namespace was set explicitly. In that case, objects must not have another one.
    namespace_is_explicit: bool,
    pub(super) timeouts: RequestTimeout,
    stop: OnceLock<Arc<AtomicBool>>,
    /// True after the first response of the server. After that, requests are retried for a longer time.
    pub(super) has_answered: AtomicBool,
    pub(super) discovery: DiscoveryCache,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Dropping a runtime within a task of another runtime would block, which tokio forbids.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Cluster {
    /// Resolves the cluster and the credentials, without sending a request.
    ///
    /// # Errors
    /// No cluster is configured, the kubeconfig cannot be read or lacks a requested entry, or the credential
    /// plugin fails.
    pub fn connect(options: &ConnectOptions) -> Result<Self> {
        let access = options.access()?;
        let (endpoint, id) = (access.endpoint(), access.server_id());
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Diagnostic::error(Code::Io, format!("cannot initialize networking: {error}")))?;
        let patience = RequestTimeout::new(options.request_timeout);
        let login =
            ClientConfig { config: access.config, endpoint: endpoint.clone(), limit: patience.total() };
        let client = block_on(&runtime, login.client(CredentialCache::Use))?;
        Ok(Self {
            runtime: Some(runtime),
            client: Mutex::new(AuthenticatedClient { client, generation: 1 }),
            login,
            logging_in: tokio::sync::Mutex::default(),
            endpoint,
            id,
            namespace: access.namespace,
            namespace_is_explicit: options.namespace.is_some(),
            timeouts: patience,
            stop: OnceLock::new(),
            has_answered: AtomicBool::new(false),
            discovery: DiscoveryCache::default(),
        })
    }

    pub(super) fn authenticated(&self) -> AuthenticatedClient {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces credentials that the server rejected. Returns false if no credential plugin is configured.
    pub(super) async fn refresh_credentials(&self, rejected: u32) -> Result<bool> {
        if self.login.config.auth_info.exec.is_none() {
            return Ok(false);
        }
        let _guard = self.logging_in.lock().await;
        if self.authenticated().generation == rejected {
            let client = self.login.client(CredentialCache::Refresh).await?;
            let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
            *current = AuthenticatedClient { client, generation: rejected + 1 };
        }
        Ok(true)
    }

    /// Sets the interrupt flag: once it is true, requests are no longer retried.
    pub(super) fn set_interrupt(&self, stop: &Arc<AtomicBool>) {
        let _first_wins = self.stop.set(Arc::clone(stop));
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Returns the URL of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.endpoint.server
    }

    /// Returns the identity of the server in caches.
    #[must_use]
    pub fn id(&self) -> &ServerId {
        &self.id
    }

    /// Returns the name of the kubeconfig context, if one was used.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.endpoint.context.as_deref()
    }

    /// Returns the default namespace of objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns true if the namespace was set explicitly. In that case, objects must not have another one.
    #[must_use]
    pub fn namespace_is_explicit(&self) -> bool {
        self.namespace_is_explicit
    }

    /// Runs a future to completion on this cluster's runtime.
    pub(super) fn block_on<T: Send>(&self, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let Some(runtime) = &self.runtime else {
            return Err(Diagnostic::error(Code::Remote, "connection closed"));
        };
        block_on(runtime, future)
    }
}

/// Runs a future to completion, even within another runtime.
fn block_on<T: Send>(runtime: &Runtime, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    if Handle::try_current().is_err() {
        return runtime.block_on(future);
    }
    // tokio does not allow a runtime to block on a thread of another runtime.
    std::thread::scope(|scope| match scope.spawn(|| runtime.block_on(future)).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// A client, and the number of times that credentials were obtained.
#[derive(Clone)]
pub(super) struct AuthenticatedClient {
    pub(super) client: Client,
    pub(super) generation: u32,
}

/// The configuration for creating clients.
struct ClientConfig {
    config: Config,
    endpoint: Endpoint,
    /// The time limit of the credential plugin.
    limit: Option<Duration>,
}

impl ClientConfig {
    /// Creates a client with credentials. Must be called within a runtime, since kube spawns a task for each
    /// client.
    async fn client(&self, cache: CredentialCache) -> Result<Client> {
        let mut config = self.config.clone();
        config.auth_info = user_with_credentials(config.auth_info, cache, self.limit, &self.endpoint).await?;
        let builder =
            ClientBuilder::try_from(config).map_err(|error| connection_error(&self.endpoint, &error))?;
        Ok(builder.build())
    }
}
