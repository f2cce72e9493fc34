//! The language of comments, texts and documents: no doc comment opens with a question word, few words of the
//! private vocabulary that the project once had, short help lines, a short README.
//!
//! A rough check. A text that passes it can still be hard to read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::rust_files;

/// The most README lines.
const README_LINES: usize = 150;

/// The most characters of a help line, without `/// `.
const HELP_WIDTH: usize = 100;

/// The shortest quoted text that counts as prose.
const SHORTEST_TEXT: usize = 12;

static QUESTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:What|Who|Whom|Whose|Whether|How|Where|Which|When)\b"));

static VOCABULARY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(told|tells? (?:of|what|which|no|only)|is said|says? (?:of|whether|what|which|how)|",
        r"asked?(?: for| of)?|mend(?:s|ed|ing)?|whoever|who (?:may|names|asks|reads|writes|builds|applies|merges|has|",
        r"is|needs)|at all that|by itself|beside it|in the midst|taken back|",
        r"stands? (?:there|beside|in|for|at|below|above|where|between)|is so|what is (?:there|odd|so)|is not kept|",
        r"a text that|for certain|writes? down|goes by|is let|anew|all that (?:is|it|the)|of which|but for)\b",
    ))
});

static TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r#""((?:[^"\\]|\\.)*)""#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

/// The lines of one rule: how many were checked, and those that break it.
#[derive(Default)]
struct Tally {
    checked: usize,
    hits: Vec<String>,
}

impl Tally {
    fn add(&mut self, is_hit: bool, location: impl FnOnce() -> String) {
        self.checked += 1;
        if is_hit {
            self.hits.push(location());
        }
    }

    /// Panics with the hits if there are more than `permille` of 1,000 lines.
    fn at_most(&self, permille: usize, rule: &str) {
        let (hits, checked) = (self.hits.len(), self.checked);
        assert!(checked > 0, "{rule}: no lines checked");
        let within = hits * 1000 <= checked * permille;
        assert!(within, "{rule}: {hits} of {checked} lines\n{}", self.hits.join("\n"));
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of the program and its crates, without files of tests.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in ["src", "crates"] {
        rust_files(&root().join(folder), &mut files);
    }
    let is_test = |path: &Path| path.ends_with("tests.rs") || path.iter().any(|part| part == "tests");
    files.retain(|path| !is_test(path));
    read(files)
}

/// The Markdown files in the root and in the book.
fn documents() -> Vec<(String, String)> {
    let mut folders = vec![root().to_path_buf(), root().join("book"), root().join("examples")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && folder != root() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    read(files)
}

fn read(mut files: Vec<PathBuf>) -> Vec<(String, String)> {
    files.sort();
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").display().to_string();
    files.iter().map(|path| (name(path), fs::read_to_string(path).expect("UTF-8"))).collect()
}

/// The lines of doc comments, without their slashes, each with whether it is the first of its comment.
fn doc_lines(text: &str) -> impl Iterator<Item = (usize, bool, &str)> {
    let mut previous = "";
    text.lines().map(str::trim).enumerate().filter_map(move |(i, line)| {
        let is_first = !previous.starts_with(line.get(..3).unwrap_or(line));
        previous = line;
        let words = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        Some((i + 1, is_first, words.trim_start()))
    })
}

#[test]
fn doc_comments_open_with_a_verb_or_a_noun() {
    let (mut openings, mut words) = (Tally::default(), Tally::default());
    for (name, text) in sources() {
        for (line, is_first, comment) in doc_lines(&text) {
            let location = || format!("{name}:{line}: {comment}");
            if is_first {
                openings.add(QUESTION.is_match(comment), location);
            }
            words.add(VOCABULARY.is_match(comment), location);
        }
    }
    openings.at_most(20, "doc comments that open with a question word");
    words.at_most(5, "private vocabulary in doc comments");
}

#[test]
fn messages_use_the_words_of_the_field() {
    let mut words = Tally::default();
    for (name, text) in sources() {
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (i, line) in code {
            for found in TEXT.captures_iter(line) {
                let message = &found[1];
                if message.len() >= SHORTEST_TEXT && message.contains(' ') {
                    words.add(VOCABULARY.is_match(message), || format!("{name}:{}: {message}", i + 1));
                }
            }
        }
    }
    words.at_most(5, "private vocabulary in messages");
}

#[test]
fn documents_use_the_words_of_the_field() {
    let mut words = Tally::default();
    for (name, text) in documents() {
        let is_prose =
            |line: &str| !line.is_empty() && !["```", "|--", "#"].iter().any(|s| line.starts_with(s));
        for (i, line) in text.lines().enumerate().filter(|(_, line)| is_prose(line.trim())) {
            words.add(VOCABULARY.is_match(line), || format!("{name}:{}: {line}", i + 1));
        }
    }
    words.at_most(5, "private vocabulary in documents");
}

#[test]
fn help_lines_and_the_readme_are_short() {
    let mut lines = Tally::default();
    for (name, text) in sources().iter().filter(|(name, _)| name.starts_with("src/cli/")) {
        for (line, _, comment) in doc_lines(text) {
            lines.add(comment.chars().count() > HELP_WIDTH, || format!("{name}:{line}: {comment}"));
        }
    }
    lines.at_most(0, "help lines that are too long");
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    assert!(readme.lines().count() <= README_LINES, "README.md has {} lines", readme.lines().count());
}

#[test]
fn the_check_finds_what_it_looks_for() {
    assert!(QUESTION.is_match("Whether a field is set."));
    assert!(!QUESTION.is_match("Returns whether a field is set."));
    assert!(
        VOCABULARY.is_match("what the user asked for") && VOCABULARY.is_match("where it stands in the file")
    );
    assert!(!VOCABULARY.is_match("the merge key of the list"));
    let lines: Vec<_> = doc_lines("/// A.\n/// B.\nfn a() {}\n    //! C.\n").collect();
    assert_eq!(lines, [(1, true, "A."), (2, false, "B."), (4, true, "C.")]);
}
