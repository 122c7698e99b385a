//! Cases about what is kept: once, whole, by one writer, after a restart.

use std::sync::Arc;

use missiond_core::{DeliveryStatus, ExecutionAttention, ExecutionId, ExecutionLifecycle};

use super::history::History;
use super::{StoreOpener, at, create, header, observation, reopen};
use crate::catalogue::{
    Answer, CompletedClaim, Fact, NeedsInput, Process, Progress, Prompt, Signal,
};
use crate::journal::{Journal, JournalError, NewMessage};
use crate::observation::{MessageKey, Observed, Source};
use crate::policy::{MessageOutcome, Outcome, Policy, Reason};
use crate::record::{EffectStatus, OwnerEffectKind, Sender};
use crate::store::StoreError;
use missiond_core::List;

fn progress(summary: &str) -> Observed {
    Observed::Signal(
        Progress {
            summary: summary.try_into().unwrap(),
            detail: None,
            percent: None,
            artifacts: List::default(),
        }
        .into(),
    )
}

fn claim() -> Observed {
    let claim = CompletedClaim {
        summary: "all done".try_into().unwrap(),
        artifacts: List::default(),
    };
    Observed::Signal(claim.into())
}

fn prompt(key: &str) -> NewMessage {
    NewMessage {
        key: MessageKey::new(key).unwrap(),
        from: Sender::Operator,
        content: Prompt::new("do it".try_into().unwrap()).into(),
    }
}

fn start(journal: &Journal) {
    let started = Observed::Fact(Fact::Process(Process::Started { pid: 1 }));
    let started = observation(
        journal.execution(),
        "process:start",
        Source::Process,
        started,
    );
    let acknowledged = journal.observe(at(1), started).unwrap();
    assert_eq!(acknowledged.reason, Reason::Allowed);
}

pub fn an_execution_has_one_journal(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    drop(journal);
    let again = Journal::create(
        open_store(),
        Arc::new(Policy::standard()),
        at(0),
        header(execution),
    );
    assert_eq!(
        again.unwrap_err(),
        JournalError::Store(StoreError::Exists { execution })
    );
}

pub fn an_unknown_execution_is_not_found(open_store: StoreOpener<'_>) {
    let execution = ExecutionId::generate();
    let error = Journal::open(open_store(), Arc::new(Policy::standard()), execution).unwrap_err();
    assert_eq!(
        error,
        JournalError::Store(StoreError::NotFound { execution })
    );
    assert_eq!(open_store().list().unwrap(), []);
}

pub fn a_second_writer_is_refused_until_the_first_is_gone(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    let second = Journal::open(open_store(), Arc::new(Policy::standard()), execution);
    assert!(
        matches!(second, Err(JournalError::Store(StoreError::Locked { .. }))),
        "{second:?}"
    );
    drop(journal);
    let _ = reopen(open_store, execution);
}

pub fn journals_are_listed_in_order(open_store: StoreOpener<'_>) {
    let made: Vec<_> = (0..3).map(|_| create(open_store()).execution()).collect();
    assert_eq!(open_store().list().unwrap(), made);
}

pub fn what_was_acknowledged_is_there_after_a_restart(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    let mut history = History::new(3);
    for _ in 0..50 {
        history.step(&journal).unwrap();
    }
    let before = journal.state().unwrap();
    drop(journal);
    let (journal, recovery) = reopen(open_store, execution);
    assert_eq!(recovery, crate::store::Recovery::default());
    assert_eq!(journal.state().unwrap(), before);
    for _ in 0..50 {
        history.step(&journal).unwrap();
    }
    let before = journal.state().unwrap();
    drop(journal);
    assert_eq!(reopen(open_store, execution).0.state().unwrap(), before);
}

pub fn a_duplicate_says_so_before_and_after_a_restart(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    start(&journal);
    let signal = |source| observation(execution, "signal:once", source, claim());
    let first = journal.observe(at(2), signal(Source::Marker)).unwrap();
    let Outcome::Promoted { sequence } = first.outcome else {
        panic!("{first:?}");
    };
    let head = journal.state().unwrap().head;
    // The other transport, the same event: still the same signal.
    let second = journal.observe(at(3), signal(Source::McpTool)).unwrap();
    assert_eq!(second.outcome, Outcome::Duplicate { original: sequence });
    assert_eq!(second.observation, first.observation);
    assert!(second.detail.contains("duplicate"), "{}", second.detail);
    drop(journal);
    let (journal, _) = reopen(open_store, execution);
    let third = journal.observe(at(4), signal(Source::McpTool)).unwrap();
    assert_eq!(third, second);
    let state = journal.state().unwrap();
    assert_eq!((state.head, state.due.len()), (head, 1));
}

pub fn a_refused_observation_is_a_duplicate_too(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    let refused = || observation(execution, "screen:1", Source::Terminal, claim());
    let first = journal.observe(at(1), refused()).unwrap();
    let Outcome::Rejected {
        sequence: Some(original),
    } = first.outcome
    else {
        panic!("{first:?}");
    };
    assert_eq!(first.reason, Reason::SourceMayNotReport);
    let second = journal.observe(at(2), refused()).unwrap();
    assert_eq!(second.outcome, Outcome::Duplicate { original });
    drop(journal);
    let (journal, _) = reopen(open_store, execution);
    assert_eq!(journal.observe(at(3), refused()).unwrap(), second);
    assert_eq!(journal.state().unwrap().due.len(), 0);
}

