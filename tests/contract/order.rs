//! What must come before what in a journal, whichever source told of it. Sources
//! keep their own pace, so most of their order is chance; this is the part that
//! is not: an effect is never on record before its cause.

use serde_json::Value;

/// A record with the fact or signal it carries, if it carries one.
struct NumberedRecord<'r> {
    place: u64,
    record: &'r Value,
}

impl NumberedRecord<'_> {
    fn kind(&self) -> &str {
        self.record["type"].as_str().unwrap()
    }

    fn data(&self) -> &Value {
        &self.record["data"]
    }

    fn source(&self) -> &str {
        self.data()["source"].as_str().unwrap_or_default()
    }

    fn fact(&self, kind: &str) -> Option<&Value> {
        let fact = &self.data()["observed"]["fact"];
        (fact["type"] == kind).then(|| &fact["payload"])
    }

    fn signal(&self) -> Option<&str> {
        self.data()["observed"]["signal"]["type"].as_str()
    }
}

/// Panics with both records when an effect comes before its cause.
pub(crate) fn assert_causes_come_first(records: &[Value]) {
    let numbered: Vec<_> = records
        .iter()
        .map(|record| NumberedRecord {
            place: record["seq"].as_u64().unwrap(),
            record,
        })
        .collect();
    assert_eq!(numbered[0].kind(), "journal.header");
    nothing_is_seen_outside_the_life_of_the_program(&numbered);
    messages_are_accepted_typed_and_then_heard(&numbered);
    signals_are_on_record_before_the_agent_knows(&numbered);
}

fn nothing_is_seen_outside_the_life_of_the_program(records: &[NumberedRecord<'_>]) {
    let process = |event: &str| {
        records
            .iter()
            .find(|one| one.fact("process").is_some_and(|it| it["event"] == event))
    };
    let (started, exited) = (process("started").unwrap(), process("exited"));
    for one in records
        .iter()
        .filter(|one| one.kind() == "observation.recorded")
    {
        if !matches!(one.source(), "daemon" | "process" | "terminal") {
            before(started, one);
        }
        if let Some(exited) = exited
            && one.place != exited.place
        {
            before(one, exited);
        }
    }
}

fn messages_are_accepted_typed_and_then_heard(records: &[NumberedRecord<'_>]) {
    let accepted = records
        .iter()
        .filter(|one| one.kind() == "message.accepted");
    for accepted in accepted {
        let id = &accepted.data()["id"];
        let delivery = |status: &str| {
            records.iter().find(|one| {
                one.kind() == "message.delivery"
                    && one.data()["message"] == *id
                    && one.data()["status"] == status
            })
        };
        let typed = delivery("delivering");
        for one in [typed, delivery("delivered"), delivery("failed")] {
            one.inspect(|one| before(accepted, one));
        }
        let text = &accepted.data()["content"]["payload"]["text"];
        // Which of several equal ones was heard cannot be told.
        if accepted_often(records, text) {
            continue;
        }
        let heard = records.iter().find(|one| {
            let said = one.fact("said");
            said.is_some_and(|said| said["by"] == "operator" && said["text"] == *text)
        });
        if let (Some(typed), Some(heard)) = (typed, heard) {
            before(typed, heard);
        }
    }
}

fn accepted_often(records: &[NumberedRecord<'_>], text: &Value) -> bool {
    let same = |one: &&NumberedRecord<'_>| one.data()["content"]["payload"]["text"] == *text;
    let accepted = records
        .iter()
        .filter(|one| one.kind() == "message.accepted");
    accepted.filter(same).count() > 1
}

/// The answer to a call of one of our tools is given after the commit.
fn signals_are_on_record_before_the_agent_knows(records: &[NumberedRecord<'_>]) {
    let mut searched = 0;
    for signal in records.iter().filter(|one| one.source() == "mcp_tool") {
        let Some(name) = signal.signal() else {
            continue;
        };
        let ended = |one: &&NumberedRecord<'_>| {
            one.fact("tool_use").is_some_and(|tool| {
                tool["edge"] == "ended" && tool["tool"].as_str().unwrap().ends_with(name)
            })
        };
        for source in ["hook", "transcript", "protocol"] {
            let known = records
                .iter()
                .filter(ended)
                .find(|one| one.source() == source);
            known.inspect(|known| before(signal, known));
            searched += usize::from(known.is_some());
        }
    }
    // A line that an agent writes is no tool.
    let by_tool = |one: &&NumberedRecord<'_>| one.source() == "mcp_tool" && one.signal().is_some();
    let signals = records.iter().filter(by_tool).count();
    assert!(
        searched > 0 || signals == 0,
        "no source told that a signal's tool had ended"
    );
}

fn before(cause: &NumberedRecord<'_>, effect: &NumberedRecord<'_>) {
    assert!(
        cause.place < effect.place,
        "{:#}\nis on record before what it follows from:\n{:#}",
        effect.record,
        cause.record
    );
}
