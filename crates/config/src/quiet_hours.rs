//! The hours in which no new work begins.

use jiff::civil::Time;

/// Parts of the day, by the clock of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuietHours(Vec<(Time, Time)>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no part of a day: write it as 22:00-06:30")]
pub struct QuietHoursError(String);

impl QuietHours {
    pub fn parse(parts: &[String]) -> Result<Self, QuietHoursError> {
        let part = |text: &String| {
            let (from, to) = text.split_once('-')?;
            Some((time(from)?, time(to)?))
        };
        let parts = parts
            .iter()
            .map(|text| part(text).ok_or_else(|| QuietHoursError(text.chars().take(40).collect())));
        parts.collect::<Result<_, _>>().map(Self)
    }

    pub fn include(&self, now: Time) -> bool {
        let within = |(from, to): &(Time, Time)| {
            if from <= to {
                *from <= now && now < *to
            } else {
                // Over midnight.
                now >= *from || now < *to
            }
        };
        self.0.iter().any(within)
    }
}

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_may_go_over_midnight() {
        let hours = QuietHours::parse(&["22:00-06:30".to_owned(), "12:00-13:00".to_owned()]);
        let hours = hours.unwrap();
        let quiet = |hour, minute| hours.include(Time::new(hour, minute, 0, 0).unwrap());
        for (hour, minute) in [(22, 0), (23, 59), (0, 0), (6, 29), (12, 30)] {
            assert!(quiet(hour, minute), "{hour}:{minute}");
        }
        for (hour, minute) in [(6, 30), (11, 59), (13, 0), (21, 59)] {
            assert!(!quiet(hour, minute), "{hour}:{minute}");
        }
    }

    #[test]
    fn what_is_no_part_of_a_day_is_refused() {
        for text in ["22-6", "25:00-06:00", "now", "22:00"] {
            assert!(QuietHours::parse(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
