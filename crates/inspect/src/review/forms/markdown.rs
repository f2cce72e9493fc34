//! A review as Markdown, as a whole or in parts that fit into comments.

use super::fold::fold;
use super::text::{cause, folded_field, folded_objects, location, shown_name, target_line};
use super::{short_values, summary};
use crate::review::{ObjectChange, Review, TargetOutcome};
use smp_text::diagnostic::{MessageRenderer, Severity, escaped_markdown, markdown_code};

/// The maximum length of a comment on GitHub, in characters.
pub const MAX_COMMENT: usize = 65_536;

/// The number of characters that are reserved for the marker and the index of a part.
const MARGIN: usize = 2_000;

/// The maximum number of characters of a block. Blocks are not divided.
const MAX_BLOCK: usize = 8_000;

/// The maximum number of characters of the name of a target in the index.
const MAX_NAME: usize = 80;

/// Returns a review as Markdown.
#[must_use]
pub fn review_to_markdown(review: &Review, renderer: &MessageRenderer<'_>) -> String {
    let blocks = blocks(review, renderer);
    blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// A part of a review. It is not divided.
struct Block {
    text: String,
    /// The target to which the block belongs; `None` for blocks about all targets.
    target: Option<usize>,
}

/// A comment, without marker and index.
#[derive(Default)]
struct Part {
    text: String,
    length: usize,
    targets: Vec<usize>,
}

/// Returns a review as comments of at most [`MAX_COMMENT`] characters. Each comment begins with a marker with which it
/// can be found and updated, and has an index of all parts. All changes are included.
#[must_use]
pub fn review_to_comments(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let mut parts: Vec<Part> = vec![Part::default()];
    for block in blocks(review, renderer) {
        let size = block.text.chars().count() + 1;
        if parts.last().is_some_and(|part| part.length > 0 && part.length + size > MAX_COMMENT - MARGIN) {
            parts.push(Part::default());
        }
        let Some(part) = parts.last_mut() else { continue };
        part.length += size;
        part.text.push_str(&block.text);
        part.text.push('\n');
        part.targets.extend(block.target);
    }
    let count = parts.len();
    let lines: Vec<String> = parts.iter().enumerate().map(|(i, part)| index_line(i, part, review)).collect();
    let index = lines.concat();
    // If the index is too long for a comment, only the line of the comment itself is kept.
    let has_space = index.chars().count() < MARGIN - MARKER;
    let numbered = |(i, part): (usize, Part)| {
        let marker = format!("<!-- kubectl-smp-review {}/{count} -->\n", i + 1);
        let index = match (count, has_space) {
            (1, _) => String::new(),
            (_, true) => format!("Part {} of {count}\n\n{index}\n", i + 1),
            (_, false) => format!("Part {} of {count}\n\n{}\n", i + 1, lines[i]),
        };
        format!("{marker}{index}{}", part.text)
    };
    parts.into_iter().enumerate().map(numbered).collect()
}

/// The number of characters that are reserved for the marker of a comment and the number of its part.
const MARKER: usize = 200;

/// Returns the line of the index for a part, with its first and last target.
fn index_line(i: usize, part: &Part, review: &Review) -> String {
    let name = |target: &usize| {
        let path = review.targets[*target].target.display().to_string();
        markdown_code(&path.chars().take(MAX_NAME).collect::<String>())
    };
    let targets = match (part.targets.first(), part.targets.last()) {
        (Some(first), Some(last)) if first != last => format!("{} to {}", name(first), name(last)),
        (Some(first), _) => name(first),
        _ => "dangers and changes of many objects".into(),
    };
    format!("- Part {}: {targets}\n", i + 1)
}

/// Returns the blocks of a review. None of them is longer than [`MAX_BLOCK`] by more than one row.
fn blocks(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<Block> {
    let common = |text: String| Block { text, target: None };
    let mut blocks: Vec<Block> = common_blocks(review, renderer).into_iter().map(common).collect();
    for (t, target) in review.targets.iter().enumerate() {
        let of_target = |text: String| Block { text, target: Some(t) };
        let mut heading = format!("### {}\n", escaped_markdown(&target_line(target)));
        if let TargetOutcome::Compared(changes) = &target.outcome {
            if changes.is_reordered {
                heading.push_str("\nThe order of the objects changed.\n");
            }
            if changes.is_empty() {
                continue;
            }
        }
        blocks.push(of_target(heading));
        for object in target.objects() {
            blocks.extend(object_blocks(object, renderer).into_iter().map(of_target));
        }
    }
    blocks
}

/// Returns the blocks that are not about a single target: the summary, the dangers, and the changes of many objects.
fn common_blocks(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let mut blocks = vec![format!("## {}\n", escaped_markdown(&summary(review)))];
    let dangers: Vec<String> = danger_rows(review, renderer);
    blocks.extend(tables(
        "### Dangers\n",
        ["severity", "rule", "object", "message", "line"].as_slice(),
        &dangers,
    ));
    let folded: Vec<String> = folded_rows(review, renderer);
    blocks.extend(tables(
        "### Changes of many objects\n",
        ["field", "line", "objects", "old", "new"].as_slice(),
        &folded,
    ));
    blocks
}

fn danger_rows(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let rows =
        review.objects().flat_map(|(_, object)| object.dangers.iter().map(move |danger| (object, danger)));
    let row = |(object, danger): (&ObjectChange, &crate::review::ChangeDanger)| {
        let finding = &danger.finding;
        let severity = if finding.severity() == Severity::Error { "error" } else { "warning" };
        let at = finding.labels().first().and_then(|label| location(Some(label.span), renderer));
        row_of(&[
            severity.into(),
            markdown_code(finding.code().name()),
            escaped_markdown(&shown_name(&object.id)),
            escaped_markdown(finding.message()),
            escaped_markdown(&at.unwrap_or_default()),
        ])
    };
    rows.map(row).collect()
}

fn folded_rows(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let row = |folded: &super::FoldedChange| {
        let field = folded.first(review)?;
        let [old, new] = short_values(field.old.as_ref(), field.new.as_ref());
        Some(row_of(&[
            markdown_code(&folded_field(folded, review)),
            escaped_markdown(&location(field.at[1].or(field.at[0]), renderer).unwrap_or_default()),
            escaped_markdown(&folded_objects(folded, review)),
            markdown_code(&old),
            markdown_code(&new),
        ]))
    };
    fold(review, renderer).iter().filter_map(row).collect()
}

fn object_blocks(object: &ObjectChange, renderer: &MessageRenderer<'_>) -> Vec<String> {
    let from = object.origin().map(|from| format!(", from {from}")).unwrap_or_default();
    let title =
        format!("{} {} {}{from}", object.action.sign(), shown_name(&object.id), object.action.as_str());
    let row = |field: &crate::review::FieldChange| {
        let [old, new] = short_values(field.old.as_ref(), field.new.as_ref());
        row_of(&[
            markdown_code(&field.path.to_string()),
            markdown_code(&old),
            markdown_code(&new),
            escaped_markdown(&cause(field, renderer).unwrap_or_default()),
        ])
    };
    let rows: Vec<String> =
        if object.is_whole() { Vec::new() } else { object.fields.iter().map(row).collect() };
    if rows.is_empty() {
        let at = object.fields.first().and_then(|field| cause(field, renderer)).unwrap_or_default();
        return vec![format!("- {} {}\n", escaped_markdown(&title), escaped_markdown(&at))];
    }
    let heading = format!("<details><summary>{}</summary>\n", escaped_markdown(&title));
    let mut blocks = tables(&heading, ["field", "old", "new", "line"].as_slice(), &rows);
    for block in &mut blocks {
        block.push_str("\n</details>\n");
    }
    blocks
}

fn row_of(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Returns tables with a heading, each of about [`MAX_BLOCK`] characters.
fn tables(heading: &str, columns: &[&str], rows: &[String]) -> Vec<String> {
    let header = format!("{heading}\n| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    let mut blocks: Vec<String> = Vec::new();
    for row in rows {
        match blocks.last_mut().filter(|block| block.len() + row.len() <= MAX_BLOCK) {
            Some(block) => block.push_str(row),
            None => blocks.push(format!("{header}{row}")),
        }
    }
    blocks
}
