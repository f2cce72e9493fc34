//! From what is found in each target to one report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::baseline::Baselines;
use super::beside::{LocalFiles, RunTexts};
use super::config::{CheckConfig, ConfiguredBaseline};
use super::findings::{CheckReport, main_place};
use super::registry::{RULES, rule_of};
use super::rule::{Finder, Rule, RuleReach};
use super::rules::{self, dangling_reference, external_reference, unreferenced_file, unused_silence};
use super::selection::RuleSelection;
use super::silence::Silences;
use super::target::CheckedTarget;
use super::unbuilt;
use smp_merge::cause::Writer;
use smp_text::diagnostic::{Code, Diagnostic, MessageRenderer, RenderedPlace, Severity};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_validate::ValidateOptions;

/// A place that is the same in all targets, however often its text was read.
type FilePlace = (PathBuf, u32);

fn file_place(span: Span, sources: &SourceMap) -> Option<FilePlace> {
    let outer = sources.outermost(span);
    Some((sources.get(outer.source)?.name().to_path_buf(), outer.start))
}

/// What was found in one target.
#[derive(Debug)]
pub struct TargetFindings {
    /// The target.
    pub target: PathBuf,
    findings: Vec<Diagnostic>,
    /// Where the entries stand that took part in its build.
    entries: FxHashSet<FilePlace>,
    /// The files of which something is in it.
    files: FxHashSet<PathBuf>,
    config: Arc<CheckConfig>,
    /// Where the external objects are declared that its references lead to.
    externals: FxHashSet<Span>,
    /// The rules that were asked; none of a target that does not build.
    asked: Option<RuleSelection>,
}

impl TargetFindings {
    fn empty(target: &Path, config: Arc<CheckConfig>, asked: Option<RuleSelection>) -> Self {
        let (entries, files, externals) = Default::default();
        Self { target: target.to_path_buf(), findings: Vec::new(), entries, files, config, externals, asked }
    }

    /// Whether all of another target is in this one, and more.
    fn is_built_over(&self, other: &Self) -> bool {
        let more = self.entries.len() + self.files.len() > other.entries.len() + other.files.len();
        more && self.entries.is_superset(&other.entries) && self.files.is_superset(&other.files)
    }

    /// The baseline that the target's configuration names.
    #[must_use]
    pub fn configured_baseline(&self) -> Option<&ConfiguredBaseline> {
        self.config.baseline.as_ref()
    }

    /// Those of a target that does not build. Nothing silences them.
    #[must_use]
    pub fn of_failure(target: &Path, problem: &Diagnostic, config: Arc<CheckConfig>) -> Self {
        let findings = std::iter::once(problem).chain(problem.others()).cloned().collect();
        Self { findings, ..Self::empty(target, config, None) }
    }
}

impl TargetFindings {
    /// Adds one that does not come of the target alone.
    pub(super) fn add(&mut self, finding: Diagnostic) {
        if self.asked.as_ref().is_some_and(|selection| selection.tells(finding.code())) {
            self.findings.push(finding);
        }
    }
}

