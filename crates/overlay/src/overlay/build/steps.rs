//! Executes the steps for built-in fields of a kustomization. Each calls one function of `transform`.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::context::StepContext;
use super::plugins;
use super::writers::Writers;
use crate::overlay::generator_files::Secrecy;
use crate::overlay::helm::HelmChart;
use crate::overlay::origin::OriginTracker;
use crate::overlay::outline::OutlinePartKind;
use crate::overlay::plan::{BuiltinGenerator, BuiltinTransformer};
use crate::overlay::root::Root;
use crate::resource::{Resource, ResourceSet};
use crate::transform::{
    self, AfterEntry, GeneratorArgs, Namespace, Replacement, TransformerConfig, Var, VarSet,
};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::yaml::{self, Node, ParseOptions, Spanned};

/// Adds the field specs in `configurations` and the default ones.
pub(super) fn read_configurations(
    context: &StepContext<'_>,
    config: &TransformerConfig,
    writers: &mut Writers,
) -> Result<TransformerConfig> {
    let options = yaml::DecodeOptions::transformer_config();
    let read = |path| yaml::from_node_with(&document(context.root, path)?, options);
    writers.add_files(OutlinePartKind::Configuration, &context.kustomization.configurations);
    let own: Vec<TransformerConfig> =
        context.kustomization.configurations.iter().map(read).collect::<Result<_>>()?;
    config.merge(&TransformerConfig::with_configurations(own)?)
}

/// Adds the field specs derived from the definitions in `crds`.
pub(super) fn read_crds(
    context: &StepContext<'_>,
    config: &TransformerConfig,
    writers: &mut Writers,
) -> Result<TransformerConfig> {
    writers.add_files(OutlinePartKind::Crd, &context.kustomization.crds);
    context.kustomization.crds.iter().try_fold(config.clone(), |config, path| {
        let crds =
            transform::config_from_crds(&document(context.root, path)?).map_err(|d| d.at(path.span))?;
        config.merge(&crds)
    })
}

/// Records the `vars`, and the resources that they take their values from.
pub(super) fn record_vars(
    vars: &[Var],
    resources: &mut ResourceSet,
    known: &mut VarSet,
    writers: &mut Writers,
) -> Result<()> {
    for var in vars {
        transform::bind_vars(resources, std::slice::from_ref(var))?;
        let writer = writers.next("vars", var.name.span);
        writers.add_step(OutlinePartKind::Var, &writer, || var.name.value.clone());
        resources.record(&writer);
    }
    known.extend(vars.iter().cloned())
}

fn document(root: &Root, path: &Spanned<String>) -> Result<Node> {
    let source = root.text(path, path.span)?;
    yaml::parse_one(root.reader().sources(), source, ParseOptions::default())
}

/// Runs a generator and adds its resources. Returns the warnings.
pub(super) fn generate(
    context: &StepContext<'_>,
    generator: BuiltinGenerator<'_>,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let global = context.kustomization.generator_options.as_ref();
    let mut warnings = Vec::new();
    let (kind, generated) = match generator {
        BuiltinGenerator::ConfigMap(args) => {
            let generated =
                transform::config_map(args, global, &context.data_files(Secrecy::Open), context.schema)?;
            ("ConfigMapGenerator", vec![generated.into_value(&mut warnings)])
        }
        BuiltinGenerator::Secret(args) => {
            let generated =
                transform::secret(args, global, &context.data_files(Secrecy::Secret), context.schema)?;
            ("SecretGenerator", vec![generated.into_value(&mut warnings)])
        }
        BuiltinGenerator::HelmChart(chart) => ("HelmChartInflationGenerator", inflate(context, chart)?),
    };
    if let BuiltinGenerator::ConfigMap(args) | BuiltinGenerator::Secret(args) = generator {
        count_repeated(context, args, &generated, resources)?;
    }
    let writer = writers.generator(generator, &plugins::templates(context, &generated));
    plugins::absorb(context, generated, context.tracker.builtin_origin(kind).as_ref(), resources)?;
    resources.record(&writer);
    Ok(warnings)
}

/// The size in bytes from which repeated files are counted.
const MIN_COUNTED_BYTES: usize = 1 << 16;

