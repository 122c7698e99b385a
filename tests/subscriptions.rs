//! Streams of events: complete, in order, and no burden on anyone else.

use serde_json::{Value, json};

use crate::harness::{RawConnection, TestHome, error_code};

fn next_note(connection: &mut RawConnection) -> Value {
    loop {
        let message = connection.receive();
        if message["method"] == "event"
            && message["params"]["event"]["event"]["type"] == "note_added"
        {
            return message["params"]["event"].clone();
        }
    }
}

fn note(home: &TestHome, text: &str) {
    home.greeted()
        .ask(1, "timeline_note", &json!({"text": text}));
}

#[test]
fn a_subscription_tells_what_was_stored_and_then_what_happens_without_a_hole() {
    let home = TestHome::started();
    for number in 0..700 {
        note(&home, &number.to_string());
    }
    let mut connection = home.greeted();
    let begun = connection.ask(
        1,
        "subscribe",
        &json!({"after": 0, "kinds": ["note_added"]}),
    );
    assert!(begun["result"]["head"].as_i64().unwrap() >= 700);
    std::thread::scope(|scope| {
        scope.spawn(|| (700..900).for_each(|number| note(&home, &number.to_string())));
        let mut last = 0;
        for number in 0..900 {
            let event = next_note(&mut connection);
            assert_eq!(event["event"]["text"], number.to_string());
            let seq = event["seq"].as_i64().unwrap();
            assert!(seq > last, "{seq} after {last}");
            last = seq;
        }
    });
}

#[test]
fn a_subscription_goes_on_where_the_last_one_ended_even_after_a_crash() {
    let home = TestHome::started();
    note(&home, "one");
    let mut first = home.greeted();
    first.request(1, "subscribe", &json!({"after": 0}));
    let seen = next_note(&mut first)["seq"].clone();
    note(&home, "two");
    home.kill();
    home.start();
    note(&home, "three");
    let mut second = home.greeted();
    second.request(1, "subscribe", &json!({"after": seen}));
    let texts = [next_note(&mut second), next_note(&mut second)]
        .map(|event| event["event"]["text"].clone());
    assert_eq!(texts, ["two", "three"]);
}

#[test]
fn ephemeral_events_are_told_and_have_no_place() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    connection.ask(1, "subscribe", &json!({"kinds": ["operation_finished"]}));
    home.json(&["daemon", "stats"]);
    let event = loop {
        let message = connection.receive();
        if message["params"]["event"]["event"]["operation"] == "daemon_stats" {
            break message["params"]["event"].clone();
        }
    };
    assert_eq!(event["seq"], Value::Null);
    assert!(
        home.events()
            .iter()
            .all(|event| event["event"]["type"] != "operation_finished")
    );
}

#[test]
fn a_subscriber_that_does_not_read_costs_the_others_nothing() {
    let home = TestHome::started();
    let mut deaf = home.greeted();
    deaf.ask(1, "subscribe", &json!({"after": 0}));
    let before = home.json(&["daemon", "stats"])["memory_usage_mb"]
        .as_f64()
        .unwrap();
    let text = "x".repeat(4000);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let mut writer = home.greeted();
                for number in 0..300 {
                    writer.ask(number, "timeline_note", &json!({"text": text}));
                }
            });
        }
    });
    let after = home.json(&["daemon", "stats"])["memory_usage_mb"]
        .as_f64()
        .unwrap();
    // 24 MB of events went past it; what waits for it is bounded.
    assert!(after - before < 40.0, "{before} MB grew to {after} MB");
    // When it reads again, nothing is missing.
    let mut seen = 0;
    while seen < 6000 {
        assert_eq!(next_note(&mut deaf)["event"]["text"], text);
        seen += 1;
    }
}

#[test]
fn an_ended_subscription_is_silent_and_a_wrong_one_is_refused() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let unknown = connection.ask(1, "subscribe", &json!({"kinds": ["no_such_kind"]}));
    assert_eq!(error_code(&unknown), "invalid_params");
    let begun = connection.ask(2, "subscribe", &json!({"kinds": ["note_added"]}));
    let number = begun["result"]["subscription"].clone();
    connection.ask(3, "unsubscribe", &json!({"subscription": number}));
    note(&home, "unheard");
    assert_eq!(
        connection.ask(4, "health", &json!({}))["result"]["healthy"],
        true
    );
    let gone = connection.ask(5, "unsubscribe", &json!({"subscription": number}));
    assert_eq!(error_code(&gone), "not_found");
}
