//! Durations in kubectl's format.

use smp_merge::managed_fields::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Returns the time since a timestamp.
pub(super) fn since(timestamp: &str, now: i64) -> String {
    match Timestamp::parse(timestamp) {
        Ok(start) => duration(now - start.seconds()),
        Err(_) => "<unknown>".into(),
    }
}

/// Returns the time between two timestamps.
pub(super) fn between(start: &str, end: &str) -> String {
    Timestamp::parse(end).map_or_else(|_| String::new(), |end| since(start, end.seconds()))
}

/// Returns a number of seconds in at most two units.
pub(super) fn duration(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => in_units(seconds, (MINUTE, 'm'), (1, 's')),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => in_units(seconds, (HOUR, 'h'), (MINUTE, 'm')),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => in_units(seconds, (DAY, 'd'), (HOUR, 'h')),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => in_units(seconds, (YEAR, 'y'), (DAY, 'd')),
        _ => format!("{}y", seconds / YEAR),
    }
}

fn in_units(seconds: i64, (large, letter): (i64, char), (small, small_letter): (i64, char)) -> String {
    let rest = seconds % large / small;
    let rest = if rest == 0 { String::new() } else { format!("{rest}{small_letter}") };
    format!("{}{letter}{rest}", seconds / large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        for (seconds, want) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (5, "5s"),
            (119, "119s"),
            (125, "2m5s"),
            (180, "3m"),
            (3600, "60m"),
            (10_859, "3h"),
            (10_860, "3h1m"),
            (86_400, "24h"),
            (259_200, "3d"),
            (262_800, "3d1h"),
            (800_000, "9d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (400_000_000, "12y"),
        ] {
            assert_eq!(since("1970-01-01T00:00:00Z", seconds), want);
        }
        assert_eq!(since("", 5), "<unknown>");
        assert_eq!(between("1970-01-01T00:00:05Z", "1970-01-01T00:00:09Z"), "4s");
    }
}
