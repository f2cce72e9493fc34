//! The cases of property tests: the same in every run.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::{Config, RngSeed};

/// The seed of all cases, unless `PROPTEST_RNG_SEED` gives another one.
const SEED: u64 = 1;

/// Returns a configuration whose cases are the same in every run: as many as `PROPTEST_CASES` says, and those that
/// failed once, from `proptest-regressions`.
#[must_use]
pub fn fixed_cases() -> ProptestConfig {
    let config = Config::default();
    match config.rng_seed {
        RngSeed::Random => ProptestConfig { rng_seed: RngSeed::Fixed(SEED), ..config },
        RngSeed::Fixed(_) => config,
    }
}
