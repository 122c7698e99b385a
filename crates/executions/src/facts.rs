//! From what each source says to what can be recorded: hooks, readings,
//! transcripts and tool calls, each with the key that makes it count once.

use missiond_adapters::{HookEvent, HookReport, TranscriptFact};
use missiond_core::{Controller, ObservationId, PtyState, Seq};
use missiond_journal::catalogue::{
    Control, Diagnostic, DiagnosticCode, Dialog, Edge, Fact, Malformed, Process, Reading, Session,
    Speaker, Speech, ToolUse, Turn, Usage, limits,
};
use missiond_journal::{Confidence, Digest, EventId, ObservationKey, Observed, Source, Text};

use super::run::ObservationDraft;

/// Readings of at least this confidence may change state.
const BELIEVED: f32 = 0.5;
const DOUBTED: f32 = 0.25;

/// The key of a signal. One without a name of its own is never the same as
/// another.
pub(super) fn signal_key(event: Option<&EventId>) -> ObservationKey {
    match event {
        Some(event) => ObservationKey::of_signal(event),
        None => key(&format!("call:{}", ObservationId::generate())),
    }
}

/// A tool call that was none: kept, so that somebody sees it.
pub(super) fn malformed(tool: &str, arguments: &str, why: &Malformed) -> ObservationDraft {
    let code = match why {
        Malformed::UnknownType(_) => DiagnosticCode::Unsupported,
        Malformed::Oversized { .. } => DiagnosticCode::Oversized,
        Malformed::Payload { .. } | Malformed::Json { .. } => DiagnosticCode::Malformed,
    };
    let digest = Digest::of(format!("{tool}\n{arguments}").as_bytes()).to_string();
    ObservationDraft {
        key: key(&format!("call:{}", &digest[..32])),
        source: Source::McpTool,
        confidence: Confidence::Diagnostic,
        observed: fact(Diagnostic {
            code,
            detail: some_text(&why.to_string()),
        }),
    }
}

/// What a hook says, most important first.
pub(super) fn of_hook(sequence: u64, report: &HookReport) -> Vec<ObservationDraft> {
    let seen = |key: ObservationKey, observed| ObservationDraft {
        key,
        source: Source::Hook,
        confidence: Confidence::High,
        observed,
    };
    let place = || key(&format!("hook:{sequence}"));
    let tool = |edge, tool: &str, digest: Option<&String>| {
        fact(ToolUse {
            edge,
            tool: some_text(tool),
            target: None,
            input_digest: digest.and_then(|digest| Text::new(digest).ok()),
            outcome: None,
        })
    };
    let mut all = Vec::new();
    match &report.event {
        HookEvent::Prompted => all.push(seen(place(), fact(Turn { edge: Edge::Began }))),
        HookEvent::TurnEnded => all.push(seen(place(), fact(Turn { edge: Edge::Ended }))),
        HookEvent::ToolStarting {
            tool: name, digest, ..
        } => {
            all.push(seen(place(), tool(Edge::Began, name, digest.as_ref())));
        }
        HookEvent::ToolEnded { tool: name, .. } => {
            all.push(seen(place(), tool(Edge::Ended, name, None)));
        }
        HookEvent::Waiting { message } => all.push(seen(
            place(),
            fact(Dialog {
                edge: Edge::Began,
                question: Text::excerpt(message),
                input_digest: None,
            }),
        )),
        HookEvent::ConversationStarted
        | HookEvent::SubagentEnded
        | HookEvent::ConversationEnded { .. } => {}
    }
    if let Some(conversation) = &report.conversation {
        let session = session(conversation, report.transcript.as_deref());
        all.push(seen(session_key(conversation), fact(session)));
    }
    all
}

/// The conversation as this daemon knows it.
pub(super) fn of_conversation(conversation: &str, transcript: Option<&str>) -> ObservationDraft {
    ObservationDraft {
        key: session_key(conversation),
        source: Source::Daemon,
        confidence: Confidence::High,
        observed: fact(session(conversation, transcript)),
    }
}

/// What a screen was read as. The event's place in the timeline names it, so a
/// timeline that is read again after a crash adds nothing.
pub(super) fn of_reading(
    seq: Seq,
    state: PtyState,
    confidence: f32,
    reason: &str,
    controller: Controller,
) -> ObservationDraft {
    let source = match controller {
        Controller::Structured => Source::Protocol,
        Controller::Terminal => Source::Terminal,
    };
    ObservationDraft {
        key: key(&format!("reading:{seq}")),
        source,
        confidence: if source == Source::Protocol {
            Confidence::Authoritative
        } else if confidence >= BELIEVED {
            Confidence::Medium
        } else if confidence >= DOUBTED {
            Confidence::Low
        } else {
            Confidence::Diagnostic
        },
        observed: fact(Reading {
            state,
            evidence: Text::excerpt(reason),
        }),
    }
}

