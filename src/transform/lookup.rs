//! Paths to fields as replacements and `ValueAddTransformer` write them, by the rules of kyaml.
//!
//! A part of a path is the name of a field, a position in a list (`0`, or `-` for the last entry),
//! an entry `[name=web]` or `[=value]`, or `*` for every entry. Knows nothing of what is done with
//! the values that are found.

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::gocompat::{regexp, strconv};
use crate::yaml::{Map, Node, Style, Value};

/// What a missing value is created as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Create {
    Scalar,
    Map,
    List,
}

impl Create {
    /// The same kind as another value.
    pub(super) fn like(node: &Node) -> Self {
        match node.value {
            Value::Scalar(_) => Self::Scalar,
            Value::Map(_) => Self::Map,
            Value::List(_) => Self::List,
        }
    }

    fn node(self) -> Node {
        match self {
            Self::Scalar => Node::undecided(""),
            Self::Map => Node::map(Map::new()),
            Self::List => Node::list(Vec::new()),
        }
    }

    /// What has to be created so that `next` can be found in it; `leaf` when nothing follows.
    fn for_next(next: Option<&String>, leaf: Self) -> Self {
        match next.map(String::as_str) {
            None | Some("") => leaf,
            Some(next) if is_entry(next) || strconv::atoi(next).is_some_and(|i| i >= 0) => Self::List,
            Some(_) => Self::Map,
        }
    }
}

/// Splits at a delimiter that no backslash escapes. A leading delimiter is dropped.
fn split(path: &str, delimiter: char) -> Vec<String> {
    let path = path.strip_prefix(delimiter).unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(delimiter) {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(part);
            }
            _ => parts.push(part.into()),
        }
    }
    parts
}

/// Splits `spec.containers.[name=a.b].image` at its dots. Brackets and backslashes protect dots;
/// `[a.b]`, without `=`, is the field `a.b`.
pub(super) fn split_dotted(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = split(path, '.').into_iter();
    while let Some(mut part) = rest.next() {
        if part.starts_with('[') && !part.ends_with(']') {
            for next in rest.by_ref() {
                part.push('.');
                part.push_str(&next);
                if next.ends_with(']') {
                    break;
                }
            }
            if !part.contains('=') {
                part = part.trim_matches(['[', ']']).into();
            }
        }
        parts.push(part);
    }
    parts
}

/// Splits `spec/a\/b` at the slashes that no backslash escapes.
pub(super) fn split_slashed(path: &str) -> Vec<String> {
    split(path, '/')
}

fn is_entry(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']')
}

/// `[name=value]` as name and value.
fn entry_parts(part: &str) -> Result<(&str, &str)> {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once('=').ok_or_else(|| {
        Diagnostic::error(Code::InvalidValue, format!("`{part}` does not say which entry is meant"))
            .help("write it as [field=value], or [=value] in a list of plain values")
    })
}

/// The text of a scalar; maps and lists have none.
pub(super) fn text_of(node: &Node) -> &str {
    node.scalar_text().map_or("", |text| text.as_str())
}

fn wrong_kind(node: &Node, wanted: &str, part: &str) -> Diagnostic {
    let message = format!("expected {wanted} to look for `{part}` in, found {}", node.type_name());
    Diagnostic::error(Code::WrongType, message).at(node.span())
}

/// The entries of a list; null has none.
fn entries<'n>(node: &'n Node, part: &str) -> Result<&'n [Node]> {
    match &node.value {
        Value::List(list) => Ok(list),
        _ if node.is_null() => Ok(&[]),
        _ => Err(wrong_kind(node, "a list", part)),
    }
}

/// The fields of a map; null has none.
fn fields<'n>(node: &'n Node, part: &str) -> Result<Option<&'n Map>> {
    match &node.value {
        Value::Map(map) => Ok(Some(map)),
        _ if node.is_null() => Ok(None),
        _ => Err(wrong_kind(node, "a map", part)),
    }
}

/// The parts that count for [`lookup`] and [`lookup_create`]: blanks around them do not.
fn clean(path: &[String]) -> Vec<String> {
    path.iter().map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// Where one step of [`lookup`] leads.
enum Step<'p> {
    Field(&'p str),
    Entry(usize),
}

/// One step; none when there is no such value.
fn step<'p>(node: &Node, part: &'p str) -> Result<Option<Step<'p>>> {
    if let Some(i) = strconv::atoi(part) {
        let i = usize::try_from(i).map_err(|_| {
            Diagnostic::error(Code::InvalidValue, format!("the position {part} in a list cannot be negative"))
        })?;
        return Ok((i < entries(node, part)?.len()).then_some(Step::Entry(i)));
    }
    if part == "-" {
        return Ok(entries(node, part)?.len().checked_sub(1).map(Step::Entry));
    }
    if part == "*" {
        let message = "`*` cannot be used here, where one value is wanted";
        return Err(Diagnostic::error(Code::InvalidValue, message));
    }
    if is_entry(part) {
        let (name, value) = entry_parts(part)?;
        let fits = |entry: &Node| match (name, &entry.value) {
            ("", _) => text_of(entry) == value,
            (_, Value::Map(map)) => map.get(name).is_some_and(|field| text_of(field) == value),
            _ => false,
        };
        return Ok(entries(node, part)?.iter().position(fits).map(Step::Entry));
    }
    Ok(fields(node, part)?.filter(|map| map.contains_key(part)).map(|_| Step::Field(part)))
}

