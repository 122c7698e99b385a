//! What is kept of a record of a transcript.

use missiond_adapters::{MessageOrigin, Record, RecordBody, Role};
use missiond_context::speech_of;
use missiond_core::{Timestamp, ToolOutcome};
use missiond_knowledge::conversation::{
    LONGEST_INPUT, LONGEST_MESSAGE, LONGEST_OUTPUT, Noise, Step, masked_json, noise_of_message,
    noise_of_result, sanitize,
};
use missiond_os::hex;
use missiond_store::conversations::items::UsageRow;
use sha2::{Digest, Sha256};

/// The longest text of a message that is noise.
const LONGEST_NOISE: usize = 2 << 10;
/// The longest name of a tool or a model.
const LONGEST_NAME: usize = 120;
/// The longest key as it is; longer ones are kept as a digest.
const LONGEST_KEY: usize = 120;
/// No request to a model costs more; sums of what transcripts claim stay sums.
const MOST_TOKENS: i64 = 1_000_000_000;
const MOST_COST: i64 = 1_000_000_000_000;

/// A record as it is kept: masked, cut, bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) key: String,
    pub(super) at: Option<Timestamp>,
    pub(super) what: ItemContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemContent {
    Message {
        role: &'static str,
        text: String,
        model: Option<String>,
        noise: Option<Noise>,
        bytes: i64,
    },
    Call {
        tool: String,
        input: String,
    },
    Result {
        outcome: ToolOutcome,
        output: String,
        noise: Option<Noise>,
        bytes: i64,
    },
    Usage(UsageRow),
    /// In millionths of a US dollar.
    Cost(i64),
    Event(&'static str, Step<'static>),
}

/// A record as it is kept; none when it cannot be told from others.
pub(super) fn fit(record: Record) -> Option<Item> {
    if record.key.is_empty() {
        return None;
    }
    let name = |text: &str| sanitize(text, LONGEST_NAME);
    let bytes = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let key = short_key(&record.key);
    let what = match record.what {
        RecordBody::Message {
            role,
            text,
            model,
            written,
        } => {
            // What missiond says and quotes in a message was not said by the person.
            let (text, ours) = match role {
                Role::Person => match speech_of(&text) {
                    speech if speech.is_empty() => (text, true),
                    speech => (speech, false),
                },
                Role::Agent => (text, false),
            };
            let noise = match written {
                MessageOrigin::Said if ours => {
                    noise_of_message(&text).or(Some(Noise::Instructions))
                }
                MessageOrigin::Said => noise_of_message(&text),
                MessageOrigin::ByProgram => noise_of_message(&text).or(Some(Noise::Program)),
                MessageOrigin::Summary => Some(Noise::Summary),
                MessageOrigin::Failure => Some(Noise::Failure),
            };
            let most = match noise {
                None => LONGEST_MESSAGE,
                Some(_) => LONGEST_NOISE,
            };
            ItemContent::Message {
                role: match role {
                    Role::Person => "person",
                    Role::Agent => "agent",
                },
                bytes: bytes(&text),
                text: sanitize(&text, most),
                model: model.as_deref().map(name),
                noise,
            }
        }
        RecordBody::ToolStarted { tool, input } => ItemContent::Call {
            tool: name(&tool),
            input: match masked_json(&input) {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => sanitize(&text, LONGEST_INPUT),
                other => sanitize(&other.to_string(), LONGEST_INPUT),
            },
        },
        RecordBody::ToolEnded { outcome, output } => {
            let noise = noise_of_result(&output);
            let most = match noise {
                Some(Noise::Binary) => LONGEST_NAME,
                _ => LONGEST_OUTPUT,
            };
            ItemContent::Result {
                outcome,
                bytes: bytes(&output),
                output: sanitize(&output, most),
                noise,
            }
        }
        RecordBody::Used(usage) => {
            let count = |tokens: u64| i64::try_from(tokens).unwrap_or(0).min(MOST_TOKENS);
            ItemContent::Usage(UsageRow {
                request: key.clone(),
                model: usage.model.as_deref().map(name),
                input: count(usage.input),
                output: count(usage.output),
                cache_read: count(usage.cache_read),
                cache_write: count(usage.cache_write),
                cache_write_1h: count(usage.cache_write_1h),
                at: Timestamp::from_micros(0),
            })
        }
        RecordBody::Cost(microdollars) => {
            ItemContent::Cost(i64::try_from(microdollars).unwrap_or(0).min(MOST_COST))
        }
        RecordBody::TurnEnded => ItemContent::Event("turn_ended", Step::Ended),
        RecordBody::Interrupted => ItemContent::Event("interrupted", Step::Interrupted),
        RecordBody::Compacted => ItemContent::Event("compacted", Step::Other),
    };
    Some(Item {
        key,
        at: record.at,
        what,
    })
}

fn short_key(key: &str) -> String {
    if key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return key.to_owned();
    }
    let digest = Sha256::digest(key.as_bytes());
    format!("sha256:{}", hex::encode(&digest))
}
