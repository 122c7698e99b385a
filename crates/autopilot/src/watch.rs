//! What is remembered of a running agent between passes: since when it rests,
//! whether it was seen at work, and when it was last spoken to.

use std::collections::HashMap;

use missiond_core::{
    Anomaly, Event, ExecutionActivity, ExecutionId, SlotId, TimelineEvent, Timestamp,
};

use super::view::{Limit, Rest, Worked};

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) rest: Rest,
    pub(super) spoken_to_at: Option<Timestamp>,
    pub(super) stuck: Option<String>,
    /// When its screen was last looked at for a limit, and what it showed.
    pub(super) looked: Option<(Timestamp, Option<Limit>)>,
    /// What was said of a limit before it was first spoken to.
    pub(super) old_limit: Option<String>,
    /// The requests whose tokens are on record.
    pub(super) requests: u64,
    pub(super) spent: Option<missiond_core::BudgetScope>,
}

impl Watch {
    /// An agent that was not followed until now.
    pub(super) fn begin(activity: ExecutionActivity, now: Timestamp) -> Self {
        let rest = if works(activity) {
            Rest::Working
        } else {
            Rest::Resting {
                since: now,
                worked: Worked::Unseen,
            }
        };
        Self {
            rest,
            spoken_to_at: None,
            stuck: None,
            looked: None,
            old_limit: None,
            requests: 0,
            spent: None,
        }
    }

    fn moved(&mut self, activity: ExecutionActivity, at: Timestamp) {
        self.rest = match (&self.rest, works(activity)) {
            (_, true) => Rest::Working,
            (Rest::Working, false) => Rest::Resting {
                since: at,
                worked: match activity {
                    // It may be a screen nobody knows: wait longer.
                    ExecutionActivity::Unknown => Worked::Unseen,
                    _ => Worked::Seen,
                },
            },
            (Rest::Resting { since, worked }, false) => Rest::Resting {
                since: *since,
                worked: match (activity, worked) {
                    (ExecutionActivity::Idle, worked) => *worked,
                    _ => Worked::Unseen,
                },
            },
        };
    }

    fn spoken_to(&mut self, at: Timestamp) {
        self.spoken_to_at = Some(at);
        self.stuck = None;
        if let Rest::Resting { .. } = self.rest {
            self.rest = Rest::Resting {
                since: at,
                worked: Worked::Unseen,
            };
        }
    }
}

/// Whether an agent that does this is at work.
pub(super) fn works(activity: ExecutionActivity) -> bool {
    !matches!(
        activity,
        ExecutionActivity::Idle | ExecutionActivity::Unknown
    )
}

/// The agents that are followed, by their execution.
#[derive(Debug, Default)]
pub(super) struct Watches {
    agents: HashMap<ExecutionId, Watch>,
    slots: HashMap<SlotId, ExecutionId>,
}

impl Watches {
    pub(super) fn of(
        &mut self,
        execution: ExecutionId,
        slot: Option<SlotId>,
        activity: ExecutionActivity,
        now: Timestamp,
    ) -> &mut Watch {
        if let Some(slot) = slot {
            self.slots.insert(slot, execution);
        }
        self.agents
            .entry(execution)
            .or_insert_with(|| Watch::begin(activity, now))
    }

    pub(super) fn forget_all_but(&mut self, known: &[ExecutionId]) {
        self.agents.retain(|execution, _| known.contains(execution));
        self.slots.retain(|_, execution| known.contains(execution));
    }

    /// Takes an event in; whether it may change what comes next.
    pub(super) fn handle_event(&mut self, event: &TimelineEvent) -> bool {
        let at = event.at;
        match &event.event {
            Event::ExecutionStateChanged {
                execution,
                activity,
                ..
            } => {
                if let Some(watch) = self.agents.get_mut(execution) {
                    watch.moved(*activity, at);
                }
                true
            }
            Event::MessageDelivery {
                execution, outcome, ..
            } => {
                if let Some(watch) = self.agents.get_mut(execution)
                    && outcome == "delivering"
                {
                    watch.spoken_to(at);
                }
                true
            }
            Event::SlotAnomalyFound {
                slot,
                anomaly: Anomaly::Stuck,
                detail,
                ..
            } => {
                self.set_stuck(*slot, Some(detail.clone()));
                true
            }
            Event::SlotAnomalyOver {
                slot,
                anomaly: Anomaly::Stuck,
                ..
            } => {
                self.set_stuck(*slot, None);
                true
            }
            Event::ExecutionSignal { .. }
            | Event::ExecutionEnded { .. }
            | Event::InputRequested { .. }
            | Event::BoardTaskCreated { .. }
            | Event::BoardTaskUpdated { .. }
            | Event::BoardAlternativeKept { .. }
            | Event::BoardTaskClaimed { .. }
            | Event::QuestionAnswered { .. }
            | Event::QuestionDismissed { .. }
            | Event::AutopilotChanged { .. } => true,
            _ => false,
        }
    }

    fn set_stuck(&mut self, slot: SlotId, why: Option<String>) {
        let agent = self.slots.get(&slot).and_then(|id| self.agents.get_mut(id));
        if let Some(watch) = agent {
            watch.stuck = why;
        }
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::{
        DaemonId, ExecutionAttention, ExecutionLifecycle, MessageId, TraceContext,
    };

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn event_at(second: i64, event: Event) -> TimelineEvent {
        TimelineEvent {
            seq: None,
            at: at(second),
            daemon: DaemonId::generate(),
            trace: TraceContext::root(),
            event,
        }
    }

    #[test]
    fn a_rest_counts_from_the_last_work_or_the_last_word() {
        use ExecutionActivity::{Executing, Idle, Unknown};
        let execution = ExecutionId::generate();
        let mut watches = Watches::default();
        watches.of(execution, None, Unknown, at(0));
        let activity = |activity| Event::ExecutionStateChanged {
            execution,
            lifecycle: ExecutionLifecycle::Running,
            attention: ExecutionAttention::Autonomous,
            activity,
        };
        let delivering = Event::MessageDelivery {
            execution,
            message: MessageId::generate(),
            outcome: "delivering".to_owned(),
            reason: None,
        };
        let resting = |since, worked| Rest::Resting {
            since: at(since),
            worked,
        };
        let steps = [
            (1, activity(Idle), resting(0, Worked::Unseen)),
            (2, delivering.clone(), resting(2, Worked::Unseen)),
            (3, activity(Executing), Rest::Working),
            (9, activity(Idle), resting(9, Worked::Seen)),
            (10, activity(Unknown), resting(9, Worked::Unseen)),
            (11, delivering, resting(11, Worked::Unseen)),
        ];
        for (second, event, expected) in steps {
            assert!(watches.handle_event(&event_at(second, event.clone())));
            let watch = watches.of(execution, None, Idle, at(second));
            assert_eq!(watch.rest, expected, "{event:?}");
        }
    }
}
