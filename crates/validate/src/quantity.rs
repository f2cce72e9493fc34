//! Quantities such as `500m`, `1.5Gi` and `1e3`, parsed like `resource.ParseQuantity` of apimachinery.

use std::cmp::Ordering;

use smol_str::SmolStr;

use smp_text::yaml::Node;

/// Suffixes and their exponents: powers of two, then of ten.
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// The maximum number of significant digits. A number with more digits exceeds the largest quantity.
const DIGITS: usize = 24;
/// The largest quantity, 2^63-1, in billionths.
const LARGEST: i128 = (i64::MAX as i128) * NANO;
const NANO: i128 = 1_000_000_000;

/// An amount in billionths, the resolution of the API server. As in the API server, larger amounts are capped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(i128);

impl Quantity {
    /// Parses a text; returns `None` if it is not a quantity.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let amount = match BINARY.iter().find(|(unit, _)| *unit == suffix) {
            Some((_, bits)) => scaled(whole, fraction, 9)?.saturating_mul(1 << bits),
            None => scaled(whole, fraction, 9 + exponent(suffix)?)?,
        };
        let amount = amount.min(LARGEST);
        Some(Self(if text.starts_with('-') { -amount } else { amount }))
    }

    /// Parses a scalar.
    pub(super) fn from_node(value: &Node) -> Option<Self> {
        Self::parse(value.as_str().or_else(|| value.scalar_text().map(SmolStr::as_str))?)
    }

    pub(super) fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub(super) fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// Returns true if there is no fraction.
    pub(super) fn is_whole(self) -> bool {
        self.0 % NANO == 0
    }

    /// Returns true for a whole amount that fits in 64 bits in thousandths, as the API server requires.
    pub(super) fn is_countable(self) -> bool {
        self.is_whole() && self.0 <= LARGEST / 1000
    }
}

/// Compares two quantities; `None` if a value is not a quantity.
#[must_use]
pub fn compare_quantities(one: &Node, other: &Node) -> Option<Ordering> {
    Some(Quantity::from_node(one)?.cmp(&Quantity::from_node(other)?))
}

/// Returns true if two texts are quantities of the same amount.
pub fn is_same_quantity(one: &str, other: &str) -> bool {
    Quantity::parse(one).is_some_and(|one| Quantity::parse(other) == Some(one))
}

fn exponent(suffix: &str) -> Option<i32> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(unit, _)| *unit == suffix) {
        return Some(*exponent);
    }
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let plain = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    let is_number = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse::<i32>().unwrap_or(1000).clamp(-1000, 1000))
}

/// Multiplies a decimal number by a power of ten, rounding up.
fn scaled(whole: &str, fraction: &str, power: i32) -> Option<i128> {
    let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
    let digits = if fraction.is_empty() { digits.as_str() } else { digits.trim_end_matches('0') };
    let places = i32::try_from(fraction.trim_end_matches('0').len()).ok()?;
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    if significant.len() > DIGITS {
        return Some(LARGEST);
    }
    let value: i128 = significant.parse().ok()?;
    let power = power - places;
    if power >= 0 {
        let factor = 10_i128.checked_pow(power.unsigned_abs()).unwrap_or(LARGEST);
        return Some(value.saturating_mul(factor));
    }
    let divisor = 10_i128.checked_pow(power.unsigned_abs()).unwrap_or(i128::MAX);
    Some(value / divisor + i128::from(value % divisor != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_amounts() {
        let table = [
            ("1", "1000m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.", "1"),
            ("1Ki", "1024"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1k"),
            ("1E", "1000P"),
            ("1e-3", "1m"),
            ("0001", "1"),
            ("+2", "2"),
            (" 2 ", "2"),
            ("1n", "0.5n"),
            ("100000000000000000000E", "9223372036854775807"),
        ];
        for (one, other) in table {
            assert!(Quantity::parse(one).is_some(), "{one}");
            assert_eq!(Quantity::parse(one), Quantity::parse(other), "{one} {other}");
        }
        for text in ["", "m", "1x", "1 Gi", "1ki", "1mi", "1.2.3", "1e", "--1", "1gi", "half", "1MB", "."] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
        assert!(Quantity::parse("100m") < Quantity::parse("0.2"));
        assert!(Quantity::parse("-1").is_some_and(Quantity::is_negative));
        assert!(!Quantity::parse("1.5").is_some_and(Quantity::is_whole));
    }
}
