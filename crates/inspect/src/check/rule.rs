//! The definition of a lint rule.

use super::changed_object::{ChangedObject, Danger};
use super::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_validate::ValidationRule;

/// A lint rule: what it reports, its documentation, and the function that finds it.
#[derive(Debug)]
pub struct Rule {
    /// The code of its findings.
    pub code: Code,
    /// The title, such as `Image entry matches no image`. For a validation rule it is the meaning of the code. Its full
    /// stop is removed by [`Rule::title`].
    pub title: &'static str,
    /// The group under which the rule is listed.
    pub group: RuleGroup,
    /// The severity of its findings.
    pub severity: Severity,
    /// The default: enabled or disabled.
    pub default: RuleDefault,
    /// The targets that must agree on a finding before it is reported.
    pub scope: RuleScope,
    /// The reason why the mistake matters in production, and the scope of the rule: Markdown.
    pub why: &'static str,
    /// A case in which it is reasonable to suppress a finding of this rule: Markdown. The introduction of the rules
    /// describes the general cases.
    pub suppress: Option<&'static str>,
    /// The page of the Kubernetes or kustomize documentation that describes the field.
    pub documentation: &'static str,
    /// Files in which the rule reports a finding.
    pub bad: RuleExample,
    /// The same files without the mistake.
    pub good: RuleExample,
    /// The method by which the rule is run.
    pub finder: Finder,
}

impl Rule {
    /// Returns true if `diff` runs the rule, and `check` does not.
    #[must_use]
    pub fn is_about_changes(&self) -> bool {
        matches!(self.finder, Finder::Change(_) | Finder::Review)
    }

    /// Returns the title.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title.trim_end_matches('.')
    }

    /// Returns the documentation page in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let standing = match self.default {
            RuleDefault::Enabled => "enabled by default",
            RuleDefault::Disabled => "disabled by default",
        };

        let (bad, good) = (self.bad_example(), self.good_example());
        let rejected = match (self.group, self.severity) {
            (RuleGroup::RejectedByServer, Severity::Error) => " · rejected by the API server",
            _ => "",
        };
        let suppress =
            self.suppress.map(|text| format!("## When to suppress\n\n{text}\n\n")).unwrap_or_default();
        format!(
            "# {}\n\n{}Code `{}` · severity {} · {standing}{rejected}\n\n{}\n\n## Bad example\n\n{}\n## Good example\n\n{}\n\
             ## How to fix\n\n{}\n\n{suppress}See the [documentation]({}).\n",
            self.title(),
            self.meaning(),
            self.code,
            self.severity.name(),
            self.why,
            shown(&bad),
            shown(&changed_files(&bad, &good)),
            self.remedy(),
            self.documentation,
        )
    }

    /// Returns the meaning as a paragraph. The text is empty for validation rules, and if the meaning equals the title.
    fn meaning(&self) -> String {
        match self.finder {
            Finder::Validation(_) => String::new(),
            _ if self.code.meaning() == self.title => String::new(),
            _ => format!("{}\n\n", self.code.meaning()),
        }
    }

    /// Returns how to fix the mistake. Codes that validation rules share with other messages have a general
    /// description.
    fn remedy(&self) -> &'static str {
        match self.finder {
            Finder::Validation(rule) => rule.text.remedy,
            _ => self.code.remedy(),
        }
    }

    /// Returns the files, by path, of the bad example.
    #[must_use]
    pub fn bad_example(&self) -> ExampleFiles {
        match self.finder {
            Finder::Validation(rule) => manifest(rule, rule.example.into()),
            _ => self.bad.iter().map(|(path, text)| (*path, (*text).to_string())).collect(),
        }
    }

    /// Returns the files, by path, of the good example.
    #[must_use]
    pub fn good_example(&self) -> ExampleFiles {
        match self.finder {
            Finder::Validation(rule) => manifest(rule, rule.fixed_example()),
            _ => self.good.iter().map(|(path, text)| (*path, (*text).to_string())).collect(),
        }
    }
}

