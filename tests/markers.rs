//! Signals by markers: the same as by tools but for where they came from, and
//! found in what a program writes, not only in what its screen still shows.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::executions::{Stage, journal, of_kind};
use crate::harness::wait_for;

/// A program without a manifest: learns its key from what is typed to it, and
/// then writes everything at once.
const WRITER: &str = r#"#!/bin/sh
stty -echo
printf '\033[?2004h> '
while IFS= read -r line; do
    case $line in
    *'"execution": "'*) id=${line#*'"execution": "'} id=${id%%'"'*} ;;
    *'"key": "'*) key=${line#*'"key": "'} key=${key%%'"'*} ;;
    *Go.*) break ;;
    esac
done
marker() {
    printf '@mission::{"v":1,"execution":"%s","key":"%s","event":"%s","type":"%s","payload":{"summary":"%s"}}' \
        "$id" "$key" "$1" "$2" "$3"
}
printf '%s\n%s\n%s\n%s\n' "$(marker e1 progress 'scrolled past')" "$(cat quoted.txt)" \
    "$(marker e1 progress 'said twice')" "$(seq 1 3000)"
printf '> '
read -r line
"#;

#[test]
fn a_marker_that_scrolled_past_counts_and_one_from_a_file_does_not() {
    let stage = Stage::new();
    let program = stage.file("writer");
    std::fs::write(&program, WRITER).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    let params = json!({
        "engine": "writer", "cwd": program.parent().unwrap(), "name": "agent",
        "args": ["./writer"],
    });
    let run = stage
        .home
        .json(&["call", "execution_start", &params.to_string()]);
    // A file that knows even the execution it will be read in, but not its key.
    let own = run["execution"].as_str().unwrap();
    let marker = |execution: &str, event: &str| {
        let payload = r#"{"summary":"smuggled"}"#;
        format!(
            r#"@mission::{{"v":1,"execution":"{execution}","key":"{}","event":"{event}","type":"completed_claim","payload":{payload}}}"#,
            "0".repeat(32)
        )
    };
    let other = "exec_01jq8v5f7k3m9n2p4r6t8w0y1z";
    let quoted = format!("{}\n{}\n", marker(own, "q1"), marker(other, "q2"));
    std::fs::write(stage.file("quoted.txt"), quoted).unwrap();
    stage.home.json(&["execution", "message", "agent", "Go."]);

    let by_marker = |records: &[Value]| -> Vec<Value> {
        of_kind(records, "observation.recorded")
            .into_iter()
            .filter(|one| one["source"] == "marker")
            .cloned()
            .collect()
    };
    let refusals = |records: &[Value]| -> Vec<Value> {
        of_kind(records, "decision.recorded")
            .into_iter()
            .filter(|one| one["verdict"] == "refused")
            .map(|one| one["reason"].clone())
            .collect()
    };
    // The decision is the later record of the two.
    let details = stage.wait_for_records(&run, "all that was written", |records| {
        by_marker(records).len() >= 3 && refusals(records).len() >= 2
    });
    let records = journal(&details);
    let observed = by_marker(&records);
    assert_eq!(
        observed[0]["observed"]["signal"]["payload"]["summary"],
        "scrolled past"
    );
    let codes: Vec<_> = observed[1..]
        .iter()
        .map(|one| one["observed"]["fact"]["payload"]["code"].clone())
        .collect();
    assert_eq!(codes, ["unauthorised", "wrong_execution"]);
    assert_eq!(details["progress"], "scrolled past");
    assert_eq!(details["lifecycle"], "running");
    assert_eq!(refusals(&records), ["unauthorised", "wrong_execution"]);
    assert_eq!(
        of_kind(&records, "owner-effect.recorded"),
        [&Value::Null; 0]
    );

    // Read again by the next daemon, from the recording: nothing counts twice.
    stage.home.kill();
    stage.home.start();
    stage
        .home
        .json(&["execution", "message", "agent", "the end"]);
    let details = stage.wait(&run, "its end", |details| !details["ended_at"].is_null());
    assert_eq!(by_marker(&journal(&details)).len(), 3);
}

const REPORTS: &str = r"
  - steps:
      - signal: {type: progress, payload: {summary: Half of it, percent: 50}}
      - signal: {type: needs_input, payload: {question: Which port?, choices: [{label: web, value: '8080'}]}}
      - signal: {type: blocked, payload: {reason: No key}}
      - signal: {type: completed_claim, payload: {summary: All of it}}
      - signal: {type: failed_claim, payload: {reason: Not all of it}}
      - signal: {type: message, payload: {text: Hello}}
      - think: 20
";

#[test]
fn a_signal_is_the_same_by_marker_and_by_tool_but_for_where_it_came_from() {
    let told = |signals: &str| {
        let stage = Stage::new();
        let run = stage.start(REPORTS, &["--signals", signals], "go");
        let mut records = Vec::new();
        wait_for("all six", || {
            records = signal_records(&journal(&stage.show(&run)));
            let settled = |record: &&Value| record["data"]["status"] == "applied";
            records.iter().filter(settled).count() == 4
                && records.iter().any(|one| one.to_string().contains("Hello"))
        });
        records
    };
    let (by_marker, by_tool) = (told("markers"), told("mcp"));
    let provenance = |records: &[Value]| -> Vec<(Value, Value)> {
        let observed = records
            .iter()
            .filter(|one| !one["data"]["source"].is_null());
        observed
            .map(|one| {
                let data = &one["data"];
                (data["source"].clone(), data["confidence"].clone())
            })
            .collect()
    };
    assert_eq!(
        provenance(&by_marker),
        vec![(json!("marker"), json!("medium")); 6]
    );
    assert_eq!(
        provenance(&by_tool),
        vec![(json!("mcp_tool"), json!("high")); 6]
    );
    let without = |records: Vec<Value>| -> Vec<Value> {
        let stripped = records.into_iter().map(|mut record| {
            let data = record["data"].as_object_mut().unwrap();
            data.remove("source");
            data.remove("confidence");
            record
        });
        stripped.collect()
    };
    assert_eq!(without(by_marker), without(by_tool));
}

/// The records of signals and what followed from them, without what no two runs
/// have in common: places, times, hashes, and ids but for their kind.
fn signal_records(records: &[Value]) -> Vec<Value> {
    let mut signals = Vec::new();
    let mut rest = records;
    while let [first, ..] = rest {
        let size = usize::try_from(first["group"][1].as_u64().unwrap()).unwrap();
        let (group, after) = rest.split_at(size);
        rest = after;
        let is_signal = first["data"]["observed"].get("signal").is_some();
        let is_settlement = first["type"] == "owner-effect.recorded";
        if is_signal || is_settlement {
            signals.extend(group.iter().map(|record| {
                json!({"type": record["type"], "group": record["group"],
                       "data": plain(&record["data"])})
            }));
        }
    }
    signals
}

fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.split_once('_') {
            Some((kind @ ("obs" | "exec"), _)) => json!(kind),
            _ => value.clone(),
        },
        Value::Array(values) => values.iter().map(plain).collect(),
        Value::Object(object) => {
            let kept = object.iter().filter(|(name, value)| {
                !(*name == "observed_at" || (*name == "key" && value.is_string()))
            });
            kept.map(|(name, value)| (name.clone(), plain(value)))
                .collect()
        }
        other => other.clone(),
    }
}
