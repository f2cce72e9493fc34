//! Properties of edits, tested with random trees, layouts and changes.

use proptest::prelude::*;

use super::{Reading, edit_text, read, read_as};
use crate::yaml::{Map, Node, ParseOptions, parse_documents, write_documents_in_source_style};
use smp_random_cases::fixed_cases;

/// A source of random decisions. When it is exhausted, all decisions are 0.
struct Dice<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % sides
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.roll(from.len())]
    }
}

const NAMES: &[&str] = &["a", "b", "c", "name", "image", "n", "x y", "a:b", "1", "<<", "é", "-d", "# no"];
const STRINGS: &[&str] = &[
    "v",
    "w x",
    "true",
    "1.5",
    "",
    "- x",
    "a: b",
    "it's",
    "\"q\"",
    "# c",
    "x # y",
    "é☃",
    "null",
    "[a",
    "{b",
    "*c",
    "&d",
    "!e",
    "%f",
    "@g",
    "`h",
    "|",
    ">",
    "a,b",
    "a]",
    "tab\there",
    " lead",
    "trail ",
    "2020-01-01",
    "0x1f",
    "y",
    "---",
    "...",
    "?",
    ":",
    "x:",
    "\u{1f600}",
    "\u{7f}",
    "\u{85}",
    "\\",
    "~",
    "=",
];
const TEXTS: &[&str] =
    &["l1\nl2\n", "l1\n\n  l2", "\nl1\n", "l1\nl2\n\n\n", " l1\nl2\n", "# l\n", "x \ny", "\n", "a: 1\n- b\n"];
const PLAIN: &[&str] =
    &["1", "true", "null", "~", "", "1.50", "0x1F", "2020-01-01", "word", "two words", "on", ".inf"];

/// Creates a random value that does not occur in a text.
fn tree(dice: &mut Dice, depth: usize) -> Node {
    match dice.roll(if depth == 0 { 5 } else { 9 }) {
        0..=1 => Node::plain(dice.pick(PLAIN)),
        2..=3 => Node::string(dice.pick(STRINGS)),
        4 => Node::string(dice.pick(TEXTS)),
        5..=6 => Node::list((0..dice.roll(4)).map(|_| tree(dice, depth - 1)).collect()),
        _ => root(dice, depth),
    }
}

fn root(dice: &mut Dice, depth: usize) -> Node {
    let mut map = Map::new();
    for _ in 0..dice.roll(5) {
        let name = dice.pick(NAMES);
        map.insert(name, tree(dice, depth.saturating_sub(1)));
    }
    Node::map(map)
}

/// Writes a tree in a random layout. Most lines with a leaf get a distinct comment.
struct RandomLayout<'d, 'b> {
    dice: &'d mut Dice<'b>,
    out: String,
    comments: usize,
    anchors: usize,
    /// The anchors of complete values, with true for maps.
    complete: Vec<(usize, bool)>,
}

/// The indicator before a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indicator {
    Name,
    Dash,
}

/// The position of the first field or entry of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    OnOwnLine,
    BehindDash,
}

fn is_empty(node: &Node) -> bool {
    node.as_map().is_some_and(Map::is_empty) || node.as_list().is_some_and(Vec::is_empty)
}

impl RandomLayout<'_, '_> {
    fn comment(&mut self) {
        if !self.dice.one_in(4) {
            self.comments += 1;
            self.out.push_str(&format!(" # c{}", self.comments));
        }
        self.out.push('\n');
        if self.dice.one_in(8) {
            self.out.push('\n');
        }
    }

    fn comment_above(&mut self, column: usize) {
        if self.dice.one_in(6) {
            self.out.push_str(&format!("{}# above\n", " ".repeat(column)));
        }
    }

