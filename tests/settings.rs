//! Settings changed through the daemon: checked, in force, on record, taken back; and
//! who may.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, text};
use crate::http::{Http, Login, token};
use crate::worktrees::git;

const WRITTEN: &str = "# Mine, with a word on each.\n[autopilot]\n# Two at a time.\nmax_agents   = 2  \
     # not more\n\n[log]\nlevel = 'info'\n";

fn file_of(home: &TestHome) -> String {
    std::fs::read_to_string(home.home().config_file()).unwrap()
}

/// What `config_show` says of a key.
fn key(home: &TestHome, name: &str) -> Value {
    let report = home.call("config_show", &json!({}));
    let mut keys = report["keys"].as_array().unwrap().iter();
    keys.find(|key| key["key"] == name).unwrap().clone()
}

/// Calls an operation as a page does that is logged in.
fn by_page(http: &Http, login: &Login, operation: &str, params: &Value) -> (u16, Value) {
    let origin = http.origin();
    let headers = [
        ("origin", origin.as_str()),
        ("cookie", login.cookie.as_str()),
        ("x-mission-csrf", login.csrf.as_str()),
        ("content-type", "application/json"),
    ];
    let path = format!("/api/v1/ops/{operation}");
    let answer = http.send("POST", &path, &headers, params.to_string().as_bytes());
    (answer.status, answer.json())
}

#[test]
fn a_bad_value_is_refused_with_the_sentence_of_the_file() {
    let home = TestHome::with_config(WRITTEN);
    home.start();
    for (name, value, file) in [
        ("autopilot.max_agents", "0", "[autopilot]\nmax_agents = 0\n"),
        ("log.level", "\"loud\"", "[log]\nlevel = \"loud\"\n"),
        (
            "http.listen",
            "\"0.0.0.0:80\"",
            "[http]\nlisten = \"0.0.0.0:80\"\n",
        ),
        ("autopilot.max_agent", "1", "[autopilot]\nmax_agent = 1\n"),
    ] {
        let wrong = home.path().join("wrong.toml");
        std::fs::write(&wrong, file).unwrap();
        let (_, checked) = home.failure(&["config", "check", &wrong.display().to_string()]);
        let (_, sentence) = checked.split_once("line 2: ").unwrap();
        let sentence = sentence.lines().next().unwrap().trim();
        assert!(sentence.contains(&format!("`{name}`")), "{sentence}");
        for word in ["variant", "expected", "invalid type"] {
            assert!(!sentence.contains(word), "a word of the parser: {sentence}");
        }
        let (code, refused) = home.failure(&["config", "set", name, value]);
        assert!(refused.contains(sentence), "{refused} has not: {sentence}");
        assert_eq!(code, 7, "{refused}");
        assert_eq!(file_of(&home), WRITTEN);
    }
    assert_eq!(key(&home, "autopilot.max_agents")["data"], 2);
    assert_eq!(
        home.call("config_history", &json!({}))["changes"],
        json!([])
    );
    assert!(!home.kinds().contains(&"config_changed".to_owned()));
}

#[test]
fn a_good_value_is_in_force_without_a_restart_where_its_key_says_so() {
    let home = TestHome::with_config(WRITTEN);
    let pid = home.start();
    let set = home.json(&["config", "set", "autopilot.max_agents", "7"]);
    assert_eq!(set["effect"], "applied", "{set}");
    assert_eq!(key(&home, "autopilot.max_agents")["data"], 7);
    assert_eq!(home.call("autopilot_show", &json!({}))["max_agents"], 7);
    assert_eq!(file_of(&home), WRITTEN.replace("= 2 ", "= 7 "));
    let mode = std::fs::metadata(home.home().config_file())
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let again = home.json(&["config", "set", "autopilot.max_agents", "7"]);
    assert_eq!(again["effect"], "unchanged");
    assert!(again["change"].is_null());

    // What waits for a restart says so, and waits.
    let set = home.json(&["config", "set", "timeline.queue", "4096"]);
    assert_eq!(set["effect"], "restart");
    assert!(set["message"].as_str().unwrap().contains("after a restart"));
    let queue = key(&home, "timeline.queue");
    assert_eq!(
        (&queue["data"], &queue["waiting"]),
        (&json!(8192), &json!(4096))
    );
    assert_eq!(home.pid(), pid);
    home.mission(&["down"]);
    home.start();
    let queue = key(&home, "timeline.queue");
    assert_eq!(
        (&queue["data"], &queue["waiting"]),
        (&json!(4096), &Value::Null)
    );

    let unset = home.json(&["config", "unset", "autopilot.max_agents"]);
    assert_eq!(unset["effect"], "applied");
    assert_eq!(key(&home, "autopilot.max_agents")["data"], 4);
}

