//! What the command line says about functions and plugins.

use std::path::PathBuf;

/// What the command line says about functions and plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
pub struct FunctionOptions {
    /// Whether anything that is not built in may run (`--enable-alpha-plugins`).
    pub plugins: bool,
    /// Whether functions may be executables of this machine (`--enable-exec`).
    pub exec: bool,
    /// Whether containers that ask for the network get it (`--network`).
    ///
    /// They get the one of the host; kustomize's `--network-name` has no effect there, either.
    pub network: bool,
    /// More mounts for containers, as in `type=bind,src=DIR,dst=DIR` (`--mount`).
    pub mounts: Vec<String>,
    /// More variables, `NAME=VALUE` or, for containers, `NAME` (`--env`).
    pub env: Vec<String>,
    /// Whether containers run as the current user instead of `nobody` (`--as-current-user`).
    pub as_current_user: bool,
    /// The directory of plugins; none: where kustomize looks for it.
    pub plugin_home: Option<PathBuf>,
}
