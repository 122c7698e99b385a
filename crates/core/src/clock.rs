//! Time as the rest of the code sees it: a point on the wall clock with
//! microsecond precision, read through a trait so that tests own the time.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since the Unix epoch. Stored as an integer, shown as RFC 3339.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String", inline, extend("maxLength" = 64))]
pub struct Timestamp(i64);

impl Timestamp {
    /// The range jiff can show: years -9999 to 9999.
    const MIN_MICROS: i64 = -377_705_023_201_000_000;
    const MAX_MICROS: i64 = 253_402_207_200_000_000;

    /// Out-of-range values are clamped, so every stored integer can be shown.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        if micros < Self::MIN_MICROS {
            Self(Self::MIN_MICROS)
        } else if micros > Self::MAX_MICROS {
            Self(Self::MAX_MICROS)
        } else {
            Self(micros)
        }
    }

    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(micros))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_sub(micros))
    }

    /// For a sentence that is read on whatever machine: date and time to the minute,
    /// in UTC.
    #[must_use]
    pub fn in_utc(self) -> String {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            Err(_) => self.to_string(),
        }
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{time:.6}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        Ok(Self(text.parse::<jiff::Timestamp>()?.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written)
    }
}

/// Reads a time where it stands, without a copy of its text.
struct Written;

impl Visitor<'_> for Written {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time as RFC 3339 writes it")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync + fmt::Debug {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_microsecond())
    }
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.0))
    }

    pub fn advance(&self, by: Duration) {
        self.0.store(self.now().plus(by).0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_integer_can_be_shown_and_read_back(micros: i64) {
            let time = Timestamp::from_micros(micros);
            prop_assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        }
    }

    #[test]
    fn a_sentence_says_that_its_time_is_utc() {
        let time: Timestamp = "2026-01-04T12:05:59+02:00".parse().unwrap();
        assert_eq!(time.in_utc(), "2026-01-04 10:05 UTC");
    }

    #[test]
    fn a_timestamp_reads_as_rfc_3339_with_microseconds() {
        let time: Timestamp = "2026-01-04T10:30:45.123Z".parse().unwrap();
        assert_eq!(time.to_string(), "2026-01-04T10:30:45.123000Z");
        assert_eq!(
            time.plus(Duration::from_micros(5)).since(time),
            Duration::from_micros(5)
        );
        assert_eq!(
            time.since(time.plus(Duration::from_secs(1))),
            Duration::ZERO
        );
    }
}
