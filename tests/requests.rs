//! Requests on one connection: several at once, cancelled, too many, too slow.

use serde_json::{Value, json};

use crate::harness::{TestHome, error_code};

fn wait_for_nothing(milliseconds: u64) -> Value {
    json!({"timeout_ms": milliseconds, "kinds": ["task_created"]})
}

#[test]
fn requests_on_one_connection_do_not_wait_for_each_other() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    connection.request(
        1,
        "timeline_wait",
        &json!({"timeout_ms": 50000, "kinds": ["note_added"]}),
    );
    assert_eq!(
        connection.ask(2, "health", &json!({}))["result"]["healthy"],
        true
    );
    let note = json!({"text": "now"});
    connection.request(3, "timeline_note", &note);
    let mut ids = [connection.receive(), connection.receive()].map(|answer| answer["id"].clone());
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(1), json!(3)]);
}

#[test]
fn a_cancelled_request_is_answered_as_cancelled() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    connection.request(1, "timeline_wait", &wait_for_nothing(50000));
    connection.send(&json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": 1}}));
    let answer = connection.receive();
    assert_eq!(
        (answer["id"].clone(), error_code(&answer)),
        (json!(1), "cancelled")
    );
    // The id is free again, and cancelling what is not there does nothing.
    connection.send(&json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": 77}}));
    assert_eq!(
        connection.ask(1, "health", &json!({}))["result"]["healthy"],
        true
    );
}

#[test]
fn an_id_in_use_is_refused() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    connection.request(1, "timeline_wait", &wait_for_nothing(50000));
    let answer = connection.ask(1, "health", &json!({}));
    assert_eq!(error_code(&answer), "invalid_request");
}

#[test]
fn a_request_over_its_time_is_answered_with_a_timeout() {
    let home = TestHome::with_config("[ipc]\nrequest_timeout_secs = 1\n");
    home.start();
    let answer = home
        .greeted()
        .ask(1, "timeline_wait", &wait_for_nothing(50000));
    assert_eq!(error_code(&answer), "timeout");
    assert_eq!(
        answer["error"]["message"],
        "`timeline_wait` took longer than 1 s"
    );
}

#[test]
fn more_requests_than_allowed_at_once_are_told_that_it_is_busy() {
    let home = TestHome::with_config("[ipc]\nmax_in_flight = 2\n");
    home.start();
    let mut connection = home.greeted();
    connection.request(1, "timeline_wait", &wait_for_nothing(50000));
    connection.request(2, "timeline_wait", &wait_for_nothing(50000));
    let answer = connection.ask(3, "health", &json!({}));
    assert_eq!(error_code(&answer), "busy");
    connection.send(&json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": 1}}));
    assert_eq!(connection.receive()["id"], 1);
    assert_eq!(
        connection.ask(3, "health", &json!({}))["result"]["healthy"],
        true
    );
}

#[test]
fn more_requests_per_second_than_allowed_are_told_when_to_come_back() {
    let home = TestHome::with_config("[ipc]\nrequests_per_second = 5\n");
    home.start();
    let mut connection = home.greeted();
    let answers: Vec<_> = (1..=50)
        .map(|id| connection.ask(id, "health", &json!({})))
        .collect();
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.get("error").is_some())
        .collect();
    assert!(refused.len() >= 20, "{} of 50 were refused", refused.len());
    for answer in refused {
        assert_eq!(error_code(answer), "rate_limited");
        assert!(answer["error"]["data"]["retry_after_ms"].as_u64().unwrap() >= 1);
    }
    // The limit is the connection's, not the daemon's.
    assert_eq!(
        home.greeted().ask(1, "health", &json!({}))["result"]["healthy"],
        true
    );
}

#[test]
fn what_a_connection_asked_for_ends_with_it() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    connection.request(1, "timeline_wait", &wait_for_nothing(50000));
    assert_eq!(
        connection.ask(2, "health", &json!({}))["result"]["healthy"],
        true
    );
    drop(connection);
    crate::harness::wait_for("the request to be dropped", || {
        // The question itself is the one under way.
        home.json(&["daemon", "stats"])["requests_in_flight"] == 1
    });
}
