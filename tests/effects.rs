//! Every operation does what it says, and it shows elsewhere: what one
//! presentation did is seen through another. Here an agent acts by MCP and the
//! command line, the timeline or the system is looked at; what needs a whole stage
//! of its own is proved in the test that [`ELSEWHERE`] names.

use std::collections::BTreeSet;

use missiond_api::CATALOGUE;
use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, wait_for};
use crate::toolhub_hostile::list_tricks;

/// Operations proved in another file: by which test.
const ELSEWHERE: [(&str, &str, &str); 47] = [
    (
        "code_index",
        include_str!("code.rs"),
        "a_folder_without_git_is_read_only_if_somebody_says_so",
    ),
    (
        "code_status",
        include_str!("code.rs"),
        "a_daemon_that_died_in_a_pass_loses_nothing_and_holds_nothing_twice",
    ),
    (
        "kb_remember",
        include_str!("knowledge.rs"),
        "a_key_is_revised_with_its_history_and_survives_a_restart",
    ),
    (
        "kb_get",
        include_str!("knowledge.rs"),
        "a_key_is_revised_with_its_history_and_survives_a_restart",
    ),
    (
        "kb_search",
        include_str!("knowledge.rs"),
        "what_is_remembered_is_found_and_words_alone_are_admitted",
    ),
    (
        "kb_stats",
        include_str!("knowledge.rs"),
        "what_is_remembered_is_found_and_words_alone_are_admitted",
    ),
    (
        "kb_conflicts",
        include_str!("knowledge.rs"),
        "contradictions_are_told_with_their_reason",
    ),
    (
        "kb_propose",
        include_str!("knowledge.rs"),
        "proposals_wait_for_a_decision",
    ),
    (
        "kb_inbox",
        include_str!("knowledge.rs"),
        "proposals_wait_for_a_decision",
    ),
    (
        "kb_decide",
        include_str!("knowledge.rs"),
        "proposals_wait_for_a_decision",
    ),
    (
        "kb_gc",
        include_str!("knowledge.rs"),
        "what_aged_is_shown_archived_and_brought_back",
    ),
    (
        "kb_link",
        include_str!("knowledge.rs"),
        "forgetting_linking_and_collecting_can_be_taken_back",
    ),
    (
        "kb_forget",
        include_str!("knowledge.rs"),
        "forgetting_linking_and_collecting_can_be_taken_back",
    ),
    (
        "kb_export",
        include_str!("knowledge.rs"),
        "an_export_imported_elsewhere_is_the_same_and_twice_adds_nothing",
    ),
    (
        "kb_reembed",
        include_str!("knowledge.rs"),
        "a_provider_that_has_come_is_found_when_asked_for",
    ),
    (
        "code_search",
        include_str!("code.rs"),
        "code_is_found_by_name_and_by_words_and_shown",
    ),
    (
        "code_show",
        include_str!("code.rs"),
        "code_is_found_by_name_and_by_words_and_shown",
    ),
    (
        "code_map",
        include_str!("code.rs"),
        "code_is_found_by_name_and_by_words_and_shown",
    ),
    (
        "beacon_set",
        include_str!("code.rs"),
        "a_landmark_follows_its_code_and_is_never_moved_without_a_word",
    ),
    (
        "beacon_list",
        include_str!("code.rs"),
        "a_landmark_follows_its_code_and_is_never_moved_without_a_word",
    ),
    (
        "beacon_remove",
        include_str!("code.rs"),
        "a_landmark_follows_its_code_and_is_never_moved_without_a_word",
    ),
    (
        "slot_foreground",
        include_str!("slot_kinds.rs"),
        "the_persons_own_session_is_the_foreground_slot",
    ),
    (
        "web_login",
        include_str!("http/access.rs"),
        "a_link_logs_one_browser_in_once",
    ),
    (
        "token_create",
        include_str!("http/access.rs"),
        "a_token_expires",
    ),
    (
        "token_list",
        include_str!("http/access.rs"),
        "what_was_taken_back_lets_nobody_in",
    ),
    (
        "token_revoke",
        include_str!("http/access.rs"),
        "what_was_taken_back_lets_nobody_in",
    ),
    (
        "slot_answer",
        include_str!("input.rs"),
        "an_answer_takes_the_option_that_was_asked_for",
    ),
    (
        "question_list",
        include_str!("questions.rs"),
        "what_no_rule_knows_is_asked_and_answered_once",
    ),
    (
        "question_answer",
        include_str!("questions.rs"),
        "a_question_an_agent_asks_in_structure_is_answered_from_the_inbox",
    ),
    (
        "question_dismiss",
        include_str!("questions.rs"),
        "a_dismissed_question_stays_dismissed_and_its_dialog_open",
    ),
    (
        "execution_message",
        include_str!("executions.rs"),
        "a_killed_daemon_loses_no_message_and_types_none_twice",
    ),
    (
        "execution_answer",
        include_str!("executions.rs"),
        "a_question_waits_for_its_answer",
    ),
    (
        "execution_interrupt",
        include_str!("executions.rs"),
        "an_interrupt_stops_the_work_and_leaves_the_rest_alone",
    ),
    (
        "worktree_list",
        include_str!("worktrees.rs"),
        "worktrees_are_listed_brought_back_and_removed_but_never_with_work_in_them",
    ),
    (
        "worktree_finish",
        include_str!("worktrees.rs"),
        "worktrees_are_listed_brought_back_and_removed_but_never_with_work_in_them",
    ),
    (
        "worktree_clean",
        include_str!("worktrees.rs"),
        "worktrees_are_listed_brought_back_and_removed_but_never_with_work_in_them",
    ),
    (
        "worktree_diff",
        include_str!("worktrees.rs"),
        "what_was_changed_is_shown_committed_or_not",
    ),
    (
        "review_send",
        include_str!("review.rs"),
        "a_review_reaches_the_agent_as_one_message_and_once",
    ),
    (
        "execution_journal",
        include_str!("review.rs"),
        "a_journal_is_read_in_windows_from_both_ends",
    ),
    (
        "daemon_logs",
        include_str!("review.rs"),
        "the_log_is_read_by_level_and_words_and_onwards",
    ),
    (
        "stats_history",
        include_str!("review.rs"),
        "numbers_are_kept_over_time_and_over_a_restart",
    ),
    (
        "usage_report",
        include_str!("review.rs"),
        "what_agents_used_is_summed_with_its_budgets",
    ),
    (
        "mcp_prompt_list",
        include_str!("mcp_servers.rs"),
        "servers_from_npm_and_pypi_are_listed_and_called_both_ways",
    ),
    (
        "mcp_prompt_get",
        include_str!("mcp_servers.rs"),
        "servers_from_npm_and_pypi_are_listed_and_called_both_ways",
    ),
    (
        "mcp_pin",
        include_str!("toolhub_hostile.rs"),
        "a_changed_tool_is_held_until_it_is_accepted",
    ),
    (
        "incident_list",
        include_str!("toolhub_hostile.rs"),
        "a_server_that_keeps_dying_is_left_alone_and_says_so",
    ),
    (
        "slot_keys",
        include_str!("attach.rs"),
        "a_person_types_interrupts_and_resizes_while_others_watch",
    ),
];

