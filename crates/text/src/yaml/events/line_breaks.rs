//! Characters that the parser treats differently from libyaml: the line breaks of YAML 1.1 (U+0085, U+2028 and
//! U+2029) and byte order marks within a document.
//!
//! kubectl and kustomize end lines at these breaks, and keep U+2028 and U+2029 in the value. The parser gets a text in
//! which each break is replaced by an unused letter and a line feed. In its events, the letter is replaced by libyaml's
//! result for the break. libyaml treats a byte order mark as an ordinary letter. This module does not depend on
//! indentation.

use std::borrow::Cow;

use granit_parser::{Event, ScalarStyle};

use super::padding::{BOM, bom_length, replace_later_boms};

/// The additional line breaks of YAML 1.1.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Ranges of replacement letters for the breaks and for a byte order mark. The letters have the same length in UTF-8
/// and are practically unused.
const LETTERS: [std::ops::RangeInclusive<char>; 4] =
    ['\u{7c0}'..='\u{7ea}', '\u{e000}'..='\u{e0ff}', '\u{e100}'..='\u{e1ff}', '\u{e200}'..='\u{e2ff}'];

/// A text in which these characters are replaced, as it is passed to the parser.
pub(super) struct LineBreakText {
    pub text: String,
    /// The letters for the breaks.
    letters: [char; 3],
    /// The letter for a byte order mark.
    mark: char,
    /// The positions of added line breaks in the replaced text.
    added: Vec<usize>,
}

impl LineBreakText {
    /// Replaces NEL, LS, PS and later byte order marks by unused letters. Returns `None` if the text contains none of
    /// these characters, or if no unused letter is left.
    pub fn new(text: &str) -> Option<Self> {
        let has_marks = memchr::memmem::find(&text.as_bytes()[bom_length(text)..], BOM.as_bytes()).is_some();
        if !has_marks && !text.contains(BREAKS) {
            return None;
        }
        let marked = if has_marks { replace_later_boms(text) } else { None };
        Self::with_letters(marked.as_deref().unwrap_or(text))
    }

    fn with_letters(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let is_free =
            |letter: &char| !lower.contains(*letter) && !lower.contains(&format!("{:x}", u32::from(*letter)));
        let [next, line, paragraph, mark] = LETTERS.map(|mut letters| letters.find(is_free));
        let (letters, mark) = ([next?, line?, paragraph?], mark?);
        let (mut out, mut added) = (String::with_capacity(text.len() + 16), Vec::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let Some(i) = BREAKS.iter().position(|known| *known == c) else {
                // The parser skips byte order marks at the start of a text.
                let is_letter = BOM.starts_with(c) && !out.is_empty() && out != BOM;
                out.push(if is_letter { mark } else { c });
                continue;
            };
            // A line that contains only the break is blank.
            let line = out.rsplit('\n').next().unwrap_or_default();
            if i == 0 && line.trim_matches([' ', '\t']).is_empty() {
                out.push_str("  ");
            } else {
                out.push(letters[i]);
                if chars.peek().is_some_and(|next| BREAKS.contains(next)) {
                    continue;
                }
            }
            added.push(out.len());
            out.push('\n');
        }
        Some(Self { text: out, letters, mark, added })
    }

    /// Converts a position in the replaced text to one in the original text.
    pub fn original_position(&self, at: usize) -> usize {
        at - self.added.partition_point(|added| *added < at)
    }

    /// Restores libyaml's result in an event.
    pub fn restore<'e>(&self, event: Event<'e>) -> Event<'e> {
        let marked = |text: Cow<'e, str>| {
            if text.contains(self.mark) { Cow::Owned(text.replace(self.mark, BOM)) } else { text }
        };
        match self.with_breaks(event) {
            Event::Scalar(text, style, anchor, tag) => Event::Scalar(marked(text), style, anchor, tag),
            Event::Comment(text, placement) => Event::Comment(marked(text), placement),
            other => other,
        }
    }

    fn with_breaks<'e>(&self, event: Event<'e>) -> Event<'e> {
        match event {
            Event::Scalar(text, style, anchor, tag) if text.contains(self.letters) => {
                let text = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => self.block(&text),
                    ScalarStyle::Plain => {
                        self.flow(text.trim_matches(|c| self.letters.contains(&c) || matches!(c, ' ' | '\n')))
                    }
                    _ => self.flow(&text),
                };
                Event::Scalar(Cow::Owned(text), style, anchor, tag)
            }
            Event::Comment(text, placement) if text.contains(self.letters) => {
                let text = text.trim_end_matches(self.letters).trim_end().to_string();
                Event::Comment(Cow::Owned(text), placement)
            }
            other => other,
        }
    }

    /// Returns libyaml's value for the break of a letter: U+0085 becomes a line feed, and the others are kept.
    fn read_as(&self, letter: char) -> Option<char> {
        let i = self.letters.iter().position(|known| *known == letter)?;
        Some(if i == 0 { '\n' } else { BREAKS[i] })
    }

    /// Restores the text of a block scalar. Each break ends a line, and the added line feed is dropped.
    fn block(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let Some(read) = self.read_as(c) else {
                out.push(c);
                continue;
            };
            if chars.peek().is_some_and(|next| self.letters.contains(next)) {
                out.push(read);
                continue;
            }
            match chars.next_if(|next| matches!(next, '\n' | ' ')) {
                Some(' ') if read == '\n' => out.push(' '),
                Some(_) => out.push(read),
                // The last line has no break.
                None => {}
            }
        }
        out
    }

    /// Restores the text of a folded scalar. If the first of several breaks is a line feed, it is dropped.
    fn flow(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let Some(first) = self.read_as(c) else {
                out.push(c);
                continue;
            };
            out.truncate(out.trim_end_matches([' ', '\t']).len());
            let mut more = String::new();
            while let Some(next) =
                chars.next_if(|next| matches!(next, ' ' | '\n') || self.read_as(*next).is_some())
            {
                match self.read_as(next) {
                    Some(read) => more.push(read),
                    None if next == '\n' => more.push('\n'),
                    None => {}
                }
            }
            match (first, more.as_str()) {
                ('\n', "") => out.push(' '),
                ('\n', more) => out.push_str(more),
                (first, more) => {
                    out.push(first);
                    out.push_str(more);
                }
            }
        }
        out
    }
}
