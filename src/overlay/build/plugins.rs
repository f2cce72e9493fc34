//! Generators, transformers and validators with configurations of their own.

use std::sync::Arc;

use smol_str::{SmolStr, format_smolstr};

use super::context::Site;
use super::writers::Writers;
use crate::cause::Writer;
use crate::diagnostic::{Code, Diagnostic, Result, Warned};
use crate::overlay::helm::{HelmChart, HelmGlobals};
use crate::overlay::origin::Tracker;
use crate::overlay::outline::OutlinePartKind;
use crate::overlay::plugin;
use crate::resource::{Origin, Resource, ResourceSet, flatten_lists};
use crate::source::Span;
use crate::yaml::Spanned;

/// A label that validators may set; it goes again.
const VALIDATED_BY: &str = "validated-by";

/// Adds what generators make; returns what is odd about it.
pub(super) fn generate(
    site: &Site<'_>,
    generators: &ResourceSet,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    for generator in generators {
        let made = made_by(site, generator)?.note_in(&mut warnings);
        absorb(site, made, site.tracker.plugin(generator).as_ref(), resources)?;
        resources.note(&writer(writers, OutlinePartKind::Generator, generator));
    }
    Ok(warnings)
}

fn made_by(site: &Site<'_>, generator: &Resource) -> Result<Warned<Vec<Resource>>> {
    if !plugin::is_builtin(generator) {
        return site.run.functions.generate(generator, site.functions());
    }
    if generator.id().gvk.kind == "HelmChartInflationGenerator" {
        let (chart, globals) = plugin::helm_chart(generator)?;
        return inflate(site, &chart, &globals).map(Warned::from);
    }
    plugin::generate(generator, &site.plugins()).map(|made| made.map(|one| vec![one]))
}

/// The resources of a helm chart.
pub(super) fn inflate(
    site: &Site<'_>,
    chart: &Spanned<HelmChart>,
    globals: &HelmGlobals,
) -> Result<Vec<Resource>> {
    let nodes = flatten_lists(site.run.helm.inflate(chart, globals, site.chart(chart.span))?)?;
    let resource = |node| {
        let mut resource = Resource::new(node, site.schema)?;
        resource.from_helm = true;
        Ok(resource)
    };
    nodes.into_iter().map(resource).collect()
}

/// Adds what a generator made, with a note on the generator where there is none.
pub(super) fn absorb(
    site: &Site<'_>,
    made: Vec<Resource>,
    origin: Option<&Origin>,
    resources: &mut ResourceSet,
) -> Result<()> {
    for mut resource in made {
        resource.origin = resource.origin.or_else(|| origin.cloned());
        resources.absorb(resource, site.schema)?;
    }
    Ok(())
}

/// Lets transformers change resources, and notes that they did; returns what is odd about it.
pub(super) fn transform(
    site: &Site<'_>,
    transformers: &ResourceSet,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    for transformer in transformers {
        warnings.extend(transform_by(site, transformer, resources)?);
        Tracker::transformed(resources, site.tracker.plugin(transformer).as_ref(), 1);
        resources.note(&writer(writers, OutlinePartKind::Transformer, transformer));
    }
    Ok(warnings)
}

/// What a plugin is called. Those that are built in write in place, as the fields of a kustomization do.
fn writer(writers: &mut Writers, kind: OutlinePartKind, plugin: &Resource) -> Arc<Writer> {
    let at = plugin.node().span().at_start();
    let field = if kind == OutlinePartKind::Generator { "generators" } else { "transformers" };
    let (kind, writer) = if plugin::is_builtin(plugin) {
        (kind, writers.next(field, at))
    } else {
        (OutlinePartKind::Function, writers.program(field, at))
    };
    writers.note_step(kind, &writer, || name(plugin));
    writer
}

/// `PrefixTransformer/name`.
fn name(plugin: &Resource) -> SmolStr {
    let id = plugin.id();
    format_smolstr!("{}/{}", id.gvk.kind, id.name)
}

fn transform_by(
    site: &Site<'_>,
    transformer: &Resource,
    resources: &mut ResourceSet,
) -> Result<Vec<Diagnostic>> {
    let warnings = if plugin::is_builtin(transformer) {
        plugin::transform(transformer, resources, &site.plugins())?
    } else {
        site.run.functions.transform(transformer, resources, site.functions())?
    };
    resources.sync(site.schema);
    Ok(warnings)
}

/// Runs validators, which are transformers that must not change anything.
///
/// # Errors
/// As [`transform`], and when one changes something.
pub(super) fn validate(
    site: &Site<'_>,
    validators: &ResourceSet,
    resources: &mut ResourceSet,
    writers: &mut Writers,
) -> Result<Vec<Diagnostic>> {
    let before = resources.clone();
    let mut warnings = Vec::new();
    for validator in validators {
        writers.note(OutlinePartKind::Validator, validator.node().span().at_start(), || name(validator));
        warnings.extend(transform_by(site, validator, resources)?);
    }
    resources.resources_mut().iter_mut().for_each(remove_label_of_validators);
    let same = before.len() == resources.len()
        && before.iter().zip(resources.iter()).all(|(a, b)| a.node() == b.node());
    if same {
        return Ok(warnings);
    }
    let at = site.kustomization.validators.first().map_or(Span::default(), |v| v.span);
    Err(Diagnostic::error(Code::InvalidValue, "a validator changed resources, which it must not")
        .at(at)
        .help("list it under `transformers:` if it shall change them"))
}

fn remove_label_of_validators(resource: &mut Resource) {
    if resource.labels().any(|(key, _)| key == VALIDATED_BY) {
        let others: Vec<(String, String)> = resource
            .labels()
            .filter(|(key, _)| *key != VALIDATED_BY)
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        resource.set_strings("labels", others.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    }
}
