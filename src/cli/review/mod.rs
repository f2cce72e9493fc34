//! `kubectl smp diff` without a cluster: compare two builds.

mod affected_flag;
#[cfg(feature = "git")]
mod candidates;
mod comparison;
mod request;
#[cfg(feature = "git")]
mod revision_sides;
#[cfg(feature = "git")]
mod revisions;
mod side;
mod target_pair;

use std::io;
use std::process::ExitCode;

pub(super) use self::affected_flag::AffectedFlag;
#[cfg(feature = "git")]
pub(super) use self::candidates::TargetFlags;
pub(super) use self::comparison::Comparison;
#[cfg(feature = "preview")]
pub(super) use self::comparison::build_base;
pub(super) use self::request::{ReviewArgs, ReviewRequest};
#[cfg(feature = "git")]
pub(super) use self::revision_sides::RevisionSides;
#[cfg(feature = "git")]
pub(super) use self::revisions::{RevisionRange, Revisions};
#[cfg(feature = "preview")]
pub(super) use self::side::BuiltTarget;
#[cfg(feature = "git")]
pub(super) use self::target_pair::TargetPair;
use super::diff_output::{DIFFERENT, DiffOutput, ERROR};
use super::report::{print, print_json};
use super::{Failure, Outcome, render};
use smp_inspect::review::forms::{
    ColumnRow, diff_line_color, field_lines, paths_of_review, review_to_comments, review_to_html,
    review_to_json, review_to_markdown, review_to_text, side_by_side_review, summary, summary_lines,
    unified_review,
};
use smp_inspect::review::{Review, TargetOutcome, add_many_targets_dangers};
use smp_text::diagnostic::{Diagnostic, MessageRenderer, escaped_line};
use smp_text::source::SourceMap;

/// Compares the targets and prints the changes.
pub(super) fn run(request: &ReviewRequest<'_>, sources: &SourceMap) -> Outcome {
    if request.format == DiffOutput::Plan {
        let message = "`--output plan` requires a cluster: use text, unified, fields, paths or json";
        return Err(Failure::Usage(message.into()));
    }
    let comparison = Comparison::new(request, sources)?;
    let options = request.review.options(request.show_secrets).map_err(Failure::UsageAt)?;
    let configs = comparison.configs(sources);
    // With `--ignore-noise`, the noise that `.smp.yaml` lists is also ignored.
    let noise_configs = request.review.ignore_noise.then_some(&configs);
    let (mut review, warnings) = comparison.review(&options, noise_configs, sources)?;
    add_many_targets_dangers(&mut review, &render::location_renderer(sources));
    comparison.suppress(&mut review, &configs, sources)?;
    render::print_or_reject(&warnings, sources)?;
    if sources.has_hidden_values() {
        review.mask_values(|text| sources.without_hidden_values(text));
    }
    print_review(&review, request, sources)?;
    render::print(&failures(&review), sources);
    if !request.review.summary {
        render::print_note(&summary(&review));
    }
    let has_failures = request.review.has_failures(&review);
    Ok(match (has_failures, request.review.is_failure(&review)) {
        (true, _) => ExitCode::from(ERROR),
        (false, true) => ExitCode::from(DIFFERENT),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Returns the errors of targets that were not compared. If both sides have an error, only that of
/// the new side is returned.
pub(super) fn failures(review: &Review) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for target in &review.targets {
        let (TargetOutcome::Failed([old, new]), Some(words)) = (&target.outcome, target.failure()) else {
            continue;
        };
        let of = |problem: &Diagnostic| problem.clone().target(&target.target).note(words);
        problems.extend(new.as_ref().or(old.as_ref()).map(of));
    }
    problems
}

fn print_review(review: &Review, request: &ReviewRequest<'_>, sources: &SourceMap) -> Result<(), Failure> {
    let renderer = render::location_renderer(sources);
    let format = request.format;
    let lines = match format {
        _ if request.review.summary => summary_lines(review, &renderer),
        DiffOutput::Json => return print_json(&shown_json(review, &renderer, sources)),
        DiffOutput::Markdown => {
            return print(&sources.without_hidden_values(&review_to_markdown(review, &renderer)));
        }
        DiffOutput::Github => {
            let hidden = |part: &String| sources.without_hidden_values(part).into_owned();
            let parts: Vec<String> = review_to_comments(review, &renderer).iter().map(hidden).collect();
            return print_json(&parts);
        }
        DiffOutput::Html => {
            return print(&sources.json_without_hidden_values(&review_to_html(review, &renderer)));
        }
        DiffOutput::Text | DiffOutput::Plan => review_to_text(review, &renderer),
        DiffOutput::Unified => unified_review(review, &renderer)?,
        DiffOutput::SideBySide => {
            let rows = side_by_side_review(review, &renderer, terminal_width())?;
            return print(&sources.without_hidden_values(&rows.iter().map(printed_row).collect::<String>()));
        }
        DiffOutput::Paths => paths_of_review(review),
        DiffOutput::Fields => {
            let mut lines = Vec::new();
            for (_, object) in review.objects() {
                lines.extend(field_lines(&object.shown())?);
            }
            lines
        }
    };
    let color = render::has_color(&io::stdout()).then_some(format);
    let text: String = lines.iter().map(|line| printed_line(line, color)).collect();
    print(&sources.without_hidden_values(&text))
}

/// The width of side-by-side output that is not written to a terminal.
const DEFAULT_WIDTH: usize = 160;

/// Returns the number of columns of the terminal. `COLUMNS` takes precedence.
fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0)))
        .unwrap_or(DEFAULT_WIDTH)
}

fn shown_json(review: &Review, renderer: &MessageRenderer<'_>, sources: &SourceMap) -> serde_json::Value {
    let json = review_to_json(review, renderer);
    if !sources.has_hidden_values() {
        return json;
    }
    let text = json.to_string();
    serde_json::from_str(&sources.json_without_hidden_values(&text)).unwrap_or(json)
}

/// Returns an escaped row of two columns. If the output is colored, it has the color of its change.
fn printed_row(row: &ColumnRow) -> String {
    let color = match row.sign {
        '|' => Some("33"),
        '<' => Some("31"),
        '>' => Some("32"),
        '@' => Some("36"),
        '#' => Some("1"),
        _ => None,
    };
    let line = escaped_line(&row.text);
    match color.filter(|_| render::has_color(&io::stdout())) {
        Some(code) => format!("\x1b[{code}m{line}\x1b[0m\n"),
        None => line.into_owned() + "\n",
    }
}

/// Returns an escaped line. If the output is colored, it has the color of its first character.
fn printed_line(line: &str, color: Option<DiffOutput>) -> String {
    let color = color.and_then(|format| match (format, line.as_bytes().first()) {
        (DiffOutput::Unified, _) | (_, Some(b'+' | b'-')) => diff_line_color(line),
        (DiffOutput::Text, Some(b'~')) => Some("33"),
        (DiffOutput::Text, Some(b'!')) => Some("1;31"),
        (DiffOutput::Text, Some(b'*')) => Some("36"),
        _ => None,
    });
    let line = line.split('\t').map(escaped_line).collect::<Vec<_>>().join("\t");
    match color {
        Some(code) => format!("\x1b[{code}m{line}\x1b[0m\n"),
        None => line + "\n",
    }
}
