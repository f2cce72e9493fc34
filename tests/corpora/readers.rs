//! The fast reader of YAML passes on the same events as the parser, or leaves the text to it.
//!
//! `SMP_TEST_READS` is the number of texts that are changed at random (20,000), from seed `SMP_TEST_READS_SEED` on.
//! `SMP_TEST_SHARED` names a directory: all its files are compared, and the short ones are changed at random, too.

#![allow(clippy::print_stderr, reason = "a test says how much it compared")]

use std::env;
use std::fs;
use std::path::Path;

use kubectl_smp_testing::dice::Dice;
use kubectl_smp_testing::seeds::seeds;
use rayon::prelude::*;
use smp_text::yaml::compare_readers;
use walkdir::WalkDir;

/// Pieces that change the structure of a text.
const PIECES: [&str; 60] = [
    " ",
    "  ",
    "\n",
    "\n\n",
    "\n ",
    "\n  ",
    "- ",
    "-",
    ": ",
    ":",
    "#",
    " #",
    "'",
    "''",
    "\"",
    "\"\"",
    "[",
    "]",
    "{",
    "}",
    "[]",
    "{}",
    ",",
    ", ",
    "|",
    ">",
    "|-",
    ">+",
    "|2",
    "x: |\n",
    "? ",
    "?",
    "&a ",
    "*a",
    "!!str ",
    "%",
    "@",
    "`",
    "~",
    "---\n",
    "\n---",
    "--- # c\n",
    "...",
    "\t",
    "\r",
    "\\",
    "\\n",
    "\\u00e9",
    "a",
    "0",
    "b: c\n",
    "- d\n",
    "# e\n",
    "<<: ",
    "\u{e9}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{1f389}",
    "\u{7f}",
];

/// Texts with all constructs that the fast reader reads.
const TEXTS: [&str; 6] = [
    "# top\na: 1 # one\n\nb: # list\n# first\n- x # ex\n# map\n- y: 1\n  z:\n  w: # c\n# end\n",
    "a:\n- # c\n  b: c\n-\n- - d\n  - e: f\n    g:\n    - h\ni:\n  j\nk: l\n  m\n\n  n # o\n---\n'p': \"q\\n\n  r \\\n  s\"\n",
    "a: |\n  b\n\n   c\n\nd: >- # e\n   f\n   g\n\n     h\n   i\n# j\nk: |+\n  l\n\n# m\nn:\n- |2\n   o\n- >\n p\n",
    "a: [b, 'c', \"d\"] # e\nf: {g: h, \"i\":1, j: [k, {l: m}]}\nn: [ ]\no: {}\np: [q, ]\n",
    "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"c\"\n    }\n  ],\n  \"d\": []\n}\n",
    "---\n# a\nb: c\n--- # d\n---\n# e\n---\n- f\n- 'g''h'\n# i",
];

/// Returns a random position in a text.
fn position(text: &str, dice: &mut Dice) -> usize {
    boundary(text, dice.below(text.len() + 1))
}

/// Returns the last start of a character up to a position.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Replaces, removes or inserts up to three parts of a text.
fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut out = text.to_owned();
    for _ in 0..=dice.below(3) {
        let start = position(&out, dice);
        let end = match dice.below(4) {
            0 => boundary(&out, start + dice.below(6)),
            1 => out[start..].find('\n').map_or(out.len(), |length| start + length + dice.below(2)),
            _ => start,
        };
        let piece = match dice.below(4) {
            0 => String::new(),
            1 => {
                let from = position(&out, dice);
                out[from..boundary(&out, from + dice.below(20))].to_owned()
            }
            _ => dice.pick(&PIECES).to_owned(),
        };
        out.replace_range(start..end.max(start), &piece);
    }
    out
}

/// The texts of all YAML and JSON files in a directory.
fn read_all(folder: &Path) -> Vec<(String, String)> {
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let is_yaml = |path: &Path| path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
    files
        .filter(|file| file.file_type().is_file() && is_yaml(file.path()))
        .filter_map(|file| Some((file.path().display().to_string(), fs::read_to_string(file.path()).ok()?)))
        .collect()
}

/// A text with the constructs of a case of yaml-test-suite, in our words: the ID of the case, true if YAML 1.2 allows the
/// text, true if the fast reader reads it, and the text.
type Construct = (String, bool, bool, String);

#[test]
fn constructs_of_yaml_are_read_as_by_the_parser_or_left_to_it() {
    let lines = include_str!("../cases/readers/constructs.jsonl").lines();
    let constructs: Vec<Construct> =
        lines.map(|line| serde_json::from_str(line).expect("a construct")).collect();
    assert_eq!(constructs.len(), 402);
    for (id, is_valid, is_read, text) in constructs {
        let read = compare_readers(&text).unwrap_or_else(|problem| panic!("{id}: {problem}\n{text:?}"));
        assert_eq!(read, is_read, "{id}: {text:?}");
        // libyaml accepts lines in brackets that are not indented.
        assert!(is_valid || !read || id == "9C9N", "{id} is not YAML: {text:?}");
    }
}

#[test]
fn random_texts_are_read_as_by_the_parser() {
    let mut texts: Vec<String> = TEXTS.map(str::to_owned).to_vec();
    if let Some(shared) = env::var_os("SMP_TEST_SHARED") {
        let short =
            read_all(Path::new(&shared)).into_iter().map(|(_, text)| text).filter(|text| text.len() < 1500);
        texts.extend(short);
    }
    let seeds = seeds("SMP_TEST_READS", 20_000);
    let read = |seed: &u64| {
        let mut dice = Dice::new(*seed);
        // Half of the texts have unusual constructs.
        let choices = if dice.one_in(2) { TEXTS.len() } else { texts.len() };
        let text = mutate(&texts[dice.below(choices)], &mut dice);
        compare_readers(&text).unwrap_or_else(|problem| panic!("seed {seed}: {problem}\n{text:?}"))
    };
    let count = seeds.par_iter().filter(|seed| read(seed)).count();
    eprintln!("{count} of {} texts are not left to the parser", seeds.len());
    assert!(count > seeds.len() / 6, "only {count} texts are not left to the parser");
}

#[test]
#[ignore = "needs SMP_TEST_SHARED, a folder with YAML files"]
fn real_files_are_read_as_by_the_parser() {
    let shared = env::var_os("SMP_TEST_SHARED").expect("SMP_TEST_SHARED names a folder");
    let files = read_all(Path::new(&shared));
    let read = |(path, text): &&(String, String)| {
        compare_readers(text).unwrap_or_else(|problem| panic!("{path}: {problem}"))
    };
    let count = files.par_iter().filter(read).count();
    eprintln!("{} of {} files are left to the parser", files.len() - count, files.len());
    assert!(count * 100 >= files.len() * 97, "only {count} files are not left to the parser");
}
