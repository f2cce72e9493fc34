//! The lines of a diff. The header of each hunk contains the path of the field around its first change.
//!
//! The texts are printed manifests, so indentation and keys are sufficient and nothing is parsed.

use serde::Serialize;
use smp_inspect::review::forms::unified_lines;
use smp_text::diagnostic::escaped;
use smp_text::path::{FieldPath, PathElement, PathValue};

/// A line of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffLine {
    /// A space, `+`, `-`, or `@` for the header of a hunk.
    pub sign: char,
    /// The text without the sign.
    pub text: String,
}

impl DiffLine {
    /// Returns the lines of a unified diff of two manifests, without the names of the files. The header of a hunk
    /// contains the path of the map or list around its first change. Control characters are escaped.
    pub fn between(old: &str, new: &str) -> Vec<Self> {
        // The first two lines are the names of the files.
        let lines = unified_lines(["", ""], [old, new]).into_iter().skip(2).map(|line| {
            let sign = line.chars().next().filter(|sign| "+-@".contains(*sign)).unwrap_or(' ');
            let text = if sign == '@' { line } else { line.get(1..).unwrap_or_default().to_string() };
            Self { sign, text }
        });
        let mut lines: Vec<Self> = lines.collect();
        name_hunks(&mut lines, [old, new]);
        lines
    }
}

/// Adds to the header of each hunk the path of the map or list that contains its first changed line.
fn name_hunks(lines: &mut [DiffLine], [old, new]: [&str; 2]) {
    let changes = first_changes(lines);
    let numbers = |sign| changes.iter().filter(move |change| change.sign == sign).map(|change| change.line);
    let mut paths = [('-', old), ('+', new)].map(|(sign, text)| (sign, enclosing(text, numbers(sign))));
    for change in &changes {
        let found = paths.iter_mut().find(|(sign, _)| *sign == change.sign);
        let path = found.and_then(|(_, paths)| paths.next()).unwrap_or_default();
        if !path.elements().is_empty() {
            lines[change.header].text.extend([" ", &escaped(&path.to_string())]);
        }
    }
}

/// The first changed line of a hunk.
struct FirstChange {
    /// The index of the header.
    header: usize,
    sign: char,
    /// The line number. It is the one in the old text for `-`, and the one in the new text for `+`.
    line: usize,
}

fn first_changes(lines: &[DiffLine]) -> Vec<FirstChange> {
    let (mut changes, mut open) = (Vec::new(), None::<(usize, [usize; 2])>);
    for (i, line) in lines.iter().enumerate() {
        match (line.sign, &mut open) {
            ('@', _) => open = starts(&line.text).map(|starts| (i, starts)),
            (' ', Some((_, starts))) => starts.iter_mut().for_each(|start| *start += 1),
            (sign @ ('-' | '+'), Some((header, [old, new]))) => {
                changes.push(FirstChange {
                    header: *header,
                    sign,
                    line: if sign == '-' { *old } else { *new },
                });
                open = None;
            }
            _ => {}
        }
    }
    changes
}

/// Returns the numbers of the first lines of a hunk in both texts, from its header, such as `@@ -1,4 +1,5 @@`.
fn starts(header: &str) -> Option<[usize; 2]> {
    let mut words = header.split(' ').skip(1);
    let mut start = |sign| {
        let word = words.next()?.strip_prefix(sign)?;
        word.split(',').next()?.parse().ok()
    };
    Some([start('-')?, start('+')?])
}

/// Returns the paths of the maps and lists that contain the given lines, which are in ascending order.
fn enclosing(text: &str, numbers: impl Iterator<Item = usize>) -> std::vec::IntoIter<FieldPath> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut outline, mut paths) = (Outline::default(), Vec::new());
    let mut read = 0;
    for number in numbers {
        while read + 1 < number {
            outline.read(&lines, read);
            read += 1;
        }
        paths.push(outline.before(&lines, read));
    }
    paths.into_iter()
}

/// The fields and list entries that contain a line.
#[derive(Debug, Default)]
struct Outline {
    steps: Vec<Step>,
    /// The column of the field or entry with the block scalar that contains the line.
    scalar: Option<usize>,
}