/// Asks all selected rules about a target.
#[must_use]
pub fn look_at(
    target: &CheckedTarget<'_>,
    selection: &RuleSelection,
    options: &ValidateOptions,
    config: Arc<CheckConfig>,
) -> TargetFindings {
    let mut findings: Vec<Diagnostic> =
        target.built.warnings.iter().filter(|warning| selection.tells(warning.code())).cloned().collect();
    for rule in RULES.iter().filter(|rule| selection.has(rule)) {
        if let Finder::Target(find) = rule.finder {
            findings.extend(find(target).into_iter().map(|finding| by_rule(rule, finding)));
        }
    }
    if RULES
        .iter()
        .any(|rule| matches!(rule.finder, Finder::Schema | Finder::Validation(_)) && selection.has(rule))
    {
        let violations = rules::refused::find(target, options);
        // A patch that removes a required field is reported once, as what a server refuses.
        let missing = |finding: &Diagnostic| {
            let field = (finding.resource_name()?.to_string(), finding.field_path()?.to_string());
            Some(field)
        };
        let required: FxHashSet<_> = violations.iter().filter_map(missing).collect();
        findings.retain(|finding| {
            finding.code() != Code::MissingField
                || missing(finding).is_none_or(|field| !required.contains(&field))
        });
        findings.extend(violations.into_iter().filter(|violation| selection.tells(violation.code())));
    }
    let places = target.built.resources.writers().iter().flat_map(|writer| places_of(writer));
    let entries = places.filter_map(|span| file_place(span, target.sources)).collect();
    let files = files_of(target);
    let asks_names =
        [&dangling_reference::RULE, &external_reference::RULE].iter().any(|rule| selection.has(rule));
    let externals =
        if asks_names { dangling_reference::used_externals(target) } else { FxHashSet::default() };
    let empty = TargetFindings::empty(target.path, config, Some(selection.clone()));
    TargetFindings { findings, entries, files, externals, ..empty }
}

/// The files of which something is in what was built.
fn files_of(target: &CheckedTarget<'_>) -> FxHashSet<PathBuf> {
    let nodes = target.resources().flat_map(|resource| resource.node().nodes());
    let sources: FxHashSet<SourceId> = nodes.map(|node| node.span().source).collect();
    let outer = sources.iter().map(|id| target.sources.outermost(Span::new(*id, 0, 0)).source);
    let outer: FxHashSet<SourceId> = outer.collect();
    outer.into_iter().filter_map(|id| Some(target.sources.get(id)?.name().to_path_buf())).collect()
}

fn places_of(writer: &Writer) -> impl Iterator<Item = Span> {
    writer.entries.iter().map(|entry| entry.place).chain([writer.at])
}

/// A finding is as bad as its rule.
fn by_rule(rule: &Rule, finding: Diagnostic) -> Diagnostic {
    match rule.severity {
        Severity::Error => finding.into_error(),
        _ => finding.into_warning(),
    }
}

/// How findings become a report.
#[derive(Clone, Copy)]
pub struct Conclusion<'c> {
    /// The texts of the run.
    pub sources: &'c SourceMap,
    /// The rules that were asked.
    pub selection: &'c RuleSelection,
    /// Says how places are seen.
    pub renderer: &'c MessageRenderer<'c>,
    /// What lies beside the kustomizations.
    pub files: LocalFiles<'c>,
}

