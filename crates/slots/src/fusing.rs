//! One reading of a slot from what its screen shows and what its program's hooks
//! say, by the arbiter.
//!
//! A hook is heard for a few seconds; a screen is there all the time. So a hook
//! speaks where the screen has not caught up (a prompt was taken and nothing is
//! drawn yet, a turn ended behind a sign that no longer turns) and is silent
//! where both agree or where the screen knows more. Whatever is typed ends its
//! word: nothing said before a key holds after it.

use std::time::Duration;

use missiond_adapters::HookEvent;
use missiond_core::PtyState;
use missiond_semantic::arbiter::{Claim, Freshness, Signal, arbitrate};
use missiond_semantic::{Authority, Reading, WaitingFor};

/// How long a hook's word stands without another. A turn can end in ways no hook
/// tells of, and then the screen must be believed soon.
const STANDS: Duration = Duration::from_secs(3);
/// How long a screen that shows work has to go on drawing it before a hook that
/// says the turn is over is believed instead.
const CATCHES_UP: Duration = Duration::from_secs(1);

/// What the hooks of a slot's program said last, and what happened since.
#[derive(Debug, Default)]
pub(super) struct Fusing {
    said: Option<Signal>,
    /// When the screen was drawn on last.
    drawn_at: Duration,
    /// When a key was sent last.
    typed_at: Option<Duration>,
}

impl Fusing {
    pub(super) fn drawn(&mut self, at: Duration) {
        self.drawn_at = at;
    }

    /// Whether that took somebody's word away.
    pub(super) fn typed(&mut self, at: Duration) -> bool {
        self.typed_at = Some(at);
        self.said.take().is_some()
    }

    pub(super) fn heard(&mut self, event: &HookEvent, at: Duration) {
        self.said = match claim(event) {
            Heard::Nothing => return,
            Heard::NoLonger => None,
            Heard::Says(claim, reason) => Some(Signal {
                authority: Authority::Protocol,
                claim,
                confidence: 0.95,
                at,
                reason: reason.to_owned(),
            }),
        };
    }

    pub(super) fn hears(&self) -> bool {
        self.said.is_some()
    }

    /// When the reading may change though nothing happens.
    pub(super) fn deadline(&self, now: Duration) -> Option<Duration> {
        let said = self.said.as_ref()?;
        let moments = [said.at + CATCHES_UP, said.at + STANDS];
        moments
            .into_iter()
            .find(|moment| *moment > now)
            .or(Some(now))
    }

    /// Ends a word that stood for too long. Whether it did.
    pub(super) fn expire(&mut self, now: Duration) -> bool {
        let over = |said: &Signal| now > said.at + STANDS;
        self.said.take_if(|said| over(said)).is_some()
    }

    /// What is so, all in all.
    pub(super) fn fuse(&self, screen: &Reading, now: Duration) -> Reading {
        let Some(said) = &self.said else {
            return screen.clone();
        };
        if !self.matters(said, screen.state, now) {
            return screen.clone();
        }
        let shown = Signal::from_reading(screen, self.shown_at(screen, now));
        let freshness = Freshness {
            protocol: STANDS,
            ..Freshness::default()
        };
        let fused = arbitrate(&[said.clone(), shown], now, freshness);
        match fused.authority {
            Authority::Protocol => fused,
            // The screen's own words say more than the arbiter's.
            _ => screen.clone(),
        }
    }

    /// Whether a hook can know better than this screen.
    fn matters(&self, said: &Signal, screen: PtyState, now: Duration) -> bool {
        match said.claim {
            Claim::State(PtyState::Idle) => {
                screen == PtyState::Unknown || (screen.is_working() && now >= said.at + CATCHES_UP)
            }
            Claim::State(_) => matches!(screen, PtyState::Idle | PtyState::Unknown),
            Claim::Blocked(_) => {
                screen.is_working() || matches!(screen, PtyState::Idle | PtyState::Unknown)
            }
            Claim::Alive | Claim::Exited => false,
        }
    }

    /// A dialog nobody has answered stands there now, however long ago it was
    /// drawn; everything else is as old as the last thing drawn.
    fn shown_at(&self, screen: &Reading, now: Duration) -> Duration {
        let untouched = self.typed_at.is_none_or(|typed| typed < screen.since);
        match screen.state == PtyState::Confirming && untouched {
            true => now,
            false => self.drawn_at,
        }
    }
}

