//! Duplicate objects in two files that are applied together.

use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::conclusion::TargetFindings;
use smp_overlay::resource::{ResId, ResourceSet};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::{SourceMap, Span};

/// The objects of a target that consists of plain manifests, with their locations.
#[derive(Debug, Default)]
pub struct PlainObjects {
    objects: Vec<(ResId, Span)>,
}

impl PlainObjects {
    /// Collects the objects of a resource set.
    #[must_use]
    pub fn new(resources: &ResourceSet) -> Self {
        let location = |node: &smp_text::yaml::Node| node.span().at_start();
        Self { objects: resources.iter().map(|own| (own.id().clone(), location(own.node()))).collect() }
    }
}

/// Reports objects that an earlier target in the same directory also defines. `kubectl apply` on the directory applies
/// both files, and the last one takes effect. Files in different directories may be for different clusters.
pub fn report_duplicates(found: &mut [TargetFindings], objects: &[PlainObjects], sources: &SourceMap) {
    let file = |location: Span| Some(sources.get(sources.outermost(location).source)?.name().to_path_buf());
    let mut first: FxHashMap<(PathBuf, &ResId), (usize, PathBuf, Span)> = FxHashMap::default();
    for (i, (of, target)) in found.iter_mut().zip(objects).enumerate() {
        for (id, location) in &target.objects {
            let Some(name) = file(*location) else { continue };
            let directory = name.parent().map(PathBuf::from).unwrap_or_default();
            let known = first.entry((directory, id)).or_insert_with(|| (i, name.clone(), *location));
            // The build already reports duplicates within one target.
            if known.0 == i || known.1 == name {
                continue;
            }
            let message = format!("duplicate resource {id}: another file in this directory also defines it");
            let finding = Diagnostic::error(Code::DuplicateResource, message)
                .label(*location, "second definition")
                .label(known.2, "first definition")
                .resource(id)
                .help("remove one of the two definitions");
            of.add(finding);
        }
    }
}
