//! Baselines: files of known findings, which are not reported again.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::CheckConfig;
use super::registry::current_name;
use smp_files::{FileTree, Located};
use smp_text::diagnostic::{Code, Diagnostic, RenderedLocation, Result};
use smp_text::source::relative_path;

/// Known findings by file and message. Line numbers are left out, since they change.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    known: BTreeMap<KnownFinding, usize>,
    /// Findings about resources in files that no longer exist. Their paths are omitted.
    moved: BTreeMap<KnownFinding, usize>,
    home: BaselineHome,
}

/// The baselines of a run: one for all targets, or one for each baseline file in the configurations of the targets.
#[derive(Debug, Clone, Default)]
pub struct Baselines {
    common: Option<Baseline>,
    configured: BTreeMap<PathBuf, Baseline>,
    /// True if the findings are those of a revision. They include the errors of targets that do not build.
    is_revision: bool,
}

impl Baselines {
    /// Creates baselines with a single baseline for all targets.
    #[must_use]
    pub fn common(baseline: Baseline) -> Self {
        Self { common: Some(baseline), ..Self::default() }
    }

    /// Creates baselines with the findings of a revision, including the errors of targets that do not build.
    #[must_use]
    pub fn revision(baseline: Baseline) -> Self {
        Self { common: Some(baseline), is_revision: true, ..Self::default() }
    }

    pub(super) fn is_revision(&self) -> bool {
        self.is_revision
    }

    /// Adds the baseline of a file that configurations refer to.
    pub fn insert(&mut self, file: PathBuf, baseline: Baseline) {
        self.configured.insert(file, baseline);
    }

    /// Consumes a finding from the baseline that applies to a configuration. Returns false if the baseline does not
    /// contain it.
    pub(super) fn consume(
        &mut self,
        config: &CheckConfig,
        finding: &Diagnostic,
        location: Option<&RenderedLocation>,
    ) -> bool {
        let Self { common, configured, .. } = self;
        let own = config.baseline.as_ref().map(|own| &own.file);
        let known = common.as_mut().or_else(|| own.and_then(|own| configured.get_mut(own)));
        known.is_some_and(|known| known.consume(finding, location))
    }
}

/// The directory to which the paths in a baseline are relative. It is the directory of the baseline file, so that the
/// file can be used from any working directory.
#[derive(Debug, Clone, Default)]
pub struct BaselineHome {
    /// The working directory, to which the paths of findings are relative.
    working_directory: PathBuf,
    directory: PathBuf,
}

impl BaselineHome {
    /// Creates the base directory of a baseline file, which need not exist yet.
    #[must_use]
    pub fn new(tree: &dyn FileTree, file: &Path) -> Self {
        let here = tree.working_directory().unwrap_or_default();
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let located = tree.locate(Path::new(""), parent.unwrap_or(Path::new(".")));
        Self { directory: located.map_or_else(|_| here.clone(), Located::into_path), working_directory: here }
    }

