//! Reads and updates baselines: that of `--baseline`, or those in the configurations of targets.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::super::disk::record_access;
use super::super::{Failure, render};
use smp_files::{DiskTree, FileTree as _, Located, replace_file};
use smp_inspect::check::{
    Baseline, BaselineHome, Baselines, CheckReport, Conclusion, ConfiguredBaseline, TargetFindings,
};
use smp_text::diagnostic::{Code, Diagnostic, Result, Severity, read_error};

/// The baselines of a run.
pub(in crate::cli) struct KnownFindings<'a> {
    /// The baseline of `--baseline`. It applies to all targets.
    named: Option<(&'a Path, Baseline)>,
    is_updated: bool,
}

/// The baseline in the configuration of each target.
pub(in crate::cli) type TargetBaselines = FxHashMap<PathBuf, ConfiguredBaseline>;

impl<'a> KnownFindings<'a> {
    /// Reads the baseline of `--baseline`. With `--update-baseline`, the file must be a baseline or
    /// empty, or not exist.
    pub(in crate::cli) fn new(
        file: Option<&'a Path>,
        is_updated: bool,
    ) -> std::result::Result<Self, Failure> {
        let read = |file| {
            let baseline =
                if is_updated { check_replaceable(file).map(|()| Baseline::default()) } else { read(file) };
            baseline.map(|baseline| (file, baseline))
        };
        let named = file.map(read).transpose().map_err(Failure::UsageAt)?;
        Ok(Self { named, is_updated })
    }

    /// Returns the baselines of targets, and the locations of their configuration entries.
    ///
    /// # Errors
    /// A baseline in a configuration cannot be read, or there is no baseline to update.
    pub(in crate::cli) fn resolve(&self, found: &[TargetFindings]) -> Result<(TargetBaselines, Baselines)> {
        if let Some((_, baseline)) = &self.named {
            let read =
                if self.is_updated { Baselines::default() } else { Baselines::common(baseline.clone()) };
            return Ok((TargetBaselines::default(), read));
        }
        let named = |one: &TargetFindings| Some((one.target.clone(), one.configured_baseline()?.clone()));
        let files: TargetBaselines = found.iter().filter_map(named).collect();
        if self.is_updated && files.is_empty() {
            let message = "there is no baseline to update";
            return Err(Diagnostic::error(Code::MissingField, message)
                .help("pass `--baseline FILE`, or set `check.baseline` in .smp.yaml"));
        }
        let mut read_ones = Baselines::default();
        for configured in files.values() {
            check_links(configured)?;
            if self.is_updated {
                check_replaceable(&configured.file).map_err(|error| error.at(configured.at))?;
            } else {
                let baseline = read(&configured.file).map_err(|error| error.at(configured.at))?;
                read_ones.insert(configured.file.clone(), baseline);
            }
        }
        Ok((files, read_ones))
    }

    /// Moves the findings of a report to their baselines, and writes the baselines.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn update(
        &self,
        files: &TargetBaselines,
        report: &mut CheckReport,
        conclusion: &Conclusion<'_>,
    ) -> Result<()> {
        if !report.failed.is_empty() {
            let message = "the baseline was not updated, because not all targets build";
            render::print_conclusion(Severity::Warning, message);
            return Ok(());
        }
        if let Some((file, _)) = &self.named {
            return write(file, report, conclusion, |_| true);
        }
        let mut written: Vec<&Path> = files.values().map(|configured| configured.file.as_path()).collect();
        written.sort_unstable();
        written.dedup();
        written.into_iter().try_for_each(|file| {
            write(file, report, conclusion, |finding| {
                let configured_file = finding.target_path().and_then(|target| files.get(target));
                configured_file.is_some_and(|configured| configured.file == file)
            })
        })
    }
}

/// Reads a baseline.
fn read(file: &Path) -> Result<Baseline> {
    record_access(file);
    let shown = file.display();
    if !DiskTree.contains(file) {
        return Err(Diagnostic::error(Code::Io, format!("the baseline {shown} does not exist"))
            .help("create it with `--update-baseline`, or correct the path"));
    }
    let text =
        DiskTree.read_text(file).map_err(|error| read_error(format_args!("`{}`", file.display()), &error))?;
    Baseline::parse(&text, BaselineHome::new(&DiskTree, file))
        .map_err(|error| error.note(format!("in {shown}")))
}

/// Checks that an update only overwrites a baseline.
fn check_replaceable(file: &Path) -> Result<()> {
    if !DiskTree.contains(file) || DiskTree.read_text(file).is_ok_and(|text| text.trim().is_empty()) {
        return Ok(());
    }
    let explain = |error: Diagnostic| error.help("name another file for the baseline, or delete this one");
    read(file).map(drop).map_err(explain)
}

/// Moves the findings that match a predicate to a baseline file.
fn write(
    file: &Path,
    report: &mut CheckReport,
    conclusion: &Conclusion<'_>,
    is_of_file: impl Fn(&Diagnostic) -> bool,
) -> Result<()> {
    if DiskTree.is_link(file) && !DiskTree.contains(file) {
        let message = format!("the baseline {} is a symlink to a file that does not exist", file.display());
        return Err(Diagnostic::error(Code::Io, message).help("remove the symlink, or create its target"));
    }
    let known = report.take(is_of_file);
    let findings = known.iter().map(|finding| (finding, conclusion.location(finding)));
    let written = Baseline::from_findings(findings, BaselineHome::new(&DiskTree, file));
    replace_file(file, written.to_json().as_bytes())?;
    report.in_baseline += written.len();
    Ok(())
}

/// Rejects the baseline of a configuration if its path contains a symlink, since the configuration
/// may be untrusted.
fn check_links(configured: &ConfiguredBaseline) -> Result<()> {
    let real = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        DiskTree.locate(Path::new(""), path).map(Located::into_path)
    };
    let below = configured.file.strip_prefix(&configured.directory).unwrap_or(&configured.file);
    let above = below.parent().unwrap_or(Path::new(""));
    // A missing directory is reported when the file is read or written.
    let is_direct = match (real(&configured.directory), real(&configured.directory.join(above))) {
        (Ok(directory), Ok(parent)) => parent == directory.join(above),
        _ => true,
    };
    if is_direct && !DiskTree.is_link(&configured.file) {
        return Ok(());
    }
    let message = format!("the baseline {} is behind a symlink", configured.file.display());
    Err(Diagnostic::error(Code::Io, message)
        .at(configured.at)
        .help("name the file itself, or pass it as `--baseline FILE`"))
}