enum Heard {
    /// It says nothing of what the agent is doing.
    Nothing,
    /// What was said before no longer holds.
    NoLonger,
    Says(Claim, &'static str),
}

fn claim(event: &HookEvent) -> Heard {
    let state = |state, reason| Heard::Says(Claim::State(state), reason);
    match event {
        HookEvent::Prompted => state(PtyState::Thinking, "a hook says that it took a prompt"),
        HookEvent::ToolStarting { .. } => {
            state(PtyState::ToolRunning, "a hook says that a tool starts")
        }
        HookEvent::ToolEnded { .. } => {
            state(PtyState::Thinking, "a hook says that a tool has ended")
        }
        HookEvent::TurnEnded => state(PtyState::Idle, "a hook says that the turn is over"),
        HookEvent::Waiting { .. } => Heard::Says(
            Claim::Blocked(WaitingFor::Permission),
            "a hook says that the person is asked",
        ),
        HookEvent::ConversationEnded { .. } => Heard::NoLonger,
        HookEvent::ConversationStarted | HookEvent::SubagentEnded => Heard::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn screen(state: PtyState, since: u64) -> Reading {
        Reading {
            state,
            reason: "what the screen shows".to_owned(),
            waiting_for: None,
            confidence: 0.9,
            authority: Authority::Screen,
            evidence: Vec::new(),
            since: at(since),
            dialog: None,
            tool: None,
        }
    }

    /// A slot whose screen was drawn last at 1 s, and a hook at 2 s.
    fn heard(event: &HookEvent) -> Fusing {
        let mut fusing = Fusing::default();
        fusing.drawn(at(1_000));
        fusing.heard(event, at(2_000));
        fusing
    }

    fn tool() -> HookEvent {
        HookEvent::ToolStarting {
            tool: "Bash".to_owned(),
            call: None,
        }
    }

    #[test]
    fn a_hook_speaks_where_the_screen_has_not_caught_up() {
        use PtyState::{Idle, Thinking, ToolRunning, Unknown};
        for (event, shows, expected) in [
            (HookEvent::Prompted, Idle, Thinking),
            (HookEvent::Prompted, Unknown, Thinking),
            (tool(), Idle, ToolRunning),
            (HookEvent::TurnEnded, Unknown, Idle),
        ] {
            let fused = heard(&event).fuse(&screen(shows, 500), at(2_100));
            assert_eq!(fused.state, expected, "{event:?} over {shows:?}");
            assert_eq!(fused.authority, Authority::Protocol);
        }
    }

    #[test]
    fn a_screen_that_knows_more_is_left_alone() {
        use PtyState::{Confirming, Error, Exited, Idle, SlashMenu, Thinking, ToolRunning};
        for (event, shows) in [
            (HookEvent::Prompted, ToolRunning),
            (tool(), Thinking),
            (tool(), Confirming),
            (HookEvent::Prompted, Error),
            (HookEvent::TurnEnded, Error),
            (HookEvent::TurnEnded, SlashMenu),
            (HookEvent::TurnEnded, Idle),
            (HookEvent::TurnEnded, Exited),
            (HookEvent::Prompted, Exited),
            (HookEvent::SubagentEnded, Idle),
        ] {
            let shown = screen(shows, 500);
            let fused = heard(&event).fuse(&shown, at(2_100));
            assert_eq!(fused, shown, "{event:?} over {shows:?}");
        }
    }

    #[test]
    fn the_end_of_a_turn_is_believed_only_when_no_more_work_is_drawn() {
        let works = screen(PtyState::Thinking, 500);
        let mut fusing = heard(&HookEvent::TurnEnded);
        assert_eq!(fusing.fuse(&works, at(2_500)), works, "it may still draw");
        assert_eq!(fusing.fuse(&works, at(3_100)).state, PtyState::Idle);
        fusing.drawn(at(3_200));
        assert_eq!(fusing.fuse(&works, at(3_300)), works, "it does");
    }

    #[test]
    fn what_was_said_before_a_key_or_long_ago_does_not_hold() {
        let idle = screen(PtyState::Idle, 500);
        let mut fusing = heard(&HookEvent::Prompted);
        assert!(fusing.typed(at(2_200)));
        assert_eq!(fusing.fuse(&idle, at(2_300)), idle);
        assert!(!fusing.typed(at(2_400)), "there is nothing left to take");

        let mut fusing = heard(&HookEvent::Prompted);
        assert_eq!(fusing.deadline(at(2_100)), Some(at(3_000)));
        assert_eq!(fusing.deadline(at(3_500)), Some(at(5_000)));
        assert!(!fusing.expire(at(5_000)));
        assert!(fusing.expire(at(5_001)));
        assert_eq!(fusing.deadline(at(5_002)), None);
        assert_eq!(fusing.fuse(&idle, at(5_002)), idle);
    }

    #[test]
    fn a_question_no_rule_sees_on_the_screen_is_raised_by_the_hook() {
        let waiting = HookEvent::Waiting {
            message: "Claude needs your permission".to_owned(),
        };
        let fused = heard(&waiting).fuse(&screen(PtyState::Thinking, 500), at(2_100));
        assert_eq!(fused.state, PtyState::Confirming);
        assert_eq!(fused.waiting_for, Some(WaitingFor::Permission));
        // A later hook ends it.
        let mut fusing = heard(&waiting);
        fusing.heard(&tool(), at(2_200));
        let works = screen(PtyState::Thinking, 500);
        assert_eq!(fusing.fuse(&works, at(2_300)), works);
    }
}
