//! The live socket: nothing missing, nothing twice, never a flood.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::Http;
use super::client::token;
use super::socket::{Socket, SocketMessage};
use crate::harness::{RawConnection, TestHome};

fn seqs(events: &Value) -> Vec<i64> {
    let events = events.as_array().unwrap();
    events
        .iter()
        .map(|event| event["seq"].as_i64().unwrap())
        .collect()
}

/// Stores notes, many at once on one connection.
fn store(connection: &mut RawConnection, first: u64, count: u64, text: &str) {
    const AT_ONCE: u64 = 60;
    for begin in (first..first + count).step_by(AT_ONCE as usize) {
        let end = (begin + AT_ONCE).min(first + count);
        for id in begin..end {
            let params = json!({"text": format!("{id} {text}")});
            connection.request(id, "timeline_note", &params);
        }
        for _ in begin..end {
            let answer = connection.receive();
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
}

#[test]
fn a_page_is_told_what_happens_from_the_moment_it_connects() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    let head = home.events().last().unwrap()["seq"].clone();
    let mut socket = Socket::open_as(&http, &login, "/api/v1/live");
    let hello = socket.text();
    assert_eq!(hello["type"], "hello");
    assert_eq!(hello["seq"], head);
    assert_eq!(hello["instance"], home.json(&["status"])["daemon"]);
    home.json(&["timeline", "note", "seen at once"]);
    let told = socket.text_of("events");
    let stored = home.events().pop().unwrap();
    assert_eq!(told["events"], json!([stored]));
    assert_eq!(told["seq"], stored["seq"]);

    home.json(&["call", "health"]);
    loop {
        let told = socket.text_of("ephemeral");
        let health = |event: &Value| event["event"]["operation"] == "health";
        if told["events"].as_array().unwrap().iter().any(health) {
            break;
        }
    }
}

#[test]
fn nothing_is_missing_after_the_daemon_was_killed_under_load() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "page");
    let ended = AtomicBool::new(false);
    let mut seen: Vec<Value> = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..4 {
                let mut connection = home.greeted();
                store(&mut connection, 1 + round * 1000, 1000, "load");
                if round < 3 {
                    // Whatever of these was stored is told, and nothing else.
                    for id in 1..=60 {
                        connection.request(9000 + id, "timeline_note", &json!({"text": "cut off"}));
                    }
                    home.kill();
                    home.start();
                }
            }
            home.json(&["timeline", "note", "the last"]);
            ended.store(true, Ordering::Release);
        });
        let mut after = 0;
        loop {
            let bearer = format!("Bearer {token}");
            let path = format!("/api/v1/live?after={after}");
            let opened = Socket::attempt(&http, &path, &[("authorization", &bearer)]);
            // Nobody is there while the daemon is away.
            let Ok(Ok(mut socket)) = opened else {
                std::thread::yield_now();
                continue;
            };
            while let SocketMessage::Text(told) = socket.next() {
                if told["type"] != "events" {
                    assert_ne!(told["type"], "reset", "never so far behind");
                    continue;
                }
                seen.extend(told["events"].as_array().unwrap().iter().cloned());
                after = told["seq"].as_i64().unwrap();
                if seen.last().unwrap()["event"]["text"] == "the last" {
                    return;
                }
            }
        }
    });
    assert!(ended.load(Ordering::Acquire));
    let mut stored = home.events();
    stored.truncate(seen.len());
    assert_eq!(seen.len(), stored.len());
    assert!(seen == stored, "the same events in the same order");
    assert_eq!(
        seqs(&json!(seen)),
        (1..=seen.len() as i64).collect::<Vec<_>>()
    );
}

#[test]
fn a_page_that_cannot_keep_up_loads_afresh_and_goes_on_without_a_gap() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "page");
    let mut socket = Socket::open(&http, &token, "/api/v1/live");
    let begun = socket.text()["seq"].as_i64().unwrap();
    let mut connection = home.greeted();
    // More than the buffers of a connection hold, and far more than 5,000 behind.
    let long = "x".repeat(4000);
    store(&mut connection, 1, 9_000, &long);
    let (mut last, mut messages) = (begun, 0);
    let reset = loop {
        let told = socket.text();
        match told["type"].as_str().unwrap() {
            "events" => {
                let seqs = seqs(&told["events"]);
                assert_eq!(seqs[0], last + 1, "no gap before the reset");
                assert!(seqs.len() <= 500);
                last = *seqs.last().unwrap();
                messages += 1;
            }
            "reset" => break told["seq"].as_i64().unwrap(),
            "ephemeral" => {}
            other => panic!("{other}"),
        }
    };
    assert!(reset > last + 3000, "from {last} to {reset}");
    assert!(
        messages < (last - begun + 1) / 2,
        "{messages} messages to {last}"
    );
    store(&mut connection, 20_000, 10, "after");
    let mut last = reset;
    let head = home.events().last().unwrap()["seq"].as_i64().unwrap();
    while last < head {
        let told = socket.text_of("events");
        let seqs = seqs(&told["events"]);
        assert_eq!(seqs[0], last + 1, "no gap after the reset");
        last = *seqs.last().unwrap();
    }

    for after in [0, head + 1000] {
        let path = format!("/api/v1/live?after={after}");
        let mut lost = Socket::open(&http, &token, &path);
        assert_eq!(lost.text()["type"], "hello");
        let reset = lost.text();
        assert_eq!(
            (&reset["type"], &reset["seq"]),
            (&json!("reset"), &json!(head))
        );
    }
}

#[test]
fn a_socket_is_for_pages_of_this_server_that_are_logged_in() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    let origin = http.origin();
    let cookie = ("cookie", login.cookie.as_str());
    let refused = |headers: &[(&str, &str)]| {
        let opened = Socket::try_open(&http, "/api/v1/live", headers);
        opened.err().map(|answer| answer.status)
    };
    assert_eq!(refused(&[]), Some(401));
    assert_eq!(refused(&[("origin", &origin)]), Some(401));
    assert_eq!(refused(&[cookie]), Some(403));
    assert_eq!(
        refused(&[cookie, ("origin", "http://evil.example")]),
        Some(403)
    );
    assert_eq!(refused(&[cookie, ("origin", &origin)]), None);
    let plain = http.get("/api/v1/live", &[cookie]);
    assert_eq!(plain.status, 426);
    let wrong = http.get("/api/v1/live?after=x", &[cookie]);
    assert_eq!(wrong.code(), "invalid_params");

    let mut page = Socket::open_as(&http, &login, "/api/v1/live");
    assert_eq!(page.text()["type"], "hello");
    let other = http.log_in(&home);
    let mut stays = Socket::open_as(&http, &other, "/api/v1/live");
    let id = home.json(&["token", "list"])["access"][0]["id"].clone();
    home.json(&["token", "revoke", id.as_str().unwrap()]);
    let closed = |socket: &mut Socket| loop {
        if let SocketMessage::Closed(code) = socket.next() {
            return code;
        }
    };
    assert_eq!(closed(&mut page), Some(4401), "logged out");
    home.json(&["daemon", "stop"]);
    assert_eq!(closed(&mut stays), Some(1001), "the daemon stops");
}
