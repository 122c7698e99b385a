//! Lines of an agent, in every dialect: whatever they hold, they are read without a
//! panic, in bounded memory, with the same events however they are cut, and a recording
//! of them comes back to the same state.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_control::{
    AcpVersion, Client, ControlRequest, Dialect, Direction, OpenSession, Options, PromptPart,
    RecordedLine, SessionChoice, replay,
};
use missiond_core::Timestamp;

const NOW: Timestamp = Timestamp::from_micros(1);

fuzz_target!(|data: &[u8]| {
    let Some((first, lines)) = data.split_first() else {
        return;
    };
    let dialect = match first % 3 {
        0 => Dialect::Acp {
            newest: AcpVersion::V1,
        },
        1 => Dialect::Acp {
            newest: AcpVersion::V2,
        },
        _ => Dialect::CodexAppServer,
    };
    let mut options = Options::new(dialect);
    options.limits.line = 4096;
    options.limits.depth = 16;
    options.limits.tool_calls = 4;
    options.limits.events_per_line = 16;
    let whole = converse(&options, &[lines]);
    for cut in [1, lines.len() / 2] {
        let (head, rest) = lines.split_at(cut.min(lines.len()));
        assert_eq!(converse(&options, &[head, rest]).1, whole.1);
    }
    let (client, events, recording) = whole;
    let replayed = replay(options, &recording);
    assert_eq!(replayed.client.state(), client.state());
    assert!(
        replayed
            .events
            .into_iter()
            .map(|(_, event)| event)
            .eq(events)
    );
});

type Conversation = (
    Client,
    Vec<missiond_control::ControlEvent>,
    Vec<RecordedLine>,
);

/// A client that greets, opens a session and prompts, between what the agent sends.
/// The bytes are taken a line at a time, so that each has its place in the recording.
fn converse(options: &Options, pieces: &[&[u8]]) -> Conversation {
    let mut client = Client::new(options.clone());
    let mut events = Vec::new();
    let mut recording = Vec::new();
    let mut requests = [
        ControlRequest::Start,
        ControlRequest::Open(OpenSession {
            cwd: "/work".into(),
            mcp_servers: Vec::new(),
            what: SessionChoice::New,
            meta: None,
        }),
        ControlRequest::Prompt(vec![PromptPart::Text("hi".into())]),
        ControlRequest::Cancel,
    ]
    .into_iter();
    let mut ask = |client: &mut Client, recording: &mut Vec<RecordedLine>, events: &mut Vec<_>| {
        if let Some(Ok(output)) = requests.next().map(|request| client.ask(&request, NOW)) {
            recording.extend(output.lines.iter().map(|line| to_agent(line)));
            events.extend(output.events);
        }
    };
    ask(&mut client, &mut recording, &mut events);
    let mut line = Vec::new();
    for piece in pieces {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let output = client.receive(part, NOW);
            line.extend_from_slice(part);
            if line.pop_if(|byte| *byte == b'\n').is_some() {
                recording.push(RecordedLine {
                    direction: Direction::FromAgent,
                    at: NOW,
                    line: std::mem::take(&mut line),
                });
                recording.extend(output.lines.iter().map(|line| to_agent(line)));
                events.extend(output.events);
                ask(&mut client, &mut recording, &mut events);
            }
        }
    }
    (client, events, recording)
}

fn to_agent(line: &str) -> RecordedLine {
    RecordedLine {
        direction: Direction::ToAgent,
        at: NOW,
        line: line.into(),
    }
}
