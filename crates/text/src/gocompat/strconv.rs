//! Go's `strconv`: formatting and parsing of numbers and booleans.

use super::decimal::Decimal;

/// Formats a finite float in its shortest form, like `FormatFloat(f, 'g', -1, 64)`. Numbers with seven or more integer
/// digits have an exponent, even whole numbers.
pub fn format_float(float: f64) -> String {
    Decimal::shortest(float).general()
}

/// Formats a single-precision float in its shortest form.
pub(crate) fn format_float_32(float: f32) -> String {
    Decimal::parse(&format!("{float:e}")).general()
}

/// Formats a finite float without an exponent, like `FormatFloat(f, 'f', -1, 64)`.
pub(crate) fn format_float_fixed(float: f64) -> String {
    let mut out = String::new();
    Decimal::shortest(float).write_fixed(&mut out);
    out
}

/// Parses an integer with base 0: an optional sign, then digits with an optional `0x`, `0o`, `0b` or `0` prefix.
/// Returns `None` if it does not fit into an `i64`, or, without a sign, into a `u64`.
pub(crate) fn parse_int(text: &str) -> Option<i128> {
    let (signed, digits) = match text.as_bytes().first()? {
        b'+' | b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| (b as char).is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let int = if text.starts_with('-') { -magnitude } else { magnitude };
    let fits = i64::try_from(int).is_ok() || (!signed && magnitude <= i128::from(u64::MAX));
    fits.then_some(int)
}

/// Parses a decimal integer, like `Atoi`.
pub fn atoi(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    number.then(|| text.parse().ok()).flatten()
}

/// Parses a boolean, like `ParseBool`.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(format_float(float), want);
        }
        assert_eq!(format_float_32(0.1), "0.1");
    }

    #[test]
    fn whole_numbers() {
        let table = [
            ("12", Some(12), Some(12)),
            ("-3", Some(-3), Some(-3)),
            ("+0", Some(0), Some(0)),
            ("010", Some(10), Some(8)),
            ("0x1F", None, Some(31)),
            ("0b11", None, Some(3)),
            ("", None, None),
            ("-", None, None),
            ("1_000", None, None),
            ("18446744073709551615", None, Some(18_446_744_073_709_551_615)),
            ("-18446744073709551615", None, None),
        ];
        for (text, decimal, base_0) in table {
            assert_eq!((atoi(text), parse_int(text)), (decimal, base_0), "{text:?}");
        }
    }
}
