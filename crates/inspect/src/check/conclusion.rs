//! Combines the findings of all targets into one report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::baseline::Baselines;
use super::build_failures;
use super::config::{CheckConfig, ConfiguredBaseline};
use super::findings::{CheckReport, main_location};
use super::local_files::{LocalFiles, RunSources};
use super::registry::{RULES, rule_by_code};
use super::rule::{Finder, Rule, RuleScope};
use super::rules::{self, external_reference, misspelled_reference, unreferenced_file, unused_suppression};
use super::selection::RuleSelection;
use super::suppression::{SuppressionComments, SuppressionTrust};
use super::target::CheckedTarget;
use smp_merge::cause::Writer;
use smp_text::diagnostic::{Code, Diagnostic, MessageRenderer, RenderedLocation, Severity};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_validate::ValidateOptions;

/// The file and offset of a location. It is the same for all targets, even if the file is read several times.
type FileLocation = (PathBuf, u32);

fn file_location(span: Span, sources: &SourceMap) -> Option<FileLocation> {
    let outer = sources.outermost(span);
    Some((sources.get(outer.source)?.name().to_path_buf(), outer.start))
}

/// The findings of one target.
#[derive(Debug, Default)]
pub struct TargetFindings {
    /// The path of the target.
    pub target: PathBuf,
    findings: Vec<Diagnostic>,
    /// The locations of the kustomization entries that were used in its build.
    entries: FxHashSet<FileLocation>,
    /// The files from which its resources were built.
    files: FxHashSet<PathBuf>,
    config: Arc<CheckConfig>,
    /// The locations of the external declarations that its references match.
    externals: FxHashSet<Span>,
    /// The enabled rules; `None` for a target that does not build.
    enabled: Option<RuleSelection>,
}

impl TargetFindings {
    fn empty(target: &Path, config: Arc<CheckConfig>, enabled: Option<RuleSelection>) -> Self {
        let (entries, files, externals) = Default::default();
        Self {
            target: target.to_path_buf(),
            findings: Vec::new(),
            entries,
            files,
            config,
            externals,
            enabled,
        }
    }

    /// Returns true if this target includes all files and entries of another target, and more.
    fn is_built_over(&self, other: &Self) -> bool {
        let more = self.entries.len() + self.files.len() > other.entries.len() + other.files.len();
        more && self.entries.is_superset(&other.entries) && self.files.is_superset(&other.files)
    }

    /// Returns the baseline in the configuration of the target, if any.
    #[must_use]
    pub fn configured_baseline(&self) -> Option<&ConfiguredBaseline> {
        self.config.baseline.as_ref()
    }

    /// Creates the findings of a target that does not build. They cannot be suppressed.
    #[must_use]
    pub fn from_failure(target: &Path, problem: &Diagnostic, config: Arc<CheckConfig>) -> Self {
        let findings = std::iter::once(problem).chain(problem.attached()).cloned().collect();
        Self { findings, ..Self::empty(target, config, None) }
    }
}

impl TargetFindings {
    /// Adds a finding that involves several targets.
    pub(super) fn add(&mut self, finding: Diagnostic) {
        if self.enabled.as_ref().is_some_and(|selection| selection.reports(finding.code())) {
            self.findings.push(finding);
        }
    }
}

/// Runs all enabled rules on a target.
#[must_use]
pub fn check_target(
    target: &CheckedTarget<'_>,
    selection: &RuleSelection,
    options: &ValidateOptions,
    config: Arc<CheckConfig>,
) -> TargetFindings {
    let mut findings: Vec<Diagnostic> =
        target.built.warnings.iter().filter(|warning| selection.reports(warning.code())).cloned().collect();
    for rule in RULES.iter().filter(|rule| selection.is_enabled(rule)) {
        if let Finder::Target(find) = rule.finder {
            findings.extend(find(target).into_iter().map(|finding| by_rule(rule, finding)));
        }
    }
    if RULES.iter().any(|rule| {
        matches!(rule.finder, Finder::Schema | Finder::Validation(_)) && selection.is_enabled(rule)
    }) {
        let violations = rules::validation::find(target, options);
        // A patch that removes a required field is reported only once, as a violation.
        let missing = |finding: &Diagnostic| {
            let field = (finding.resource_name()?.to_string(), finding.field_path()?.to_string());
            Some(field)
        };
        let required: FxHashSet<_> = violations.iter().filter_map(missing).collect();
        findings.retain(|finding| {
            finding.code() != Code::MissingField
                || missing(finding).is_none_or(|field| !required.contains(&field))
        });
        findings.extend(violations.into_iter().filter(|violation| selection.reports(violation.code())));
    }
    let locations = target.built.resources.writers().iter().flat_map(|writer| locations_of(writer));
    let entries = locations.filter_map(|span| file_location(span, target.sources)).collect();
    let files = files_of(target);
    let checks_names = [&misspelled_reference::RULE, &external_reference::RULE]
        .iter()
        .any(|rule| selection.is_enabled(rule));
    let externals =
        if checks_names { misspelled_reference::used_externals(target) } else { FxHashSet::default() };
    let empty = TargetFindings::empty(target.path, config, Some(selection.clone()));
    TargetFindings { findings, entries, files, externals, ..empty }
}

