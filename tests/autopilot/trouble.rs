//! Agents that do not do what they should.

use serde_json::{Value, json};

use super::{Field, QUICK, notes, outcome, writes};
use crate::harness::{TestHome, wait_for};
use crate::scripted_agent::with_manners;

#[test]
fn a_usage_limit_parks_the_task_and_its_conversation_goes_on_after_the_reset() {
    let field = Field::new();
    let turns = format!(
        "  - steps:\n{}      - usage_limit: {{resets: in 3 s}}\n  - when: {{contains: go on}}\n    \
         steps:\n{}      - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        notes(&field.file("turns"), "limited"),
        notes(&field.file("turns"), "resumed"),
    );
    let task = field.task("limited", &turns, json!({}));
    let parked = |details: &Value| outcome(details, 0) == "superseded";
    field.wait(&task, "parked", parked);
    assert_eq!(field.events("usage_limit_reached").len(), 1);
    let ready = field.home.json(&["call", "board_ready", "{}"]);
    let waiting = ready["waiting"].as_array().unwrap();
    if let Some(waiting) = waiting.first() {
        let why = waiting["waits"][0]["sentence"].as_str().unwrap();
        assert!(
            why.contains("the usage limit of rehearsal is reached until"),
            "{why}"
        );
    }
    let details = field.wait_status(&task, "done");
    assert_eq!(details["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(field.lines("turns"), ["limited", "resumed"]);
    let worktrees = [0, 1].map(|n| details["attempts"][n]["worktree"].clone());
    assert_eq!(worktrees[0], worktrees[1], "it went on in the same place");
    assert_eq!(details["task"]["tries"], 0, "nobody failed");
}

#[test]
fn a_usage_limit_that_only_the_transcript_tells_parks_the_task_too() {
    let field = Field::new();
    let notice = json!({
        "type": "assistant",
        "message": {
            "id": "m1", "role": "assistant",
            "content": [{"type": "text", "text": "Claude usage limit reached, resets in 2 s"}],
        },
    });
    std::fs::write(field.file("notice"), format!("{notice}\n")).unwrap();
    let sessions = field.home.home().data_dir().join("rehearsals");
    let command = format!(
        "cat '{}' >> '{}'/{{{{session}}}}.jsonl",
        field.file("notice").display(),
        sessions.display()
    );
    let turns = format!(
        "  - steps:\n      - run: {{argv: [sh, -c, {}]}}\n  - when: {{contains: go on}}\n    \
         steps:\n      - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        json!(command)
    );
    let task = field.task("limited", &turns, json!({}));
    field.wait(&task, "parked", |details| {
        outcome(details, 0) == "superseded"
    });
    assert_eq!(field.events("usage_limit_reached").len(), 1);
    let details = field.wait_status(&task, "done");
    assert_eq!(details["attempts"].as_array().unwrap().len(), 2);
}

/// No word of it says that it is a limit: the sort of the error does.
#[test]
fn a_usage_limit_that_only_the_protocol_tells_parks_the_task_too() {
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("limited");
    let refusal =
        r#"{"code":-32603,"message":"Try again later.","data":{"errorKind":"rate_limit"}}"#;
    let script = with_manners(&format!(
        r#"greet; open; hear; say '"id":3,"error":{refusal}'"#
    ));
    std::fs::write(&agent, script).unwrap();
    let added = format!(
        "[[engines.added]]\nname = \"limited\"\ncommand = \"sh\"\nargs = {}\n",
        json!([agent])
    );
    let field = Field::quiet(TestHome::with_config(&format!("{QUICK}{added}")));
    field.home.start();
    field.resume();
    let repository = field.repository();
    let add = json!({"task": {"title": "limited", "engine": "limited", "repository": repository}});
    let added = field.home.json(&["call", "board_add", &add.to_string()]);
    let task = added["task"]["number"].as_str().unwrap().to_owned();
    field.wait(&task, "parked", |details| {
        outcome(details, 0) == "superseded"
    });
    let reached = field.events("usage_limit_reached");
    assert_eq!(reached.len(), 1);
    assert_eq!(reached[0]["engine"], "limited");
    assert!(
        !reached[0]["resets_at"].is_null(),
        "it is tried again some time"
    );
}

#[test]
fn a_limit_that_comes_again_is_for_a_person() {
    let field = Field::new();
    let turns = "  - uses: always\n    steps:\n      - usage_limit: {resets: in 1 s}\n";
    let task = field.task("limited", turns, json!({}));
    let details = field.wait_status(&task, "blocked");
    assert_eq!(outcome(&details, 0), "superseded");
    assert_eq!(outcome(&details, 1), "needs_person");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("usage limit was reached again"), "{why}");
}

#[test]
fn a_stuck_agent_is_given_up_and_the_task_tried_again() {
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\nstall_secs = 2\n");
    let turns = "  - steps:\n      - hang\n";
    let task = field.task("stuck", turns, json!({"max_attempts": 1}));
    let details = field.wait_status(&task, "failed");
    assert_eq!(outcome(&details, 0), "stalled");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("nothing was heard of the agent"), "{why}");
    field.wait_for_quiet();
}

#[test]
fn an_agent_that_makes_the_same_call_again_and_again_is_stopped() {
    let field = Field::new();
    let turns = "  - steps:\n      - repeat:\n          times: 1000\n          steps:\n            \
                 - run: {argv: [sh, -c, sleep 0.3]}\n";
    let task = field.task("circles", turns, json!({}));
    let details = field.wait_status(&task, "blocked");
    assert_eq!(outcome(&details, 0), "needs_person");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("goes in circles"), "{why}");
    field.wait_for_quiet();
}

