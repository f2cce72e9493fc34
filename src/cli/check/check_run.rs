//! Runs the rules on targets in a tree of files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::configs::Configs;
use super::super::progress::map_with_counter;
use super::super::rebuild::build_or_read;
use super::super::select::{Selection, is_stream};
use super::super::validation::{KubernetesVersion, read_policies, with_policies};
use super::super::{Failure, render};
use super::args::CheckArgs;
use smp_files::{DiskTree, FileTree, Located};
use smp_inspect::check::{
    CheckConfig, CheckedTarget, Conclusion, LocalFiles, PlainObjects, RuleSelection, SuppressionTrust,
    TargetFindings, check_target, report_duplicates,
};
use smp_overlay::overlay::{Builder, Built};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::Node;
use smp_validate::ValidateOptions;

/// A check of the targets in a tree of files.
pub(super) struct CheckRun<'c> {
    pub(super) args: &'c CheckArgs,
    pub(super) builder: &'c Builder,
    pub(super) tree: Arc<dyn FileTree>,
    /// The tree from which configurations are read.
    pub(super) configurations: Arc<dyn FileTree>,
    pub(super) sources: &'c SourceMap,
}

impl CheckRun<'_> {
    fn selected(&self) -> std::result::Result<RuleSelection, Failure> {
        let names = [&self.args.rules, &self.args.ignore];
        let [select, ignore] = names.map(|names| names.iter().map(String::as_str));
        RuleSelection::new(select, ignore).map_err(|problem| usage(&problem))
    }

    /// Runs the rules on all targets.
    pub(super) fn find(&self, selection: &Selection) -> std::result::Result<Vec<TargetFindings>, Failure> {
        let Self { args, builder, sources, .. } = *self;
        let options = KubernetesVersion::options(args.kubernetes_version);
        let policies = args.policies.as_deref().map(|path| read_policies(path, sources)).transpose();
        let policies = policies.map_err(Failure::UsageAt)?.unwrap_or_default();
        let configs = Configs::new(Arc::clone(&self.configurations), sources);
        let checker = Checker { builder, selected: &self.selected()?, sources, options, policies, configs };
        let check = |target: &PathBuf| checker.check(selection, target);
        let checked = map_with_counter(&selection.targets, "targets checked", check);
        let checked: Vec<CheckedOne> =
            checked.into_iter().collect::<Result<_>>().map_err(Failure::UsageAt)?;
        let (mut found, objects): (Vec<TargetFindings>, Vec<PlainObjects>) = checked.into_iter().unzip();
        report_duplicates(&mut found, &objects, sources);
        Ok(found)
    }

    /// Combines the findings of all targets.
    pub(super) fn conclude<T>(
        &self,
        suppressions: SuppressionTrust<'_>,
        report: impl FnOnce(&Conclusion<'_>) -> Result<T>,
    ) -> std::result::Result<T, Failure> {
        let renderer = render::location_renderer(self.sources);
        let cache = self.builder.cache_directory();
        let fetched = cache.and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
        let files = LocalFiles { tree: &*self.tree, fetched: fetched.as_ref().map(Located::path) };
        let (sources, selection, renderer) = (self.sources, &self.selected()?, &renderer);
        let texts = &sources.top_level_texts();
        Ok(report(&Conclusion { sources, selection, renderer, files, suppressions, texts })?)
    }
}

/// Converts an invalid value of a flag to a usage error.
fn usage(problem: &Diagnostic) -> Failure {
    match problem.help_text() {
        Some(help) => Failure::Usage(format!("{}: {help}", problem.message())),
        None => Failure::Usage(problem.message().to_string()),
    }
}

/// The findings in a target, and its objects if the target consists only of manifests.
type CheckedOne = (TargetFindings, PlainObjects);

/// Checks targets, each with its nearest configuration.
pub(in crate::cli) struct Checker<'c> {
    pub(in crate::cli) builder: &'c Builder,
    pub(in crate::cli) selected: &'c RuleSelection,
    pub(in crate::cli) sources: &'c SourceMap,
    pub(in crate::cli) options: ValidateOptions,
    /// Manifests of admission policies, in addition to those of the build.
    pub(in crate::cli) policies: Vec<Node>,
    pub(in crate::cli) configs: Configs<'c>,
}

impl Checker<'_> {
    fn check(&self, selection: &Selection, target: &Path) -> Result<CheckedOne> {
        let config = self.configs.of(target)?;
        let failed = |problem: &Diagnostic| {
            (TargetFindings::from_failure(target, problem, Arc::clone(&config)), PlainObjects::default())
        };
        // Manifests without a base are checked without a build.
        let mut build = match build_or_read(selection, self.builder, target) {
            Ok(build) => build,
            Err(problem) => return Ok(failed(&problem)),
        };
        let plain =
            if build.is_plain { PlainObjects::new(&build.built.resources) } else { PlainObjects::default() };
        Ok((self.check_built(target, &mut build.built, &config), plain))
    }

    /// Runs the rules on a built target.
    pub(in crate::cli) fn check_built(
        &self,
        target: &Path,
        built: &mut Built,
        config: &Arc<CheckConfig>,
    ) -> TargetFindings {
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let schema = match self.builder.schema_for(directory, &built.resources) {
            Ok(schema) => schema.into_value(&mut built.warnings),
            Err(problem) => return TargetFindings::from_failure(target, &problem, Arc::clone(config)),
        };
        let rules = config.rules.clone().overridden_by(self.selected);
        let (built, schema) = (&*built, schema.as_ref());
        let checked = CheckedTarget::new(target, built, schema, self.sources, &config.external);
        let objects: Vec<_> = built.resources.iter().collect();
        let options = with_policies(&self.options, &objects, &self.policies);
        check_target(&checked, &rules, &options, Arc::clone(config))
    }
}
