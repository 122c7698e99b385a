//! What a careless or hostile peer may send. Each is told what is wrong, and
//! the daemon goes on serving.

use std::io::Write;
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::harness::{RawConnection, TestHome, error_code, wait_for};
use crate::http::Http;

/// The daemon serves others as if nothing had happened.
fn serves(home: &TestHome) {
    let mut connection = home.greeted();
    assert_eq!(
        connection.ask(9, "health", &json!({}))["result"]["healthy"],
        true
    );
    let stored = connection.ask(10, "timeline_note", &json!({"text": "still here"}));
    assert!(stored["result"]["event"]["seq"].as_i64().unwrap() > 0);
}

#[test]
fn lines_that_are_no_messages_are_refused_and_the_connection_stays() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let lines: [(&[u8], &str); 9] = [
        (b"hello\n", "invalid_request"),
        (b"\xff\xfe\x00\n", "invalid_request"),
        (b"[]\n", "invalid_request"),
        (b"{}\n", "invalid_request"),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"health\"}\n",
            "invalid_request",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}\n",
            "invalid_request",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\",\"params\":7}\n",
            "invalid_request",
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\"\n",
            "invalid_request",
        ),
        (b"\"\\ud800\"\n", "invalid_request"),
    ];
    for (line, code) in lines {
        connection.send_bytes(line);
        let answer = connection.receive();
        assert_eq!(error_code(&answer), code, "{line:?}");
        assert_eq!(answer["id"], json!(null));
    }
    // Empty lines and Windows line ends are not worth a word.
    connection.send_bytes(b"\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\"}\r\n");
    assert_eq!(connection.receive()["result"]["healthy"], true);
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let cases = [
        ("timeline_note", json!({}), "missing field `text`"),
        (
            "timeline_note",
            json!({"text": 5}),
            "parameter `text`: invalid type: integer `5`, expected a text of at most 4096 characters",
        ),
        (
            "timeline_note",
            json!({"text": "a", "colour": "red"}),
            "unknown field `colour`",
        ),
        (
            "timeline_note",
            json!({"text": "  "}),
            "`text` says nothing",
        ),
        (
            "timeline_note",
            json!({"text": "x".repeat(4097)}),
            "parameter `text`: the text is longer than 4096 characters",
        ),
        (
            "timeline_query",
            json!({"limit": 0}),
            "parameter `limit`: must be from 1 to 1000, but is 0",
        ),
        (
            "timeline_query",
            json!({"kinds": ["nope"]}),
            "no kind of event is called `nope`",
        ),
        (
            "timeline_trace",
            json!({"trace_id": "xyz"}),
            "is not a trace id",
        ),
        (
            "incident_resolve",
            json!({"incident": "task_01"}),
            "is not an id of the kind `incident`",
        ),
        (
            "health",
            json!([1, 2]),
            "the parameters do not fit `health`",
        ),
    ];
    for (operation, params, expected) in cases {
        let answer = connection.ask(1, operation, &params);
        assert_eq!(error_code(&answer), "invalid_params", "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{operation}: {message}");
    }
    let answer = connection.ask(1, "timeline_qeury", &json!({}));
    let message = "no operation `timeline_qeury`; did you mean `timeline_query`?";
    assert_eq!(answer["error"]["message"], message);
}

#[test]
fn a_message_over_a_megabyte_is_refused_and_skipped() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let text = "x".repeat(5 * 1024 * 1024);
    connection.request(1, "timeline_note", &json!({"text": text}));
    assert_eq!(error_code(&connection.receive()), "too_large");
    assert_eq!(
        connection.ask(2, "health", &json!({}))["result"]["healthy"],
        true
    );
    serves(&home);
}

#[test]
fn deep_nesting_is_refused_without_a_stack_overflow() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let depth = 100_000 / open.len();
        let inner = if open == "[" { "" } else { "1" };
        let params = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\",\"params\":{params}}}\n");
        connection.send_bytes(line.as_bytes());
        assert_eq!(error_code(&connection.receive()), "invalid_params");
    }
    serves(&home);
}

#[test]
fn the_first_message_must_be_a_hello_in_a_version_both_speak() {
    let home = TestHome::started();
    let mut connection = home.raw();
    let answer = connection.ask(1, "health", &json!({}));
    assert_eq!(
        answer["error"]["message"],
        "the first message must be `hello`"
    );
    assert_eq!(connection.try_receive(), None, "and then it is over");
    let mut connection = home.raw();
    let answer = connection.ask(1, "hello", &json!({"protocol": 999, "client": "future"}));
    assert_eq!(error_code(&answer), "version_mismatch");
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("mission daemon restart")
    );
    assert_eq!(connection.try_receive(), None);
    serves(&home);
}

