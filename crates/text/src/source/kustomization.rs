//! The names of kustomization files.

use std::path::Path;

/// The names of kustomization files.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Returns true if a file has the name of a kustomization file.
#[must_use]
pub fn is_kustomization(path: &Path) -> bool {
    path.file_name().is_some_and(|name| KUSTOMIZATION_FILES.iter().any(|known| name == *known))
}
