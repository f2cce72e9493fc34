//! The times in managed fields: RFC 3339 with a precision of seconds, as API servers store them.

use std::fmt;

use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A time in seconds since 1970-01-01T00:00:00Z. It is displayed as API servers write times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

const SECONDS_PER_DAY: i64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

impl Timestamp {
    /// Parses a time with any offset. Fractions of seconds are dropped.
    ///
    /// # Errors
    /// The text is not a time in RFC 3339.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = || {
            Diagnostic::error(Code::InvalidValue, format!("invalid time {text:?} in managed fields"))
                .help("write it in RFC 3339, such as 2026-01-31T12:00:00Z")
        };
        read(text).map(Self).ok_or_else(invalid)
    }

    /// Creates a time from the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0
    }
}

fn read(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once('T')?;
    let (clock, offset) = rest.split_at_checked(8)?;
    let numbers = |text: &str, separator: char, widths: [usize; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        let [a, b, c] = parts.as_slice() else { return None };
        let number = |text: &str, width: usize| {
            let is_number = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<i64>().ok()).flatten()
        };
        Some([number(a, widths[0])?, number(b, widths[1])?, number(c, widths[2])?])
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_since_epoch(year, month, day);
    // The month does not have this day.
    if date_of(days) != (year, month, day) {
        return None;
    }
    Some(days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - read_offset(offset)?)
}

/// Reads an optional fraction and the offset from UTC, in seconds.
fn read_offset(text: &str) -> Option<i64> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = match text.strip_prefix('.') {
        Some(fraction) if digits(fraction) > 0 => &fraction[digits(fraction)..],
        Some(_) => return None,
        None => text,
    };
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.strip_prefix(['+', '-'])?.split_once(':')?;
    if digits(hours) != 2 || digits(minutes) != 2 || hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let [hours, minutes] = [hours, minutes].map(|text| text.parse::<i64>().ok());
    let (hours, minutes) = (hours.filter(|hours| *hours < 24)?, minutes.filter(|minutes| *minutes < 60)?);
    Some(sign * (hours * 3600 + minutes * 60))
}

/// Returns the days since the epoch. Counts years from March, so that the leap day is the last day of a year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH
}

/// Returns the year, month and day of a day, given as the days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, day) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds) = (self.0.div_euclid(SECONDS_PER_DAY), self.0.rem_euclid(SECONDS_PER_DAY));
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if !(0..=9999).contains(&year) {
            return write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        }
        // Each write to a server formats several times, for which `write!` takes long.
        let mut text = *b"0000-00-00T00:00:00Z";
        let digits =
            [(0, year / 100), (2, year % 100), (5, month), (8, day), (11, hour), (14, minute), (17, second)];
        for (at, number) in digits {
            text[at] += u8::try_from(number / 10).unwrap_or_default();
            text[at + 1] += u8::try_from(number % 10).unwrap_or_default();
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_without_fractions() {
        let table = [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59Z"),
            ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"),
            ("1969-12-31T23:00:00-02:30", "1970-01-01T01:30:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ];
        for (text, want) in table {
            assert_eq!(Timestamp::parse(text).expect(text).to_string(), want);
        }
        assert_eq!(Timestamp::parse("2001-09-09T01:46:40Z").expect("valid").seconds(), 1_000_000_000);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "T",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0100",
            "26-01-01T00:00:00Z",
            "2026-01-01T00:00:é0Z",
            "2026-01-01T00:00:00+é:00",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }
}
