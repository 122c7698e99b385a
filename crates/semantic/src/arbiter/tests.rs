use proptest::prelude::*;

use super::*;

fn signal(authority: Authority, claim: Claim, at: u64) -> Signal {
    let reason = format!("{authority:?} says {claim:?}");
    Signal {
        authority,
        claim,
        confidence: 0.9,
        at: Duration::from_secs(at),
        reason,
    }
}

fn decide(signals: &[Signal], now: u64) -> (PtyState, Authority) {
    let reading = arbitrate(signals, Duration::from_secs(now), Freshness::default());
    (reading.state, reading.authority)
}

#[test]
fn known_disagreements_are_settled() {
    use Authority::{Osc, Process, Protocol, Screen, StateFile};
    use PtyState::{Confirming, Exited, Idle, Responding, Thinking, ToolRunning, Unknown};
    let state = |authority, state, at| signal(authority, Claim::State(state), at);
    let cases = [
        ("nothing is known", vec![], 5, (Unknown, Process)),
        (
            "alive is not idle",
            vec![signal(Process, Claim::Alive, 1)],
            5,
            (Unknown, Process),
        ),
        (
            "a hook's word stands over an older screen",
            vec![
                state(Protocol, ToolRunning, 10),
                state(Screen, Responding, 9),
            ],
            11,
            (ToolRunning, Protocol),
        ),
        (
            "a dialog no hook announced is raised by the screen",
            vec![
                state(Protocol, ToolRunning, 10),
                signal(Screen, Claim::Blocked(WaitingFor::Permission), 12),
            ],
            13,
            (Confirming, Screen),
        ),
        (
            "an answered dialog still on an old screen does not block again",
            vec![
                state(Protocol, ToolRunning, 12),
                signal(Screen, Claim::Blocked(WaitingFor::Permission), 10),
            ],
            13,
            (ToolRunning, Protocol),
        ),
        (
            "the end of turn was missed and a new one is on the screen",
            vec![state(Protocol, Idle, 10), state(Screen, Thinking, 20)],
            21,
            (Thinking, Screen),
        ),
        (
            "the screen looks idle between two steps, the file says busy",
            vec![state(StateFile, Thinking, 10), state(Screen, Idle, 12)],
            13,
            (Thinking, StateFile),
        ),
        (
            "the hook that ends the turn was lost: the screen decides in time",
            vec![state(Protocol, Thinking, 10), state(Screen, Idle, 60)],
            300,
            (Idle, Screen),
        ),
        (
            "an old idle with nobody to confirm it is not believed",
            vec![
                state(Protocol, Idle, 10),
                signal(Process, Claim::Alive, 300),
            ],
            300,
            (Unknown, Protocol),
        ),
        (
            "the process is gone",
            vec![state(Osc, Thinking, 10), signal(Process, Claim::Exited, 11)],
            12,
            (Exited, Process),
        ),
        (
            "an unknown screen leaves the word to the title",
            vec![state(Osc, Thinking, 10), state(Screen, Unknown, 12)],
            12,
            (Thinking, Osc),
        ),
    ];
    for (name, signals, now, expected) in cases {
        assert_eq!(decide(&signals, now), expected, "{name}");
    }
}

#[test]
fn of_two_exits_at_one_moment_the_surer_one_is_told() {
    let exit = |confidence| Signal {
        confidence,
        ..signal(Authority::Process, Claim::Exited, 97)
    };
    for signals in [[exit(0.0), exit(0.1)], [exit(0.1), exit(0.0)]] {
        let reading = arbitrate(&signals, Duration::ZERO, Freshness::default());
        assert_eq!(reading.confidence, 0.1);
    }
}

fn any_signal() -> impl Strategy<Value = Signal> {
    use missiond_core::machines::Machine;
    let authority = prop::sample::select(vec![
        Authority::Process,
        Authority::Screen,
        Authority::Osc,
        Authority::StateFile,
        Authority::Protocol,
    ]);
    let claim = prop_oneof![
        6 => prop::sample::select(PtyState::ALL.to_vec()).prop_map(Claim::State),
        2 => prop::sample::select(WaitingFor::ALL.to_vec()).prop_map(Claim::Blocked),
        1 => Just(Claim::Alive),
        1 => Just(Claim::Exited),
    ];
    (authority, claim, 0u64..400, 0u8..=10).prop_map(|(authority, claim, at, confidence)| {
        // A process tree knows life and death, nothing else.
        let claim = match (authority, claim) {
            (Authority::Process, Claim::State(_) | Claim::Blocked(_)) => Claim::Alive,
            (_, claim) => claim,
        };
        Signal {
            confidence: f32::from(confidence) / 10.0,
            ..signal(authority, claim, at)
        }
    })
}

