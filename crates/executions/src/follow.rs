//! The life of one execution in this daemon: what its slot, its transcript and
//! its output say goes into the journal, and messages go to the agent, until the
//! slot is closed.

use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::{Equipment, StartupDialog};
use missiond_core::{DeliveryStatus, Event, ExecutionLifecycle, PtyState, Seq};
use missiond_egress::CallerKind;
use missiond_journal::catalogue::Process;
use missiond_journal::marker::{self, Expected, ParsedMarker};
use missiond_journal::{Confidence, Source, Text, Transport};
use missiond_runtime::blocking;
use missiond_semantic::AnswerOutcome;
use missiond_slots::{Answer, ViewerId};
use missiond_store::capabilities;
use missiond_store::executions::{self, ExecutionRow};
use missiond_store::published_effects;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::handoff::Handoffs;
use super::marker_listener::MarkerListener;
use super::messages::Retry;
use super::protocol::Protocol;
use super::run::{Exit, Notice, ObservationDraft, Run};
use super::transcript::Transcript;
use super::{facts, messages, protocol, spooled_hooks, startup};
use crate::context::Context;
use crate::error::ExecutionError;

/// How often a transcript is looked at.
const TRANSCRIPT_POLL: Duration = Duration::from_millis(700);
/// Between two looks at a screen for markers.
const MARKER_PAUSE: Duration = Duration::from_millis(100);

/// How long a dialog may take to be there in full.
const STARTUP_ANSWER: Duration = Duration::from_secs(3);

pub(super) struct Follow {
    context: Arc<Context>,
    run: Arc<Run>,
    transcript: Transcript,
    /// Where a protocol drives the agent: then its recording tells what a transcript
    /// would.
    protocol: Option<Protocol>,
    /// What a marker must show, where markers are how the agent speaks, and what
    /// is heard of them in the output.
    markers: Option<(Expected, Arc<MarkerListener>)>,
    exit: Exit,
    /// What a program that failed showed last.
    last_words: Option<String>,
    retry: Retry,
    handoffs: Handoffs,
}

impl Follow {
    pub(super) async fn new(
        context: Arc<Context>,
        run: Arc<Run>,
        row: &ExecutionRow,
        dialogs: Vec<StartupDialog>,
    ) -> Result<Self, ExecutionError> {
        let markers = run.journal().peek(|state| {
            let key = state
                .marker_key
                .filter(|_| state.transport == Transport::Marker);
            let execution = state.execution;
            key.map(|key| Expected { execution, key })
        })?;
        run.startup.expect(dialogs);
        let open = context.slots.find(&run.slot.to_string());
        let protocol = open.as_ref().and_then(Protocol::of);
        let handoffs = Handoffs::new(&context, &run, open.as_ref()).await;
        let markers = markers.map(|expected| (expected, Arc::new(MarkerListener::new(expected))));
        Ok(Self {
            context,
            transcript: Transcript::new(row),
            protocol,
            run,
            markers,
            exit: Exit::default(),
            last_words: None,
            retry: Retry::default(),
            handoffs,
        })
    }