/// What the stories below prove.
const HERE: [&[&str]; 5] = [BOARD, TIMELINE, RULES, SLOTS, DAEMON];
const BOARD: &[&str] = &[
    "board_add",
    "board_list",
    "board_show",
    "board_edit",
    "board_ready",
    "board_graph",
    "board_decompose",
    "board_note",
    "board_cancel",
    "board_retry",
    "board_import",
    "board_export",
];
const TIMELINE: &[&str] = &[
    "timeline_note",
    "timeline_query",
    "timeline_trace",
    "timeline_wait",
    "timeline_activity",
];
const RULES: &[&str] = &[
    "permission_add",
    "permission_list",
    "permission_test",
    "permission_remove",
];
const SLOTS: &[&str] = &[
    "slot_spawn",
    "slot_list",
    "slot_read",
    "slot_screenshot",
    "slot_send",
    "slot_interrupt",
    "slot_resize",
    "slot_explain",
    "slot_kill",
    "execution_start",
    "execution_list",
    "execution_show",
    "execution_cancel",
];
const DAEMON: &[&str] = &[
    "health",
    "daemon_status",
    "daemon_stats",
    "daemon_control",
    "config_show",
    "operation_find",
    "incident_resolve",
    "autopilot_show",
    "autopilot_set",
    "mcp_server_list",
    "mcp_server_control",
    "mcp_tool_list",
    "mcp_tool_call",
];

