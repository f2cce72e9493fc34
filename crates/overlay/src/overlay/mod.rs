//! Overlays: turns kustomizations and plain directories into sets of resources.
//!
//! Owns the kustomization file format, the rules for which files a build may read, the order of steps, and the
//! loop over them. Each step calls one function of `transform`.

mod added_document;
mod build;
mod builder;
mod directory;
mod fetch;
mod function;
mod generator_files;
mod helm;
mod kustomization;
mod load_tree;
mod lock;
mod nearby;
mod options;
mod origin;
mod outline;
mod plan;
mod plugin;
mod process;
mod remote;
mod repo_spec;
mod root;
mod schemas;
mod search;
mod target_base;
mod tree;
mod unaffected;

pub use builder::Builder;
pub use function::FunctionOptions;
pub use helm::HelmOptions;
pub use kustomization::Kustomization;
pub use lock::{LOCK_FILE, LockFile, RemoteReference};
pub use options::{
    BuildOptions, BuildRules, Built, ChainPurpose, Histories, LockSource, MakeChain, Reorder, Targets,
};
pub use outline::{BuildOutline, OutlineCheckout, OutlinePart, OutlinePartKind};
pub use remote::RemoteCache;
pub use remote::{Remotes, is_remote_file};
pub use repo_spec::without_secrets;
pub use root::{Reader, Root};
pub use search::{OUTPUT_LIST, SkipDirectory, TargetSearch, TargetSelection};
pub use target_base::TargetBase;
pub use unaffected::UnaffectedTargets;