#[test]
fn an_agent_that_exits_at_once_is_started_only_as_often_as_allowed() {
    let field = Field::new();
    // The script is no script, so each start ends before there is a prompt.
    let turns = "  - steps:\n      - no_such_step: never\n";
    let task = field.task("exits", turns, json!({"max_attempts": 10}));
    for tries in 1..=10_u64 {
        let details = field.wait(&task, "tried", |details| {
            details["task"]["tries"].as_u64() >= Some(tries)
        });
        assert_eq!(
            outcome(&details, usize::try_from(tries).unwrap() - 1),
            "agent_lost"
        );
        if tries < 10 {
            // A person who will not wait for the backoff.
            assert!(!details["task"]["not_before"].is_null(), "it waits first");
            let overview = field.home.call("overview", &json!({}));
            let line = &overview["working"][0];
            assert_eq!(
                (&line["task"], &line["kind"]),
                (&json!(task), &json!("waits"))
            );
            let says = line["activity"].as_str().unwrap();
            assert!(says.starts_with("Is tried again "), "{says}");
            hurry(&field, &task, tries);
        }
    }
    let details = field.wait_status(&task, "failed");
    // Why it ended is said, with what it showed last.
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(
        why.contains("exit code 7") && why.contains("is not a valid script"),
        "{why}"
    );
    assert_eq!(details["attempts"].as_array().unwrap().len(), 10);
    assert_eq!(field.events("execution_started").len(), 10);
    field.wait_for_quiet();
}

/// Moves the end of the backoff to now, as if the time had passed.
fn hurry(field: &Field, task: &str, tries: u64) {
    let database = rusqlite::Connection::open(field.home.home().database()).unwrap();
    let sql = "UPDATE board_tasks SET not_before = 1 WHERE tries = ?1";
    let changed = database.execute(sql, [tries.cast_signed()]).unwrap();
    assert_eq!(changed, 1, "{task}");
}

#[test]
fn what_a_task_may_use_is_counted_and_its_budget_ends_it() {
    let field = Field::new();
    // The agent reports its tokens in its transcript, as Claude Code does.
    let turns = "  - steps:\n      - repeat: {times: 3, steps: [{usage: {input: 900, output: 200}}]}\n      - run: [sleep, '60']\n";
    let task = field.task("costly", turns, json!({"budget": {"tokens": 3000}}));
    let details = field.wait_status(&task, "blocked");
    assert_eq!(outcome(&details, 0), "needs_person");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("the budget of this task is used up"), "{why}");
    let status = field.home.json(&["autopilot", "status"]);
    assert_eq!(status["tokens_today"], 3300);
    // What it cost is taken from its transcript, when that was read.
    wait_for("the tokens of today", || {
        let overview = field.home.call("overview", &json!({}));
        overview["tokens_today"]["counted"] == 3300
    });
    field.wait_for_quiet();
}

#[test]
fn an_agent_that_says_it_failed_is_believed_and_a_person_is_asked() {
    let field = Field::new();
    let turns = "  - steps:\n      - signal: {type: failed_claim, payload: {reason: There is no such file}}\n";
    let task = field.task("gives up", turns, json!({}));
    let details = field.wait_status(&task, "blocked");
    assert_eq!(details["attempts"][0]["claim"]["kind"], "failed");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("There is no such file"), "{why}");
    // The person is asked after the task is blocked, not with it.
    let mut inbox = Value::Null;
    wait_for("the question", || {
        inbox = field.home.json(&["inbox"]);
        inbox["questions"] != json!([])
    });
    let asked = &inbox["questions"][0];
    assert_eq!(asked["origin"]["kind"], "task", "{inbox}");
    let number = format!("Q-{}", asked["number"]);
    // What the person says goes with the next attempt, in the same conversation.
    std::fs::write(
        field.file("gives-up.yaml"),
        format!(
            "rehearsal: 1\nstartup: 0.1\nturns:\n{}",
            writes("there.txt", "x")
        ),
    )
    .unwrap();
    field.home.json(&["answer", &number, "Make it yourself."]);
    let details = field.wait(&task, "done", |details| details["task"]["status"] == "done");
    assert_eq!(details["attempts"].as_array().unwrap().len(), 2);
    let notes = details["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note["text"] == "Make it yourself."),
        "{notes:?}"
    );
    wait_for("no question to be open", || {
        field.home.json(&["inbox"])["questions"] == json!([])
    });
}

#[test]
fn what_is_granted_for_longer_holds_for_the_next_attempt_of_the_task() {
    let field = Field::new();
    let turns = "  - steps:\n      - ask:\n          tool: Run\n          args: make thing\n          \
                 allow:\n            - exit: 3\n  \
                 - uses: always\n    steps:\n      - ask:\n          tool: Run\n          \
                 args: make thing\n          allow:\n            \
                 - write: {file: a.txt, text: \"x\\n\"}\n            \
                 - signal: {type: completed_claim, payload: {summary: Made.}}\n";
    let task = field.task("asks twice", turns, json!({}));
    let mut inbox = Value::Null;
    wait_for("the question", || {
        inbox = field.home.json(&["inbox"]);
        inbox["questions"] != json!([])
    });
    let number = format!("Q-{}", inbox["questions"][0]["number"]);
    field
        .home
        .json(&["answer", &number, "allow", "--for", "1h", "--by-sight"]);
    field.wait(&task, "lost", |details| outcome(details, 0) == "agent_lost");
    // Nobody waits for the backoff here.
    field.home.json(&["task", "retry", &task]);
    field.wait_status(&task, "done");
    let all = field.home.json(&["inbox", "--all"]);
    assert_eq!(all["questions"].as_array().unwrap().len(), 1, "{all:#}");
}
