//! `kubectl smp merge3 --git-driver`: a merge driver for git.
//!
//! git passes three temporary files and the path of the merged file, and reads the result from the
//! second file. The exit status is 0 for a clean merge, 1 to 128 for a merge with conflicts, and
//! 129 or more for a failed merge.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::package::resolve_schema;
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, replace_file};
use smp_merge::merge::MergeOptions;
use smp_overlay::package::{
    ConflictOutput, FileContent, MarkerLabels, OriginRecording, Package, PackageConflict, PackageMerge3,
    PlainMerge, merge3_plain,
};
use smp_text::diagnostic::{Result, Severity, WithWarnings};
use smp_text::diagnostic::{counted, read_error};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::decode;

/// The exit status of a failed merge.
const MERGE_FAILED: u8 = 129;

/// The exit status of an invalid command line.
const INVALID_USAGE: u8 = 2;

/// The options of the driver.
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

/// The merged file.
struct DriverResult {
    content: Vec<u8>,
    conflicts: usize,
}

/// Returns the exit status of a command line. For an invalid command line of the merge driver, it
/// is that of a failed merge, because git would interpret the status of a usage error as a merge
/// with conflicts.
pub(super) fn final_status(words: &[OsString], status: ExitCode) -> ExitCode {
    let is_driver = words.iter().any(|word| word == "--git-driver");
    if is_driver && status == ExitCode::from(INVALID_USAGE) { ExitCode::from(MERGE_FAILED) } else { status }
}

/// Merges the files that git passes, and writes the result to the second one.
///
/// All failures have the exit status of a failed merge. With a lower status, git would record a
/// conflict in a file without conflict markers, and a commit of this file would lose the other
/// version.
pub(super) fn run(names: &[PathBuf], options: &DriverOptions<'_>, sources: &SourceMap) -> Outcome {
    merge_files(names, options, sources).or_else(|failure| {
        super::outcome::report(&failure, sources);
        Ok(ExitCode::from(MERGE_FAILED))
    })
}

fn merge_files(names: &[PathBuf], options: &DriverOptions<'_>, sources: &SourceMap) -> Outcome {
    let [original, current, other, path] = names else {
        return Err(Failure::Usage("--git-driver takes four values: %O %A %B %P".into()));
    };
    let versions =
        DriverVersions { original: read(original)?, current: read(current)?, other: read(other)?, path };
    let result = versions.merge(options, sources);
    if result.content != versions.current {
        replace_file(current, &result.content)?;
    }
    if result.conflicts == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    render::print_conclusion(
        Severity::Warning,
        &format!("{}: {}", path.display(), counted(result.conflicts, "conflict")),
    );
    Ok(ExitCode::FAILURE)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    DiskTree.read(path).map_err(|error| read_error(format_args!("`{}`", path.display()), &error))
}

impl DriverVersions<'_> {
    fn merge(&self, options: &DriverOptions<'_>, sources: &SourceMap) -> DriverResult {
        let trivial_result = if self.other == self.current || self.other == self.original {
            Some(&self.current)
        } else {
            Some(&self.other).filter(|_| self.current == self.original)
        };
        if let Some(content) = trivial_result {
            return DriverResult { content: content.clone(), conflicts: 0 };
        }
        match self.merge_as_manifests(options, sources).transpose() {
            Some(Ok(result)) => return result,
            Some(Err(problem)) => {
                let by_lines = problem.into_warning().note("the file was merged line by line instead");
                render::print(&[by_lines], sources);
            }
            None => {}
        }
        let sides = [&*self.original, &*self.other, &*self.current];
        let PlainMerge { content, conflicts } = merge3_plain(sides, MarkerLabels::GIT);
        DriverResult { content, conflicts }
    }

    /// Merges the files as manifests. Returns `None` if they are not manifests.
    fn merge_as_manifests(
        &self,
        options: &DriverOptions<'_>,
        sources: &SourceMap,
    ) -> Result<Option<DriverResult>> {
        let may_have_manifests =
            matches!(self.path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml" | "json"));
        if !may_have_manifests {
            return Ok(None);
        }
        let package = |content: &[u8], side: &str| {
            let name = format!("{} ({side})", self.path.display());
            Package::from_version(self.path, &name, decode(content.to_vec())?, options.reading, sources)
        };
        let MarkerLabels { original, updated, dest } = MarkerLabels::GIT;
        let original = package(&self.original, original)?;
        let (updated, dest) = (package(&self.other, updated)?, package(&self.current, dest)?);
        let packages = [&updated, &dest, &original];
        if !packages.iter().all(|package| package.has_only_manifests()) {
            return Ok(None);
        }
        // The result of a git merge must not depend on a cluster.
        let schema = SchemaArgs { offline: true, ..options.schema.clone() };
        let WithWarnings { value: schema, warnings } = resolve_schema(&packages, &schema, sources)?;
        // Warnings are printed even under --strict, because git needs a merged file.
        render::print(&warnings, sources);
        let merge = PackageMerge3 {
            original: &original,
            updated: &updated,
            dest: &dest,
            schema: &schema,
            options: options.merge,
            origins: OriginRecording::Disabled,
        };
        let merged = merge.merge_with_markers(MarkerLabels::GIT)?;
        render::print(&merged.warnings, sources);
        let conflicts = merged
            .conflicts
            .iter()
            .map(|conflict: &PackageConflict| conflict.diagnostic(ConflictOutput::Marked));
        render::print(&conflicts.collect::<Vec<_>>(), sources);
        let contents = merged.files.iter().filter_map(|file| file.content.as_ref());
        let content = contents.flat_map(FileContent::as_bytes).copied().collect();
        Ok(Some(DriverResult { content, conflicts: merged.conflicts.len() }))
    }
}
