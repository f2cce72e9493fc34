//! The source of the workspace, as the checks need it: its files, and for each the modules that it defines, its
//! imports, and the paths in its code. Tests are excluded.
//!
//! This is not a compiler. It does not see macro output, method calls (which use no path), names imported by a
//! glob, nor `self` and `super` inside inline modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The segments of a path such as `super::parse::parse_one`.
pub type Segments = Vec<String>;

/// One file of the library.
#[derive(Debug, Default)]
pub struct SourceFile {
    /// The path below `src/`, with slashes.
    pub name: String,
    /// The module that the file defines. Empty for the root of the crate.
    pub module: Segments,
    /// The child modules declared in files of their own, without test modules.
    pub children: BTreeSet<String>,
    /// The names of all top-level items.
    pub items: BTreeSet<String>,
    /// The paths of imported names.
    pub bindings: BTreeMap<String, Segments>,
    /// The imported paths and the paths in the code. Names re-exported with `pub use` are excluded unless the
    /// file's own code uses them.
    pub paths: BTreeSet<Segments>,
    /// The tokens of the file.
    pub tokens: Vec<Token>,
}

/// The files below a directory with their texts, keyed by relative path with slashes.
fn texts(directory: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(directory).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_string();
        if path.is_dir() {
            texts.extend(
                self::texts(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)),
            );
        } else if path.extension().is_some_and(|e| e == "rs") {
            texts.push((name, fs::read_to_string(&path).expect("a source file")));
        }
    }
    texts.sort();
    texts
}

/// A crate of the workspace, without its tests.
pub struct Library {
    /// The directory below the root of the workspace: `src` or `crates/text/src`.
    pub directory: String,
    pub files: Vec<SourceFile>,
}

/// Crates that only tests use.
const TEST_CRATES: [&str; 2] = ["random-cases", "testing"];

/// All crates of the workspace except test crates, the root package first.
pub fn libraries() -> Vec<Library> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).expect("crates").map(|entry| entry.expect("an entry"));
    let names: BTreeSet<_> = crates.map(|entry| entry.file_name().into_string().expect("a name")).collect();
    let names = names.into_iter().filter(|name| !TEST_CRATES.contains(&name.as_str()));
    let directories = names.map(|name| format!("crates/{name}/src"));
    let read = |directory: String| {
        let files = files(&texts(&root.join(&directory)));
        assert!(!files.is_empty(), "{directory} has no files");
        Library { directory, files }
    };
    [String::from("src")].into_iter().chain(directories).map(read).collect()
}

/// Parses the files of a library.
fn files(texts: &[(String, String)]) -> Vec<SourceFile> {
    let (files, tests): (Vec<_>, Vec<_>) = texts.iter().map(|(name, text)| read(name, text)).unzip();
    let tests = tests.concat();
    files.into_iter().filter(|file| !tests.iter().any(|test| file.module.starts_with(test))).collect()
}

/// Parses the files of a made-up library.
pub fn made_up(texts: &[(&str, &str)]) -> Vec<SourceFile> {
    let texts: Vec<_> = texts.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    files(&texts)
}

/// Parses a file. Also returns the test modules that it declares in files of their own.
fn read(name: &str, text: &str) -> (SourceFile, Vec<Segments>) {
    let stem = name.trim_end_matches(".rs");
    let mut module: Segments = stem.split('/').map(str::to_string).collect();
    module.pop_if(|last| matches!(last.as_str(), "mod" | "lib"));
    let Tokens { all: tokens, test_modules } = Tokens::parse(text);
    let tests = test_modules.into_iter().map(|test| [module.clone(), vec![test]].concat()).collect();
    let file = SourceFile { name: name.into(), module, ..SourceFile::default() };
    let mut reader = Reader::new(file, &tokens);
    reader.all();
    let used = reader.reexports.into_iter().filter(|(name, _)| reader.words.contains(name));
    reader.file.paths.extend(used.map(|(_, path)| path));
    let file = SourceFile { tokens: tokens.clone(), ..reader.file };
    (file, tests)
}

