//! What a hook of an agent's program claims about its state, in the words of the
//! arbiter. Which of hook and screen is believed is the arbiter's to decide.

use std::time::Duration;

use missiond_adapters::HookEvent;
use missiond_core::PtyState;
use missiond_semantic::WaitingFor;
use missiond_semantic::arbiter::{Arbiter, Claim};

/// Hands a hook's word to the arbiter.
pub(super) fn report(arbiter: &mut Arbiter, event: &HookEvent, at: Duration) {
    let mut state = |state, reason| arbiter.hook_claims(Claim::State(state), reason, at);
    match event {
        HookEvent::Prompted => state(PtyState::Thinking, "a hook says that it took a prompt"),
        HookEvent::ToolStarting { .. } => {
            state(PtyState::ToolRunning, "a hook says that a tool starts");
        }
        HookEvent::ToolEnded { .. } => {
            state(PtyState::Thinking, "a hook says that a tool has ended");
        }
        HookEvent::TurnEnded => state(PtyState::Idle, "a hook says that the turn is over"),
        HookEvent::Waiting { .. } => arbiter.hook_claims(
            Claim::Blocked(WaitingFor::Permission),
            "a hook says that the person is asked",
            at,
        ),
        HookEvent::ConversationEnded { .. } => arbiter.hook_retracts(),
        HookEvent::ConversationStarted | HookEvent::SubagentEnded => {}
    }
}

#[cfg(test)]
mod tests {
    use missiond_semantic::{Authority, Reading};

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
    fn arbiter_after(event: &HookEvent) -> Arbiter {
        let mut arbiter = Arbiter::default();
        arbiter.screen_drawn(at(1_000));
        report(&mut arbiter, event, at(2_000));
        arbiter
    }

    fn tool() -> HookEvent {
        HookEvent::ToolStarting {
            tool: "Bash".to_owned(),
            call: None,
            digest: None,
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
            let fused = arbiter_after(&event).reading(&screen(shows, 500), at(2_100));
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
            let fused = arbiter_after(&event).reading(&shown, at(2_100));
            assert_eq!(fused, shown, "{event:?} over {shows:?}");
        }
    }

    #[test]
    fn the_end_of_a_turn_is_believed_only_when_no_more_work_is_drawn() {
        let works = screen(PtyState::Thinking, 500);
        let mut arbiter = arbiter_after(&HookEvent::TurnEnded);
        assert_eq!(
            arbiter.reading(&works, at(2_500)),
            works,
            "it may still draw"
        );
        assert_eq!(arbiter.reading(&works, at(3_100)).state, PtyState::Idle);
        arbiter.screen_drawn(at(3_200));
        assert_eq!(arbiter.reading(&works, at(3_300)), works, "it does");
    }

    #[test]
    fn what_was_said_before_a_key_or_long_ago_does_not_hold() {
        let idle = screen(PtyState::Idle, 500);
        let mut arbiter = arbiter_after(&HookEvent::Prompted);
        assert!(arbiter.input_sent(at(2_200)));
        assert_eq!(arbiter.reading(&idle, at(2_300)), idle);
        assert!(
            !arbiter.input_sent(at(2_400)),
            "there is nothing left to take"
        );

        let mut arbiter = arbiter_after(&HookEvent::Prompted);
        assert_eq!(arbiter.deadline(at(2_100)), Some(at(3_000)));
        assert_eq!(arbiter.deadline(at(3_500)), Some(at(5_000)));
        assert!(!arbiter.expire(at(5_000)));
        assert!(arbiter.expire(at(5_001)));
        assert_eq!(arbiter.deadline(at(5_002)), None);
        assert_eq!(arbiter.reading(&idle, at(5_002)), idle);
    }

    #[test]
    fn a_question_no_rule_sees_on_the_screen_is_raised_by_the_hook() {
        let waiting = HookEvent::Waiting {
            message: "Claude needs your permission".to_owned(),
        };
        let fused = arbiter_after(&waiting).reading(&screen(PtyState::Thinking, 500), at(2_100));
        assert_eq!(fused.state, PtyState::Confirming);
        assert_eq!(fused.waiting_for, Some(WaitingFor::Permission));
        // A later hook ends it.
        let mut arbiter = arbiter_after(&waiting);
        report(&mut arbiter, &tool(), at(2_200));
        let works = screen(PtyState::Thinking, 500);
        assert_eq!(arbiter.reading(&works, at(2_300)), works);
    }
}
