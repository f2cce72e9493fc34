//! Packages of manifests: directories, or single files, that are merged or patched in their own texts.
//!
//! Owns which manifests belong together and what becomes of each file. Merging and patching themselves are
//! done elsewhere; must not know kustomizations or clusters.

mod change;
mod manifest;
mod matching;
mod merge;
mod patch;
mod plan;
mod read;

pub use change::{ChangeKind, ChangedFile, ChangedPackage, ManifestChange, recover_target, write_files};
pub use merge::{merge2_packages, merge3_packages};
pub use patch::{PatchKind, Patches, patch_package};
pub use read::{Package, PackageFile};

#[cfg(test)]
mod tests;
