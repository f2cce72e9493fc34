//! The connection: one client and one small runtime.
//!
//! Knows nothing of requests, see `exchange`, nor of what is asked.

use std::future::Future;
use std::sync::atomic::AtomicBool;

use kube::Client;
use kube::client::ClientBuilder;
use kube::config::ExecConfig;
use tokio::runtime::{Builder, Handle, Runtime};

use super::exchange::Patience;
use super::failure::{Endpoint, no_answer};
use super::kubeconfig::ConnectOptions;
use super::mapping::Discovery;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::cache::ServerId;

/// A handle to a cluster.
///
/// ```no_run
/// use kubectl_smp::cluster::{Cluster, ConnectOptions, DiffOptions, diff};
/// use kubectl_smp::resource::Resource;
/// use kubectl_smp::schema::Schema;
///
/// // As kubectl finds it: by `KUBECONFIG`, `~/.kube/config`, or from within a pod.
/// let cluster = Cluster::connect(&ConnectOptions::default())?;
/// let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}".parse()?;
/// let report = diff(&cluster, &[Resource::new(map, &Schema::embedded())?], &DiffOptions::default())?;
/// println!("{} of {}", report.objects.iter().filter(|one| one.is_changed()).count(), cluster.server());
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// Its methods wait for the server; they may be called from any thread, from within another
/// asynchronous runtime too. Nothing is asked before the first of them is called.
pub struct Cluster {
    /// None only while it is being dropped.
    runtime: Option<Runtime>,
    pub(super) client: Client,
    pub(super) endpoint: Endpoint,
    id: ServerId,
    namespace: String,
    /// Whether the namespace was asked for, so that objects may name no other.
    enforced: bool,
    pub(super) patience: Patience,
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
        let command = access.config.auth_info.exec.clone();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Diagnostic::error(Code::Io, format!("the network cannot be used: {error}")))?;
        let client = {
            // kube starts a task for each client.
            let _inside = runtime.enter();
            let builder = ClientBuilder::try_from(access.config);
            builder.map_err(|error| command_note(no_answer(&endpoint, &error), command.as_ref()))?.build()
        };
        Ok(Self {
            runtime: Some(runtime),
            client,
            endpoint,
            id,
            namespace: access.namespace,
            enforced: options.namespace.is_some(),
            patience: Patience::new(options.request_timeout),
            has_answered: AtomicBool::new(false),
            discovery: Discovery::default(),
        })
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
        if Handle::try_current().is_err() {
            return runtime.block_on(future);
        }
        // tokio does not let one runtime wait in another's thread.
        std::thread::scope(|scope| match scope.spawn(|| runtime.block_on(future)).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

/// Says which command should have given the credentials, and what its makers say of getting it.
fn command_note(error: Diagnostic, exec: Option<&ExecConfig>) -> Diagnostic {
    let command = exec.and_then(|exec| exec.command.as_ref());
    let error = command.into_iter().fold(error, |e, c| e.note(format!("the kubeconfig's command is `{c}`")));
    let hint = exec.and_then(|exec| exec.install_hint.as_ref());
    hint.into_iter().fold(error, |e, hint| e.note(hint.trim()))
}