/// The one value at a path. `[name=value]` is the first entry with exactly this value.
///
/// # Errors
/// A path that does not fit the types on its way, `*`, negative positions.
pub(super) fn lookup<'n>(node: &'n Node, path: &[String]) -> Result<Option<&'n Node>> {
    let mut at = node;
    for part in &clean(path) {
        let next = match step(at, part)? {
            Some(Step::Field(name)) => at.get(name),
            Some(Step::Entry(i)) => at.as_list().and_then(|list| list.get(i)),
            None => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// As [`lookup`], for a value to change.
pub(super) fn lookup_mut<'n>(node: &'n mut Node, path: &[String]) -> Result<Option<&'n mut Node>> {
    walk_mut(node, &clean(path), None)
}

/// As [`lookup_mut`], and adds what is not there, apart from positions in lists. A null on the way
/// is left as it is, and nothing is found in it.
pub(super) fn lookup_create<'n>(
    node: &'n mut Node,
    path: &[String],
    leaf: Create,
) -> Result<Option<&'n mut Node>> {
    walk_mut(node, &clean(path), Some(leaf))
}

fn walk_mut<'n>(node: &'n mut Node, path: &[String], leaf: Option<Create>) -> Result<Option<&'n mut Node>> {
    let mut at = node;
    for (i, part) in path.iter().enumerate() {
        if let Some(leaf) = leaf
            && step(at, part)?.is_none()
        {
            add(at, part, Create::for_next(path.get(i + 1), leaf))?;
        }
        let next = match step(at, part)? {
            Some(Step::Field(name)) => at.get_mut(name),
            Some(Step::Entry(i)) => at.as_list_mut().and_then(|list| list.get_mut(i)),
            None => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// Adds the field or entry that `part` names.
fn add(node: &mut Node, part: &str, kind: Create) -> Result<()> {
    match &mut node.value {
        Value::Map(map) if strconv::atoi(part).is_none() && part != "-" && !is_entry(part) => {
            map.push(part, kind.node());
        }
        Value::List(list) if is_entry(part) => list.push(new_entry(part)?),
        _ => {}
    }
    Ok(())
}

/// The entry that `[name=value]` or `[=value]` describes.
fn new_entry(part: &str) -> Result<Node> {
    let (name, value) = entry_parts(part)?;
    if name.is_empty() {
        return Ok(Node::undecided(value));
    }
    Ok(Node::map([(name, Node::undecided(value))].into_iter().collect()))
}

/// A value that [`Matches`] found.
pub(super) struct Found<'n> {
    /// The value.
    pub node: &'n mut Node,
    /// Whether it was created for this.
    pub created: bool,
}

/// Finds all values at a path, in order, and hands each to a function.
///
/// Other than for [`lookup`], the value in `[name=value]` is a regular expression that matches
/// anywhere in the field.
pub(super) struct Matches<'f> {
    /// What missing values are created as; none when they are not.
    pub create: Option<Create>,
    /// What is done with each value.
    pub each: &'f dyn Fn(Found<'_>) -> Result<()>,
    /// What to do with the rest of a path that leads into a scalar. It may be YAML or JSON itself.
    /// Returns how many values were found in there.
    pub inside: &'f dyn Fn(&mut Node, &[String]) -> Result<usize>,
}

