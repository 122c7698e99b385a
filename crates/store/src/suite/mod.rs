//! What every engine must do, as tests anyone can run on any database.
//!
//! Each case is a function that takes the address of an empty database and
//! panics when a promise is broken. [`for_each_store_case!`] names them all,
//! so that a test file runs the whole list and a new case joins every engine.
//!
//! [`for_each_store_case!`]: crate::for_each_store_case
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: a broken promise panics"
)]

mod audit;
mod autopilot;
mod board;
mod code;
mod conversations;
mod executions;
mod fixtures;
mod http_access;
mod knowledge;
mod leases;
mod llm;
mod permissions;
mod prompt_snapshots;
mod questions;
mod records;
mod stats;
mod tasks;
mod timeline;
mod transactions;
mod trust;
mod upgrade;

pub use audit::*;
pub use autopilot::*;
pub use board::*;
pub use code::*;
pub use conversations::*;
pub use executions::*;
pub use http_access::*;
pub use knowledge::*;
pub use leases::*;
pub use llm::*;
pub use permissions::*;
pub use prompt_snapshots::*;
pub use questions::*;
pub use records::*;
pub use stats::*;
pub use tasks::*;
pub use timeline::*;
pub use transactions::*;
pub use trust::*;
pub use upgrade::*;

/// Calls the macro `$run` with the names of all cases, separated by commas.
#[macro_export]
macro_rules! for_each_store_case {
    ($run:ident) => {
        $run! {
            appends_by_64_producers_are_gapless_and_in_order,
            a_reader_never_misses_an_event_of_two_daemons,
            a_batch_stays_together,
            an_event_reads_back_as_it_was_written,
            a_large_event_reads_back,
            events_are_found_by_kind_category_trace_time_and_place,
            an_unknown_kind_is_passed_over_and_counted,
            an_ephemeral_event_is_not_stored,
            an_event_and_its_change_are_kept_or_lost_together,
            word_of_new_events_arrives,
            a_failing_job_takes_back_only_itself,
            a_panic_is_an_error_for_its_caller_alone,
            after_a_failed_statement_nothing_is_kept,
            a_reader_cannot_write,
            a_database_opened_for_looking_is_read_and_never_written,
            a_reader_sees_one_moment,
            every_value_survives,
            text_with_a_nul_is_refused,
            a_closed_database_says_so_and_keeps_everything,
            a_cursor_never_goes_back,
            a_lease_lives_and_its_token_only_grows,
            the_last_holder_of_a_lease_is_known_after_its_end,
            of_many_claimers_exactly_one_wins,
            expired_leases_are_collected_once,
            sixteen_workers_claim_every_task_once,
            a_task_goes_only_to_a_slot_of_its_engine,
            an_expired_task_is_queued_again_and_its_old_holder_refused,
            a_task_moves_only_as_its_machine_allows,
            a_cancelled_task_fences_out_its_holder,
            tasks_are_listed_newest_first,
            a_slot_name_is_free_again_after_closing,
            the_same_incident_is_counted_not_repeated,
            a_run_without_an_end_is_found_by_the_next,
            activity_is_counted_by_the_hour,
            samples_grow_coarse_and_are_let_go,
            what_stands_is_counted,
            usage_is_summed_by_day_task_and_slot,
            an_execution_is_found_until_and_after_its_end,
            an_effect_is_told_once,
            a_capability_is_known_by_its_hash_and_can_be_taken_back,
            board_a_diamond_opens_level_by_level,
            board_who_waits_for_a_task_is_counted_without_it,
            board_a_cycle_is_refused_and_named,
            board_tasks_that_touch_the_same_paths_never_run_together,
            board_a_late_result_is_refused,
            board_attempts_back_off_and_end_at_the_cap,
            board_only_what_was_tried_and_rests_is_tried_again,
            board_work_in_a_pull_request_waits_for_it_in_review,
            board_work_in_review_waits_for_a_person_and_holds_back_what_needs_it,
            board_of_alternatives_one_is_kept_and_the_others_are_given_up,
            board_a_cancelled_alternative_hands_its_dependents_on,
            board_one_more_engine_is_refused_where_it_cannot_be,
            board_a_kept_alternative_makes_no_circle,
            board_a_graph_is_added_whole_or_not_at_all,
            board_64_claimers_claim_every_task_once,
            board_an_attempt_is_taken_over_under_a_new_token,
            board_claim_evidence_and_outcome_are_three_facts,
            board_a_cancelled_task_fences_out_its_holder,
            board_tasks_are_edited_noted_and_found,
            board_every_limit_explains_itself,
            board_random_changes_keep_the_graph_whole,
            board_work_taken_by_a_person_completes_its_task,
            board_the_overview_reads_every_task_with_its_last_attempt,
            trust_facts_of_an_hour_are_counted_together,
            trust_the_same_drift_is_on_record_once_until_it_is_accepted,
            runs_keep_what_they_were_started_with_and_what_was_decided,
            what_was_seen_moves_forwards_only,
            the_mode_of_the_autopilot_is_kept_with_its_reason,
            a_parked_task_counts_how_often_it_went_on,
            a_conflict_is_counted_once_for_each_round,
            a_slot_session_is_found_until_and_after_its_end,
            budgets_are_checked_with_what_is_written,
            a_question_is_asked_once_and_answered_once,
            board_a_question_names_the_task_that_waits_for_it,
            what_was_answered_about_a_task_is_found,
            a_dialog_may_ask_again_and_an_input_request_may_not,
            questions_raised_at_once_have_numbers_of_their_own,
            an_answer_on_its_way_keeps_others_away,
            people_are_notified_once_and_not_too_often,
            a_permission_rule_is_used_as_often_as_it_says,
            a_permission_decision_is_kept_with_what_became_of_it,
            the_audit_is_remembered_once_for_each_opening,
            http_access_is_known_by_its_hash_until_it_is_taken_back,
            http_access_of_another_home_is_neither_found_nor_listed,
            money_is_reserved_before_a_request_and_settled_after_it_once,
            no_budget_is_exceeded_by_64_who_reserve_at_once,
            a_parked_provider_and_a_chat_are_found_again,
            a_token_is_of_an_execution_that_runs,
            code_is_kept_by_file_and_forgotten_with_another_format,
            a_beacon_is_kept_with_what_became_of_it,
            what_a_model_made_of_code_is_kept_once,
            an_entry_is_revised_and_never_overwritten,
            what_was_collected_last_comes_back,
            edges_keep_their_first_reason,
            an_edge_ends_with_the_words_it_was_about,
            what_is_archived_takes_no_belief_from_others,
            vectors_belong_to_a_model_and_a_revision,
            a_proposal_is_decided_once,
            a_snapshot_stays_as_it_was_typed_until_its_time_is_over,
            what_was_said_is_there_once,
            a_transcript_is_read_on_from_where_it_was,
            conversations_are_listed_found_and_forgotten,
            the_newest_turns_of_a_project_come_first,
            every_earlier_version_upgrades_and_keeps_its_data,
            a_newer_database_is_refused_untouched,
            a_changed_migration_is_refused,
            daemons_that_start_together_migrate_once,
        }
    };
}