/// A token. Literals, lifetimes and attributes are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A word and its line.
    Word(String, usize),
    /// The path separator `::`.
    Separator,
    Sign(char),
}

impl Token {
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(text, _) if text == word)
    }
}

/// The tokens of a source text, without those of tests.
pub fn tokens_of(text: &str) -> Vec<Token> {
    Tokens::parse(text).all
}

/// The tokens of a source, and the test modules that it declares in files of their own. Test items, attributes,
/// literals and lifetimes are skipped.
#[derive(Default)]
struct Tokens {
    all: Vec<Token>,
    test_modules: Vec<String>,
}

impl Tokens {
    fn parse(text: &str) -> Self {
        let mut tokens = Self::default();
        tokens.add(text.parse().expect("Rust"));
        tokens
    }

    fn add(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter().peekable();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    // `#![...]` is one of the whole file.
                    trees.next_if(|next| is_sign(next, '!'));
                    if trees.next().is_some_and(|attribute| is_for_tests(&attribute)) {
                        self.skip_item(&mut trees);
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == '\'' => drop(trees.next()),
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    let second =
                        trees.next_if(|next| punct.spacing() == Spacing::Joint && is_sign(next, ':'));
                    self.all.push(second.map_or(Token::Sign(':'), |_| Token::Separator));
                }
                TokenTree::Punct(punct) => self.all.push(Token::Sign(punct.as_char())),
                TokenTree::Ident(word) => {
                    self.all.push(Token::Word(word.to_string(), word.span().start().line));
                }
                TokenTree::Group(group) => self.add_group(&group),
                TokenTree::Literal(_) => {}
            }
        }
    }

    fn add_group(&mut self, group: &Group) {
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ('(', ')'),
            Delimiter::Brace => ('{', '}'),
            Delimiter::Bracket => ('[', ']'),
            Delimiter::None => return self.add(group.stream()),
        };
        self.all.push(Token::Sign(open));
        self.add(group.stream());
        self.all.push(Token::Sign(close));
    }

    /// Skips an item, which ends with its body or with a semicolon.
    fn skip_item(&mut self, trees: &mut impl Iterator<Item = TokenTree>) {
        let mut words = Vec::new();
        for tree in trees {
            match tree {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                TokenTree::Punct(punct) if punct.as_char() == ';' => break,
                TokenTree::Ident(word) => words.push(word.to_string()),
                _ => {}
            }
        }
        if let [.., keyword, name] = words.as_slice()
            && keyword == "mod"
        {
            self.test_modules.push(name.clone());
        }
    }
}

