//! Which random cases a run tries.

use std::env;
use std::time::UNIX_EPOCH;

/// The seeds of the cases, as many as the variable says, or `default`.
///
/// One in `fresh` is a seed that no run had before, the others are the same in every run: enough new ones to
/// find what is wrong in time, few enough that a rare mistake seldom stops a change that did not make it. With
/// the variable that ends in `_SEED`, all seeds run on from that one.
pub fn seeds(variable: &str, default: u64, fresh: u64) -> Vec<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number(variable).unwrap_or(default);
    if let Some(first) = number(&format!("{variable}_SEED")) {
        return (first..).take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
    }
    let news = count.div_ceil(fresh);
    let first = UNIX_EPOCH.elapsed().map_or(1, |time| time.as_secs() * 1_000_000);
    eprintln!("{count} random cases, {news} of them from seed {first} on");
    (0..count - news).chain(first..first + news).collect()
}
