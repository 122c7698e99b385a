//! Whether what checks wrote may be put back.
//!
//! It may as long as nobody but the checks has worked in the worktree since they
//! began. The journal of the agent says whether anybody has: a message that was
//! delivered to it, a turn or a tool that it began; and its slot, whether anybody typed
//! to it. What its screen shows at one moment says little: a reading may come long after
//! what it shows. Both are kept with the worktree, so a daemon that takes over finds out
//! the same.

use std::fmt;
use std::str::FromStr;

use missiond_core::{DaemonId, DeliveryStatus, ExecutionId, Isolation};
use missiond_executions::{Direction, Part};
use missiond_journal::catalogue::{Edge, Fact};
use missiond_journal::{Observation, Observed, RecordBody, RecordKind, Sequence, Source};
use missiond_workspace::{Restored, Worktree};

use super::work::{JobError, Work};

/// So many records are read at once.
const RECORDS: usize = 500;
const RECORD_BYTES: usize = 4 << 20;

/// What became of what checks wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    PutBack(Restored),
    /// It stays, because somebody works there again: what they began.
    Left(&'static str),
}

impl Default for Settled {
    fn default() -> Self {
        Self::PutBack(Restored::default())
    }
}

/// When checks began, by the journal and the slot of the agent: `exe_…@17`, and where
/// it has a slot `exe_…@17 daemon_…@2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    execution: ExecutionId,
    head: Sequence,
    typed: Option<Typed>,
}

/// How often somebody has typed to the agent's program since a daemon has it: who types
/// straight to a program is on no other record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Typed {
    daemon: DaemonId,
    times: u64,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.execution, self.head.0)?;
        match self.typed {
            Some(Typed { daemon, times }) => write!(f, " {daemon}@{times}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Moment {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (journal, slot) = match text.split_once(' ') {
            Some((journal, slot)) => (journal, Some(slot)),
            None => (text, None),
        };
        let (execution, head) = journal.split_once('@').ok_or(())?;
        Ok(Self {
            execution: execution.parse().map_err(drop)?,
            head: Sequence(head.parse().map_err(drop)?),
            typed: slot.map(str::parse).transpose()?,
        })
    }
}

impl FromStr for Typed {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (daemon, times) = text.split_once('@').ok_or(())?;
        Ok(Self {
            daemon: daemon.parse().map_err(drop)?,
            times: times.parse().map_err(drop)?,
        })
    }
}

/// What is known of the agent since a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Nothing,
    Began(&'static str),
    /// Nobody can say.
    Unknown,
}

impl Typed {
    /// Nothing once the program has ended: nobody types to it any more.
    async fn now(work: &Work) -> Option<Self> {
        let slot = work.attempt.slot?.to_string();
        let view = work.shared.slots.find(&slot)?.inspect().await?;
        Some(Self {
            daemon: work.shared.id,
            times: view.typed,
        })
    }

    /// Whether somebody has typed since the earlier count. Another daemon began to
    /// count when it took over.
    fn is_more_than(self, earlier: Option<Self>) -> bool {
        let before = earlier.filter(|earlier| earlier.daemon == self.daemon);
        self.times > before.map_or(0, |before| before.times)
    }
}

/// Puts on record that checks begin.
pub(super) async fn begin(work: &Work, worktree: &Worktree) -> Result<(), JobError> {
    let moment = match work.attempt.execution {
        Some(execution) => now(work, execution).await,
        None => None,
    };
    let moment = moment.map(|moment| moment.to_string());
    Ok(worktree.begin_checks(moment).await?)
}

async fn now(work: &Work, execution: ExecutionId) -> Option<Moment> {
    let last = Part {
        kinds: Vec::new(),
        direction: Direction::Before(None),
        limit: 1,
        bytes: RECORD_BYTES,
    };
    let page = work.shared.executions.journal(execution, last).await.ok()?;
    Some(Moment {
        execution,
        head: page.head,
        typed: Typed::now(work).await,
    })
}

/// Puts back what checks wrote that have just run, unless somebody works there again.
pub(super) async fn end(work: &Work, worktree: &Worktree) -> Result<Settled, JobError> {
    put_back(work, worktree, Checks::Ended).await
}

/// The same for checks that were cut off, if there were any: before anybody is let work
/// in the place, and before what they did is taken.
pub(super) async fn settle(work: &Work, worktree: &Worktree) -> Result<(), JobError> {
    put_back(work, worktree, Checks::CutOff).await.map(drop)
}

/// How checks came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checks {
    /// We have seen them through: also what they committed is theirs.
    Ended,
    /// Nobody knows who else was there since.
    CutOff,
}

async fn put_back(work: &Work, worktree: &Worktree, checks: Checks) -> Result<Settled, JobError> {
    let Some(begun) = worktree.checks_begun()? else {
        return Ok(Settled::default());
    };
    let moment = begun.moment.and_then(|moment| moment.parse().ok());
    let since = match moment {
        Some(moment) => since(work, moment).await,
        None => Since::Unknown,
    };
    let task = work.task.number;
    let restored = match (since, checks) {
        (Since::Nothing, Checks::Ended) => worktree.end_checks().await?,
        (Since::Nothing | Since::Unknown, _) => worktree.settle_checks().await?,
        (Since::Began(what), _) => {
            tracing::warn!(%task, what, "worktree not restored after checks");
            worktree.forget_checks()?;
            return Ok(Settled::Left(what));
        }
    };
    if !restored.is_empty() {
        tracing::info!(%task, %restored, "worktree restored after checks");
    }
    Ok(Settled::PutBack(restored))
}

