//! The canonical format of quantities in API servers: `0.5` is `500m`, `1024Mi` is `1Gi`.

use serde_json::Value;

/// Nano-units per milli-unit. API servers round the amounts of resources up to milli-units.
const MILLI: i128 = 1_000_000;
/// The largest amount with a binary suffix, in nano-units.
const MAX_BINARY: i128 = (i64::MAX as i128) * 1_000_000_000;
/// The number of digits up to which a server may keep the text of a decimal quantity.
const KEPT_DECIMAL: usize = 18;
/// The number of digits, including those of the suffix, up to which a server may keep the text of a binary quantity.
const KEPT_BINARY: usize = 14;

/// Decimal suffixes with their exponents.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// The largest power of ten that fits into nano-units.
const MAX_EXPONENT: i32 = 27;
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A number of nano-units, and the format in which it was written.
struct Quantity {
    nanos: i128,
    form: Form,
    /// True if a server keeps the text unchanged.
    is_kept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// Replaces a quantity by its canonical form, which servers store. Returns false if the value is not a quantity.
///
/// ```
/// use strategic_merge_patch::defaults::canonicalize_quantity;
/// use serde_json::json;
///
/// let mut memory = json!("1024Mi");
/// assert!(canonicalize_quantity(&mut memory));
/// assert_eq!(memory, "1Gi");
/// assert!(!canonicalize_quantity(&mut json!("1 GB")));
/// ```
pub fn canonicalize_quantity(value: &mut Value) -> bool {
    let text = match &*value {
        Value::String(text) => text.clone(),
        // Go decodes numbers outside the range of its integers as floats.
        Value::Number(number) if !number.is_i64() => number.as_f64().unwrap_or_default().to_string(),
        Value::Number(number) => number.to_string(),
        _ => return false,
    };
    match parse(&text) {
        Some(quantity) => {
            *value = if quantity.is_kept { text } else { quantity.to_text() }.into();
            true
        }
        None => false,
    }
}

/// Returns false for most texts that are not quantities.
pub(super) fn may_be_quantity(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_digit() || b"+-.".contains(&first))
}

/// Rounds the amount of a resource to a thousandth, away from zero, as the defaulting functions of resource lists do.
pub(super) fn round_amount(value: &mut Value) {
    if let Some(quantity) = value.as_str().and_then(parse).filter(|quantity| quantity.nanos % MILLI != 0) {
        let rounded = quantity.nanos.signum() * ((quantity.nanos.abs() / MILLI + 1) * MILLI);
        *value = Quantity { nanos: rounded, ..quantity }.to_text().into();
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
    let nanos = if form == Form::Binary { nanos.min(MAX_BINARY) } else { nanos };
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    let is_kept = match form {
        Form::Binary => {
            let suffix = usize::try_from(factor.ilog2() * 3 / 10).ok()?;
            fraction.is_empty() && whole.len() + suffix <= KEPT_BINARY && digits % 8 != 0
        }
        Form::Decimal | Form::Exponent => is_kept_decimal([whole, fraction], exponent + scale),
    };
    Some(Quantity { nanos: if negative { -nanos } else { nanos }, form, is_kept })
}

/// Returns true if a server keeps the text of a decimal quantity with these digits and power of ten.
fn is_kept_decimal([whole, fraction]: [&str; 2], exponent: i32) -> bool {
    let digits = [whole, fraction].concat();
    let starts_and_ends = digits.starts_with(|digit| digit != '0') && !digits.ends_with("000");
    exponent >= -9 && exponent % 3 == 0 && digits.len() <= KEPT_DECIMAL && starts_and_ends
}

/// Returns the format of a suffix, and its factor as an integer and a power of ten.
fn factor(suffix: &str) -> Option<(Form, i128, i32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((Form::Decimal, 1, *exponent));
    }
    if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
        return Some((Form::Binary, 1 << (10 * (power + 1)), 0));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent).then_some((Form::Exponent, 1, exponent))
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
            // Binary suffixes cannot express fractions, and servers do not use them for amounts below 1024.
            Form::Binary if self.nanos % UNIT == 0 && !is_small => binary(self.nanos / UNIT),
            Form::Exponent => {
                self.decimal(|_, exponent| if exponent == 0 { String::new() } else { format!("e{exponent}") })
            }
            Form::Binary | Form::Decimal => self.decimal(|suffix, _| suffix.to_string()),
        }
    }

    /// Writes the number with the largest power of 1000 that leaves an integer. Servers use no suffix above `E`.
    fn decimal(&self, suffix: impl Fn(&str, i32) -> String) -> String {
        let (mut number, mut exponent) = (self.nanos, -9);
        while exponent < MAX_EXPONENT && number % 1000 == 0 {
            (number, exponent) = (number / 1000, exponent + 3);
        }
        let name = DECIMAL.iter().find(|(_, known)| *known == exponent).map_or("", |(name, _)| *name);
        format!("{number}{}", suffix(name, exponent))
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
            (json!(".5"), "500m"),
            (json!("1024Mi"), "1Gi"),
            (json!(1), "1"),
            (json!(0.1), "100m"),
            (json!("1000m"), "1"),
            (json!("100000m"), "100"),
            (json!("100Mi"), "100Mi"),
            (json!("1000Ki"), "1000Ki"),
            (json!("1000"), "1k"),
            (json!("1500"), "1500"),
            (json!("0.5Gi"), "512Mi"),
            (json!("1.5Gi"), "1536Mi"),
            (json!("1e3"), "1e3"),
            (json!("1E3"), "1E3"),
            (json!("1e-3"), "1e-3"),
            (json!("1e21"), "1e21"),
            (json!("1.1e3"), "1100"),
            (json!("1E"), "1E"),
            (json!("1024"), "1024"),
            (json!("2000000"), "2M"),
            (json!("-1"), "-1"),
            (json!("0"), "0"),
            (json!("-0"), "0"),
            (json!("0Ki"), "0"),
            (json!("0.5Ki"), "512"),
            (json!("1.000"), "1"),
            (json!("5."), "5."),
            (json!("+5"), "+5"),
            (json!("12345678901234567890"), "12345678901234567890"),
            (json!(12_345_678_901_234_567_890_u64), "12345678901234567k"),
            (json!(1e3), "1k"),
            (json!("1000000000000000000000"), "1"),
            (json!("16Ei"), "9223372036854775807"),
        ];
        for (mut value, want) in table {
            let given = value.clone();
            assert!(canonicalize_quantity(&mut value), "{given}");
            assert_eq!(value, want, "{given}");
        }
        for mut other in [json!("a"), json!("1x"), json!(""), json!(true), json!("1.2.3"), json!("1e")] {
            assert!(!canonicalize_quantity(&mut other), "{other}");
        }
    }

    #[test]
    fn amounts_are_rounded_up_to_thousandths() {
        for (given, want) in
            [("1n", "1m"), ("100u", "1m"), ("1.234", "1.234"), ("1.0001", "1001m"), ("-1n", "-1m")]
        {
            let mut value = json!(given);
            round_amount(&mut value);
            assert_eq!(value, want, "{given}");
        }
    }
}
