//! Merges three versions of a text by lines.
//!
//! This module does not depend on files or their names.

use std::ops::Range;

use similar::{Algorithm, MergeRegion, MergeResolution, TextMergeConfig};

/// Labels of conflict markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerLabels {
    /// Label of dest.
    pub dest: &'static str,
    /// Label of the original.
    pub original: &'static str,
    /// Label of the updated version.
    pub updated: &'static str,
}

impl MarkerLabels {
    /// The labels of the versions in a three-way merge.
    pub const SIDES: Self = Self { dest: "dest", original: "original", updated: "updated" };
    /// git's labels.
    pub const GIT: Self = Self { dest: "ours", original: "base", updated: "theirs" };
}

/// Resolution of conflicting lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineChoice {
    Updated,
    Dest,
    /// Both, between markers.
    Both(MarkerLabels),
}

/// Byte ranges of conflicting lines in each version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineConflict {
    pub original: Range<usize>,
    pub updated: Range<usize>,
    pub dest: Range<usize>,
}

/// A merged text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergedText {
    pub text: String,
    pub conflicts: Vec<LineConflict>,
}

/// The three versions.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextSides<'t> {
    pub original: &'t str,
    pub updated: &'t str,
    pub dest: &'t str,
}

/// Merges the changes of the updated version and of dest. `choice` resolves lines that both changed.
pub(super) fn merge_lines(sides: TextSides<'_>, choice: LineChoice) -> MergedText {
    let versions = VersionsOfText::new(sides);
    let parts: Vec<_> = versions.regions.iter().flat_map(|region| versions.line_by_line(region)).collect();
    versions.merge(&parts, |resolution| match resolution {
        MergeResolution::Theirs => LineChoice::Updated,
        MergeResolution::Conflict => choice,
        _ => LineChoice::Dest,
    })
}

/// Puts conflict markers around all differences between the updated text and dest's. Everything that could be
/// merged is equal in both.
pub(super) fn mark_differences(sides: TextSides<'_>, words: MarkerLabels) -> String {
    let versions = VersionsOfText::new(sides);
    let parts: Vec<_> = versions.regions.iter().map(LinePart::from_region).collect();
    let merged = versions.merge(&parts, |resolution| match resolution {
        MergeResolution::Unchanged | MergeResolution::Both => LineChoice::Dest,
        _ => LineChoice::Both(words),
    });
    merged.text
}

/// The three versions, with the start of each line.
struct VersionsOfText<'t> {
    sides: TextSides<'t>,
    regions: Vec<MergeRegion>,
    starts: [Vec<usize>; 3],
}

/// Line ranges of the three versions that belong together.
struct LinePart {
    lines: [Range<usize>; 3],
    resolution: MergeResolution,
}

impl LinePart {
    fn from_region(region: &MergeRegion) -> Self {
        let lines = [region.base_range(), region.theirs_range(), region.ours_range()];
        Self { lines, resolution: region.resolution() }
    }
}

impl<'t> VersionsOfText<'t> {
    fn new(sides: TextSides<'t>) -> Self {
        let TextSides { original, updated, dest } = sides;
        // The histogram algorithm aligns the versions at unique lines instead of brackets and empty lines.
        let merge =
            TextMergeConfig::new().algorithm(Algorithm::Histogram).merge_lines(original, dest, updated);
        let starts = [
            starts((0..merge.base_len()).map_while(|i| merge.base_line(i))),
            starts((0..merge.theirs_len()).map_while(|i| merge.theirs_line(i))),
            starts((0..merge.ours_len()).map_while(|i| merge.ours_line(i))),
        ];
        Self { sides, regions: merge.regions().to_vec(), starts }
    }

