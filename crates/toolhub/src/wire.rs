//! What servers say: lines read as JSON-RPC.
//!
//! A server is not trusted to be well-behaved: whatever a line holds, reading it
//! gives a value. Which request an oversized line would have answered is still
//! found, where the id stands at its very beginning or its very end.

use missiond_net::Edges;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The largest message a server may send.
pub(crate) const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// The id of an answer, if it is the first member after the version or the last
/// member. At those places it can only be the message's own.
#[must_use]
pub fn id_of_oversized(edges: &Edges) -> Option<u64> {
    let compact = |bytes: &[u8]| -> String {
        String::from_utf8_lossy(bytes)
            .chars()
            .filter(|c| !c.is_ascii_whitespace())
            .collect()
    };
    let head = compact(&edges.head);
    let after = [r#"{"jsonrpc":"2.0","id":"#, r#"{"id":"#]
        .iter()
        .find_map(|start| head.strip_prefix(start));
    if let Some((number, _)) = after.and_then(|rest| rest.split_once(',')) {
        return number.parse().ok();
    }
    let tail = compact(&edges.tail);
    let (before, number) = tail.strip_suffix('}')?.rsplit_once(':')?;
    before.ends_with(r#","id""#).then(|| number.parse().ok())?
}

/// An error as a server put it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RpcError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub data: Value,
}

/// One message of a server.
#[derive(Debug)]
pub enum Incoming {
    Answer {
        id: u64,
        outcome: Result<Box<RawValue>, RpcError>,
    },
    /// An error that names no request.
    Complaint(RpcError),
    /// The server asks something of its client.
    Request { id: Box<RawValue>, method: String },
    Notice {
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// Nothing that can be used: not JSON, not JSON-RPC, an id that is not ours.
    Stray,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "present")]
    id: Option<Box<RawValue>>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

/// A member that is there is `Some`, also when it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl Incoming {
    /// Reads a line.
    #[must_use]
    pub fn parse(line: &[u8]) -> Self {
        let Ok(message) = serde_json::from_slice::<Message>(line) else {
            return Self::Stray;
        };
        let id = message.id.filter(|id| id.get() != "null");
        if let Some(method) = message.method {
            return match id {
                Some(id) => Self::Request { id, method },
                None => Self::Notice {
                    method,
                    params: message.params,
                },
            };
        }
        let outcome = match (message.error, message.result) {
            (Some(error), _) => Err(error),
            (None, Some(result)) => Ok(result),
            (None, None) => return Self::Stray,
        };
        match (id, outcome) {
            (Some(id), outcome) => match id.get().parse() {
                Ok(id) => Self::Answer { id, outcome },
                Err(_) => Self::Stray,
            },
            (None, Err(error)) => Self::Complaint(error),
            (None, Ok(_)) => Self::Stray,
        }
    }
}

#[cfg(test)]
mod tests {
    use missiond_net::{Frame, FrameDecoder, Oversized};

    use super::*;

    #[test]
    fn an_oversized_answer_still_finds_its_caller() {
        let filler = "x".repeat(2000);
        for (line, id) in [
            (
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{filler}"}}"#),
                Some(7),
            ),
            (
                format!(r#"{{"result":"{filler}","jsonrpc":"2.0","id": 8}}"#),
                Some(8),
            ),
            (format!(r#"{{"result":{{"a":"{filler}","id":9}}}}"#), None),
            (format!(r#"{{"result":"{filler}\",\"id\":9","x":1}}"#), None),
            (filler, None),
        ] {
            let mut decoder = FrameDecoder::reporting(1000, Oversized::AtItsEnd);
            let mut found = Vec::new();
            for part in format!("{line}\n").as_bytes().chunks(300) {
                decoder.feed(part);
                while let Some(frame) = decoder.next_frame() {
                    assert_eq!(frame, Frame::TooLarge);
                    found.push(id_of_oversized(decoder.edges()));
                }
            }
            assert_eq!(found, [id]);
        }
    }

    #[test]
    fn each_kind_of_message_is_told_apart() {
        let read = |text: &str| format!("{:?}", Incoming::parse(text.as_bytes()));
        assert!(read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).starts_with("Answer { id: 1"));
        assert!(read(r#"{"id":1,"error":{"code":-1,"message":"no"}}"#).contains("Err"));
        assert!(
            read(r#"{"id":null,"error":{"code":-32601,"message":"x"}}"#).starts_with("Complaint")
        );
        assert!(read(r#"{"id":"a","method":"ping"}"#).starts_with("Request"));
        assert!(read(r#"{"method":"notifications/progress"}"#).starts_with("Notice"));
        for stray in [
            "",
            "hello",
            "[]",
            "7",
            r#"{"id":1}"#,
            r#"{"id":"1","result":{}}"#,
            r#"{"id":1.5,"result":{}}"#,
            r#"{"id":-1,"result":{}}"#,
        ] {
            assert_eq!(read(stray), "Stray", "{stray}");
        }
    }
}
