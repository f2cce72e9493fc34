//! Decimal digits of floats, used by all number formats.

use std::fmt::Write as _;

/// The decimal digits of a float.
pub(super) struct Decimal {
    negative: bool,
    /// The digits without the decimal point, which is after the first digit.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i32,
}

impl Decimal {
    /// Returns the shortest digits that parse to the same float. If there are several, returns the nearest ones. A tie
    /// goes to the even digit, as in Go; Rust would use the larger one.
    pub(super) fn shortest(float: f64) -> Self {
        let shortest = format!("{float:e}");
        let mantissa = shortest.bytes().take_while(|&b| b != b'e');
        let places = mantissa.filter(u8::is_ascii_digit).count().saturating_sub(1);
        let nearest = format!("{float:.places$e}");
        let same = nearest.parse::<f64>().is_ok_and(|back| back.to_bits() == float.to_bits());
        Self::parse(if same { &nearest } else { &shortest })
    }

    /// Parses scientific notation such as `-1.5e3`.
    pub(super) fn parse(scientific: &str) -> Self {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
        Self {
            negative: mantissa.starts_with('-'),
            digits: mantissa.replace(['-', '.'], ""),
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    /// Formats the number, with an exponent if Go uses one.
    pub(super) fn general(&self) -> String {
        let mut out = String::new();
        if (-4..6).contains(&self.exponent) {
            self.write_fixed(&mut out);
        } else {
            self.write_scientific(2, &mut out);
        }
        out
    }

    /// Appends the number without an exponent.
    pub(super) fn write_fixed(&self, out: &mut String) {
        self.write_sign(out);
        let Ok(whole) = usize::try_from(self.exponent.saturating_add(1)) else {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', self.exponent.unsigned_abs() as usize - 1));
            return out.push_str(&self.digits);
        };
        let (before, after) = self.digits.split_at(whole.min(self.digits.len()));
        out.push_str(if before.is_empty() { "0" } else { before });
        out.extend(std::iter::repeat_n('0', whole.saturating_sub(self.digits.len())));
        if !after.is_empty() {
            out.push('.');
            out.push_str(after);
        }
    }

    /// Appends the number with an exponent of at least `width` digits.
    pub(super) fn write_scientific(&self, width: usize, out: &mut String) {
        self.write_sign(out);
        let (first, rest) = self.digits.split_at(1.min(self.digits.len()));
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if self.exponent < 0 { '-' } else { '+' };
        let exponent = self.exponent.unsigned_abs();
        // Writing to a string cannot fail.
        let _ = write!(out, "{first}{point}{rest}e{sign}{exponent:0width$}");
    }

    fn write_sign(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
    }
}