/// Returns a kustomization that lists a manifest, and the CRD for the manifest if it is a custom resource.
fn manifest(of: &ValidationRule, object: String) -> ExampleFiles {
    let definition = of.definition().map(|text| ("definition.yaml", text));
    let list = if definition.is_some() { "definition.yaml, object.yaml" } else { "object.yaml" };
    let kustomization = ("kustomization.yaml", format!("resources: [{list}]\n"));
    [kustomization].into_iter().chain(definition).chain([("object.yaml", object)]).collect()
}

/// Returns the files of the good example that differ from those of the bad one. Returns all files if a file is only in
/// one of the examples.
fn changed_files(bad: &ExampleFiles, good: &ExampleFiles) -> ExampleFiles {
    let has_same_paths = bad.iter().map(|(path, _)| path).eq(good.iter().map(|(path, _)| path));
    good.iter().filter(|file| !has_same_paths || !bad.contains(file)).cloned().collect()
}

/// Returns the files as Markdown. A kustomization that only lists the other file is omitted.
fn shown(example: &[(&str, String)]) -> String {
    let example = match example {
        [("kustomization.yaml", text), (path, _)] if *text == format!("resources: [{path}]\n") => {
            &example[1..]
        }
        _ => example,
    };
    let file = |(path, text): &(&str, String)| {
        let lines: Vec<_> = text.lines().map(abridged).collect();
        format!("```yaml\n# {path}\n{}\n```\n", lines.join("\n"))
    };
    example.iter().map(file).collect::<Vec<_>>().join("\n")
}

/// Returns the start of a line that is too long for a page.
fn abridged(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

/// The maximum number of characters of an example line on a page.
const LONGEST_LINE: usize = 200;

/// Files as pairs of path and text.
pub type ExampleFiles = Vec<(&'static str, String)>;

/// Files by path. Their directory is the target.
pub type RuleExample = &'static [(&'static str, &'static str)];

/// The subject of a rule; `check --list` and the book group rules by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleGroup {
    /// Configuration that has no effect.
    NoEffect,
    /// Configuration that has another meaning than it seems to have.
    UnintendedResult,
    /// A reference to something that does not exist.
    DanglingReference,
    /// An object that the API server rejects.
    RejectedByServer,
    /// The suppressions of findings.
    Suppressions,
    /// Dangerous changes, which `diff` reports.
    Dangers,
}

impl RuleGroup {
    /// All groups, in the order of `check --list`.
    pub const ALL: [Self; 6] = [
        Self::NoEffect,
        Self::UnintendedResult,
        Self::DanglingReference,
        Self::RejectedByServer,
        Self::Suppressions,
        Self::Dangers,
    ];

    /// Returns the title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::NoEffect => "No effect",
            Self::UnintendedResult => "Unintended result",
            Self::DanglingReference => "Dangling references",
            Self::RejectedByServer => "Rejected by the API server",
            Self::Suppressions => "Suppressions",
            Self::Dangers => "Dangerous changes",
        }
    }
}

/// The default of a rule: enabled or disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleDefault {
    /// Enabled by default.
    Enabled,
    /// Disabled by default, since its findings are often intended.
    Disabled,
}

/// The targets that must agree on a finding before it is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// The target itself: every finding is reported.
    Target,
    /// All targets that include the entry. An entry without effect in one target may have an effect in another.
    Entry,
    /// The target and all overlays that include it. An overlay may fix a mistake in its base.
    Overlays,
    /// Like `Overlays`, but a finding is not reported if an overlay of the target does not build, since that overlay
    /// may add what its base lacks.
    BuildableOverlays,
}

/// The method by which a rule is run.
#[derive(Debug, Clone, Copy)]
pub enum Finder {
    /// The build emits the warning, with the code of the rule.
    Build,
    /// A function checks the built target.
    Target(fn(&CheckedTarget<'_>) -> Vec<Diagnostic>),
    /// A function checks the same values as validation.
    Schema,
    /// Validation reports the finding.
    Validation(&'static ValidationRule),
    /// A function compares an object before and after a change. Only `diff` runs it.
    Change(fn(&ChangedObject<'_>) -> Vec<Danger>),
    /// `diff` checks the changes of all targets together.
    Review,
    /// A function checks all targets of the run; see [`super::Conclusion`].
    Run,
}
