//! Rule: no kustomization lists a manifest in its directory.

use std::path::Path;

use crate::check::local_files::{LocalFiles, RunSources};
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::{SourceMap, Span};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unreferenced-file",
        meaning: "A manifest in the directory of a kustomization is listed by no kustomization.",
        remedy: "Add the file to `resources`, or remove it.",
    }),
    title: "Unreferenced manifest",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Disabled,
    scope: RuleScope::Target,
    why: "The file looks as if it were deployed, but it is not. A file counts as referenced if any file that \
          `check` reads names it, even in a comment, or if a kustomization in a parent directory does. The rule is disabled by \
          default because some repositories keep examples, and manifests to apply by hand, next to a kustomization. \
          Chart templates, values files, tool configuration and the directories of targets that do not build are \
          not checked.",
    suppress: Some("The file is an example, or is applied by hand."),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/resources/",
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

/// Checks the directories of all kustomizations that were read. Each finding has the index of its target: the one in
/// the same directory, otherwise the nearest one in a parent directory, otherwise the first one with the rule enabled.
/// Targets for which the rule is disabled get no findings.
pub(in crate::check) fn find(
    files: LocalFiles<'_>,
    sources: &SourceMap,
    targets: &[&Path],
    is_enabled: impl Fn(usize) -> bool,
) -> Vec<(usize, Diagnostic)> {
    let texts = RunSources::new(files, sources);
    let owners = files.directories_of(targets);
    let first = (0..targets.len()).find(|target| is_enabled(*target));
    let owner = |directory: &Path| directory.ancestors().find_map(|own| owners.get(own)).copied().or(first);
    let mut unread = Vec::new();
    for (directory, kustomization) in texts.kustomizations() {
        let Some(target) = owner(directory).filter(|target| is_enabled(*target)) else { continue };
        let files = files.manifests_in(directory).filter(|path| !texts.has(path));
        unread.extend(files.map(|path| (path, kustomization, target)));
    }
    let named = texts.referenced(&unread.iter().map(|(path, ..)| path.as_path()).collect());
    let unnamed = unread.iter().filter(|(path, ..)| !named.contains(path.as_path()));
    let findings = unnamed.filter_map(|(path, kustomization, target)| {
        let text = files.object_text(path)?;
        let (start, end) = head(&text);
        let at = Span::new(sources.add(files.displayed(path), text), start, end);
        let finding = Diagnostic::warning(RULE.code, "no kustomization lists this manifest")
            .at(at)
            .label(Span::new(*kustomization, 0, 0), "kustomization in the same directory")
            .help("add the file to `resources`, or remove it");
        Some((*target, finding))
    });
    findings.collect()
}

/// Returns the byte range of the `apiVersion` line.
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
