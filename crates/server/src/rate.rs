//! A token bucket: so many requests per second, with a burst of one second.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct RateLimit {
    per_second: f64,
    tokens: f64,
    filled_at: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second);
        Self {
            per_second,
            tokens: per_second,
            filled_at: now,
        }
    }

    /// Whether nothing was taken for a second.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.filled_at) >= Duration::from_secs(1)
    }

    /// Takes one token, or says how long until there is one.
    pub(crate) fn try_acquire(&mut self, now: Instant) -> Result<(), Duration> {
        let elapsed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.per_second);
        self.filled_at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64(
                (1.0 - self.tokens) / self.per_second,
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_a_second_passes_and_then_the_rate_holds() {
        let start = Instant::now();
        let mut limit = RateLimit::new(10, start);
        assert!((0..10).all(|_| limit.try_acquire(start).is_ok()));
        assert!(limit.try_acquire(start).unwrap_err() <= Duration::from_millis(100));
        let later = start + Duration::from_millis(250);
        assert!(limit.try_acquire(later).is_ok());
        assert!(limit.try_acquire(later).is_ok());
        assert!(limit.try_acquire(later).is_err());
    }
}
