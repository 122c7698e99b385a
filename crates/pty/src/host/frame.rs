//! What a daemon and a host say to each other: a length, a letter, the content.
//!
//! Terminal output is bytes and most of the traffic, so frames are binary. A
//! length beyond the limit is refused before anything is allocated for it.

use missiond_semantic::Size;

use super::peer::Stranger;
use super::process::{ExitStatus, Handoff};

/// Input in one frame; longer input takes several.
pub const MAX_INPUT: usize = 32 << 10;
/// Output in one frame.
pub(super) const MAX_OUTPUT: usize = 32 << 10;
/// The longest is an order for another program, with all its arguments.
const MAX_FRAME: usize = 512 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToHost {
    /// First of all: send the output from this byte on, of the program with this
    /// number. A host that has another one by now says nothing and hangs up.
    Hello {
        resume_from: u64,
        generation: u32,
    },
    Input(Vec<u8>),
    Resize(Size),
    /// End the program and everything it started.
    Kill {
        grace_ms: u64,
    },
    /// The exit is on record; the host may go.
    ExitAcknowledged,
    /// End the program and run another one in its place.
    Handoff(Box<Handoff>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromHost {
    /// `offset` is the number of the first of these bytes.
    Output { offset: u64, bytes: Vec<u8> },
    /// The program and everything it started are gone; all output was sent.
    Exited(ExitStatus),
    /// Something asked for was not done; a sentence.
    Refused(String),
    /// What comes before this byte was written while no daemon was there: what
    /// it asks the terminal is not to be answered any more.
    AttendedFrom(u64),
    /// The bytes asked for have been deleted; output goes on with this one.
    Gone { kept_from: u64 },
    /// The recording cannot be written, so the program waits; a sentence.
    Stalled(String),
    /// The recording is written again.
    Resumed,
    /// The program lives, but it and all it started have closed the terminal.
    TerminalClosed,
    /// Something has opened the terminal again.
    TerminalOpened,
    /// So many lines to the program are on record, of all that were ever sent to it.
    /// Said by a host with pipes: first of all, and after each.
    LinesTaken(u64),
    /// What the program says beside its protocol.
    Errors(Vec<u8>),
    /// Somebody else has tried to speak to the host.
    TurnedAway(Stranger),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    #[error("a frame of {0} bytes is longer than the limit of {MAX_FRAME}")]
    TooLong(usize),
    #[error("a frame makes no sense")]
    Malformed,
}

/// Whether an order for another program fits into a frame.
#[must_use]
pub fn fits(order: &Handoff) -> bool {
    serde_json::to_vec(order).is_ok_and(|json| json.len() < MAX_FRAME)
}

/// A side of the conversation.
pub trait Frame: Sized {
    fn content(&self) -> (u8, Vec<u8>);
    fn parse(letter: u8, content: &[u8]) -> Option<Self>;

    fn encode(&self, out: &mut Vec<u8>) {
        let (letter, content) = self.content();
        let length = u32::try_from(content.len() + 1).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.push(letter);
        out.extend_from_slice(&content);
    }

    /// Takes the first frame off the buffer, if it is whole.
    fn decode(buffer: &mut Vec<u8>) -> Result<Option<Self>, BadFrame> {
        let Some((head, rest)) = buffer.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MAX_FRAME {
            return Err(BadFrame::TooLong(length));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let (letter, content) = rest[..length].split_first().ok_or(BadFrame::Malformed)?;
        let frame = Self::parse(*letter, content).ok_or(BadFrame::Malformed)?;
        buffer.drain(..4 + length);
        Ok(Some(frame))
    }
}

impl Frame for ToHost {
    fn content(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Hello {
                resume_from,
                generation,
            } => {
                let mut content = resume_from.to_le_bytes().to_vec();
                // A host of an earlier version knows the first generation only.
                if *generation > 1 {
                    content.extend(generation.to_le_bytes());
                }
                (b'h', content)
            }
            Self::Input(bytes) => (b'i', bytes.clone()),
            Self::Resize(size) => {
                let mut content = size.columns.to_le_bytes().to_vec();
                content.extend(size.rows.to_le_bytes());
                (b'r', content)
            }
            Self::Kill { grace_ms } => (b'k', grace_ms.to_le_bytes().to_vec()),
            Self::ExitAcknowledged => (b'n', Vec::new()),
            Self::Handoff(next) => (b'f', serde_json::to_vec(next).unwrap_or_default()),
        }
    }

    fn parse(letter: u8, content: &[u8]) -> Option<Self> {
        Some(match letter {
            b'h' => {
                let (resume_from, rest) = content.split_first_chunk::<8>()?;
                Self::Hello {
                    resume_from: u64::from_le_bytes(*resume_from),
                    generation: match rest {
                        [] => 1,
                        counted => u32::from_le_bytes(counted.try_into().ok()?),
                    },
                }
            }
            b'i' => Self::Input(content.to_vec()),
            b'r' => {
                let [a, b, c, d] = content.try_into().ok()?;
                Self::Resize(Size {
                    columns: u16::from_le_bytes([a, b]),
                    rows: u16::from_le_bytes([c, d]),
                })
            }
            b'k' => Self::Kill {
                grace_ms: u64::from_le_bytes(content.try_into().ok()?),
            },
            b'n' if content.is_empty() => Self::ExitAcknowledged,
            b'f' => Self::Handoff(serde_json::from_slice(content).ok()?),
            _ => return None,
        })
    }
}

impl Frame for FromHost {
    fn content(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Output { offset, bytes } => {
                let mut content = offset.to_le_bytes().to_vec();
                content.extend_from_slice(bytes);
                (b'o', content)
            }
            Self::Exited(status) => (b'x', serde_json::to_vec(status).unwrap_or_default()),
            Self::Refused(why) => (b'e', why.as_bytes().to_vec()),
            Self::AttendedFrom(offset) => (b'a', offset.to_le_bytes().to_vec()),
            Self::Gone { kept_from } => (b'g', kept_from.to_le_bytes().to_vec()),
            Self::Stalled(why) => (b's', why.as_bytes().to_vec()),
            Self::Resumed => (b'c', Vec::new()),
            Self::TerminalClosed => (b't', vec![0]),
            Self::TerminalOpened => (b't', vec![1]),
            Self::LinesTaken(count) => (b'l', count.to_le_bytes().to_vec()),
            Self::Errors(bytes) => (b'w', bytes.clone()),
            Self::TurnedAway(who) => (b'd', serde_json::to_vec(who).unwrap_or_default()),
        }
    }

    fn parse(letter: u8, content: &[u8]) -> Option<Self> {
        Some(match letter {
            b'o' => {
                let (offset, bytes) = content.split_first_chunk::<8>()?;
                Self::Output {
                    offset: u64::from_le_bytes(*offset),
                    bytes: bytes.to_vec(),
                }
            }
            b'x' => Self::Exited(serde_json::from_slice(content).ok()?),
            b'e' => Self::Refused(String::from_utf8_lossy(content).into_owned()),
            b'a' => Self::AttendedFrom(u64::from_le_bytes(content.try_into().ok()?)),
            b'g' => Self::Gone {
                kept_from: u64::from_le_bytes(content.try_into().ok()?),
            },
            b's' => Self::Stalled(String::from_utf8_lossy(content).into_owned()),
            b'c' if content.is_empty() => Self::Resumed,
            b't' if content == [0] => Self::TerminalClosed,
            b't' if content == [1] => Self::TerminalOpened,
            b'l' => Self::LinesTaken(u64::from_le_bytes(content.try_into().ok()?)),
            b'w' => Self::Errors(content.to_vec()),
            b'd' => Self::TurnedAway(serde_json::from_slice(content).ok()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::channel::Channel;

    fn to_host() -> impl Strategy<Value = ToHost> {
        prop_oneof![
            (any::<u64>(), 1..=u32::MAX).prop_map(|(resume_from, generation)| ToHost::Hello {
                resume_from,
                generation,
            }),
            (2..=u32::MAX, ".{0,40}").prop_map(|(generation, argument)| {
                ToHost::Handoff(Box::new(Handoff {
                    generation,
                    argv: vec!["agent".to_owned(), argument.clone()],
                    environment: [("NAME".to_owned(), argument)].into(),
                    size: Size {
                        columns: 80,
                        rows: 24,
                    },
                    channel: Channel::Pipes,
                    handover: None,
                    recording: "/recordings/slot-2.cast".into(),
                    grace_ms: 5,
                }))
            }),
            proptest::collection::vec(any::<u8>(), 0..200).prop_map(ToHost::Input),
            any::<(u16, u16)>().prop_map(|(columns, rows)| ToHost::Resize(Size { columns, rows })),
            any::<u64>().prop_map(|grace_ms| ToHost::Kill { grace_ms }),
            Just(ToHost::ExitAcknowledged),
        ]
    }

    fn from_host() -> impl Strategy<Value = FromHost> {
        prop_oneof![
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..200))
                .prop_map(|(offset, bytes)| FromHost::Output { offset, bytes }),
            any::<(Option<i32>, Option<i32>)>()
                .prop_map(|(code, signal)| FromHost::Exited(ExitStatus { code, signal })),
            ".{0,40}".prop_map(FromHost::Refused),
            any::<u64>().prop_map(FromHost::AttendedFrom),
            any::<u64>().prop_map(|kept_from| FromHost::Gone { kept_from }),
            ".{0,40}".prop_map(FromHost::Stalled),
            Just(FromHost::Resumed),
            Just(FromHost::TerminalClosed),
            Just(FromHost::TerminalOpened),
            (any::<u32>(), ".{0,40}", any::<Option<(u32, u64)>>()).prop_map(
                |(pid, program, host)| FromHost::TurnedAway(Stranger {
                    pid,
                    program,
                    host,
                    attempts: 2,
                })
            ),
        ]
    }

    fn through<F: Frame>(frames: &[F], chunk: usize) -> Vec<F> {
        let mut wire = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut wire));
        let (mut buffer, mut seen) = (Vec::new(), Vec::new());
        for piece in wire.chunks(chunk) {
            buffer.extend_from_slice(piece);
            while let Some(frame) = F::decode(&mut buffer).unwrap() {
                seen.push(frame);
            }
        }
        assert!(buffer.is_empty());
        seen
    }

    proptest! {
        #[test]
        fn frames_arrive_as_they_were_sent_however_they_are_cut(
            orders in proptest::collection::vec(to_host(), 0..8),
            answers in proptest::collection::vec(from_host(), 0..8),
            chunk in 1_usize..64,
        ) {
            prop_assert_eq!(through(&orders, chunk), orders);
            prop_assert_eq!(through(&answers, chunk), answers);
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            while let Ok(Some(_)) = FromHost::decode(&mut bytes) {}
            while let Ok(Some(_)) = ToHost::decode(&mut bytes) {}
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_its_bytes_come() {
        let mut buffer = u32::MAX.to_le_bytes().to_vec();
        assert_eq!(
            ToHost::decode(&mut buffer),
            Err(BadFrame::TooLong(u32::MAX as usize))
        );
    }
}
