//! How fast: requests and tokens in a minute, and what the provider itself says is
//! left.

use std::time::{Duration, Instant};

use missiond_net::http::HeaderMap;

use crate::formats::written_duration;

/// In a minute; none is no limit of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaceLimits {
    pub requests: Option<u32>,
    pub tokens: Option<u32>,
}

const MINUTE: Duration = Duration::from_secs(60);

/// A bucket that fills again in a minute.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    size: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    fn new(size: u32, at: Instant) -> Self {
        let size = f64::from(size);
        Self {
            size,
            left: size,
            at,
        }
    }

    fn fill(&mut self, now: Instant) {
        let more = now.saturating_duration_since(self.at).as_secs_f64() / MINUTE.as_secs_f64();
        self.left = (self.left + more * self.size).min(self.size);
        self.at = now;
    }

    /// How long until so much is there. More than the bucket holds goes when it is full.
    fn wait(&mut self, amount: f64, now: Instant) -> Option<Duration> {
        self.fill(now);
        let missing = amount.min(self.size) - self.left;
        // Rounded up, so that whoever waits finds it there.
        let seconds = missing / self.size * MINUTE.as_secs_f64();
        (missing > 1e-9).then(|| Duration::from_secs_f64(seconds) + Duration::from_millis(1))
    }
}

#[derive(Debug)]
pub struct Pace {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    not_before: Option<Instant>,
}

impl Pace {
    #[must_use]
    pub fn new(limits: PaceLimits, now: Instant) -> Self {
        let bucket = |size: Option<u32>| size.map(|size| Bucket::new(size, now));
        Self {
            requests: bucket(limits.requests),
            tokens: bucket(limits.tokens),
            not_before: None,
        }
    }

    /// How long a request of so many tokens has to wait; none when it may go.
    pub fn wait(&mut self, tokens: u64, now: Instant) -> Option<Duration> {
        self.not_before.take_if(|at| *at <= now);
        let paused = self.not_before.map(|at| at.duration_since(now));
        let requests = self
            .requests
            .as_mut()
            .and_then(|bucket| bucket.wait(1.0, now));
        let tokens = self
            .tokens
            .as_mut()
            .and_then(|bucket| bucket.wait(tokens as f64, now));
        [paused, requests, tokens].into_iter().flatten().max()
    }

    /// A request goes.
    pub fn take(&mut self, tokens: u64, now: Instant) {
        for (bucket, amount) in [(&mut self.requests, 1.0), (&mut self.tokens, tokens as f64)] {
            if let Some(bucket) = bucket {
                bucket.fill(now);
                bucket.left -= amount.min(bucket.size);
            }
        }
    }

    /// Nothing goes before then; an earlier word does not shorten a later one.
    pub fn pause(&mut self, until: Instant) {
        self.not_before = Some(self.not_before.map_or(until, |known| known.max(until)));
    }

    /// What the provider says is left. Where that is nothing, its reset is waited for
    /// instead of being refused.
    pub fn heed(&mut self, headers: &HeaderMap, now: Instant) {
        let header = |name: &str| headers.get(name)?.to_str().ok();
        for kind in ["requests", "tokens"] {
            let remaining = header(&format!("x-ratelimit-remaining-{kind}"));
            let reset = header(&format!("x-ratelimit-reset-{kind}"));
            if remaining.is_some_and(|left| left.trim() == "0")
                && let Some(wait) = reset.and_then(written_duration)
            {
                self.pause(now + wait.min(MINUTE));
            }
        }
    }
}