    pub(super) async fn until_closed(mut self, mut notices: UnboundedReceiver<Notice>) {
        let mut poll = tokio::time::interval(TRANSCRIPT_POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let run = Arc::clone(&self.run);
        let (mut look_at, mut looked_at) = (None, Instant::now());
        if let Some((_, heard)) = &self.markers {
            heard.listen(&self.context, &run).await;
            // What was written before anybody listened.
            run.output.notify_one();
        }
        if let Err(error) = protocol::read_earlier(&self.context, &run).await {
            tracing::error!(execution = %run.id, %error, "earlier program of run not read");
        }
        let mut typist = self.context.slots.find(&run.slot.to_string());
        let mut typist = typist.take().map(|open| open.typist);
        loop {
            if let Err(error) = self.follow_controller().await {
                tracing::error!(execution = %run.id, %error, "change of controller not followed");
            }
            let done = tokio::select! {
                notice = notices.recv() => match notice {
                    Some(notice) => self.handle_notice(notice).await,
                    None => return,
                },
                () = typist_changed(&mut typist) => Ok(FollowStep::Continue),
                () = run.message.notified() => Ok(FollowStep::Continue),
                () = run.output.notified(), if self.protocol.is_some() => {
                    self.read_transcript().await
                }
                () = run.output.notified(), if self.markers.is_some() && look_at.is_none() => {
                    look_at = Some(looked_at + MARKER_PAUSE);
                    Ok(FollowStep::Continue)
                }
                () = missiond_runtime::sleep_until(look_at) => {
                    (look_at, looked_at) = (None, Instant::now());
                    self.find_markers().await
                }
                _ = poll.tick() => self.read_transcript().await,
            };
            match done {
                Ok(FollowStep::Continue) => {}
                Ok(FollowStep::Closed) => break,
                Err(error) => {
                    tracing::error!(execution = %run.id, %error, "observation not recorded");
                }
            }
            // A program that has just come is followed first: what it says begins there.
            if self.is_behind() {
                continue;
            }
            if let Err(error) = messages::deliver_next(&self.context, &run, &mut self.retry).await {
                tracing::error!(execution = %run.id, %error, "message delivery failed");
            }
        }
        close(&self.context, &run).await;
    }

    async fn handle_notice(&mut self, notice: Notice) -> Result<FollowStep, ExecutionError> {
        match notice {
            Notice::Reading {
                seq,
                state,
                confidence,
                reason,
            } => {
                // What it follows from comes first: a turn that is on record as begun
                // after its words would look like one that says nothing.
                if self.protocol.is_some() {
                    self.read_transcript().await?;
                }
                let controller = protocol::controller(self.protocol.as_ref());
                let seen = facts::of_reading(seq, state, confidence, &reason, controller);
                self.run.observe(seen).await?;
                if state != PtyState::Confirming {
                    self.run.startup.done();
                }
                match state {
                    PtyState::Idle => {
                        self.read_transcript().await?;
                    }
                    PtyState::Confirming => self.answer_startup().await,
                    _ => {}
                }
            }
            Notice::Exited { exit, last_words } => {
                self.exit = exit;
                self.last_words = last_words;
            }
            Notice::Closed { reason } => {
                // What it wrote last may still be on its way.
                let read = self.read_transcript().await;
                // A hook that found the daemon slow left its report for the next
                // hook, and there is none any more.
                spooled_hooks::ingest(&self.context, &self.run).await;
                if let Some((_, heard)) = &self.markers {
                    self.handle_markers(heard.drain_last()).await?;
                }
                if let Some(words) = self.last_words.take() {
                    self.run.observe(facts::of_last_words(&words)).await?;
                }
                let ended = ended(self.exit, &reason);
                self.run.observe(facts::of_process(ended)).await?;
                read?;
                return Ok(FollowStep::Closed);
            }
        }
        Ok(FollowStep::Continue)
    }

    fn is_behind(&self) -> bool {
        let open = self.context.slots.find(&self.run.slot.to_string());
        open.is_some_and(|open| open.record.generation != self.handoffs.generation)
    }

    /// Goes on with the program that has the conversation now, and hands it over where
    /// another one is to have it.
    async fn follow_controller(&mut self) -> Result<(), ExecutionError> {
        let Some(open) = self.context.slots.find(&self.run.slot.to_string()) else {
            return Ok(());
        };
        let generation = open.record.generation;
        if generation != self.handoffs.generation {
            // What the program before said last.
            self.read_transcript().await?;
            self.handoffs
                .switch(&self.context, &self.run, generation)
                .await?;
            self.protocol = Protocol::of(&open);
            if self.protocol.is_none() {
                let (context, run) = (&self.context, &self.run);
                self.transcript.skip_to_end(context, run).await?;
            }
            self.retry = Retry::default();
        }
        let (context, run) = (&self.context, &self.run);
        self.handoffs.advance(context, run, &open).await;
        Ok(())
    }

    async fn find_markers(&mut self) -> Result<FollowStep, ExecutionError> {
        let Some((expected, heard)) = &self.markers else {
            return Ok(FollowStep::Continue);
        };
        let mut found = heard.drain();
        if let Some(open) = self.context.slots.find(&self.run.slot.to_string())
            && let Some(look) = open.inspect().await
        {
            let rows = look.screen.rows.iter().map(|row| row.text.as_str());
            let rows: Vec<_> = rows.collect();
            found.extend(marker::find_in_rows(&rows, expected));
        }
        self.handle_markers(found).await
    }

    async fn handle_markers(&self, found: Vec<ParsedMarker>) -> Result<FollowStep, ExecutionError> {
        for found in found {
            let (key, observed) = found.into_observed();
            // What is heard is also seen, and a screen is looked at again and again.
            if self
                .run
                .journal()
                .peek(|state| state.processed(&key).is_some())?
            {
                continue;
            }
            let seen = ObservationDraft {
                key,
                source: Source::Marker,
                confidence: Confidence::Medium,
                observed,
            };
            self.run.observe(seen).await?;
        }
        Ok(FollowStep::Continue)
    }

    /// Says yes to a question the person has answered by the launch. Each once:
    /// one that comes again is for the person.
    async fn answer_startup(&mut self) {
        let slots = &self.context.slots;
        let Some(open) = slots.find(&self.run.slot.to_string()) else {
            return;
        };
        let dialog = open.inspect().await.and_then(|look| look.reading.dialog);
        let Some(dialog) = dialog else {
            return;
        };
        let Some(known) = self.run.startup.begin(&dialog) else {
            return;
        };
        let labels: Vec<_> = dialog.options.iter().map(|option| &option.label).collect();
        let yes = known
            .yes
            .iter()
            .find(|yes| labels.iter().any(|label| label.starts_with(**yes)));
        let Some(yes) = yes else {
            self.run.startup.done();
            return;
        };
        let answer = Answer {
            option: (*yes).to_owned(),
            expect: startup::words_of(&known, &dialog).map(str::to_owned),
            wait: STARTUP_ANSWER,
        };
        let answered = slots.answer(&open, answer).await;
        let (context, run) = (&self.context, &self.run);
        context.keep_startup(run.id, &run.startup).await;
        match answered {
            // It may stand on the screen for a moment more: it is under way until
            // something else is read there.
            Ok(answered) if answered.outcome == AnswerOutcome::Taken => {
                tracing::info!(execution = %self.run.id, question = answered.question, "startup question answered");
            }
            Ok(answered) => {
                self.run.startup.done();
                let why = answered.evidence;
                tracing::warn!(execution = %self.run.id, why, "startup question not answered");
            }
            Err(error) => {
                self.run.startup.done();
                tracing::warn!(execution = %self.run.id, %error, "startup question not answered");
            }
        }
    }

    async fn read_transcript(&mut self) -> Result<FollowStep, ExecutionError> {
        if let Some(protocol) = &mut self.protocol {
            protocol.advance(&self.context, &self.run).await?;
            if let Some(conversation) = protocol.conversation() {
                let transcript = &mut self.transcript;
                transcript
                    .locate(&self.context, &self.run, conversation)
                    .await?;
            }
            let record = self.transcript.tail();
            protocol
                .question_witness(&self.context, &self.run, record)
                .await?;
            return Ok(FollowStep::Continue);
        }
        while self.transcript.advance(&self.context, &self.run).await? {}
        Ok(FollowStep::Continue)
    }
}

enum FollowStep {
    Continue,
    Closed,
}

/// Somebody begins or stops typing into the slot.
async fn typist_changed(typist: &mut Option<watch::Receiver<Option<ViewerId>>>) {
    if let Some(watched) = typist
        && watched.changed().await.is_ok()
    {
        return;
    }
    // The slot is closed, of which its events tell.
    *typist = None;
    std::future::pending::<()>().await;
}

/// What became of the program, by what its slot said.
pub(super) fn ended(exit: Exit, reason: &str) -> Process {
    match exit {
        Exit { code, signal } if code.is_some() || signal.is_some() => {
            Process::Exited { code, signal }
        }
        _ => Process::Lost {
            reason: Text::excerpt(reason)
                .or_else(|| Text::excerpt("its slot is gone"))
                .expect("one of them is a text"),
        },
    }
}

/// The run is over: nothing waits for it any more, and what it was given is
/// taken back.
pub(super) async fn close(context: &Context, run: &Arc<Run>) {
    if let Err(error) = fail_undelivered(run).await {
        tracing::error!(execution = %run.id, %error, "undelivered messages not marked failed");
    }
    let folder = context.launch_folder(run.id);
    let removed = blocking(move || Equipment::at(&folder).remove()).await;
    if let Err(error) = removed {
        tracing::error!(execution = %run.id, %error, "files of execution not removed");
    }
    let (id, at) = (run.id, run.now());
    let ended_as = run.journal().peek(|state| state.lifecycle);
    let ended_as = ended_as.unwrap_or(ExecutionLifecycle::Terminated);
    let noted = context
        .db
        .write(move |tx| {
            Box::pin(async move {
                capabilities::revoke(tx, id, at).await?;
                published_effects::forget(tx, id).await?;
                executions::end(tx, id, at, ended_as).await
            })
        })
        .await;
    if let Err(error) = noted {
        tracing::error!(execution = %run.id, %error, "end of execution not stored");
    }
    let name = run.id.to_string();
    context.egress.close(CallerKind::Execution, &name).await;
    context.runs().remove(&run.id);
    context.audited.ended();
    run.closed.notify_waiters();
}

async fn fail_undelivered(run: &Arc<Run>) -> Result<(), ExecutionError> {
    let open: Vec<_> = run
        .journal()
        .peek(|state| state.undelivered().map(|(id, _)| id).collect())?;
    for message in open {
        let reason = Some("the execution has ended");
        run.deliver(message, DeliveryStatus::Failed, reason).await?;
    }
    Ok(())
}

/// Hands an event of the timeline to the execution whose slot it is about.
pub(super) fn route(context: &Context, seq: Option<Seq>, event: &Event) {
    let (slot, notice) = match event {
        Event::PtyOutput { slot, .. } => (*slot, None),
        Event::PtyStateChanged {
            slot,
            to,
            confidence,
            reason,
            ..
        } => (
            *slot,
            seq.map(|seq| Notice::Reading {
                seq,
                state: *to,
                confidence: *confidence,
                reason: reason.clone(),
            }),
        ),
        Event::SlotStateChanged { slot, state } => (
            *slot,
            seq.map(|seq| Notice::Reading {
                seq,
                state: *state,
                confidence: 1.0,
                reason: "found by a daemon that took over".to_owned(),
            }),
        ),
        Event::SessionCompleted {
            slot,
            exit_status,
            signal,
            last_words,
            ..
        } => (
            *slot,
            Some(Notice::Exited {
                exit: Exit {
                    code: *exit_status,
                    signal: *signal,
                },
                last_words: last_words.clone(),
            }),
        ),
        Event::ControllerChanged { slot, .. } => (*slot, None),
        Event::SlotClosed { slot, reason } => (
            *slot,
            Some(Notice::Closed {
                reason: reason.clone(),
            }),
        ),
        _ => return,
    };
    let Some(run) = context.run_in(slot) else {
        return;
    };
    match notice {
        // The receiver lives as long as the run is listed.
        Some(notice) => drop(run.notices.send(notice)),
        None => run.output.notify_one(),
    }
}