#[test]
fn undo_restores_the_file_byte_for_byte() {
    let home = TestHome::with_config(WRITTEN);
    home.start();
    for (name, value) in [
        ("autopilot.max_agents", "9"),
        ("notifications.desktop", "true"),
        ("http.hosts", "[\"board.example\"]"),
    ] {
        home.json(&["config", "set", name, value]);
        assert_ne!(file_of(&home), WRITTEN);
        let newest = home.json(&["config", "history"])["changes"][0].clone();
        assert_eq!(newest["key"], name);
        let undone = home.mission(&["config", "undo", &newest["change"].to_string()]);
        assert!(undone.status.success(), "{}", text(&undone.stderr));
        assert_eq!(file_of(&home), WRITTEN);
    }
    assert_eq!(key(&home, "autopilot.max_agents")["data"], 2);
    let changes = home.json(&["config", "history"]);
    let changes = changes["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 6, "an undo is a change too: {changes:?}");
    assert_eq!(changes[0]["undoes"], changes[1]["change"]);
    assert_eq!(changes[1]["undone"], true);
    let (code, again) = home.failure(&["config", "undo", &changes[1]["change"].to_string()]);
    assert!(again.contains("undone already"), "{again}");
    assert_eq!(code, 5);

    // Where there was no file there is none again.
    let home = TestHome::started();
    home.json(&["config", "set", "log.level", "debug"]);
    assert_eq!(file_of(&home), "[log]\nlevel = \"debug\"\n");
    home.json(&["config", "undo", "1"]);
    assert!(!home.home().config_file().exists());
}

#[test]
fn what_a_person_writes_meanwhile_is_kept() {
    let home = TestHome::with_config(WRITTEN);
    home.start();
    home.json(&["config", "set", "autopilot.max_agents", "9"]);
    let by_hand = format!("{}\n[usage] # by hand\n", file_of(&home));
    home.write_config(&by_hand);
    home.json(&["config", "set", "log.level", "debug"]);
    assert!(file_of(&home).ends_with("\n[usage] # by hand\n"));
    home.json(&["config", "undo", "1"]);
    let expected = by_hand
        .replace("= 9 ", "= 2 ")
        .replace("'info'", "\"debug\"");
    assert_eq!(file_of(&home), expected);

    // Whoever set it anew by hand is not overruled.
    home.write_config(&expected.replace("\"debug\"", "\"warn\""));
    let (code, refused) = home.failure(&["config", "undo", "2"]);
    assert!(refused.contains("changed again since"), "{refused}");
    assert_eq!(code, 5);
    assert!(file_of(&home).contains("\"warn\""));

    // Nothing is written into a file that cannot be read.
    home.write_config("[log\n");
    let (_, refused) = home.failure(&["config", "set", "log.level", "info"]);
    assert!(refused.contains("mend the file first"), "{refused}");
    assert_eq!(file_of(&home), "[log\n");
}

#[test]
fn neither_a_token_nor_an_agent_changes_settings_and_a_page_that_is_logged_in_does() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let program = token(&home, "ci");
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let server = json!({ "name": "x", "command": "true" });
    for (operation, params) in [
        (
            "config_set",
            json!({ "key": "log.level", "value": "debug" }),
        ),
        ("config_undo", json!({ "change": 1 })),
        ("mcp_server_add", server),
        ("mcp_server_remove", json!({ "server": "x" })),
        ("token_create", json!({ "name": "more" })),
        ("web_login", json!({})),
    ] {
        let answer = http.call(&program, operation, &params);
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"));
        let said = answer.json()["error"]["message"].to_string();
        assert!(said.contains("for a person"), "{said}");
        let refused = agent.call(operation, params);
        assert_eq!(refused["isError"], true, "{operation}: {refused}");
    }
    assert!(!home.home().config_file().exists());
    assert!(!home.home().config_dir().join("mcp.toml").exists());
    assert_eq!(
        http.call(&program, "config_history", &json!({})).status,
        200
    );

    let login = http.log_in(&home);
    let params = json!({ "key": "log.level", "value": "debug" });
    let (status, set) = by_page(&http, &login, "config_set", &params);
    assert_eq!((status, &set["effect"]), (200, &json!("applied")), "{set}");
    assert_eq!(key(&home, "log.level")["data"], "debug");
    let (status, refused) = by_page(
        &http,
        &login,
        "config_set",
        &json!({ "key": "log.level", "value": "loud" }),
    );
    assert_eq!(
        (status, &refused["error"]["code"]),
        (400, &json!("invalid_config"))
    );
    let (status, made) = by_page(&http, &login, "token_create", &json!({ "name": "page" }));
    assert_eq!(status, 200, "{made}");
    let (status, link) = by_page(&http, &login, "web_login", &json!({}));
    assert_eq!(status, 200, "{link}");
    assert!(link["elsewhere"].is_null(), "only this machine is served");
    let (_, code) = link["link"]
        .as_str()
        .unwrap()
        .split_once("/login#")
        .unwrap();
    assert_eq!(http.show_code(code).status, 204);
}

