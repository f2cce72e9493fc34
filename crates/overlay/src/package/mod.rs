//! Packages: directories or single files of manifests that are merged or patched in place, keeping their layout
//! and comments.
//!
//! Matches the manifests of several packages and determines the new content of each file, including files that hold no
//! manifests. Merging and patching of single manifests is implemented elsewhere. Must not depend on kustomize builds or
//! on clusters.

mod change;
mod conflict;
mod field_conflicts;
mod fields;
mod lines;
mod loaded;
mod lost;
mod manifest;
mod markers;
mod merge2;
mod merge3;
mod origins;
mod other_files;
mod pairing;
mod patch;
mod plain;
mod plan;
mod read;
mod references;
mod removals;
mod schema_violations;
mod secret;
mod selection;
mod unmodified_files;

pub use change::{
    ChangeKind, ChangedFile, ChangedPackage, FileContent, FileRole, PackageChange, recover_target,
    write_copy, write_files,
};
pub use conflict::{ConflictOutput, ConflictVersion, PackageConflict};
pub use lines::MarkerLabels;
pub use merge2::merge2_packages;
pub use merge3::{PackageMerge3, merge3_packages};
pub use origins::{ChangeOrigin, OriginRecording, OriginSide};
pub use other_files::{PlainMerge, merge3_plain};
pub use pairing::similar_manifests;
pub use patch::{CustomKinds, PackagePatchOptions, Patches, patch_package};
pub use read::{OtherFile, Package, PackageFile};
pub use schema_violations::type_warnings;
pub use selection::ManifestSelection;

#[cfg(test)]
mod tests;
