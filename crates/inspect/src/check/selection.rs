//! The selection of enabled rules.

use rustc_hash::FxHashSet;

use super::registry::{RULES, code_by_name, nearest_code};
use super::rule::{Rule, RuleDefault};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A set of explicitly enabled and disabled rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSelection {
    /// Rules enabled explicitly.
    selected: FxHashSet<Code>,
    /// Rules disabled explicitly.
    ignored: FxHashSet<Code>,
}

/// The name that selects all rules.
const ALL: &str = "all";

impl RuleSelection {
    /// Enables the rules in `select` in addition to the default ones, and disables those in `ignore`. `all` selects
    /// every rule.
    ///
    /// # Errors
    /// A name is not a code.
    pub fn new<'n>(
        select: impl IntoIterator<Item = &'n str>,
        ignore: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self> {
        let mut selection = Self::default();
        for (names, codes) in [
            (select.into_iter().collect::<Vec<_>>(), &mut selection.selected),
            (ignore.into_iter().collect(), &mut selection.ignored),
        ] {
            for name in names {
                match name {
                    ALL => codes.extend(RULES.iter().map(|rule| rule.code)),
                    _ => _ = codes.insert(parse_code(name)?),
                }
            }
        }
        Ok(selection)
    }

    /// Returns this selection overridden by another one, which takes precedence.
    #[must_use]
    pub fn overridden_by(mut self, other: &Self) -> Self {
        self.ignored.retain(|code| !other.selected.contains(code));
        self.selected.retain(|code| !other.ignored.contains(code));
        self.selected.extend(&other.selected);
        self.ignored.extend(&other.ignored);
        self
    }

    /// Returns true if a rule is enabled.
    #[must_use]
    pub fn is_enabled(&self, rule: &Rule) -> bool {
        let is_on = rule.default == RuleDefault::Enabled || self.selected.contains(&rule.code);
        is_on && !self.ignored.contains(&rule.code)
    }

    /// Returns true if findings with this code are reported.
    #[must_use]
    pub fn reports(&self, code: Code) -> bool {
        match super::rule_by_code(code) {
            Some(rule) => self.is_enabled(rule),
            None => !self.ignored.contains(&code),
        }
    }
}

/// Returns the code with the given name.
///
/// # Errors
/// No code has this name.
pub(super) fn parse_code(name: &str) -> Result<Code> {
    code_by_name(name).ok_or_else(|| {
        let error = Diagnostic::error(Code::Usage, format!("unknown rule: `{name}`"));
        match nearest_code(name) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("run `kubectl smp check --list` for all rules"),
        }
    })
}
