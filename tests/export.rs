//! Metrics leave the daemon as OTLP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::Value;

use crate::harness::TestHome;

#[test]
fn metrics_are_sent_to_the_collector_while_running_and_at_the_end() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    let home = TestHome::with_config(&format!(
        "[otlp]\nendpoint = \"http://{address}\"\ninterval_secs = 1\n"
    ));
    home.start();
    let (path, document) = receive(&collector);
    assert_eq!(path, "/v1/metrics");
    let resource = &document["resourceMetrics"][0];
    assert_eq!(
        resource["resource"]["attributes"][0]["value"]["stringValue"],
        "missiond"
    );
    assert_eq!(
        metric(&document, "missiond_events_stored_total")["sum"]["isMonotonic"],
        true
    );

    home.json(&["timeline", "note", "counted"]);
    let stop = std::thread::spawn(move || {
        home.json(&["daemon", "stop"]);
        home
    });
    // The last word, sent while closing, has the last count.
    let stored = loop {
        let (_, document) = receive(&collector);
        let points = &metric(&document, "missiond_events_stored_total")["sum"]["dataPoints"];
        if points[0]["asDouble"].as_f64() >= Some(2.0) {
            break points[0]["asDouble"].as_f64().unwrap();
        }
    };
    assert!(stored >= 2.0);
    collector.set_nonblocking(true).unwrap();
    while !stop.is_finished() {
        // Answer whatever else is sent until the daemon is gone.
        if let Ok((stream, _)) = collector.accept() {
            stream.set_nonblocking(false).unwrap();
            answer(stream);
        }
    }
    stop.join().unwrap();
}

#[test]
fn a_collector_that_never_answers_does_not_hold_up_the_stop() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    let home = TestHome::with_config(&format!("[otlp]\nendpoint = \"http://{address}\"\n"));
    home.start();
    home.json(&["daemon", "stop"]);
    assert_eq!(
        home.kinds(),
        ["daemon_started", "daemon_stopped", "daemon_started"],
        "it closed in order"
    );
}

fn metric<'a>(document: &'a Value, name: &str) -> &'a Value {
    let metrics = document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        .as_array()
        .unwrap();
    metrics
        .iter()
        .find(|metric| metric["name"] == name)
        .unwrap()
}

fn receive(collector: &TcpListener) -> (String, Value) {
    let (stream, _) = collector.accept().unwrap();
    answer(stream)
}

fn answer(stream: std::net::TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    reader
        .get_mut()
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        .unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    (path, serde_json::from_slice(&body).unwrap())
}
