//! Following the dialogs of slots, each slot by a task of its own.
//!
//! What is done depends on what the slot shows now, on the questions that stand
//! and on the rules, never on which events were heard: an event only says when
//! to look. So a dialog that was seen twice, or by a daemon that died, is
//! decided or asked once.
//!
//! Who may answer a dialog is decided here, in `Watcher::examine`, in this order:
//! 1. The launch of the agent, if it has the answer (`Executions::answers_itself`, in
//!    `executions/open_requests.rs`): then nothing is done here.
//! 2. The rules (`missiond_guard::permissions::decide`), if the dialog asks for a
//!    permission and a rule allows or denies it, and the dialog has an option that is
//!    certain to mean that. What it takes for a rule to allow: `witness.rs`.
//! 3. A person, by a question.
//!
//! That it is a person is seen to where every call comes in: `question_answer`,
//! `slot_answer` and `slot_keys` are for people alone in the catalogue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::{Event, ExecutionId, PtyState, Question, QuestionOrigin, SlotId, TraceContext};
use missiond_guard::permissions::{Effect, Verdict};
use missiond_runtime::OnPanic;
use missiond_semantic::{AnswerOutcome, Dialog, DialogOption, WaitingFor};
use missiond_slots::{Answer, InputError, OpenSlot};
use missiond_store::questions;
use missiond_timeline::{FollowError, Follower};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Permissions;
use super::witness::Witness;
use crate::questions::{NewQuestion, QuestionError, Wording, identity, wording};

/// Between two looks at a dialog that the launch of its agent answers.
const STARTUP_PAUSE: Duration = Duration::from_millis(500);
/// Before the timeline or the database is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// A dialog that was just seen is there; one that is drawn anew takes a moment.
const DIALOG_WAIT: Duration = Duration::from_secs(2);
/// Before a dialog is looked at that changed while it was judged.
const DRAWN_ANEW: Duration = Duration::from_millis(20);
/// How long what is asked without options must stand to be a question.
const UNREAD_FOR: Duration = Duration::from_millis(700);
/// A dialog that was answered is gone before it is told who answered it.
const WHO_ANSWERED: Duration = Duration::from_millis(700);

/// The slots that are watched.
pub(super) struct DialogWatch {
    /// Followed since before the first look, so that no dialog is missed.
    follower: Follower,
    slots: HashMap<SlotId, Arc<Bell>>,
    /// Each says whose watcher it was.
    tasks: JoinSet<SlotId>,
}

/// How the task of a slot is told to look.
#[derive(Default)]
struct Bell {
    ring: Notify,
    /// Question and option of what was answered last in the slot.
    answered: Mutex<Option<Answered>>,
}

#[derive(Clone)]
struct Answered {
    question: String,
    option: String,
}

/// Watches the slots that are open, after what an earlier daemon left is settled.
pub(super) async fn begin(permissions: &Arc<Permissions>) -> Result<DialogWatch, QuestionError> {
    let mut watched = DialogWatch {
        follower: permissions.timeline.follow(),
        slots: HashMap::new(),
        tasks: JoinSet::new(),
    };
    for open in permissions.slots.open() {
        let slot = open.slot.id;
        // An answer that was on its way did not arrive, or the dialog is gone.
        let given_up = permissions
            .db
            .write(move |tx| Box::pin(questions::give_up_all_in(tx, slot)))
            .await?;
        if given_up > 0 {
            tracing::info!(%slot, "answer delivery unknown after restart");
        }
        watched.watch_slot(permissions, slot);
    }
    Ok(watched)
}

/// Watches until the timeline closes. What is begun anew looks at every slot
/// again.
pub(super) async fn run(permissions: Arc<Permissions>, first: Option<DialogWatch>) {
    let mut watched = match first {
        Some(watched) => watched,
        None => loop {
            match begin(&permissions).await {
                Ok(watched) => break watched,
                Err(error) => {
                    tracing::error!(%error, "dialog watch failed, retrying");
                    tokio::time::sleep(RETRY).await;
                }
            }
        },
    };
    let mut rechecks = permissions.questions.rechecks();
    let mut config = permissions.config.clone();
    loop {
        tokio::select! {
            event = watched.follower.next() => match event {
                Ok(event) => watched.handle_event(&permissions, &event.event).await,
                Err(FollowError::Closed) => return,
                Err(FollowError::Store(error)) => {
                    tracing::error!(%error, "timeline read failed, retrying");
                    tokio::time::sleep(RETRY).await;
                }
            },
            Ok(()) = rechecks.changed() => watched.ring_all(),
            Ok(()) = config.changed() => watched.ring_all(),
            Some(ended) = watched.tasks.join_next() => {
                // The next thing that happens to the slot begins another.
                if let Ok(slot) = ended {
                    watched.slots.remove(&slot);
                }
            }
        }
    }
}

