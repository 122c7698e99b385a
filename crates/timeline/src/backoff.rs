//! Waiting longer after each failure, and never in step with others.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(2);

/// 100 ms, 200 ms … up to 2 s, each ±25 %.
#[derive(Debug, Clone, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// How long to wait after one more failure.
    pub fn next_delay(&mut self) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10));
        self.failures = self.failures.saturating_add(1);
        doubled.min(LAST).mul_f64(rand::random_range(0.75..=1.25))
    }

    /// It worked: begin small again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// How often in a row it has failed.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_the_cap_within_their_jitter() {
        let mut backoff = Backoff::default();
        for expected in [100, 200, 400, 800, 1600, 2000, 2000, 2000] {
            let delay = backoff.next_delay().as_secs_f64() * 1000.0;
            let expected = f64::from(expected);
            assert!(
                (0.75 * expected..=1.25 * expected).contains(&delay),
                "{delay} for {expected}"
            );
        }
        backoff.reset();
        assert!(backoff.next_delay() <= Duration::from_millis(125));
    }
}
