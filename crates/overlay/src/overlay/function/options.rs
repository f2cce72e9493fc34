//! Command-line options for functions and plugins.

use std::path::PathBuf;

/// Command-line options for functions and plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
pub struct FunctionOptions {
    /// Allows plugins that are not built in (`--enable-alpha-plugins`).
    pub plugins: bool,
    /// Allows functions that are executables (`--enable-exec`).
    pub exec: bool,
    /// Allows network access for containers that request it (`--network`).
    ///
    /// Such containers use the host's network. As in kustomize, `--network-name` has no effect.
    pub network: bool,
    /// Additional mounts for containers, such as `type=bind,src=DIR,dst=DIR` (`--mount`).
    pub mounts: Vec<String>,
    /// Additional environment variables: `NAME=VALUE` or, for containers, `NAME` (`--env`).
    pub env: Vec<String>,
    /// Runs containers as the current user instead of the user `nobody` (`--as-current-user`).
    pub as_current_user: bool,
    /// The plugin directory. Default: where kustomize looks for it.
    pub plugin_home: Option<PathBuf>,
}
