//! What the hook of an agent's program asked about, call by call. It waits here in memory
//! for whoever holds it against what else is told of the same calls.

use std::collections::VecDeque;

use missiond_adapters::ToolSubject;
use parking_lot::Mutex;

/// The oldest are forgotten.
const MOST_CALLS: usize = 256;

/// Longer ids are no protocol's.
const LONGEST_ID: usize = 256;

#[derive(Debug, Default)]
pub(super) struct HookedCalls(Mutex<VecDeque<(String, ToolSubject)>>);

impl HookedCalls {
    pub(super) fn add(&self, call: String, subject: ToolSubject) {
        if call.len() > LONGEST_ID {
            return;
        }
        let mut calls = self.0.lock();
        if calls.len() == MOST_CALLS {
            calls.pop_front();
        }
        calls.push_back((call, subject));
    }

    pub(super) fn take(&self) -> VecDeque<(String, ToolSubject)> {
        std::mem::take(&mut *self.0.lock())
    }
}