#[test]
fn every_operation_is_proved_by_a_test() {
    let here = HERE.iter().flat_map(|names| names.iter().copied());
    let elsewhere = ELSEWHERE.iter().map(|(operation, source, test)| {
        assert!(source.contains(test), "{operation}: there is no {test}");
        *operation
    });
    let proved: BTreeSet<_> = here.chain(elsewhere).collect();
    let all: BTreeSet<_> = CATALOGUE.iter().map(|spec| spec.name).collect();
    let missing: Vec<_> = all.difference(&proved).collect();
    assert!(missing.is_empty(), "nothing proves {missing:?}");
    let gone: Vec<_> = proved.difference(&all).collect();
    assert!(gone.is_empty(), "there is no {gone:?}");
}

/// Another presentation than MCP: the socket's own, through the command line.
fn call(home: &TestHome, operation: &str, params: &Value) -> Value {
    home.json(&["call", operation, &params.to_string()])
}

fn task(title: &str) -> Value {
    json!({ "title": title, "isolation": "none" })
}

#[test]
fn the_board_by_mcp_is_the_board_of_the_command_line() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &["--toolset", "board"]);
    let show = |number: &str| call(&home, "board_show", &json!({ "task": number }));
    let added = agent.done("board_add", json!({ "task": task("First") }));
    let first = added["task"]["number"].as_str().unwrap().to_owned();
    assert_eq!(show(&first)["task"]["title"], "First");
    call(
        &home,
        "board_add",
        &json!({ "task": task("Second"), "depends_on": [first] }),
    );
    let listed = agent.done("board_list", json!({ "search": "Second" }));
    let second = listed["tasks"][0]["number"].as_str().unwrap().to_owned();
    let shown = agent.done("board_show", json!({ "task": second }));
    assert_eq!(shown["depends_on"][0]["number"], json!(first));
    let ready = agent.done("board_ready", json!({}));
    assert_eq!(ready["ready"][0]["number"], json!(first));
    assert_eq!(ready["waiting"][0]["task"]["number"], json!(second));
    let graph = agent.done("board_graph", json!({}));
    assert_eq!(graph["nodes"][1]["depends_on"], json!([first]));
    agent.done(
        "board_edit",
        json!({ "task": first, "set": { "title": "Edited" } }),
    );
    assert_eq!(show(&first)["task"]["title"], "Edited");
    agent.done(
        "board_note",
        json!({ "task": first, "text": "seen", "author": "me" }),
    );
    assert_eq!(show(&first)["notes"][0]["text"], "seen");
    let steps = json!([{ "key": "a", "task": task("Step") }]);
    agent.done("board_decompose", json!({ "task": second, "steps": steps }));
    assert_eq!(show(&second)["children"][0]["title"], "Step");
    let before = show(&first)["task"]["status"].clone();
    agent.done("board_cancel", json!({ "task": first, "reason": "no" }));
    assert_ne!(show(&first)["task"]["status"], before);
    agent.done("board_retry", json!({ "task": first }));
    assert_eq!(show(&first)["task"]["status"], before);
    let checklist = json!({ "format": "markdown", "text": "- [ ] Imported\n",
                            "defaults": { "isolation": "none" } });
    agent.done("board_import", checklist);
    let all = call(&home, "board_list", &json!({ "search": "Imported" }));
    assert_eq!(all["total"], 1);
    let exported = agent.done("board_export", json!({ "format": "markdown" }));
    let file = std::fs::read_to_string(exported["file"].as_str().unwrap()).unwrap();
    assert!(file.contains("Imported"), "{file}");
}

