//! Any bytes are scanned and masked: the number of bytes stays, a stream is masked alike
//! however it is cut, and a masked text holds nothing more to mask.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use missiond_secrets::{Detector, StreamMask, mask};

fn stream<'a>(columns: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    static DETECTOR: LazyLock<std::sync::Arc<Detector>> = LazyLock::new(Detector::current);
    let mut stream = StreamMask::new(DETECTOR.clone()).with_columns(columns);
    let mut out = Vec::new();
    for chunk in chunks {
        stream.feed(chunk, &mut out);
    }
    stream.finish(&mut out);
    out
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else {
        return;
    };
    let columns = usize::from(first);
    let whole = stream(columns, std::iter::once(bytes));
    assert_eq!(whole.len(), bytes.len());
    let length = usize::from(first % 13) + 1;
    assert_eq!(stream(columns, bytes.chunks(length)), whole);
    let text = String::from_utf8_lossy(bytes);
    let masked = mask(text.as_ref());
    assert_eq!(mask(masked.as_str()).secrets(), 0);
});