proptest! {
    #[test]
    fn idle_is_never_invented(signals in prop::collection::vec(any_signal(), 0..6), now in 0u64..400) {
        let (state, authority) = decide(&signals, now);
        if state == PtyState::Idle {
            let said = signals.iter().any(|s| s.claim == Claim::State(PtyState::Idle) && s.authority == authority);
            prop_assert!(said, "{signals:?}");
            prop_assert!(authority > Authority::Process);
        }
    }

    #[test]
    fn a_dialog_seen_after_everything_else_is_never_hidden(
        signals in prop::collection::vec(any_signal(), 0..6),
        authority in prop::sample::select(vec![Authority::Screen, Authority::Osc, Authority::Protocol]),
    ) {
        prop_assume!(!signals.iter().any(|s| s.claim == Claim::Exited || s.claim == Claim::State(PtyState::Exited)));
        let mut signals: Vec<Signal> = signals
            .into_iter()
            .filter(|s| s.authority != authority)
            .collect();
        signals.push(signal(authority, Claim::Blocked(WaitingFor::Permission), 400));
        prop_assert_eq!(decide(&signals, 400).0, PtyState::Confirming);
    }

    #[test]
    fn the_order_of_signals_does_not_matter(
        signals in prop::collection::vec(any_signal(), 0..6),
        now in 0u64..400,
        turn in 0usize..6,
    ) {
        let mut turned = signals.clone();
        if !turned.is_empty() {
            let by = turn % turned.len();
            turned.rotate_left(by);
        }
        let at = Duration::from_secs(now);
        prop_assert_eq!(
            arbitrate(&signals, at, Freshness::default()),
            arbitrate(&turned, at, Freshness::default())
        );
    }

    #[test]
    fn a_lower_source_alone_never_turns_work_into_idle(
        at in 0u64..100,
        lower in prop::sample::select(vec![Authority::Screen, Authority::Osc]),
        later in 0u64..100,
    ) {
        let signals = [
            signal(Authority::Protocol, Claim::State(PtyState::ToolRunning), at),
            signal(lower, Claim::State(PtyState::Idle), at + later),
        ];
        prop_assert_eq!(decide(&signals, at + later).0, PtyState::ToolRunning);
    }
}

fn screen(state: PtyState, since: u64) -> Reading {
    Reading {
        state,
        reason: "what the screen shows".to_owned(),
        waiting_for: None,
        confidence: 0.9,
        authority: Authority::Screen,
        evidence: Vec::new(),
        since: Duration::from_millis(since),
        dialog: None,
        tool: None,
    }
}

#[test]
fn a_request_under_way_is_work_whatever_was_drawn_and_for_however_long() {
    use PtyState::{
        Confirming, Error, Exited, Idle, Responding, SlashMenu, Thinking, ToolRunning, Unknown,
    };
    let at = Duration::from_millis;
    for (activity, shown, expected) in [
        (ModelActivity::Asked, Idle, Thinking),
        (ModelActivity::Asked, Unknown, Thinking),
        (ModelActivity::Asked, Responding, Thinking),
        (ModelActivity::Asked, ToolRunning, ToolRunning),
        (ModelActivity::Answering, Thinking, Responding),
        (ModelActivity::Answering, Idle, Responding),
        (ModelActivity::Answering, Confirming, Confirming),
        (ModelActivity::Asked, Error, Error),
        (ModelActivity::Asked, Exited, Exited),
        (ModelActivity::Asked, SlashMenu, SlashMenu),
        (ModelActivity::ToolAnnounced, Idle, ToolRunning),
        (ModelActivity::ToolAnnounced, Confirming, Confirming),
    ] {
        let mut arbiter = Arbiter::default();
        arbiter.screen_drawn(at(1_000));
        arbiter.model_observed(activity, at(2_000));
        let fused = arbiter.reading(&screen(shown, 500), at(2_001));
        assert_eq!(fused.state, expected, "{activity:?} over {shown:?}");
        arbiter.input_sent(at(2_100));
        arbiter.expire(at(600_000));
        let later = arbiter.reading(&screen(shown, 500), at(600_000));
        let stands = if activity == ModelActivity::ToolAnnounced {
            shown
        } else {
            expected
        };
        assert_eq!(
            later.state, stands,
            "{activity:?} over {shown:?} after ten minutes"
        );
    }
}

#[test]
fn the_end_of_an_answer_is_the_end_of_the_turn_at_once() {
    use PtyState::{Confirming, Idle, Responding, Thinking};
    let at = Duration::from_millis;
    let mut arbiter = Arbiter::default();
    arbiter.model_observed(ModelActivity::Answering, at(1_000));
    arbiter.screen_drawn(at(1_900));
    arbiter.model_observed(ModelActivity::TurnEnded, at(2_000));
    let works = screen(Responding, 500);
    assert_eq!(arbiter.reading(&works, at(2_001)).state, Idle);
    // What was said before is drawn a little later.
    arbiter.screen_drawn(at(2_030));
    assert_eq!(arbiter.reading(&works, at(2_031)).state, Idle);
    arbiter.hook_claims(Claim::State(Idle), "its hook says so too", at(2_040));
    assert_eq!(arbiter.reading(&works, at(2_041)).state, Idle);
    assert_eq!(
        arbiter.reading(&screen(Confirming, 2_035), at(2_041)).state,
        Confirming
    );
    // The next request begins a new turn.
    arbiter.model_observed(ModelActivity::Asked, at(2_500));
    assert_eq!(
        arbiter.reading(&screen(Idle, 2_400), at(2_501)).state,
        Thinking
    );
    // A request that failed says nothing.
    arbiter.model_observed(ModelActivity::Failed, at(2_600));
    assert_eq!(arbiter.reading(&works, at(2_601)), works);
}