impl Conclusion<'_> {
    /// The report on all targets.
    #[must_use]
    pub fn report(&self, mut all: Vec<TargetFindings>, mut baselines: Baselines) -> CheckReport {
        self.look_beside(&mut all);
        let agreed = Agreement { unknown: self.used_by_unbuilt(&all), ..Agreement::of(&all, self.sources) };
        let unused = Unsilenced::of(&all);
        let target_names: Vec<PathBuf> = all.iter().map(|one| one.target.clone()).collect();
        let mut report = CheckReport { targets: all.len(), target_names, ..CheckReport::default() };
        report.unbuilt = all.iter().filter(|one| one.asked.is_none()).map(|one| one.target.clone()).collect();
        all.append(&mut self.unbuilt(&all));
        let (mut silencing, mut told) = (Silencing::default(), FxHashSet::default());
        for (number, one) in all.into_iter().enumerate() {
            let mut found = Vec::new();
            for finding in one.findings {
                let place = self.place(&finding);
                // What it silences where others disagree, it silences.
                let is_silenced = one.asked.is_some()
                    && silencing.covers(&finding, &one.config, place.as_ref(), self.sources);
                if !agreed.holds(&finding, number, self.sources)
                    || !told.insert(key(&finding, place.as_ref(), &one.target))
                {
                    continue;
                }
                let finding = match one.asked {
                    None if silencing.would(&finding, &one.config, self) => finding.note(NEVER_SILENT),
                    _ => finding,
                };
                if is_silenced {
                    report.silenced += 1;
                } else if one.asked.is_some() && baselines.take(&one.config, &finding, place.as_ref()) {
                    report.known += 1;
                } else {
                    found.push((place, finding.target(&one.target)));
                }
            }
            found.sort_by(|(a, _), (b, _)| by_place(a.as_ref()).cmp(&by_place(b.as_ref())));
            report.findings.extend(found.into_iter().map(|(_, finding)| finding));
        }
        if self.selection.has(&unused_silence::RULE) {
            report.findings.extend(silencing.unused(&unused, self.sources));
        }
        report
    }

    /// The positions of targets that others which do not build are made of.
    fn used_by_unbuilt(&self, all: &[TargetFindings]) -> FxHashSet<usize> {
        let failed: Vec<&Path> =
            all.iter().filter(|one| one.asked.is_none()).map(|one| one.target.as_path()).collect();
        if failed.is_empty() {
            return FxHashSet::default();
        }
        let texts = RunTexts::of(self.files, self.sources);
        let used = texts.made_of(self.files.directories_of(&failed).into_keys());
        let targets: Vec<&Path> = all.iter().map(|one| one.target.as_path()).collect();
        let directories = self.files.directories_of(&targets);
        directories
            .into_iter()
            .filter(|(path, _)| used.contains(path))
            .map(|(_, position)| position)
            .collect()
    }

    /// What is found in manifests of targets that do not build: told of the one whose directory is nearest.
    fn unbuilt(&self, all: &[TargetFindings]) -> Vec<TargetFindings> {
        let failed: Vec<&TargetFindings> = all.iter().filter(|one| one.asked.is_none()).collect();
        let Some(first) = failed.first() else { return Vec::new() };
        let built = all.iter().flat_map(|one| &one.files).map(PathBuf::as_path).collect();
        let mut by_target: BTreeMap<&Path, (&TargetFindings, Vec<Diagnostic>)> = BTreeMap::new();
        for finding in unbuilt::find(self.sources, &built) {
            let file = places(&finding, self.sources).next().map(|place| place.0);
            let around =
                failed.iter().filter(|one| file.as_ref().is_some_and(|file| file.starts_with(&one.target)));
            let of = around.max_by_key(|one| one.target.components().count()).unwrap_or(first);
            by_target.entry(&of.target).or_insert_with(|| (*of, Vec::new())).1.push(finding);
        }
        let told = |(target, (of, mut findings)): (&Path, (&TargetFindings, Vec<Diagnostic>))| {
            let selection = of.config.rules.clone().then(self.selection);
            findings.retain(|finding| selection.tells(finding.code()));
            let empty = TargetFindings::empty(target, Arc::clone(&of.config), Some(selection));
            TargetFindings { findings, ..empty }
        };
        by_target.into_iter().map(told).collect()
    }

    /// Adds what is found beside the kustomizations of all targets.
    fn look_beside(&self, all: &mut [TargetFindings]) {
        let code = unreferenced_file::RULE.code;
        let asks = |of: &TargetFindings| of.asked.as_ref().is_some_and(|selection| selection.tells(code));
        if !all.iter().any(asks) {
            return;
        }
        let targets: Vec<&Path> = all.iter().map(|one| one.target.as_path()).collect();
        let found = unreferenced_file::find(self.files, self.sources, &targets, |i| asks(&all[i]));
        for (of, finding) in found {
            all[of].findings.push(finding);
        }
    }

    /// The main place of a finding.
    #[must_use]
    pub fn place(&self, finding: &Diagnostic) -> Option<RenderedPlace> {
        main_place(finding, self.renderer)
    }
}

/// What is said where somebody tries to.
const NEVER_SILENT: &str = "nothing silences what keeps a target from being built";

/// What comments and `.smp.yaml` silence.
#[derive(Default)]
struct Silencing {
    comments: Silences,
    /// The entries of configurations that silenced something, by where they stand.
    used: FxHashSet<Span>,
}

