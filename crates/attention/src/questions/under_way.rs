//! Which requests of agents are being answered at this moment. Whoever answers
//! one closes its question, with the words of the person; whoever only sees in
//! the journal that it was answered leaves it to them. Nothing of this outlives
//! the daemon: the next one closes what was left open by what the journal says.

use std::collections::HashMap;

use missiond_core::{ExecutionId, ObservationId};
use parking_lot::{Mutex, MutexGuard};

type Request = (ExecutionId, ObservationId);

/// How many answers to each request are on their way.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<HashMap<Request, usize>>);

/// An answer is on its way until this is dropped.
#[derive(Debug)]
pub(super) struct AnswerGuard<'a> {
    under_way: &'a UnderWay,
    request: Request,
}

impl UnderWay {
    pub(super) fn begin(&self, execution: ExecutionId, request: ObservationId) -> AnswerGuard<'_> {
        let request = (execution, request);
        *self.counts().entry(request).or_default() += 1;
        AnswerGuard {
            under_way: self,
            request,
        }
    }

    pub(super) fn has(&self, execution: ExecutionId, request: ObservationId) -> bool {
        self.counts().contains_key(&(execution, request))
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Request, usize>> {
        self.0.lock()
    }
}

impl Drop for AnswerGuard<'_> {
    fn drop(&mut self) {
        let mut counts = self.under_way.counts();
        if let Some(count) = counts.get_mut(&self.request) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.request);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_under_way_until_the_last_answer_to_it_is_given() {
        let under_way = UnderWay::default();
        let (execution, request) = (ExecutionId::generate(), ObservationId::generate());
        let first = under_way.begin(execution, request);
        let second = under_way.begin(execution, request);
        assert!(!under_way.has(execution, ObservationId::generate()));
        drop(first);
        assert!(under_way.has(execution, request));
        drop(second);
        assert!(!under_way.has(execution, request));
    }
}
