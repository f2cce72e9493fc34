//! The connection: one client and one small runtime.
//!
//! Knows nothing of requests, see `exchange`, nor of what is asked.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::{Client, Config};
use tokio::runtime::{Builder, Handle, Runtime};

use super::exec::{Asked, user_with_credentials};
use super::failure::{Endpoint, no_answer};
use super::kubeconfig::ConnectOptions;
use super::mapping::Discovery;
use super::patience::Patience;
use smp_overlay::schema_chain::cache::ServerId;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A handle to a cluster.
///
/// ```no_run
/// use smp_cluster::{Cluster, ConnectOptions, DiffOptions, diff};
/// use smp_overlay::resource::Resource;
/// use smp_merge::schema::Schema;
///
/// // As kubectl finds it: by `KUBECONFIG`, `~/.kube/config`, or from within a pod.
/// let cluster = Cluster::connect(&ConnectOptions::default())?;
/// let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}".parse()?;
/// let report = diff(&cluster, &[Resource::new(map, &Schema::embedded())?], &DiffOptions::default())?;
/// println!("{} of {}", report.objects.iter().filter(|one| one.is_changed()).count(), cluster.server());
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// Its methods wait for the server; they may be called from any thread, from within another
/// asynchronous runtime too. Nothing is asked before the first of them is called.
pub struct Cluster {
    /// None only while it is being dropped.
    runtime: Option<Runtime>,
    client: Mutex<LoggedIn>,
    login: Login,
    /// Held while other credentials are got, so that many requests get them once.
    logging_in: tokio::sync::Mutex<()>,
    pub(super) endpoint: Endpoint,
    id: ServerId,
    namespace: String,
    /// Whether the namespace was asked for, so that objects may name no other.
    enforced: bool,
    pub(super) patience: Patience,
    stop: OnceLock<Arc<AtomicBool>>,
    /// Whether it ever answered; a server that did may be back in a moment.
    pub(super) has_answered: AtomicBool,
    pub(super) discovery: Discovery,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A runtime that is dropped in another one's task would wait there, which tokio forbids.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Cluster {
    /// Finds the cluster and the credentials; sends no request yet.
    ///
    /// # Errors
    /// No cluster is configured, the kubeconfig cannot be read or lacks what was asked for, the
    /// command that gets the credentials fails.
    pub fn connect(options: &ConnectOptions) -> Result<Self> {
        let access = options.access()?;
        let (endpoint, id) = (access.endpoint(), access.server_id());
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Diagnostic::error(Code::Io, format!("the network cannot be used: {error}")))?;
        let patience = Patience::new(options.request_timeout);
        let login = Login { config: access.config, endpoint: endpoint.clone(), limit: patience.total() };
        let client = block_on(&runtime, login.client(Asked::Once))?;
        Ok(Self {
            runtime: Some(runtime),
            client: Mutex::new(LoggedIn { client, times: 1 }),
            login,
            logging_in: tokio::sync::Mutex::default(),
            endpoint,
            id,
            namespace: access.namespace,
            enforced: options.namespace.is_some(),
            patience,
            stop: OnceLock::new(),
            has_answered: AtomicBool::new(false),
            discovery: Discovery::default(),
        })
    }

    pub(super) fn logged_in(&self) -> LoggedIn {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gets other credentials than those that the server refused, where a command gives them; false where none does.
    pub(super) async fn log_in_again(&self, refused: u32) -> Result<bool> {
        if self.login.config.auth_info.exec.is_none() {
            return Ok(false);
        }
        let _alone = self.logging_in.lock().await;
        if self.logged_in().times == refused {
            let client = self.login.client(Asked::Anew).await?;
            let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
            *current = LoggedIn { client, times: refused + 1 };
        }
        Ok(true)
    }

    /// When it is set, nothing is sent again.
    pub(super) fn stop_when(&self, stop: &Arc<AtomicBool>) {
        let _first_counts = self.stop.set(Arc::clone(stop));
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.endpoint.server
    }

    /// The server as caches know it.
    #[must_use]
    pub fn id(&self) -> &ServerId {
        &self.id
    }

    /// The name of the kubeconfig's context, if one was used.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.endpoint.context.as_deref()
    }

    /// The namespace of objects that name none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether that namespace was asked for, so that objects may name no other.
    #[must_use]
    pub fn namespace_is_enforced(&self) -> bool {
        self.enforced
    }

    /// Runs a future to its end on this cluster's runtime.
    pub(super) fn wait<T: Send>(&self, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let Some(runtime) = &self.runtime else {
            return Err(Diagnostic::error(Code::Remote, "the connection is closed"));
        };
        block_on(runtime, future)
    }
}

/// Runs a future to its end, within another runtime, too.
fn block_on<T: Send>(runtime: &Runtime, future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    if Handle::try_current().is_err() {
        return runtime.block_on(future);
    }
    // tokio does not let one runtime wait in another's thread.
    std::thread::scope(|scope| match scope.spawn(|| runtime.block_on(future)).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// A client, and how many times credentials were got so far.
#[derive(Clone)]
pub(super) struct LoggedIn {
    pub(super) client: Client,
    pub(super) times: u32,
}

/// How clients are made.
struct Login {
    config: Config,
    endpoint: Endpoint,
    /// How long a command for credentials may take.
    limit: Option<Duration>,
}

impl Login {
    /// A client with credentials; must be called within a runtime, since kube starts a task for each.
    async fn client(&self, asked: Asked) -> Result<Client> {
        let mut config = self.config.clone();
        config.auth_info = user_with_credentials(config.auth_info, asked, self.limit, &self.endpoint).await?;
        let builder = ClientBuilder::try_from(config).map_err(|error| no_answer(&self.endpoint, &error))?;
        Ok(builder.build())
    }
}
