//! Overlays of real repositories, and reproducible random numbers.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use smp_files::{DiskTree, FileTree, RecordingTree};
use smp_overlay::overlay::{BuildOptions, Builder, ChainPurpose, Histories, LockSource, Targets};
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};

/// Collects all directories with a kustomization, at any depth.
pub fn kustomizations(directory: &Path, out: &mut Vec<PathBuf>) {
    if KUSTOMIZATION_FILES.iter().any(|name| directory.join(name).is_file()) {
        out.push(directory.to_path_buf());
    }
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut below: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    below.sort();
    let is_directory = |path: &&PathBuf| path.is_dir() && !path.is_symlink();
    below.iter().filter(is_directory).for_each(|path| kustomizations(path, out));
}

/// Returns a builder for overlays of a tree, with histories and without network access.
pub fn builder(tree: Arc<dyn FileTree>, sources: &SourceMap) -> Option<Builder> {
    let mut options = BuildOptions::default().tree(tree);
    options.restrict_loads = false;
    options.offline = true;
    options.cache = Some("/nonexistent".into());
    options.lock = LockSource::Ignore;
    options.histories = Histories::Enabled;
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Auto,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    Builder::with_chain(sources.clone(), options, Box::new(chain), Targets::One).ok()
}

/// Returns the files that the build of a target reads, with their texts. Returns `None` if the build fails or the files
/// are larger than `largest` bytes in total.
pub fn files_read_by_build(target: &Path, largest: usize) -> Option<Vec<(PathBuf, String)>> {
    let tree = Arc::new(RecordingTree::new(Arc::new(DiskTree)));
    builder(tree.clone(), &SourceMap::default())?.build(target).ok()?;
    let read = tree.read_set().files.into_iter();
    let files: Vec<_> =
        read.map(|path| fs::read_to_string(&path).ok().map(|text| (path, text))).collect::<Option<_>>()?;
    let size: usize = files.iter().map(|(_, text)| text.len()).sum();
    (!files.is_empty() && size <= largest).then_some(files)
}

/// Returns an absolute path without `.` and `..`.
pub fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// Reproducible random numbers (xorshift).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }

    /// Returns one of the elements.
    pub fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }
}
