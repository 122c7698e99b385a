//! One program after another in a slot: the host ends the first, starts the second, and
//! needs no daemon for it once it was asked.

use std::time::Duration;

use tokio::time::Instant;

use super::{Host, MAX_GRACE, Phase, Program};
use crate::host::backlog::Backlog;
use crate::host::channel::IncomingLines;
use crate::host::process::{Handoff, LaunchSpec};
use crate::host::start::{Started, start_next};

impl Host {
    /// Ends the program, to start another one when it is gone. One that has ended by
    /// itself is followed at once, but not while its end is being seen to.
    pub(super) fn begin_handoff(&mut self, next: Handoff) {
        let grace = Duration::from_millis(next.grace_ms).min(MAX_GRACE);
        let has_ended = matches!(self.phase, Phase::Ended { .. });
        let begun = match self.phase {
            Phase::Running | Phase::Ended { .. } => self.fence.begin(next.generation),
            Phase::Ending(_) | Phase::Draining { .. } => {
                Err("the program is being ended".to_owned())
            }
        };
        match begun {
            Ok(()) if has_ended => self.hand_off(next.after(&self.spec), Instant::now()),
            Ok(()) => {
                self.next = Some(next.after(&self.spec));
                self.begin_end(grace);
            }
            Err(why) => self.refuse(&why),
        }
    }

    pub(super) fn cancel_handoff(&mut self) {
        self.next = None;
        self.fence.cancel();
    }

    /// The program is gone and the next one takes its place. Whoever is connected spoke
    /// to the one before, and is hung up on.
    pub(super) fn hand_off(&mut self, next: LaunchSpec, now: Instant) {
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.remove();
        }
        match start_next(&next, &self.files) {
            Ok(started) => {
                self.fence.complete();
                self.disconnect();
                self.run_next(next, started);
            }
            Err(why) => {
                self.fence.cancel();
                self.refuse(&why);
                self.end(now);
            }
        }
    }

    fn run_next(&mut self, spec: LaunchSpec, started: Started) {
        let Program { connected, cgroup } = started.program;
        (self.program, self.cgroup) = (connected, cgroup);
        (self.record, self.recorder) = (started.record, started.recorder);
        self.spec = spec;
        self.backlog = Backlog::default();
        self.input.clear();
        self.lines = IncomingLines::default();
        self.unattended = None;
        self.stalled = None;
        self.status = None;
        self.phase = Phase::Running;
        self.hung_up = false;
        self.closed_terminal = None;
    }
}
