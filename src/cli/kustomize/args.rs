//! Flags of `kustomize build` for Helm charts, functions and plugins.

use clap::Args;

use smp_overlay::overlay::{FunctionOptions, HelmOptions};

/// Flags for Helm charts, functions and plugins, spelled as in kustomize.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(next_help_heading = "Helm and function options")]
pub(in crate::cli) struct KustomizeArgs {
    /// Enable the Helm chart inflator generator
    #[arg(long)]
    enable_helm: bool,

    /// Helm command (path to executable)
    #[arg(long, value_name = "COMMAND", default_value = "helm")]
    helm_command: String,

    /// Kubernetes API versions used by Helm for Capabilities.APIVersions
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    helm_api_versions: Vec<String>,

    /// Kubernetes version used by Helm for Capabilities.KubeVersion
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    helm_kube_version: String,

    /// Enable debug output of Helm
    #[arg(long)]
    helm_debug: bool,

    /// Enable kustomize plugins
    #[arg(long)]
    enable_alpha_plugins: bool,

    /// Enable exec functions (raw executables)
    #[arg(long)]
    enable_exec: bool,

    /// Environment variable for functions: NAME=VALUE, or NAME
    ///
    /// NAME without a value passes the current value to containers.
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// Storage to mount into container functions, such as type=bind,src=DIR,dst=DIR
    #[arg(long, value_name = "MOUNT")]
    mount: Vec<String>,

    /// Enable network access for functions that declare it
    #[arg(long)]
    network: bool,

    /// Accepted for compatibility; it has no effect in kustomize, either
    #[arg(long, value_name = "NAME", hide = true)]
    network_name: Option<String>,

    /// Run container functions as the current user, not as `nobody`
    #[arg(long)]
    as_current_user: bool,

    /// Accepted for compatibility; errors always show their source location
    #[arg(long, hide = true)]
    stack_trace: bool,
}

impl KustomizeArgs {
    /// Returns the options for Helm.
    pub(in crate::cli) fn helm(&self) -> HelmOptions {
        HelmOptions {
            enabled: self.enable_helm,
            command: self.helm_command.clone(),
            api_versions: self.helm_api_versions.clone(),
            kube_version: self.helm_kube_version.clone(),
            debug: self.helm_debug,
        }
    }

    /// Returns the options for functions and plugins.
    pub(in crate::cli) fn functions(&self) -> FunctionOptions {
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