fn is_sign(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Reports whether an attribute is `[cfg(test)]` or `[cfg(all(test, ...))]`.
fn is_for_tests(attribute: &TokenTree) -> bool {
    let text: String = attribute.to_string().chars().filter(|c| !c.is_whitespace()).collect();
    text.starts_with("[cfg(test)") || text.starts_with("[cfg(all(test,")
}

/// The index after the bracket that closes the one at `at`.
fn closing(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// Reads the tokens of a file.
struct Reader<'t> {
    file: SourceFile,
    tokens: &'t [Token],
    at: usize,
    /// The number of open braces.
    depth: usize,
    /// The names of its `pub use` items, and their paths.
    reexports: Vec<(String, Segments)>,
    /// All words of its code.
    words: BTreeSet<String>,
}

impl<'t> Reader<'t> {
    fn new(file: SourceFile, tokens: &'t [Token]) -> Self {
        Self { file, tokens, at: 0, depth: 0, reexports: Vec::new(), words: BTreeSet::new() }
    }

    fn all(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            let begins = self.begins_item();
            self.at += 1;
            match token {
                Token::Sign('{') => self.depth += 1,
                Token::Sign('}') => self.depth = self.depth.saturating_sub(1),
                Token::Word(word, _) if word == "pub" => self.visibility(),
                Token::Word(word, _) if begins => self.item_or_code(word),
                Token::Word(word, _) => self.code(word),
                _ => {}
            }
        }
    }

    /// Returns true if an item may begin here.
    fn begins_item(&self) -> bool {
        let before = self.at.checked_sub(1).map(|i| &self.tokens[i]);
        before.is_none_or(|token| match token {
            Token::Sign(sign) => matches!(sign, ';' | '{' | '}' | ']' | ')'),
            Token::Word(word, _) => matches!(word.as_str(), "pub" | "unsafe" | "async" | "const"),
            Token::Separator => false,
        })
    }

    /// Skips `(crate)`, and reads a re-export.
    fn visibility(&mut self) {
        if self.tokens.get(self.at) == Some(&Token::Sign('(')) {
            self.at = closing(self.tokens, self.at);
        }
        if self.tokens.get(self.at).is_some_and(|token| token.is("use")) {
            self.at += 1;
            let names = self.import();
            self.reexports.extend(names);
        }
    }

    /// Reads an item if this is the first word of one.
    fn item_or_code(&mut self, word: &str) {
        match word {
            "use" => {
                let names = self.import();
                self.file.paths.extend(names.into_iter().map(|(_, path)| path));
            }
            "mod" => self.module(),
            "struct" | "enum" | "trait" | "type" | "fn" | "const" | "static" => drop(self.item()),
            _ => self.code(word),
        }
    }

    fn code(&mut self, word: &str) {
        self.words.insert(word.into());
        self.path(word);
    }

    /// Reads the name after a keyword, if there is one.
    fn name(&mut self) -> Option<String> {
        let Token::Word(name, _) = self.tokens.get(self.at).filter(|token| !token.is("fn"))? else {
            return None;
        };
        self.at += 1;
        Some(name.clone())
    }

    fn item(&mut self) -> Option<String> {
        let name = self.name();
        if self.depth == 0 {
            self.file.items.extend(name.clone());
        }
        name
    }

    fn module(&mut self) {
        let name = self.name();
        if self.tokens.get(self.at) == Some(&Token::Sign(';')) {
            self.file.children.extend(name);
        } else {
            self.file.items.extend(name);
        }
    }

    /// Reads an import after its `use`: the names and their paths.
    fn import(&mut self) -> Vec<(String, Segments)> {
        let mut names = Vec::new();
        self.import_tree(&Segments::new(), &mut names);
        if self.depth == 0 {
            self.file.bindings.extend(names.iter().cloned());
        }
        names
    }

    /// Reads one tree of an import, up to the `,`, `}` or `;` after it.
    fn import_tree(&mut self, before: &Segments, names: &mut Vec<(String, Segments)>) {
        let (mut path, mut name, mut names_something) = (before.clone(), None, false);
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Sign(',' | '}' | ';') => break,
                Token::Sign('{') => {
                    while !matches!(self.tokens.get(self.at), Some(Token::Sign('}')) | None) {
                        self.at += 1;
                        self.import_tree(&path, names);
                    }
                    self.at += 1;
                    return;
                }
                Token::Word(word, _) if word == "as" => {
                    self.at += 1;
                    name = self.name();
                    continue;
                }
                Token::Word(word, _) if word == "self" && !path.is_empty() => names_something = true,
                Token::Word(word, _) => {
                    path.push(word.clone());
                    names_something = true;
                }
                _ => names_something |= *token == Token::Sign('*'),
            }
            self.at += 1;
        }
        if names_something {
            let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
            names.push((name, path));
        }
    }

    /// Reads a path in code; `first` is the first segment.
    fn path(&mut self, first: &str) {
        let before = self.at.checked_sub(2).map(|i| &self.tokens[i]);
        let mut path = vec![first.to_string()];
        while let [Token::Separator, Token::Word(word, _), ..] = &self.tokens[self.at..] {
            path.push(word.clone());
            self.at += 2;
        }
        if path.len() > 1 && before != Some(&Token::Separator) {
            self.file.paths.insert(path);
        }
    }
}
