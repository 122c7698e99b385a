//! Anything an MCP server may send, on pipes or as events, is read without a
//! panic, in bounded memory, and with the same result however it is cut; and no
//! schema of a server makes checking arguments panic or hang.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_net::{Frame, FrameDecoder, Oversized, SseParser};
use missiond_toolhub::{Incoming, id_of_oversized};

const LIMIT: usize = 256;

fuzz_target!(|data: &[u8]| {
    let whole = lines(&[data]);
    let events_whole = events(&[data]);
    for cut in [1, data.len() / 2, data.len().saturating_sub(1)] {
        let (first, rest) = data.split_at(cut.min(data.len()));
        assert_eq!(lines(&[first, rest]), whole);
        assert_eq!(events(&[first, rest]), events_whole);
    }
    for line in whole.iter().filter_map(|line| line.as_ref().ok()) {
        let _ = Incoming::parse(line);
    }
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(data) {
        let _ = missiond_toolhub::mismatch(&value["schema"], &value["arguments"]);
    }
});

/// Each line, or of one that is too large the request it would have answered.
fn lines(pieces: &[&[u8]]) -> Vec<Result<Vec<u8>, Option<u64>>> {
    let mut decoder = FrameDecoder::reporting(LIMIT, Oversized::AtItsEnd);
    let mut lines = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        while let Some(frame) = decoder.next_frame() {
            lines.push(match frame {
                Frame::Message(line) => Ok(line.to_vec()),
                Frame::TooLarge => Err(id_of_oversized(decoder.edges())),
            });
        }
    }
    lines
}

fn events(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, bool) {
    let mut parser = SseParser::with_limit(LIMIT);
    let mut events = Vec::new();
    let mut is_broken = false;
    for piece in pieces {
        is_broken = is_broken || parser.feed(piece, |event| events.push(event.data)).is_err();
    }
    (events, is_broken)
}
