//! Merges a package over another one, manifest by manifest.

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use super::change::{ChangedPackage, FileRole};
use super::conflict::ConflictKind;
use super::field_conflicts::field_conflicts;
use super::loaded::keep_loaded_secrets;
use super::manifest::manifests_but;
use super::others::{MergedFiles, merge2_files};
use super::pairing::{Form, Kinship, Matched, MatchedManifests, match_manifests};
use super::plain::{kept_for_links, plain_paths, replaced_by_source};
use super::plan::{NewValue, RewritePlan};
use super::read::{Package, PackageFile};
use smp_merge::merge::{MergeOptions, MergeRules, Merged, merge2_with_kind};
use smp_merge::schema::Schema;
use smp_text::diagnostic::Result;

/// Merges the manifests of `source` over those of `dest`, by the rules of [`merge2`].
///
/// [`merge2`]: smp_merge::merge::merge2
///
/// Resources that only dest has are kept. Resources that only the source has are added to the file of the same
/// path. Files that are not YAML are taken from the source.
///
/// # Errors
/// Any error of [`merge2`], with the manifest; duplicate manifests in a file.
pub fn merge2_packages(
    source: &Package,
    dest: &Package,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<ChangedPackage> {
    keep_loaded_secrets(&[source, dest]);
    let form = Form::of(&[dest, source]);
    if let ([one], [other]) = (source.files(), dest.files())
        && form == Form::Files
        && options.rules == MergeRules::Lossless
        && one.text == other.text
    {
        // Identical files need no merge, even with duplicate manifests.
        return RewritePlan::new(dest).finish(MergedFiles::default());
    }
    let plain = plain_paths(&[source, dest], form, Kinship::Stranger);
    let is_plain = |file: &PackageFile| plain.contains(form.path(&file.relative));
    let (of_source, of_dest) = (manifests_but(source, is_plain), manifests_but(dest, is_plain));
    let MatchedManifests { rows, warnings: unclear } =
        match_manifests([&of_dest, &of_source], form, Kinship::Stranger)?;
    let merge = |[dest, patch]: Matched<2>| {
        let (dest, patch) = (dest.map(|i| &of_dest[i]), &of_source[patch?]);
        let kind = patch.unsaid_kind(schema);
        let merged = merge2_with_kind(dest.map(|d| d.node.clone()), patch.node, kind, schema, options);
        Some(merged.map(|merged| (dest, patch, merged)).map_err(|error| error.resource(patch)))
    };
    let merged = rows.into_par_iter().filter_map(merge).collect::<Result<Vec<_>>>()?;
    let mut plan = RewritePlan::new(dest);
    plan.leave_alone(&[dest, source]);
    plan.warn(kept_for_links(&plain).into_iter().chain(replaced_by_source([source, dest], form)));
    plan.warn(unclear);
    for (dest, patch, Merged { node, warnings, conflicts }) in merged {
        plan.warn(warnings.into_iter().map(|warning| warning.resource(patch)));
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

/// Files such as Helm values are merged as YAML, but hold no manifests.
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
