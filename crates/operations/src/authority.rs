//! Whether a call is carried out: what the catalogue says to its caller, and for an agent
//! whether the call is about its own. Asked by `Operations::call` for every operation and
//! every transport, and by whatever does the same as an operation without being one.
//!
//! A refusal is told to the caller with who can, to the log, to the audit, and to the
//! timeline as an event that counts; one who goes on trying becomes an incident there.

use std::collections::{BTreeMap, HashMap};

use missiond_api::{ApiError, Decision, OperationSpec, Own, Refusal};
use missiond_audit::Entry;
use missiond_core::{BoardTaskId, ErrorCode, Event, ExecutionId, Principal, SlotId, TraceContext};
use missiond_slots::{Tried, TurnedAway};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::allowed::Allowed;
use crate::state::Daemon;

/// Callers of whom refusals are counted; beyond it all are forgotten.
const COUNTED: usize = 4096;
/// As what the records name the way to a slot's terminal, which is no operation.
const TERMINAL: &str = "terminal of a slot";
/// So many refusals of one caller are each told; of more, every one whose number is a
/// power of two, so that whoever goes on cannot fill the timeline.
const TOLD_EACH: u64 = 8;

/// Of each kind so many things are remembered as an agent's; the oldest are forgotten first.
const REMEMBERED: usize = 16_384;

/// What agents have started since the daemon did: a daemon that is started anew knows
/// nothing of it, and then what an agent started belongs to people. Identifiers grow with
/// time, so the first is the oldest.
#[derive(Debug, Default)]
pub(crate) struct Started {
    slots: Mutex<BTreeMap<SlotId, SlotId>>,
    executions: Mutex<BTreeMap<ExecutionId, SlotId>>,
    tasks: Mutex<BTreeMap<BoardTaskId, SlotId>>,
}

fn remember<T: Ord>(things: &Mutex<BTreeMap<T, SlotId>>, by: &Principal, thing: T) {
    if let Some(by) = by.slot() {
        let mut things = things.lock();
        things.insert(thing, by);
        if things.len() > REMEMBERED {
            things.pop_first();
        }
    }
}

impl Started {
    pub(crate) fn slot(&self, by: &Principal, slot: SlotId) {
        remember(&self.slots, by, slot);
    }

    /// The slot above all agents that started this one.
    pub(crate) fn above(
        &self,
        slot: SlotId,
        execution_in: impl Fn(SlotId) -> Option<ExecutionId>,
    ) -> SlotId {
        /// No deeper do agents start each other.
        const DEEPEST: usize = 64;
        let by = |slot: &SlotId| {
            let by = self.slots.lock().get(slot).copied();
            by.or_else(|| self.executions.lock().get(&execution_in(*slot)?).copied())
        };
        let all = std::iter::successors(Some(slot), by);
        all.take(DEEPEST).last().unwrap_or(slot)
    }

    pub(crate) fn execution(&self, by: &Principal, execution: ExecutionId) {
        remember(&self.executions, by, execution);
    }

    pub(crate) fn task(&self, by: &Principal, task: BoardTaskId) {
        remember(&self.tasks, by, task);
    }
}

/// What is refused, and to whom how often.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<HashMap<Principal, u64>>);

impl Refusals {
    /// How often with these so many.
    fn count(&self, principal: Principal, attempts: u64) -> u64 {
        let mut counts = self.0.lock();
        if counts.len() >= COUNTED {
            counts.clear();
        }
        let count = counts.entry(principal).or_default();
        *count += attempts;
        *count
    }

    /// Tells of a refusal, and gives it as the caller is told.
    pub(crate) async fn refuse(
        &self,
        daemon: &Daemon,
        operation: &str,
        principal: Principal,
        params: Option<&RawValue>,
        refusal: Refusal,
    ) -> ApiError {
        let sentence = refusal.sentence(operation, &principal);
        let params = params.map_or("{}", RawValue::get);
        self.record(daemon, operation, principal, params, 1, &sentence)
            .await;
        ApiError::new(ErrorCode::Forbidden, sentence)
    }

    /// Tells of so many refusals at once.
    async fn record(
        &self,
        daemon: &Daemon,
        operation: &str,
        principal: Principal,
        exact: &str,
        refused: u64,
        sentence: &str,
    ) {
        let attempts = self.count(principal, refused);
        tracing::warn!(operation, %principal, attempts, "operation refused");
        if attempts <= TOLD_EACH.max(refused) || attempts.is_power_of_two() {
            let entry = Entry::refused(&principal, operation, exact, attempts);
            // Refused it is, whether or not that can be put on record.
            if let Err(error) = daemon.audit.record(entry).await {
                tracing::error!(%error, "refusal not on record");
            }
            let refused = Event::AuthorityRefused {
                principal: principal.to_string(),
                slot: principal.slot(),
                operation: operation.to_owned(),
                reason: sentence.to_owned(),
                attempts,
            };
            daemon.timeline.record_soon(refused, TraceContext::root());
        }
    }

