//! Plans the steps of a kustomization, in kustomize's order.
//!
//! A step carries its input. This module does not depend on the execution of steps.

use std::fmt;
use std::sync::Arc;

use super::helm::HelmChart;
use super::kustomization::Kustomization;
use super::tree::{Item, LoadedEntries, Plugins, Tree};
use crate::transform::{GeneratorArgs, Image, LabelArgs, Patch, Replacement, Replica};
use smp_text::yaml::Spanned;

/// A step of a build. It changes the result of the previous steps.
#[derive(Debug)]
pub(super) enum Step<'k> {
    /// Adds the manifests of a file, or builds a directory.
    Resource(&'k Spanned<String>, Item),
    /// Runs a built-in generator.
    Generate(BuiltinGenerator<'k>),
    /// Runs the plugins of `generators`.
    Generators(Plugins),
    /// Applies a component to all resources so far.
    Component(&'k Spanned<String>, Arc<Tree>),
    /// Runs a built-in transformer.
    Transform(BuiltinTransformer<'k>),
    /// Runs the plugins of `transformers`.
    Transformers(Plugins),
    /// Runs the plugins of `validators`.
    Validators(Plugins),
    /// Extends the field specs of transformers with the files of `configurations`, or with the defaults only.
    Configurations,
    /// Adds field specs from the OpenAPI definitions of `crds`.
    Crds,
    /// Records the `vars`.
    Vars,
}

/// The category of a step, which determines how it depends on the steps before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepCategory {
    /// Adds resources, independently of those that other steps add.
    Add,
    /// Applies patches.
    Patch,
    /// Sets values in fields known by name, such as replicas and images.
    SetValues,
    /// Anything else.
    Other,
}

impl Step<'_> {
    /// Returns the category of the step.
    pub(super) fn category(&self) -> StepCategory {
        use BuiltinTransformer as T;
        match self {
            Self::Resource(..) | Self::Generate(_) => StepCategory::Add,
            Self::Transform(T::StrategicMerge(_) | T::Patches(_) | T::Json6902(_)) => StepCategory::Patch,
            Self::Transform(T::Replicas(_) | T::Images(_)) => StepCategory::SetValues,
            _ => StepCategory::Other,
        }
    }

    /// Returns the number of manifests that the step adds, as far as it is known.
    pub(super) fn manifests(&self) -> usize {
        if let Self::Resource(_, Item::Manifests(nodes)) = self { nodes.len() } else { 0 }
    }
}

/// A generator configured by fields of the kustomization.
#[derive(Debug, Clone, Copy)]
pub(super) enum BuiltinGenerator<'k> {
    /// Generates a ConfigMap.
    ConfigMap(&'k GeneratorArgs),
    /// Generates a Secret.
    Secret(&'k GeneratorArgs),
    /// Renders a helm chart.
    HelmChart(&'k Spanned<HelmChart>),
}

/// A transformer configured by fields of the kustomization.
#[derive(Debug, Clone, Copy)]
pub(super) enum BuiltinTransformer<'k> {
    /// Applies `patchesStrategicMerge`.
    StrategicMerge(&'k [Spanned<String>]),
    /// Applies `patches`.
    Patches(&'k [Patch]),
    /// Sets `namespace`.
    Namespace(&'k Spanned<String>),
    /// Adds `namePrefix`.
    Prefix(&'k Spanned<String>),
    /// Adds `nameSuffix`.
    Suffix(&'k Spanned<String>),
    /// Adds the labels of an entry of `labels`.
    Label(&'k LabelArgs),
    /// Adds `commonLabels`, to selectors as well.
    CommonLabels,
    /// Adds `commonAnnotations`.
    CommonAnnotations,
    /// Applies `patchesJson6902`.
    Json6902(&'k [Patch]),
    /// Sets the number of replicas.
    Replicas(&'k [Replica]),
    /// Changes images.
    Images(&'k [Image]),
    /// Copies values between resources.
    Replacements(&'k [Replacement]),
}

impl BuiltinTransformer<'_> {
    /// Splits the transformer into one per patch.
    pub(super) fn parts(self) -> Vec<Self> {
        match self {
            Self::Patches(all) => all.chunks(1).map(Self::Patches).collect(),
            Self::Json6902(all) => all.chunks(1).map(Self::Json6902).collect(),
            whole => vec![whole],
        }
    }

    /// Splits the transformer into one per list entry, if entries can be distinguished by their location.
    pub(super) fn entries(self) -> Vec<Self> {
        match self {
            Self::StrategicMerge(all) => all.chunks(1).map(Self::StrategicMerge).collect(),
            Self::Replacements(all) => all.chunks(1).map(Self::Replacements).collect(),
            other => other.parts(),
        }
    }

    /// Returns kustomize's name of the transformer and how many times it runs. Returns `None` if another entry of
    /// the kustomization runs it.
    pub(super) fn kind(self, k: &Kustomization) -> Option<(&'static str, usize)> {
        Some(match self {
            Self::StrategicMerge(_) => ("PatchStrategicMergeTransformer", 1),
            Self::Patches(patches) => ("PatchTransformer", patches.len()),
            Self::Namespace(_) => ("NamespaceTransformer", 1),
            Self::Prefix(_) => ("PrefixTransformer", 1),
            Self::Suffix(_) => ("SuffixTransformer", 1),
            Self::Label(_) => return None,
            // kustomize runs the LabelTransformer of `commonLabels` even if only `labels` is set.
            Self::CommonLabels => ("LabelTransformer", k.labels.len() + 1),
            Self::CommonAnnotations => ("AnnotationsTransformer", 1),
            Self::Json6902(patches) => ("PatchJson6902Transformer", patches.len()),
            Self::Replicas(replicas) => ("ReplicaCountTransformer", replicas.len()),
            Self::Images(images) => ("ImageTagTransformer", images.len()),
            Self::Replacements(_) => ("ReplacementTransformer", 1),
        })
    }
}

/// Returns the steps of a kustomization in kustomize's order.
pub(super) fn plan(k: &Kustomization, entries: LoadedEntries) -> Vec<Step<'_>> {
    let resources = k.resources.iter().zip(entries.resources);
    let mut steps: Vec<Step<'_>> = resources.map(|(path, item)| Step::Resource(path, item)).collect();
    steps.extend([Step::Configurations, Step::Crds]);
    steps.extend(generators(k).map(Step::Generate));
    if !k.generators.is_empty() {
        steps.push(Step::Generators(entries.generators));
    }
    let components = k.components.iter().zip(entries.components);
    steps.extend(components.map(|(path, tree)| Step::Component(path, tree)));
    steps.extend(transformers(k).into_iter().map(Step::Transform));
    if !k.transformers.is_empty() {
        steps.push(Step::Transformers(entries.transformers));
    }
    if !k.validators.is_empty() {
        steps.push(Step::Validators(entries.validators));
    }
    steps.push(Step::Vars);
    steps
}

fn generators(k: &Kustomization) -> impl Iterator<Item = BuiltinGenerator<'_>> {
    let config_maps = k.config_map_generator.iter().map(BuiltinGenerator::ConfigMap);
    let secrets = k.secret_generator.iter().map(BuiltinGenerator::Secret);
    config_maps.chain(secrets).chain(k.helm_charts.iter().map(BuiltinGenerator::HelmChart))
}

fn transformers(k: &Kustomization) -> Vec<BuiltinTransformer<'_>> {
    use BuiltinTransformer as T;
    let is_set = |s: &&Spanned<String>| !s.is_empty();
    let mut all = Vec::new();
    all.extend(non_empty(&k.patches_strategic_merge).map(T::StrategicMerge));
    all.extend(non_empty(&k.patches).map(T::Patches));
    all.extend(Some(&k.namespace).filter(is_set).map(T::Namespace));
    all.extend(Some(&k.name_prefix).filter(is_set).map(T::Prefix));
    all.extend(Some(&k.name_suffix).filter(is_set).map(T::Suffix));
    all.extend(k.labels.iter().map(T::Label));
    if !k.common_labels.is_empty() || !k.labels.is_empty() {
        all.push(T::CommonLabels);
    }
    if !k.common_annotations.is_empty() {
        all.push(T::CommonAnnotations);
    }
    all.extend(non_empty(&k.patches_json6902).map(T::Json6902));
    all.extend(non_empty(&k.replicas).map(T::Replicas));
    all.extend(non_empty(&k.images).map(T::Images));
    all.extend(non_empty(&k.replacements).map(T::Replacements));
    all
}

/// Returns the list unless it is empty.
fn non_empty<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(path, _) => write!(f, "load {}", path.value),
            Self::Generate(generator) => generator.fmt(f),
            Self::Generators(_) => write!(f, "run generators"),
            Self::Component(path, _) => write!(f, "apply component {}", path.value),
            Self::Transform(transformer) => transformer.fmt(f),
            Self::Transformers(_) => write!(f, "run transformers"),
            Self::Validators(_) => write!(f, "run validators"),
            Self::Configurations => write!(f, "read configurations"),
            Self::Crds => write!(f, "read crds"),
            Self::Vars => write!(f, "record vars"),
        }
    }
}

impl fmt::Display for BuiltinGenerator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConfigMap(args) => write!(f, "generate ConfigMap {}", args.name.value),
            Self::Secret(args) => write!(f, "generate Secret {}", args.name.value),
            Self::HelmChart(chart) => write!(f, "render helm chart {}", chart.name),
        }
    }
}

impl fmt::Display for BuiltinTransformer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StrategicMerge(_) => write!(f, "apply patchesStrategicMerge"),
            Self::Patches(all) => write!(f, "apply {} patches", all.len()),
            Self::Namespace(name) => write!(f, "set namespace {}", name.value),
            Self::Prefix(text) => write!(f, "add name prefix {}", text.value),
            Self::Suffix(text) => write!(f, "add name suffix {}", text.value),
            Self::Label(_) => write!(f, "add labels"),
            Self::CommonLabels => write!(f, "add commonLabels"),
            Self::CommonAnnotations => write!(f, "add commonAnnotations"),
            Self::Json6902(_) => write!(f, "apply patchesJson6902"),
            Self::Replicas(_) => write!(f, "set replicas"),
            Self::Images(_) => write!(f, "change images"),
            Self::Replacements(all) => write!(f, "make {} replacements", all.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::source::SourceMap;

    const KUSTOMIZATION: &str = "
validators: [v.yaml]
transformers: [t.yaml]
patchesJson6902: [{path: j.yaml}]
patches: [{path: p.yaml}, {path: q.yaml}]
namePrefix: p-
namespace: ns
labels: [{pairs: {a: b}}]
resources: [a.yaml, b.yaml]
secretGenerator: [{name: s}]
configMapGenerator: [{name: c}]
";

    #[test]
    fn steps_are_in_the_order_of_kustomize() {
        let sources = SourceMap::default();
        let id = sources.add("kustomization.yaml", KUSTOMIZATION);
        let kustomization = Kustomization::read(&sources, id).expect("valid").value;
        let resources = vec![Item::Manifests(Vec::new()), Item::Manifests(Vec::new())];
        let steps = plan(&kustomization, LoadedEntries { resources, ..LoadedEntries::default() });
        let shown: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let want = "load a.yaml, load b.yaml, read configurations, read crds, generate ConfigMap c, generate Secret s, \
                    apply 2 patches, set namespace ns, add name prefix p-, add labels, add commonLabels, \
                    apply patchesJson6902, run transformers, run validators, record vars";
        assert_eq!(shown.join(", "), want);
        let parts = steps.iter().filter_map(|step| match step {
            Step::Transform(transformer) => Some(transformer.parts().len()),
            _ => None,
        });
        assert_eq!(parts.max(), Some(2), "each patch is a part");
    }
}
