//! Merges of a package over another one, manifest by manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;

use super::change::{ChangedPackage, FileRole};
use super::conflict::ConflictKind;
use super::field_conflicts::field_conflicts;
use super::manifest::manifests_but;
use super::others::{PlainPaths, merge2_files};
use super::pairing::{Form, Kinship, Matched, match_manifests};
use super::plan::{NewValue, RewritePlan};
use super::read::{Package, PackageFile};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::{MergeOptions, Merged, merge2};
use crate::schema::Schema;

/// Merges the manifests of `source` over those of `dest`, by the rules of [`merge2`].
///
/// What only dest has is kept, and what only the source has is added to the file of the same path. Of files
/// that hold no YAML the source's are taken.
///
/// # Errors
/// As [`merge2`], with the manifest; and manifests that stand twice in a file.
pub fn merge2_packages(
    source: &Package,
    dest: &Package,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<ChangedPackage> {
    let form = Form::of(&[dest, source]);
    let plain = plain_paths([source, dest], form);
    let is_plain = |file: &PackageFile| plain.contains(form.path(&file.relative));
    let (of_source, of_dest) = (manifests_but(source, is_plain), manifests_but(dest, is_plain));
    let rows = match_manifests([&of_dest, &of_source], form, Kinship::Stranger)?;
    let merge = |[dest, patch]: Matched<2>| {
        let (dest, patch) = (dest.map(|i| &of_dest[i]), &of_source[patch?]);
        let merged = merge2(dest.map(|d| d.node.clone()), patch.node, schema, options);
        Some(merged.map(|merged| (dest, patch, merged)).map_err(|error| error.resource(&patch.key)))
    };
    let merged = rows.into_par_iter().filter_map(merge).collect::<Result<Vec<_>>>()?;
    let mut plan = RewritePlan::new(dest);
    plan.leave_alone(&[dest, source]);
    plan.warn(unread([source, dest]));
    for (dest, patch, Merged { node, warnings, conflicts }) in merged {
        plan.warn(warnings.into_iter().map(|warning| warning.resource(&patch.key)));
        plan.conflict(field_conflicts(ConflictKind::OtherSort, &conflicts, [None, Some(patch), dest]));
        match (dest, node) {
            (Some(dest), Some(merged)) => plan.change(dest, NewValue::of(dest, merged, schema)),
            (Some(dest), None) => plan.remove(dest),
            (None, Some(merged)) => plan.add(source, patch, merged),
            (None, None) => {}
        }
    }
    let mut changed = plan.finish(merge2_files(source, dest, form, &plain))?;
    if form == Form::Directories {
        set_roles(&mut changed, [source, dest]);
    }
    Ok(changed)
}

/// Values, settings and the like are merged as what they are, YAML, and are yet no manifests.
fn set_roles(changed: &mut ChangedPackage, packages: [&Package; 2]) {
    let files = packages.iter().flat_map(|package| package.files());
    let with_manifests: BTreeSet<&Path> =
        files.filter(|file| file.has_manifests()).map(|file| file.relative.as_path()).collect();
    for file in &mut changed.files {
        if !with_manifests.contains(file.relative.as_path()) {
            file.role = FileRole::Other;
        }
    }
}

/// Files that are taken whole: those that cannot be read as YAML on one side, and those that are the same.
fn plain_paths(packages: [&Package; 2], form: Form) -> PlainPaths<'_> {
    let others = packages.iter().flat_map(|package| package.others()).map(|file| file.relative.as_path());
    let [source, dest] = packages;
    let texts: BTreeMap<&Path, &str> =
        dest.files().iter().map(|file| (form.path(&file.relative), &*file.text)).collect();
    let paths = source.files().iter().map(|file| (form.path(&file.relative), file));
    let doubles = paths.filter(|(path, file)| texts.get(path) == Some(&&*file.text) && file.has_doubles());
    others.chain(doubles.map(|(path, _)| path)).collect()
}

/// Says of files that are called YAML and cannot be read that the source's is taken.
fn unread(packages: [&Package; 2]) -> Vec<Diagnostic> {
    let [source, dest] = packages.map(|package| package.others().iter().map(|file| (&file.relative, file)));
    let dest: BTreeMap<_, _> = dest.collect();
    let files = source.chain(dest).collect::<BTreeMap<_, _>>();
    let told = files.into_values().filter_map(|file| {
        let (path, problem) = (file.path.display(), file.problem.as_ref()?);
        let message = format!("{path} is not merged, the source's is taken: {}", problem.message());
        Some(Diagnostic::warning(Code::Syntax, message))
    });
    told.collect()
}
