//! Arguments that kustomize ignores.

use clap::Args;

use smp_overlay::edit::EditOptions;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The arguments after those of a command.
#[derive(Debug, Args)]
pub(super) struct IgnoredArgs {
    #[arg(hide = true)]
    ignored: Vec<String>,
}

impl IgnoredArgs {
    /// Rejects arguments, unless kustomize ignores them.
    pub(super) fn check(&self, options: EditOptions) -> Result<()> {
        match self.ignored.first().filter(|_| !options.as_kustomize) {
            None => Ok(()),
            Some(word) => Err(Diagnostic::error(Code::Usage, format!("unexpected argument `{word}`"))),
        }
    }
}
