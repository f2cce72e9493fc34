//! String formats: times, base64, and the values of `format` in the schema of a custom resource.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::names;
use smp_text::gocompat::time::parse_duration;

/// Returns true for a time in RFC 3339 as Go parses it: `2024-05-01T10:20:30Z`, optionally with a fraction.
pub(super) fn is_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else { return false };
    is_date(date) && fraction_digits(time).is_some()
}

/// Returns true for a time with exactly six fractional digits, the format of `MicroTime`.
pub(super) fn is_micro_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else { return false };
    is_date(date) && fraction_digits(time) == Some(6)
}

/// Returns true for a date such as `2024-05-01`.
pub(super) fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = numbers(text, "-", [4, 2, 2]) else { return false };
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Parses separated numbers with fixed numbers of digits.
fn numbers<const N: usize>(text: &str, between: &str, digits: [usize; N]) -> Option<[u32; N]> {
    let mut out = [0; N];
    let mut parts = text.split(between);
    for (slot, digits) in out.iter_mut().zip(digits) {
        let part = parts.next().filter(|p| p.len() == digits && p.bytes().all(|b| b.is_ascii_digit()))?;
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(out)
}

/// Returns the number of fractional digits of a time of day with its zone. Returns `None` if it is invalid. As in Go,
/// the hour may have one digit, and a comma may precede the fraction.
fn fraction_digits(text: &str) -> Option<usize> {
    let time = if let Some(time) = text.strip_suffix('Z') {
        time
    } else {
        let (time, zone) = text.split_at(text.rfind(['+', '-'])?);
        let [hours, minutes] = numbers(&zone[1..], ":", [2, 2])?;
        // Go accepts offsets of 24 hours and of 60 minutes.
        (hours <= 24 && minutes <= 60).then_some(time)?
    };
    let (time, fraction) = match time.split_once(['.', ',']) {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (time, ""),
    };
    let (hour, rest) = time.split_once(':')?;
    let [hours] = numbers(hour, ":", [hour.len().clamp(1, 2)])?;
    let [minutes, seconds] = numbers(rest, ":", [2, 2])?;
    let is_valid = hours < 24 && minutes < 60 && seconds < 60;
    (is_valid && fraction.bytes().all(|b| b.is_ascii_digit())).then_some(fraction.len())
}

/// Returns true for a value of the format `date-time`, which API servers check with a pattern: any offset, and any
/// character before the fraction.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time_of_day(time).is_some()
}

fn is_time_of_day(text: &str) -> Option<()> {
    let (time, rest) = text.split_at_checked(8)?;
    let [hours, minutes, seconds] = numbers(time, ":", [2, 2, 2])?;
    let offset = |text: &str| {
        let (_, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
        numbers(offset.strip_prefix(['+', '-'])?, ":", [2, 2]).map(|_| text.len() - 6)
    };
    let end = rest.strip_suffix('z').map(str::len).or_else(|| offset(rest))?;
    let mut fraction = rest[..end].chars();
    let is_fraction = match fraction.next() {
        None => true,
        Some('\n') => false,
        Some(_) => !fraction.as_str().is_empty() && fraction.all(|c| c.is_ascii_digit()),
    };
    (hours < 24 && minutes < 60 && seconds < 60 && is_fraction).then_some(())
}

/// Returns true for padded base64, as Go decodes it: line breaks are ignored.
pub(super) fn is_base64(text: &str) -> bool {
    let (mut letters, mut padding) = (0_usize, 0_usize);
    for byte in text.bytes().filter(|b| !matches!(b, b'\r' | b'\n')) {
        match byte {
            b'=' => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => letters += 1,
            _ => return false,
        }
    }
    (letters + padding) % 4 == 0 && padding <= 2 && letters % 4 != 1
}

/// Returns true if a text matches the `format` of a schema. Returns true for formats that the API server does not know.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date" => is_date(text),
        "date-time" | "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "byte" => is_base64(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "ip" => text.parse::<IpAddr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some(b'3')),
        "uuid4" => is_uuid(text, Some(b'4')),
        "uuid5" => is_uuid(text, Some(b'5')),
        "hostname" => is_hostname(text),
        "email" => is_email(text),
        "uri" => is_uri(text),
        "hexcolor" => is_hex_color(text),
        "k8s-short-name" => names::is_dns_label(text),
        "k8s-long-name" => names::is_dns_subdomain(text),
        _ => true,
    }
}