#[derive(Debug)]
struct Step {
    column: usize,
    kind: StepKind,
}

#[derive(Debug)]
enum StepKind {
    Field(String),
    /// An entry with an index, and the line on which it begins.
    Entry {
        index: usize,
        line: usize,
    },
}

impl Outline {
    /// Reads a line. The fields and entries that it begins contain the following lines.
    fn read(&mut self, lines: &[&str], number: usize) {
        let Some((mut column, mut rest)) = self.enter(lines, number) else { return };
        while let Some(entry) = entry(rest) {
            let index = self.leave_entry(column);
            self.steps.push(Step { column, kind: StepKind::Entry { index, line: number } });
            let content = entry.trim_start_matches(' ');
            self.scalar = is_block_scalar(content).then_some(column);
            column += rest.len() - content.len();
            rest = content;
        }
        if let Some((key, value)) = field(rest) {
            self.leave(column);
            self.steps.push(Step { column, kind: StepKind::Field(key) });
            self.scalar = is_block_scalar(value.trim()).then_some(column);
        }
    }

    /// Returns the column and the content of a line, or `None` for a blank line or a line of a block scalar.
    fn enter<'l>(&mut self, lines: &[&'l str], number: usize) -> Option<(usize, &'l str)> {
        let (column, rest) = indented(lines.get(number)?);
        if rest.is_empty() || self.scalar.is_some_and(|owner| column > owner) {
            return None;
        }
        self.scalar = None;
        Some((column, rest))
    }

    /// Removes all steps that do not contain a field at a column.
    fn leave(&mut self, column: usize) {
        while self.steps.pop_if(|step| step.column >= column).is_some() {}
    }

    /// Removes all steps that do not contain an entry at a column, and returns the index of this entry. The field with
    /// the list may be at the same column.
    fn leave_entry(&mut self, column: usize) -> usize {
        let mut next = 0;
        while let Some(step) = self.steps.pop_if(|step| {
            step.column > column || (step.column == column && matches!(step.kind, StepKind::Entry { .. }))
        }) {
            if let StepKind::Entry { index, .. } = step.kind
                && step.column == column
            {
                next = index + 1;
            }
        }
        next
    }

    /// Returns the path of the map or list that contains a line, and removes all steps below it.
    fn before(&mut self, lines: &[&str], number: usize) -> FieldPath {
        match self.enter(lines, number) {
            Some((column, rest)) if entry(rest).is_some() => {
                // The next entry needs the index of the current one, so only deeper steps are removed.
                while self.steps.pop_if(|step| step.column > column).is_some() {}
                let is_own = |step: &&Step| step.column < column || matches!(step.kind, StepKind::Field(_));
                path(self.steps.iter().filter(is_own), lines)
            }
            Some((column, _)) => {
                self.leave(column);
                path(self.steps.iter(), lines)
            }
            None => path(self.steps.iter(), lines),
        }
    }
}

fn path<'s>(steps: impl Iterator<Item = &'s Step>, lines: &[&str]) -> FieldPath {
    let mut path = FieldPath::default();
    for step in steps {
        path.push(match &step.kind {
            StepKind::Field(name) => PathElement::Field(name.into()),
            StepKind::Entry { index, line } => match entry_name(lines, *line, step.column) {
                Some(name) => PathElement::Key(vec![("name".into(), PathValue::Str(name.into()))]),
                None => PathElement::Index(*index),
            },
        });
    }
    path
}

/// The maximum number of lines of an entry that are searched for its name.
const NAME_WITHIN: usize = 200;

/// Returns the `name` of the list entry that begins on a line.
fn entry_name(lines: &[&str], first: usize, column: usize) -> Option<String> {
    let own = lines.get(first)?.get(column..).and_then(entry)?;
    let own = own.trim_start_matches(' ');
    // An entry that does not begin with a field is a scalar or a list.
    field(own)?;
    let own = std::iter::once(own);
    let others = lines[first + 1..].iter().map(|line| indented(line));
    let others = others.take_while(|(at, rest)| rest.is_empty() || *at > column).take(NAME_WITHIN);
    let others = others.filter(|(at, _)| *at == column + 2).map(|(_, rest)| rest);
    let mut fields = own.chain(others).filter_map(field);
    let name = fields.find(|(key, _)| key == "name")?.1.trim();
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_string())
}

