//! Lines of text, boxes and connections as SVG, in colors that are readable on light and dark pages.

use std::fmt::Write as _;

/// Width of a character and height of a line of the monospaced text.
pub const CHARACTER: usize = 8;
pub const LINE: usize = 18;

pub const TEXT: &str = "#24292f";
pub const MUTED: &str = "#6e7781";
pub const BLUE: &str = "#0550ae";
pub const GREEN: &str = "#116329";
pub const RED: &str = "#cf222e";
pub const AMBER: &str = "#8a5700";

/// A drawing that grows as parts are added.
pub struct Svg {
    body: String,
    background: &'static str,
}

impl Svg {
    pub fn new(background: &'static str) -> Self {
        Self { body: String::new(), background }
    }

    /// Adds text whose first character is at `x`, with its base line at `y`.
    pub fn text(&mut self, (x, y): (usize, usize), color: &str, style: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        // The width is fixed, so that columns align in every font.
        let indentation = text.len() - text.trim_start().len();
        let (x, text) = (x + indentation * CHARACTER, text.trim());
        let width = text.chars().count() * CHARACTER;
        let text = escape(text);
        let style = if style.is_empty() { String::new() } else { format!(" {style}") };
        let _ = writeln!(
            self.body,
            "<text xml:space=\"preserve\" x=\"{x}\" y=\"{y}\" textLength=\"{width}\" fill=\"{color}\"{style}>{text}</text>"
        );
    }

    /// Adds a box with rounded corners.
    pub fn rectangle(&mut self, [x, y, width, height]: [usize; 4], fill: &str, border: &str) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" stroke=\"{border}\"/>"
        );
    }

    /// Adds a curve from left to right.
    pub fn curve(&mut self, (x1, y1): (usize, usize), (x2, y2): (usize, usize), color: &str) {
        let middle = usize::midpoint(x1, x2);
        let _ = writeln!(
            self.body,
            "<path d=\"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}\" fill=\"none\" stroke=\"{color}\" stroke-opacity=\"0.5\"/>"
        );
    }

    /// Adds an arrow that points to the right or downwards.
    pub fn arrow(&mut self, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
        let head =
            if y1 == y2 { format!("M{x2} {y2} l-7 -4 v8 z") } else { format!("M{x2} {y2} l-4 -7 h8 z") };
        let _ = writeln!(self.body, "<path d=\"M{x1} {y1} L{x2} {y2}\" stroke=\"{MUTED}\"/>");
        let _ = writeln!(self.body, "<path d=\"{head}\" fill=\"{MUTED}\"/>");
    }

    /// Returns the drawing with a title for people who cannot see it.
    pub fn finish(&self, width: usize, height: usize, title: &str) -> String {
        let Self { body, background } = self;
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{background}\"/>\n{body}</svg>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