/// Returns the files from which the result of a build was created.
fn files_of(target: &CheckedTarget<'_>) -> FxHashSet<PathBuf> {
    let nodes = target.resources().flat_map(|resource| resource.node().nodes());
    let sources: FxHashSet<SourceId> = nodes.map(|node| node.span().source).collect();
    let outer = sources.iter().map(|id| target.sources.outermost(Span::new(*id, 0, 0)).source);
    let outer: FxHashSet<SourceId> = outer.collect();
    outer.into_iter().filter_map(|id| Some(target.sources.get(id)?.name().to_path_buf())).collect()
}

fn locations_of(writer: &Writer) -> impl Iterator<Item = Span> {
    writer.entries.iter().map(|entry| entry.location).chain([writer.location])
}

/// Sets the severity of a finding to that of its rule.
fn by_rule(rule: &Rule, finding: Diagnostic) -> Diagnostic {
    match rule.severity {
        Severity::Error => finding.into_error(),
        _ => finding.into_warning(),
    }
}

/// The settings for combining findings into a report.
#[derive(Clone, Copy)]
pub struct Conclusion<'c> {
    /// The sources of the run.
    pub sources: &'c SourceMap,
    /// The rules enabled on the command line.
    pub selection: &'c RuleSelection,
    /// Renders locations.
    pub renderer: &'c MessageRenderer<'c>,
    /// The local files in the directories of kustomizations.
    pub files: LocalFiles<'c>,
    /// The suppressions that are trusted.
    pub suppressions: SuppressionTrust<'c>,
    /// The texts in which suppression comments without effect are reported.
    pub texts: &'c [SourceId],
}

/// Creates a report for all targets with an empty list of findings.
fn report_of(all: &[TargetFindings]) -> CheckReport {
    let failed = all.iter().filter(|one| one.enabled.is_none());
    CheckReport {
        targets: all.len(),
        target_names: all.iter().map(|one| one.target.clone()).collect(),
        failed: failed.map(|one| one.target.clone()).collect(),
        ..CheckReport::default()
    }
}