impl Matches<'_> {
    /// Finds the values and returns how many there are.
    ///
    /// # Errors
    /// A path that does not fit the types on its way, malformed expressions, positions past the
    /// end of a list, and what the functions return.
    pub(super) fn find(&self, node: &mut Node, path: &[String]) -> Result<usize> {
        self.walk(node, path, false)
    }

    fn walk(&self, node: &mut Node, path: &[String], created: bool) -> Result<usize> {
        let Some((part, rest)) = path.split_first() else {
            (self.each)(Found { node, created })?;
            return Ok(1);
        };
        match strconv::atoi(part).and_then(|i| usize::try_from(i).ok()) {
            Some(i) => self.entry_at(node, i, part, rest),
            None if is_entry(part) => self.entries_like(node, part, rest, created),
            None if part == "*" => self.every_entry(node, rest),
            None => self.field(node, part, rest, created),
        }
    }

    fn field(&self, node: &mut Node, name: &str, rest: &[String], mut created: bool) -> Result<usize> {
        if name.is_empty() {
            return Err(Diagnostic::error(Code::InvalidValue, "the path has an empty part")
                .help("write a dot that belongs to a name as `\\.`, or put the name in brackets"));
        }
        let missing = fields(node, name)?.is_none_or(|map| !map.contains_key(name));
        if missing {
            let (Some(leaf), Some(map)) = (self.create, node.as_map_mut()) else { return Ok(0) };
            map.push(name, Create::for_next(rest.first(), leaf).node());
            created = true;
        }
        let Some(field) = node.get_mut(name) else { return Ok(0) };
        if !rest.is_empty() && matches!(field.value, Value::Scalar(_)) {
            return (self.inside)(field, rest);
        }
        self.walk(field, rest, created)
    }

    fn entry_at(&self, node: &mut Node, i: usize, part: &str, rest: &[String]) -> Result<usize> {
        let len = entries(node, part)?.len();
        let mut created = false;
        if let (true, Some(leaf), Some(list)) = (i == len, self.create, node.as_list_mut()) {
            list.push(Create::for_next(rest.first(), leaf).node());
            created = true;
        }
        let at = node.span();
        let Some(entry) = node.as_list_mut().and_then(|list| list.get_mut(i)) else {
            let message = format!("there is no entry at position {i}; the list has {len}");
            return Err(Diagnostic::error(Code::NoMatch, message).at(at));
        };
        self.walk(entry, rest, created)
    }

    fn every_entry(&self, node: &mut Node, rest: &[String]) -> Result<usize> {
        entries(node, "*")?;
        let list = node.as_list_mut().map_or(&mut [][..], Vec::as_mut_slice);
        list.iter_mut().map(|entry| self.walk(entry, rest, false)).sum()
    }

    fn entries_like(&self, node: &mut Node, part: &str, rest: &[String], created: bool) -> Result<usize> {
        let found = self.existing_like(node, part, rest, created)?;
        if found > 0 || self.create.is_none() {
            return Ok(found);
        }
        let Some(list) = node.as_list_mut() else { return Ok(0) };
        list.push(new_entry(part)?);
        // Nothing else fitted, so that this is the entry which is found.
        self.existing_like(node, part, rest, true)
    }

    fn existing_like(&self, node: &mut Node, part: &str, rest: &[String], created: bool) -> Result<usize> {
        let (name, value) = entry_parts(part)?;
        if entries(node, part)?.is_empty() {
            return Ok(0);
        }
        let regex = regexp::compile(value).map_err(|why| {
            let message = format!("`{value}` in `{part}` is not a valid regular expression");
            Diagnostic::error(Code::InvalidValue, message).note(why)
        })?;
        let mut found = 0;
        for entry in node.as_list_mut().into_iter().flatten() {
            if name.is_empty() {
                // What follows in the path is not looked at, as in kustomize v5.8.
                if regex.is_match(&as_written(entry)) {
                    (self.each)(Found { node: entry, created })?;
                    found += 1;
                }
            } else if entry.get(name).is_some_and(|field| regex.is_match(&as_written(field))) {
                found += self.walk(entry, rest, created)?;
            }
        }
        Ok(found)
    }
}