/// Counts data generated from a file that was already used by this generator or one before it.
fn count_repeated(
    context: &StepContext<'_>,
    args: &GeneratorArgs,
    generated: &[Resource],
    resources: &mut ResourceSet,
) -> Result<()> {
    let bytes: usize = generated.iter().map(|resource| resource.node().size().bytes).sum();
    if bytes < MIN_COUNTED_BYTES {
        return Ok(());
    }
    let k = context.kustomization;
    let all = k.config_map_generator.iter().chain(&k.secret_generator);
    let above = all.take_while(|other| !std::ptr::eq(*other, args)).flat_map(GeneratorArgs::file_paths);
    let own: Vec<_> = args.file_paths().map(|file| file.value).collect();
    let distinct: FxHashSet<&str> = own.iter().map(String::as_str).collect();
    let is_repeated =
        distinct.len() < own.len() || above.into_iter().any(|file| distinct.contains(file.as_str()));
    resources.count_copies(bytes, usize::from(is_repeated))
}

fn inflate(context: &StepContext<'_>, chart: &Spanned<HelmChart>) -> Result<Vec<Resource>> {
    let mut chart = chart.clone();
    if chart.namespace.is_empty() {
        // Charts in bases get the namespace of the kustomization that uses them.
        chart.namespace = context.namespace.to_string();
    }
    let globals = context.kustomization.helm_globals.clone().unwrap_or_default();
    plugins::inflate(context, &chart, &globals)
}

/// Runs a transformer, and records it in the resources if `buildMetadata` requests that. Returns the warnings.
pub(super) fn transform(
    context: &StepContext<'_>,
    transformer: BuiltinTransformer<'_>,
    resources: &mut ResourceSet,
    config: &TransformerConfig,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    if !context.tracker.is_active() {
        return apply_recorded(context, transformer, resources, config, writers);
    }
    let mut warnings = Vec::new();
    // Each entry is a transformer of its own, and is recorded before the next one runs.
    for part in transformer.parts() {
        warnings.extend(apply_recorded(context, part, resources, config, writers)?);
        if let Some((kind, times)) = part.kind(context.kustomization) {
            OriginTracker::record_transformer(
                resources,
                context.tracker.builtin_origin(kind).as_ref(),
                times,
            );
        }
    }
    Ok(warnings)
}

/// Runs a transformer. If histories are kept, records the changes of each entry.
fn apply_recorded(
    context: &StepContext<'_>,
    transformer: BuiltinTransformer<'_>,
    resources: &mut ResourceSet,
    config: &TransformerConfig,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    if !context.build.keeps_histories() {
        return apply(context, transformer, resources, config, &mut |_, _| {});
    }
    let entries = transformer.entries();
    apply(context, transformer, resources, config, &mut |resources, i| {
        if let Some(entry) = entries.get(i) {
            resources.record(&writers.transformer(*entry, context.kustomization));
        }
    })
}

fn apply(
    context: &StepContext<'_>,
    transformer: BuiltinTransformer<'_>,
    set: &mut ResourceSet,
    config: &TransformerConfig,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    use BuiltinTransformer as T;
    let (k, schema, patches) = (context.kustomization, context.schema, context.patch_context());
    let mut warnings = Vec::new();
    match transformer {
        T::StrategicMerge(all) => return transform::patches_strategic_merge(set, all, &patches, after),
        T::Patches(all) => return transform::patches_by_entry(set, all, &patches, after),
        T::Json6902(all) => return transform::patches_json6902(set, all, &patches, after),
        T::Replacements(all) => {
            let load = |entry| transform::load_replacements(entry, context.root, patches.sources);
            let loaded: Vec<Vec<Replacement>> = all.chunks(1).map(load).collect::<Result<_>>()?;
            let entries = loaded.iter().map(Vec::as_slice);
            return transform::replacements_by_entry(set, entries, schema, patches.sources, after);
        }
        T::Namespace(name) => {
            let namespace = Spanned::new(SmolStr::new(name.as_str()), name.span);
            let options = Namespace { namespace, ..Namespace::default() };
            transform::namespace(set, &options, &config.namespace, schema)?;
        }
        T::Prefix(prefix) => transform::name_prefix(set, prefix.text(), &config.name_prefix, schema)?,
        T::Suffix(suffix) => transform::name_suffix(set, suffix.text(), &config.name_suffix, schema)?,
        T::Label(label) => transform::labels(set, &label.pairs, &label.fields(config)?, schema)?,
        T::CommonLabels => transform::labels(set, &k.common_labels, &config.common_labels, schema)?,
        T::CommonAnnotations => {
            transform::annotations(set, &k.common_annotations, &config.common_annotations, schema)?;
        }
        T::Replicas(all) => transform::replicas(set, all, &config.replicas, schema)?,
        T::Images(all) => warnings = transform::images(set, all, &config.images, schema)?,
    }
    after(set, 0);
    Ok(warnings)
}
