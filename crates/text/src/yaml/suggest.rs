//! "Did you mean" suggestions: the most similar name or path.

use smol_str::SmolStr;

use super::{Node, Value};

/// Returns "expected one of: ...".
pub(super) fn list_expected(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("expected one of: {}", names.join(", "))
}

/// Returns "did you mean ...?" if one of the names is similar enough.
pub fn did_you_mean(name: &str, names: &[&str]) -> Option<String> {
    nearest_name(name, names).map(|known| format!("did you mean `{known}`?"))
}

/// Returns the most similar name, if one is similar enough.
pub fn nearest_name<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let lower = name.to_ascii_lowercase();
    let length = name.chars().count();
    let allowed = (length / 3).clamp(1, 4);
    let may_be_near = |known: &&&str| known.chars().count().abs_diff(length.min(64)) <= allowed;
    let near = names.iter().filter(|known| !known.is_empty()).filter(may_be_near);
    let near = near.map(|known| (distance(&lower, &known.to_ascii_lowercase()), known));
    near.filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d).map(|(_, known)| *known)
}

/// Returns the path that was probably intended: the same path with its first nonexistent field replaced by the most
/// similar one. A step into a list is an index or `[field=value]`, whose value may be misspelled. Any other step into a
/// list selects its first entry. The path does not go below a scalar.
pub fn nearest_path(node: &Node, path: &[impl AsRef<str>]) -> Option<Vec<String>> {
    let (root, mut node) = (node, node);
    for (i, step) in path.iter().enumerate() {
        let step = step.as_ref();
        node = match &node.value {
            Value::Map(map) => {
                let Some(field) = map.get(step) else {
                    let names: Vec<&str> = map.iter().map(|(name, _)| name).collect();
                    let mut meant: Vec<String> = path.iter().map(|step| step.as_ref().to_string()).collect();
                    meant[i] = nearest_name(step, &names)?.to_string();
                    return Some(meant);
                };
                field
            }
            Value::List(list) => match entry_named(list, step) {
                Ok(entry) => entry?,
                Err(meant) => {
                    let mut path: Vec<String> = path.iter().map(|step| step.as_ref().to_string()).collect();
                    path[i] = meant?;
                    return Some(path);
                }
            },
            Value::Scalar(_) => return Some(without_scalar(root, path, i)),
        };
    }
    None
}

/// Returns the path that was probably intended by a path that continues below the scalar at its first `depth` steps. If
/// the path without the scalar's step exists, returns it, otherwise the path of the scalar.
fn without_scalar(root: &Node, path: &[impl AsRef<str>], depth: usize) -> Vec<String> {
    let texts = |steps: &[_]| steps.iter().map(|step: &_| AsRef::<str>::as_ref(step).to_string()).collect();
    let (above, below): (Vec<String>, Vec<String>) = (texts(&path[..depth]), texts(&path[depth..]));
    let past: Vec<String> = above.iter().take(depth.saturating_sub(1)).chain(&below).cloned().collect();
    let steps: Vec<&str> = past.iter().map(String::as_str).collect();
    if steps.is_empty() || root.get_path(&steps).is_none() { above } else { past }
}

/// Returns the entry of a list that a step selects. If no entry has the value of `[field=value]`, the error is the step
/// with the most similar value.
fn entry_named<'n>(list: &'n [Node], step: &str) -> Result<Option<&'n Node>, Option<String>> {
    let selected = step.strip_prefix('[').and_then(|step| step.strip_suffix(']')?.split_once('='));
    let Some((field, value)) = selected else { return Ok(list.get(step.parse().unwrap_or(0))) };
    let value_of = |entry: &'n Node| entry.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
    if let Some(entry) = list.iter().find(|entry| value_of(entry) == Some(value)) {
        return Ok(Some(entry));
    }
    let values: Vec<&str> = list.iter().filter_map(value_of).collect();
    Err(nearest_name(value, &values).map(|meant| format!("[{field}={meant}]")))
}

/// Returns true if exactly one letter must be added, removed, replaced or swapped with its neighbor.
pub fn differ_by_one(a: &str, b: &str) -> bool {
    a.len().abs_diff(b.len()) <= 4 && may_differ_by_one(a, b) && distance(a, b) == 1
}

/// Returns false for most short ASCII texts with a larger difference, without comparing all pairs of letters.
fn may_differ_by_one(a: &str, b: &str) -> bool {
    if !a.is_ascii() || !b.is_ascii() || a.len() > 64 {
        return true;
    }
    let same = |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(x, y)| x == y).count();
    let start = same(&mut a.bytes().zip(b.bytes()));
    let end = same(&mut a.bytes().rev().zip(b.bytes().rev()));
    a.len().abs_diff(b.len()) <= 1 && start + end + 2 >= a.len().min(b.len())
}

/// Returns the number of letters that must be added, removed, replaced or swapped with their neighbor.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let changed = last[j] + usize::from(a[i] != b[j]);
            row[j + 1] = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
