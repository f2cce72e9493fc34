//! What the steps of a kustomization are called when a build is asked why.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use crate::overlay::kustomization::Kustomization;
use crate::overlay::outline::{OutlinePart, OutlinePartKind};
use crate::overlay::plan::{BuiltinGenerator, BuiltinTransformer};
use crate::overlay::repo_spec::without_secrets;
use crate::overlay::tree::Item;
use crate::transform::{Patch, Replacement, is_path_of_patch};
use smp_merge::cause::{PlaceKeeping, Writer, WriterEntry};
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// An entry of a field that is configured apart, or runs a program.
pub(super) struct ProgramEntry {
    pub field: &'static str,
    /// Where it is asked for.
    pub at: Span,
    /// What is configured: a plugin's configuration, or a chart.
    pub subject: SmolStr,
}

/// A template of a helm chart.
pub(super) struct Template {
    /// The part of helm's output that comes from it.
    pub output: Span,
    /// Its path, the chart first.
    pub name: SmolStr,
}

/// `helmCharts[0] (web/templates/deployment.yaml)`.
fn about(entry: &str, subject: &str) -> SmolStr {
    format_smolstr!("{entry} ({subject})")
}

/// Numbers the entries of the fields of one kustomization in the order in which they are taken.
#[derive(Debug, Default)]
pub(super) struct Writers {
    taken: FxHashMap<&'static str, usize>,
    /// What was taken, for the outline of the target; none where nobody asks for one.
    parts: Option<Vec<OutlinePart>>,
}

impl Writers {
    /// Notes of each entry what part it is.
    pub(super) fn with_parts() -> Self {
        Self { parts: Some(Vec::new()), ..Self::default() }
    }

    /// The parts that were noted since this was asked last.
    pub(super) fn take_parts(&mut self) -> Vec<OutlinePart> {
        self.parts.as_mut().map(mem::take).unwrap_or_default()
    }

    /// Notes a part that no step writes for.
    pub(super) fn note(&mut self, kind: OutlinePartKind, at: Span, name: impl FnOnce() -> SmolStr) {
        if let Some(parts) = &mut self.parts {
            parts.push(OutlinePart::new(kind, &name(), at));
        }
    }

    /// The next entry of `resources`.
    pub(super) fn resource(&mut self, path: &Spanned<String>, item: &Item) -> Arc<Writer> {
        let writer = self.next("resources", path.span);
        if matches!(item, Item::Manifests(_)) {
            self.note_step(OutlinePartKind::Resource, &writer, || without_secrets(path).into());
        }
        writer
    }

    /// Notes files that no step writes for.
    pub(super) fn note_files(&mut self, kind: OutlinePartKind, files: &[Spanned<String>]) {
        for path in files {
            self.note(kind, path.span, || path.as_str().into());
        }
    }

    /// Notes the part that a step is.
    pub(super) fn note_step(
        &mut self,
        kind: OutlinePartKind,
        writer: &Arc<Writer>,
        name: impl FnOnce() -> SmolStr,
    ) {
        if let Some(parts) = &mut self.parts {
            parts.push(OutlinePart::new(kind, &name(), writer.at).by(writer));
        }
    }

    /// The next entry of a field.
    pub(super) fn next(&mut self, field: &'static str, at: Span) -> Arc<Writer> {
        Arc::new(self.entry(field, at))
    }

    /// The next plugin that is built in.
    pub(super) fn plugin(&mut self, plugin: &ProgramEntry) -> Arc<Writer> {
        let entry = self.entry(plugin.field, plugin.at);
        Arc::new(Writer { name: about(&entry.name, &plugin.subject), ..entry })
    }

    /// The next entry that hands what it makes or changes through a program; with the parts of the program's output.
    pub(super) fn program(&mut self, program: &ProgramEntry, templates: &[Template]) -> Arc<Writer> {
        let entry = self.entry(program.field, program.at);
        let part = |template: &Template| WriterEntry {
            place: template.output,
            name: about(&entry.name, &template.name),
            at: program.at,
        };
        let parts = templates.iter().map(part).collect();
        let name = about(&entry.name, &program.subject);
        Arc::new(Writer { places: PlaceKeeping::Lost, ..Writer::of_entries(name, program.at, parts) })
    }

    fn entry(&mut self, field: &'static str, at: Span) -> Writer {
        let number = self.taken.entry(field).or_default();
        let name = format_smolstr!("{field}[{number}]");
        *number += 1;
        Writer::new(name, at)
    }

    /// A generator that fields of the kustomization configure.
    pub(super) fn generator(
        &mut self,
        generator: BuiltinGenerator<'_>,
        templates: &[Template],
    ) -> Arc<Writer> {
        let (kind, name, writer) = match generator {
            BuiltinGenerator::ConfigMap(args) => {
                (OutlinePartKind::Generator, &args.name.value, self.next("configMapGenerator", args.place()))
            }
            BuiltinGenerator::Secret(args) => {
                (OutlinePartKind::Generator, &args.name.value, self.next("secretGenerator", args.place()))
            }
            BuiltinGenerator::HelmChart(chart) => {
                let entry =
                    ProgramEntry { field: "helmCharts", at: chart.span, subject: chart.name.as_str().into() };
                (OutlinePartKind::Chart, &chart.name, self.program(&entry, templates))
            }
        };
        self.note_step(kind, &writer, || name.as_str().into());
        writer
    }

