//! Arguments that all commands on overlays share: the target, the dialect, the schema.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::overlay::{BuildOptions, Dialect, Reorder};

/// What to build and how.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// Base of a plain directory; may be given several times, later ones are merged over earlier ones
    #[arg(long, value_name = "DIR")]
    base: Vec<PathBuf>,

    /// Rules of merging
    #[arg(long, value_enum, default_value_t = DialectArg::Auto)]
    dialect: DialectArg,

    /// Whether files outside the directory of a kustomization may be read
    #[arg(long, value_enum, default_value_t = LoadRestrictor::RootOnly)]
    load_restrictor: LoadRestrictor,

    /// Order of the resources: sorted by kind (legacy) or as loaded (none)
    #[arg(long, value_enum)]
    reorder: Option<ReorderArg>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DialectArg {
    /// Overlay rules for plain directories, kustomize's with the documented exceptions for kustomizations
    Auto,
    /// Merge by all list map keys of the schema
    Overlay,
    /// Exactly as kustomize, bug for bug
    Kustomize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LoadRestrictor {
    #[value(name = "LoadRestrictionsRootOnly")]
    RootOnly,
    #[value(name = "LoadRestrictionsNone")]
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ReorderArg {
    Legacy,
    None,
}

impl TargetArgs {
    /// The options of the build.
    pub(super) fn options(&self) -> BuildOptions {
        BuildOptions {
            bases: self.base.clone(),
            dialect: match self.dialect {
                DialectArg::Auto => Dialect::Auto,
                DialectArg::Overlay => Dialect::Overlay,
                DialectArg::Kustomize => Dialect::Kustomize,
            },
            restrict_loads: matches!(self.load_restrictor, LoadRestrictor::RootOnly),
            reorder: self.reorder.map(|order| match order {
                ReorderArg::Legacy => Reorder::Legacy,
                ReorderArg::None => Reorder::None,
            }),
        }
    }
}
