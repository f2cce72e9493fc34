//! What was probably meant: names that are nearly alike.

/// "possible here: ...".
pub(super) fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("possible here: {}", names.join(", "))
}

/// "did you mean ...?", when one of the names is near enough.
pub(crate) fn suggestion(name: &str, names: &[&str]) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let allowed = (name.chars().count() / 3).clamp(1, 4);
    let near = names.iter().map(|known| (distance(&lower, &known.to_ascii_lowercase()), known));
    let (_, known) = near.filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d)?;
    Some(format!("did you mean `{known}`?"))
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
