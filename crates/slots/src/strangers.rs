//! Who tried to speak to a host of a slot, or to pose as one, and was not let: told to
//! whoever puts refusals on record.

use missiond_core::SlotId;
use missiond_pty::host::Stranger;
use tokio::sync::mpsc;

/// Of those that nobody has put on record yet, so many are kept.
const WAITING: usize = 64;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// To speak to the host, as its daemon does.
    Speaking,
    /// To be spoken to, as the host is.
    Posing,
}

/// A process that was not let.
#[derive(Debug, Clone)]
pub struct TurnedAway {
    pub tried: Tried,
    /// At the host of this slot.
    pub at: SlotId,
    pub name: String,
    /// The slot it runs in itself, where that is known.
    pub from: Option<SlotId>,
    pub who: Stranger,
}

/// The way to whoever puts them on record.
#[derive(Debug)]
pub(crate) struct Strangers {
    told: mpsc::Sender<TurnedAway>,
}

impl Strangers {
    pub(crate) fn new() -> (Self, mpsc::Receiver<TurnedAway>) {
        let (told, received) = mpsc::channel(WAITING);
        (Self { told }, received)
    }

    pub(crate) fn tell(&self, turned_away: TurnedAway) {
        let TurnedAway { tried, at, who, .. } = &turned_away;
        tracing::warn!(
            slot = %at, ?tried, pid = who.pid, program = who.program, attempts = who.attempts,
            "process turned away at slot host"
        );
        let at = *at;
        if self.told.try_send(turned_away).is_err() {
            tracing::warn!(slot = %at, "refusal not on record: too many wait");
        }
    }
}