impl DialogWatch {
    async fn handle_event(&mut self, permissions: &Arc<Permissions>, event: &Event) {
        match event {
            Event::ConfirmRequired { slot, .. } => self.watch_slot(permissions, *slot),
            // Most changes are no business of dialogs.
            Event::PtyStateChanged { slot, to, .. }
            | Event::SlotStateChanged { slot, state: to }
                if *to == PtyState::Confirming || self.slots.contains_key(slot) =>
            {
                self.watch_slot(permissions, *slot);
            }
            Event::DialogAnswered {
                slot,
                question,
                option,
            } => {
                if let Some(bell) = self.slots.get(slot) {
                    let answered = Answered {
                        question: question.clone(),
                        option: option.clone(),
                    };
                    *bell.answered.lock() = Some(answered);
                    bell.ring.notify_one();
                }
            }
            Event::SlotClosed { slot, .. } => {
                // One that was just asking looks once more, and closes what it asked.
                if let Some(bell) = self.slots.remove(slot) {
                    bell.ring.notify_one();
                }
                permissions.questions.announced().forget(*slot);
                if let Err(error) = close_all(permissions, *slot).await {
                    tracing::error!(%slot, %error, "questions of closed slot not closed");
                }
            }
            _ => {}
        }
    }

    /// Looks at a slot of this daemon, now or as soon as the last look is over.
    fn watch_slot(&mut self, permissions: &Arc<Permissions>, slot: SlotId) {
        if permissions.slots.find(&slot.to_string()).is_none() {
            return;
        }
        let bell = self.slots.entry(slot).or_insert_with(|| {
            let bell = Arc::new(Bell::default());
            let watcher = Watcher {
                permissions: Arc::clone(permissions),
                slot,
                bell: Arc::clone(&bell),
                tried: None,
                asked: None,
                left_at: None,
                unread: None,
            };
            let supervisor = permissions.tasks.supervisor();
            let subject = Some(slot.to_string());
            let watching =
                supervisor.watch("dialog watcher", subject, OnPanic::Report, watcher.run());
            self.tasks.spawn(async move {
                watching.await;
                slot
            });
            bell
        });
        bell.ring.notify_one();
    }

    fn ring_all(&self) {
        self.slots.values().for_each(|bell| bell.ring.notify_one());
    }
}

struct Watcher {
    permissions: Arc<Permissions>,
    slot: SlotId,
    bell: Arc<Bell>,
    /// The dialog that was answered by rules and did not take it.
    tried: Option<Tried>,
    /// The dialog of which it is on record that a person is asked.
    asked: Option<String>,
    /// Since when a dialog is gone of which it is not known who answered it.
    left_at: Option<Instant>,
    /// What was seen without options, and since when.
    unread: Option<(String, Instant)>,
}

struct Tried {
    dialog: String,
    why: String,
}

/// When to look again.
enum Next {
    WhenTold,
    After(Duration),
    Never,
}

