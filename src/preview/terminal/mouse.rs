//! The mouse: clicks and the wheel.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::app::App;
use super::cursor::Step;
use super::layout::{Layout, Pane};

/// The rows of a step with the wheel.
const WHEEL: isize = 3;

impl App<'_> {
    /// Scrolls a pane, or moves its cursor to a row.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        let Some(layout) = Layout::new(self.size).filter(|_| self.overlay.is_none()) else { return };
        let Some(pane) = layout.pane_at(mouse.column, mouse.row) else { return };
        match mouse.kind {
            MouseEventKind::ScrollDown => self.step(pane, Step::Rows(WHEEL)),
            MouseEventKind::ScrollUp => self.step(pane, Step::Rows(-WHEEL)),
            MouseEventKind::Down(MouseButton::Left) => {
                self.focus = pane;
                let above = if pane == Pane::Content { self.banner.len() } else { 0 };
                let row = mouse.row.checked_sub(layout.pane(pane).body.y).map(usize::from);
                if let Some(row) = row.and_then(|row| row.checked_sub(above)) {
                    self.click(pane, row);
                }
            }
            _ => {}
        }
    }

    /// Moves the cursor of a pane to a visible row.
    fn click(&mut self, pane: Pane, row: usize) {
        let (cursor, len) = match (pane, &mut self.content) {
            (Pane::Targets, _) => {
                let len = self.targets.len();
                (&mut self.targets.cursor, len)
            }
            (Pane::Details, _) => {
                let len = self.details.len();
                (&mut self.details.cursor, len)
            }
            (Pane::Content, Some(content)) => {
                let len = content.len();
                (&mut content.cursor, len)
            }
            (Pane::Content, None) => return,
        };
        if cursor.top + row < len {
            cursor.row = cursor.top + row;
        }
    }
}