impl Conclusion<'_> {
    /// Builds the report for all targets.
    #[must_use]
    pub fn report(&self, mut all: Vec<TargetFindings>, mut baselines: Baselines) -> CheckReport {
        self.check_local_files(&mut all);
        let agreed = Agreement { unknown: self.used_by_unbuilt(&all), ..Agreement::new(&all, self.sources) };
        let unused = UsedSuppressions::new(&all);
        let mut report = CheckReport { is_revision: baselines.is_revision(), ..report_of(&all) };
        all.append(&mut self.unbuilt(&all));
        let (mut suppressions, mut reported) = (Suppressions::new(self.suppressions), FxHashSet::default());
        for (number, one) in all.into_iter().enumerate() {
            let mut found = Vec::new();
            for finding in one.findings {
                let location = self.location(&finding);
                // The suppression is marked as used even if the targets do not agree on the finding.
                let is_suppressed = one.enabled.is_some()
                    && suppressions.covers(&finding, &one.config, location.as_ref(), self.sources);
                if !agreed.holds(&finding, number, self.sources)
                    || !reported.insert(key(&finding, location.as_ref(), &one.target))
                {
                    continue;
                }
                let is_exempt =
                    one.enabled.is_none() && suppressions.intended_for(&finding, &one.config, self);
                let finding = if is_exempt { finding.note(NOT_SUPPRESSIBLE) } else { finding };
                if is_suppressed {
                    report.suppressed += 1;
                } else if (one.enabled.is_some() || baselines.is_revision())
                    && baselines.consume(&one.config, &finding, location.as_ref())
                {
                    report.in_baseline += 1;
                } else {
                    found.push((location, finding.target(&one.target)));
                }
            }
            found.sort_by(|(a, _), (b, _)| by_location(a.as_ref()).cmp(&by_location(b.as_ref())));
            report.findings.extend(found.into_iter().map(|(_, finding)| finding));
        }
        if self.selection.is_enabled(&unused_suppression::RULE)
            && !matches!(self.suppressions, SuppressionTrust::None)
        {
            report.findings.extend(suppressions.unused(&unused, self.texts, self.sources));
        }
        report
    }

    /// Returns the indices of targets that are part of a target that does not build.
    fn used_by_unbuilt(&self, all: &[TargetFindings]) -> FxHashSet<usize> {
        let failed: Vec<&Path> =
            all.iter().filter(|one| one.enabled.is_none()).map(|one| one.target.as_path()).collect();
        if failed.is_empty() {
            return FxHashSet::default();
        }
        let texts = RunSources::new(self.files, self.sources);
        let used = texts.directories_included_by(self.files.directories_of(&failed).into_keys());
        let targets: Vec<&Path> = all.iter().map(|one| one.target.as_path()).collect();
        let directories = self.files.directories_of(&targets);
        directories
            .into_iter()
            .filter(|(path, _)| used.contains(path))
            .map(|(_, position)| position)
            .collect()
    }

    /// Returns findings in the manifests of targets that do not build. Each finding is assigned to the target in the
    /// nearest directory.
    fn unbuilt(&self, all: &[TargetFindings]) -> Vec<TargetFindings> {
        let failed: Vec<&TargetFindings> = all.iter().filter(|one| one.enabled.is_none()).collect();
        let Some(first) = failed.first() else { return Vec::new() };
        let built = all.iter().flat_map(|one| &one.files).map(PathBuf::as_path).collect();
        let mut by_target: BTreeMap<&Path, (&TargetFindings, Vec<Diagnostic>)> = BTreeMap::new();
        for finding in build_failures::find(self.sources, &built) {
            let file = locations(&finding, self.sources).next().map(|location| location.0);
            let around =
                failed.iter().filter(|one| file.as_ref().is_some_and(|file| file.starts_with(&one.target)));
            let owner = around.max_by_key(|one| one.target.components().count()).unwrap_or(first);
            by_target.entry(&owner.target).or_insert_with(|| (*owner, Vec::new())).1.push(finding);
        }
        let collected = |(target, (owner, mut findings)): (&Path, (&TargetFindings, Vec<Diagnostic>))| {
            let selection = owner.config.rules.clone().overridden_by(self.selection);
            findings.retain(|finding| selection.reports(finding.code()));
            let empty = TargetFindings::empty(target, Arc::clone(&owner.config), Some(selection));
            TargetFindings { findings, ..empty }
        };
        by_target.into_iter().map(collected).collect()
    }

    /// Adds findings about files in the directories of kustomizations.
    fn check_local_files(&self, all: &mut [TargetFindings]) {
        let code = unreferenced_file::RULE.code;
        let is_enabled =
            |one: &TargetFindings| one.enabled.as_ref().is_some_and(|selection| selection.reports(code));
        if !all.iter().any(is_enabled) {
            return;
        }
        let targets: Vec<&Path> = all.iter().map(|one| one.target.as_path()).collect();
        let found = unreferenced_file::find(self.files, self.sources, &targets, |i| is_enabled(&all[i]));
        for (i, finding) in found {
            all[i].findings.push(finding);
        }
    }

    /// Returns the main location of a finding.
    #[must_use]
    pub fn location(&self, finding: &Diagnostic) -> Option<RenderedLocation> {
        main_location(finding, self.renderer)
    }
}

/// Returns true for a finding about a suppression that suppresses nothing.
#[must_use]
pub fn is_unused_suppression(finding: &Diagnostic) -> bool {
    finding.code() == unused_suppression::RULE.code
}

/// The note on a build failure that a comment or configuration tries to suppress.
const NOT_SUPPRESSIBLE: &str = "build errors cannot be suppressed";

/// The suppressions in comments and `.smp.yaml`, and the record of their use.
struct Suppressions<'c> {
    comments: SuppressionComments<'c>,
    /// The locations of configuration entries that suppressed something.
    used: FxHashSet<Span>,
    trust: SuppressionTrust<'c>,
}