/// Returns true for a Go duration, or a number with a unit such as `3 days`.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 21] = [
        "ns", "nano", "us", "micro", "ms", "milli", "s", "sec", "m", "min", "h", "hr", "hour", "d", "day",
        "w", "wk", "week", "nanos", "\u{b5}s", "minute",
    ];
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let in_words = || {
        let end = unsigned.find(|c: char| !c.is_ascii_digit())?;
        let unit = unsigned[end..].trim().to_ascii_lowercase();
        let singular = unit.strip_suffix('s').filter(|s| s.len() > 1).unwrap_or(&unit);
        (end > 0 && UNITS.iter().any(|known| *known == unit || *known == singular)).then_some(())
    };
    unsigned == "0" || parse_duration(unsigned).is_some() || in_words().is_some()
}

/// Returns true for an IP address with a prefix length, such as `10.0.0.0/8`.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let is_number = bits.bytes().all(|b| b.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    is_number && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let pairs = |by: char| {
        let parts: Vec<&str> = text.split(by).collect();
        let hex = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(hex)
    };
    pairs(':') || pairs('-')
}

fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let plain: Vec<u8> = text.bytes().filter(|b| *b != b'-').collect();
    plain.len() == 32
        && plain.iter().all(u8::is_ascii_hexdigit)
        && version.is_none_or(|version| plain[12] == version)
}

fn is_hostname(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let label = |part: &str| {
        (1..=63).contains(&part.len())
            && part.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 255 && text.split('.').all(label)
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !user.contains(char::is_whitespace) && is_hostname(host)
    })
}

/// Returns true if Go's `ParseRequestURI` accepts a text: an absolute path, or a scheme followed by any text.
fn is_uri(text: &str) -> bool {
    if text.contains(|c: char| c.is_ascii_control() || c == ' ') {
        return false;
    }
    let scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    };
    text.starts_with('/') || text.split_once(':').is_some_and(|(name, rest)| scheme(name) && !rest.is_empty())
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_seconds_and_a_zone() {
        for text in [
            "2024-05-01T10:20:30Z",
            "2024-02-29T00:00:00.5+02:00",
            "2024-05-01T10:20:30.123456Z",
            "2024-05-01T1:20:30Z",
            "2024-05-01T10:20:30,5Z",
            "2024-05-01T10:20:30+02:60",
            "2024-05-01T10:20:30-24:00",
        ] {
            assert!(is_time(text), "{text}");
        }
        for text in [
            "",
            "2024-05-01",
            "2024-02-30T00:00:00Z",
            "2024-05-01T10:20:30",
            "2024-05-01T25:20:30Z",
            "2024-05-01T:20:30Z",
            "2024-05-01T010:20:30Z",
            "2024-05-01T10:2:30Z",
            "2024-05-01T10:20:30.Z",
            "2024-05-01T10:20:30+02:61",
            "2024-05-01T10:20:30+25:00",
            "2024-05-01t10:20:30z",
        ] {
            assert!(!is_time(text), "{text}");
        }
        for text in ["2024-05-01T10:20:30.123456Z", "2024-05-01T10:20:30,123456Z"] {
            assert!(is_micro_time(text), "{text}");
        }
        assert!(!is_micro_time("2024-05-01T10:20:30Z") && !is_micro_time("2024-05-01T10:20:30.12345Z"));
    }

    #[test]
    fn base64_has_padding() {
        for text in ["", "YQ==", "YWI=", "YWJj", "YW\nJj"] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["YQ", "YQ=", "a b=", "Y===", "YWJj=", "YQ==YQ==", "-_==", "====", "p\u{e4}"] {
            assert!(!is_base64(text), "{text}");
        }
    }

    #[test]
    fn formats_of_custom_resources() {
        let table: [(&str, &[&str], &[&str]); 10] = [
            ("date", &["2024-05-01"], &["2024-5-1", "2024-02-30"]),
            (
                "date-time",
                &["2024-05-01t10:20:30z", "2024-05-01T10:20:30x5+99:99", "2024-05-01T10:20:30.5Z"],
                &[
                    "2024-05-01 10:20:30Z",
                    "2024-05-01T1:20:30Z",
                    "2024-05-01T10:20:30.Z",
                    "2024-05-01T10:20:30",
                ],
            ),
            ("duration", &["1h30m", "3 days", "0"], &["x", "1", ""]),
            ("ipv4", &["10.0.0.1"], &["10.0.0.256", "::1"]),
            ("ipv6", &["::1"], &["10.0.0.1"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08"]),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000"], &["123"]),
            ("uri", &["https://a.b/c", "/x", "a:b"], &["", "a", "a b"]),
            ("hostname", &["a.b-c"], &["", "-a", "a b"]),
            ("nobody-knows", &["", "x"], &[]),
        ];
        for (format, right, wrong) in table {
            for text in right {
                assert!(has_format(format, text), "{format} {text}");
            }
            for text in wrong {
                assert!(!has_format(format, text), "{format} {text}");
            }
        }
    }
}
