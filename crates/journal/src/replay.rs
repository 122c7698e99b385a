//! From the records back to the state.

use std::ops::ControlFlow;

use missiond_core::ExecutionId;

use crate::frame::{BadLine, Head, Sequence};
use crate::record::RecordBody;
use crate::state::{ExecutionState, Inconsistent};
use crate::store::{BrokenChain, Chain, JournalStore, StoreError};

/// A state and the place in the journal it is the state of.
#[derive(Debug, Clone)]
pub struct Replayed {
    pub state: ExecutionState,
    pub head: Head,
}

/// Why records do not add up to a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the line after record {after} is damaged: {reason}")]
    Line { after: Sequence, reason: BadLine },
    #[error(transparent)]
    Chain(#[from] BrokenChain),
    #[error("record {sequence} cannot follow the records before it: {reason}")]
    Inconsistent {
        sequence: Sequence,
        reason: Inconsistent,
    },
    #[error("the journal of {execution} has no records")]
    Empty { execution: ExecutionId },
}

/// Replays the whole journal.
pub fn replay(store: &dyn JournalStore, execution: ExecutionId) -> Result<Replayed, ReplayError> {
    replay_until(store, execution, Sequence(u64::MAX))
}

/// Replays the groups that end at or before `last`.
///
/// Checksums, order, links and groups are checked on the way; the hashes
/// themselves are recomputed by [`crate::inspect::verify`].
pub fn replay_until(
    store: &dyn JournalStore,
    execution: ExecutionId,
    last: Sequence,
) -> Result<Replayed, ReplayError> {
    // Read before the lines, so that what is appended meanwhile is no loss.
    let anchor = store.anchor(execution)?;
    let mut replayer = Replayer::default();
    let mut outcome = Ok(());
    let mut group = Vec::new();
    let mut at_end = false;
    store.scan(execution, Sequence::START, &mut |scanned| {
        let step = (|| {
            let line = scanned.line.map_err(|reason| replayer.bad_line(reason))?;
            replayer.chain.follow(&line)?;
            let record = line.record().map_err(|reason| replayer.bad_line(reason))?;
            if line.size == 1 {
                at_end = record.sequence > last;
                return if at_end {
                    Ok(())
                } else {
                    replayer.fold(record)
                };
            }
            group.push(record);
            if line.ends_group() {
                at_end = line.sequence > last;
                for record in group.drain(..) {
                    if !at_end {
                        replayer.fold(record)?;
                    }
                }
            }
            Ok(())
        })();
        match step {
            Ok(()) if at_end => ControlFlow::Break(()),
            Ok(()) => {
                replayer.mark();
                ControlFlow::Continue(())
            }
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    })?;
    outcome?;
    let found = replayer.chain.head().sequence;
    if let Some(anchor) = anchor
        && !at_end
        && found < anchor.sequence
    {
        return Err(StoreError::EndMissing {
            execution,
            expected: anchor.sequence,
            found,
        }
        .into());
    }
    let state = replayer.state.ok_or(ReplayError::Empty { execution })?;
    Ok(Replayed {
        state,
        head: replayer.whole.head(),
    })
}

struct Replayer {
    chain: Chain,
    /// As it was after the last whole group that was folded.
    whole: Chain,
    state: Option<ExecutionState>,
}

impl Default for Replayer {
    fn default() -> Self {
        Self {
            chain: Chain::from(Head::EMPTY),
            whole: Chain::from(Head::EMPTY),
            state: None,
        }
    }
}

impl Replayer {
    fn fold(&mut self, record: crate::record::Record) -> Result<(), ReplayError> {
        let sequence = record.sequence;
        let applied = match &mut self.state {
            Some(state) => state.apply(record),
            empty => match record.body {
                RecordBody::Header(header) => ExecutionState::begin(sequence, record.at, header)
                    .map(|state| {
                        *empty = Some(state);
                    }),
                _ => Err(Inconsistent::NoHeader),
            },
        };
        applied.map_err(|reason| ReplayError::Inconsistent { sequence, reason })
    }

    fn mark(&mut self) {
        if self.chain.between_groups() {
            self.whole.clone_from(&self.chain);
        }
    }

    fn bad_line(&self, reason: BadLine) -> ReplayError {
        ReplayError::Line {
            after: self.chain.head().sequence,
            reason,
        }
    }
}