    /// A transformer that fields of the kustomization configure; of several entries, each where it writes.
    pub(super) fn transformer(
        &mut self,
        transformer: BuiltinTransformer<'_>,
        k: &Kustomization,
    ) -> Arc<Writer> {
        let writer = self.step(transformer, k);
        if let Some(parts) = &mut self.parts {
            parts.extend(parts_of(transformer, &writer, k));
        }
        writer
    }

    fn step(&mut self, transformer: BuiltinTransformer<'_>, k: &Kustomization) -> Arc<Writer> {
        use BuiltinTransformer as T;
        let first = |pairs: &BTreeMap<SmolStr, Spanned<SmolStr>>| {
            pairs.values().map(|value| value.span).min_by_key(|span| span.start).unwrap_or_default()
        };
        match transformer {
            T::StrategicMerge(all) => {
                self.next("patchesStrategicMerge", all.first().map(|p| p.span).unwrap_or_default())
            }
            T::Patches(all) => self.next("patches", all.first().map(Patch::place).unwrap_or_default()),
            T::Json6902(all) => {
                self.next("patchesJson6902", all.first().map(Patch::place).unwrap_or_default())
            }
            T::Replacements(all) => {
                self.next("replacements", all.first().map(Replacement::place).unwrap_or_default())
            }
            T::Label(label) => self.next("labels", first(&label.pairs)),
            T::Namespace(name) => Arc::new(Writer::new("namespace", name.span)),
            T::Prefix(prefix) => Arc::new(Writer::new("namePrefix", prefix.span)),
            T::Suffix(suffix) => Arc::new(Writer::new("nameSuffix", suffix.span)),
            T::CommonLabels => Arc::new(Writer::new("commonLabels", first(&k.common_labels))),
            T::CommonAnnotations => Arc::new(Writer::new("commonAnnotations", first(&k.common_annotations))),
            T::Replicas(all) => of_entries("replicas", all.iter().map(|r| vec![r.name.span, r.count.span])),
            T::Images(all) => of_entries("images", all.iter().map(|image| image.places().to_vec())),
        }
    }
}

/// The parts that a transformer is: one, or one for each of its entries.
fn parts_of(
    transformer: BuiltinTransformer<'_>,
    writer: &Arc<Writer>,
    k: &Kustomization,
) -> Vec<OutlinePart> {
    use BuiltinTransformer as T;
    let one = |kind, name: &str| vec![OutlinePart::new(kind, name, writer.at).by(writer)];
    let setting = |value: &str| {
        let part = OutlinePart::new(OutlinePartKind::Transformer, &writer.name, writer.at).by(writer);
        vec![OutlinePart { value: value.into(), ..part }]
    };
    let entry = |i: usize, name: &SmolStr, value: SmolStr, at| {
        let part = OutlinePart::new(OutlinePartKind::Transformer, name, at).by(writer);
        OutlinePart { value, entry: format_smolstr!("{}[{i}]", writer.name), ..part }
    };
    match transformer {
        T::StrategicMerge(all) => {
            let path = all.first().map(|patch| patch.as_str()).filter(|patch| is_path_of_patch(patch));
            one(OutlinePartKind::Patch, path.unwrap_or(&writer.name))
        }
        T::Patches(all) | T::Json6902(all) => {
            let path = all.first().map(|patch| patch.path.as_str()).filter(|path| !path.is_empty());
            one(OutlinePartKind::Patch, path.unwrap_or(&writer.name))
        }
        T::Replacements(all) => {
            let path = all.first().map(|entry| entry.path.as_str()).filter(|path| !path.is_empty());
            one(OutlinePartKind::Transformer, path.unwrap_or(&writer.name))
        }
        // It runs whenever there are labels of either sort.
        T::CommonLabels if k.common_labels.is_empty() => Vec::new(),
        T::Label(_) | T::CommonLabels | T::CommonAnnotations => {
            one(OutlinePartKind::Transformer, &writer.name)
        }
        T::Namespace(text) | T::Prefix(text) | T::Suffix(text) => setting(&text.value),
        T::Replicas(all) => {
            let value = |count: i64| format_smolstr!("{count}");
            let parts = all.iter().enumerate();
            parts.map(|(i, one)| entry(i, &one.name.value, value(one.count.value), one.name.span)).collect()
        }
        T::Images(all) => {
            let parts = all.iter().enumerate();
            parts.map(|(i, one)| entry(i, &one.name.value, SmolStr::default(), one.name.span)).collect()
        }
    }
}

/// A transformer of several entries, each with the places that it may give to what it writes.
fn of_entries(field: &'static str, places: impl Iterator<Item = Vec<Span>>) -> Arc<Writer> {
    let named = |(i, places): (usize, Vec<Span>)| {
        let name = format_smolstr!("{field}[{i}]");
        places.into_iter().map(move |place| WriterEntry { place, name: name.clone(), at: place })
    };
    let writer = Writer::of_entries(field, Span::default(), places.enumerate().flat_map(named).collect());
    let at = writer.entries.first().map(|entry| entry.place).unwrap_or_default();
    Arc::new(Writer { at, ..writer })
}
