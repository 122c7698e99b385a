//! The ways that speak to sockets by themselves, with what an agent may have found, and what
//! takes every place there is. They are run by the other tests, inside a slot and, to show that
//! they are ways, outside of all.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::wait_for;
use crate::http::{Http, Login, Socket};

use super::{add_by_page, wanted};

pub(super) const SOCKETS: [&str; 12] = [
    "a-hello-that-says-person",
    "a-call-before-the-hello",
    "a-second-hello",
    "a-batch-of-calls",
    "a-socket-behind-a-link",
    "a-websocket",
    "a-found-token",
    "a-found-token-over-mcp",
    "a-found-token-on-a-websocket",
    "a-found-cookie",
    "a-found-cookie-on-a-websocket",
    "a-found-login-link",
];

/// One connection that speaks lines.
struct Wire(BufReader<UnixStream>);

impl Wire {
    fn to(socket: &str) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, value: &Value) {
        // Whoever is refused may find the connection closed.
        let _ = self.0.get_mut().write_all(format!("{value}\n").as_bytes());
    }

    /// Everything up to the end, or to an answer with this id.
    fn hear(&mut self, id: u64) -> Vec<Value> {
        let mut heard = Vec::new();
        let mut line = String::new();
        while matches!(self.0.read_line(&mut line), Ok(1..)) {
            let value: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            let last = value["id"] == id || value.is_array();
            heard.push(value);
            if last {
                break;
            }
            line.clear();
        }
        heard
    }
}

fn hello(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "hello", "params": { "protocol": 1, "client": "person" } })
}

fn call(id: u64, way: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "permission_add", "params": wanted(way) })
}

/// Whether a rule was made; what was refused says so.
fn was_done(heard: &[Value]) -> bool {
    json!(heard).to_string().contains("\"P-")
}

/// Whether the one who is not an agent speaks, whom each way must lead to what it wants.
fn is_person() -> bool {
    std::env::var("ATTACK_AS").is_ok_and(|who| who == "person")
}

/// What was wanted was done for the person, and for nobody else.
fn done_for_the_person_alone(heard: &[Value]) {
    assert_eq!(was_done(heard), is_person(), "{}", json!(heard));
}

/// The protocol refuses this to everybody. Whoever begins again as it should be is a person
/// or none.
fn done_for_nobody(socket: &str, way: &str, heard: &[Value]) {
    assert!(!was_done(heard), "{}", json!(heard));
    let mut wire = Wire::to(socket);
    wire.send(&hello(0));
    wire.send(&call(2, way));
    done_for_the_person_alone(&wire.hear(2));
}

/// What the suite runs inside a slot and outside of all; alone it tries nothing.
#[test]
#[ignore = "run by no_way_out_of_a_slot_makes_a_person, inside a slot and outside of all"]
fn from_inside() {
    let Ok(way) = std::env::var("ATTACK") else {
        return;
    };
    if way == "every-place" {
        take_every_place();
        return;
    }
    let socket = std::env::var("ATTACK_SOCKET").unwrap();
    let mut wire = Wire::to(&socket);
    match way.as_str() {
        "a-hello-that-says-person" => {
            wire.send(&json!({
                "jsonrpc": "2.0", "id": 0, "method": "hello",
                "params": { "protocol": 1, "client": "person", "principal": "person", "by": "person" },
            }));
            wire.send(&call(2, &way));
            done_for_nobody(&socket, &way, &wire.hear(2));
        }
        "a-call-before-the-hello" => {
            wire.send(&call(2, &way));
            done_for_nobody(&socket, &way, &wire.hear(2));
        }
        "a-second-hello" => {
            wire.send(&hello(0));
            wire.send(&hello(1));
            wire.send(&call(2, &way));
            done_for_the_person_alone(&wire.hear(2));
        }
        "a-batch-of-calls" => {
            wire.send(&hello(0));
            wire.send(&json!([call(2, &way), call(3, &way)]));
            // Answered behind it, because a connection reads in order.
            wire.send(&hello(4));
            done_for_nobody(&socket, &way, &wire.hear(4));
        }
        "a-socket-behind-a-link" => {
            let link = std::env::temp_dir().join(format!("attack-{}", std::process::id()));
            std::os::unix::fs::symlink(&socket, &link).unwrap();
            let mut wire = Wire::to(link.to_str().unwrap());
            std::fs::remove_file(&link).unwrap();
            wire.send(&hello(0));
            wire.send(&call(2, &way));
            done_for_the_person_alone(&wire.hear(2));
        }
        other => with_what_was_found(other),
    }
}

