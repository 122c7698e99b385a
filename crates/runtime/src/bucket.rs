//! So much at a time: a token bucket.

use std::time::{Duration, Instant};

/// What may be taken in time, with a burst of what it holds.
#[derive(Debug)]
pub struct Bucket {
    holds: f64,
    per_second: f64,
    level: f64,
    filled_at: Instant,
}

impl Bucket {
    /// A full one.
    #[must_use]
    pub fn per_second(count: u32, now: Instant) -> Self {
        Self::new(f64::from(count), f64::from(count), now)
    }

    /// The same over an hour.
    #[must_use]
    pub fn per_hour(count: u32, now: Instant) -> Self {
        Self::new(f64::from(count), f64::from(count) / 3600.0, now)
    }

    const fn new(holds: f64, per_second: f64, now: Instant) -> Self {
        Self {
            holds,
            per_second,
            level: holds,
            filled_at: now,
        }
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.level = (self.level + elapsed * self.per_second).min(self.holds);
        self.filled_at = now;
    }

    /// Whether nothing of it is missing.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level >= self.holds
    }

    /// Takes one, or says how long until there is one.
    pub fn try_take(&mut self, now: Instant) -> Result<(), Duration> {
        self.try_take_many(1, now)
    }

    /// Takes so many, or says how long until there are. More than it ever holds are all that
    /// it holds.
    pub fn try_take_many(&mut self, count: u32, now: Instant) -> Result<(), Duration> {
        self.check(count, now)?;
        self.level -= self.at_most(count);
        Ok(())
    }

    /// Whether there are so many, or how long until there are.
    pub fn check(&mut self, count: u32, now: Instant) -> Result<(), Duration> {
        self.fill(now);
        let missing = self.at_most(count) - self.level;
        if missing > 0.0 {
            return Err(Duration::from_secs_f64(missing / self.per_second));
        }
        Ok(())
    }

    fn at_most(&self, count: u32) -> f64 {
        f64::from(count).min(self.holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let start = Instant::now();
        let mut bucket = Bucket::per_second(10, start);
        assert!((0..10).all(|_| bucket.try_take(start).is_ok()));
        assert!(bucket.try_take(start).unwrap_err() <= Duration::from_millis(100));
        assert!(!bucket.is_full(start));
        let later = start + Duration::from_millis(250);
        assert!(bucket.try_take(later).is_ok());
        assert!(bucket.try_take(later).is_ok());
        assert!(bucket.try_take(later).is_err());
        assert!(bucket.is_full(later + Duration::from_secs(1)));
    }

    #[test]
    fn more_than_it_holds_empties_it_and_waits_until_it_is_full() {
        let start = Instant::now();
        let mut bucket = Bucket::per_hour(60, start);
        assert!(bucket.try_take_many(600, start).is_ok());
        let wait = bucket.try_take_many(600, start).unwrap_err();
        assert_eq!(wait.as_secs_f64().round(), 3600.0);
        let wait = bucket.try_take(start).unwrap_err();
        assert_eq!(wait.as_secs_f64().round(), 60.0);
    }
}