    fn quoted(&mut self, text: &str) -> String {
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase());
        let single = text.chars().all(|c| matches!(c, ' '..='~' | 'é'));
        match self.dice.roll(3) {
            0 if plain && !matches!(text, "true" | "null") => text.to_string(),
            0 | 1 if single => format!("'{}'", text.replace('\'', "''")),
            _ => crate::yaml::to_json(&Node::string(text))
                .expect("a string")
                .replace('\u{85}', "\\u0085")
                .replace('\u{7f}', "\\u007f"),
        }
    }

    fn scalar(&mut self, node: &Node) -> String {
        match node.as_str() {
            Some(text) => self.quoted(text),
            None => node.scalar_text().expect("a scalar").to_string(),
        }
    }

    fn flow(&mut self, node: &Node) -> String {
        if let Some(map) = node.as_map() {
            let fields: Vec<_> =
                map.iter().map(|(k, v)| format!("{}: {}", self.quoted(k), self.flow(v))).collect();
            return format!("{{{}}}", fields.join(", "));
        }
        if let Some(list) = node.as_list() {
            let entries: Vec<_> = list.iter().map(|n| self.flow(n)).collect();
            return format!("[{}]", entries.join(if self.dice.one_in(3) { ",\n      " } else { ", " }));
        }
        let text = self.scalar(node);
        if text.is_empty() { "~".into() } else { text }
    }

    /// Writes a value after an indicator at `column`, up to the end of its last line.
    fn value(&mut self, node: &Node, column: usize, indicator: Indicator) {
        if !self.complete.is_empty() && self.dice.one_in(8) {
            let (alias, _) = self.complete[self.dice.roll(self.complete.len())];
            self.out.push_str(&format!(" *x{alias}"));
            return self.comment();
        }
        if !self.dice.one_in(8) {
            return self.content(node, column, indicator);
        }
        self.anchors += 1;
        let anchor = self.anchors;
        self.out.push_str(&format!(" &x{anchor}"));
        if indicator == Indicator::Dash && node.scalar_text().is_none() && !is_empty(node) {
            // On the same line, it would belong to the first name.
            self.below(node, column, indicator);
        } else {
            self.content(node, column, indicator);
        }
        self.complete.push((anchor, node.as_map().is_some()));
    }

    fn content(&mut self, node: &Node, column: usize, indicator: Indicator) {
        if let Some(text) = node.as_str().filter(|t| is_block_text(t))
            && self.dice.roll(3) > 0
        {
            return self.lines(text, column);
        }
        if node.scalar_text().is_some() || is_empty(node) || self.dice.one_in(5) {
            let text = self.flow(node);
            let text = if node.scalar_text().is_some_and(smol_str::SmolStr::is_empty) && node.is_null() {
                String::new()
            } else {
                text
            };
            self.out.push_str(if text.is_empty() {
                ""
            } else if self.dice.one_in(5) {
                "   "
            } else {
                " "
            });
            self.out.push_str(&text);
            return self.comment();
        }
        if indicator == Indicator::Dash && self.dice.roll(4) > 0 {
            self.out.push(' ');
            return self.block(node, column + 2, First::BehindDash);
        }
        self.below(node, column, indicator);
    }

    fn below(&mut self, node: &Node, column: usize, indicator: Indicator) {
        self.comment();
        let least = usize::from(node.as_list().is_none() || indicator == Indicator::Dash);
        let deeper = least + self.dice.roll(4);
        self.comment_above(column + deeper);
        self.block(node, column + deeper, First::OnOwnLine);
    }

    fn lines(&mut self, text: &str, column: usize) {
        let chomp = match (text.ends_with('\n'), text.ends_with("\n\n") || text == "\n") {
            (false, _) => "-",
            (true, true) => "+",
            (true, false) => "",
        };
        self.out.push_str(&format!(" |{}{chomp}", if text.starts_with([' ', '\n']) { "3" } else { "" }));
        if self.dice.one_in(3) {
            self.comments += 1;
            self.out.push_str(&format!(" # c{}", self.comments));
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.out.push('\n');
            self.out.push_str(&if line.is_empty() {
                String::new()
            } else {
                format!("{}{line}", " ".repeat(column + 3))
            });
        }
        self.out.push('\n');
    }

    fn block(&mut self, node: &Node, column: usize, first: First) {
        let mut on_line = first == First::BehindDash;
        let indentation = " ".repeat(column);
        let entries: Vec<(Option<&str>, &Node)> = match (node.as_map(), node.as_list()) {
            (Some(map), _) => map.iter().map(|(k, v)| (Some(k), v)).collect(),
            (_, list) => list.into_iter().flatten().map(|n| (None, n)).collect(),
        };
        let maps: Vec<_> = self.complete.iter().filter(|(_, map)| *map).map(|(anchor, _)| *anchor).collect();
        if node.as_map().is_some() && !maps.is_empty() && self.dice.one_in(3) {
            let anchor = maps[self.dice.roll(maps.len())];
            self.out.push_str(&format!("{}<<: *x{anchor}", if on_line { "" } else { &indentation }));
            self.comment();
            on_line = false;
        }
        for (name, node) in entries {
            if !on_line {
                self.comment_above(column);
                self.out.push_str(&indentation);
            }
            on_line = false;
            match name {
                None => self.out.push('-'),
                Some(name) if self.dice.one_in(16) => {
                    let name = self.quoted(name);
                    self.out.push_str(&format!("? {name}\n{indentation}:"));
                }
                Some(name) => {
                    let name = self.quoted(name);
                    self.out.push_str(&format!("{name}:"));
                }
            }
            self.value(node, column, if name.is_none() { Indicator::Dash } else { Indicator::Name });
        }
    }
}

