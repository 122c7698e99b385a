//! The MCP server over the daemon's HTTP: for those who show a token, judged by the
//! conformance suite as far as it needs no tools of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use serde_json::{Value, json};

use super::client::Http;
use crate::conformance::judge_by_one;
use crate::harness::TestHome;
use crate::mcp_servers::installed;

const NEWER: &str = "2026-07-28";

fn token(home: &TestHome) -> String {
    let made = home.json(&[
        "token",
        "create",
        "agent",
        "--scope",
        "read,work,terminals,manage",
    ]);
    made["token"].as_str().unwrap().to_owned()
}

fn ask(method: &str, params: &Value) -> Vec<u8> {
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    asked.to_string().into_bytes()
}

#[test]
fn whoever_shows_a_token_is_served_and_nobody_else() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let bearer = format!("Bearer {}", token(&home));
    let hello = ask("initialize", &json!({ "protocolVersion": "2025-11-25" }));
    let send = |path: &str, more: &[(&str, &str)], body: &[u8]| {
        let headers = [&[("content-type", "application/json")], more].concat();
        http.send("POST", path, &headers, body)
    };
    assert_eq!(send("/mcp", &[], &hello).status, 401);
    let wrong = [("authorization", "Bearer nothing")];
    assert_eq!(send("/mcp", &wrong, &hello).status, 401);
    let own = [("authorization", bearer.as_str())];
    for stranger in [("origin", "https://evil.example"), ("host", "evil.example")] {
        let headers = [own[0], stranger];
        assert_eq!(send("/mcp", &headers, &hello).status, 403, "{stranger:?}");
    }
    let welcome = send("/mcp", &own, &hello);
    assert_eq!(welcome.status, 200);
    assert_eq!(welcome.json()["result"]["serverInfo"]["name"], "mission");
    assert_eq!(http.get("/mcp", &own).status, 405);

    // What it does is done.
    let task = json!({ "task": { "title": "Over HTTP", "isolation": "none" } });
    let call = ask(
        "tools/call",
        &json!({ "name": "board_add", "arguments": task }),
    );
    let called = send("/mcp", &own, &call).json();
    assert_eq!(called["result"]["isError"], false, "{called}");
    assert_eq!(
        home.json(&["task", "list"])["tasks"][0]["title"],
        "Over HTTP"
    );

    // The address says what is shown; what lets others in is never.
    let listed = send("/mcp?toolset=all", &own, &ask("tools/list", &json!({}))).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let is_listed = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    assert!(is_listed("slot_kill") && !is_listed("token_create"));
    let call = json!({ "name": "operation_call",
                       "arguments": { "operation": "token_create", "params": { "name": "x" } } });
    let refused = send("/mcp", &own, &ask("tools/call", &call)).json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let listed = home.json(&["token", "list"]);
    assert!(!listed.to_string().contains("\"x\""), "{listed}");
    assert_eq!(send("/mcp?toolset=bored", &own, &hello).status, 400);
}

/// A stream that stays open is told what changes, and closing it is the end of it.
#[test]
fn a_stream_is_told_what_changes() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home);
    let params = json!({
        "_meta": { "io.modelcontextprotocol/protocolVersion": NEWER,
                   "io.modelcontextprotocol/clientCapabilities": {} },
        "notifications": { "resourceSubscriptions": ["mission://board"] },
    });
    let body = ask("subscriptions/listen", &params);
    let mut stream = http.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: {NEWER}\r\nmcp-method: subscriptions/listen\r\n\
         content-length: {}\r\n\r\n",
        http.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
    let mut heard = String::new();
    let mut chunk = [0; 4096];
    let mut hear = |stream: &mut TcpStream, words: &str| {
        while !heard.contains(words) {
            let read = stream.read(&mut chunk).unwrap();
            assert!(read > 0, "it ended after {heard}");
            heard += &String::from_utf8_lossy(&chunk[..read]);
        }
    };
    hear(&mut stream, "notifications/subscriptions/acknowledged");
    home.json(&[
        "call",
        "board_add",
        r#"{"task":{"title":"x","isolation":"none"}}"#,
    ]);
    hear(&mut stream, "notifications/resources/updated");
}

/// The suite shows no token, so somebody in between does it for it.
fn with_token(home: &TestHome) -> String {
    let server = Http::of(home).address;
    let token = token(home);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, token) = (server.clone(), token.clone());
            std::thread::spawn(move || {
                let _ = carry(client, &server, &token);
            });
        }
    });
    url
}

fn carry(mut client: TcpStream, server: &str, token: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let head = loop {
        let read = client.read(&mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&chunk[..read]);
        let end = request.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            break end;
        }
    };
    let lines = String::from_utf8_lossy(&request[..head]).into_owned();
    let is_kept = |line: &&str| !line.to_lowercase().starts_with("connection:");
    let mut changed: Vec<_> = lines.split("\r\n").filter(is_kept).collect();
    let authorization = format!("authorization: Bearer {token}");
    changed.extend([authorization.as_str(), "connection: close"]);
    let mut server = TcpStream::connect(server)?;
    server.write_all(changed.join("\r\n").as_bytes())?;
    server.write_all(&request[head..])?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    std::io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}

#[test]
fn the_conformance_suite_finds_no_fault_with_the_daemon() {
    let Some(folder) = installed() else { return };
    let home = TestHome::started();
    let url = with_token(&home);
    for (version, scenarios) in [
        (
            "2025-11-25",
            [
                "server-initialize",
                "ping",
                "tools-list",
                "resources-list",
                "prompts-list",
                "dns-rebinding-protection",
            ]
            .as_slice(),
        ),
        (
            NEWER,
            [
                "tools-list",
                "resources-list",
                "prompts-list",
                "caching",
                "sep-2164-resource-not-found",
                "http-header-validation",
                "dns-rebinding-protection",
            ]
            .as_slice(),
        ),
    ] {
        for scenario in scenarios {
            judge_by_one(&folder, &url, version, scenario);
        }
    }
}
