//! Three versions of a text, line by line.
//!
//! Must not know files: what is merged here has no name.

use std::ops::Range;

use similar::{Algorithm, MergeRegion, MergeResolution, TextMergeConfig};

/// The words behind the markers of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerWords {
    /// For the version that is merged into.
    pub dest: &'static str,
    /// For what both come from.
    pub original: &'static str,
    /// For the version that is merged.
    pub updated: &'static str,
}

impl MarkerWords {
    /// Those that the sides of a three-way merge have here.
    pub const SIDES: Self = Self { dest: "dest", original: "original", updated: "updated" };
    /// Those that git has for them.
    pub const GIT: Self = Self { dest: "ours", original: "base", updated: "theirs" };
}

/// What is written where both sides changed the same lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineChoice {
    Updated,
    Dest,
    /// Both, between markers.
    Both(MarkerWords),
}

/// Which lines of the three versions, as bytes of each.
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

/// Takes each change of one side; `choice` says what is taken where both changed the same lines.
pub(super) fn merge_lines(sides: TextSides<'_>, choice: LineChoice) -> MergedText {
    VersionsOfText::new(sides).merge(|region| match region.resolution() {
        MergeResolution::Theirs => LineChoice::Updated,
        MergeResolution::Conflict => choice,
        _ => LineChoice::Dest,
    })
}

/// Marks all that differs between the updated text and dest's: whatever could be merged is alike in both.
pub(super) fn mark_differences(sides: TextSides<'_>, words: MarkerWords) -> String {
    let merged = VersionsOfText::new(sides).merge(|region| match region.resolution() {
        MergeResolution::Unchanged | MergeResolution::Both => LineChoice::Dest,
        _ => LineChoice::Both(words),
    });
    merged.text
}

/// The versions and where their lines begin.
struct VersionsOfText<'t> {
    sides: TextSides<'t>,
    regions: Vec<MergeRegion>,
    starts: [Vec<usize>; 3],
}

impl<'t> VersionsOfText<'t> {
    fn new(sides: TextSides<'t>) -> Self {
        let TextSides { original, updated, dest } = sides;
        // VersionsOfText that are there once hold the versions together, as brackets and empty lines do not.
        let merge =
            TextMergeConfig::new().algorithm(Algorithm::Histogram).merge_lines(original, dest, updated);
        let starts = [
            starts((0..merge.base_len()).map_while(|i| merge.base_line(i))),
            starts((0..merge.theirs_len()).map_while(|i| merge.theirs_line(i))),
            starts((0..merge.ours_len()).map_while(|i| merge.ours_line(i))),
        ];
        Self { sides, regions: merge.regions().to_vec(), starts }
    }

    fn merge(&self, choose: impl Fn(&MergeRegion) -> LineChoice) -> MergedText {
        let mut merged = MergedText { text: String::with_capacity(self.sides.dest.len()), conflicts: vec![] };
        for region in &self.regions {
            let lines = self.bytes(region);
            let TextSides { original, updated, dest } = self.sides;
            match choose(region) {
                LineChoice::Updated => merged.text.push_str(&updated[lines.updated.clone()]),
                LineChoice::Dest => merged.text.push_str(&dest[lines.dest.clone()]),
                LineChoice::Both(words) => {
                    let parts = [&dest[lines.dest.clone()], &original[lines.original.clone()]];
                    mark(&mut merged.text, parts, &updated[lines.updated.clone()], words);
                }
            }
            if region.is_conflict() {
                merged.conflicts.push(lines);
            }
        }
        merged
    }

    fn bytes(&self, region: &MergeRegion) -> LineConflict {
        let range = |side: usize, lines: Range<usize>| {
            let starts = &self.starts[side];
            starts[lines.start]..starts[lines.end.max(lines.start)]
        };
        LineConflict {
            original: range(0, region.base_range()),
            updated: range(1, region.theirs_range()),
            dest: range(2, region.ours_range()),
        }
    }
}

/// The byte at which each line begins, and the end.
fn starts<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<usize> {
    let mut at = 0;
    let ends = lines.map(|line| {
        at += line.len();
        at
    });
    std::iter::once(0).chain(ends).collect()
}

fn mark(out: &mut String, [dest, original]: [&str; 2], updated: &str, words: MarkerWords) {
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
    fn what_one_side_changed_is_taken() {
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
    fn what_both_changed_is_a_conflict_and_decided_by_choice() {
        let (updated, dest) = ("one\ntwo\n3\nfour\nfive\n", "one\ntwo\nIII\nfour\nfive\n");
        let table = [
            (LineChoice::Updated, updated.to_string()),
            (LineChoice::Dest, dest.to_string()),
            (
                LineChoice::Both(MarkerWords::SIDES),
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
    fn markers_stand_on_lines_of_their_own() {
        let sides = TextSides { original: "a", updated: "b", dest: "c" };
        let text = merge_lines(sides, LineChoice::Both(MarkerWords::GIT)).text;
        assert_eq!(text, "<<<<<<< ours\nc\n||||||| base\na\n=======\nb\n>>>>>>> theirs\n");
        let sides = TextSides { original: "a\r\n", updated: "b\r\n", dest: "c\r\n" };
        let text = merge_lines(sides, LineChoice::Both(MarkerWords::GIT)).text;
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count(), "{text:?}");
    }

    #[test]
    fn all_that_differs_is_marked_when_it_must() {
        let sides = TextSides { original: "a: 1\nb: 1\n", updated: "a: 2\nb: 1\n", dest: "a: 1\nb: 1\n" };
        let text = mark_differences(sides, MarkerWords::SIDES);
        assert_eq!(
            text,
            "<<<<<<< dest\na: 1\n||||||| original\na: 1\n=======\na: 2\n>>>>>>> updated\nb: 1\n"
        );
    }

    #[test]
    fn long_texts_with_nothing_in_common_take_no_square_of_time() {
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
