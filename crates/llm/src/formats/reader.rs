//! Bytes of an answer, in whatever pieces they come, to an answer.

use missiond_net::{Frame, FrameDecoder, SseEvent, SseParser};
use serde_json::Value;

use super::assembly::Assembly;
use super::{anthropic, chat, gemini, ollama, responses};
use crate::format::{Format, Framing};
use crate::items::{Answer, Piece};

/// One event: an image in base64 fits, and a whole response of the Responses format.
pub const MAX_EVENT: usize = 16 << 20;

/// All bytes of one answer.
pub const MAX_ANSWER: usize = 64 << 20;

/// Why an answer cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("one event of the answer is larger than {MAX_EVENT} bytes")]
    EventTooLarge,
    #[error("the answer has no end: it is larger than {MAX_ANSWER} bytes or has too many parts")]
    TooLarge,
    #[error("an event of the answer is no JSON")]
    NotJson,
}

#[derive(Debug)]
enum Cutter {
    Events(SseParser),
    Lines(FrameDecoder),
}

/// Feed it what arrives, then ask for the answer.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    cutter: Cutter,
    assembly: Assembly,
    read: usize,
}

impl Reader {
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            cutter: match format.framing() {
                Framing::ServerSentEvents => Cutter::Events(SseParser::with_limit(MAX_EVENT)),
                Framing::Lines => Cutter::Lines(FrameDecoder::with_limit(MAX_EVENT)),
            },
            assembly: Assembly::new(format),
            read: 0,
        }
    }

    /// The answer that came whole, not in events.
    pub fn whole(format: Format, body: &[u8]) -> Result<Answer, ReadError> {
        let value: Value = serde_json::from_slice(body).map_err(|_| ReadError::NotJson)?;
        let mut assembly = Assembly::new(format);
        match format {
            Format::Anthropic => anthropic::whole(&value, &mut assembly),
            Format::Responses => responses::whole(&value, &mut assembly),
            Format::Chat => chat::whole(&value, &mut assembly),
            Format::Gemini => gemini::whole(&value, &mut assembly),
            Format::Ollama => ollama::event(&value, &mut assembly),
        }
        Ok(assembly.finish())
    }

    /// More of the answer; what is new in it.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Piece>, ReadError> {
        self.read = self.read.saturating_add(bytes.len());
        if self.read > MAX_ANSWER {
            return Err(ReadError::TooLarge);
        }
        let (format, assembly) = (self.format, &mut self.assembly);
        let mut outcome = Ok(());
        let mut take = |data: &[u8]| {
            if outcome.is_ok() {
                outcome = event(format, data, assembly);
            }
        };
        match &mut self.cutter {
            Cutter::Events(parser) => parser
                .feed(bytes, |SseEvent { data }| take(&data))
                .map_err(|_| ReadError::EventTooLarge)?,
            Cutter::Lines(decoder) => {
                decoder.feed(bytes);
                while let Some(frame) = decoder.next_frame() {
                    match frame {
                        Frame::Message(line) => take(line),
                        Frame::TooLarge => return Err(ReadError::EventTooLarge),
                    }
                }
            }
        }
        outcome?;
        if self.assembly.is_too_large() {
            return Err(ReadError::TooLarge);
        }
        Ok(self.assembly.take_pieces())
    }

    /// Whether the format's sign of the end has come.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.assembly.ended
    }

    /// The answer as far as it came.
    #[must_use]
    pub fn finish(mut self) -> Answer {
        // The last event of a stream may lack its empty line, the last line its end.
        let _ = self.feed(match self.cutter {
            Cutter::Events(_) => b"\n\n",
            Cutter::Lines(_) => b"\n",
        });
        self.assembly.finish()
    }
}

fn event(format: Format, data: &[u8], assembly: &mut Assembly) -> Result<(), ReadError> {
    if data.trim_ascii().is_empty() {
        return Ok(());
    }
    if data.trim_ascii() == b"[DONE]" {
        assembly.ended = true;
        return Ok(());
    }
    let value: Value = serde_json::from_slice(data).map_err(|_| ReadError::NotJson)?;
    match format {
        Format::Anthropic => anthropic::event(&value, assembly),
        Format::Responses => responses::event(&value, assembly),
        Format::Chat => chat::event(&value, assembly),
        Format::Gemini => gemini::event(&value, assembly),
        Format::Ollama => ollama::event(&value, assembly),
    }
    Ok(())
}