#[test]
fn a_change_is_told_on_the_timeline_without_passwords() {
    let home = TestHome::started();
    let secret = "hunter2";
    for (name, value) in [
        (
            "notifications.webhook_url",
            format!("https://hooks.example/{secret}"),
        ),
        (
            "database.url",
            format!("postgres://me:{secret}@localhost/x"),
        ),
    ] {
        home.json(&["config", "set", name, &value]);
    }
    let webhook = key(&home, "notifications.webhook_url");
    assert_eq!(webhook["data"], "https://hooks.example/…");
    let shown = home.call("config_show", &json!({})).to_string();
    assert!(!shown.contains(secret), "{shown}");
    home.json(&["config", "undo", "2"]);
    let events = home.events();
    let changed: Vec<_> = events
        .iter()
        .map(|event| &event["event"])
        .filter(|event| event["type"] == "config_changed")
        .collect();
    assert_eq!(changed.len(), 3);
    assert_eq!(changed[0]["new"], "\"https://hooks.example/…\"");
    assert_eq!(changed[2]["undoes"], 2);
    let told = serde_json::to_string(&changed).unwrap();
    let listed = home.call("config_history", &json!({})).to_string();
    assert!(
        !told.contains(secret) && !listed.contains(secret),
        "{told} {listed}"
    );
    assert!(file_of(&home).contains(secret));
    let kept = std::fs::metadata(home.home().config_history()).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_setting_of_a_repository_is_checked_and_undone_like_any_other() {
    let home = TestHome::started();
    let repository = home.path().join("project");
    std::fs::create_dir_all(&repository).unwrap();
    let init = ["init", "--quiet", "--initial-branch=main"];
    git(&repository, &init);
    git(
        &repository,
        &["commit", "--quiet", "--allow-empty", "-m", "Begin"],
    );
    let folder = repository.display().to_string();
    let file = repository.join(".mission/config.toml");
    let at = ["--repository", folder.as_str()];
    let set = home.json(&[&["config", "set", "finish", "branch"], &at[..]].concat());
    assert_eq!(set["change"]["repository"], folder.as_str());
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "finish = \"branch\"\n"
    );
    let add = home.json(&["task", "add", "One", "--repository", &folder]);
    assert_eq!(add["task"]["finish"], "branch", "{add}");
    let written = std::fs::read_to_string(&file).unwrap();
    for (name, value, unknown) in [
        ("finish", "somehow", "unknown variant `somehow`"),
        ("log.level", "debug", "unknown field `log.level`"),
    ] {
        let (code, refused) = home.failure(&[&["config", "set", name, value], &at[..]].concat());
        assert_eq!(code, 7, "{refused}");
        assert!(refused.contains(unknown), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
    }
    home.json(&["config", "undo", "1"]);
    assert!(!file.exists());
}

#[test]
fn servers_are_added_removed_and_brought_back_by_a_person() {
    let home = TestHome::started();
    let list = home.home().config_dir().join("mcp.toml");
    std::fs::create_dir_all(list.parent().unwrap()).unwrap();
    let before = "# Kept.\n[servers.first]\ncommand = \"true\"\n";
    std::fs::write(&list, before).unwrap();
    std::fs::set_permissions(&list, std::fs::Permissions::from_mode(0o600)).unwrap();
    let added = home.call(
        "mcp_server_add",
        &json!({ "name": "second.one", "command": "cat", "args": ["-"], "env": ["HOME"] }),
    );
    assert_eq!(added["change"]["new"], "cat -", "{added}");
    let listed = home.call("mcp_server_list", &json!({ "server": "second.one" }));
    assert_eq!(listed["servers"][0]["target"], "cat -");
    let text = std::fs::read_to_string(&list).unwrap();
    assert!(
        text.starts_with(before) && text.contains("pass_env = [\"HOME\"]"),
        "{text}"
    );
    for (params, sentence) in [
        (json!({ "name": "second.one", "command": "cat" }), "already"),
        (json!({ "name": "a__b", "command": "cat" }), "separates"),
        (json!({ "name": "c" }), "neither"),
        (
            json!({ "name": "d", "url": "http://example.com/" }),
            "https",
        ),
    ] {
        let (_, refused) = home.failure(&["call", "mcp_server_add", &params.to_string()]);
        assert!(refused.contains(sentence), "{refused}");
        assert_eq!(std::fs::read_to_string(&list).unwrap(), text);
    }
    home.call("mcp_server_remove", &json!({ "server": "first" }));
    home.json(&["config", "undo", "2"]);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), text);
    // What another file says meanwhile is looked at too: nobody is listed twice.
    home.call("mcp_server_remove", &json!({ "server": "first" }));
    let removed = std::fs::read_to_string(&list).unwrap();
    std::fs::set_permissions(&list, std::fs::Permissions::from_mode(0o620)).unwrap();
    let third = json!({ "name": "third", "command": "true" }).to_string();
    let (_, refused) = home.failure(&["call", "mcp_server_add", &third]);
    assert!(refused.contains("others may write"), "{refused}");
    std::fs::set_permissions(&list, std::fs::Permissions::from_mode(0o600)).unwrap();
    let other = home.home().config_dir().join("mcp.json");
    std::fs::write(&other, r#"{"mcpServers": {"first": {"command": "true"}}}"#).unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (code, refused) = home.failure(&["config", "undo", "4"]);
    assert!(refused.contains("`first`"), "{refused}");
    assert_eq!(code, 7, "{refused}");
    assert_eq!(std::fs::read_to_string(&list).unwrap(), removed);
    std::fs::remove_file(other).unwrap();
    home.json(&["config", "undo", "4"]);
    home.json(&["config", "undo", "1"]);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), before);
    let events = home.events();
    let told = events
        .iter()
        .filter(|event| event["event"]["type"] == "config_changed");
    assert_eq!(told.count(), 6, "two undone, and the undoing");
}