#[test]
fn messages_cut_off_at_every_byte_leave_no_trace() {
    let home = TestHome::started();
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "hello", "params": {"protocol": 1, "client": "t"},
    });
    let note = json!({
        "jsonrpc": "2.0", "id": 1, "method": "timeline_note", "params": {"text": "cut off"},
    });
    let bytes = format!("{hello}\n{note}\n").into_bytes();
    for cut in 0..bytes.len() - 1 {
        let mut stream = UnixStream::connect(home.home().socket()).unwrap();
        stream.write_all(&bytes[..cut]).unwrap();
    }
    serves(&home);
    let cut_off = |event: &&serde_json::Value| event["event"]["text"] == "cut off";
    assert_eq!(home.events().iter().filter(cut_off).count(), 0);
    wait_for("the connections to be let go", || {
        home.json(&["daemon", "stats"])["active_connections"] == 1
    });
}

#[test]
fn a_peer_that_stalls_in_the_middle_holds_up_nobody() {
    let home = TestHome::started();
    let mut stalled: Vec<_> = (0..50).map(|_| home.greeted()).collect();
    for connection in &mut stalled {
        connection.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    }
    serves(&home);
    // And whoever goes on after a pause is served too.
    stalled[0].send_bytes(b"od\":\"health\"}\n");
    assert_eq!(stalled[0].receive()["result"]["healthy"], true);
}

#[test]
fn of_a_thousand_connections_those_over_the_limit_are_told_and_the_rest_served() {
    let home = TestHome::with_config("[ipc]\nmax_connections = 300\n");
    home.start();
    let mut connections: Vec<_> = (0..1000)
        .map(|_| RawConnection::new(&home.home().socket()))
        .collect();
    let (mut served, mut refused) = (0, 0);
    for connection in &mut connections {
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "hello", "params": {"protocol": 1, "client": "t"},
        });
        // A refused one may be closed before it can say hello.
        let _ = connection.try_send(&hello);
        match connection.try_receive() {
            Some(answer) if answer["result"]["protocol"] == 1 => served += 1,
            Some(answer) => {
                assert_eq!(error_code(&answer), "busy");
                assert!(answer["error"]["data"]["retry_after_ms"].as_u64().unwrap() > 0);
                refused += 1;
            }
            None => refused += 1,
        }
    }
    assert_eq!((served, refused), (300, 700));
    drop(connections);
    wait_for("room for others", || {
        missiond_api::Client::connect(&home.home()).is_ok()
    });
    serves(&home);
}

#[test]
fn half_sent_http_requests_hold_up_nothing() {
    let home = TestHome::started();
    let url = home.json(&["status"])["http"].as_str().unwrap().to_owned();
    let address = url.strip_prefix("http://").unwrap();
    let held: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\nHost: loc")
                .unwrap();
            stream
        })
        .collect();
    serves(&home);
    home.json(&["daemon", "stop"]);
    let stopped = home.events();
    assert_eq!(
        stopped[stopped.len() - 2]["event"]["type"],
        "daemon_stopped"
    );
    drop(held);
}

#[test]
fn metrics_are_for_whoever_is_let_in_under_a_name_of_this_server() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let bearer = format!(
        "Bearer {}",
        home.json(&["token", "create", "p"])["token"]
            .as_str()
            .unwrap()
    );
    let token = ("authorization", bearer.as_str());
    let metrics = http.get("/metrics", &[token]);
    assert_eq!(metrics.status, 200);
    let text = String::from_utf8(metrics.body).unwrap();
    assert!(text.contains("\nmissiond_events_stored_total "), "{text}");
    let login = http.log_in(&home);
    let cookie = ("cookie", login.cookie.as_str());
    assert_eq!(http.get("/metrics", &[cookie]).status, 200);
    // Another user of this machine has neither, a page of another server no such name.
    assert_eq!(http.get("/metrics", &[]).status, 401);
    let wrong = ("authorization", "Bearer wrong");
    assert_eq!(http.get("/metrics", &[wrong]).status, 401);
    for host in ["evil.example", "127.0.0.1.evil.example"] {
        assert_eq!(http.get("/metrics", &[token, ("host", host)]).status, 403);
    }
    let elsewhere = ("origin", "http://evil.example");
    assert_eq!(http.get("/metrics", &[cookie, elsewhere]).status, 403);
    // What may not look reads no numbers either.
    let works = home.json(&["token", "create", "w", "--scope", "work"]);
    let works = format!("Bearer {}", works["token"].as_str().unwrap());
    assert_eq!(
        http.get("/metrics", &[("authorization", &works)]).status,
        403
    );
    let healthy = http.get("/healthz", &[("host", "localhost")]);
    assert_eq!(healthy.body, b"ok\n");
    assert_eq!(
        http.get("/healthz", &[("host", "evil.example")]).status,
        403
    );
    assert_eq!(http.get("/nothing.txt", &[]).status, 404);
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let padded = |size: usize| {
        let padding = "x".repeat(size);
        http.get("/healthz", &[("x-padding", &padding)]).status
    };
    assert_eq!(padded(60_000), 200);
    assert_eq!(padded(66_000), 431);
    assert_eq!(padded(70_000), 431);
}
