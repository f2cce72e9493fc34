//! Packages of manifests: directories, or single files, that are merged or patched in their own texts.
//!
//! Owns which manifests belong together and what becomes of each file, of those that are no manifests, too.
//! Merging and patching manifests is done elsewhere; must not know how
//! kustomizations are built, nor clusters.

mod change;
mod conflict;
mod field_conflicts;
mod fields;
mod forbidden;
mod lines;
mod loaded;
mod lost;
mod manifest;
mod markers;
mod merge2;
mod merge3;
mod origins;
mod others;
mod pairing;
mod patch;
mod plain;
mod plan;
mod read;
mod references;
mod removals;
mod secret;
mod selection;
mod untouched;

pub use change::{
    ChangeKind, ChangedFile, ChangedPackage, FileContent, FileRole, PackageChange, recover_target,
    write_copy, write_files,
};
pub use conflict::{ConflictPlace, ConflictWriting, PackageConflict};
pub use forbidden::wrong_types;
pub use lines::MarkerWords;
pub use merge2::merge2_packages;
pub use merge3::{PackageMerge3, merge3_packages};
pub use origins::{ChangeOrigin, OriginKeeping, OriginSide};
pub use others::{PlainMerge, merge3_plain};
pub use patch::{CustomKinds, PackagePatchOptions, Patches, patch_package};
pub use read::{OtherFile, Package, PackageFile};
pub use selection::ManifestSelection;

#[cfg(test)]
mod tests;
