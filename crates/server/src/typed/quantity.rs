//! The form in which servers write quantities: `0.5` is `500m`, `1024Mi` is `1Gi`.

use serde_json::Value;

/// Decimal suffixes with their exponents.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A number of nano units with the kind of suffix that it was written with.
struct Quantity {
    nanos: i128,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// Replaces a quantity by its canonical form. Returns false if it is none.
pub(super) fn canonicalize(value: &mut Value) -> bool {
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return false,
    };
    match parse(&text) {
        Some(quantity) => {
            *value = quantity.to_text().into();
            true
        }
        None => false,
    }
}

fn parse(text: &str) -> Option<Quantity> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let scale = -i32::try_from(fraction.len()).ok()?;
    let (form, factor, exponent) = factor(suffix)?;
    let nanos = scaled(digits.checked_mul(factor)?, exponent + scale + 9)?;
    Some(Quantity { nanos: if negative { -nanos } else { nanos }, form })
}

/// Returns the form of a suffix, and its factor as an integer and a power of ten.
fn factor(suffix: &str) -> Option<(Form, i128, i32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((Form::Decimal, 1, *exponent));
    }
    if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
        return Some((Form::Binary, 1 << (10 * (power + 1)), 0));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-18..=18).contains(&exponent).then_some((Form::Exponent, 1, exponent))
}

/// Multiplies by a power of ten. Fractions are rounded up, away from zero.
fn scaled(digits: i128, exponent: i32) -> Option<i128> {
    let power = 10i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 {
        return digits.checked_mul(power);
    }
    Some(digits / power + i128::from(digits % power != 0))
}

impl Quantity {
    fn to_text(&self) -> String {
        const UNIT: i128 = 1_000_000_000;
        if self.nanos == 0 {
            return "0".into();
        }
        let is_small = self.nanos.abs() < 1024 * UNIT;
        match self.form {
            // Binary suffixes cannot express fractions, nor does the server use them below 1024.
            Form::Binary if self.nanos % UNIT == 0 && !is_small => binary(self.nanos / UNIT),
            Form::Exponent => {
                self.decimal(|_, exponent| if exponent == 0 { String::new() } else { format!("e{exponent}") })
            }
            Form::Binary | Form::Decimal => self.decimal(|suffix, _| suffix.to_string()),
        }
    }

    /// Writes the number with the largest suffix that leaves an integer.
    fn decimal(&self, suffix: impl Fn(&str, i32) -> String) -> String {
        let mut best = (self.nanos, DECIMAL[0]);
        for (name, exponent) in DECIMAL {
            let unit = 10i128.pow((exponent + 9).unsigned_abs());
            if self.nanos % unit == 0 {
                best = (self.nanos / unit, (name, exponent));
            }
        }
        format!("{}{}", best.0, suffix(best.1.0, best.1.1))
    }
}

fn binary(units: i128) -> String {
    let mut best = (units, "");
    for (power, name) in BINARY.iter().enumerate() {
        let unit = 1i128 << (10 * (power + 1));
        if units % unit == 0 {
            best = (units / unit, name);
        }
    }
    format!("{}{}", best.0, best.1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_written_as_by_the_server() {
        let table = [
            (json!("0.5"), "500m"),
            (json!("1024Mi"), "1Gi"),
            (json!(1), "1"),
            (json!(0.1), "100m"),
            (json!("1000m"), "1"),
            (json!("100Mi"), "100Mi"),
            (json!("1000"), "1k"),
            (json!("1500"), "1500"),
            (json!("0.5Gi"), "512Mi"),
            (json!("1e3"), "1e3"),
            (json!("1024"), "1024"),
            (json!("2000000"), "2M"),
            (json!("-1"), "-1"),
            (json!("0"), "0"),
            (json!("0.5Ki"), "512"),
        ];
        for (mut value, want) in table {
            assert!(canonicalize(&mut value), "{want}");
            assert_eq!(value, want);
        }
        for mut other in [json!("a"), json!("1x"), json!(""), json!(true), json!("1.2.3")] {
            assert!(!canonicalize(&mut other), "{other}");
        }
    }
}
