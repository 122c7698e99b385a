//! Bytes from a peer: however they are cut, the same messages come out, the
//! buffer stays within its limit, and reading a message never panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_api::{Frame, FrameDecoder, Incoming};

const LIMIT: usize = 256;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = input;
    let whole = decode(std::iter::once(bytes.as_slice()));
    let mut rest = bytes.as_slice();
    let mut chunks = Vec::new();
    for cut in cuts {
        let (head, tail) = rest.split_at(usize::from(cut).min(rest.len()));
        chunks.push(head);
        rest = tail;
    }
    chunks.push(rest);
    assert_eq!(decode(chunks.into_iter()), whole);
});

fn decode<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Option<Vec<u8>>> {
    let mut decoder = FrameDecoder::with_limit(LIMIT);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk);
        while let Some(frame) = decoder.next_frame() {
            frames.push(match frame {
                Frame::Message(line) => {
                    let _ = Incoming::parse(line);
                    Some(line.to_vec())
                }
                Frame::TooLarge => None,
            });
        }
        assert!(decoder.pending() <= LIMIT);
    }
    frames
}