impl<'c> Suppressions<'c> {
    fn new(trust: SuppressionTrust<'c>) -> Self {
        Self { comments: SuppressionComments::new(trust), used: FxHashSet::default(), trust }
    }

    fn covers(
        &mut self,
        finding: &Diagnostic,
        config: &CheckConfig,
        location: Option<&RenderedLocation>,
        sources: &SourceMap,
    ) -> bool {
        if matches!(self.trust, SuppressionTrust::None) {
            return false;
        }
        let entry = ignored_by(config, finding, location);
        self.used.extend(entry);
        let at = finding.labels().first().map(|label| label.span);
        // If a comment and an entry both suppress the finding, both are marked as used.
        let by_comment = at.is_some_and(|at| self.comments.suppresses(finding.code(), at, sources));
        entry.is_some() || by_comment
    }

    /// Returns true if a comment, a configuration entry or a command line option is meant to suppress a finding
    /// that cannot be suppressed.
    fn intended_for(
        &mut self,
        finding: &Diagnostic,
        config: &CheckConfig,
        conclusion: &Conclusion<'_>,
    ) -> bool {
        let is_covered =
            self.covers(finding, config, conclusion.location(finding).as_ref(), conclusion.sources);
        is_covered || !config.rules.clone().overridden_by(conclusion.selection).reports(finding.code())
    }

    /// Returns findings for suppressions without effect.
    fn unused(mut self, used: &UsedSuppressions, texts: &[SourceId], sources: &SourceMap) -> Vec<Diagnostic> {
        let code = unused_suppression::RULE.code;
        let mut found = self.comments.unused(code, texts, sources, |code| used.is_enabled(code));
        let mut seen = FxHashSet::default();
        let configs: Vec<_> = used.configs.iter().filter(|config| seen.insert(Arc::as_ptr(config))).collect();
        let report = |at, message, help| Diagnostic::warning(code, message).at(at).help(help);
        let entries = configs.iter().flat_map(|config| &config.ignored);
        let unused = entries.filter(|entry| !self.used.contains(&entry.at) && used.is_enabled(entry.code));
        found.extend(
            unused.map(|entry| report(entry.at, "this entry suppresses no finding", "remove the entry")),
        );
        if used.is_enabled(misspelled_reference::RULE.code) {
            let externals = configs.iter().flat_map(|config| &config.external.objects);
            let unused = externals.filter(|external| !used.externals.contains(&external.at));
            let message = "no unresolved reference matches this external object";
            found.extend(unused.map(|one| report(one.at, message, "remove the entry, or correct it")));
        }
        found
    }
}

/// The configurations and rules of a run, from which unused suppressions are derived.
struct UsedSuppressions {
    configs: Vec<Arc<CheckConfig>>,
    /// The locations of the external declarations that references match.
    externals: FxHashSet<Span>,
    /// The rules that are enabled for any target. Empty if a target did not build, since it is unknown which findings
    /// its suppressions apply to.
    enabled: Vec<RuleSelection>,
}

impl UsedSuppressions {
    fn new(all: &[TargetFindings]) -> Self {
        let enabled: Option<Vec<RuleSelection>> = all.iter().map(|one| one.enabled.clone()).collect();
        let mut enabled = enabled.unwrap_or_default();
        enabled.dedup();
        let externals = all.iter().flat_map(|one| &one.externals).copied().collect();
        Self { configs: all.iter().map(|one| Arc::clone(&one.config)).collect(), externals, enabled }
    }

    fn is_enabled(&self, code: Code) -> bool {
        // Only `diff` can determine whether such a suppression is used.
        let is_of_diff = rule_by_code(code).is_some_and(Rule::is_about_changes);
        !is_of_diff && self.enabled.iter().any(|selection| selection.reports(code))
    }
}

/// Returns the location of the entry of `.smp.yaml` that suppresses a finding.
fn ignored_by(
    config: &CheckConfig,
    finding: &Diagnostic,
    location: Option<&RenderedLocation>,
) -> Option<Span> {
    let file = location.map_or(Path::new(""), |location| Path::new(&location.file));
    config.ignored.iter().find(|entry| entry.covers(finding.code(), file)).map(|entry| entry.at)
}

fn by_location(location: Option<&RenderedLocation>) -> (&str, usize, usize) {
    location.map_or(("", 0, 0), |location| (location.file.as_str(), location.line, location.column))
}

