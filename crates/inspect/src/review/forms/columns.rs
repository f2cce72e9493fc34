//! A side-by-side review: the old lines on the left, the new ones on the right.

use std::iter;

use super::text::unified_review;
use crate::review::Review;
use smp_text::diagnostic::{MessageRenderer, Result};

/// The minimum number of characters of a column.
const MIN_COLUMN: usize = 20;

/// A line of two columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRow {
    /// `|` for a changed line, `<` for a removed one, `>` for an added one, `@` for the line before unchanged ones, `#`
    /// for a line about the whole object, and a space for an unchanged line.
    pub sign: char,
    /// The text, with the sign between the columns.
    pub text: String,
}

/// Returns the unified diffs of all objects in two columns. A line that is longer than the column continues on the next
/// row.
///
/// # Errors
/// A value cannot be printed as YAML.
pub fn side_by_side_review(
    review: &Review,
    renderer: &MessageRenderer<'_>,
    width: usize,
) -> Result<Vec<ColumnRow>> {
    let column = (width.saturating_sub(3) / 2).max(MIN_COLUMN);
    let lines = unified_review(review, renderer)?;
    Ok(side_by_side(&lines, column))
}

fn side_by_side(lines: &[String], column: usize) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut is_in_hunk = false;
    for line in lines {
        match line.as_bytes().first() {
            Some(b'-') if is_in_hunk => old.push(&line[1..]),
            Some(b'+') if is_in_hunk => new.push(&line[1..]),
            first => {
                add_changed(&mut rows, &mut old, &mut new, column);
                match first {
                    Some(b' ') if is_in_hunk => add_row(&mut rows, [&line[1..]; 2], ' ', column),
                    Some(b'-') if line.starts_with("--- ") => {}
                    Some(b'+') if line.starts_with("+++ ") => {}
                    _ => {
                        is_in_hunk = line.starts_with("@@");
                        rows.push(ColumnRow { sign: if is_in_hunk { '@' } else { '#' }, text: line.clone() });
                    }
                }
            }
        }
    }
    add_changed(&mut rows, &mut old, &mut new, column);
    rows
}

/// Adds the removed and added lines of a change, side by side.
fn add_changed(rows: &mut Vec<ColumnRow>, old: &mut Vec<&str>, new: &mut Vec<&str>, column: usize) {
    for i in 0..old.len().max(new.len()) {
        let (left, right) = (old.get(i).copied(), new.get(i).copied());
        let sign = match (left, right) {
            (Some(_), Some(_)) => '|',
            (Some(_), None) => '<',
            _ => '>',
        };
        add_row(rows, [left.unwrap_or_default(), right.unwrap_or_default()], sign, column);
    }
    old.clear();
    new.clear();
}

/// Adds two lines as one row, or as several rows if they are longer than a column.
fn add_row(rows: &mut Vec<ColumnRow>, sides: [&str; 2], sign: char, column: usize) {
    let [left, right] = sides.map(|line| line.replace('\t', "    ").chars().collect::<Vec<_>>());
    let [mut left, mut right] = [left.chunks(column), right.chunks(column)];
    let parts = iter::from_fn(|| match (left.next(), right.next()) {
        (None, None) => None,
        (left, right) => Some([left, right].map(|part| part.unwrap_or_default().iter().collect::<String>())),
    });
    let mut parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        parts.push([String::new(), String::new()]);
    }
    rows.extend(parts.into_iter().map(|[left, right]| {
        let padding = " ".repeat(column.saturating_sub(left.chars().count()));
        ColumnRow { sign, text: format!("{left}{padding} {sign} {right}").trim_end().to_string() }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_next_to_each_other_and_long_ones_continue() {
        let lines = [
            "diff -u -N a b",
            "# at x:1",
            "--- a",
            "+++ b",
            "@@ -1,3 +1,3 @@",
            " same: 1",
            "-old: 12345",
            "+new: 1",
            "+more: 2",
        ];
        let lines: Vec<String> = lines.map(str::to_string).to_vec();
        let got = side_by_side(&lines, 8);
        let got: Vec<&str> = got.iter().map(|row| row.text.as_str()).collect();
        let want = [
            "diff -u -N a b",
            "# at x:1",
            "@@ -1,3 +1,3 @@",
            "same: 1    same: 1",
            "old: 123 | new: 1",
            "45       |",
            "         > more: 2",
        ];
        assert_eq!(got, want);
    }
}