pub fn a_message_is_accepted_once_and_waits_for_its_delivery(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    start(&journal);
    let asked = NeedsInput {
        question: "Which port?".try_into().unwrap(),
        choices: List::default(),
    };
    let asked = Observed::Signal(Signal::NeedsInput(asked));
    let asked = observation(execution, "signal:ask", Source::McpTool, asked);
    let request = journal.observe(at(2), asked).unwrap().observation.unwrap();
    let state = journal.state().unwrap();
    assert_eq!(
        (state.lifecycle, state.attention),
        (
            ExecutionLifecycle::Running,
            ExecutionAttention::AwaitingOperator
        )
    );
    assert_eq!(state.current_request().unwrap().id, request);

    let answer = || NewMessage {
        key: MessageKey::new("answer-1").unwrap(),
        from: Sender::Operator,
        content: Answer {
            request,
            text: "8080".try_into().unwrap(),
        }
        .into(),
    };
    let accepted = journal.accept(at(3), answer()).unwrap().outcome;
    let MessageOutcome::Accepted { message, sequence } = accepted else {
        panic!("{accepted:?}");
    };
    drop(journal);
    let (journal, _) = reopen(open_store, execution);
    let duplicate = MessageOutcome::Duplicate {
        message,
        original: sequence,
    };
    assert_eq!(journal.accept(at(4), answer()).unwrap().outcome, duplicate);
    let other_answer = NewMessage {
        key: MessageKey::new("answer-2").unwrap(),
        ..answer()
    };
    let reason = Reason::NoSuchRequest;
    assert_eq!(
        journal.accept(at(4), other_answer).unwrap().outcome,
        MessageOutcome::Rejected { reason }
    );

    let state = journal.state().unwrap();
    assert_eq!(state.current_request(), None);
    assert_eq!(state.attention, ExecutionAttention::AwaitingSystem);
    let waiting: Vec<_> = state.undelivered().map(|(id, _)| id).collect();
    assert_eq!(waiting, [message]);
    assert!(state.messages[&message].content.is_some());

    journal
        .deliver(at(5), message, DeliveryStatus::Delivering, None)
        .unwrap();
    journal
        .deliver(at(6), message, DeliveryStatus::Delivered, None)
        .unwrap();
    let again = journal.deliver(at(7), message, DeliveryStatus::Delivering, None);
    assert!(
        matches!(again, Err(JournalError::IllegalMove(_))),
        "{again:?}"
    );
    let state = journal.state().unwrap();
    assert_eq!(state.undelivered().count(), 0);
    assert_eq!(state.attention, ExecutionAttention::Autonomous);
    let accepted = journal.accept(at(8), prompt("p1")).unwrap().outcome;
    assert!(matches!(accepted, MessageOutcome::Accepted { .. }));
}

pub fn an_effect_is_due_until_it_is_settled(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    start(&journal);
    let claimed = observation(execution, "signal:done", Source::McpTool, claim());
    journal.observe(at(2), claimed).unwrap();
    drop(journal);
    let (journal, _) = reopen(open_store, execution);
    let state = journal.state().unwrap();
    let (key, effect) = state.due.first_key_value().unwrap();
    assert_eq!(effect.kind, OwnerEffectKind::CompletionClaimed);
    assert_eq!(effect.owner, state.owner);
    assert_eq!(
        state.lifecycle,
        ExecutionLifecycle::Running,
        "a claim is a claim"
    );
    journal
        .settle_effect(at(3), *key, EffectStatus::Applied)
        .unwrap();
    let again = journal.settle_effect(at(4), *key, EffectStatus::Applied);
    assert!(
        matches!(again, Err(JournalError::NotDue { .. })),
        "{again:?}"
    );
    drop(journal);
    assert_eq!(
        reopen(open_store, execution).0.state().unwrap().due.len(),
        0
    );
}

pub fn many_writers_lose_nothing(open_store: StoreOpener<'_>) {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let journal = create(open_store());
    let execution = journal.execution();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let journal = &journal;
            scope.spawn(move || {
                for number in 0..EACH {
                    let key = format!("signal:{writer}-{number}");
                    let said = progress(&key);
                    let observation = observation(execution, &key, Source::McpTool, said);
                    let outcome = journal.observe(at(1), observation).unwrap().outcome;
                    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
                }
            });
        }
    });
    let before = journal.state().unwrap();
    assert_eq!(before.processed_count(), WRITERS * EACH);
    drop(journal);
    assert_eq!(reopen(open_store, execution).0.state().unwrap(), before);
}

pub fn a_large_record_reads_back(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    let text = "ü\u{0}\"\\\n".repeat(20_000);
    let message = NewMessage {
        content: Prompt::new(text.as_str().try_into().unwrap()).into(),
        ..prompt("large")
    };
    journal.accept(at(1), message.clone()).unwrap();
    drop(journal);
    let (journal, _) = reopen(open_store, execution);
    let state = journal.state().unwrap();
    let (_, read) = state.undelivered().next().unwrap();
    assert_eq!(read.content.as_ref(), Some(&message.content));
}
