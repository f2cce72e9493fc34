//! Rule: nothing refers to a generated ConfigMap or Secret.

use rustc_hash::FxHashSet;

use crate::check::reference::mentioned_texts;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_merge::cause::{History, Write};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unused-generator",
        meaning: "Nothing in the build refers to a generated ConfigMap or Secret.",
        remedy: "Remove the generator, or refer to the generated object.",
    }),
    title: "Unused generator",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Entry,
    why: "Nothing outside of the build can refer to the object, because the hash suffix of its name changes with \
          the content. Either the generator is left over, or a workload does not use its settings. Objects that may be \
          found in another way are not reported: those with labels of their own or without a hash suffix, those \
          that something refers to by the name without the hash, and the sources of replacements and variables. \
          Builds that consist of generated objects only are not checked.",
    suppress: Some("A program finds the object at run time, for example by a name prefix."),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configmapgenerator/",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [A=b]\n",
        ),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n",
        ),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [pod.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [A=b]\n",
        ),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             envFrom: [{configMapRef: {name: settings}}]\n",
        ),
    ],
    finder: Finder::Target(find),
};

const GENERATORS: [&str; 2] = ["configMapGenerator", "secretGenerator"];

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let candidates: Vec<(&Resource, &Write)> =
        target.resources().filter_map(|resource| Some((resource, generated(resource)?))).collect();
    // A build with only ConfigMaps and Secrets is intended for use by other builds.
    let is_alone =
        target.resources().all(|resource| matches!(resource.id().gvk.kind.as_str(), "ConfigMap" | "Secret"));
    if candidates.is_empty() || is_alone {
        return Vec::new();
    }
    let (sources, texts) = (sources(target), mentioned_texts(target.resources()));
    let is_named = |resource: &Resource| {
        // A reference without the hash is also sufficient: another overlay with a namespace may generate the same
        // object.
        let (name, original) = (resource.id().name.as_str(), resource.original_id().name.as_str());
        texts.contains(name) || texts.contains(original) || sources.contains(original)
    };
    let findings =
        candidates.into_iter().filter(|(resource, _)| !is_named(resource)).map(|(resource, write)| {
            let original = &resource.original_id().name;
            Diagnostic::warning(RULE.code, format!("nothing refers to the generated object `{original}`"))
                .at(write.by.location())
                .resource(resource.id())
                .help("remove the generator, or refer to the generated object")
        });
    findings.collect()
}

/// Returns the write of the generated name, for a resource with a hash suffix and without labels of its own.
fn generated(resource: &Resource) -> Option<&Write> {
    let history: &History = resource.history.as_deref()?;
    let writes = history.writes_at(&["metadata", "name"])?;
    let (made, last) = (writes.last()?, writes.first()?);
    let is_generated = GENERATORS.iter().any(|field| made.by.name().starts_with(field));
    let is_hashed = writes.iter().any(|write| write.by.name() == "nameHash") && last.at.is_none();
    let own_labels = resource.labels().any(|(label, _)| {
        history
            .writes_at(&["metadata", "labels", label])
            .and_then(<[Write]>::last)
            .is_none_or(|first| GENERATORS.iter().any(|field| first.by.name().starts_with(field)))
    });
    (is_generated && is_hashed && !own_labels).then_some(made)
}

/// Returns the words of replacements and variables, which may use values of the objects whose names they contain.
fn sources(target: &CheckedTarget<'_>) -> FxHashSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let words = |text: &str| text.split(|c| !is_word(c)).map(str::to_string).collect::<Vec<_>>();
    let (mut named, mut files) = (FxHashSet::default(), FxHashSet::default());
    for step in target.built.resources.writers() {
        let locations = step.entries.iter().map(|entry| entry.at).chain([step.location]);
        if step.name.starts_with("replacements") {
            named.extend(locations.filter_map(|at| target.sources.text_at(at)).flat_map(|text| words(&text)));
        } else if step.name.starts_with("vars") {
            files.extend(locations.map(|at| target.sources.outermost(at).source));
        }
    }
    // Only the name of a variable has a location. The generator mentions the object once in the same file, so a second
    // occurrence is a reference.
    for file in files.into_iter().filter_map(|id| target.sources.get(id)) {
        let mut once = FxHashSet::default();
        named.extend(words(file.text()).into_iter().filter(|word| !once.insert(word.clone())));
    }
    named
}