    /// Converts a displayed path to one relative to the baseline file.
    fn relative(&self, shown: &str) -> String {
        if self.working_directory == self.directory || shown.is_empty() || shown.starts_with('<') {
            return shown.into();
        }
        let mut path = PathBuf::new();
        for part in self.working_directory.join(shown).components() {
            match part {
                Component::ParentDir => _ = path.pop(),
                Component::CurDir => {}
                part => path.push(part),
            }
        }
        relative_path(&path, &self.directory).to_string_lossy().into_owned()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct KnownFinding {
    file: String,
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    field: String,
}

#[derive(Serialize, Deserialize)]
struct BaselineFile {
    version: u32,
    findings: Vec<BaselineEntry>,
}

#[derive(Serialize, Deserialize)]
struct BaselineEntry {
    #[serde(flatten)]
    finding: KnownFinding,
    count: usize,
}

/// The version of the file format.
const VERSION: u32 = 1;

impl KnownFinding {
    fn new(finding: &Diagnostic, location: Option<&RenderedLocation>, home: &BaselineHome) -> Self {
        Self {
            file: location.map(|location| home.relative(&location.file)).unwrap_or_default(),
            code: finding.code().name().into(),
            message: finding.message().into(),
            resource: finding.resource_name().unwrap_or_default().into(),
            field: finding.field_path().unwrap_or_default().into(),
        }
    }
}

impl Baseline {
    /// Creates a baseline from the current findings.
    #[must_use]
    pub fn from_findings<'f>(
        findings: impl Iterator<Item = (&'f Diagnostic, Option<RenderedLocation>)>,
        home: BaselineHome,
    ) -> Self {
        let mut known = BTreeMap::new();
        for (finding, location) in findings {
            *known.entry(KnownFinding::new(finding, location.as_ref(), &home)).or_default() += 1;
        }
        Self { known, moved: BTreeMap::new(), home }
    }

    /// Parses a file that [`Baseline::to_json`] wrote.
    ///
    /// # Errors
    /// The text is not a baseline.
    pub fn parse(text: &str, home: BaselineHome) -> Result<Self> {
        let wrong = |what: String| {
            Diagnostic::error(Code::InvalidValue, format!("this is not a baseline file: {what}"))
        };
        let file: BaselineFile = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if file.version != VERSION {
            return Err(wrong(format!("version {} is not supported (expected {VERSION})", file.version)));
        }
        let renamed = |entry: BaselineEntry| {
            let code = current_name(&entry.finding.code).to_string();
            (KnownFinding { code, ..entry.finding }, entry.count)
        };
        let known = file.findings.into_iter().map(renamed).collect();
        Ok(Self { known, moved: BTreeMap::new(), home })
    }

    /// Serializes the baseline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let entry = |(finding, count): (&KnownFinding, &usize)| BaselineEntry {
            finding: finding.clone(),
            count: *count,
        };
        let file = BaselineFile { version: VERSION, findings: self.known.iter().map(entry).collect() };
        // Strings and numbers always serialize.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the number of findings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.values().sum()
    }

    /// Returns true if there are no findings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Consumes one occurrence of a finding. Returns false if there are none left.
    pub fn consume(&mut self, finding: &Diagnostic, location: Option<&RenderedLocation>) -> bool {
        let one = KnownFinding::new(finding, location, &self.home);
        let is_known = take_one(&mut self.known, &one);
        is_known || take_one(&mut self.moved, &KnownFinding { file: String::new(), ..one })
    }

    /// Makes findings about resources of removed files apply to any file, since a file may have been renamed. `exists`
    /// gets paths as findings display them.
    #[must_use]
    pub fn with_renames(mut self, exists: impl Fn(&Path) -> bool) -> Self {
        let is_moved = |one: &KnownFinding| !one.resource.is_empty() && !exists(Path::new(&one.file));
        let (moved, kept): (BTreeMap<_, _>, _) =
            std::mem::take(&mut self.known).into_iter().partition(|(one, _)| is_moved(one));
        self.known = kept;
        for (one, count) in moved {
            *self.moved.entry(KnownFinding { file: String::new(), ..one }).or_default() += count;
        }
        self
    }
}

/// Decrements the number of occurrences of a finding. Returns false if there are none left.
fn take_one(known: &mut BTreeMap<KnownFinding, usize>, finding: &KnownFinding) -> bool {
    match known.get_mut(finding) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::registry::code_by_name;

    #[test]
    fn former_code_in_baseline_matches_renamed_code() {
        let text = r#"{"version": 1, "findings": [
            {"file": "", "code": "yaml-surprise", "message": "m", "count": 1}
        ]}"#;
        let mut baseline = Baseline::parse(text, BaselineHome::default()).expect("valid");
        let code = code_by_name("ambiguous-scalar").expect("a rule");
        let finding = Diagnostic::warning(code, "m");
        assert!(baseline.consume(&finding, None));
        assert!(!baseline.consume(&finding, None), "the count is 1");
    }
}
