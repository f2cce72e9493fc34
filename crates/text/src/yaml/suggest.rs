//! What was probably meant: names that are nearly alike.

use smol_str::SmolStr;

use super::{Node, Value};

/// "possible here: ...".
pub(super) fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("possible here: {}", names.join(", "))
}

/// "did you mean ...?", when one of the names is near enough.
pub fn suggestion(name: &str, names: &[&str]) -> Option<String> {
    nearest(name, names).map(|known| format!("did you mean `{known}`?"))
}

/// The name that is most alike, if one is alike enough.
pub fn nearest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let lower = name.to_ascii_lowercase();
    let length = name.chars().count();
    let allowed = (length / 3).clamp(1, 4);
    let may_be_near = |known: &&&str| known.chars().count().abs_diff(length.min(64)) <= allowed;
    let near = names.iter().filter(|known| !known.is_empty()).filter(may_be_near);
    let near = near.map(|known| (distance(&lower, &known.to_ascii_lowercase()), known));
    near.filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d).map(|(_, known)| *known)
}

/// The path that was probably meant: the same with the first field that is not there replaced by the one that is most
/// alike. A step into a list is a position or `[field=value]`, of which the value may be the wrong one; any other leads
/// to its first entry. Nothing stands below a scalar.
pub fn nearest_path(node: &Node, path: &[impl AsRef<str>]) -> Option<Vec<String>> {
    let (root, mut node) = (node, node);
    for (i, step) in path.iter().enumerate() {
        let step = step.as_ref();
        node = match &node.value {
            Value::Map(map) => {
                let Some(field) = map.get(step) else {
                    let names: Vec<&str> = map.iter().map(|(name, _)| name).collect();
                    let mut meant: Vec<String> = path.iter().map(|step| step.as_ref().to_string()).collect();
                    meant[i] = nearest(step, &names)?.to_string();
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

/// The path that was probably meant by one that goes on below a scalar, to which the first `depth` steps lead: the one
/// that passes by the scalar, if it leads somewhere, or the one to the scalar.
fn without_scalar(root: &Node, path: &[impl AsRef<str>], depth: usize) -> Vec<String> {
    let texts = |steps: &[_]| steps.iter().map(|step: &_| AsRef::<str>::as_ref(step).to_string()).collect();
    let (above, below): (Vec<String>, Vec<String>) = (texts(&path[..depth]), texts(&path[depth..]));
    let past: Vec<String> = above.iter().take(depth.saturating_sub(1)).chain(&below).cloned().collect();
    let steps: Vec<&str> = past.iter().map(String::as_str).collect();
    if steps.is_empty() || root.get_path(&steps).is_none() { above } else { past }
}

/// The entry of a list that a step leads to; for a value that no entry has, the step with the one that is most alike.
fn entry_named<'n>(list: &'n [Node], step: &str) -> Result<Option<&'n Node>, Option<String>> {
    let selected = step.strip_prefix('[').and_then(|step| step.strip_suffix(']')?.split_once('='));
    let Some((field, value)) = selected else { return Ok(list.get(step.parse().unwrap_or(0))) };
    let value_of = |entry: &'n Node| entry.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
    if let Some(entry) = list.iter().find(|entry| value_of(entry) == Some(value)) {
        return Ok(Some(entry));
    }
    let values: Vec<&str> = list.iter().filter_map(value_of).collect();
    Err(nearest(value, &values).map(|meant| format!("[{field}={meant}]")))
}

/// Whether one letter has to be added, removed, changed or swapped with its neighbour.
pub fn differ_by_one(a: &str, b: &str) -> bool {
    a.len().abs_diff(b.len()) <= 4 && distance(a, b) == 1
}

/// How many letters have to be added, removed, changed or swapped with their neighbour.
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
