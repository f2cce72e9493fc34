//! Flags of `kustomize build` that say which programs may run.

use clap::Args;

use smp_overlay::overlay::{FunctionOptions, HelmOptions};

/// Flags for helm charts, functions and plugins: spelled as in kustomize.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
#[command(next_help_heading = "Helm and function options")]
pub(super) struct KustomizeArgs {
    /// Allow helm to be run for helm charts
    #[arg(long)]
    enable_helm: bool,

    /// The helm executable
    #[arg(long, value_name = "COMMAND", default_value = "helm")]
    helm_command: String,

    /// API versions that charts are told the cluster has
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    helm_api_versions: Vec<String>,

    /// Kubernetes version that charts are told
    #[arg(long, value_name = "VERSION", default_value = "")]
    helm_kube_version: String,

    /// Let helm say what it does
    #[arg(long)]
    helm_debug: bool,

    /// Allow generators and transformers that are not built in
    #[arg(long)]
    enable_alpha_plugins: bool,

    /// Allow functions that are executables of this machine
    #[arg(long)]
    enable_exec: bool,

    /// Environment variable for functions: NAME=VALUE, or NAME for containers
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// Mount for containers, such as type=bind,src=DIR,dst=DIR
    #[arg(long, value_name = "MOUNT")]
    mount: Vec<String>,

    /// Allow the network to containers that ask for it
    #[arg(long)]
    network: bool,

    /// Accepted for kustomize's sake; it has no effect there, either
    #[arg(long, value_name = "NAME", hide = true)]
    network_name: Option<String>,

    /// Run containers as the current user instead of nobody
    #[arg(long)]
    as_current_user: bool,

    /// Accepted for kustomize's sake: errors always say where they come from
    #[arg(long, hide = true)]
    stack_trace: bool,
}

impl KustomizeArgs {
    /// Whether and how helm is run.
    pub(super) fn helm(&self) -> HelmOptions {
        HelmOptions {
            enabled: self.enable_helm,
            command: self.helm_command.clone(),
            api_versions: self.helm_api_versions.clone(),
            kube_version: self.helm_kube_version.clone(),
            debug: self.helm_debug,
        }
    }

    /// Whether and how functions and plugins are run.
    pub(super) fn functions(&self) -> FunctionOptions {
        FunctionOptions {
            plugins: self.enable_alpha_plugins,
            exec: self.enable_exec,
            network: self.network,
            mounts: self.mount.clone(),
            env: self.env.clone(),
            as_current_user: self.as_current_user,
            plugin_home: None,
        }
    }
}
