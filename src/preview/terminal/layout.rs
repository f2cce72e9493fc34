//! The areas of the screen.

use ratatui::layout::{Position, Rect, Size};

/// The smallest screen. On a smaller one, the panes would show nothing useful.
pub(super) const SMALLEST: Size = Size { width: 60, height: 16 };

/// The minimum width at which the details are next to the output and not below it.
const WIDE: u16 = 140;

/// A pane of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pane {
    /// The list of targets.
    Targets,
    /// The output or the diff.
    #[default]
    Content,
    /// The findings or the provenance.
    Details,
}

impl Pane {
    /// Returns the next pane.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Targets => Self::Content,
            Self::Content => Self::Details,
            Self::Details => Self::Targets,
        }
    }
}

/// A pane: a row with its title, and its rows below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PaneArea {
    pub(super) title: Rect,
    pub(super) body: Rect,
}

/// The areas of all parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) header: Rect,
    pub(super) targets: PaneArea,
    pub(super) content: PaneArea,
    pub(super) details: PaneArea,
    /// The content and the details together, for lists that cover both.
    pub(super) right: PaneArea,
    pub(super) status: Rect,
}

impl Layout {
    /// Divides a screen into panes. Returns `None` if the screen is too small.
    pub(super) fn new(size: Size) -> Option<Self> {
        let Size { width, height } = size;
        if width < SMALLEST.width || height < SMALLEST.height {
            return None;
        }
        let body = Rect::new(0, 1, width, height - 2);
        let list = (width / 3).clamp(20, 40).min(if width < 100 { 26 } else { 40 });
        // A column between the panes is left free for a line.
        let right = Rect::new(list + 1, 1, width - list - 1, body.height);
        let (content, details) = if width >= WIDE { beside(right) } else { below(right) };
        Some(Self {
            header: Rect::new(0, 0, width, 1),
            targets: pane(Rect { width: list, ..body }),
            content: pane(content),
            details: pane(details),
            right: pane(right),
            status: Rect::new(0, height - 1, width, 1),
        })
    }

    /// Returns the area of a pane.
    pub(super) fn pane(&self, pane: Pane) -> PaneArea {
        match pane {
            Pane::Targets => self.targets,
            Pane::Content => self.content,
            Pane::Details => self.details,
        }
    }

    /// Returns the pane at a position.
    pub(super) fn pane_at(&self, x: u16, y: u16) -> Option<Pane> {
        let at = Position { x, y };
        let contains = |pane: &Pane| {
            let area = self.pane(*pane);
            area.title.contains(at) || area.body.contains(at)
        };
        [Pane::Targets, Pane::Content, Pane::Details].into_iter().find(contains)
    }
}

fn below(right: Rect) -> (Rect, Rect) {
    let details = right.height * 2 / 5;
    let content = Rect { height: right.height - details, ..right };
    (content, Rect { y: content.bottom(), height: details, ..right })
}

fn beside(right: Rect) -> (Rect, Rect) {
    let details = right.width * 2 / 5;
    let content = Rect { width: right.width - details - 1, ..right };
    (content, Rect { x: content.right() + 1, width: details, ..right })
}

fn pane(area: Rect) -> PaneArea {
    let title = Rect { height: 1, ..area };
    PaneArea { title, body: Rect { y: area.y + 1, height: area.height - 1, ..area } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_fill_the_screen_without_overlap() {
        for (width, height) in [(60, 16), (80, 24), (139, 40), (140, 40), (300, 100)] {
            let layout = Layout::new(Size { width, height }).expect("large enough");
            let panes = [layout.targets, layout.content, layout.details];
            for (i, one) in panes.iter().enumerate() {
                assert!(one.body.right() <= width && one.body.bottom() < height && one.body.width >= 15);
                for other in &panes[i + 1..] {
                    assert!(!one.body.intersects(other.body), "{width}x{height}");
                }
            }
        }
        assert_eq!(Layout::new(Size { width: 59, height: 24 }), None);
    }
}