#[test]
fn what_is_marked_by_mcp_is_on_everybodys_timeline() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "timeline"]);
    let noted = agent.done("timeline_note", json!({ "text": "by mcp" }));
    let seq = noted["event"]["seq"].clone();
    let is_noted = |events: &[Value], text: &str| {
        let mut events = events.iter();
        events.any(|event| event["event"]["text"] == text)
    };
    assert!(is_noted(&home.events(), "by mcp"));
    call(&home, "timeline_note", &json!({ "text": "by hand" }));
    let page = agent.done("timeline_query", json!({ "after": seq }));
    assert!(
        is_noted(page["events"].as_array().unwrap(), "by hand"),
        "{page}"
    );
    let trace = noted["event"]["trace_id"].clone();
    let chain = agent.done("timeline_trace", json!({ "trace_id": trace }));
    assert!(
        is_noted(chain["events"].as_array().unwrap(), "by mcp"),
        "{chain}"
    );
    // It waits for the next one, which comes from elsewhere.
    let after = page["head"].clone();
    let wait = json!({ "after": after, "kinds": ["note_added"], "timeout_ms": 50_000 });
    std::thread::scope(|scope| {
        let waited = scope.spawn(|| agent.done("timeline_wait", wait));
        call(&home, "timeline_note", &json!({ "text": "awaited" }));
        let page = waited.join().unwrap();
        assert!(
            is_noted(page["events"].as_array().unwrap(), "awaited"),
            "{page}"
        );
    });
    // Three notes are counted, when whoever counts has come so far.
    wait_for("the notes to be counted", || {
        let report = agent.done("timeline_activity", json!({}));
        let hours = report["hours"].as_array().unwrap().iter();
        let notes = hours.filter(|count| count["kind"] == "note_added");
        notes
            .filter_map(|count| count["count"].as_i64())
            .sum::<i64>()
            == 3
    });
}

#[test]
fn a_rule_made_by_mcp_decides_for_everybody() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "attention"]);
    let subject = json!({ "tool": "Bash", "argument": "frobnicate *" });
    let added = agent.done(
        "permission_add",
        json!({ "effect": "deny", "subject": subject, "by": "mcp" }),
    );
    let name = added["name"].clone();
    let test = json!({ "tool": "Bash", "argument": "frobnicate it" });
    let verdict = call(&home, "permission_test", &test);
    assert_eq!(
        (&verdict["effect"], &verdict["rules"]),
        (&json!("deny"), &json!([name]))
    );
    assert_eq!(
        agent.done("permission_test", test.clone())["effect"],
        "deny"
    );
    let is_listed = |page: &Value| {
        let mut rules = page["rules"].as_array().unwrap().iter();
        rules.any(|rule| rule["name"] == name)
    };
    assert!(is_listed(&agent.done("permission_list", json!({}))));
    agent.done("permission_remove", json!({ "rule": name }));
    assert!(!is_listed(&call(&home, "permission_list", &json!({}))));
    assert_ne!(call(&home, "permission_test", &test)["effect"], "deny");
}

#[test]
fn a_slot_and_a_run_by_mcp_are_real_processes() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let argv = json!([
        "sh",
        "-c",
        "trap 'echo interrupted' INT; echo ready; while :; do read line && echo got $line; done"
    ]);
    let spawned = agent.done("slot_spawn", json!({ "argv": argv, "name": "made" }));
    let pid = spawned["program"]["pid"].as_u64().unwrap();
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(alive());
    let screen = |words: &str| {
        wait_for(words, || {
            let read = call(&home, "slot_read", &json!({ "slot": "made" }));
            read["lines"].to_string().contains(words)
        });
    };
    screen("ready");
    agent.done(
        "slot_send",
        json!({ "slot": "made", "text": "words", "submit": true, "force": true }),
    );
    screen("got words");
    agent.done("slot_interrupt", json!({ "slot": "made" }));
    screen("interrupted");
    agent.done(
        "slot_resize",
        json!({ "slot": "made", "columns": 61, "rows": 17 }),
    );
    let read = call(&home, "slot_read", &json!({ "slot": "made" }));
    assert_eq!((&read["columns"], &read["rows"]), (&json!(61), &json!(17)));
    let read = agent.done("slot_read", json!({ "slot": "made" }));
    assert!(read["lines"].to_string().contains("got words"));
    let picture = agent.done(
        "slot_screenshot",
        json!({ "slot": "made", "format": "text" }),
    );
    assert!(picture["content"].as_str().unwrap().contains("got words"));
    let explained = agent.done("slot_explain", json!({ "slot": "made" }));
    assert_eq!(explained["slot"], spawned["slot"]);
    let listed = agent.done("slot_list", json!({}));
    assert_eq!(listed["slots"][0]["slot"], spawned["slot"]);
    agent.done("slot_kill", json!({ "slot": "made", "grace_ms": 100 }));
    assert!(!alive());
    assert_eq!(call(&home, "slot_list", &json!({}))["slots"], json!([]));

    let started = agent.done(
        "execution_start",
        json!({ "engine": "rehearsal", "cwd": home.path(), "prompt": "hi", "args": ["hello"] }),
    );
    let run = started["execution"].as_str().unwrap().to_owned();
    let listed = agent.done("execution_list", json!({}));
    assert_eq!(listed["executions"][0]["execution"], json!(run));
    let shown = call(&home, "execution_show", &json!({ "execution": run }));
    assert_eq!(shown["execution"], json!(run));
    let by_mcp = agent.done("execution_show", json!({ "execution": run }));
    assert!(std::path::Path::new(by_mcp["journal"].as_str().unwrap()).exists());
    agent.done(
        "execution_cancel",
        json!({ "execution": run, "reason": "enough" }),
    );
    wait_for("the run to be over", || {
        let running = call(&home, "execution_list", &json!({}));
        running["executions"] == json!([])
    });
}

