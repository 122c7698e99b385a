//! Times of the command line as parameters that count seconds.

use std::time::Duration;

use missiond_core::{Bounded, ErrorCode};

use crate::failure::Failure;
use crate::term::duration;

/// A time of the command line as the parameter `name`, which counts seconds.
pub(super) fn seconds<const MIN: i64, const MAX: i64>(
    name: &str,
    time: Duration,
) -> Result<Bounded<MIN, MAX>, Failure> {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Bounded::new(seconds).map_err(|_| {
        let said = |seconds: i64| duration(u64::try_from(seconds).unwrap_or(0));
        let message = format!(
            "{name}: {} is out of range: it is {} to {}",
            duration(time.as_secs()),
            said(MIN),
            said(MAX)
        );
        Failure::new(ErrorCode::InvalidParams, message)
    })
}
