//! Random numbers and scalars from a seed. The same seed gives the same overlay.

/// Random number generator (SplitMix64).
pub struct Dice {
    state: u64,
}

/// Scalars that are strings, in every style, as in flow mappings.
const TEXTS: [&str; 46] = [
    "plain",
    "two words",
    "1.2.3-x",
    "v1",
    "ünï",
    "http://host:80/path",
    "a;b",
    "_x",
    "-dash",
    "12h",
    "\"yes\"",
    "\"no\"",
    "\"on\"",
    "\"y\"",
    "\"0755\"",
    "\"1e3\"",
    "\"\"",
    "\"a: b\"",
    "\"tab\\there\"",
    "\"line\\nbreak\"",
    "\"line\\nbreak\\n\"",
    "\"\\nfirst\"",
    "\"  leading\"",
    "\"trailing \"",
    "\"# none\"",
    "\"null\"",
    "\"~\"",
    "\"true\"",
    "\"1\"",
    "\"1.0\"",
    "\"2020-01-01\"",
    "\"12:30\"",
    "\"{}\"",
    "\"[a]\"",
    "\"it's\"",
    "\"say \\\"hi\\\"\"",
    "\"*star\"",
    "\"&amp <b>\"",
    "\"%d @at `tick`\"",
    "\"a long text that needs more than eighty columns, so that a printer has to fold it somewhere\"",
    "\"\\U0001F600 smile\"",
    "'yes'",
    "'it''s'",
    "'0x1F'",
    "'single quoted'",
    "''",
];

/// Scalars of every type, plain or quoted.
const VALUES: [&str; 18] = [
    "1",
    "0",
    "-7",
    "1.5",
    "1e3",
    "0755",
    "0x1F",
    "1_000",
    "true",
    "false",
    "yes",
    "12345678.9",
    "2020-01-01",
    "~",
    "null",
    "{}",
    "[]",
    "{k: [1, two]}",
];

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x2545_F491_4F6C_DD1D) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `n`, which must not be zero.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("small")
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns one of the elements, if there are any.
    pub fn any<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }

    /// Returns the YAML of a string.
    pub fn text(&mut self) -> &'static str {
        self.pick(&TEXTS)
    }

    /// Returns the YAML of a value that is mostly a string.
    pub fn value(&mut self) -> &'static str {
        if self.chance(60) { self.text() } else { self.pick(&VALUES) }
    }

    /// Returns the text with the given probability, otherwise an empty one.
    pub fn maybe(&mut self, percent: usize, text: &'static str) -> &'static str {
        if self.chance(percent) { text } else { "" }
    }
}
