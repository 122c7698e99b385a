//! What follows a failure: a pure decision over what is known of it.

use std::time::Duration;

use missiond_core::Timestamp;

use crate::formats::{Failure, FailureKind};

/// What was tried so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempts {
    /// Requests to this provider, the failed one among them.
    pub sent: u32,
    /// The caller was given something of the answer already.
    pub delivered: bool,
    /// What is left until the deadline.
    pub left: Duration,
    /// Another provider may be asked.
    pub has_fallback: bool,
    /// 0 to 1, drawn by the caller: waits are lengthened by it and never shortened.
    pub jitter: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The same provider again, after this time.
    Retry { after: Duration },
    /// The next provider of the chain.
    Fallback,
    /// Leave the provider alone until then. Then on to the next one, if there is one.
    Park { until: Timestamp },
    /// The caller is told.
    Fail,
}

/// Requests to one provider at most.
const MAX_SENT: u32 = 4;

/// The first wait where nobody says how long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A quota whose reset nobody says is asked for again after this time.
const UNKNOWN_RESET: Duration = Duration::from_secs(3600);

/// Decides what follows.
///
/// | failure | what follows |
/// |---|---|
/// | quota | the provider is parked, at once |
/// | rate limit | at least the wait that was asked for, if the deadline allows; else the next provider |
/// | overload, server, unreachable | a few tries with longer waits, then the next provider |
/// | broken, timeout | again only if nothing was delivered: a request may have been carried out |
/// | key, model, too long or too large | the next provider, which may have another |
/// | policy, wrong by itself | the caller; a laxer provider is never looked for |
#[must_use]
pub fn after_failure(failure: &Failure, tried: Attempts, now: Timestamp) -> Next {
    let elsewhere = if tried.has_fallback && !tried.delivered {
        Next::Fallback
    } else {
        Next::Fail
    };
    if failure.kind == FailureKind::Quota {
        let until = failure.resets_at.unwrap_or_else(|| now.plus(UNKNOWN_RESET));
        return Next::Park { until };
    }
    if tried.delivered {
        return Next::Fail;
    }
    match failure.kind {
        FailureKind::RateLimit
        | FailureKind::Overload
        | FailureKind::Server
        | FailureKind::Unreachable
        | FailureKind::Broken
        | FailureKind::Timeout => {
            let own = back_off(tried.sent);
            // Never sooner than was asked for.
            let least = failure.retry_after.unwrap_or(own);
            let after = least
                .max(own.mul_f64(0.5))
                .mul_f64(1.0 + 0.25 * tried.jitter.clamp(0.0, 1.0));
            let waits_long = after > LONGEST_WAIT && tried.has_fallback;
            if tried.sent >= MAX_SENT || after >= tried.left || waits_long {
                elsewhere
            } else {
                Next::Retry { after }
            }
        }
        FailureKind::Key
        | FailureKind::NoModel
        | FailureKind::ContextTooLong
        | FailureKind::TooLarge => elsewhere,
        FailureKind::Policy | FailureKind::Invalid | FailureKind::Quota => Next::Fail,
    }
}

fn back_off(sent: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << sent.saturating_sub(1).min(10));
    doubled.min(LONGEST_WAIT)
}