/// What an agent finds lets it in as itself; whose it is are let in as who they are.
fn with_what_was_found(way: &str) {
    let found = |name: &str| std::env::var(name).unwrap();
    let http = Http {
        address: found("ATTACK_HTTP"),
    };
    let login = Login {
        cookie: found("ATTACK_COOKIE"),
        csrf: found("ATTACK_CSRF"),
    };
    match way {
        "a-websocket" => open_websockets(&http, &login),
        "a-found-token" => use_token(&http, &found("ATTACK_TOKEN"), &found("ATTACK_LOOKS")),
        "a-found-token-over-mcp" => use_token_over_mcp(&http, &found("ATTACK_TOKEN")),
        "a-found-token-on-a-websocket" => {
            // The keys of a terminal are no program's either, wherever it runs.
            let mut socket = Socket::open(&http, &found("ATTACK_TOKEN"), TERMINAL);
            socket.send(&json!({ "type": "take" }));
            let refused = socket.text_of("refused");
            assert!(refused.to_string().contains("for a person"), "{refused}");
        }
        "a-found-cookie" => use_cookie(&http, &login, way),
        "a-found-cookie-on-a-websocket" => {
            let mut socket = Socket::open_as(&http, &login, TERMINAL);
            socket.send(&json!({ "type": "take" }));
            if is_person() {
                socket.text_of("taken");
            } else {
                let refused = socket.text_of("refused");
                let why = refused.to_string();
                assert!(why.contains("not for an agent"), "{why}");
            }
        }
        "a-found-login-link" => {
            let answer = http.show_code(&found("ATTACK_CODE"));
            let expected = if is_person() { 204 } else { 403 };
            assert_eq!(answer.status, expected, "{answer:?}");
        }
        other => panic!("there is no way {other}"),
    }
}

const TERMINAL: &str = "/api/v1/slots/sibling/terminal";

fn open_websockets(http: &Http, login: &Login) {
    let origin = http.origin();
    for path in ["/api/v1/live", TERMINAL] {
        let nothing = Socket::attempt(http, path, &[("origin", origin.as_str())]).unwrap();
        assert!(nothing.is_err(), "{path}");
        let headers = [("origin", origin.as_str()), ("cookie", &login.cookie)];
        let shown = Socket::attempt(http, path, &headers).unwrap();
        // An agent may look, whatever it shows.
        assert!(shown.is_ok(), "{path}");
    }
}

fn use_token(http: &Http, token: &str, looks: &str) {
    let tidied = http.call(token, "kb_gc", &json!({}));
    let sends = json!({ "slot": "sibling", "text": "x", "submit": false, "force": true });
    let sent = http.call(token, "slot_send", &sends);
    let expected = if is_person() { 200 } else { 403 };
    assert_eq!(sent.status, expected, "{sent:?}");
    assert_eq!(tidied.status, expected, "{tidied:?}");
    if !is_person() {
        let why = tidied.json()["error"]["message"].to_string();
        assert!(why.contains("not for an agent"), "{why}");
    }
    // What an agent may, it may; what the token does not say, it does not by it.
    let task = json!({ "task": { "title": "Found", "isolation": "none" } });
    assert_eq!(http.call(token, "board_add", &task).status, 200);
    let narrowed = http.call(looks, "board_add", &task);
    assert_eq!(narrowed.status, 403, "{narrowed:?}");
}

fn use_token_over_mcp(http: &Http, token: &str) {
    let sends = json!({ "slot": "sibling", "text": "x", "submit": false, "force": true });
    let arguments = json!({ "operation": "slot_send", "params": sends });
    let params = json!({ "name": "operation_call", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let answer = http.send("POST", "/mcp", &headers, call.to_string().as_bytes());
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    let is_refused = said.contains("an agent may use `slot_send`");
    assert_ne!(is_refused, is_person(), "{said}");
    assert!(is_refused || said.contains("\"isError\":false"), "{said}");
}

fn use_cookie(http: &Http, login: &Login, way: &str) {
    let added = add_by_page(http, login, way);
    if is_person() {
        assert_eq!(added.status, 200, "{added:?}");
        return;
    }
    assert_eq!(added.status, 403, "{added:?}");
    let why = added.json()["error"]["message"].to_string();
    assert!(why.contains("not for an agent"), "{why}");
    let origin = http.origin();
    let headers = [
        ("cookie", login.cookie.as_str()),
        ("x-mission-csrf", login.csrf.as_str()),
        ("origin", origin.as_str()),
    ];
    // Nor is the person logged out by it.
    let out = http.send("DELETE", "/api/v1/session", &headers, b"");
    assert_eq!(out.status, 403, "{out:?}");
}

fn take_every_place() {
    let found = |name: &str| std::env::var(name).unwrap();
    let http = Http {
        address: found("ATTACK_HTTP"),
    };
    let login = Login {
        cookie: found("ATTACK_COOKIE"),
        csrf: String::new(),
    };
    let bearer = format!("Bearer {}", found("ATTACK_TOKEN"));
    let mut sockets = Vec::new();
    let refused = loop {
        let headers = [("authorization", bearer.as_str())];
        match Socket::attempt(&http, "/api/v1/live", &headers) {
            Ok(Ok(socket)) => sockets.push(socket),
            Ok(Err(refused)) => break Some(refused),
            Err(_) => break None,
        }
        assert!(sockets.len() < 256, "there was no end to it");
    };
    assert!(refused.is_some_and(|answer| answer.status == 503));
    // The cookie makes no more places, and neither do connections that say nothing.
    let origin = http.origin();
    let headers = [("cookie", login.cookie.as_str()), ("origin", &origin)];
    assert!(!matches!(
        Socket::attempt(&http, "/api/v1/live", &headers),
        Ok(Ok(_))
    ));
    let idle: Vec<_> = (0..500)
        .filter_map(|_| std::net::TcpStream::connect(&http.address).ok())
        .collect();
    std::fs::write("taken", "").unwrap();
    wait_for("the person to be done", || {
        std::path::Path::new("enough").exists()
    });
    drop((sockets, idle));
}
