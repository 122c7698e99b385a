//! Recognising a vendor's usage limit in words on a screen or in a transcript,
//! and when it says that it resets.
//!
//! The words differ between the CLIs and their versions, so the phrases are
//! loose; that they stand at the end of what an agent's program shows, while it
//! does not work, is what makes them count. A reset that cannot be understood is
//! no reset, and the caller waits as long as it usually does.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use missiond_core::Timestamp;
use missiond_secrets::mask_within;
use regex::Regex;

use super::view::Limit;

/// How many lines from the end may speak of a limit.
const LAST_LINES: usize = 25;

static REACHED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)
        (?: (?:usage|session|weekly|daily|\d+-hour|rate|opus|quota) [\s-]+ )* limit \s+ (?:was\s+)? (?:reached|hit|exceeded)
        | (?:hit|reached|exceeded) \s+ (?:your|the) \s+ (?:current\s+)? (?:usage|session|weekly|daily|\d+-hour|quota)? \s* (?:limit|quota)
        | out \s+ of \s+ (?:extra\s+)? usage
        | quota \s+ (?:exceeded|exhausted)",
    )
    .expect("it is tested")
});

static RESETS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:resets?|try\s+again|available\s+again|until)\s*(?:at|in|on)?[:\s]+(?P<when>[^|·∙\n]{1,60})")
        .expect("it is tested")
});

static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(\d+)\s*(d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b")
        .expect("it is tested")
});

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\b").expect("it is tested")
});

/// The limit that the last lines speak of.
pub(super) fn in_lines<'a>(
    lines: impl DoubleEndedIterator<Item = &'a str>,
    now: Timestamp,
    zone: &TimeZone,
) -> Option<Limit> {
    let shown = lines.rev().map(str::trim).filter(|line| !line.is_empty());
    let line = shown.take(LAST_LINES).find(|line| REACHED.is_match(line))?;
    Some(Limit {
        resets_at: reset(line, now, zone),
        // Masked before it is cut: half a secret is found by nobody.
        said: mask_within(line).as_str().chars().take(200).collect(),
    })
}

/// When a limit resets, as a line about it says.
pub(super) fn reset(line: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let found = RESETS.captures(line)?;
    moment(found.name("when")?.as_str().trim(), now, zone)
}

/// A moment as people and programs write it: in full, as a span from now, or as
/// the next time the clock shows it.
fn moment(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let word = text.split_whitespace().next()?;
    if let Ok(at) = word.trim_end_matches(['.', ',', ')']).parse::<Timestamp>() {
        return Some(at);
    }
    if let Some(at) = clock(text, now, zone) {
        return Some(at);
    }
    let mut seconds = 0;
    for part in SPAN.captures_iter(text) {
        let count: u64 = part[1].parse().ok()?;
        let unit = match part[2].to_ascii_lowercase().as_bytes()[0] {
            b'd' => 86_400,
            b'h' => 3_600,
            b'm' => 60,
            _ => 1,
        };
        seconds += count.checked_mul(unit)?;
    }
    (seconds > 0).then(|| now.plus(Duration::from_secs(seconds)))
}

/// The next moment at which clocks here show this time.
fn clock(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let found = CLOCK.captures(text)?;
    let minute = found.get(2).map_or(Some(0), |m| m.as_str().parse().ok())?;
    let half = found.get(3).map(|half| half.as_str().to_ascii_lowercase());
    // A number alone is no time of day: `resets 5` may be anything.
    if half.is_none() && found.get(2).is_none() {
        return None;
    }
    let hour: i8 = found[1].parse().ok()?;
    let hour = match half.as_deref() {
        Some("pm") if hour < 12 => hour + 12,
        Some("am") if hour == 12 => 0,
        _ => hour,
    };
    let time = Time::new(hour, minute, 0, 0).ok()?;
    let here = jiff::Timestamp::from_microsecond(now.as_micros())
        .ok()?
        .to_zoned(zone.clone());
    let today = here.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
    let next = if today > here {
        today
    } else {
        here.date()
            .tomorrow()
            .ok()?
            .to_datetime(time)
            .to_zoned(zone.clone())
            .ok()?
    };
    Some(Timestamp::from_micros(next.timestamp().as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Option<String>> {
        let now: Timestamp = "2026-01-04T10:00:00Z".parse().unwrap();
        let lines = ["▸ do it", line, "", "❯ "];
        let limit = in_lines(lines.into_iter(), now, &TimeZone::UTC)?;
        Some(limit.resets_at.map(|at| at.to_string()[..19].to_owned()))
    }

    #[test]
    fn what_the_clis_say_is_a_limit_with_its_reset() {
        let at = |time: &str| Some(Some(time.to_owned()));
        for (line, expected) in [
            (
                "✗ Limit reached, resets 2026-01-04T11:00:00Z",
                at("2026-01-04T11:00:00"),
            ),
            (
                "5-hour limit reached ∙ resets 3pm",
                at("2026-01-04T15:00:00"),
            ),
            (
                "You've hit your limit · resets 9:30am (UTC)",
                at("2026-01-05T09:30:00"),
            ),
            ("Claude usage limit reached.", Some(None)),
            (
                "You've hit your usage limit. Try again in 2 hours 5 minutes.",
                at("2026-01-04T12:05:00"),
            ),
            ("Limit reached, resets in 90 s", at("2026-01-04T10:01:30")),
            ("Quota exceeded", Some(None)),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn other_talk_of_limits_is_none() {
        for line in [
            "I added a limit of ten retries.",
            "The rate limiter resets its window every minute.",
            "test vendor_limits::upper ... ok",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn what_scrolled_away_does_not_count() {
        let now: Timestamp = "2026-01-04T10:00:00Z".parse().unwrap();
        let mut lines = vec!["Limit reached, resets 3pm"];
        lines.extend(["working"; LAST_LINES]);
        assert_eq!(in_lines(lines.into_iter(), now, &TimeZone::UTC), None);
    }
}