    /// Splits a conflict with equal line counts into single lines, so that only lines that both versions changed
    /// conflict, but not adjacent changes.
    fn line_by_line(&self, region: &MergeRegion) -> Vec<LinePart> {
        let whole = LinePart::from_region(region);
        let count = whole.lines[0].len();
        if !region.is_conflict() || whole.lines.iter().any(|lines| lines.len() != count) {
            return vec![whole];
        }
        let mut parts: Vec<LinePart> = Vec::with_capacity(count);
        for i in 0..count {
            let lines = whole.lines.clone().map(|lines| lines.start + i..lines.start + i + 1);
            let bytes = self.bytes(&lines);
            let TextSides { original, updated, dest } = self.sides;
            let [original, updated, dest] =
                [&original[bytes.original], &updated[bytes.updated], &dest[bytes.dest]];
            let resolution = match () {
                () if original == updated || updated == dest => MergeResolution::Ours,
                () if original == dest => MergeResolution::Theirs,
                () => MergeResolution::Conflict,
            };
            match parts.last_mut().filter(|last| last.resolution == resolution) {
                Some(last) => last.lines.iter_mut().zip(lines).for_each(|(last, line)| last.end = line.end),
                None => parts.push(LinePart { lines, resolution }),
            }
        }
        parts
    }

    fn merge(&self, parts: &[LinePart], choose: impl Fn(MergeResolution) -> LineChoice) -> MergedText {
        let mut merged = MergedText { text: String::with_capacity(self.sides.dest.len()), conflicts: vec![] };
        for part in parts {
            let lines = self.bytes(&part.lines);
            let TextSides { original, updated, dest } = self.sides;
            match choose(part.resolution) {
                LineChoice::Updated => merged.text.push_str(&updated[lines.updated.clone()]),
                LineChoice::Dest => merged.text.push_str(&dest[lines.dest.clone()]),
                LineChoice::Both(words) => {
                    let parts = [&dest[lines.dest.clone()], &original[lines.original.clone()]];
                    mark(&mut merged.text, parts, &updated[lines.updated.clone()], words);
                }
            }
            if part.resolution == MergeResolution::Conflict {
                merged.conflicts.push(lines);
            }
        }
        merged
    }

    fn bytes(&self, lines: &[Range<usize>; 3]) -> LineConflict {
        let range = |side: usize| {
            let (starts, lines) = (&self.starts[side], &lines[side]);
            starts[lines.start]..starts[lines.end.max(lines.start)]
        };
        LineConflict { original: range(0), updated: range(1), dest: range(2) }
    }
}

/// Returns the byte offset of each line, and of the end.
fn starts<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<usize> {
    let mut at = 0;
    let ends = lines.map(|line| {
        at += line.len();
        at
    });
    std::iter::once(0).chain(ends).collect()
}

