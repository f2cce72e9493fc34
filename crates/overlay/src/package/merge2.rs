//! Merges a package over another one, manifest by manifest.

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use super::change::{ChangedPackage, FileRole};
use super::conflict::ConflictKind;
use super::field_conflicts::field_conflicts;
use super::loaded::mark_loaded_secrets;
use super::manifest::manifests_except;
use super::other_files::{MergedFiles, merge2_files};
use super::pairing::{Layout, Matched, Relation, match_manifests};
use super::plain::{replacement_warnings, select_plain_files, symlink_warnings};
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
    mark_loaded_secrets(&[source, dest]);
    let form = Layout::from_packages(&[dest, source]);
    if let ([one], [other]) = (source.files(), dest.files())
        && form == Layout::Files
        && options.rules == MergeRules::Lossless
        && one.text == other.text
    {
        // Identical files need no merge, even with duplicate manifests.
        return RewritePlan::new(dest).finish(MergedFiles::default());
    }
    let plain = select_plain_files(&[source, dest], form, Relation::Unrelated);
    let is_plain = |file: &PackageFile| plain.contains(form.path(&file.relative));
    let (of_source, of_dest) = (manifests_except(source, is_plain), manifests_except(dest, is_plain));
    let matched = match_manifests([&of_dest, &of_source], form, Relation::Unrelated)?;
    let merge = |[dest, patch]: Matched<2>| {
        let (dest, patch) = (dest.map(|i| &of_dest[i]), &of_source[patch?]);
        let kind = patch.implied_kind(schema);
        let merged = merge2_with_kind(dest.map(|d| d.node.clone()), patch.node, kind, schema, options);
        Some(merged.map(|merged| (dest, patch, merged)).map_err(|error| error.resource(patch)))
    };
    let merged = matched.rows.into_par_iter().filter_map(merge).collect::<Result<Vec<_>>>()?;
    let mut plan = RewritePlan::new(dest);
    plan.skip_unread(&[dest, source]);
    plan.add_warnings(symlink_warnings(&plain).into_iter().chain(replacement_warnings([source, dest], form)));
    plan.add_warnings(matched.warnings);
    for (dest, patch, Merged { node, warnings, conflicts }) in merged {
        plan.add_warnings(warnings.into_iter().map(|warning| warning.resource(patch)));
        let versions = [None, Some(patch), dest];
        plan.add_conflicts(field_conflicts(ConflictKind::TypeMismatch, &conflicts, versions));
        match (dest, node) {
            (Some(dest), Some(merged)) => plan.change(dest, NewValue::new(dest, merged, schema)),
            (Some(dest), None) => plan.remove(dest),
            (None, Some(merged)) => plan.add(source, patch, merged),
            (None, None) => {}
        }
    }
    let mut changed = plan.finish(merge2_files(source, dest, form, &plain))?;
    if form == Layout::Directories {
        set_roles(&mut changed, [source, dest]);
    }
    Ok(changed)
}

/// Sets the role `Other` for files without manifests, such as Helm values.
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