    /// Tells of who tried to pass for the daemon or for a host at a slot's terminal.
    pub(crate) async fn turned_away(&self, daemon: &Daemon, turned_away: &TurnedAway) {
        let TurnedAway {
            tried,
            at,
            name,
            from,
            who,
        } = turned_away;
        let principal = match *from {
            Some(slot) => Principal::Agent {
                slot,
                execution: daemon.executions.in_slot(slot).map(|(run, _)| run),
            },
            None => Principal::Untold,
        };
        let (program, pid) = (&who.program, who.pid);
        let sentence = match tried {
            Tried::Speaking => format!(
                "only the daemon speaks to the terminal of slot {name}: `{program}` (process \
                 {pid}) was turned away"
            ),
            Tried::Posing => format!(
                "`{program}` (process {pid}) stood where the terminal of slot {name} should be, \
                 and was not spoken to"
            ),
        };
        let exact = format!("{tried:?} {at} {pid} {program}");
        self.record(daemon, TERMINAL, principal, &exact, who.attempts, &sentence)
            .await;
    }
}

/// Whether this caller may make this call.
pub(crate) async fn decide(
    daemon: &Daemon,
    started: &Started,
    spec: &OperationSpec,
    principal: &Principal,
    params: Option<&RawValue>,
) -> Result<(), Refusal> {
    match (spec.decide(principal), principal) {
        (Decision::Allowed, _) => Ok(()),
        (Decision::Refused(refusal), _) => Err(refusal),
        (Decision::IfOwn(own), Principal::Agent { slot, execution }) => {
            let named = params.and_then(|params| named(params, own));
            let is_own = match named {
                Some(named) => {
                    let agent = OwnAgent {
                        slot: *slot,
                        execution: *execution,
                    };
                    agent.owns(daemon, started, own, &named).await
                }
                None => false,
            };
            if is_own {
                Ok(())
            } else {
                Err(Refusal::NotOwn(own))
            }
        }
        (Decision::IfOwn(own), _) => Err(Refusal::NotOwn(own)),
    }
}

/// The thing that a call is about.
fn named(params: &RawValue, own: Own) -> Option<String> {
    #[derive(Deserialize)]
    struct Things {
        slot: Option<Value>,
        execution: Option<Value>,
        task: Option<Value>,
        tool: Option<Value>,
    }
    let things: Things = serde_json::from_str(params.get()).ok()?;
    let named = match own {
        Own::Slot | Own::StartedSlot => things.slot,
        Own::Execution | Own::StartedExecution => things.execution,
        Own::AddedTask => things.task,
        Own::Tool => things.tool,
    };
    match named? {
        Value::String(name) => Some(name),
        other => Some(other.to_string()),
    }
}

struct OwnAgent {
    slot: SlotId,
    execution: Option<ExecutionId>,
}

impl OwnAgent {
    async fn owns(&self, daemon: &Daemon, started: &Started, own: Own, named: &str) -> bool {
        let by_it = Some(&self.slot);
        match own {
            Own::Slot | Own::StartedSlot => {
                let Some(open) = daemon.slots.find(named) else {
                    return false;
                };
                let slot = open.slot.id;
                (own == Own::Slot && slot == self.slot) || started.slots.lock().get(&slot) == by_it
            }
            Own::Execution | Own::StartedExecution => {
                let Ok(found) = daemon.executions.find(named).await else {
                    return false;
                };
                let is_itself = own == Own::Execution && Some(found.id) == self.execution;
                is_itself || started.executions.lock().get(&found.id) == by_it
            }
            Own::AddedTask => {
                let Ok(task) = named.parse() else {
                    return false;
                };
                let found = daemon
                    .db
                    .read(move |tx| Box::pin(missiond_store::board::find(tx, task)))
                    .await;
                found.is_ok_and(|task| started.tasks.lock().get(&task.id) == by_it)
            }
            Own::Tool => {
                let open = daemon.slots.find(&self.slot.to_string());
                let name = open.as_ref().map(|open| open.slot.name.as_str());
                Allowed::of_slot(&daemon.config(), name).allows(named)
            }
        }
    }
}
