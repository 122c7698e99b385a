//! Bytes between a daemon and a host: however they are cut the same frames come
//! out, each is the same when it is sent again, and nonsense is refused.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use missiond_pty::host::{Frame, FromHost, ToHost};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = input;
    let mut rest = bytes.as_slice();
    let mut chunks = Vec::new();
    for cut in cuts {
        let (head, tail) = rest.split_at(usize::from(cut).min(rest.len()));
        chunks.push(head);
        rest = tail;
    }
    chunks.push(rest);
    check::<ToHost>(&bytes, &chunks);
    check::<FromHost>(&bytes, &chunks);
});

fn check<F: Frame + Debug + PartialEq>(bytes: &[u8], chunks: &[&[u8]]) {
    let whole = decode::<F>(&[bytes]);
    assert_eq!(decode::<F>(chunks), whole);
    for frame in whole {
        let mut sent = Vec::new();
        frame.encode(&mut sent);
        assert_eq!(F::decode(&mut sent), Ok(Some(frame)));
        assert!(sent.is_empty());
    }
}

fn decode<F: Frame>(chunks: &[&[u8]]) -> Vec<F> {
    let (mut buffer, mut frames) = (Vec::new(), Vec::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        loop {
            match F::decode(&mut buffer) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(_) => return frames,
            }
        }
    }
    frames
}
