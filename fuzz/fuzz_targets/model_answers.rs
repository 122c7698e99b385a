//! Answers of models, in every format: whatever the bytes are, they are read without a
//! panic and in bounded memory, and come to the same answer however they are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_llm::formats::{Format, Reader};

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else {
        return;
    };
    let format = Format::ALL[usize::from(*first) % Format::ALL.len()];
    let read = |pieces: &[&[u8]]| {
        let mut reader = Reader::new(format);
        let outcome = pieces.iter().try_for_each(|piece| reader.feed(piece).map(|_| ()));
        (outcome, reader.finish())
    };
    let whole = read(&[bytes]);
    for cut in [1, bytes.len() / 2] {
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        let parts = read(&[head, tail]);
        assert_eq!(parts.0, whole.0);
        if parts.0.is_ok() {
            assert_eq!(parts.1, whole.1);
        }
    }
    let _ = Reader::whole(format, bytes);
});
