//! The steps of a kustomization, in the order in which kustomize takes them.

use std::fmt;

use super::helm::HelmChart;
use super::kustomization::Kustomization;
use crate::transform::{GeneratorArgs, Image, Label, Patch, Replacement, Replica};
use crate::yaml::Spanned;

/// One step; it works on what the steps before it left.
#[derive(Debug, Clone, Copy)]
pub enum Step<'k> {
    /// Loads a file, or builds a directory.
    Resource(&'k Spanned<String>),
    /// Adds to the fields that transformers know: the files of `configurations`, or just the defaults.
    Configurations,
    /// Adds fields from the OpenAPI definitions of `crds`.
    Crds,
    /// Makes a ConfigMap.
    ConfigMap(&'k GeneratorArgs),
    /// Makes a Secret.
    Secret(&'k GeneratorArgs),
    /// Renders a helm chart.
    HelmChart(&'k Spanned<HelmChart>),
    /// Runs what `generators` names.
    Generators,
    /// Lets a component work on everything so far.
    Component(&'k Spanned<String>),
    /// Applies the patches of `patchesStrategicMerge`.
    StrategicMerge,
    /// Applies `patches`.
    Patches(&'k [Patch]),
    /// Sets `namespace`.
    Namespace(&'k Spanned<String>),
    /// Adds `namePrefix`.
    Prefix(&'k Spanned<String>),
    /// Adds `nameSuffix`.
    Suffix(&'k Spanned<String>),
    /// Adds the labels of an entry of `labels`.
    Label(&'k Label),
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
    /// Runs what `transformers` names.
    Transformers,
    /// Runs what `validators` names.
    Validators,
    /// Remembers the `vars`.
    Vars,
}

impl Step<'_> {
    /// The step in parts, one for each patch, if it has several.
    pub(super) fn parts(self) -> Option<Vec<Self>> {
        match self {
            Self::Patches(all) if all.len() > 1 => Some(all.chunks(1).map(Step::Patches).collect()),
            Self::Json6902(all) if all.len() > 1 => Some(all.chunks(1).map(Step::Json6902).collect()),
            _ => None,
        }
    }

    /// kustomize's name of the transformer that the step runs, and how often it runs it.
    pub(super) fn transformer(&self, k: &Kustomization) -> Option<(&'static str, usize)> {
        Some(match self {
            Self::StrategicMerge => ("PatchStrategicMergeTransformer", 1),
            Self::Patches(patches) => ("PatchTransformer", patches.len()),
            Self::Namespace(_) => ("NamespaceTransformer", 1),
            Self::Prefix(_) => ("PrefixTransformer", 1),
            Self::Suffix(_) => ("SuffixTransformer", 1),
            // It runs for `commonLabels` whenever there are labels of either sort.
            Self::CommonLabels => ("LabelTransformer", k.labels.len() + 1),
            Self::CommonAnnotations => ("AnnotationsTransformer", 1),
            Self::Json6902(patches) => ("PatchJson6902Transformer", patches.len()),
            Self::Replicas(replicas) => ("ReplicaCountTransformer", replicas.len()),
            Self::Images(images) => ("ImageTagTransformer", images.len()),
            Self::Replacements(_) => ("ReplacementTransformer", 1),
            _ => return None,
        })
    }
}

/// The steps of a kustomization.
#[must_use]
pub fn plan(k: &Kustomization) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = k.resources.iter().map(Step::Resource).collect();
    steps.extend([Step::Configurations, Step::Crds]);
    steps.extend(k.config_map_generator.iter().map(Step::ConfigMap));
    steps.extend(k.secret_generator.iter().map(Step::Secret));
    steps.extend(k.helm_charts.iter().map(Step::HelmChart));
    if !k.generators.is_empty() {
        steps.push(Step::Generators);
    }
    steps.extend(k.components.iter().map(Step::Component));
    if !k.patches_strategic_merge.is_empty() {
        steps.push(Step::StrategicMerge);
    }
    steps.extend(some(&k.patches).map(Step::Patches));
    let given = |s: &&Spanned<String>| !s.is_empty();
    steps.extend(Some(&k.namespace).filter(given).map(Step::Namespace));
    steps.extend(Some(&k.name_prefix).filter(given).map(Step::Prefix));
    steps.extend(Some(&k.name_suffix).filter(given).map(Step::Suffix));
    steps.extend(k.labels.iter().map(Step::Label));
    if !k.common_labels.is_empty() || !k.labels.is_empty() {
        steps.push(Step::CommonLabels);
    }
    if !k.common_annotations.is_empty() {
        steps.push(Step::CommonAnnotations);
    }
    steps.extend(some(&k.patches_json6902).map(Step::Json6902));
    steps.extend(some(&k.replicas).map(Step::Replicas));
    steps.extend(some(&k.images).map(Step::Images));
    if !k.replacements.is_empty() {
        steps.push(Step::Replacements(&k.replacements));
    }
    if !k.transformers.is_empty() {
        steps.push(Step::Transformers);
    }
    if !k.validators.is_empty() {
        steps.push(Step::Validators);
    }
    steps.push(Step::Vars);
    steps
}

/// A list, if it has any entries.
fn some<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(path) => write!(f, "load {}", path.value),
            Self::Configurations => write!(f, "read configurations"),
            Self::Crds => write!(f, "read crds"),
            Self::ConfigMap(args) => write!(f, "make ConfigMap {}", args.name.value),
            Self::Secret(args) => write!(f, "make Secret {}", args.name.value),
            Self::HelmChart(chart) => write!(f, "render helm chart {}", chart.name),
            Self::Generators => write!(f, "run generators"),
            Self::Component(path) => write!(f, "apply component {}", path.value),
            Self::StrategicMerge => write!(f, "apply patchesStrategicMerge"),
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
            Self::Transformers => write!(f, "run transformers"),
            Self::Validators => write!(f, "run validators"),
            Self::Vars => write!(f, "remember vars"),
        }
    }
}