/// Splits a line into the column of its content and the content.
fn indented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len(), rest)
}

/// Returns the text after the `-` of a list entry.
fn entry(content: &str) -> Option<&str> {
    content.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Splits a field into its key and its value.
fn field(content: &str) -> Option<(String, &str)> {
    let quote = content.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let (key, value) = content[1..].split_once(&format!("{quote}:"))?;
        return Some((key.to_string(), value));
    }
    let end = content.find(": ").or_else(|| content.strip_suffix(':').map(str::len))?;
    Some((content[..end].to_string(), &content[end + 1..]))
}

/// Returns true for the start of a block scalar, such as `|-`.
fn is_block_scalar(value: &str) -> bool {
    value.strip_prefix(['|', '>']).is_some_and(|rest| rest.chars().all(|c| "+-0123456789".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: &str = "\
kind: Deployment
spec:
  replicas: 1
  template:
    spec:
      containers:
      - args:
        - |
          name: not a field
            deeper: 1
        - --verbose
        image: web:1
        name: web
        resources:
          limits:
            cpu: 100m
      - image: proxy:1
        name: \"proxy\"
      - command:
        - run
        - other
data:
  \"a: b\": one
  app.conf: |
    first: 1

    second: 2
";

    /// Returns the paths in the headers of the hunks if a line is replaced.
    fn names(line: &str) -> Vec<String> {
        assert!(WEB.contains(line), "{line}");
        let new = WEB.replace(line, "changed");
        let lines = DiffLine::between(WEB, &new);
        let headers = lines.iter().filter(|line| line.sign == '@');
        headers.map(|line| line.text.split(" @@").nth(1).unwrap_or_default().trim().to_string()).collect()
    }

    #[test]
    fn hunks_are_named_by_the_fields_around_the_first_change() {
        let web = "spec.template.spec.containers[name=web]";
        for (line, name) in [
            ("kind: Deployment", ""),
            ("  replicas: 1", "spec"),
            ("            cpu: 100m", &format!("{web}.resources.limits")),
            ("            deeper: 1", &format!("{web}.args[0]")),
            ("        - --verbose", &format!("{web}.args")),
            ("        image: web:1", web),
            ("      - image: proxy:1", "spec.template.spec.containers"),
            ("        name: \"proxy\"", "spec.template.spec.containers[name=proxy]"),
            ("        - other", "spec.template.spec.containers[2].command"),
            ("  \"a: b\": one", "data"),
            ("    second: 2", "data[\"app.conf\"]"),
        ] {
            assert_eq!(names(line), [name], "{line}");
        }
    }

    #[test]
    fn each_hunk_has_a_name() {
        let text = |value: u32| {
            let others = "  a: 1\n  b: 2\n  c: 3\n  d: 4\n";
            let entry = |i: u32| format!("- name: e{i}\n{others}  value: {value}\n{others}");
            format!("list:\n{}", (0..3).map(entry).collect::<String>())
        };
        let lines = DiffLine::between(&text(1), &text(2));
        let headers = lines.iter().filter(|line| line.sign == '@').map(|line| &*line.text);
        let headers: Vec<&str> = headers.collect();
        assert_eq!(headers.len(), 3, "{headers:?}");
        for (i, header) in headers.iter().enumerate() {
            assert!(header.ends_with(&format!("@@ list[name=e{i}]")), "{header}");
        }
        let created = DiffLine::between("", "a: 1\nb: 2\n");
        assert!(created[0].text.ends_with("@@"), "{}", created[0].text);
    }

    #[test]
    fn texts_that_are_no_manifests_do_no_harm() {
        for text in
            ["", "\n", "-", "- - -\n", "\"", "'a", "|\n", ": \n", "é: [\n", "-\u{a0}x: 1\n", "\"é\": |\n x\n"]
        {
            let changed = format!("{text}z\n");
            assert!(DiffLine::between(text, &changed).iter().any(|line| line.sign == '+'), "{text:?}");
            assert!(DiffLine::between(&changed, text).iter().any(|line| line.sign == '-'), "{text:?}");
        }
    }
}
