//! The results of a search as rows.

use super::super::model::{FoundLine, SearchView};
use super::cursor::{Cursor, Step};
use super::text::{ShownLine, Tone};

/// The results of a search. The matches in a resource have a heading with its target.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) query: String,
    matches: Vec<FoundLine>,
    more: usize,
    /// The index of the match of each row, and true for a heading.
    rows: Vec<(usize, bool)>,
    pub(super) cursor: Cursor,
}

impl Results {
    /// Lists the results of a search.
    pub(super) fn new(query: &str, found: SearchView) -> Self {
        let mut rows = Vec::new();
        for (i, one) in found.matches.iter().enumerate() {
            let former = i.checked_sub(1).and_then(|i| found.matches.get(i));
            if former.map(|former| (&former.target, former.resource)) != Some((&one.target, one.resource)) {
                rows.push((i, true));
            }
            // The heading already shows the name of the resource.
            if one.pointer.is_some() || one.text != one.id {
                rows.push((i, false));
            }
        }
        let SearchView { matches, more } = found;
        Self { query: query.into(), matches, more, rows, cursor: Cursor::default() }
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns a row as drawn.
    pub(super) fn line(&self, row: usize) -> ShownLine {
        let found = self.rows.get(row).and_then(|(i, is_heading)| Some((self.matches.get(*i)?, is_heading)));
        match found {
            Some((one, true)) => ShownLine::new(&format!("{}: {}", one.target, one.id), Tone::Strong),
            Some((one, false)) => ShownLine::new(&format!("  {}", one.text), Tone::Plain),
            None => ShownLine::default(),
        }
    }

    /// Returns the match at the cursor.
    pub(super) fn selected(&self) -> Option<&FoundLine> {
        self.matches.get(self.rows.get(self.cursor.row)?.0)
    }

    /// Returns the heading of the list.
    pub(super) fn title(&self) -> String {
        let more = if self.more > 0 { format!(", and {} more", self.more) } else { String::new() };
        let (count, plural) = (self.matches.len(), if self.matches.len() == 1 { "" } else { "es" });
        format!("Search {}: {count} match{plural}{more}", self.query)
    }

    pub(super) fn step(&mut self, step: Step, height: usize) {
        self.cursor.step(step, self.rows.len(), height);
    }
}
