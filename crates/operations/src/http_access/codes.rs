//! Login codes that were given out and not used: in memory, few, and for
//! minutes. A daemon that starts again has none.

use std::collections::VecDeque;

use missiond_core::Timestamp;
use parking_lot::Mutex;

use super::key;

/// Codes that may wait at once; another one takes the place of the oldest.
const WAITING: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Codes {
    /// Hash and end, the oldest first.
    waiting: Mutex<VecDeque<(String, Timestamp)>>,
}

impl Codes {
    pub(super) fn put(&self, hash: String, expires_at: Timestamp) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == WAITING {
            waiting.pop_front();
        }
        waiting.push_back((hash, expires_at));
    }

    /// Whether the code waited; it does no longer.
    pub(super) fn redeem(&self, hash: &str, now: Timestamp) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.retain(|(_, expires_at)| *expires_at > now);
        let before = waiting.len();
        waiting.retain(|(known, _)| !key::same(known.as_bytes(), hash.as_bytes()));
        waiting.len() < before
    }
}
