//! The daemon itself: its timeline, who is let in, and other people's servers.

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, wait_for};
use crate::http::Http;
use crate::toolhub_hostile::list_tricks;

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
    home.call("timeline_note", &json!({ "text": "by hand" }));
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
        home.call("timeline_note", &json!({ "text": "awaited" }));
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
fn an_agent_reads_the_documentation_that_a_person_reads() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "docs"]);
    assert_eq!(agent.done("docs_list", json!({})), home.json(&["docs"]));
    let query = json!({ "query": "may not write to the file", "limit": 3 });
    let found = agent.done("docs_search", query);
    let words = ["may", "not", "write", "to", "the", "file", "--limit", "3"];
    let by_hand = home.json(&[&["docs", "search"], &words[..]].concat());
    assert_eq!(found, by_hand);
    let path = found["hits"][0]["path"].as_str().unwrap();
    let page = agent.done("docs_read", json!({ "page": path }));
    assert_eq!(page, home.json(&["docs", path]));
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
    agent.left_to(
        &home,
        "daemon_control",
        &json!({ "action": "reload_config" }),
    );
    let value = |report: &Value| {
        let mut keys = report["keys"].as_array().unwrap().iter();
        let key = keys.find(|key| key["key"] == "log.level").unwrap();
        key["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(value(&home.call("config_show", &json!({}))), "\"debug\"");
    assert_eq!(value(&agent.done("config_show", json!({}))), "\"debug\"");

    agent.left_to(
        &home,
        "autopilot_set",
        &json!({ "mode": "running", "reason": "by mcp" }),
    );
    let report = home.call("autopilot_show", &json!({}));
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
    agent.left_to(
        &home,
        "mcp_server_control",
        &json!({ "server": "plain", "action": "stop" }),
    );
    let proc = std::path::PathBuf::from("/proc").join(process);
    wait_for("the server to be gone", || !proc.exists());

    for _ in 0..7 {
        agent.call(
            "mcp_tool_call",
            json!({ "tool": "exit-at-once__echo", "arguments": { "text": "x" } }),
        );
    }
    let open = || home.call("incident_list", &json!({ "state": "open" }));
    wait_for("an incident", || open()["incidents"] != json!([]));
    let incident = open()["incidents"][0]["id"].clone();
    let listed = agent.done("incident_list", json!({ "state": "open" }));
    assert_eq!(listed["incidents"][0]["id"], incident);
    agent.left_to(&home, "incident_resolve", &json!({ "incident": incident }));
    let is_open = |page: &Value| {
        let mut incidents = page["incidents"].as_array().unwrap().iter();
        incidents.any(|known| known["id"] == incident)
    };
    assert!(!is_open(&open()));
}

#[test]
fn what_is_for_a_person_is_refused_by_mcp_and_seen_by_it() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let refused = |answer: Value| assert_eq!(answer["isError"], true, "{answer}");
    let set = json!({ "key": "log.level", "value": "debug" });
    refused(agent.call("config_set", set.clone()));
    let server = json!({ "name": "mine", "command": "cat" });
    refused(agent.call("mcp_server_add", server.clone()));
    assert_eq!(
        agent.done("config_history", json!({}))["changes"],
        json!([])
    );
    home.call("config_set", &set);
    home.call("mcp_server_add", &server);
    refused(agent.call("mcp_server_remove", json!({ "server": "mine" })));
    refused(agent.call("config_undo", json!({ "change": 1 })));
    let changes = agent.done("config_history", json!({}));
    assert_eq!(changes, home.call("config_history", &json!({})));
    assert_eq!(changes["changes"][0]["key"], "servers.mine", "{changes}");
    let file = std::fs::read_to_string(home.home().config_file()).unwrap();
    assert!(file.contains("debug"), "{file}");
}

#[test]
fn who_is_let_in_comes_in_over_http_and_is_sent_away_by_mcp() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let mut agent = Agent::start(&home, &["--toolset", "access"]);
    for kept in [
        agent.call("token_create", json!({ "name": "ci" })),
        agent.call("web_login", json!({})),
    ] {
        assert_eq!(kept["isError"], true, "{kept}");
    }
    let made = home.call("token_create", &json!({ "name": "ci" }));
    let token = made["token"].as_str().unwrap().to_owned();
    let comes_in = || http.call(&token, "health", &json!({})).status;
    assert_eq!(comes_in(), 200);
    let link = home.call("web_login", &json!({}))["link"].clone();
    let (_, code) = link.as_str().unwrap().split_once("/login#").unwrap();
    assert_eq!(http.show_code(code).status, 204);
    let listed = agent.left_to(&home, "token_list", &json!({}));
    assert_eq!(http.call(&token, "token_list", &json!({})).status, 403);
    let seen = home.json(&["token", "list"]);
    let ids = |page: &Value| -> Vec<Value> {
        let access = page["access"].as_array().unwrap().iter();
        access.map(|one| one["id"].clone()).collect()
    };
    assert_eq!(ids(&listed), ids(&seen));
    assert_eq!(ids(&listed).len(), 2, "a browser and a program");
    agent.left_to(&home, "token_revoke", &json!({ "access": "ci" }));
    assert_eq!(comes_in(), 401);
}

#[test]
fn what_other_peoples_servers_offer_by_mcp_is_what_the_command_line_gets() {
    let home = TestHome::new();
    let manifest = home.path().join("description");
    std::fs::write(&manifest, "Say it again.").unwrap();
    let changes = manifest.display().to_string();
    list_tricks(&home, &[("changes", &changes), ("prompts", "")]);
    home.start();
    let mut agent = Agent::start(&home, &["--toolset", "mcp"]);
    let prompts = agent.done("mcp_prompt_list", json!({ "server": "prompts" }));
    let by_hand = home.json(&["mcp", "list-prompts", "prompts"]);
    assert_eq!(prompts["prompts"], by_hand["prompts"]);
    let name = prompts["prompts"][0]["name"].as_str().unwrap().to_owned();
    let got = agent.done(
        "mcp_prompt_get",
        json!({ "prompt": name, "arguments": { "who": "you" } }),
    );
    let by_hand = home.json(&["mcp", "get-prompt", &name, "{\"who\": \"you\"}"]);
    assert_eq!(got["result"], by_hand["result"]);
    assert!(got.to_string().contains("Hello, you."), "{got}");

    let echo = |text: &str| {
        let arguments = json!({ "text": text }).to_string();
        let called = home.mission(&["mcp", "call-tool", "changes__echo", &arguments]);
        called.status.success()
    };
    assert!(echo("change"));
    wait_for("the tool to be held", || !echo("x"));
    agent.left_to(&home, "mcp_pin", &json!({ "server": "changes" }));
    assert!(echo("x"), "it was accepted");
}

#[test]
fn the_audit_is_read_and_its_key_changed_by_a_person_alone() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "system"]);
    let changed = agent.left_to(&home, "audit_rotate_key", &json!({}));
    let page = agent.left_to(&home, "audit_list", &json!({ "kind": "key" }));
    assert_eq!(page["records"][0]["seq"], changed["record"], "{page}");
    let verified = home.json(&["audit", "verify"]);
    assert_eq!(verified["intact"], true, "{verified}");
}