/// Sets a port that somebody else has, and tries to restart: what is said, and how to
/// get out, is the same on the terminal, in the log and of the doctor.
#[test]
fn a_value_with_which_no_daemon_starts_is_taken_back_without_one() {
    let home = TestHome::with_config(WRITTEN);
    home.start();
    let (_, refused) = home.failure(&["config", "set", "http.listen", "192.0.2.1:80"]);
    assert!(refused.contains("must be a loopback address"), "{refused}");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    home.json(&["config", "set", "http.listen", &address]);
    let (code, failed) = home.failure(&["daemon", "restart"]);
    assert_eq!(code, 7, "{failed}");
    assert!(failed.contains(&format!("cannot listen on {address}")));
    let way_out = format!(
        "`http.listen` stands in {}: `mission config undo 1` takes the change back, `mission \
         config unset http.listen` takes it out",
        home.home().config_file().display()
    );
    assert!(failed.contains(&way_out), "{failed}");
    let logs = home.mission(&["logs", "--json"]);
    let logs = text(&logs.stdout);
    let told: Value = serde_json::from_str(logs.lines().next_back().unwrap()).unwrap();
    assert_eq!(told["message"], "daemon start failed");
    assert_eq!(told["way_out"], way_out.as_str(), "{told}");
    let doctor = home.mission(&["doctor"]);
    let doctor = text(&doctor.stdout);
    assert!(doctor.contains(&way_out), "{doctor}");
    assert!(doctor.contains("it cannot start: see `HTTP port`"));

    // All of it works without a daemon, and starts none.
    assert_eq!(
        home.json(&["config", "get", "http.listen"])["data"],
        address
    );
    assert_eq!(
        home.json(&["config", "history"])["changes"][0]["key"],
        "http.listen"
    );
    let (code, refused) = home.failure(&[
        "config",
        "set",
        "finish",
        "branch",
        "--repository",
        "/nowhere",
    ]);
    assert!(refused.contains("only a running one changes"), "{refused}");
    assert!(refused.contains("`mission up` starts it"), "{refused}");
    assert_eq!(code, 3);
    let undone = home.mission(&["config", "undo"]);
    let undone = text(&undone.stdout);
    assert!(
        undone.contains("No daemon runs: it takes effect when one starts."),
        "{undone}"
    );
    assert_eq!(file_of(&home), WRITTEN);
    let (code, refused) = home.failure(&["config", "undo"]);
    assert_eq!(code, 4, "an undo is not undone by chance: {refused}");
    home.json(&["config", "set", "autopilot.max_agents", "3"]);
    let (_, refused) = home.failure(&["config", "set", "log.level", "loud"]);
    assert!(refused.contains("`log.level`"), "{refused}");
    assert_eq!(
        text(
            &home
                .mission(&["config", "get", "autopilot.max_agents"])
                .stdout
        ),
        "3"
    );
    assert!(!home.home().socket().exists());

    // The next daemon tells what it was not there for, once, and takes it back.
    home.start();
    assert_eq!(key(&home, "autopilot.max_agents")["data"], 3);
    home.json(&["config", "undo"]);
    assert_eq!(file_of(&home), WRITTEN);
    home.json(&["daemon", "restart"]);
    let told = |home: &TestHome| -> Vec<(u64, Value)> {
        let events = home.events();
        let events = events.iter().map(|event| &event["event"]);
        let changes = events.filter(|event| event["type"] == "config_changed");
        let pair = |event: &Value| (event["change"].as_u64().unwrap(), event["undoes"].clone());
        changes.map(pair).collect()
    };
    let expected = [
        (1, Value::Null),
        (2, json!(1)),
        (3, Value::Null),
        (4, json!(3)),
    ];
    assert_eq!(told(&home), expected);
    // A refused start is no crash.
    assert_eq!(home.json(&["status"])["incidents"], json!([]));
    let (code, unknown) = home.failure(&["config", "get", "autopilot.max_agent"]);
    assert_eq!(code, 4);
    assert!(unknown.contains("`autopilot.max_agents`"), "{unknown}");
}

