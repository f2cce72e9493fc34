//! The files that say what a directory is built of.

use std::path::Path;

/// Names of kustomization files.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a file is a kustomization by its name.
#[must_use]
pub fn is_kustomization(path: &Path) -> bool {
    path.file_name().is_some_and(|name| KUSTOMIZATION_FILES.iter().any(|known| name == *known))
}
