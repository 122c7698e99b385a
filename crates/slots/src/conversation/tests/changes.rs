//! Changes of mode, model and settings while an agent works, asks and is silent, and
//! across the death of a daemon.

use super::*;
use crate::conversation::changes::ChangeReply;

type Outcome = oneshot::Receiver<Result<Vec<SettingChoice>, ChangeError>>;

fn session() -> Value {
    json!({
        "sessionId": "s",
        "modes": {"currentModeId": "default", "availableModes": [
            {"id": "default", "name": "Default"}, {"id": "plan", "name": "Plan"}]},
        "configOptions": [{"id": "effort", "name": "Effort", "type": "select",
            "currentValue": "low",
            "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]}],
    })
}

fn opened_with(setup: ControlSetup) -> Stage {
    let mut stage = Stage::with(setup);
    stage.conversation.expect_within(Duration::from_secs(60));
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}}));
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 2, "result": session()}));
    stage
}

fn mode(mode: &str) -> WantedSetting {
    WantedSetting::Mode(mode.to_owned())
}

fn effort(value: &str) -> WantedSetting {
    WantedSetting::Called {
        name: "Effort".to_owned(),
        value: value.to_owned(),
    }
}

fn chosen(setting: &str, value: &str) -> SettingChoice {
    SettingChoice {
        setting: setting.to_owned(),
        value: value.to_owned(),
    }
}

impl Stage {
    fn change(&mut self, wanted: &[WantedSetting]) -> Outcome {
        let (reply, outcome): (ChangeReply, Outcome) = oneshot::channel();
        self.now += 1;
        let effects = self.conversation.change(wanted, reply, at(self.now));
        self.apply(effects);
        outcome
    }

    fn answers(&mut self, request: u64) {
        self.agent_says(&json!({"jsonrpc": "2.0", "id": request, "result": {}}));
    }

    fn refuses(&mut self, request: u64, why: &str) {
        self.agent_says(&json!({"jsonrpc": "2.0", "id": request,
            "error": {"code": -32603, "message": why}}));
    }

    fn passes(&mut self, seconds: u64) {
        self.now += seconds * 1000;
        let effects = self.conversation.tick(at(self.now));
        self.apply(effects);
    }

    fn current(&self, setting: &str) -> String {
        let session = self.conversation.client.state().session.unwrap();
        let mut settings = session.settings.into_iter();
        let setting = settings.find(|known| known.id == setting);
        setting.unwrap().current
    }
}

#[test]
fn changes_go_out_one_after_the_other_and_a_text_waits_for_the_last() {
    let mut stage = opened_with(setup());
    let mut outcome = stage.change(&[mode("plan"), effort("high")]);
    assert_eq!(stage.last_asked()["params"]["modeId"], "plan");
    assert_eq!(stage.state(), PtyState::Idle, "nobody has to wait for rest");
    let (job, mut said) = message("hello");
    stage.give(job);
    stage.answers(3);
    assert_eq!(stage.last_asked()["params"]["value"], "high");
    assert_eq!(stage.sent("session/prompt"), 0);
    assert!(outcome.try_recv().is_err());
    stage.answers(4);
    let taken = outcome.try_recv().unwrap().unwrap();
    assert_eq!(taken, [chosen("mode", "plan"), chosen("effort", "high")]);
    assert_eq!(stage.current("effort"), "high");
    said.try_recv().unwrap().unwrap();
}

#[test]
fn what_is_not_offered_is_asked_of_no_agent() {
    let mut stage = opened_with(setup());
    let mut outcome = stage.change(&[effort("high"), mode("yolo")]);
    let refused = outcome.try_recv().unwrap().unwrap_err().to_string();
    assert_eq!(
        refused,
        "`mode` cannot be `yolo`: the agent offers `default`, `plan`"
    );
    assert_eq!(stage.sent("session/set_"), 0);
    // Before the session is open it is not known what there is.
    let mut stage = Stage::new();
    let mut outcome = stage.change(&[mode("plan")]);
    let refused = outcome.try_recv().unwrap().unwrap_err().to_string();
    assert_eq!(refused, "no session is open");
}

#[test]
fn what_was_taken_is_kept_when_the_rest_is_refused_and_the_agent_goes_on() {
    let mut stage = opened_with(setup());
    let mut outcome = stage.change(&[mode("plan"), effort("high")]);
    stage.answers(3);
    stage.refuses(4, "not today");
    let refused = outcome.try_recv().unwrap().unwrap_err().to_string();
    assert_eq!(
        refused,
        "the agent did not take `high` for `effort`: not today; `mode` is `plan` now"
    );
    assert_eq!(stage.current("mode"), "plan");
    assert_eq!(stage.state(), PtyState::Idle);
    let (job, mut said) = message("hello");
    stage.give(job);
    said.try_recv().unwrap().unwrap();
}

#[test]
fn a_question_is_answered_while_a_change_waits() {
    let mut stage = opened_with(setup());
    let (job, _prompted) = message("run it");
    stage.give(job);
    stage.agent_says(&asks(7, "rm x"));
    // The agent takes the change when it has its answer, and not before.
    let mut outcome = stage.change(&[mode("plan")]);
    assert_eq!(stage.last_asked()["params"]["modeId"], "plan");
    let (job, mut answered) = answer("Allow once");
    stage.give(job);
    answered.try_recv().unwrap().unwrap();
    assert_eq!(stage.last_asked()["id"], 7);
    stage.answers(4);
    outcome.try_recv().unwrap().unwrap();
    let (job, mut more) = message("and more");
    stage.give(job);
    assert!(more.try_recv().is_err(), "the turn is not over");
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}));
    more.try_recv().unwrap().unwrap();
}