/// The key of a finding. A finding in a base has the same key in all targets, so that it is reported once.
type FindingKey = (&'static str, String, Option<(String, usize, usize)>, Option<PathBuf>);

fn key(finding: &Diagnostic, location: Option<&RenderedLocation>, target: &Path) -> FindingKey {
    let at = location.map(|location| (location.file.clone(), location.line, location.column));
    let target = at.is_none().then(|| target.to_path_buf());
    let message = if at.is_some() { finding.message().to_string() } else { finding.to_string() };
    (finding.code().name(), message, at, target)
}

/// A rule and the location of one of its findings.
type FoundKey = (&'static str, FileLocation);

/// Counts that determine whether the targets of a run agree on a finding.
#[derive(Debug, Default)]
pub struct Agreement {
    /// The number of targets that include an entry.
    included: FxHashMap<FileLocation, usize>,
    /// The number of targets with a finding at a location.
    found: FxHashMap<FoundKey, usize>,
    /// Pairs of the index of a target and a finding that an overlay of the target does not have, since the overlay
    /// fixes it.
    fixed_by_overlay: FxHashSet<(usize, FoundKey)>,
    /// The indices of targets that are part of a target that does not build.
    unknown: FxHashSet<usize>,
}

impl Agreement {
    /// Counts the findings of targets.
    #[must_use]
    pub fn new(all: &[TargetFindings], sources: &SourceMap) -> Self {
        let found: Vec<FxHashSet<FoundKey>> = all.iter().map(|one| found_in(one, sources)).collect();
        let mut readers: FxHashMap<&Path, Vec<usize>> = FxHashMap::default();
        let mut takers: FxHashMap<&FileLocation, Vec<usize>> = FxHashMap::default();
        let mut agreement = Self::default();
        for (i, one) in all.iter().enumerate() {
            for key in &found[i] {
                *agreement.found.entry(key.clone()).or_default() += 1;
            }
            one.entries.iter().for_each(|location| takers.entry(location).or_default().push(i));
            one.files.iter().for_each(|file| readers.entry(file).or_default().push(i));
        }
        for (i, one) in all.iter().enumerate().filter(|(i, _)| !found[*i].is_empty()) {
            // An overlay includes all files and entries of its base. So only targets that have the base's rarest file
            // or entry, such as its kustomization, are candidates.
            let files = one.files.iter().filter_map(|file| readers.get(file.as_path()));
            let entries = one.entries.iter().filter_map(|location| takers.get(location));
            let fewest = files.chain(entries).min_by_key(|targets| targets.len()).into_iter().flatten();
            let users: Vec<usize> = fewest.copied().filter(|user| all[*user].is_built_over(one)).collect();
            let left = found[i].iter().filter(|key| users.iter().any(|user| !found[*user].contains(*key)));
            agreement.fixed_by_overlay.extend(left.map(|key| (i, key.clone())));
        }
        let taken = takers.into_iter().map(|(location, targets)| (location.clone(), targets.len()));
        agreement.included = taken.collect();
        agreement
    }

    /// Returns true if as many targets as the rule requires agree on a finding. `target` is the index of the finding's
    /// target.
    #[must_use]
    pub fn holds(&self, finding: &Diagnostic, target: usize, sources: &SourceMap) -> bool {
        let reach = rule_by_code(finding.code()).map_or(RuleScope::Target, |rule| rule.scope);
        let mut keys = locations(finding, sources).map(|location| (finding.code().name(), location));
        match reach {
            RuleScope::Target => true,
            // The entry may be at any of the locations.
            RuleScope::Entry => keys
                .find_map(|key| {
                    let taken = *self.included.get(&key.1)?;
                    Some(self.found.get(&key).is_some_and(|found| *found >= taken))
                })
                .unwrap_or(true),
            RuleScope::BuildableOverlays if self.unknown.contains(&target) => false,
            RuleScope::Overlays | RuleScope::BuildableOverlays => {
                keys.next().is_none_or(|key| !self.fixed_by_overlay.contains(&(target, key)))
            }
        }
    }
}

fn found_in(one: &TargetFindings, sources: &SourceMap) -> FxHashSet<FoundKey> {
    let keys = |finding| locations(finding, sources).map(|location| (finding.code().name(), location));
    one.findings.iter().flat_map(keys).collect()
}

/// Returns the locations of a finding. The first one is the main location.
fn locations<'f>(
    finding: &'f Diagnostic,
    sources: &'f SourceMap,
) -> impl Iterator<Item = FileLocation> + use<'f> {
    finding.labels().iter().filter_map(|label| file_location(label.span, sources))
}
