//! Who tried to speak to a host of a slot, or to pose as one, and was not let: told to
//! whoever puts refusals on record.

use missiond_core::SlotId;
use missiond_pty::host::Stranger;
use tokio::sync::mpsc;

use super::{Context, Slots};

/// Of those that nobody has put on record yet, so many are kept.
pub(crate) const WAITING: usize = 64;

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

impl Slots {
    /// Those that are turned away from now on, and the last ones before. There is one
    /// listener; whoever asks later gets none.
    pub fn turned_away(&self) -> Option<mpsc::Receiver<TurnedAway>> {
        self.turned_away.lock().take()
    }
}

impl Context {
    /// The host of a slot tells of it.
    pub(crate) fn report_stranger(&self, at: SlotId, name: &str, who: Stranger) {
        self.tell(Tried::Speaking, at, name, who);
    }

    /// Another process listens at the socket of a slot's host, or stands in its record.
    pub(crate) fn report_impostor(&self, at: SlotId, name: &str, pid: u32) {
        self.tell(Tried::Posing, at, name, Stranger::of(pid));
    }

    fn tell(&self, tried: Tried, at: SlotId, name: &str, who: Stranger) {
        let host = who.host;
        let from = host.and_then(|(pid, start)| self.hosts.lock().slot_of(pid, start));
        tracing::warn!(
            slot = %at, ?tried, pid = who.pid, program = who.program, attempts = who.attempts,
            "process turned away at slot host"
        );
        let turned_away = TurnedAway {
            tried,
            at,
            name: name.to_owned(),
            from,
            who,
        };
        if self.turned_away.try_send(turned_away).is_err() {
            tracing::warn!(slot = %at, "refusal not on record: too many wait");
        }
    }
}