#[test]
fn a_change_that_is_never_answered_is_over_in_time() {
    let mut stage = opened_with(setup());
    let mut outcome = stage.change(&[mode("plan"), effort("high")]);
    let (job, mut said) = message("hello");
    stage.give(job);
    assert!(!stage.conversation.rests());
    let due = stage.conversation.deadline().unwrap();
    assert!(due <= at(stage.now).clock + CHANGES_WITHIN, "{due:?}");
    // The text has less time than the change.
    let wait = due - at(stage.now).clock;
    assert!(wait < CHANGES_WITHIN, "{wait:?}");
    stage.passes(wait.as_secs());
    assert!(said.try_recv().unwrap().is_err());
    assert!(!stage.conversation.rests(), "the change still waits");
    stage.passes((CHANGES_WITHIN - wait).as_secs());
    let refused = outcome.try_recv().unwrap().unwrap_err();
    assert!(
        matches!(&refused, ChangeError::Unanswered { choice, .. } if *choice == chosen("mode", "plan")),
        "{refused}"
    );
    assert_eq!(stage.sent("\"high\""), 0, "the rest is not asked for");
    assert!(stage.conversation.rests(), "it can be handed over");
    let (job, mut said) = message("go on");
    stage.give(job);
    said.try_recv().unwrap().unwrap();
    // It takes it after all.
    stage.answers(3);
    assert_eq!(stage.current("mode"), "plan");
}

#[test]
fn a_daemon_that_dies_at_any_line_of_a_change_is_followed_by_one_that_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    // How many lines of the agent have come when the daemon loses its host.
    for lost_after in 0..3 {
        let mut stage = opened_with(setup());
        let mut outcome = stage.change(&[mode("plan"), effort("high")]);
        for request in 3..5 {
            if request - 3 == lost_after {
                let mut rebuilt = stage.rebuilt(folder.path()).conversation;
                std::mem::swap(&mut rebuilt, &mut stage.conversation);
                stage.conversation.take_jobs(rebuilt);
                let effects = stage.conversation.go_on(stage.taken, at(stage.now));
                stage.apply(effects);
            }
            stage.answers(request);
        }
        let taken = outcome.try_recv().unwrap().unwrap();
        assert_eq!(taken, [chosen("mode", "plan"), chosen("effort", "high")]);
        assert_eq!(stage.sent("session/set_"), 2, "each is asked for once");
    }
    // The line was never taken by the host: it is written again.
    let mut stage = opened_with(setup());
    let (reply, mut outcome): (ChangeReply, Outcome) = oneshot::channel();
    let effects = stage
        .conversation
        .change(&[mode("plan")], reply, at(stage.now));
    assert_eq!(effects.lines.len(), 1, "it was written and lost");
    let mut rebuilt = stage.rebuilt(folder.path()).conversation;
    std::mem::swap(&mut rebuilt, &mut stage.conversation);
    stage.conversation.take_jobs(rebuilt);
    let effects = stage.conversation.go_on(stage.taken, at(stage.now));
    stage.apply(effects);
    assert_eq!(stage.sent("session/set_"), 1);
    // Answered, and the daemon lost its host before it heard of it.
    let line = json!({"jsonrpc": "2.0", "id": 3, "result": {}}).to_string();
    stage.now += 1;
    let said = EventKind::Output(format!("{line}\n"));
    stage.recorded.push((said, stage.now));
    let mut rebuilt = stage.rebuilt(folder.path()).conversation;
    std::mem::swap(&mut rebuilt, &mut stage.conversation);
    stage.conversation.take_jobs(rebuilt);
    let effects = stage.conversation.go_on(stage.taken, at(stage.now));
    stage.apply(effects);
    outcome.try_recv().unwrap().unwrap();
}

#[test]
fn the_next_program_is_given_what_was_chosen_and_not_what_its_launch_wanted() {
    let mut chooses = ControlSetup {
        mode: Some("default".into()),
        ..setup()
    };
    chooses.choose(chosen("mode", "plan"), Some("mode"));
    chooses.choose(chosen("effort", "high"), None);
    chooses.choose(chosen("gone", "x"), None);
    let mut stage = opened_with(chooses);
    assert_eq!(stage.last_asked()["params"]["modeId"], "plan");
    assert_eq!(stage.state(), PtyState::Starting);
    stage.answers(3);
    assert_eq!(stage.last_asked()["params"]["value"], "high");
    // It could do without this one.
    stage.refuses(4, "not today");
    assert_eq!(stage.state(), PtyState::Idle);
    assert_eq!(stage.sent("gone"), 0);
    assert_eq!(stage.sent("\"default\""), 0);
}

#[test]
fn what_was_changed_before_the_first_prompt_stands_under_the_next_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let wanting = ControlSetup {
        mode: Some("default".into()),
        ..setup()
    };
    let mut stage = opened_with(wanting.clone());
    stage.answers(3);
    let mut outcome = stage.change(&[mode("plan")]);
    stage.answers(4);
    outcome.try_recv().unwrap().unwrap();
    stage.conversation = stage.rebuilt_with(folder.path(), wanting).conversation;
    let effects = stage.conversation.go_on(stage.taken, at(stage.now));
    assert!(effects.lines.is_empty(), "{:?}", effects.lines);
    assert_eq!(stage.current("mode"), "plan");
    assert_eq!(stage.state(), PtyState::Idle);
}
