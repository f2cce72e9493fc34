//! A line of input: the text of a search or of a filter.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The use of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    /// The text to search.
    Search,
    /// The filter of the targets.
    Filter,
}

/// The text so far. The cursor is at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) kind: PromptKind,
    pub(super) text: String,
}

impl Prompt {
    pub(super) fn new(kind: PromptKind, text: &str) -> Self {
        Self { kind, text: text.into() }
    }

    /// Edits the text.
    pub(super) fn key(&mut self, key: KeyEvent) {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if has_control => self.text.clear(),
            KeyCode::Char('w') if has_control => {
                let end = self.text.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.text.truncate(end);
            }
            KeyCode::Char('h') if has_control => drop(self.text.pop()),
            KeyCode::Char(c) if !has_control => self.text.push(c),
            KeyCode::Backspace => drop(self.text.pop()),
            _ => {}
        }
    }

    /// Adds a pasted text without its control characters.
    pub(super) fn paste(&mut self, text: &str) {
        self.text.extend(text.chars().filter(|c| !c.is_control()));
    }

    /// Returns the text before the input.
    pub(super) fn label(&self) -> &'static str {
        match self.kind {
            PromptKind::Search => "/",
            PromptKind::Filter => "filter: ",
        }
    }
}
