//! The types of scalars: the core schema of YAML 1.2 with the extensions of go-yaml v3, which kustomize uses for
//! resources (dates, `0755`, `0b11`, `1_000`; `yes` and `on` are strings).
//!
//! `yaml_1_1` contains the rules of kubectl, if they differ.

use std::fmt::Write as _;

use super::meta::{Style, Tag};
use crate::gocompat::strconv::parse_int;

/// A typed scalar.
#[derive(Debug, Clone, Copy)]
pub enum Resolved<'a> {
    /// `null`, `~`, or the empty text.
    Null,
    /// `true` or `false` in one of their three spellings.
    Bool(bool),
    /// An integer that fits in a signed 64-bit integer.
    Int(i64),
    /// A larger integer that fits in an unsigned 64-bit integer.
    UInt(u64),
    /// Any other number, including integers that exceed 64 bits.
    Float(f64),
    /// A plain date or time, as written.
    Timestamp(&'a str),
    /// Any other text.
    Str(&'a str),
}

impl PartialEq for Resolved<'_> {
    /// Compares numbers by value, whatever their types are, as in JSON.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b || timestamp(a) == timestamp(b),
            (Self::Timestamp(t), Self::Str(s)) | (Self::Str(s), Self::Timestamp(t)) => {
                timestamp(t).as_deref() == Some(*s)
            }
            _ => match (self.as_f64(), other.as_f64()) {
                (Some(a), Some(b)) => a.to_bits() == b.to_bits() || (a == 0.0 && b == 0.0),
                _ => false,
            },
        }
    }
}

impl Resolved<'_> {
    #[allow(clippy::cast_precision_loss)] // Mixed numbers are compared as floats.
    fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Int(i) => Some(i as f64),
            Self::UInt(u) => Some(u as f64),
            Self::Float(f) => Some(f),
            _ => None,
        }
    }

    /// Returns the type for use in messages, such as "null" or "a string".
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::UInt(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Timestamp(_) => "a date",
            Self::Str(_) => "a string",
        }
    }
}

/// Returns the typed value of a scalar from its text, style and tag.
pub(super) fn resolve(text: &str, style: Style, tag: Tag) -> Resolved<'_> {
    match tag {
        Tag::Str | Tag::Quoted | Tag::Binary | Tag::Other => Resolved::Str(text),
        Tag::None | Tag::Undecided if style != Style::Plain => Resolved::Str(text),
        Tag::None | Tag::Undecided | Tag::Int | Tag::Bool | Tag::Null | Tag::Timestamp => resolve_plain(text),
        Tag::Float => match resolve_plain(text) {
            #[allow(clippy::cast_precision_loss)] // `!!float` requires the conversion.
            Resolved::Int(i) => Resolved::Float(i as f64),
            other => other,
        },
    }
}

/// Returns the typed value of a scalar that is written without quotes and tag.
#[must_use]
pub fn resolve_plain(text: &str) -> Resolved<'_> {
    let Some(&first) = text.as_bytes().first() else { return Resolved::Null };
    match first {
        b'0'..=b'9' | b'+' | b'-' => resolve_number(text),
        b'.' => match text {
            ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" => Resolved::Float(f64::INFINITY),
            _ => fraction(text).map_or(Resolved::Str(text), Resolved::Float),
        },
        b't' | b'T' if matches!(text, "true" | "True" | "TRUE") => Resolved::Bool(true),
        b'f' | b'F' if matches!(text, "false" | "False" | "FALSE") => Resolved::Bool(false),
        b'~' | b'n' | b'N' if matches!(text, "~" | "null" | "Null" | "NULL") => Resolved::Null,
        _ => Resolved::Str(text),
    }
}

fn resolve_number(text: &str) -> Resolved<'_> {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    // Image tags, versions and quantities are frequent. This cheap check rejects nearly all of them.
    let may_occur = |b: u8| b.is_ascii_hexdigit() || b"+-_.:xXoOtTzZ ,".contains(&b);
    if !text.bytes().all(may_occur) {
        return Resolved::Str(text);
    }
    if timestamp(text).is_some() {
        return Resolved::Timestamp(text);
    }
    let without_underscores;
    let plain = if text.contains('_') {
        without_underscores = text.replace('_', "");
        without_underscores.as_str()
    } else {
        text
    };
    if let Some(int) = integer(plain) {
        return i64::try_from(int).map_or_else(
            |_| u64::try_from(int).map_or_else(|_| Resolved::Str(text), Resolved::UInt),
            Resolved::Int,
        );
    }
    if is_yaml_float(plain)
        && let Some(f) = finite(plain)
    {
        return Resolved::Float(f);
    }
    Resolved::Str(text)
}

