//! What servers say: bytes cut into lines, lines read as JSON-RPC.
//!
//! A server is not trusted to be well-behaved: a line has a limit that is kept
//! while it is read, and whatever a line holds, reading it gives a value. Which
//! request an oversized line would have answered is still found, where the id
//! stands at its very beginning or its very end.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The largest message a server may send.
pub(crate) const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// How much of the beginning and end of an oversized line is kept.
const KEPT: usize = 128;

/// One line of a server.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// Over the limit; the request it answers, if it can be told.
    TooLarge(Option<u64>),
}

/// Cuts what arrives into lines.
#[derive(Debug)]
pub struct LineCutter {
    buffer: Vec<u8>,
    limit: usize,
    /// The beginning and end of an oversized line that has not ended.
    oversized: Option<(Vec<u8>, Vec<u8>)>,
}

impl Default for LineCutter {
    fn default() -> Self {
        Self::with_limit(MAX_MESSAGE)
    }
}

impl LineCutter {
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
            oversized: None,
        }
    }

    /// Takes in what was read and gives out the lines it completes. Empty lines
    /// are passed over.
    pub fn feed(&mut self, mut bytes: &[u8], mut line: impl FnMut(Line)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.take(&bytes[..end]);
            bytes = &bytes[end + 1..];
            if let Some((head, tail)) = self.oversized.take() {
                line(Line::TooLarge(id_at_an_end(&head, &tail)));
                continue;
            }
            let mut whole = std::mem::take(&mut self.buffer);
            if whole.last() == Some(&b'\r') {
                whole.pop();
            }
            if !whole.is_empty() {
                line(Line::Whole(whole));
            }
        }
        self.take(bytes);
    }

    fn take(&mut self, part: &[u8]) {
        if let Some((_, tail)) = &mut self.oversized {
            tail.extend_from_slice(&part[part.len().saturating_sub(KEPT)..]);
            let surplus = tail.len().saturating_sub(KEPT);
            tail.drain(..surplus);
            return;
        }
        if self.buffer.len() + part.len() <= self.limit {
            self.buffer.extend_from_slice(part);
            return;
        }
        let line = std::mem::take(&mut self.buffer);
        let mut head = line[..line.len().min(KEPT)].to_vec();
        head.extend_from_slice(&part[..part.len().min(KEPT - head.len())]);
        let tail = line[line.len().saturating_sub(KEPT)..].to_vec();
        self.oversized = Some((head, tail));
        self.take(part);
    }
}

/// The id of an answer, if it is the first member after the version or the last
/// member. At those places it can only be the message's own.
fn id_at_an_end(head: &[u8], tail: &[u8]) -> Option<u64> {
    let compact = |bytes: &[u8]| -> String {
        String::from_utf8_lossy(bytes)
            .chars()
            .filter(|c| !c.is_ascii_whitespace())
            .collect()
    };
    let head = compact(head);
    let after = [r#"{"jsonrpc":"2.0","id":"#, r#"{"id":"#]
        .iter()
        .find_map(|start| head.strip_prefix(start));
    if let Some((number, _)) = after.and_then(|rest| rest.split_once(',')) {
        return number.parse().ok();
    }
    let tail = compact(tail);
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

/// Text of a server as it may be shown: without control characters, and short.
#[must_use]
pub(crate) fn shown(text: &str, limit: usize) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(limit)
        .collect();
    if text.chars().nth(limit).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(limit: usize, chunks: &[&[u8]]) -> Vec<Line> {
        let mut cutter = LineCutter::with_limit(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            cutter.feed(chunk, |line| lines.push(line));
            assert!(cutter.buffer.len() <= limit);
        }
        lines
    }

    proptest! {
        #[test]
        fn any_cut_of_the_stream_gives_the_same_lines(
            bytes in prop::collection::vec(prop_oneof![3 => 32u8..40, 1 => Just(b'\n'), 1 => Just(b'\r')], 0..200),
            at in 0usize..200,
        ) {
            let whole = cut(8, &[&bytes]);
            let (one, other) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(cut(8, &[one, other]), whole);
            let single: Vec<_> = bytes.chunks(1).collect();
            prop_assert_eq!(cut(8, &single), cut(8, &[&bytes]));
        }
    }

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
            let line = format!("{line}\n{{}}\n");
            let parts: Vec<_> = line.as_bytes().chunks(300).collect();
            let expected = vec![Line::TooLarge(id), Line::Whole(b"{}".to_vec())];
            assert_eq!(cut(1000, &parts), expected);
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
