//! `kubectl smp merge3 --git-driver`: one file, as git asks for it.
//!
//! git gives the names of three temporary files and the path that they stand for, and takes the result from the
//! second one. It goes by the exit status: 0 for a clean merge, up to 128 for one with conflicts, and from 129 on
//! for none at all.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::package::looked_up;
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, replace_file};
use smp_merge::merge::MergeOptions;
use smp_overlay::package::{
    ConflictWriting, FileContent, MarkerWords, OriginKeeping, Package, PackageConflict, PackageMerge3,
    PlainMerge, merge3_plain,
};
use smp_text::diagnostic::{Result, Severity, Warned};
use smp_text::diagnostic::{counted, unreadable};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::decode;

/// What git takes for a driver that could not work at all.
const NOT_WRITTEN: u8 = 129;

/// How the driver merges.
pub(super) struct DriverOptions<'o> {
    pub schema: &'o SchemaArgs,
    pub merge: &'o MergeOptions,
    pub reading: Reading,
}

/// The three versions of a file, and its path in the repository.
struct DriverVersions<'v> {
    original: Vec<u8>,
    current: Vec<u8>,
    other: Vec<u8>,
    path: &'v Path,
}

/// What git shall find.
struct DriverAnswer {
    content: Vec<u8>,
    conflicts: usize,
}

/// Merges the files that git names, into the second one.
pub(super) fn run(names: &[PathBuf], options: &DriverOptions<'_>, sources: &SourceMap) -> Outcome {
    let [original, current, other, path] = names else {
        return Err(Failure::Usage("--git-driver takes four names: %O %A %B %P".into()));
    };
    let current_text = match read(current) {
        Ok(text) => text,
        Err(error) => {
            render::print(&[error], sources);
            return Ok(ExitCode::from(NOT_WRITTEN));
        }
    };
    let versions =
        DriverVersions { original: read(original)?, current: current_text, other: read(other)?, path };
    let answer = versions.merge(options, sources);
    if answer.content != versions.current
        && let Err(error) = replace_file(current, &answer.content)
    {
        render::print(&[error], sources);
        return Ok(ExitCode::from(NOT_WRITTEN));
    }
    if answer.conflicts == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    render::print_plain(
        Severity::Warning,
        &format!("{}: {}", path.display(), counted(answer.conflicts, "conflict")),
    );
    Ok(ExitCode::FAILURE)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    DiskTree.read(path).map_err(|error| unreadable(path.display(), &error))
}

impl DriverVersions<'_> {
    fn merge(&self, options: &DriverOptions<'_>, sources: &SourceMap) -> DriverAnswer {
        let taken = if self.other == self.current || self.other == self.original {
            Some(&self.current)
        } else {
            Some(&self.other).filter(|_| self.current == self.original)
        };
        if let Some(taken) = taken {
            return DriverAnswer { content: taken.clone(), conflicts: 0 };
        }
        match self.manifests(options, sources).transpose() {
            Some(Ok(answer)) => return answer,
            Some(Err(problem)) => {
                let by_lines = problem.into_warning().note("the file is merged by lines");
                render::print(&[by_lines], sources);
            }
            None => {}
        }
        let sides = [&*self.original, &*self.other, &*self.current];
        let PlainMerge { content, conflicts } = merge3_plain(sides, MarkerWords::GIT);
        DriverAnswer { content, conflicts }
    }

    /// The files as manifests; none when they hold none.
    fn manifests(&self, options: &DriverOptions<'_>, sources: &SourceMap) -> Result<Option<DriverAnswer>> {
        let is_yaml = matches!(self.path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml" | "json"));
        if !is_yaml {
            return Ok(None);
        }
        let package = |content: &[u8], whose: &str| {
            let name = format!("{} ({whose})", self.path.display());
            Package::of_version(self.path, &name, decode(content.to_vec())?, options.reading, sources)
        };
        let MarkerWords { original, updated, dest } = MarkerWords::GIT;
        let original = package(&self.original, original)?;
        let (updated, dest) = (package(&self.other, updated)?, package(&self.current, dest)?);
        let packages = [&updated, &dest, &original];
        if !packages.iter().all(|package| package.is_of_manifests()) {
            return Ok(None);
        }
        // What comes of a merge of git must not depend on a cluster.
        let schema = SchemaArgs { offline: true, ..options.schema.clone() };
        let Warned { value: schema, warnings } = looked_up(&packages, &schema, sources)?;
        // git needs a file, whatever there is to say of it.
        render::print(&warnings, sources);
        let merge = PackageMerge3 {
            original: &original,
            updated: &updated,
            dest: &dest,
            schema: &schema,
            options: options.merge,
            origins: OriginKeeping::Dropped,
        };
        let merged = merge.merge_with_markers(MarkerWords::GIT)?;
        render::print(&merged.warnings, sources);
        let told = merged
            .conflicts
            .iter()
            .map(|conflict: &PackageConflict| conflict.diagnostic(ConflictWriting::Marked));
        render::print(&told.collect::<Vec<_>>(), sources);
        let contents = merged.files.iter().filter_map(|file| file.content.as_ref());
        let content = contents.flat_map(FileContent::as_bytes).copied().collect();
        Ok(Some(DriverAnswer { content, conflicts: merged.conflicts.len() }))
    }
}
