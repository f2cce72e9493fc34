//! Builds of edited kustomizations. They fetch nothing, run nothing and may fail, since an edit
//! does not require them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use smp_files::{DiskTree, EditedTree, FileTree as _};
use smp_overlay::edit::{EditedKustomization, EditedText};
use smp_overlay::overlay::{BuildOptions, Builder, Built};

/// Builds the kustomization of a directory. `texts` replace the content of some files.
pub(super) fn build(directory: &Path, texts: &[(&Path, &str)]) -> Option<Built> {
    let real = |(path, text): &(&Path, &str)| {
        let found = DiskTree.locate(Path::new(""), path).ok()?;
        Some((found.into_path(), (*text).to_string()))
    };
    let texts = texts.iter().map(real).collect::<Option<Vec<(PathBuf, String)>>>()?;
    let options = BuildOptions { restrict_loads: false, offline: true, ..BuildOptions::default() };
    let options = options.tree(Arc::new(EditedTree::new(Arc::new(DiskTree), texts)));
    Builder::new(options).ok()?.build(directory).ok()
}

/// Returns a warning if an edit changes the output of a build that succeeds without it.
pub(super) fn changed_output(directory: &Path, edited: &EditedKustomization) -> Option<String> {
    let before = build(directory, &[])?.to_yaml().ok()?;
    let own = (edited.path.as_path(), edited.after.as_str());
    let others = edited.files.iter().map(|EditedText { path, after, .. }| (path.as_path(), after.as_str()));
    let shown = edited.path.display();
    match build(directory, &std::iter::once(own).chain(others).collect::<Vec<_>>()) {
        None => Some(format!("{shown}: the build fails after this edit")),
        Some(built) if built.to_yaml().ok().as_ref() != Some(&before) => {
            Some(format!("{shown}: the output of the build differs after this edit"))
        }
        Some(_) => None,
    }
}
