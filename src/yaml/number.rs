//! How floats are written: as Go's JSON encoder does, and as go-yaml v2 does what it read from there.
//!
//! Knows nothing of nodes.

use std::fmt::Write as _;

/// From here on Go's JSON writes floats with an exponent.
const LARGE: f64 = 1e21;

/// Below this, apart from zero, Go's JSON writes floats with an exponent.
const SMALL: f64 = 1e-6;

/// Writes a finite float as Go's `encoding/json` does: the shortest digits that read back the same.
pub(super) fn write_json_float(float: f64, out: &mut String) {
    let size = float.abs();
    let decimal = Decimal::shortest(float);
    if size == 0.0 || (SMALL..LARGE).contains(&size) {
        decimal.write_fixed(out);
    } else {
        decimal.write_scientific(1, out);
    }
}

/// Writes a finite float as `kustomize build` prints it.
///
/// There a number passes through JSON and is read again, so that whole numbers which fit 64 bits
/// become integers (`1.0` is `1`). The others have an exponent from the seventh digit on:
/// `12345678.9` is `1.23456789e+07`.
pub(super) fn write_yaml_float(float: f64, out: &mut String) {
    if float == 0.0 {
        return out.push('0');
    }
    let decimal = Decimal::shortest(float);
    if float.fract() == 0.0 && float.abs() < LARGE {
        let mut digits = String::new();
        decimal.write_fixed(&mut digits);
        if digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok() {
            return out.push_str(&digits);
        }
    }
    out.push_str(&decimal.general());
}

/// A finite float in Go's shortest form, `strconv.FormatFloat(f, 'g', -1, 64)`: with an exponent
/// from the seventh digit on, whole or not.
pub(crate) fn go_float(float: f64) -> String {
    Decimal::shortest(float).general()
}

/// A float of single precision in Go's shortest form.
pub(super) fn go_float_32(float: f32) -> String {
    Decimal::read(&format!("{float:e}")).general()
}

/// A float as decimal digits.
struct Decimal {
    negative: bool,
    /// Without a point, which stands behind the first.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i32,
}

impl Decimal {
    /// As few digits as read back the same, and of those the nearest; of two as near, the even one
    /// as in Go, where Rust takes the larger.
    fn shortest(float: f64) -> Self {
        let shortest = format!("{float:e}");
        let mantissa = shortest.bytes().take_while(|&b| b != b'e');
        let places = mantissa.filter(u8::is_ascii_digit).count().saturating_sub(1);
        let nearest = format!("{float:.places$e}");
        let same = nearest.parse::<f64>().is_ok_and(|back| back.to_bits() == float.to_bits());
        Self::read(if same { &nearest } else { &shortest })
    }

    /// Reads `-1.5e3`.
    fn read(scientific: &str) -> Self {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
        Self {
            negative: mantissa.starts_with('-'),
            digits: mantissa.replace(['-', '.'], ""),
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    /// Digits and point, with an exponent where Go writes one.
    fn general(&self) -> String {
        let mut out = String::new();
        if (-4..6).contains(&self.exponent) {
            self.write_fixed(&mut out);
        } else {
            self.write_scientific(2, &mut out);
        }
        out
    }

    /// Writes digits and point.
    fn write_fixed(&self, out: &mut String) {
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

    /// Writes digits and an exponent of at least `width` digits.
    fn write_scientific(&self, width: usize, out: &mut String) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_go_writes_them() {
        // The float, its JSON, its YAML.
        let table = [
            (0.0, "0", "0"),
            (-0.0, "-0", "0"),
            (1.0, "1", "1"),
            (-2.5, "-2.5", "-2.5"),
            (0.1, "0.1", "0.1"),
            (0.0001, "0.0001", "0.0001"),
            (0.000_012, "0.000012", "1.2e-05"),
            (0.000_001, "0.000001", "1e-06"),
            (1.5e-7, "1.5e-7", "1.5e-07"),
            (1e-123, "1e-123", "1e-123"),
            (123_456.5, "123456.5", "123456.5"),
            (1_234_567.5, "1234567.5", "1.2345675e+06"),
            (12_345_678.9, "12345678.9", "1.23456789e+07"),
            (1e15, "1000000000000000", "1000000000000000"),
            (9_223_372_036_854_775_807_f64, "9223372036854776000", "9223372036854776000"),
            (1e19, "10000000000000000000", "10000000000000000000"),
            (-1e19, "-10000000000000000000", "-1e+19"),
            (1e20, "100000000000000000000", "1e+20"),
            (1e21, "1e+21", "1e+21"),
            (980_788_365_087_941.2, "980788365087941.2", "9.807883650879412e+14"),
            (5e-324, "5e-324", "5e-324"),
            (f64::MAX, "1.7976931348623157e+308", "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308", "2.2250738585072014e-308"),
        ];
        for (float, json, yaml) in table {
            let (mut as_json, mut as_yaml) = (String::new(), String::new());
            write_json_float(float, &mut as_json);
            write_yaml_float(float, &mut as_yaml);
            assert_eq!((as_json.as_str(), as_yaml.as_str()), (json, yaml), "{float:e}");
        }
    }

    #[test]
    fn floats_in_general_form() {
        let table = [
            (0.0, "0"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (-1_234_567.0, "-1.234567e+06"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1.5, "1.5"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15"),
        ];
        for (float, want) in table {
            assert_eq!(go_float(float), want);
        }
        assert_eq!(go_float_32(0.1), "0.1");
    }
}