/// Parses an integer like Go, and a binary integer like go-yaml, which allows a sign after `0b`.
fn integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0b") {
        Some(digits) if digits.starts_with(['+', '-']) => i64::from_str_radix(digits, 2).ok().map(i128::from),
        _ => parse_int(text),
    }
}

/// Returns true if a text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_yaml_float(text: &str) -> bool {
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = digits(rest);
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let n = digits(fraction);
        if whole == 0 && n == 0 {
            return false;
        }
        rest = &fraction[n..];
    } else if whole == 0 {
        return false;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else { return rest.is_empty() };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !exponent.is_empty() && digits(exponent) == exponent.len()
}

/// Parses a number that starts with a decimal point, in Go's own syntax, which allows single underscores between
/// digits.
fn fraction(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return finite(text);
    }
    let digits = |s: &str| s.split('_').all(|run| !run.is_empty() && run.bytes().all(|b| b.is_ascii_digit()));
    let (mantissa, exponent) = text[1..].split_once(['e', 'E']).unwrap_or((&text[1..], "0"));
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits(mantissa) && digits(unsigned) { finite(&text.replace('_', "")) } else { None }
}

/// Parses a number. Returns `None` if it overflows, which is an error in Go's parser of floats.
fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|f: &f64| f.is_finite())
}

/// Parses a date or time like go-yaml, and formats it as RFC 3339 like Go's JSON.
///
/// The format is a year of four digits, a month and a day of one or two digits, and optionally either `T` or `t` with a
/// time and a zone, or a space with a time without a zone.
pub(super) fn timestamp(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let year: u32 = text[..4].parse().ok()?;
    let mut rest = &text[5..];
    let month = number(&mut rest)?;
    rest = rest.strip_prefix('-')?;
    let day = number(&mut rest)?;
    if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let mut out = format!("{year:04}-{month:02}-{day:02}T");
    if rest.is_empty() {
        out.push_str("00:00:00Z");
        return Some(out);
    }
    let zoned = rest.starts_with(['T', 't']);
    rest = rest.strip_prefix(['T', 't', ' '])?;
    let hour = number(&mut rest)?;
    rest = rest.strip_prefix(':')?;
    let minute = number(&mut rest)?;
    rest = rest.strip_prefix(':')?;
    let second = number(&mut rest)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    write!(out, "{hour:02}:{minute:02}:{second:02}").ok()?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let n = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if n > 0 {
            // Go truncates to nanoseconds.
            let digits = fraction[..n.min(9)].trim_end_matches('0');
            if !digits.is_empty() {
                write!(out, ".{digits}").ok()?;
            }
            rest = &fraction[n..];
        }
    }
    out.push_str(&if zoned { zone(rest)? } else { rest.is_empty().then(|| "Z".to_string())? });
    Some(out)
}

/// Parses one or two digits.
fn number(rest: &mut &str) -> Option<u32> {
    let n = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let value = rest[..n].parse().ok()?;
    *rest = &rest[n..];
    Some(value)
}

/// Parses `Z` or `±hh:mm`.
fn zone(text: &str) -> Option<String> {
    if text == "Z" {
        return Some("Z".into());
    }
    let b = text.as_bytes();
    let has_form = b.len() == 6 && matches!(b[0], b'+' | b'-') && b[3] == b':';
    let digits = |r: &[u8]| r.iter().all(u8::is_ascii_digit);
    if !has_form || !digits(&b[1..3]) || !digits(&b[4..6]) || &text[1..3] > "24" || &text[4..6] > "60" {
        return None;
    }
    let minutes = text[1..3].parse::<u32>().ok()? * 60 + text[4..6].parse::<u32>().ok()?;
    Some(if minutes == 0 {
        "Z".into()
    } else {
        format!("{}{:02}:{:02}", &text[..1], minutes / 60, minutes % 60)
    })
}

fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::Resolved::{Bool, Float, Int, Null, Str, Timestamp, UInt};
    use super::*;

    #[allow(clippy::unreadable_literal)] // The digits match the test inputs.
    const PLAIN: &[(&str, Resolved<'_>)] = &[
        ("", Null),
        ("~", Null),
        ("NULL", Null),
        ("nULL", Str("nULL")),
        ("true", Bool(true)),
        ("False", Bool(false)),
        ("yes", Str("yes")),
        ("on", Str("on")),
        ("y", Str("y")),
        ("0", Int(0)),
        ("-12", Int(-12)),
        ("+5", Int(5)),
        ("0010", Int(8)),
        ("0755", Int(493)),
        ("0o17", Int(15)),
        ("0x1F", Int(31)),
        ("-0x1f", Int(-31)),
        ("0b11", Int(3)),
        ("0b-11", Int(-3)),
        ("-0b11", Int(-3)),
        ("-0b-11", Str("-0b-11")),
        ("1_000", Int(1000)),
        ("0800", Float(800.0)),
        ("08", Float(8.0)),
        ("0o8", Str("0o8")),
        ("9223372036854775807", Int(i64::MAX)),
        ("9223372036854775808", UInt(1 << 63)),
        ("+9223372036854775808", Float(9223372036854775808.0)),
        ("99999999999999999999", Float(1e20)),
        ("1e3", Float(1000.0)),
        ("1.", Float(1.0)),
        (".5", Float(0.5)),
        (".2_5", Float(0.25)),
        (".2_5e1_0", Float(2.5e9)),
        (".2__5", Str(".2__5")),
        ("._5", Str("._5")),
        ("1e400", Str("1e400")),
        ("+", Str("+")),
        ("-", Str("-")),
        ("--", Str("--")),
        (".", Str(".")),
        ("1:20", Str("1:20")),
        ("1.2.3", Str("1.2.3")),
        ("100m", Str("100m")),
        ("=", Str("=")),
        ("<<", Str("<<")),
        (".inf", Float(f64::INFINITY)),
        ("-.Inf", Float(f64::NEG_INFINITY)),
        ("inf", Str("inf")),
        ("nan", Str("nan")),
        ("2020-01-01", Timestamp("2020-01-01")),
        ("2020-13-01", Str("2020-13-01")),
        ("2020-02-30", Str("2020-02-30")),
    ];

    #[test]
    fn plain_scalars_are_typed_as_in_kustomize() {
        for (text, want) in PLAIN {
            assert_eq!(resolve_plain(text), *want, "{text:?} is {:?}", resolve_plain(text));
        }
        assert!(matches!(resolve_plain(".nan"), Float(f) if f.is_nan()));
    }

    #[test]
    fn timestamps_become_rfc_3339() {
        let table = [
            ("2020-01-01", Some("2020-01-01T00:00:00Z")),
            ("2020-1-2", Some("2020-01-02T00:00:00Z")),
            ("2020-01-01T1:2:3Z", Some("2020-01-01T01:02:03Z")),
            ("2020-01-01t10:20:30.500+02:00", Some("2020-01-01T10:20:30.5+02:00")),
            ("2020-01-01T10:20:30.1234567899Z", Some("2020-01-01T10:20:30.123456789Z")),
            ("2020-01-01T10:20:30-01:60", Some("2020-01-01T10:20:30-02:00")),
            ("2020-01-01T10:20:30+00:00", Some("2020-01-01T10:20:30Z")),
            ("2020-01-01 10:20:30", Some("2020-01-01T10:20:30Z")),
            ("2020-01-01 10:20:30Z", None),
            ("2020-01-01T10:20:30", None),
            ("2019-02-29", None),
            ("20-01-01", None),
        ];
        for (text, want) in table {
            assert_eq!(timestamp(text).as_deref(), want, "{text:?}");
        }
    }

    #[test]
    fn quotes_and_tags_decide_the_type() {
        assert_eq!(resolve("1", Style::DoubleQuoted, Tag::None), Resolved::Str("1"));
        assert_eq!(resolve("1", Style::Plain, Tag::Str), Resolved::Str("1"));
        assert_eq!(resolve("1", Style::DoubleQuoted, Tag::Int), Resolved::Int(1));
        assert!(matches!(resolve("1", Style::Plain, Tag::Float), Resolved::Float(_)));
    }
}
