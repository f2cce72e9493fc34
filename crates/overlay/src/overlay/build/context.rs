//! The context of builds and of their steps.

use super::shared::SharedDirectories;
use crate::overlay::function::{FunctionContext, Functions};
use crate::overlay::generator_files::{DataFiles, Secrecy};
use crate::overlay::helm::{ChartContext, Helm, PullPolicy};
use crate::overlay::kustomization::Kustomization;
use crate::overlay::options::{BuildOptions, Histories};
use crate::overlay::origin::OriginTracker;
use crate::overlay::plugin::PluginContext;
use crate::overlay::root::Root;
use crate::overlay::schemas::{BuildSchemas, Locked};
use crate::transform::PatchContext;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_text::source::Span;

/// The settings and caches of a run.
#[derive(Clone, Copy)]
pub(in crate::overlay) struct BuildContext<'b> {
    pub(in crate::overlay) options: &'b BuildOptions,
    pub(in crate::overlay) schemas: &'b BuildSchemas,
    pub(in crate::overlay) helm: &'b Helm,
    pub(in crate::overlay) functions: &'b Functions,
    /// The directories that targets share; `None` if there is only one target.
    pub(in crate::overlay) built_directories: Option<&'b SharedDirectories>,
    /// The schemas that the lock file pins.
    pub(in crate::overlay) locked: Locked<'b>,
}

impl BuildContext<'_> {
    /// Returns true if resources keep the histories of their values.
    pub(in crate::overlay) fn keeps_histories(&self) -> bool {
        self.options.histories == Histories::Enabled
    }
}

/// The kustomization whose steps are executed.
#[derive(Clone, Copy)]
pub(super) struct StepContext<'s> {
    pub(super) build: &'s BuildContext<'s>,
    pub(super) root: &'s Root,
    pub(super) kustomization: &'s Kustomization,
    pub(super) schema: &'s Schema,
    pub(super) merge: &'s MergeOptions,
    pub(super) tracker: &'s OriginTracker,
    /// The default namespace of helm charts: that of this kustomization, or else of the one that uses it.
    pub(super) namespace: &'s str,
}

impl<'s> StepContext<'s> {
    /// Returns the context for patches.
    pub(super) fn patch_context(&self) -> PatchContext<'s> {
        let sources = self.root.reader().sources();
        PatchContext { files: self.root, sources, schema: self.schema, merge: self.merge }
    }

    /// Returns the context for built-in plugins with their own configuration.
    pub(super) fn plugin_context(&self) -> PluginContext<'s> {
        PluginContext {
            root: self.root,
            histories: self.build.options.histories,
            schema: self.schema,
            patch: self.patch_context(),
        }
    }

    /// Returns the file reader for generators of Secrets or ConfigMaps.
    pub(super) fn data_files(&self, secrecy: Secrecy) -> DataFiles<'s> {
        DataFiles { root: self.root, histories: self.build.options.histories, secrecy }
    }

    /// Returns the context for functions and external plugins.
    pub(super) fn function_context(&self) -> FunctionContext<'s> {
        let (root, sources) = (self.root.directory(), self.root.reader().sources());
        FunctionContext { root, files: self.root, sources, schema: self.schema }
    }

    /// Returns the context for a helm chart with its location.
    pub(super) fn chart_context(&self, at: Span) -> ChartContext<'s> {
        let pulling = match self.root.is_writable() {
            _ if self.root.reader().remotes().requires_lock() => PullPolicy::Deny,
            true => PullPolicy::Store,
            false => PullPolicy::Temporary,
        };
        ChartContext {
            root: self.root.directory(),
            pulling,
            files: self.root,
            sources: self.root.reader().sources(),
            schema: self.schema,
            at,
        }
    }
}
