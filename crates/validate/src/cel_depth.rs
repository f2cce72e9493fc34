//! Estimates the depth of the syntax tree of a CEL expression before it is parsed.
//!
//! Parsing and evaluation recurse, so the depth determines the required stack. The estimate is never too low:
//! string literals and comments are skipped only if their end is certain.

/// Returns an upper bound for the depth of the syntax tree.
pub(super) fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut deepest, mut at) = (Depth::default(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        match Token::read(bytes, at) {
            Token::LiteralOrComment { end } => {
                at = end;
                continue;
            }
            Token::UnknownEnd => return usize::MAX,
            Token::Other => {}
        }
        depth.add_byte(*byte, bytes, at);
        deepest = deepest.max(depth.now);
        at += 1;
    }
    deepest
}

/// The depth during the scan.
#[derive(Default)]
struct Depth {
    now: usize,
    /// The depth at which the operands in the current brackets start.
    base: usize,
    /// The numbers of `&&` and `||` in the current operand or brackets.
    chains: [usize; 2],
    /// The values of `base` and `chains` of the enclosing brackets.
    outer: Vec<(usize, [usize; 2])>,
}

impl Depth {
    /// Adds the levels that the byte at an offset can add to the syntax tree. An opening bracket or `?` adds two, any
    /// other operator and each field access adds one, and a chain of `&&` or `||` adds the depth of a balanced tree.
    fn add_byte(&mut self, byte: u8, bytes: &[u8], at: usize) {
        match byte {
            b'(' | b'[' | b'{' => {
                self.outer.push((self.base, self.chains));
                self.now += 2;
                (self.base, self.chains) = (self.now, [0, 0]);
            }
            b')' | b']' | b'}' => (self.base, self.chains) = self.outer.pop().unwrap_or_default(),
            // The alternatives of a conditional nest to the right.
            b'?' => {
                self.base += 2;
                (self.now, self.chains) = (self.base, [0, 0]);
            }
            b',' => (self.now, self.chains) = (self.base, [0, 0]),
            // The parser builds a balanced tree from the operands of a chain of `&&` or `||`.
            b'&' | b'|' if at > 0 && bytes[at - 1] == byte => {
                self.chains[usize::from(byte == b'|')] += 1;
                let levels = self.chains.map(|operators| (usize::BITS - operators.leading_zeros()) as usize);
                self.now = self.base + 1 + levels[0] + levels[1];
            }
            b'.' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' => self.now += 1,
            b'n' if is_in_operator(bytes, at) => self.now += 1,
            _ => {}
        }
    }
}

/// Returns true if the `n` at an offset ends the operator `in`.
fn is_in_operator(bytes: &[u8], at: usize) -> bool {
    let is_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    at > 0
        && bytes[at - 1] == b'i'
        && !is_name(bytes.get(at + 1))
        && !is_name(at.checked_sub(2).and_then(|before| bytes.get(before)))
}

/// The token at an offset of a text.
enum Token {
    /// A string literal or comment.
    LiteralOrComment {
        end: usize,
    },
    /// A string literal whose end depends on the parser.
    UnknownEnd,
    Other,
}

impl Token {
    /// Reads the token at an offset.
    fn read(bytes: &[u8], offset: usize) -> Self {
        let rest = &bytes[offset..];
        if rest.starts_with(b"//") {
            let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            return Self::LiteralOrComment { end: offset + length.unwrap_or(rest.len()) };
        }
        match rest.first() {
            Some(b'"' | b'\'') => Self::literal(bytes, offset),
            _ => Self::Other,
        }
    }

    fn literal(bytes: &[u8], at: usize) -> Self {
        let rest = &bytes[at..];
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let prefix = &bytes[at - bytes[..at].iter().rev().take_while(is_name).count()..at];
        let is_raw = match prefix {
            b"" | b"b" | b"B" => false,
            b"r" | b"R" | b"br" | b"bR" | b"Br" | b"BR" | b"rb" | b"rB" | b"Rb" | b"RB" => true,
            _ => return Self::UnknownEnd,
        };
        let is_triple = rest.starts_with(&[rest[0]; 3]);
        let close = &rest[..if is_triple { 3 } else { 1 }];
        let mut next = close.len();
        while next < rest.len() {
            match rest[next] {
                _ if rest[next..].starts_with(close) => {
                    return Self::LiteralOrComment { end: at + next + close.len() };
                }
                b'\\' if !is_raw => next += 2,
                b'\n' | b'\r' if !is_triple => break,
                _ => next += 1,
            }
        }
        if is_triple { Self::UnknownEnd } else { Self::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn chains_brackets_and_conditionals_are_counted() {
        assert_eq!(depth("a.b.c"), 2);
        assert_eq!(depth("1 + 2 - 3"), 2);
        assert!(depth("a in b in c in d") >= 3);
        assert!(depth("a ? b : a ? b : a ? b : c") >= 3);
        assert!(depth("a && b ? c : a && b ? c : a && b ? c : d") >= 3);
        assert!(depth(&"(".repeat(100)) >= 100);
        assert!(depth(&format!("f({})", vec!["a.b"; 100].join(", "))) < 6);
        let chain = |operator: &str| depth(&vec!["a.b == c.d"; 1024].join(operator));
        assert!((12..18).contains(&chain(" && ")), "a balanced tree of 1024 operands has 10 levels");
        assert!((12..18).contains(&chain(" || ")));
    }

    #[test]
    fn unterminated_literals_are_not_skipped() {
        assert_eq!(depth("'((((.+' == x"), 2);
        assert_eq!(depth(r"'\'((' == x // ((( "), 2);
        assert_eq!(depth("'''(\n''(''' == x"), 2);
        for level in ["(')'==", "(\"))))\"+", "(r')\\'+", "('\n)+", "(//'\n"] {
            assert!(depth(&level.repeat(100)) >= 100, "{level}");
        }
    }
}