/// The text that expressions are matched against: a scalar with its quotes.
fn as_written(node: &Node) -> String {
    let text = text_of(node);
    match node.meta.style {
        Style::DoubleQuoted => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        Style::SingleQuoted => format!("'{}'", text.replace('\'', "''")),
        _ if node.is_null() && text.is_empty() => "null".into(),
        _ => text.trim().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one, to_json};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("YAML")
    }

    #[test]
    fn paths_are_split() {
        let table: &[(&str, &[&str])] = &[
            ("a.b", &["a", "b"]),
            (".a.b", &["a", "b"]),
            ("a", &["a"]),
            ("", &[""]),
            ("a..b", &["a", "", "b"]),
            ("a\\.b.c", &["a.b", "c"]),
            ("a.[x.y/z].b", &["a", "x.y/z", "b"]),
            ("a.[name=x.y].b", &["a", "[name=x.y]", "b"]),
            ("a.[name=x].0.*", &["a", "[name=x]", "0", "*"]),
            ("a.[b].c", &["a", "[b]", "c"]),
            ("a.[b.c", &["a", "b.c"]),
        ];
        for (path, want) in table {
            assert_eq!(split_dotted(path), *want, "{path}");
        }
        assert_eq!(split_slashed("/a/b\\/c/d"), ["a", "b/c", "d"]);
    }

    #[test]
    fn one_value() {
        let tree = node("{a: {b: [{name: x, v: 1}, {name: y, v: 2}]}, l: [p, q, 3], n: null, e: []}");
        let table = [
            ("a.b.0.v", Some("1")),
            ("a.b.-.v", Some("2")),
            ("a.b.[name=y].v", Some("2")),
            ("a.b.[name=].v", None),
            ("a.b. [name=y] .v", Some("2")),
            ("a..b..0.v", Some("1")),
            ("l.[=3]", Some("3")),
            ("l.[=z]", None),
            ("l.9", None),
            ("e.-", None),
            ("n.x.y", None),
            ("n", Some("null")),
        ];
        for (path, want) in table {
            let found = lookup(&tree, &split_dotted(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(found.map(text_of), want, "{path}");
        }
        for path in ["a.b.*.v", "a.b.x", "a.0", "l.-1", "a.b.[name]", "l.[x=y].0.[z=1]x.y"] {
            let found = lookup(&tree, &split_dotted(path));
            assert!(found.is_err() || path.starts_with("l.[x"), "{path}");
        }
    }

    #[test]
    fn values_are_created_on_the_way() {
        let mut tree = node("{a: {}, n: null}");
        for path in ["a.b.c", "a.l.[name=x].v", "a.p.[=z]", "a.b.d"] {
            let found = lookup_create(&mut tree, &split_dotted(path), Create::Scalar).expect(path);
            if let Value::Scalar(text) = &mut found.expect(path).value {
                *text = "1".into();
            }
        }
        let want = node("{a: {b: {c: 1, d: 1}, l: [{name: x, v: 1}], p: [1]}, n: null}");
        assert_eq!(tree, want);
        assert!(lookup_create(&mut tree, &split_dotted("n.x"), Create::Scalar).expect("no error").is_none());
        assert!(
            lookup_create(&mut tree, &split_dotted("a.q.0"), Create::Scalar).expect("no error").is_none()
        );
    }

    /// Sets all that is found to `!` and returns the JSON, or the error.
    fn mark(text: &str, path: &str, create: Option<Create>) -> String {
        let mut tree = node(text);
        let each = |found: Found<'_>| {
            *found.node = Node::string("!");
            Ok(())
        };
        let inside = |_: &mut Node, _: &[String]| Ok(0);
        let found = Matches { create, each: &each, inside: &inside }.find(&mut tree, &split_dotted(path));
        match found {
            Ok(0) => "none".into(),
            Ok(_) => to_json(&tree).expect("JSON").replace('"', ""),
            Err(error) => format!("error: {}", error.message()),
        }
    }

    #[test]
    fn all_values() {
        let list = "{l: [{name: web, v: 1}, {name: web-2, v: 2}, {v: 3}]}";
        let table = [
            (list, "l.*.v", "{l:[{name:web,v:!},{name:web-2,v:!},{v:!}]}"),
            (list, "l.[name=web].v", "{l:[{name:web,v:!},{name:web-2,v:!},{v:3}]}"),
            (list, "l.[name=^web$].v", "{l:[{name:web,v:!},{name:web-2,v:2},{v:3}]}"),
            (list, "l.[name=nope].v", "none"),
            (list, "l.1.v", "{l:[{name:web,v:1},{name:web-2,v:!},{v:3}]}"),
            (list, "l.3.v", "error: there is no entry at position 3; the list has 3"),
            (list, "l.-.v", "error: expected a map to look for `-` in, found a list"),
            (list, "l.*.w", "none"),
            (list, "l", "{l:!}"),
            (list, "x.y", "none"),
            ("{l: [ab, b, 'c']}", "l.[=b]", "{l:[!,!,c]}"),
            ("{l: [ab, b, 'c']}", "l.[=b].ignored", "{l:[!,!,c]}"),
            ("{l: ['c']}", "l.[=^c$]", "none"),
            ("{a: null}", "a", "{a:!}"),
            ("{a: {b: 1}}", "a.*", "error: expected a list to look for `*` in, found a map"),
            ("{a: 1}", ".", "error: the path has an empty part"),
        ];
        for (text, path, want) in table {
            assert_eq!(mark(text, path, None), want, "{path} in {text}");
        }
    }

    #[test]
    fn all_values_and_new_ones() {
        let table = [
            ("{}", "a.b.c", "{a:{b:{c:!}}}"),
            ("{l: []}", "l.[name=x].v", "{l:[{name:x,v:!}]}"),
            ("{}", "l.[=x]", "{l:[!]}"),
            ("{}", "l.0.v", "{l:[{v:!}]}"),
            ("{}", "l.1.v", "error: there is no entry at position 1; the list has 0"),
            ("{l: [{name: x}, {}]}", "l.*.v", "{l:[{name:x,v:!},{v:!}]}"),
            ("{l: null}", "l.[name=x].v", "none"),
        ];
        for (text, path, want) in table {
            assert_eq!(mark(text, path, Some(Create::Scalar)), want, "{path} in {text}");
        }
    }
}
