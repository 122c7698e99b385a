//! A journal as strands, one for each source: what each of them said, in its
//! order, one line a record. How strands lie beside each other is chance (a hook
//! and the transcript tell of the same thing at their own pace), so it is not
//! compared, but for what cannot be chance (`order.rs`); that every group is whole
//! is.
//!
//! Readings of the screen differ in number from run to run: they are in a strand
//! of their own, `terminal`, without repetitions. A message that waits for the
//! screen is `held` as often as the screen changes: those records are left out.
//! Hooks that tell of a dialog may come seconds after it, or not at all when it
//! is answered first: they are in a strand of their own too, `dialogs`.
//!
//! What only a protocol tells (limits, cost, plan, mode and model) is in a strand of its
//! own, `standing`: a terminal has no words for it.

use std::collections::BTreeMap;

use serde_json::Value;

/// By source, what it said line by line.
pub(crate) type Strands = BTreeMap<&'static str, Vec<String>>;

/// Whether these lines are in the strand in this order, whatever is between.
pub(crate) fn has_in_order(strand: &[String], lines: &[&str]) -> bool {
    let mut rest = strand.iter();
    lines.iter().all(|line| rest.any(|found| found == line))
}

/// Every record of a journal, sorted by who brought it.
pub(crate) fn strands(records: &[Value]) -> Strands {
    let mut strands = Strands::new();
    let mut rest = records;
    while let [first, ..] = rest {
        let (place, size) = (&first["group"][0], first["group"][1].as_u64().unwrap());
        assert_eq!(*place, 0, "a group begins in its middle: {first}");
        let (group, after) = rest.split_at(usize::try_from(size).unwrap());
        rest = after;
        let Some((strand, line)) = summarize(group) else {
            continue;
        };
        let lines = strands.entry(strand).or_default();
        if strand != "terminal" || lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    strands
}

fn summarize(group: &[Value]) -> Option<(&'static str, String)> {
    let (kind, data) = (group[0]["type"].as_str().unwrap(), &group[0]["data"]);
    if kind == "observation.recorded" {
        return Some(observed(data, &group[1..]));
    }
    let line = match kind {
        "journal.header" => {
            let word = |name: &str| data[name].as_str().unwrap();
            return Some((
                "header",
                format!("{} by {}", word("engine"), word("transport")),
            ));
        }
        "message.accepted" => {
            let content = &data["content"];
            let text = content["payload"]["text"].as_str().unwrap_or_default();
            let also: Vec<_> = group[1..].iter().map(effect).collect();
            let line = format!("{} {text:?}", content["type"].as_str().unwrap());
            return Some(("messages", [vec![line], also].concat().join(": ")));
        }
        "message.delivery" if data["status"] == "held" => return None,
        "message.delivery" => {
            let reason = data["reason"].as_str().unwrap_or_default();
            let line = format!("{} {reason}", data["status"].as_str().unwrap());
            return Some(("messages", line.trim_end().to_owned()));
        }
        "owner-effect.recorded" => effect(&group[0]),
        other => panic!("no group begins with {other}"),
    };
    assert_eq!(group.len(), 1, "{group:#?}");
    Some(("effects", line))
}

/// What was observed, and for what is not a matter of who came first also what
/// was decided and what followed.
fn observed(data: &Value, rest: &[Value]) -> (&'static str, String) {
    let source = match data["source"].as_str().unwrap() {
        "mcp_tool" => "mcp_tool",
        "marker" => "marker",
        "hook" => "hook",
        "terminal" => "terminal",
        "protocol" => "protocol",
        "transcript" => "transcript",
        "process" => "process",
        "daemon" => "daemon",
        other => panic!("an observation from {other}"),
    };
    let decision = &rest[0];
    assert_eq!(decision["type"], "decision.recorded", "{decision}");
    assert_eq!(decision["data"]["observation"], data["id"]);
    let verdict = decision["data"]["verdict"].as_str().unwrap();
    let what = &data["observed"];
    if let Some(signal) = what.get("signal") {
        let line = format!("{} {}", signal["type"].as_str().unwrap(), signal["payload"]);
        let effects: Vec<_> = rest[1..].iter().map(effect).collect();
        return (source, format!("{line}: {verdict}, {}", effects.join(", ")));
    }
    let fact = &what["fact"];
    let line = fact_line(fact["type"].as_str().unwrap(), &fact["payload"]);
    let source = match (source, fact["type"].as_str()) {
        ("hook", Some("dialog")) => "dialogs",
        // What a screen would be read as.
        ("protocol", Some("reading")) => "terminal",
        ("protocol", Some("rate_limits" | "cost" | "plan" | "setting")) => "standing",
        (source, _) => source,
    };
    match verdict {
        "changed_state" | "recorded_only" => (source, line),
        verdict => (source, format!("{line}: {verdict}")),
    }
}

fn fact_line(kind: &str, payload: &Value) -> String {
    let word = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    match kind {
        "reading" => word("state"),
        "turn" => format!("turn {}", word("edge")),
        "tool_use" => format!("{} {} {}", word("tool"), word("edge"), word("outcome"))
            .trim_end()
            .to_owned(),
        "dialog" => format!("dialog {}", word("edge")),
        "said" => format!("{}: {}", word("by"), word("text").replace("\n\n", " / ")),
        "usage" => format!(
            "usage {} in, {} out",
            payload["input_tokens"], payload["output_tokens"]
        ),
        "cost" => format!("cost {} {}", word("amount"), word("currency")),
        "rate_limits" => {
            let windows = payload["windows"].as_array().map_or(0, Vec::len);
            let line = format!("limits of {windows} windows {}", word("reached"));
            line.trim_end().to_owned()
        }
        "plan" => {
            let steps = payload["steps"].as_array().into_iter().flatten();
            let steps = steps.map(|step| step["text"].as_str().unwrap().to_owned());
            format!("plan {}", steps.collect::<Vec<_>>().join(" / "))
        }
        "setting" => format!("{} {}", word("of"), word("value")),
        "session" => "session".to_owned(),
        "thinking" => format!("thinking {}", word("edge")),
        "process" if payload["event"] == "started" => "started".to_owned(),
        "process" if payload["code"].is_null() => {
            format!("{} by signal {}", word("event"), payload["signal"])
        }
        "process" => format!("{} {}", word("event"), payload["code"]),
        "control" => word("did"),
        "diagnostic" => format!("{} {}", word("code"), word("detail")),
        other => panic!("a fact {other}"),
    }
}

fn effect(record: &Value) -> String {
    let data = &record["data"];
    match record["type"].as_str().unwrap() {
        "state.changed" => {
            let mut words = Vec::new();
            for name in ["lifecycle", "attention"] {
                words.extend(data[name].as_str().map(|word| format!("{name} {word}")));
            }
            for request in data["requests"].as_array().into_iter().flatten() {
                let (change, _) = request.as_object().unwrap().iter().next().unwrap();
                words.push(format!("request {change}"));
            }
            words.join(", ")
        }
        "activity.updated" => match &data["progress"] {
            Value::Null => "activity".to_owned(),
            progress => format!("progress {}", progress["summary"]),
        },
        "owner-effect.recorded" => {
            let word = |name: &str| data[name].as_str().unwrap_or_default();
            format!("{} {}", word("kind"), data["status"])
        }
        other => panic!("{other} is no effect"),
    }
}
