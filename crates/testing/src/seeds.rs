//! The seeds of random cases. They are the same in every run, so that a test fails only by a change that breaks it.
//! Fresh ones come with a variable, which `.ci/long` sets.

use std::env;

/// Seeds of cases that failed once, in any test. Add each new one.
const ONCE_FAILED: [u64; 1] = [
    // A Pod with two volumes of one name: an order of sorted scalars changed the first of them.
    1_795_432_525_008_961,
];

/// Returns the seeds that once failed, and from 0 on as many as the variable says, or `default`.
///
/// With the variable that ends in `_SEED`, returns only seeds from that one on.
pub fn seeds(variable: &str, default: u64) -> Vec<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number(variable).unwrap_or(default);
    if let Some(first) = number(&format!("{variable}_SEED")) {
        eprintln!("{count} random cases from seed {first} on");
        return (first..).take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
    }
    ONCE_FAILED.into_iter().chain(0..count).collect()
}