fn mark(out: &mut String, [dest, original]: [&str; 2], updated: &str, words: MarkerLabels) {
    let line_break =
        if [dest, original, updated].iter().any(|text| text.contains("\r\n")) { "\r\n" } else { "\n" };
    let end_line = |out: &mut String| {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(line_break);
        }
    };
    let lines = [
        ("<<<<<<<", words.dest, dest),
        ("|||||||", words.original, original),
        ("=======", "", updated),
        (">>>>>>>", words.updated, ""),
    ];
    for (marker, word, text) in lines {
        end_line(out);
        out.push_str(marker);
        if !word.is_empty() {
            out.push(' ');
            out.push_str(word);
        }
        out.push_str(line_break);
        out.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = "one\ntwo\nthree\nfour\nfive\n";

    fn merged(updated: &str, dest: &str, choice: LineChoice) -> MergedText {
        merge_lines(TextSides { original: ORIGINAL, updated, dest }, choice)
    }

    #[test]
    fn changes_of_one_side_are_taken() {
        let updated = "one\ntwo\nthree\nfour\nFIVE\nsix\n";
        let dest = "zero\none\nthree\nfour\nfive\n";
        let both = merged(updated, dest, LineChoice::Updated);
        assert_eq!(both.text, "zero\none\nthree\nfour\nFIVE\nsix\n");
        assert_eq!(both.conflicts, []);
        for (a, b, want) in [(ORIGINAL, dest, dest), (updated, ORIGINAL, updated), (dest, dest, dest)] {
            assert_eq!(merged(a, b, LineChoice::Dest).text, want);
        }
    }

    #[test]
    fn adjacent_changed_lines_do_not_conflict() {
        let (updated, dest) = ("one\ntwo\n3\nfour\nfive\n", "one\nII\nthree\nIV\nfive\n");
        let MergedText { text, conflicts } = merged(updated, dest, LineChoice::Updated);
        assert_eq!((text.as_str(), conflicts.len()), ("one\nII\n3\nIV\nfive\n", 0));
        let (updated, dest) = ("one\n2\n3\nfour\nfive\n", "one\ntwo\nIII\nIV\nfive\n");
        let MergedText { text, conflicts } = merged(updated, dest, LineChoice::Updated);
        assert_eq!(text, "one\n2\n3\nIV\nfive\n");
        let [LineConflict { original, .. }] = conflicts.as_slice() else { panic!("{conflicts:?}") };
        assert_eq!(&ORIGINAL[original.clone()], "three\n");
    }

    #[test]
    fn lines_changed_by_both_sides_are_resolved_by_choice() {
        let (updated, dest) = ("one\ntwo\n3\nfour\nfive\n", "one\ntwo\nIII\nfour\nfive\n");
        let table = [
            (LineChoice::Updated, updated.to_string()),
            (LineChoice::Dest, dest.to_string()),
            (
                LineChoice::Both(MarkerLabels::SIDES),
                "one\ntwo\n<<<<<<< dest\nIII\n||||||| original\nthree\n=======\n3\n>>>>>>> updated\nfour\nfive\n"
                    .to_string(),
            ),
        ];
        for (choice, want) in table {
            let MergedText { text, conflicts } = merged(updated, dest, choice);
            assert_eq!(text, want);
            let [LineConflict { original, updated: of_updated, dest: of_dest }] = conflicts.as_slice() else {
                panic!("{conflicts:?}");
            };
            assert_eq!(&ORIGINAL[original.clone()], "three\n");
            assert_eq!((&updated[of_updated.clone()], &dest[of_dest.clone()]), ("3\n", "III\n"));
        }
    }

    #[test]
    fn markers_are_on_separate_lines() {
        let sides = TextSides { original: "a", updated: "b", dest: "c" };
        let text = merge_lines(sides, LineChoice::Both(MarkerLabels::GIT)).text;
        assert_eq!(text, "<<<<<<< ours\nc\n||||||| base\na\n=======\nb\n>>>>>>> theirs\n");
        let sides = TextSides { original: "a\r\n", updated: "b\r\n", dest: "c\r\n" };
        let text = merge_lines(sides, LineChoice::Both(MarkerLabels::GIT)).text;
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count(), "{text:?}");
    }

    #[test]
    fn all_differences_can_be_marked() {
        let sides = TextSides { original: "a: 1\nb: 1\n", updated: "a: 2\nb: 1\n", dest: "a: 1\nb: 1\n" };
        let text = mark_differences(sides, MarkerLabels::SIDES);
        assert_eq!(
            text,
            "<<<<<<< dest\na: 1\n||||||| original\na: 1\n=======\na: 2\n>>>>>>> updated\nb: 1\n"
        );
    }

    #[test]
    fn unrelated_long_texts_do_not_take_quadratic_time() {
        let text =
            |word: &str| (0..20_000).map(|i| [word, &i.to_string(), "\n"].concat()).collect::<String>();
        let (original, updated, dest) = (text("a"), text("b"), text("c"));
        let started = std::time::Instant::now();
        let merged = merge_lines(
            TextSides { original: &original, updated: &updated, dest: &dest },
            LineChoice::Updated,
        );
        assert_eq!((merged.text, merged.conflicts.len()), (updated, 1));
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }
}
