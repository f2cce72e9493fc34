//! What the steps of a kustomization are called when a build is asked why.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use crate::cause::{PlaceKeeping, Writer};
use crate::overlay::kustomization::Kustomization;
use crate::overlay::plan::{BuiltinGenerator, BuiltinTransformer};
use crate::source::Span;
use crate::transform::{Patch, Replacement};
use crate::yaml::Spanned;

/// Numbers the entries of the fields of one kustomization in the order in which they are taken.
#[derive(Debug, Default)]
pub(super) struct Writers {
    taken: FxHashMap<&'static str, usize>,
}

impl Writers {
    /// The next entry of a field.
    pub(super) fn next(&mut self, field: &'static str, at: Span) -> Arc<Writer> {
        Arc::new(self.entry(field, at))
    }

    /// The next entry of a field that hands what it makes or changes through a program.
    pub(super) fn program(&mut self, field: &'static str, at: Span) -> Arc<Writer> {
        Arc::new(Writer { places: PlaceKeeping::Lost, ..self.entry(field, at) })
    }

    fn entry(&mut self, field: &'static str, at: Span) -> Writer {
        let number = self.taken.entry(field).or_default();
        let name = format_smolstr!("{field}[{number}]");
        *number += 1;
        Writer::new(name, at)
    }

    /// A generator that fields of the kustomization configure.
    pub(super) fn generator(&mut self, generator: BuiltinGenerator<'_>) -> Arc<Writer> {
        match generator {
            BuiltinGenerator::ConfigMap(args) => self.next("configMapGenerator", args.place()),
            BuiltinGenerator::Secret(args) => self.next("secretGenerator", args.place()),
            BuiltinGenerator::HelmChart(chart) => self.program("helmCharts", chart.span),
        }
    }

    /// A transformer that fields of the kustomization configure; of several entries, each where it writes.
    pub(super) fn transformer(
        &mut self,
        transformer: BuiltinTransformer<'_>,
        k: &Kustomization,
    ) -> Arc<Writer> {
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

/// A transformer of several entries, each with the places that it may give to what it writes.
fn of_entries(field: &'static str, places: impl Iterator<Item = Vec<Span>>) -> Arc<Writer> {
    let mut entries: Vec<(Span, SmolStr)> = places
        .enumerate()
        .flat_map(|(i, places)| places.into_iter().map(move |span| (span, format_smolstr!("{field}[{i}]"))))
        .filter(|(span, _)| !span.is_none())
        .collect();
    entries.sort_by_key(|(span, _)| (span.source, span.start));
    let at = entries.first().map(|(span, _)| *span).unwrap_or_default();
    Arc::new(Writer { entries, ..Writer::new(field, at) })
}