/// Returns true if a text can be written as a block scalar.
fn is_block_text(text: &str) -> bool {
    text.contains('\n') && text.trim() != "" && !text.contains(" \n")
}

/// Generates a random text and its tree.
fn text(dice: &mut Dice) -> String {
    let tree = root(dice, 4);
    let mut layout = RandomLayout { dice, out: String::new(), comments: 0, anchors: 0, complete: Vec::new() };
    if layout.dice.one_in(4) {
        layout.out.push_str("# head\n---\n");
    }
    if tree.as_map().is_some_and(Map::is_empty) || layout.dice.one_in(10) {
        let text = layout.flow(&tree);
        return layout.out + &text + "\n";
    }
    layout.block(&tree, 0, First::OnOwnLine);
    let mut out = layout.out;
    if dice.one_in(5) {
        out = out.replace('\n', "\r\n");
    }
    // Without a line break at the end, the value of a block scalar depends on the parser.
    if dice.one_in(5) && !out.contains('|') {
        out.truncate(out.trim_end_matches(['\r', '\n']).len());
    }
    out
}

/// Applies a random change to a value below a node.
fn change(dice: &mut Dice, node: &mut Node) {
    let len = node.as_map().map_or_else(|| node.as_list().map_or(0, Vec::len), Map::len);
    if len > 0 && dice.roll(4) > 0 {
        let i = dice.roll(len);
        if let Some(map) = node.as_map_mut() {
            return change(dice, &mut map.entries_mut()[i].value);
        }
        if let Some(list) = node.as_list_mut() {
            return change(dice, &mut list[i]);
        }
    }
    if let Some(map) = node.as_map_mut() {
        let name = dice.pick(NAMES);
        if len > 0 && dice.roll(2) == 0 {
            map.entries_mut().remove(dice.roll(len));
        } else if map.contains_key(name) {
            map.insert(name, tree(dice, 2));
        } else {
            let entry = [(name, tree(dice, 2))].into_iter().collect::<Map>().entries()[0].clone();
            map.entries_mut().insert(dice.roll(len + 1), entry);
        }
    } else if let Some(list) = node.as_list_mut() {
        match dice.roll(4) {
            0 if len > 0 => drop(list.remove(dice.roll(len))),
            1 if len > 0 => {
                let node = list.remove(dice.roll(len));
                list.insert(dice.roll(len), node);
            }
            _ => list.insert(dice.roll(len + 1), tree(dice, 2)),
        }
    } else {
        *node = tree(dice, 2);
    }
}

/// Collects the lines of unchanged leaves in block style: they come from the same location, and no surrounding list or
/// map was replaced. Leaves after a dash are omitted.
fn kept_lines<'t>(text: &'t str, before: &Node, after: &Node, out: &mut Vec<&'t str>) {
    use crate::yaml::Style;
    if before.meta.style == Style::Flow || before.span() != after.span() || before.meta.is_aliased {
        return;
    }
    if let (Some(before), Some(after)) = (before.as_map(), after.as_map()) {
        for entry in before.entries() {
            if let Some(value) = after.get(&entry.key.text) {
                kept_lines(text, &entry.value, value, out);
            }
        }
    } else if let (Some(before), Some(after)) = (before.as_list(), after.as_list()) {
        for node in before {
            if let Some(other) = after.iter().find(|n| n.span() == node.span()) {
                kept_lines(text, node, other, out);
            }
        }
    } else if before == after && before.scalar_text().is_some() {
        let at = before.span().start as usize;
        let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        if !text[start..at].contains("- ") && line.contains("# c") {
            out.push(line);
        }
    }
}