impl Watcher {
    async fn run(mut self) {
        self.bell.ring.notified().await;
        loop {
            let next = match self.examine().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::error!(slot = %self.slot, %error, "dialog handling failed");
                    Next::After(RETRY)
                }
            };
            match next {
                Next::WhenTold => self.bell.ring.notified().await,
                Next::After(pause) => {
                    let _ = tokio::time::timeout(pause, self.bell.ring.notified()).await;
                }
                Next::Never => return,
            }
        }
    }

    async fn examine(&mut self) -> Result<Next, QuestionError> {
        let Some(open) = self.permissions.slots.find(&self.slot.to_string()) else {
            close_all(&self.permissions, self.slot).await?;
            return Ok(Next::Never);
        };
        let Some(look) = open.inspect().await else {
            close_all(&self.permissions, self.slot).await?;
            return Ok(Next::Never);
        };
        let Some(dialog) = look.asked() else {
            self.tried = None;
            self.unread = None;
            return self.left(None).await;
        };
        let name = identity(&dialog);
        if let Some(pause) = self.unsteady(&dialog, &name) {
            return Ok(Next::After(pause));
        }
        let reading = look.reading;
        if self
            .tried
            .as_ref()
            .is_some_and(|tried| tried.dialog != name)
        {
            self.tried = None;
        }
        let runs = self.permissions.executions.in_slot(self.slot);
        let shown = dialog.request.as_ref().map(|request| &request.asked);
        let witness = Witness::of(&self.permissions, &open, shown);
        let execution = runs.map(|(execution, _)| execution);
        let mut origin = self.origin(&open, &dialog, &name, execution);
        if let QuestionOrigin::Dialog { permission, .. } = &mut origin {
            *permission = witness.asked(shown).map(Box::new);
        }
        // The same screen for another use of a tool is another question.
        let key = origin.key();
        let stays = !self.asks_otherwise(&origin).await?;
        let after_left = self.left(Some(&*key).filter(|_| stays)).await?;
        if self
            .permissions
            .executions
            .answers_itself(self.slot, &dialog)
        {
            return Ok(Next::After(STARTUP_PAUSE));
        }
        let mut reason = None;
        if reading.waiting_for == Some(WaitingFor::Permission) {
            match &self.tried {
                Some(tried) => reason = Some(tried.why.clone()),
                None => {
                    let permissions = &self.permissions;
                    let verdict = witness.verdict(permissions, &open, shown, runs).await?;
                    match verdict.effect {
                        Effect::Ask => {
                            if self.asked.as_ref() != Some(&name) {
                                let execution = runs.map(|(execution, _)| execution);
                                let wanted = witness.asked(shown).unwrap_or_default();
                                self.permissions
                                    .put_verdict_on_record(
                                        self.slot, execution, &wanted, &verdict, None,
                                    )
                                    .await?;
                                self.asked = Some(name.clone());
                            }
                            reason = Some(verdict.reason);
                        }
                        Effect::Allow | Effect::Deny => {
                            let decision = witness.decision();
                            match self
                                .answer_by_rule(&open, &dialog, &origin, verdict, decision)
                                .await?
                            {
                                RuleAnswer::Taken => return Ok(after_left),
                                RuleAnswer::Elsewhere => return Ok(Next::After(RETRY)),
                                RuleAnswer::Not(why) => {
                                    reason = Some(why.clone());
                                    let dialog = name.clone();
                                    self.tried = Some(Tried { dialog, why });
                                }
                            }
                        }
                    }
                }
            }
        }
        // Deciding took a while: what was answered meanwhile is not asked anew.
        let now = open.inspect().await.and_then(|look| look.asked());
        if now.is_none_or(|dialog| identity(&dialog) != name) {
            return Ok(Next::After(DRAWN_ANEW));
        }
        self.ask(&dialog, origin, reason).await?;
        Ok(after_left)
    }

    /// How much longer a dialog without options must stand: one that is being
    /// drawn has none for a moment.
    fn unsteady(&mut self, dialog: &Dialog, name: &str) -> Option<Duration> {
        if !dialog.options.is_empty() {
            self.unread = None;
            return None;
        }
        let since = match &self.unread {
            Some((known, since)) if known == name => *since,
            _ => self.unread.insert((name.to_owned(), Instant::now())).1,
        };
        let left = UNREAD_FOR.saturating_sub(since.elapsed());
        (!left.is_zero()).then_some(left)
    }

    fn origin(
        &self,
        open: &OpenSlot,
        dialog: &Dialog,
        name: &str,
        execution: Option<ExecutionId>,
    ) -> QuestionOrigin {
        let request = dialog.request.as_ref();
        let label = |index: Option<usize>| {
            let option = dialog.options.get(index?)?;
            Some(option.label.clone())
        };
        QuestionOrigin::Dialog {
            slot: self.slot,
            slot_name: open.slot.name.clone(),
            execution,
            dialog: name.to_owned(),
            permission: request.map(|request| Box::new(request.asked.clone())),
            allows: label(request.and_then(|request| request.allow)),
            denies: label(request.and_then(|request| request.deny)),
        }
    }

    async fn ask(
        &self,
        dialog: &Dialog,
        origin: QuestionOrigin,
        reason: Option<String>,
    ) -> Result<(), QuestionError> {
        let Wording { question, context } = wording(dialog, reason.as_deref());
        let task = self.permissions.executions.in_slot(self.slot);
        let task = task.and_then(|(_, task)| task);
        let new = NewQuestion {
            origin,
            question,
            context,
            options: dialog.options.iter().map(|o| o.label.clone()).collect(),
            blocks: self.permissions.questions.waiting_for(task).await?,
        };
        let raised = self.permissions.questions.raise(new, TraceContext::root());
        raised.await.map(drop)
    }

    /// Answers a dialog as the rules have decided. The decision and the uses of
    /// its rules are on record before a key is pressed; those of one that was taken when
    /// the use was announced are already.
    async fn answer_by_rule(
        &self,
        open: &OpenSlot,
        dialog: &Dialog,
        origin: &QuestionOrigin,
        verdict: Verdict,
        decision: Option<i64>,
    ) -> Result<RuleAnswer, QuestionError> {
        let request = dialog.request.as_ref();
        let option = match verdict.effect {
            Effect::Deny => request.and_then(|request| request.deny),
            _ => request.and_then(|request| request.allow),
        };
        let Some(option) = option.and_then(|index| dialog.options.get(index)) else {
            let what = match verdict.effect {
                Effect::Deny => "denies it",
                _ => "allows it once",
            };
            let why = format!(
                "{}, but the dialog has no option of which it is certain that it {what}",
                verdict.reason
            );
            return Ok(RuleAnswer::Not(why));
        };
        // A question that stands for it is closed by the same answer, and is not
        // answered by a person meanwhile.
        let standing = self.standing(origin).await?;
        if let Some(question) = &standing {
            let (id, now) = (question.id, self.permissions.clock.now());
            let begun = self
                .permissions
                .db
                .write(move |tx| Box::pin(questions::begin_delivery(tx, id, now)))
                .await;
            if begun.is_err() {
                return Ok(RuleAnswer::Elsewhere);
            }
        }
        let given = self.press(open, dialog, option, origin, &verdict, decision);
        let given = given.await;
        let permissions = &self.permissions;
        match (&given, standing) {
            (Ok(RuleAnswer::Taken), Some(question)) => {
                let answer = option.label.clone();
                let by = verdict.rules.join(", ");
                permissions
                    .questions
                    .settle(question.id, answer, &by)
                    .await?;
            }
            (_, Some(question)) => {
                let id = question.id;
                permissions
                    .db
                    .write(move |tx| Box::pin(questions::give_up(tx, id)))
                    .await?;
            }
            (_, None) => {}
        }
        given
    }

    async fn press(
        &self,
        open: &OpenSlot,
        dialog: &Dialog,
        option: &DialogOption,
        origin: &QuestionOrigin,
        verdict: &Verdict,
        decision: Option<i64>,
    ) -> Result<RuleAnswer, QuestionError> {
        let permissions = &self.permissions;
        let QuestionOrigin::Dialog {
            execution,
            permission,
            ..
        } = origin
        else {
            return Ok(RuleAnswer::Elsewhere);
        };
        let (execution, wanted) = (*execution, permission.as_deref().cloned());
        let digest = wanted.as_ref().and_then(|asked| asked.digest.clone());
        let recorded = match decision {
            Some(decision) => Some(decision),
            None => {
                let asked = wanted.unwrap_or_default();
                permissions
                    .record_decision(self.slot, execution, asked, verdict)
                    .await?
            }
        };
        let Some(decision) = recorded else {
            return Ok(RuleAnswer::Elsewhere);
        };
        let answer = Answer {
            option: match option.number {
                Some(number) => format!("{number}. {}", option.label),
                None => option.label.clone(),
            },
            // All of its words: what is answered is what was decided on.
            expect: Some(dialog.text.clone()),
            wait: DIALOG_WAIT,
        };
        let answered = permissions.slots.answer(open, answer).await;
        let (outcome, given) = match answered {
            Ok(answered) if answered.outcome == AnswerOutcome::Taken => {
                ("taken".to_owned(), RuleAnswer::Taken)
            }
            Ok(answered) => (
                answered.evidence.clone(),
                RuleAnswer::Not(answered.evidence),
            ),
            // Often because of the answer: a program that was let go on is done.
            Err(error @ InputError::Closed) => (error.to_string(), RuleAnswer::Elsewhere),
            Err(error) => (error.to_string(), RuleAnswer::Not(error.to_string())),
        };
        permissions.settle(decision, &outcome).await?;
        if matches!(given, RuleAnswer::Taken) {
            if let Some(digest) = digest {
                permissions
                    .questions
                    .announced()
                    .answered(self.slot, &digest);
            }
            tracing::info!(slot = %self.slot, reason = verdict.reason, "dialog decided by rule");
            let resolved = Event::ConfirmResolved {
                slot: self.slot,
                chosen: option.label.clone(),
                by: verdict.rules.join(", "),
            };
            let cause = execution.and_then(|execution| permissions.executions.trace(execution));
            let trace = cause.map_or_else(TraceContext::root, |cause| cause.child());
            let recorded = permissions.timeline.record(resolved, trace);
            if let Err(error) = recorded.await {
                tracing::error!(slot = %self.slot, %error, "decision not recorded on timeline");
            }
        }
        Ok(match given {
            RuleAnswer::Not(why) => RuleAnswer::Not(format!("{}, but {why}", verdict.reason)),
            other => other,
        })
    }

    /// Whether the question that stands for this dialog is about something else than
    /// what the agent's program has announced since.
    async fn asks_otherwise(&self, origin: &QuestionOrigin) -> Result<bool, QuestionError> {
        let Some(digest) = digest_of(origin) else {
            return Ok(false);
        };
        let standing = self.standing(origin).await?;
        let asked = standing.as_ref().and_then(|one| digest_of(&one.origin));
        Ok(asked.is_some_and(|asked| asked != digest))
    }

    /// The open question that stands for a dialog.
    async fn standing(&self, origin: &QuestionOrigin) -> Result<Option<Question>, QuestionError> {
        let filter = questions::QuestionFilter::OpenInSlot(self.slot);
        let open = self.permissions.questions.list(filter).await?;
        let key = origin.key();
        Ok(open
            .into_iter()
            .find(|question| question.origin.key() == key))
    }

    /// Closes the questions whose dialogs are not on the screen any more, once it
    /// is known, or cannot be known, who answered them.
    async fn left(&mut self, but: Option<&str>) -> Result<Next, QuestionError> {
        let (slot, but) = (self.slot, but.map(str::to_owned));
        let orphaned = self
            .permissions
            .db
            .write(move |tx| {
                Box::pin(async move {
                    questions::dialogs_left(tx, slot, but.as_deref()).await?;
                    questions::orphaned(tx, slot).await
                })
            })
            .await?;
        if orphaned.is_empty() {
            self.left_at = None;
            return Ok(Next::WhenTold);
        }
        let answered = self.bell.answered.lock().clone();
        let waited = self.left_at.get_or_insert_with(Instant::now).elapsed();
        let mut next = Next::WhenTold;
        for question in orphaned {
            let questions = &self.permissions.questions;
            match &answered {
                Some(answered) if answered.question == question.question => {
                    let option = answered.option.clone();
                    questions.settle(question.id, option, "terminal").await?;
                }
                _ if waited < WHO_ANSWERED => next = Next::After(WHO_ANSWERED - waited),
                _ => {
                    let reason = "its dialog has left the screen";
                    questions.close_gone(question.id, reason).await?;
                }
            }
        }
        Ok(next)
    }
}

/// What came of answering a dialog by rule.
enum RuleAnswer {
    Taken,
    /// Somebody else is answering it, a rule was used up, or the slot is closed:
    /// look again.
    Elsewhere,
    Not(String),
}

/// A closed slot asks nothing any more.
async fn close_all(permissions: &Permissions, slot: SlotId) -> Result<(), QuestionError> {
    let orphaned = permissions
        .db
        .write(move |tx| {
            Box::pin(async move {
                questions::give_up_all_in(tx, slot).await?;
                questions::dialogs_left(tx, slot, None).await?;
                questions::orphaned(tx, slot).await
            })
        })
        .await?;
    for question in orphaned {
        let questions = &permissions.questions;
        questions
            .close_gone(question.id, "its slot is closed")
            .await?;
    }
    Ok(())
}

fn digest_of(origin: &QuestionOrigin) -> Option<&str> {
    match origin {
        QuestionOrigin::Dialog { permission, .. } => permission.as_ref()?.digest.as_deref(),
        _ => None,
    }
}