#[test]
fn rules_tokens_and_logins_are_told_on_the_timeline_without_what_lets_in() {
    let home = TestHome::started();
    let http = Http::of(&home);
    home.json(&["permission", "add", "deny", "--tool", "Bash"]);
    home.json(&["permission", "remove", "P-1"]);
    let secret = token(&home, "ci");
    home.json(&["token", "revoke", "ci"]);
    let login = http.log_in(&home);
    let origin = http.origin();
    let headers = [
        ("origin", origin.as_str()),
        ("cookie", login.cookie.as_str()),
        ("x-mission-csrf", login.csrf.as_str()),
    ];
    assert_eq!(
        http.send("DELETE", "/api/v1/session", &headers, b"").status,
        204
    );
    let events = home.events();
    let told = |event: &&Value| {
        let kind = event["type"].as_str().unwrap();
        kind.starts_with("permission_rule_") || kind.starts_with("access_")
    };
    let mut told: Vec<_> = events
        .iter()
        .map(|event| &event["event"])
        .filter(told)
        .cloned()
        .collect();
    let whole = json!(told).to_string();
    assert!(
        !whole.contains(&secret) && !whole.contains(&login.cookie),
        "{whole}"
    );
    for event in &mut told {
        let event = event.as_object_mut().unwrap();
        event.remove("access");
        event.remove("expires_at");
    }
    let rule = |kind: &str| json!({ "type": kind, "rule": "P-1", "sentence": "deny Bash", "by": "person" });
    let access =
        |kind: &str, of: &str, name: &str| json!({ "type": kind, "kind": of, "name": name });
    let expected = [
        rule("permission_rule_added"),
        rule("permission_rule_removed"),
        access("access_granted", "token", "ci"),
        access("access_revoked", "token", "ci"),
        access("access_granted", "session", "a browser"),
        access("access_revoked", "session", "a browser"),
    ];
    assert_eq!(told, expected);
}