/// The same for the worktree of the attempt, where it has one of its own.
pub(super) async fn settle_place(work: &Work) -> Result<(), JobError> {
    if work.task.isolation == Isolation::Worktree
        && let Some(path) = &work.attempt.worktree
        && path.exists()
    {
        settle(work, &Worktree::open(path).await?).await?;
    }
    Ok(())
}

async fn since(work: &Work, moment: Moment) -> Since {
    match on_record(work, moment).await {
        Ok(Some(what)) => return Since::Began(what),
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(execution = %moment.execution, %error, "journal not read to settle checks");
            return Since::Unknown;
        }
    }
    match Typed::now(work).await {
        Some(now) if now.is_more_than(moment.typed) => Since::Began("somebody typed to its agent"),
        _ => Since::Nothing,
    }
}

/// What the agent is on record to have begun since a moment.
async fn on_record(work: &Work, moment: Moment) -> Result<Option<&'static str>, JobError> {
    let mut after = moment.head;
    loop {
        let part = Part {
            kinds: vec![RecordKind::MessageDelivery, RecordKind::Observation],
            direction: Direction::After(after),
            limit: RECORDS,
            bytes: RECORD_BYTES,
        };
        let executions = &work.shared.executions;
        let page = executions.journal(moment.execution, part).await?;
        let began = page.records.iter().find_map(|record| began(&record.body));
        if began.is_some() || !page.more {
            return Ok(began);
        }
        after = page.next;
    }
}

fn began(body: &RecordBody) -> Option<&'static str> {
    match body {
        RecordBody::MessageDelivery(delivery) if delivery.status == DeliveryStatus::Delivering => {
            Some("its agent was given a message")
        }
        RecordBody::Observation(observation) => began_by_hook(observation),
        _ => None,
    }
}

/// Hooks tell at once; a transcript is read later, and may tell of what was before.
fn began_by_hook(observation: &Observation) -> Option<&'static str> {
    match (&observation.source, &observation.observed) {
        (Source::Hook, Observed::Fact(Fact::Turn(turn))) if turn.edge == Edge::Began => {
            Some("its agent began to work")
        }
        (Source::Hook, Observed::Fact(Fact::ToolUse(tool))) if tool.edge == Edge::Began => {
            Some("its agent used a tool")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::{MessageId, ObservationId, Timestamp};
    use missiond_journal::catalogue::{ToolUse, Turn};
    use missiond_journal::record::MessageDelivery;
    use missiond_journal::{Confidence, ObservationKey, Text};

    use super::*;

    #[test]
    fn a_moment_is_read_as_it_was_written() {
        let typed = Typed {
            daemon: DaemonId::generate(),
            times: 2,
        };
        let mut moment = Moment {
            execution: ExecutionId::generate(),
            head: Sequence(17),
            typed: None,
        };
        assert_eq!(moment.to_string().parse(), Ok(moment));
        moment.typed = Some(typed);
        assert_eq!(moment.to_string().parse(), Ok(moment));
        for wrong in [
            "",
            "@1",
            "17",
            "exe@x",
            &format!("{}@1 2", moment.execution),
        ] {
            assert_eq!(wrong.parse::<Moment>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn what_another_daemon_counts_began_when_it_took_over() {
        let one = |daemon, times| Typed { daemon, times };
        let (ours, theirs) = (DaemonId::generate(), DaemonId::generate());
        assert!(!one(ours, 2).is_more_than(Some(one(ours, 2))));
        assert!(one(ours, 3).is_more_than(Some(one(ours, 2))));
        assert!(!one(ours, 0).is_more_than(Some(one(theirs, 2))));
        assert!(one(ours, 1).is_more_than(Some(one(theirs, 2))));
    }

    fn observed(source: Source, fact: impl Into<Fact>) -> RecordBody {
        RecordBody::Observation(Observation {
            id: ObservationId::generate(),
            execution: ExecutionId::generate(),
            key: ObservationKey::new("one").unwrap(),
            source,
            confidence: Confidence::High,
            observed_at: Timestamp::from_micros(0),
            observed: Observed::Fact(fact.into()),
        })
    }

    #[test]
    fn only_what_is_told_at_once_says_that_an_agent_works_again() {
        let turn = |edge| Turn { edge };
        let tool = |edge| ToolUse {
            edge,
            tool: Text::new("Edit").unwrap(),
            target: None,
            input_digest: None,
            outcome: None,
        };
        let delivery = |status| {
            RecordBody::MessageDelivery(MessageDelivery {
                message: MessageId::generate(),
                status,
                reason: None,
            })
        };
        let cases = [
            (observed(Source::Hook, turn(Edge::Began)), true),
            (observed(Source::Hook, tool(Edge::Began)), true),
            (delivery(DeliveryStatus::Delivering), true),
            (observed(Source::Hook, turn(Edge::Ended)), false),
            (observed(Source::Hook, tool(Edge::Ended)), false),
            (observed(Source::Transcript, tool(Edge::Began)), false),
            (delivery(DeliveryStatus::Held), false),
            (delivery(DeliveryStatus::Delivered), false),
        ];
        for (body, expected) in cases {
            assert_eq!(began(&body).is_some(), expected, "{body:?}");
        }
    }
}
