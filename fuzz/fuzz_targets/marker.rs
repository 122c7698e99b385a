//! Any output is searched for markers without a panic, in bounded memory, and
//! with the same result however it is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_core::ExecutionId;
use missiond_journal::marker::{
    Broken, Expected, MarkerKey, ParsedMarker, StreamDecoder, find_in_rows,
};

fuzz_target!(|data: &[u8]| {
    let execution: ExecutionId = "exec_01jq8v00000000000000000000".parse().unwrap();
    let key: MarkerKey = "0123456789abcdef0123456789abcdef".parse().unwrap();
    let expected = Expected {
        execution,
        key: key.hash(execution),
    };
    let whole = found(expected, &[data]);
    for cut in [1, data.len() / 2, data.len().saturating_sub(1)] {
        let (first, rest) = data.split_at(cut.min(data.len()));
        assert_eq!(found(expected, &[first, rest]), whole);
    }
    let text = String::from_utf8_lossy(data);
    let rows: Vec<&str> = text.lines().collect();
    let _ = find_in_rows(&rows, &expected);
});

fn found(expected: Expected, pieces: &[&[u8]]) -> Vec<ParsedMarker> {
    let mut decoder = StreamDecoder::new(expected, Broken::Refused);
    let mut found: Vec<_> = pieces
        .iter()
        .flat_map(|piece| decoder.push(piece))
        .collect();
    found.extend(decoder.finish());
    found
}
