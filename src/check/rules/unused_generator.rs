//! A generated ConfigMap or Secret that nothing names.

use crate::cause::{History, Write};
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::diagnostic::{Code, Diagnostic, RuleText, Severity};
use crate::resource::Resource;
use crate::source::Span;

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
          name. What has labels of its own may be found by them, and is not told; nor is what is generated without a hash.",
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
    if candidates.is_empty() {
        return Vec::new();
    }
    let is_named = |resource: &Resource| {
        target.names().texts.contains(resource.id().name.as_str()) || is_source(resource, target)
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

/// Whether replacements or variables name it: they may take values of it.
fn is_source(resource: &Resource, target: &CheckedTarget<'_>) -> bool {
    let name = resource.original_id().name.as_str();
    target.built.resources.writers().iter().any(|step| {
        let mut places = step.entries.iter().map(|entry| entry.at).chain([step.at]);
        if step.name.starts_with("replacements") {
            return places.any(|at| target.sources.written(at).is_some_and(|text| text.contains(name)));
        }
        // Of a variable only its name has a place. Who generates the object names it once in the file.
        let text = |at: Span| target.sources.get(target.sources.outermost(at).source);
        let is_again = |at| text(at).is_some_and(|source| source.text().matches(name).nth(1).is_some());
        step.name.starts_with("vars") && places.any(is_again)
    })
}
