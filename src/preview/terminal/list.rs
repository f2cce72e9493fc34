//! The list of targets: states, filter and selection.

use std::collections::BTreeMap;

use super::super::model::{TargetState, TargetSummary};
use super::cursor::{Cursor, Step};
use super::text::Tone;

/// All targets. Only those that match the filter are listed.
#[derive(Debug, Default)]
pub(super) struct TargetList {
    all: BTreeMap<String, TargetSummary>,
    filter: String,
    /// The names of the listed targets.
    listed: Vec<String>,
    pub(super) cursor: Cursor,
}

impl TargetList {
    /// Replaces all targets.
    pub(super) fn set(&mut self, targets: Vec<TargetSummary>) {
        self.all.clear();
        self.update(targets, &[]);
    }

    /// Replaces targets that were rebuilt, and removes those that no longer exist.
    pub(super) fn update(&mut self, targets: Vec<TargetSummary>, removed: &[String]) {
        for name in removed {
            self.all.remove(name);
        }
        self.all.extend(targets.into_iter().map(|target| (target.name.clone(), target)));
        self.list();
    }

    /// Sets the filter. Each word must be a part of the name, or a state such as `is:error`.
    pub(super) fn set_filter(&mut self, filter: &str) {
        self.filter = filter.to_string();
        self.list();
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    /// Lists the matching targets again. The selected target stays selected. If it no longer matches, the target in its
    /// row is selected.
    fn list(&mut self) {
        let selected = self.listed.get(self.cursor.row).cloned();
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let is_listed = |target: &&TargetSummary| words.iter().all(|word| matches(target, word));
        self.listed = self.all.values().filter(is_listed).map(|target| target.name.clone()).collect();
        if let Some(row) = selected.and_then(|name| self.listed.binary_search(&name).ok()) {
            self.cursor.jump(row);
        }
        self.cursor.row = self.cursor.row.min(self.listed.len().saturating_sub(1));
    }

    /// Returns the number of listed targets.
    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }

    /// Returns a listed target.
    pub(super) fn get(&self, row: usize) -> Option<&TargetSummary> {
        self.all.get(self.listed.get(row)?)
    }

    /// Returns the selected target.
    pub(super) fn selected(&self) -> Option<&TargetSummary> {
        self.get(self.cursor.row)
    }

    pub(super) fn step(&mut self, step: Step, height: usize) {
        self.cursor.step(step, self.listed.len(), height);
    }

    /// Selects a target. If the filter hides it, the filter is removed. Returns false if there is no such target.
    pub(super) fn select(&mut self, name: &str) -> bool {
        if !self.all.contains_key(name) {
            return false;
        }
        if !self.listed.iter().any(|listed| listed == name) {
            self.set_filter("");
        }
        if let Some(row) = self.listed.iter().position(|listed| listed == name) {
            self.cursor.row = row;
        }
        true
    }

    /// Returns the number of targets, and the numbers of those with errors and with warnings.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let in_state = |state| self.all.values().filter(|target| target.state == state).count();
        (self.all.len(), in_state(TargetState::Error), in_state(TargetState::Warning))
    }
}

fn matches(target: &TargetSummary, word: &str) -> bool {
    match word.strip_prefix("is:") {
        Some("ok") => target.state == TargetState::Ok,
        Some("warning") => target.state == TargetState::Warning,
        Some("error") => target.state == TargetState::Error,
        Some("deleted") => target.state == TargetState::Deleted,
        Some("danger") => target.dangers > 0,
        Some("changed") => target.changes.is_some_and(|changes| changes > 0),
        _ => target.name.to_lowercase().contains(word),
    }
}

/// Returns the symbol and the tone of a target. A target that builds is not displayed as ok if a danger is an error.
pub(super) fn symbol(target: &TargetSummary) -> (char, Tone) {
    match target.state {
        TargetState::Ok | TargetState::Warning if target.danger_errors > 0 => ('!', Tone::Error),
        TargetState::Ok => ('✓', Tone::Ok),
        TargetState::Warning => ('!', Tone::Warning),
        TargetState::Error => ('✗', Tone::Error),
        TargetState::Deleted => ('−', Tone::Error),
    }
}

/// Returns the counts of a target: errors, warnings, dangers, changed objects, such as `1E 2W 1D ~3`.
pub(super) fn counts(target: &TargetSummary) -> String {
    let count = |count: usize, letter| (count > 0).then(|| format!("{count}{letter}"));
    let changes = target.changes.filter(|changes| *changes > 0).map(|changes| format!("~{changes}"));
    let state = match target.state {
        TargetState::Ok if target.danger_errors > 0 => None,
        TargetState::Ok => Some("ok".to_string()),
        TargetState::Deleted => Some("deleted".to_string()),
        TargetState::Warning | TargetState::Error => None,
    };
    let parts =
        [state, count(target.errors, 'E'), count(target.warnings, 'W'), count(target.dangers, 'D'), changes];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