impl Silencing {
    fn covers(
        &mut self,
        finding: &Diagnostic,
        config: &CheckConfig,
        place: Option<&RenderedPlace>,
        sources: &SourceMap,
    ) -> bool {
        let entry = ignored_by(config, finding, place);
        self.used.extend(entry);
        let at = finding.labels().first().map(|label| label.span);
        // Both count as used.
        let by_comment = at.is_some_and(|at| self.comments.cover(finding.code(), at, sources));
        entry.is_some() || by_comment
    }

    /// Whether a comment, an entry or a word of the command line is meant for a finding that nothing silences.
    fn would(&mut self, finding: &Diagnostic, config: &CheckConfig, of: &Conclusion<'_>) -> bool {
        let is_covered = self.covers(finding, config, of.place(finding).as_ref(), of.sources);
        is_covered || !config.rules.clone().then(of.selection).tells(finding.code())
    }

    /// What silenced nothing.
    fn unused(mut self, of: &Unsilenced, sources: &SourceMap) -> Vec<Diagnostic> {
        let code = unused_silence::RULE.code;
        let mut found = self.comments.unused(code, sources, |code| of.is_asked(code));
        let mut seen = FxHashSet::default();
        let configs: Vec<_> = of.configs.iter().filter(|config| seen.insert(Arc::as_ptr(config))).collect();
        let report = |at, message, help| Diagnostic::warning(code, message).at(at).help(help);
        let entries = configs.iter().flat_map(|config| &config.ignored);
        let unused = entries.filter(|entry| !self.used.contains(&entry.at) && of.is_asked(entry.code));
        found.extend(unused.map(|entry| report(entry.at, "this entry silences nothing", "remove the entry")));
        if of.is_asked(dangling_reference::RULE.code) {
            let externals = configs.iter().flat_map(|config| &config.outside.external);
            let unused = externals.filter(|external| !of.externals.contains(&external.at));
            let message = "nothing that is missing is what this entry declares";
            found.extend(unused.map(|one| report(one.at, message, "remove the entry, or correct it")));
        }
        found
    }
}

/// Of what it can be said that it silences nothing.
struct Unsilenced {
    configs: Vec<Arc<CheckConfig>>,
    /// Where the external objects are declared that references lead to.
    externals: FxHashSet<Span>,
    /// The rules that were asked of some target; none when a target did not build, of which nobody knows.
    asked: Vec<RuleSelection>,
}

impl Unsilenced {
    fn of(all: &[TargetFindings]) -> Self {
        let asked: Option<Vec<RuleSelection>> = all.iter().map(|one| one.asked.clone()).collect();
        let mut asked = asked.unwrap_or_default();
        asked.dedup();
        let externals = all.iter().flat_map(|one| &one.externals).copied().collect();
        Self { configs: all.iter().map(|one| Arc::clone(&one.config)).collect(), externals, asked }
    }

    fn is_asked(&self, code: Code) -> bool {
        self.asked.iter().any(|selection| selection.tells(code))
    }
}

/// The entry of `.smp.yaml` that silences a finding.
fn ignored_by(config: &CheckConfig, finding: &Diagnostic, place: Option<&RenderedPlace>) -> Option<Span> {
    let file = place.map_or(Path::new(""), |place| Path::new(&place.file));
    config.ignored.iter().find(|entry| entry.covers(finding.code(), file)).map(|entry| entry.at)
}

fn by_place(place: Option<&RenderedPlace>) -> (&str, usize, usize) {
    place.map_or(("", 0, 0), |place| (place.file.as_str(), place.line, place.column))
}

