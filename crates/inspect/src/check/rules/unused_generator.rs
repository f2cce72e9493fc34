//! A generated ConfigMap or Secret that nothing names.

use rustc_hash::FxHashSet;

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_merge::cause::{History, Write};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unused-generator",
        meaning: "A generated ConfigMap or Secret whose name ends in a hash, and that nothing in the build names.",
        remedy: "Remove the generator, or name what it makes where it is needed.",
    }),
    name: "Generator whose output nobody uses",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Entry,
    why: "The hash at the end of a generated name changes with the content, so nobody outside of the build can know the \
          name. What has labels of its own may be found by them, and is not told; nor is what is generated without \
          a hash, what somebody names without it, what replacements or variables take values of, or what is in a build \
          of nothing else.",
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
    // A directory of nothing else is there for others.
    let is_alone =
        target.resources().all(|resource| matches!(resource.id().gvk.kind.as_str(), "ConfigMap" | "Secret"));
    if candidates.is_empty() || is_alone {
        return Vec::new();
    }
    let sources = sources(target);
    let is_named = |resource: &Resource| {
        // Who names it without the hash means it, too: whoever builds with a namespace may make one of the two.
        let (name, original) = (resource.id().name.as_str(), resource.original_id().name.as_str());
        let texts = &target.names().texts;
        texts.contains(name) || texts.contains(original) || sources.contains(original)
    };
    let told = candidates.into_iter().filter(|(resource, _)| !is_named(resource)).map(|(resource, write)| {
        let original = &resource.original_id().name;
        Diagnostic::warning(RULE.code, format!("nothing names what is generated here: `{original}`"))
            .at(write.by.at())
            .resource(resource.id())
            .help("remove the generator, or name what it makes")
    });
    told.collect()
}

/// What wrote the name of a generated resource that has a hash and no labels of its own.
fn generated(resource: &Resource) -> Option<&Write> {
    let history: &History = resource.history.as_deref()?;
    let writes = history.leaf(&["metadata", "name"])?;
    let (made, last) = (writes.last()?, writes.first()?);
    let is_generated = GENERATORS.iter().any(|field| made.by.name().starts_with(field));
    let is_hashed = writes.iter().any(|write| write.by.name() == "nameHash") && last.at.is_none();
    let own_labels = resource.labels().any(|(label, _)| {
        history
            .leaf(&["metadata", "labels", label])
            .and_then(<[Write]>::last)
            .is_none_or(|first| GENERATORS.iter().any(|field| first.by.name().starts_with(field)))
    });
    (is_generated && is_hashed && !own_labels).then_some(made)
}

/// The words of replacements and variables, which may take values of the objects that they name.
fn sources(target: &CheckedTarget<'_>) -> FxHashSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let words = |text: &str| text.split(|c| !is_word(c)).map(str::to_string).collect::<Vec<_>>();
    let (mut named, mut files) = (FxHashSet::default(), FxHashSet::default());
    for step in target.built.resources.writers() {
        let places = step.entries.iter().map(|entry| entry.at).chain([step.at]);
        if step.name.starts_with("replacements") {
            named.extend(places.filter_map(|at| target.sources.written(at)).flat_map(|text| words(&text)));
        } else if step.name.starts_with("vars") {
            files.extend(places.map(|at| target.sources.outermost(at).source));
        }
    }
    // Of a variable only its name has a place. Who generates the object names it once in the file.
    for file in files.into_iter().filter_map(|id| target.sources.get(id)) {
        let mut once = FxHashSet::default();
        named.extend(words(file.text()).into_iter().filter(|word| !once.insert(word.clone())));
    }
    named
}
