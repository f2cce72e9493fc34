//! kubectl's flags that select the cluster and the user.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::format::duration;
use smp_cluster::ConnectOptions;
use smp_text::source::SourceMap;

/// The cluster and the user, spelled as in kubectl.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cluster options")]
pub(super) struct ConnectArgs {
    /// Kubeconfig file [default: KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Cluster of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// User of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// Namespace for objects without one, and for the ApplySet's parent
    ///
    /// Objects in another namespace are rejected.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Address of the API server
    #[arg(short, long, value_name = "URL")]
    server: Option<String>,

    /// Bearer token
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// User name for basic authentication
    #[arg(long, value_name = "NAME")]
    username: Option<String>,

    /// Password for basic authentication
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,

    /// User to impersonate
    #[arg(long = "as", value_name = "USER")]
    impersonate: Option<String>,

    /// Group to impersonate (repeatable)
    #[arg(long = "as-group", value_name = "GROUP")]
    impersonate_groups: Vec<String>,

    /// UID to impersonate
    #[arg(long = "as-uid", value_name = "UID")]
    impersonate_uid: Option<String>,

    /// Certificate authority file to verify the API server with
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,

    /// Client certificate file
    #[arg(long, value_name = "FILE")]
    client_certificate: Option<PathBuf>,

    /// Client key file
    #[arg(long, value_name = "FILE")]
    client_key: Option<PathBuf>,

    /// Skip verification of the API server's certificate (insecure)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    insecure_skip_tls_verify: Option<bool>,

    /// Server name to verify in the API server's certificate
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,

    /// Time limit for a request and its retries; 0 disables
    ///
    /// An example is 30s. By default, a request fails if it receives no data for 30 seconds.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    request_timeout: Option<Duration>,
}

impl ConnectArgs {
    /// Returns the namespace if the flag is set.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|name| !name.is_empty())
    }

    /// Returns the connection options. Empty values are treated as absent.
    pub(super) fn options(&self, sources: &SourceMap) -> ConnectOptions {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let file = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        ConnectOptions {
            kubeconfig: file(&self.kubeconfig),
            context: given(&self.context),
            cluster: given(&self.cluster),
            user: given(&self.user),
            namespace: given(&self.namespace),
            server: given(&self.server),
            token: given(&self.token),
            username: given(&self.username),
            password: given(&self.password),
            impersonate: given(&self.impersonate),
            impersonate_groups: self.impersonate_groups.clone(),
            impersonate_uid: given(&self.impersonate_uid),
            certificate_authority: file(&self.certificate_authority),
            client_certificate: file(&self.client_certificate),
            client_key: file(&self.client_key),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify.unwrap_or(false),
            tls_server_name: given(&self.tls_server_name),
            request_timeout: self.request_timeout,
            sources: sources.clone(),
        }
    }
}

/// A flag of kubectl that is accepted but has no effect.
#[derive(Debug, Args)]
pub(super) struct ServerSideArg {
    /// Accepted for compatibility with kubectl; objects are always applied server-side
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = server_side)]
    server_side: Option<bool>,
}

/// Rejects `--server-side=false`, because client-side apply does not track field ownership and
/// drops fields of other managers.
fn server_side(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => {
            Err("client-side apply is not supported: use `kubectl smp build TARGET | kubectl apply -f -`"
                .into())
        }
        _ => Err("must be true or absent".into()),
    }
}
