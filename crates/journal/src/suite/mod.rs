//! What every journal store must do, as cases anyone can run on any store.
//!
//! Each case takes a [`StoreOpener`], where a store can be opened again and again as
//! after a restart, and panics when a promise is broken. The place is empty at
//! first. [`for_each_journal_case!`] names them all, so that a test file runs
//! the whole list and a new case joins every store.
//!
//! [`for_each_journal_case!`]: crate::for_each_journal_case
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: a broken promise panics"
)]

mod durability;
pub mod history;
mod reading;

use std::sync::Arc;

use missiond_core::{CliEngine, ExecutionId, Timestamp};

use crate::journal::{Journal, NewObservation};
use crate::observation::{Confidence, ObservationKey, Observed, Source};
use crate::owner::{OwnerEntity, OwnerRef};
use crate::policy::Policy;
use crate::record::{JournalHeader, Transport};
use crate::store::{JournalStore, Recovery};

pub use durability::*;
pub use reading::*;

/// Opens the store anew, as a daemon that starts does.
pub type StoreOpener<'p> = &'p dyn Fn() -> Arc<dyn JournalStore>;

/// Calls the macro `$run` with the names of all cases, separated by commas.
#[macro_export]
macro_rules! for_each_journal_case {
    ($run:ident) => {
        $run! {
            an_execution_has_one_journal,
            an_unknown_execution_is_not_found,
            a_second_writer_is_refused_until_the_first_is_gone,
            journals_are_listed_in_order,
            what_was_acknowledged_is_there_after_a_restart,
            a_duplicate_says_so_before_and_after_a_restart,
            a_refused_observation_is_a_duplicate_too,
            a_message_is_accepted_once_and_waits_for_its_delivery,
            an_effect_is_due_until_it_is_settled,
            windows_cover_every_record_once,
            a_window_is_bounded_by_bytes_and_never_empty,
            many_writers_lose_nothing,
            every_prefix_replays_to_the_state_at_that_point,
            compaction_changes_nothing_that_is_told,
            a_compacted_journal_goes_on,
            a_written_journal_verifies,
            an_export_is_complete,
            a_diff_names_what_differs,
            a_large_record_reads_back,
        }
    };
}

/// A moment some seconds after the beginning of the tests.
#[must_use]
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_767_528_000_000_000 + seconds * 1_000_000)
}

/// The header of a new execution that belongs to a task.
#[must_use]
pub fn header(execution: ExecutionId) -> JournalHeader {
    let owner = OwnerRef {
        entity: OwnerEntity::Task,
        id: "task_of_the_suite".try_into().unwrap(),
    };
    let folder = "/home/somebody/project".try_into().unwrap();
    JournalHeader::new(
        execution,
        owner,
        CliEngine::Claude,
        Transport::McpTool,
        folder,
    )
}

#[must_use]
pub fn create(store: Arc<dyn JournalStore>) -> Journal {
    let header = header(ExecutionId::generate());
    Journal::create(store, Arc::new(Policy::standard()), at(0), header).unwrap()
}

#[must_use]
pub fn reopen(open: StoreOpener<'_>, execution: ExecutionId) -> (Journal, Recovery) {
    Journal::open(open(), Arc::new(Policy::standard()), execution).unwrap()
}

/// An observation of this execution by the MCP tool or another fitting source.
#[must_use]
pub fn observation(
    execution: ExecutionId,
    key: &str,
    source: Source,
    observed: Observed,
) -> NewObservation {
    NewObservation {
        execution,
        key: ObservationKey::new(key).unwrap(),
        source,
        confidence: Confidence::Authoritative,
        observed_at: at(1),
        observed,
    }
}