/// By what two findings are one: what is wrong with a base is told once.
type FindingKey = (&'static str, String, Option<(String, usize, usize)>, Option<PathBuf>);

fn key(finding: &Diagnostic, place: Option<&RenderedPlace>, target: &Path) -> FindingKey {
    let at = place.map(|place| (place.file.clone(), place.line, place.column));
    let target = at.is_none().then(|| target.to_path_buf());
    let message = if at.is_some() { finding.message().to_string() } else { finding.to_string() };
    (finding.code().name(), message, at, target)
}

/// What is found of a rule at a place.
type FoundKey = (&'static str, FilePlace);

/// What the targets of a run say of each other's findings.
#[derive(Default)]
struct Agreement {
    /// In how many targets entries took part, and in how many of them something was found there.
    taken: FxHashMap<FilePlace, usize>,
    found: FxHashMap<FoundKey, usize>,
    /// What is found in a target, by its number, and not in one that is built over it: the target leaves that to others.
    left: FxHashSet<(usize, FoundKey)>,
    /// The targets, by their number, of which somebody who does not build may make something else.
    unknown: FxHashSet<usize>,
}

impl Agreement {
    fn of(all: &[TargetFindings], sources: &SourceMap) -> Self {
        let found: Vec<FxHashSet<FoundKey>> = all.iter().map(|one| found_in(one, sources)).collect();
        let mut readers: FxHashMap<&Path, Vec<usize>> = FxHashMap::default();
        let mut takers: FxHashMap<&FilePlace, Vec<usize>> = FxHashMap::default();
        let mut agreement = Self::default();
        for (i, one) in all.iter().enumerate() {
            for key in &found[i] {
                *agreement.found.entry(key.clone()).or_default() += 1;
            }
            one.entries.iter().for_each(|place| takers.entry(place).or_default().push(i));
            one.files.iter().for_each(|file| readers.entry(file).or_default().push(i));
        }
        for (i, one) in all.iter().enumerate().filter(|(i, _)| !found[*i].is_empty()) {
            // Who is built over it has all that it has: what the fewest have, such as its own kustomization.
            let files = one.files.iter().filter_map(|file| readers.get(file.as_path()));
            let entries = one.entries.iter().filter_map(|place| takers.get(place));
            let fewest = files.chain(entries).min_by_key(|targets| targets.len()).into_iter().flatten();
            let users: Vec<usize> = fewest.copied().filter(|user| all[*user].is_built_over(one)).collect();
            let left = found[i].iter().filter(|key| users.iter().any(|user| !found[*user].contains(*key)));
            agreement.left.extend(left.map(|key| (i, key.clone())));
        }
        let taken = takers.into_iter().map(|(place, targets)| (place.clone(), targets.len()));
        agreement.taken = taken.collect();
        agreement
    }

    /// Whether a finding of a target holds in those that have what it is about, where its rule asks for that.
    fn holds(&self, finding: &Diagnostic, target: usize, sources: &SourceMap) -> bool {
        let reach = rule_of(finding.code()).map_or(RuleReach::Each, |rule| rule.reach);
        let mut keys = places(finding, sources).map(|place| (finding.code().name(), place));
        match reach {
            RuleReach::Each => true,
            // The entry may stand at any of the places.
            RuleReach::Entry => keys
                .find_map(|key| {
                    let taken = *self.taken.get(&key.1)?;
                    Some(self.found.get(&key).is_some_and(|found| *found >= taken))
                })
                .unwrap_or(true),
            RuleReach::BuiltUsers if self.unknown.contains(&target) => false,
            RuleReach::Users | RuleReach::BuiltUsers => {
                keys.next().is_none_or(|key| !self.left.contains(&(target, key)))
            }
        }
    }
}

fn found_in(one: &TargetFindings, sources: &SourceMap) -> FxHashSet<FoundKey> {
    let keys = |finding| places(finding, sources).map(|place| (finding.code().name(), place));
    one.findings.iter().flat_map(keys).collect()
}

/// The places of a finding, the main one first.
fn places<'f>(finding: &'f Diagnostic, sources: &'f SourceMap) -> impl Iterator<Item = FilePlace> + use<'f> {
    finding.labels().iter().filter_map(|label| file_place(label.span, sources))
}
