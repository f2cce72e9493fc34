//! Which rules are asked.

use rustc_hash::FxHashSet;

use super::registry::{RULES, code_named, nearest_code};
use super::rule::{Rule, RuleStanding};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Rules by their codes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSelection {
    /// Asked though they are off, or alone where `only` says so.
    selected: FxHashSet<Code>,
    ignored: FxHashSet<Code>,
}

/// Stands for all rules.
const ALL: &str = "all";

impl RuleSelection {
    /// Those that are on, with those that are selected, without those that are ignored. `all` stands for all.
    ///
    /// # Errors
    /// A name that no rule has.
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
                    _ => _ = codes.insert(code_of(name)?),
                }
            }
        }
        Ok(selection)
    }

    /// The same with the words of another selection behind it, which win.
    #[must_use]
    pub fn then(mut self, other: &Self) -> Self {
        self.ignored.retain(|code| !other.selected.contains(code));
        self.selected.retain(|code| !other.ignored.contains(code));
        self.selected.extend(&other.selected);
        self.ignored.extend(&other.ignored);
        self
    }

    /// Whether a rule is asked.
    #[must_use]
    pub fn has(&self, rule: &Rule) -> bool {
        let is_on = rule.standing == RuleStanding::On || self.selected.contains(&rule.code);
        is_on && !self.ignored.contains(&rule.code)
    }

    /// Whether findings of a code are told.
    #[must_use]
    pub fn tells(&self, code: Code) -> bool {
        match super::rule_of(code) {
            Some(rule) => self.has(rule),
            None => !self.ignored.contains(&code),
        }
    }
}

/// The code of that name.
///
/// # Errors
/// There is none.
pub(super) fn code_of(name: &str) -> Result<Code> {
    code_named(name).ok_or_else(|| {
        let error = Diagnostic::error(Code::Usage, format!("no rule is called `{name}`"));
        match nearest_code(name) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`kubectl smp check --list` names all rules"),
        }
    })
}