#[test]
fn the_daemon_by_mcp_is_the_same_daemon() {
    let home = TestHome::new();
    list_tricks(&home, &[("plain", ""), ("exit-at-once", "")]);
    let pid = home.start();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    assert_eq!(agent.done("health", json!({}))["healthy"], true);
    assert_eq!(agent.done("daemon_status", json!({}))["pid"], pid);
    let before = home.json(&["daemon", "stats"])["requests_total"]
        .as_u64()
        .unwrap();
    let after = agent.done("daemon_stats", json!({}))["requests_total"]
        .as_u64()
        .unwrap();
    assert!(after > before);
    let found = agent.done("operation_find", json!({ "query": "stop the daemon" }));
    let listed = home.json(&["call", "--list"]);
    let first = &found["operations"][0]["name"];
    let is_listed = |operation: &Value| operation["name"] == *first;
    assert!(listed.as_array().unwrap().iter().any(is_listed));

    home.write_config("[log]\nlevel = \"debug\"\n");
    agent.done("daemon_control", json!({ "action": "reload_config" }));
    let value = |report: &Value| {
        let mut keys = report["keys"].as_array().unwrap().iter();
        let key = keys.find(|key| key["key"] == "log.level").unwrap();
        key["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(value(&call(&home, "config_show", &json!({}))), "\"debug\"");
    assert_eq!(value(&agent.done("config_show", json!({}))), "\"debug\"");

    agent.done(
        "autopilot_set",
        json!({ "mode": "running", "reason": "by mcp" }),
    );
    let report = call(&home, "autopilot_show", &json!({}));
    assert_eq!(report["mode"], "running");
    assert_eq!(agent.done("autopilot_show", json!({}))["reason"], "by mcp");

    let said = agent.done(
        "mcp_tool_call",
        json!({ "tool": "plain__echo", "arguments": { "text": "x" } }),
    );
    let process = said["result"]["content"][0]["text"].as_str().unwrap();
    let process = process.rsplit(' ').next().unwrap().to_owned();
    let servers = agent.done("mcp_server_list", json!({ "server": "plain" }));
    assert_eq!(servers["servers"][0]["state"], "ready");
    let tools = agent.done("mcp_tool_list", json!({ "server": "plain" }));
    let by_hand = home.json(&["mcp", "list-tools", "plain"]);
    assert_eq!(tools["tools"], by_hand["tools"]);
    agent.done(
        "mcp_server_control",
        json!({ "server": "plain", "action": "stop" }),
    );
    let proc = std::path::PathBuf::from("/proc").join(process);
    wait_for("the server to be gone", || !proc.exists());

    for _ in 0..7 {
        agent.call(
            "mcp_tool_call",
            json!({ "tool": "exit-at-once__echo", "arguments": { "text": "x" } }),
        );
    }
    let open = || call(&home, "incident_list", &json!({ "state": "open" }));
    wait_for("an incident", || open()["incidents"] != json!([]));
    let incident = open()["incidents"][0]["id"].clone();
    agent.done("incident_resolve", json!({ "incident": incident }));
    let is_open = |page: &Value| {
        let mut incidents = page["incidents"].as_array().unwrap().iter();
        incidents.any(|known| known["id"] == incident)
    };
    assert!(!is_open(&open()));
}
