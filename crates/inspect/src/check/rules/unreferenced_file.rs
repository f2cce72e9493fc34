//! A manifest beside a kustomization that nothing references.

use std::path::Path;

use crate::check::beside::{LocalFiles, RunTexts};
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::{SourceMap, Span};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unreferenced-file",
        meaning: "A manifest beside a kustomization that no kustomization names.",
        remedy: "Add it to `resources`, or remove it.",
    }),
    name: "Manifest that nothing references",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::Off,
    reach: RuleReach::Each,
    why: "It looks as if it were deployed, and is not. A file counts as referenced when a text that the run read names it, \
          in a comment, too, or a kustomization in a directory above. Some repositories keep examples and manifests that \
          are applied by hand beside a kustomization, so this is off. Files of templates, values and tools, and \
          directories of targets that do not build, are not looked at.",
    bad: &[
        ("kustomization.yaml", "resources: [map.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"),
        ("more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"),
    ],
    good: &[
        ("kustomization.yaml", "resources: [map.yaml, more.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"),
        ("more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"),
    ],
    finder: Finder::Run,
};

/// What is found in the directories of all kustomizations that were read, each with the position of the target that it
/// is told of: the one in the directory, else the nearest above it, else the first that asks. Of targets that do not ask
/// nothing is told.
pub(in crate::check) fn find(
    files: LocalFiles<'_>,
    sources: &SourceMap,
    targets: &[&Path],
    asks: impl Fn(usize) -> bool,
) -> Vec<(usize, Diagnostic)> {
    let texts = RunTexts::of(files, sources);
    let owners = files.directories_of(targets);
    let first = (0..targets.len()).find(|target| asks(*target));
    let owner = |directory: &Path| directory.ancestors().find_map(|own| owners.get(own)).copied().or(first);
    let mut beside = Vec::new();
    for (directory, kustomization) in texts.kustomizations() {
        let Some(target) = owner(directory).filter(|target| asks(*target)) else { continue };
        let unread = files.manifests_in(directory).filter(|path| !texts.has(path));
        beside.extend(unread.map(|path| (path, kustomization, target)));
    }
    let named = texts.named(&beside.iter().map(|(path, ..)| path.as_path()).collect());
    let unnamed = beside.iter().filter(|(path, ..)| !named.contains(path.as_path()));
    let told = unnamed.filter_map(|(path, kustomization, target)| {
        let text = files.object_text(path)?;
        let (start, end) = head(&text);
        let at = Span::new(sources.add(files.shown(path), text), start, end);
        let finding = Diagnostic::warning(RULE.code, "no kustomization names this manifest")
            .at(at)
            .label(Span::new(*kustomization, 0, 0), "the kustomization beside it")
            .help("add it to `resources`, or remove it");
        Some((*target, finding))
    });
    told.collect()
}

/// Where a manifest says what it is.
fn head(text: &str) -> (usize, usize) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("apiVersion:") {
            return (start, start + line.trim_end().len());
        }
        start += line.len();
    }
    (0, 0)
}
