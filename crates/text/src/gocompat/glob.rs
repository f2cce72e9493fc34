//! Go's `filepath.Match`: patterns of file names.

/// Returns true if a pattern contains special characters.
pub fn has_meta(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '\\'])
}

/// Returns true if a pattern matches the entire name, like `Match`. Returns `None` if the pattern is malformed.
///
/// `*` matches any text without `/`, `?` matches one character except `/`, `[a-z]` and `[^a-z]` match one character of
/// a class, and `\` escapes the next character.
pub fn matches(pattern: &str, name: &str) -> Option<bool> {
    let parts = parse(pattern)?;
    let name: Vec<char> = name.chars().collect();
    // The positions in the name at which a match of the previous parts can end.
    let mut ends = vec![false; name.len() + 1];
    ends[0] = true;
    for part in &parts {
        let mut next = vec![false; name.len() + 1];
        match part {
            Part::Any => {
                let mut is_open = false;
                for i in 0..=name.len() {
                    is_open = ends[i] || (is_open && i > 0 && name[i - 1] != '/');
                    next[i] = is_open;
                }
            }
            Part::One(class) => {
                for (i, c) in name.iter().enumerate() {
                    next[i + 1] = ends[i] && class.contains(*c);
                }
            }
        }
        ends = next;
    }
    Some(ends[name.len()])
}

/// A part of a pattern.
enum Part {
    /// `*`
    Any,
    One(Class),
}

/// The characters that a part of a pattern matches.
enum Class {
    Literal(char),
    /// `?`
    NoSlash,
    Ranges {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Class {
    fn contains(&self, c: char) -> bool {
        match self {
            Self::Literal(literal) => *literal == c,
            Self::NoSlash => c != '/',
            Self::Ranges { is_negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *is_negated
            }
        }
    }
}

fn parse(pattern: &str) -> Option<Vec<Part>> {
    let mut chars = pattern.chars().peekable();
    let mut parts = Vec::new();
    while let Some(c) = chars.next() {
        parts.push(match c {
            '*' => Part::Any,
            '?' => Part::One(Class::NoSlash),
            '\\' => Part::One(Class::Literal(chars.next()?)),
            '[' => Part::One(class(&mut chars)?),
            literal => Part::One(Class::Literal(literal)),
        });
    }
    Some(parts)
}

/// Parses a class after its `[`. Its first character may not be `]`.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Class> {
    let is_negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
            return Some(Class::Ranges { is_negated, ranges });
        }
        let low = class_member(chars)?;
        let high = if chars.next_if_eq(&'-').is_some() { class_member(chars)? } else { low };
        ranges.push((low, high));
    }
}

fn class_member(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match chars.next()? {
        '-' | ']' => None,
        '\\' => chars.next(),
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_as_in_go() {
        let table = [
            ("abc", "abc", Some(true)),
            ("*", "abc", Some(true)),
            ("*c", "abc", Some(true)),
            ("a*", "a", Some(true)),
            ("a*/b", "abc/b", Some(true)),
            ("a*/b", "a/c/b", Some(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Some(true)),
            ("ab[c]", "abc", Some(true)),
            ("ab[b-d]", "abc", Some(true)),
            ("ab[^b-d]", "abc", Some(false)),
            ("a\\*b", "a*b", Some(true)),
            ("a\\*b", "ab", Some(false)),
            ("a?b", "a☺b", Some(true)),
            ("a[^a]b", "a☺b", Some(true)),
            ("a?b", "a/b", Some(false)),
            ("[\\]a]", "]", Some(true)),
            ("[x\\-]", "-", Some(true)),
            ("[]a]", "]", None),
            ("[-]", "-", None),
            ("[x-]", "x", None),
            ("[a-b-c]", "a", None),
            ("[", "a", None),
            ("[^", "a", None),
            ("a[", "a", None),
            ("a\\", "a", None),
            ("", "", Some(true)),
            ("*", "", Some(true)),
        ];
        for (pattern, name, want) in table {
            assert_eq!(matches(pattern, name), want, "{pattern:?} {name:?}");
        }
    }
}