/// Returns true if there is new text to which blank lines below would belong. If there are blank lines of a removed
/// value below it, the document must be rewritten completely.
fn has_open_text(node: &Node) -> bool {
    let is_open = |text: &str| text.ends_with("\n\n") || text == "\n";
    match (node.as_map(), node.as_list()) {
        (Some(map), _) => map.iter().any(|(_, value)| has_open_text(value)),
        (_, Some(list)) => list.iter().any(has_open_text),
        _ => node.span().is_none() && node.as_str().is_some_and(is_open),
    }
}

fn try_read(reading: Reading, text: &str) -> Option<Vec<Node>> {
    let sources = crate::source::SourceMap::default();
    let id = sources.add("t.yaml", text);
    parse_documents(&sources, id, ParseOptions { keep_comments: true, reading, ..ParseOptions::default() })
        .ok()
}

fn yaml(node: &Node) -> String {
    write_documents_in_source_style(std::slice::from_ref(node))
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..200)
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![Just(Reading::Kustomize), Just(Reading::Kubectl)]
}

/// Returns a configuration that runs a thousand cases, or `PROPTEST_CASES` if that is more.
fn config() -> ProptestConfig {
    let default = fixed_cases();
    ProptestConfig { cases: default.cases.max(1000), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn edits_parse_back_and_keep_other_lines(bytes in bytes(), changes in bytes(), reading in reading()) {
        let text = text(&mut Dice { bytes: &bytes, at: 0 });
        let before = read_as(reading, &text);
        prop_assert_eq!(before.len(), 1, "{}", text);
        prop_assert_eq!(edit_text(&text, reading, &before, &[Some(before[0].clone())]), Ok(text.clone()));
        let mut after = before[0].clone();
        let dice = &mut Dice { bytes: &changes, at: 0 };
        for _ in 0..=dice.roll(3) {
            change(dice, &mut after);
        }
        let edited = edit_text(&text, reading, &before, &[Some(after.clone())]);
        let edited = edited.map_err(|e| TestCaseError::fail(format!("{e}: {text}\n{}", yaml(&after))))?;
        prop_assert!(read_as(reading, &edited)[0] == after, "{}\n---\n{}", text, edited);
        if has_open_text(&after) {
            return Ok(());
        }
        let mut lines = Vec::new();
        kept_lines(&text, &before[0], &after, &mut lines);
        // The first field of a map after a dash moves up to the line of the dash.
        let bare = |line: &'_ str| line.trim_start_matches([' ', '-']).to_string();
        let has: std::collections::HashSet<_> = edited.lines().map(bare).collect();
        for line in lines {
            prop_assert!(has.contains(&bare(line)), "{line:?} is lost in\n{}\n---\n{}", text, edited);
        }
    }

    #[test]
    fn malformed_texts_never_panic(
        bytes in bytes(), changes in bytes(), reading in reading(), holes in prop::collection::vec((any::<prop::sample::Index>(), "[-:?&*!|>#{}\\[\\], \na'\"%\r\t]{0,3}"), 1..5)
    ) {
        let mut text = text(&mut Dice { bytes: &bytes, at: 0 });
        for (index, new) in holes {
            let mut at = index.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.insert_str(at, &new);
        }
        let Some(before) = try_read(reading, &text) else { return Ok(()) };
        let mut after: Vec<_> = before.clone();
        let dice = &mut Dice { bytes: &changes, at: 0 };
        for document in &mut after {
            change(dice, document);
        }
        let changed: Vec<_> = after.iter().cloned().map(Some).collect();
        let edited = edit_text(&text, reading, &before, &changed);
        let edited = edited.map_err(|e| TestCaseError::fail(format!("{e}: {text:?}\n{}", yaml(&after[0]))))?;
        prop_assert!(read_as(reading, &edited) == after, "{}\n---\n{}", text, edited);
    }

    #[test]
    fn written_documents_round_trip(bytes in bytes()) {
        let dice = &mut Dice { bytes: &bytes, at: 0 };
        let documents: Vec<_> = (0..=dice.roll(3)).map(|_| tree(dice, 3)).collect();
        let text = write_documents_in_source_style(&documents);
        prop_assert!(read(&text) == documents, "{}", text);
    }
}
