//! The keys and their commands.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::cursor::Step;

/// A command of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// Move the cursor of the focused pane.
    Move(Step),
    /// Scroll horizontally.
    Scroll(isize),
    /// Move to another resource.
    Resource(isize),
    /// Select another target.
    Target(isize),
    /// Focus the next pane.
    NextPane,
    /// Focus the previous pane.
    PreviousPane,
    /// Show the provenance of the line, or open the selected row.
    Enter,
    /// Close the current overlay.
    Close,
    /// Show the diff, or return to the output.
    Diff,
    /// Open the editor.
    Edit,
    /// Reveal or hide the secret of the line.
    Reveal,
    /// Search all targets.
    Search,
    /// Filter the targets.
    Filter,
    /// Show the keys.
    Help,
    /// Enable or disable the mouse.
    Mouse,
    /// Redraw the screen.
    Redraw,
    /// Suspend the program.
    Suspend,
    /// End the program.
    Quit,
}

/// The text of the help: keys and their effects.
pub(super) const HELP: &[(&str, &str)] = &[
    ("j k, Down Up", "Next or previous line"),
    ("PgDn PgUp, g G", "Next or previous page, first or last"),
    ("h l, Left Right", "Scroll sideways"),
    ("n p", "Next or previous resource"),
    ("[ ]", "Previous or next target"),
    ("Tab", "Next pane"),
    ("Enter", "Show the provenance of the line"),
    ("o, e", "Open the editor at the line"),
    ("d", "Show the diff, or the output again"),
    ("r", "Reveal or hide the secret"),
    ("/", "Search all targets"),
    ("f", "Filter targets by name or state:"),
    ("", "is:ok is:warning is:error is:danger is:changed is:deleted"),
    ("m", "Turn the mouse on or off"),
    ("Esc", "Close, or clear the filter"),
    ("?", "Show the keys"),
    ("q, Ctrl-C", "Quit"),
    ("", ""),
    ("✓ ! ✗ −", "Target: ok, warnings or dangers, errors, deleted"),
    ("E W D ~", "Errors, warnings, dangers, changes"),
];

/// Returns the command of a key.
pub(super) fn command(key: KeyEvent) -> Option<Command> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return with_control(key.code);
    }
    let command = match key.code {
        KeyCode::Char('j') | KeyCode::Down => Command::Move(Step::Rows(1)),
        KeyCode::Char('k') | KeyCode::Up => Command::Move(Step::Rows(-1)),
        KeyCode::Char(' ') | KeyCode::PageDown => Command::Move(Step::Pages(1)),
        KeyCode::PageUp => Command::Move(Step::Pages(-1)),
        KeyCode::Char('g') | KeyCode::Home => Command::Move(Step::First),
        KeyCode::Char('G') | KeyCode::End => Command::Move(Step::Last),
        KeyCode::Char('h') | KeyCode::Left => Command::Scroll(-1),
        KeyCode::Char('l') | KeyCode::Right => Command::Scroll(1),
        KeyCode::Char('n') => Command::Resource(1),
        KeyCode::Char('p') => Command::Resource(-1),
        KeyCode::Char(']') => Command::Target(1),
        KeyCode::Char('[') => Command::Target(-1),
        KeyCode::Tab => Command::NextPane,
        KeyCode::BackTab => Command::PreviousPane,
        KeyCode::Enter => Command::Enter,
        KeyCode::Esc => Command::Close,
        KeyCode::Char('d') => Command::Diff,
        KeyCode::Char('o' | 'e') => Command::Edit,
        KeyCode::Char('r') => Command::Reveal,
        KeyCode::Char('/') => Command::Search,
        KeyCode::Char('f') => Command::Filter,
        KeyCode::Char('?') => Command::Help,
        KeyCode::Char('m') => Command::Mouse,
        KeyCode::Char('q') => Command::Quit,
        _ => return None,
    };
    Some(command)
}

fn with_control(code: KeyCode) -> Option<Command> {
    match code {
        KeyCode::Char('c') => Some(Command::Quit),
        KeyCode::Char('l') => Some(Command::Redraw),
        KeyCode::Char('z') => Some(Command::Suspend),
        KeyCode::Char('d' | 'f') => Some(Command::Move(Step::Pages(1))),
        KeyCode::Char('u' | 'b') => Some(Command::Move(Step::Pages(-1))),
        _ => None,
    }
}
