//! What a rule is.

use super::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_validate::ValidationRule;

/// One thing that can be wrong, how it is found, and what is said about it.
#[derive(Debug)]
pub struct Rule {
    /// What its findings are called.
    pub code: Code,
    /// Its name, such as `Image entry without an image`; that of a refusal is the sentence on what it means.
    pub name: &'static str,
    /// What it is about.
    pub group: RuleGroup,
    /// How bad its findings are.
    pub severity: Severity,
    /// Whether it is asked without being selected.
    pub standing: RuleStanding,
    /// Whether a finding must come of all targets that have the place.
    pub reach: RuleReach,
    /// What it looks at, and why what it finds is wrong: paragraphs of Markdown.
    pub why: &'static str,
    /// A directory in which it finds something.
    pub bad: RuleExample,
    /// The same as it was meant.
    pub good: RuleExample,
    /// How it finds.
    pub finder: Finder,
}

impl Rule {
    /// Its name as a title.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.name.trim_end_matches('.')
    }

    /// Its page, in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let standing = match self.standing {
            RuleStanding::On => "on",
            RuleStanding::Off => "off unless selected",
        };
        let documentation = match self.finder {
            Finder::Validation(rule) => {
                format!(" See the [Kubernetes documentation]({}).", rule.documentation)
            }
            _ => String::new(),
        };
        // What a title says is not said again.
        let meaning = Some(self.code.meaning()).filter(|meaning| *meaning != self.name);
        let meaning = meaning.map(|meaning| format!("{meaning}\n\n")).unwrap_or_default();
        format!(
            "# {}\n\n{meaning}`{}`, {}, {standing}\n\n{}{documentation}\n\n## What to do\n\n{}\n\n## Wrong\n\n{}\n## Right\n\n{}",
            self.title(),
            self.code,
            self.severity.name(),
            self.why,
            self.code.remedy(),
            shown(&self.wrong_example()),
            shown(&self.right_example()),
        )
    }

    /// Returns the files, by path, in which it finds something.
    #[must_use]
    pub fn wrong_example(&self) -> ExampleFiles {
        match self.finder {
            Finder::Validation(rule) => manifest(rule, rule.example.into()),
            _ => self.bad.iter().map(|(path, text)| (*path, (*text).to_string())).collect(),
        }
    }

    /// Returns the same files without the mistake.
    #[must_use]
    pub fn right_example(&self) -> ExampleFiles {
        match self.finder {
            Finder::Validation(rule) => manifest(rule, rule.fixed_example()),
            _ => self.good.iter().map(|(path, text)| (*path, (*text).to_string())).collect(),
        }
    }
}

/// A kustomization that lists a manifest, and the definition of its kind if it is a custom resource.
fn manifest(of: &ValidationRule, object: String) -> ExampleFiles {
    let definition = of.definition().map(|text| ("definition.yaml", text));
    let list = if definition.is_some() { "definition.yaml, object.yaml" } else { "object.yaml" };
    let kustomization = ("kustomization.yaml", format!("resources: [{list}]\n"));
    [kustomization].into_iter().chain(definition).chain([("object.yaml", object)]).collect()
}

fn shown(example: &[(&str, String)]) -> String {
    let file = |(path, text): &(&str, String)| format!("```yaml\n# {path}\n{text}```\n");
    example.iter().map(file).collect::<Vec<_>>().join("\n")
}

/// Files with their paths and texts.
pub type ExampleFiles = Vec<(&'static str, String)>;

/// Files by their paths; the target is the directory that they are in.
pub type RuleExample = &'static [(&'static str, &'static str)];

/// What rules are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleGroup {
    /// Something that does nothing.
    DoesNothing,
    /// Something that means something else than it seems to.
    MeansElse,
    /// A name that leads nowhere.
    PointsNowhere,
    /// An object that an API server would refuse.
    WouldBeRefused,
    /// The configuration of the checks themselves.
    Checks,
}

impl RuleGroup {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] =
        [Self::DoesNothing, Self::MeansElse, Self::PointsNowhere, Self::WouldBeRefused, Self::Checks];

    /// Its title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::DoesNothing => "Does nothing",
            Self::MeansElse => "Means something else",
            Self::PointsNowhere => "Points nowhere",
            Self::WouldBeRefused => "Would be refused",
            Self::Checks => "The checks themselves",
        }
    }
}

/// Whether a rule is asked when nobody selects rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleStanding {
    /// It is.
    On,
    /// What it finds is often meant: only who selects it wants to know.
    Off,
}

/// How many targets must agree on a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleReach {
    /// Each speaks for itself.
    Each,
    /// All that have the entry which it is about: what does nothing in one target may do something in another.
    Entry,
    /// It and those that are built over it: what is wrong in a base may be mended by what uses it.
    Users,
    /// As for `Users`, of targets that nobody uses who does not build: what a base lacks may come with him.
    BuiltUsers,
}

/// How a rule finds.
#[derive(Debug, Clone, Copy)]
pub enum Finder {
    /// The build warns of it by itself, with the code of the rule.
    Build,
    /// It looks at what was built of a target.
    Target(fn(&CheckedTarget<'_>) -> Vec<Diagnostic>),
    /// It looks at what `validate` finds.
    Schema,
    /// `validate` finds it.
    Validation(&'static ValidationRule),
    /// It looks at what all targets have in common: see [`super::Conclusion`].
    Run,
}
