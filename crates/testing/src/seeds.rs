//! Seeds of random cases. They are the same in every run, so that a test only fails because of a change. A variable,
//! which `.ci/long` sets, selects new ones.

use std::env;

/// Seeds that failed before, in any test. Add each new one.
const FAILED_BEFORE: [u64; 1] = [
    // A Pod with two volumes of the same name: sorting scalars changed the first of them.
    1_795_432_525_008_961,
];

/// Returns the seeds that failed before, and those from 0 up to the count in the variable, or `default`.
///
/// If the variable that ends in `_SEED` is set, returns only seeds from that one on.
pub fn seeds(variable: &str, default: u64) -> Vec<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number(variable).unwrap_or(default);
    if let Some(first) = number(&format!("{variable}_SEED")) {
        eprintln!("{count} random cases from seed {first} on");
        return (first..).take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
    }
    FAILED_BEFORE.into_iter().chain(0..count).collect()
}
