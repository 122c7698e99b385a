use proptest::prelude::*;

use super::super::segments::{RecordedEvent, Recording};
use super::*;

fn header() -> CastHeader {
    serde_json::from_str(r#"{"version": 2, "width": 80, "height": 24}"#).unwrap()
}

fn recorder(path: &Path) -> Recorder {
    Recorder::create(path, &header(), Duration::ZERO, RecordingLimits::default()).unwrap()
}

fn bytes_from(path: &Path, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in Recording::open(path).unwrap().read_from(offset).unwrap() {
        if let RecordedEvent::Output(output) = event.unwrap().1 {
            bytes.extend(output);
        }
    }
    bytes
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..12),
        ".{0,6}".prop_map(String::into_bytes),
        Just("é漢🦀".as_bytes()[..4].to_vec()),
    ]
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_read_back_the_same(
        chunks in proptest::collection::vec(chunk(), 0..12),
        segment in 100_u64..600,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let limits = RecordingLimits { segment, total: u64::MAX };
        let mut recorder = Recorder::create(&path, &header(), Duration::ZERO, limits).unwrap();
        for chunk in &chunks {
            recorder.output(chunk).unwrap();
            recorder.input(b"typed").unwrap();
        }
        recorder.finish().unwrap();
        let all = chunks.concat();
        for offset in [0, all.len() / 3, all.len()] {
            prop_assert_eq!(&bytes_from(&path, offset as u64), &all[offset..]);
        }
    }
}

#[test]
fn only_the_rest_of_a_character_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.cast");
    let mut recorder = recorder(&path);
    recorder.output(&"ab🦀".as_bytes()[..5]).unwrap();
    assert_eq!(bytes_from(&path, 0), b"ab");
    recorder.output(&"ab🦀".as_bytes()[5..]).unwrap();
    assert_eq!(bytes_from(&path, 0), "ab🦀".as_bytes());
}

#[test]
fn a_recording_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.cast");
    recorder(&path);
    assert!(
        Recorder::create(&path, &header(), Duration::ZERO, RecordingLimits::default()).is_err()
    );
}

/// Lines that say at which byte they begin.
fn numbered(lines: u64) -> Vec<u8> {
    let mut output = Vec::new();
    for _ in 0..lines {
        let line = format!("{:0>40}\n", output.len());
        output.extend(line.into_bytes());
    }
    output
}

#[test]
fn any_byte_is_found_with_its_size_in_the_segment_that_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.cast");
    let limits = RecordingLimits {
        segment: 1 << 20,
        total: u64::MAX,
    };
    let mut recorder = Recorder::create(&path, &header(), Duration::ZERO, limits).unwrap();
    let output = numbered(100_000);
    let size = |columns| Size { columns, rows: 9 };
    for (number, piece) in output.chunks(10_007).enumerate() {
        recorder.output(piece).unwrap();
        if number == 200 {
            recorder.resize(size(90)).unwrap();
        }
    }
    assert!(files(&path).unwrap().len() > 3);
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.end().unwrap(), output.len() as u64);
    for offset in (0..output.len()).step_by(123_457) {
        let mut reader = recording.read_from(offset as u64).unwrap();
        assert_eq!(reader.position(), offset as u64);
        let columns = if offset <= 201 * 10_007 { 80 } else { 90 };
        assert_eq!(reader.size().columns, columns, "at {offset}");
        let Some(Ok((_, RecordedEvent::Output(bytes)))) = reader.next() else {
            panic!("no output at {offset}");
        };
        assert_eq!(bytes, output[offset..offset + bytes.len()]);
        assert_eq!(reader.position(), (offset + bytes.len()) as u64);
    }
}

#[test]
fn the_oldest_segments_go_and_the_numbers_of_the_rest_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.cast");
    let limits = RecordingLimits {
        segment: 100_000,
        total: 400_000,
    };
    let mut recorder = Recorder::create(&path, &header(), Duration::ZERO, limits).unwrap();
    let output = numbered(50_000);
    for piece in output.chunks(1000) {
        recorder.output(piece).unwrap();
    }
    let kept: u64 = files(&path)
        .unwrap()
        .iter()
        .map(|(_, path)| std::fs::metadata(path).unwrap().len())
        .sum();
    assert!((200_000..=400_000).contains(&kept), "{kept}");
    let first = Recording::open(&path).unwrap().first_byte();
    assert!(first > 1_000_000);
    // What is gone cannot be had: reading begins with what is left.
    let found = bytes_from(&path, 0);
    assert_eq!(found, output[usize::try_from(first).unwrap()..]);
}

#[test]
fn each_segment_is_a_recording_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.cast");
    let limits = RecordingLimits {
        segment: 1000,
        total: u64::MAX,
    };
    let mut recorder = Recorder::create(&path, &header(), Duration::ZERO, limits).unwrap();
    for piece in numbered(100).chunks(50) {
        recorder.output(piece).unwrap();
    }
    for (number, path) in files(&path).unwrap() {
        let file = std::io::BufReader::new(File::open(path).unwrap());
        let cast = crate::CastReader::new(file).unwrap();
        assert_eq!(cast.header().segment().number, number);
        let events: Result<Vec<_>, _> = cast.collect();
        assert!(!events.unwrap().is_empty());
    }
}

#[test]
fn times_count_from_the_second_in_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.cast");
    let begun = Duration::from_millis(900);
    let mut recorder =
        Recorder::create(&path, &header(), begun, RecordingLimits::default()).unwrap();
    recorder.output(b"a").unwrap();
    recorder.flush().unwrap();
    let first = Recording::open(&path).unwrap().read().unwrap().next();
    assert!(first.unwrap().unwrap().0 >= begun);
}
