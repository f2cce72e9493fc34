//! Finishes a build: name hashes, name references, vars, removal of local configuration, the final retyping of
//! values as in kustomize, and the order.

use std::sync::Arc;

use super::accumulated::Accumulated;
use rustc_hash::FxHashMap;

use crate::overlay::options::Reorder;
use crate::overlay::origin::OriginTracker;
use crate::resource::{Resource, ResourceSet};
use crate::transform::{self, SortOptions, VarSet};
use smp_merge::cause::{Writer, WriterEntry};
use smp_merge::merge;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Diagnostic, Result, WithWarnings};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{self, Style};

/// Returns the resources ready to print, except for their order.
pub(super) fn finish(
    accumulated: Accumulated,
    schema: &Schema,
    tracker: &OriginTracker,
    sources: &SourceMap,
) -> Result<WithWarnings<ResourceSet>> {
    let Accumulated { mut resources, config, vars } = accumulated;
    transform::name_hashes(&mut resources)?;
    resources.record(&computed("nameHash"));
    transform::name_references(&mut resources, &config.name_reference, schema)?;
    if resources.has_histories() {
        resources.record(&name_references(&resources));
    }
    let vars_writer =
        if resources.has_histories() { Some(variables(&resources, &vars, schema)?) } else { None };
    let unused = transform::resolve_vars(&mut resources, &vars, &config.var_reference, schema, sources)?;
    if let Some(writer) = vars_writer {
        resources.record(&writer);
    }
    resources.remove_where(&["metadata", "annotations", LOCAL], is_local);
    resources.change_each(|resource| {
        clean_annotations(resource);
        Ok(())
    })?;
    tracker.finish(&mut resources);
    resources.change_each(|resource| {
        yaml::apply_round_trip_changes(resource.node_mut());
        Ok(())
    })?;
    resources.record(&computed(if tracker.is_active() { "buildMetadata" } else { "cleanup" }));
    Ok(WithWarnings { value: resources, warnings: unused.into_iter().collect() })
}

/// Returns a warning for each required field that a patch removed and nothing set again. The warning names the
/// first resource without the field.
pub(super) fn missing_required_fields(resources: &ResourceSet) -> Vec<Diagnostic> {
    let mut found: Vec<(Diagnostic, usize)> = Vec::new();
    let mut known: FxHashMap<Option<Span>, usize> = FxHashMap::default();
    for resource in resources {
        for removed in resource.required_removed.iter().filter(|one| one.is_missing_in(resource.node())) {
            let location = removed.warning.labels().first().map(|label| label.span);
            let at = *known.entry(location).or_insert(found.len());
            match found.get_mut(at) {
                Some((_, others)) => *others += 1,
                None => found.push((removed.warning.clone().resource(resource.id()), 0)),
            }
        }
    }
    found.into_iter().map(|(warning, others)| merge::note_other_targets(warning, others)).collect()
}

/// Returns the writer of updated name references: the steps that changed names.
fn name_references(resources: &ResourceSet) -> Arc<Writer> {
    let changes = ["namePrefix", "nameSuffix", "namespace"];
    let writers = resources.writers().iter().filter(|writer| changes.contains(&writer.name.as_str()));
    let entries = writers.map(|writer| entry(writer.location, writer)).collect();
    Arc::new(Writer::with_entries("nameReference", Span::default(), entries))
}

/// Returns the writer of the values of variables. Each is identified by the location that its value comes from.
fn variables(resources: &ResourceSet, vars: &VarSet, schema: &Schema) -> Result<Arc<Writer>> {
    let writers = resources.writers().iter().filter(|writer| writer.name.starts_with("vars["));
    let by_location: FxHashMap<Span, &Arc<Writer>> =
        writers.map(|writer| (writer.location, writer)).collect();
    let locations = transform::var_locations(resources, vars, schema)?.into_iter();
    let entries = locations.filter_map(|(value, var)| Some(entry(value, by_location.get(&var)?))).collect();
    Ok(Arc::new(Writer::with_entries("vars", Span::default(), entries)))
}

fn entry(place: Span, writer: &Writer) -> WriterEntry {
    WriterEntry { location: place, name: writer.name.clone(), at: writer.location }
}

/// Returns the writer of a step that the build itself adds.
fn computed(name: &'static str) -> Arc<Writer> {
    Arc::new(Writer::new(name, Span::default()))
}

/// Sorts resources by the kustomization's `sortOptions`, or else by the order of the command line.
pub(super) fn sort(
    resources: &mut ResourceSet,
    options: Option<&SortOptions>,
    reorder: Option<Reorder>,
) -> Result<()> {
    match (options, reorder) {
        (Some(options), _) => transform::sort(resources, options),
        (None, None | Some(Reorder::Legacy)) => transform::sort(resources, &SortOptions::legacy()),
        (None, Some(Reorder::None)) => transform::sort(resources, &SortOptions::fifo()),
    }
}

/// The annotation of resources that are input for tools only.
const LOCAL: &str = "config.kubernetes.io/local-config";

/// Returns true if a resource is input for tools only.
fn is_local(resource: &Resource) -> bool {
    resource.annotation(LOCAL).is_some_and(|value| value != "false")
}

/// Annotations in which kustomize and kpt keep state during a build. They are never part of the output.
const BUILD_ANNOTATIONS: [&str; 21] = [
    "internal.config.kubernetes.io/previousKinds",
    "internal.config.kubernetes.io/previousNames",
    "internal.config.kubernetes.io/prefixes",
    "internal.config.kubernetes.io/suffixes",
    "internal.config.kubernetes.io/previousNamespaces",
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    "internal.config.kubernetes.io/generatorBehavior",
    "internal.config.kubernetes.io/needsHashSuffix",
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "internal.config.kubernetes.io/helm-generated",
    "config.kubernetes.io/origin",
    "alpha.config.kubernetes.io/transformations",
];

/// Turns all annotations into unfolded strings, and removes an empty `annotations` map, like kustomize.
fn clean_annotations(resource: &mut Resource) {
    let Some(annotations) = resource.node().get_path(&["metadata", "annotations"]) else { return };
    let clean = annotations.as_map().is_some_and(|map| {
        !map.is_empty()
            && map.iter().all(|(key, value)| {
                let as_written = value.as_str().is_some() && value.meta.style != Style::Folded;
                as_written && !BUILD_ANNOTATIONS.contains(&key)
            })
    });
    if clean {
        return;
    }
    let all = resource.located_strings("annotations");
    let kept = all.filter(|(key, _)| !BUILD_ANNOTATIONS.contains(&key.as_str())).collect();
    resource.set_strings("annotations", kept);
}
