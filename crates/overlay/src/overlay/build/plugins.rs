//! Runs generators, transformers and validators with their own configuration.

use std::sync::Arc;

use smol_str::{SmolStr, format_smolstr};

use super::context::StepContext;
use super::writers::{ProgramEntry, Template, Writers};
use crate::overlay::helm::{HelmChart, HelmGlobals, split_templates};
use crate::overlay::origin::OriginTracker;
use crate::overlay::outline::OutlinePartKind;
use crate::overlay::plugin;
use crate::resource::{Origin, Resource, ResourceSet, flatten_lists};
use smp_merge::cause::Writer;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The label that validators may set. It is removed again.
const VALIDATED_BY: &str = "validated-by";

/// Runs generators and adds their resources. Returns the warnings.
pub(super) fn generate(
    context: &StepContext<'_>,
    generators: &ResourceSet,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    for generator in generators {
        let generated = run_generator(context, generator)?.into_value(&mut warnings);
        let templates = templates(context, &generated);
        absorb(context, generated, context.tracker.plugin_origin(generator).as_ref(), resources)?;
        resources.record(&writer(writers, OutlinePartKind::Generator, generator, &templates));
    }
    Ok(warnings)
}

fn run_generator(context: &StepContext<'_>, generator: &Resource) -> Result<WithWarnings<Vec<Resource>>> {
    if !plugin::is_builtin(generator) {
        return context.build.functions.generate(generator, context.function_context());
    }
    if generator.id().gvk.kind == "HelmChartInflationGenerator" {
        let (chart, globals) = plugin::helm_chart(generator)?;
        return inflate(context, &chart, &globals).map(WithWarnings::from);
    }
    plugin::generate(generator, &context.plugin_context()).map(|generated| generated.map(|one| vec![one]))
}

/// Returns the templates of a chart that produced resources, if histories are kept and the resources come from
/// helm.
pub(super) fn templates(context: &StepContext<'_>, generated: &[Resource]) -> Vec<Template> {
    let Some(first) = generated.first().filter(|first| first.from_helm && context.build.keeps_histories())
    else {
        return Vec::new();
    };
    let id = first.node().span().source;
    let text = context.root.reader().sources().get(id).map(|source| Arc::clone(source.text()));
    let named = text.iter().flat_map(|text| split_templates(text));
    named
        .map(|(range, name)| Template { output: Span::new(id, range.start, range.end), name: name.into() })
        .collect()
}

/// Returns the resources of a helm chart.
pub(super) fn inflate(
    context: &StepContext<'_>,
    chart: &Spanned<HelmChart>,
    globals: &HelmGlobals,
) -> Result<Vec<Resource>> {
    let nodes =
        flatten_lists(context.build.helm.inflate(chart, globals, context.chart_context(chart.span))?)?;
    let resource = |node| {
        let mut resource = Resource::new(node, context.schema)?;
        resource.from_helm = true;
        Ok(resource)
    };
    nodes.into_iter().map(resource).collect()
}

/// Adds generated resources. Those without an origin get that of the generator.
pub(super) fn absorb(
    context: &StepContext<'_>,
    generated: Vec<Resource>,
    origin: Option<&Origin>,
    resources: &mut ResourceSet,
) -> Result<()> {
    for mut resource in generated {
        resource.origin = resource.origin.or_else(|| origin.cloned().map(Box::new));
        resources.absorb(resource, context.schema)?;
    }
    Ok(())
}

/// Runs transformers on resources and records them as transformations. Returns the warnings.
pub(super) fn transform(
    context: &StepContext<'_>,
    transformers: &ResourceSet,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    for transformer in transformers {
        warnings.extend(run_transformer(context, transformer, resources)?);
        OriginTracker::record_transformer(resources, context.tracker.plugin_origin(transformer).as_ref(), 1);
        resources.record(&writer(writers, OutlinePartKind::Transformer, transformer, &[]));
    }
    Ok(warnings)
}

/// Returns the writer of a plugin. Built-in plugins keep the locations of values, like the fields of a
/// kustomization. Charts are the exception: their values are attributed to templates.
fn writer(
    writers: &mut Writers,
    kind: OutlinePartKind,
    plugin: &Resource,
    templates: &[Template],
) -> Arc<Writer> {
    let entry = ProgramEntry {
        field: if kind == OutlinePartKind::Generator { "generators" } else { "transformers" },
        at: plugin.node().span().at_start(),
        subject: name(plugin),
    };
    let (kind, writer) = match plugin::is_builtin(plugin) {
        true if plugin.id().gvk.kind == "HelmChartInflationGenerator" => {
            (OutlinePartKind::Chart, writers.program(&entry, templates))
        }
        true => (kind, writers.plugin(&entry)),
        false => (OutlinePartKind::Function, writers.program(&entry, templates)),
    };
    writers.add_step(kind, &writer, || name(plugin));
    writer
}

/// Returns the name of a plugin, such as `PrefixTransformer/name`.
fn name(plugin: &Resource) -> SmolStr {
    let id = plugin.id();
    format_smolstr!("{}/{}", id.gvk.kind, id.name)
}

fn run_transformer(
    context: &StepContext<'_>,
    transformer: &Resource,
    resources: &mut ResourceSet,
) -> Result<Vec<Diagnostic>> {
    let warnings = if plugin::is_builtin(transformer) {
        plugin::transform(transformer, resources, &context.plugin_context())?
    } else {
        context.build.functions.transform(transformer, resources, context.function_context())?
    };
    resources.sync(context.schema);
    Ok(warnings)
}

/// Runs validators, which are transformers that must not change anything.
///
/// # Errors
/// The errors of [`transform`], or a validator changes something.
pub(super) fn validate(
    context: &StepContext<'_>,
    validators: &ResourceSet,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let before = resources.clone();
    let mut warnings = Vec::new();
    for validator in validators {
        writers.add_part(OutlinePartKind::Validator, validator.node().span().at_start(), || name(validator));
        warnings.extend(run_transformer(context, validator, resources)?);
    }
    resources.resources_mut().iter_mut().for_each(remove_validator_label);
    let same = before.len() == resources.len()
        && before.iter().zip(resources.iter()).all(|(a, b)| a.node() == b.node());
    if same {
        return Ok(warnings);
    }
    let at = context.kustomization.validators.first().map_or(Span::default(), |v| v.span);
    Err(Diagnostic::error(Code::InvalidValue, "validator changed resources")
        .at(at)
        .help("validators must not change resources; list it under `transformers` if it should"))
}

fn remove_validator_label(resource: &mut Resource) {
    if resource.labels().any(|(key, _)| key == VALIDATED_BY) {
        let others = resource.located_strings("labels").filter(|(key, _)| key != VALIDATED_BY).collect();
        resource.set_strings("labels", others);
    }
}
