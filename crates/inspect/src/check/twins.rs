//! Objects that stand in two files which are applied together.

use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::conclude::TargetFindings;
use smp_overlay::resource::{ResId, ResourceSet};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::{SourceMap, Span};

/// The objects of a target that is manifests alone, and where they stand.
#[derive(Debug, Default)]
pub struct PlainObjects {
    objects: Vec<(ResId, Span)>,
}

impl PlainObjects {
    /// Those that were read.
    #[must_use]
    pub fn of(resources: &ResourceSet) -> Self {
        let place = |node: &smp_text::yaml::Node| node.span().at_start();
        Self { objects: resources.iter().map(|own| (own.id().clone(), place(own.node()))).collect() }
    }
}

/// Adds to the findings of targets what they have that a target before them has, too: whoever applies a directory
/// applies both files, and the last one wins. Files of several directories may be for several clusters.
pub fn tell_twins(found: &mut [TargetFindings], objects: &[PlainObjects], sources: &SourceMap) {
    let file = |place: Span| Some(sources.get(sources.outermost(place).source)?.name().to_path_buf());
    let mut first: FxHashMap<(PathBuf, &ResId), (usize, PathBuf, Span)> = FxHashMap::default();
    for (i, (of, target)) in found.iter_mut().zip(objects).enumerate() {
        for (id, place) in &target.objects {
            let Some(name) = file(*place) else { continue };
            let directory = name.parent().map(PathBuf::from).unwrap_or_default();
            let known = first.entry((directory, id)).or_insert_with(|| (i, name.clone(), *place));
            // Of one target its own findings tell it.
            if known.0 == i || known.1 == name {
                continue;
            }
            let message = format!("another file of this directory has a resource with the id {id}, too");
            let finding = Diagnostic::error(Code::DuplicateResource, message)
                .label(*place, "the second one")
                .label(known.2, "the first one")
                .resource(id)
                .help("remove one of the two");
            of.add(finding);
        }
    }
}