/// Why a program could not be started.
pub(super) fn of_failure(why: &str) -> ObservationDraft {
    ObservationDraft {
        key: key("start:failed"),
        source: Source::Daemon,
        confidence: Confidence::Authoritative,
        observed: fact(Diagnostic {
            code: DiagnosticCode::Program,
            detail: some_text(why),
        }),
    }
}

/// What stood on the screen of a program that failed.
pub(super) fn of_last_words(words: &str) -> ObservationDraft {
    ObservationDraft {
        key: key("process:last_words"),
        ..of_failure(words)
    }
}

/// What this daemon did to the run as a whole.
pub(super) fn of_cancel(reason: &str) -> ObservationDraft {
    ObservationDraft {
        key: key("control:cancelled"),
        source: Source::Daemon,
        confidence: Confidence::Authoritative,
        observed: fact(Control::Cancelled {
            reason: some_text(reason),
        }),
    }
}

/// The work of the run is over, whatever its program does from now on.
pub(super) fn of_finish(reason: &str) -> ObservationDraft {
    ObservationDraft {
        key: key("control:finished"),
        source: Source::Daemon,
        confidence: Confidence::Authoritative,
        observed: fact(Control::Finished {
            reason: some_text(reason),
        }),
    }
}

/// The operating system's word. A run has one beginning and one end.
pub(super) fn of_process(process: Process) -> ObservationDraft {
    let name = match process {
        Process::Started { .. } => "process:started",
        Process::Exited { .. } | Process::Lost { .. } => "process:ended",
    };
    ObservationDraft {
        key: key(name),
        source: Source::Process,
        confidence: Confidence::Authoritative,
        observed: fact(process),
    }
}

/// A line of a transcript, by where it stands and what it is: a file that was
/// replaced has other lines at the same places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub conversation: &'a str,
    pub position: &'a str,
    pub text: &'a str,
}

/// One fact of a line. `tool` is what a call that ends had begun as.
pub(super) fn of_transcript(
    line: Line<'_>,
    index: usize,
    said: &TranscriptFact,
    tool: Option<&str>,
) -> Option<ObservationDraft> {
    let digest = Digest::of(line.text.as_bytes()).to_string();
    let place = format!(
        "transcript:{}:{}:{index}:{}",
        line.conversation,
        line.position,
        &digest[..8]
    );
    let (place, observed) = match said {
        TranscriptFact::Used { request, usage } => (
            format!("usage:{request}"),
            fact(Usage {
                model: usage.model.as_deref().and_then(Text::excerpt),
                input_tokens: usage.input,
                output_tokens: usage.output,
                cache_read_tokens: usage.cache_read,
                cache_write_tokens: usage.cache_write,
            }),
        ),
        TranscriptFact::Prompted { text } => (place, speech(Speaker::Operator, text)?),
        TranscriptFact::Said { text } => (place, speech(Speaker::Agent, text)?),
        TranscriptFact::ToolStarted { tool: name, .. } => (
            place,
            fact(ToolUse {
                edge: Edge::Began,
                tool: some_text(name),
                target: None,
                input_digest: None,
                outcome: None,
            }),
        ),
        TranscriptFact::ToolEnded { call, outcome } => (
            place,
            fact(ToolUse {
                edge: Edge::Ended,
                tool: some_text(tool.unwrap_or(call)),
                target: None,
                input_digest: None,
                outcome: Some(*outcome),
            }),
        ),
        TranscriptFact::TurnEnded | TranscriptFact::Interrupted => {
            (place, fact(Turn { edge: Edge::Ended }))
        }
    };
    Some(ObservationDraft {
        key: key(&place),
        source: Source::Transcript,
        confidence: Confidence::High,
        observed,
    })
}

pub(super) fn speech(by: Speaker, text: &str) -> Option<Observed> {
    let text = Text::excerpt(text)?;
    Some(fact(Speech { by, text }))
}

pub(super) fn session_key(conversation: &str) -> ObservationKey {
    key(&format!("session:{conversation}"))
}

pub(super) fn session(conversation: &str, transcript: Option<&str>) -> Session {
    Session {
        id: some_text(conversation),
        transcript: transcript.and_then(|path| Text::new(path).ok()),
    }
}

pub(super) fn fact(fact: impl Into<Fact>) -> Observed {
    Observed::Fact(fact.into())
}

pub(super) fn some_text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::excerpt(text)
        .or_else(|| Text::excerpt("?"))
        .expect("a question mark is a text")
}

/// Parts that come from elsewhere may be longer than a key can be.
pub(super) fn key(text: &str) -> ObservationKey {
    let short = match text.char_indices().nth(limits::KEY) {
        None => text.to_owned(),
        Some(_) => format!("long:{}", Digest::of(text.as_bytes())),
    };
    ObservationKey::new(short).expect("it is neither empty nor too long")
}
