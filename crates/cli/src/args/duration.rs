//! How long something holds or takes, as a person writes it.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};

/// `30s`, `10m`, `1h 30m`, `2d`, `1w`; never nothing, and never backwards. A day
/// has 24 hours here: what is meant is a length, not a date.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time: write 30s, 10m, 1h 30m or 2d");
    let span: Span = text.parse().map_err(|_| wrong())?;
    let length = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|_| wrong())?;
    let length = Duration::try_from(length).map_err(|_| wrong())?;
    if length.is_zero() {
        return Err(wrong());
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_numbers_and_units() {
        for (text, seconds) in [
            ("30s", 30),
            ("10m", 600),
            ("1h", 3600),
            ("1h30m", 5400),
            ("1.5h", 5400),
            ("2d", 172_800),
            ("30d", 2_592_000),
            ("1w", 604_800),
            ("2 days", 172_800),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "h",
            "1",
            "1mo",
            "-1h",
            "1h ago",
            "0h",
            "99999999999999999999d",
            "1ĥ",
            "2026-01-04",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
