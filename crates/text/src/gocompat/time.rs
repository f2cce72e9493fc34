//! Go's `time`: parsing of durations.

use std::time::Duration;

/// The units of durations, in seconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Parses a duration such as `1h30m`, `1.5s` or `300ms`, like `ParseDuration`. Returns `None` for negative durations.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let number = rest.find(|c| !is_number(c)).map(|end| &rest[..end])?;
        rest = &rest[number.len()..];
        let unit = rest.find(is_number).map_or(rest, |end| &rest[..end]);
        rest = &rest[unit.len()..];
        let value: f64 = number.parse().ok()?;
        seconds += value * UNITS.iter().find(|(name, _)| *name == unit)?.1;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let table = [
            ("30s", 30_000),
            ("+1m30s", 90_000),
            ("500ms", 500),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("0s", 0),
            ("2000\u{b5}s", 2),
        ];
        for (text, want) in table {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(want)), "{text}");
        }
        for text in ["", "+", "30", "s", "1x", "-1s", "1s2", "1..2s", "1e9h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
