//! A cursor in a list of rows, of which only a part is visible.

/// The row of the cursor, and the first visible row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cursor {
    pub(super) row: usize,
    pub(super) top: usize,
}

/// A movement of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// By a number of rows down. A negative number moves up.
    Rows(isize),
    /// By a number of pages down. A negative number moves up.
    Pages(isize),
    /// To the first row.
    First,
    /// To the last row.
    Last,
}

impl Cursor {
    /// Moves the cursor in a list of `len` rows, of which `height` are visible.
    pub(super) fn step(&mut self, step: Step, len: usize, height: usize) {
        let page = isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1);
        self.row = match step {
            Step::Rows(count) => self.row.saturating_add_signed(count),
            Step::Pages(count) => self.row.saturating_add_signed(count * page),
            Step::First => 0,
            Step::Last => len,
        };
        self.show(len, height);
    }

    /// Moves the visible part so that it contains the cursor, and no empty rows unless the list is too short.
    pub(super) fn show(&mut self, len: usize, height: usize) {
        self.row = self.row.min(len.saturating_sub(1));
        let first = (self.row + 1).saturating_sub(height.max(1));
        self.top = self.top.clamp(first, self.row).min(len.saturating_sub(height));
    }

    /// Moves to a row, and keeps its distance from the first visible row.
    pub(super) fn jump(&mut self, row: usize) {
        let above = self.row - self.top.min(self.row);
        *self = Self { row, top: row.saturating_sub(above) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_stays_in_the_list_and_visible() {
        let mut cursor = Cursor::default();
        cursor.step(Step::Rows(-1), 10, 4);
        assert_eq!(cursor, Cursor { row: 0, top: 0 });
        cursor.step(Step::Rows(4), 10, 4);
        assert_eq!(cursor, Cursor { row: 4, top: 1 });
        cursor.step(Step::Last, 10, 4);
        assert_eq!(cursor, Cursor { row: 9, top: 6 });
        cursor.step(Step::Pages(-1), 10, 4);
        assert_eq!(cursor, Cursor { row: 6, top: 6 });
        cursor.show(3, 4);
        assert_eq!(cursor, Cursor { row: 2, top: 0 });
        cursor.show(0, 0);
        assert_eq!(cursor, Cursor { row: 0, top: 0 });
    }

    #[test]
    fn jump_keeps_the_distance_from_the_top() {
        let mut cursor = Cursor { row: 12, top: 10 };
        cursor.jump(30);
        assert_eq!(cursor, Cursor { row: 30, top: 28 });
    }
}
