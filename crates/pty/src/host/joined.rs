//! A recording as one asciicast, whatever number of files it has: what a player
//! wants. Time begins with the first byte that is still there.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use missiond_semantic::Size;

use super::segments::{RecordedEvent, Recording, RecordingReader};
use crate::cast::{CastError, CastEvent, CastHeader, CastWriter, EventKind};

/// Reads a recording from its beginning to where it is now.
#[derive(Debug)]
pub struct JoinedCast {
    source: Source,
    lines: CastWriter<Vec<u8>>,
    begins: Duration,
    /// Bytes of a character whose others are in the next piece of output.
    half: Vec<u8>,
    size: Size,
    /// Seconds since 1970 at time zero.
    timestamp: Option<i64>,
    /// From time zero of the first recording to that of the one being read.
    shift: Duration,
    /// What the programs wrote that followed in the same slot.
    later: VecDeque<JoinedCast>,
}

/// Clears whatever a program has left on a terminal.
const RESET: &str = "\u{1b}c";

#[derive(Debug)]
enum Source {
    Recording(Box<RecordingReader>),
    /// Text that stands for what a recording holds.
    Drawn(std::vec::IntoIter<(Duration, String)>),
}

impl Source {
    fn next(&mut self) -> Result<Option<(Duration, RecordedEvent)>, CastError> {
        match self {
            Self::Recording(reader) => reader.next().transpose(),
            Self::Drawn(drawn) => Ok(drawn.next().map(|(at, text)| {
                let output = RecordedEvent::Output(text.into_bytes());
                (at, output)
            })),
        }
    }
}

impl JoinedCast {
    /// Opens the recording that began in the file `first`.
    pub fn open(first: &Path) -> Result<Self, CastError> {
        let recording = Recording::open(first)?;
        let reader = recording.read()?;
        // The header has whole seconds, also of what begins later.
        let begins = Duration::from_secs(recording.begins_after().as_secs());
        let size = reader.size();
        let header = CastHeader {
            version: 2,
            width: size.columns,
            height: size.rows,
            timestamp: recording.timestamp(),
            title: None,
            env: None,
            mission: None,
        };
        let lines = CastWriter::new(Vec::new(), &header)?;
        Ok(Self {
            source: Source::Recording(Box::new(reader)),
            lines,
            begins,
            half: Vec::new(),
            size,
            timestamp: recording.timestamp(),
            shift: Duration::ZERO,
            later: VecDeque::new(),
        })
    }

    /// With another recording behind it, on a clean screen and at its own time.
    #[must_use]
    pub fn followed_by(mut self, next: Self) -> Self {
        self.later.push_back(next);
        self
    }

    /// Goes on with the next recording; nothing at the end of the last.
    fn turn_to_next(&mut self) -> Result<Option<()>, CastError> {
        let Some(next) = self.later.pop_front() else {
            return Ok(None);
        };
        let seconds = next.timestamp.zip(self.timestamp).map(|(n, own)| n - own);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        self.shift = Duration::from_secs(seconds.unwrap_or(0));
        self.source = next.source;
        self.half.clear();
        let at = self.shift.saturating_sub(self.begins);
        for kind in [
            EventKind::Resize(next.size),
            EventKind::Output(RESET.to_owned()),
        ] {
            self.lines.write(&CastEvent { at, kind })?;
        }
        Ok(Some(()))
    }

    /// The same recording with something drawn instead of what the program wrote.
    #[must_use]
    pub fn drawn_as(self, drawn: Vec<(Duration, String)>) -> Self {
        Self {
            source: Source::Drawn(drawn.into_iter()),
            ..self
        }
    }

    /// The next lines, about so many bytes of them; nothing at the end.
    pub fn next_lines(&mut self, about: usize) -> Result<Option<Vec<u8>>, CastError> {
        while self.lines.get_mut().len() < about {
            let Some((at, recorded)) = self.source.next()? else {
                match self.turn_to_next()? {
                    Some(()) => continue,
                    None => break,
                }
            };
            let kind = match recorded {
                RecordedEvent::Resize(size) => EventKind::Resize(size),
                // What was typed without an echo, a password say, is not for a page.
                RecordedEvent::Input(_) => continue,
                RecordedEvent::Output(bytes) => match self.text(bytes) {
                    text if text.is_empty() => continue,
                    text => EventKind::Output(text),
                },
            };
            let at = (self.shift + at).saturating_sub(self.begins);
            self.lines.write(&CastEvent { at, kind })?;
        }
        let lines = std::mem::take(self.lines.get_mut());
        Ok((!lines.is_empty()).then_some(lines))
    }

    /// The output as text. A character that is cut by the end of a piece is
    /// kept for the next; what is no text is shown as such.
    fn text(&mut self, bytes: Vec<u8>) -> String {
        let mut all = std::mem::take(&mut self.half);
        all.extend(bytes);
        if let Err(error) = std::str::from_utf8(&all)
            && error.error_len().is_none()
        {
            self.half = all.split_off(error.valid_up_to());
        }
        String::from_utf8_lossy(&all).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::CastReader;

    fn segment(path: &Path, number: u32, offset: u64, after: f64, lines: &[&str]) {
        let header = format!(
            "{{\"version\":2,\"width\":80,\"height\":24,\"timestamp\":{},\"mission\":\
             {{\"segment\":{{\"number\":{number},\"offset\":{offset},\"after\":{after}}}}}}}\n",
            1000 + after as i64
        );
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(path, header + &lines).unwrap();
    }

    #[test]
    fn several_files_read_as_one_cast_and_characters_stay_whole() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("s.cast");
        segment(
            &first,
            1,
            0,
            0.0,
            &[r#"[0.5, "o", "a"]"#, r#"[1.0, "r", "100x30"]"#],
        );
        let second = super::super::segments::segment_path(&first, 2);
        segment(
            &second,
            2,
            1,
            10.25,
            &[
                r##"[0.0, "m", "#bytes c3"]"##,
                r#"[0.0, "o", "?"]"#,
                r##"[0.5, "m", "#bytes a4"]"##,
                r#"[0.5, "o", "?"]"#,
            ],
        );
        let mut joined = JoinedCast::open(&first).unwrap();
        let mut whole = Vec::new();
        // A few bytes at a time, as a slow reader would have it.
        while let Some(lines) = joined.next_lines(1).unwrap() {
            whole.extend(lines);
        }
        let cast = CastReader::new(whole.as_slice()).unwrap();
        assert_eq!(cast.header().timestamp, Some(1000));
        let events: Vec<_> = cast
            .map(Result::unwrap)
            .map(|e| (e.at.as_millis(), e.kind))
            .collect();
        let size = missiond_semantic::Size {
            columns: 100,
            rows: 30,
        };
        let expected = [
            (500, EventKind::Output("a".into())),
            (1000, EventKind::Resize(size)),
            (10_750, EventKind::Output("ä".into())),
        ];
        assert_eq!(events, expected);

        let later = folder.path().join("s-2.cast");
        let header = r#"{"version":2,"width":80,"height":24,"timestamp":1020}"#;
        std::fs::write(&later, format!("{header}\n[0.25, \"o\", \"b\"]\n")).unwrap();
        let earlier = JoinedCast::open(&first).unwrap();
        let mut both = earlier.followed_by(JoinedCast::open(&later).unwrap());
        let both = both.next_lines(1 << 20).unwrap().unwrap();
        let last: Vec<_> = CastReader::new(both.as_slice())
            .unwrap()
            .map(Result::unwrap)
            .map(|e| (e.at.as_millis(), e.kind))
            .skip(expected.len())
            .collect();
        let size = missiond_semantic::Size {
            columns: 80,
            rows: 24,
        };
        let followed = [
            (20_000, EventKind::Resize(size)),
            (20_000, EventKind::Output(RESET.to_owned())),
            (20_250, EventKind::Output("b".into())),
        ];
        assert_eq!(last, followed, "at its own time, on a clean screen");

        std::fs::remove_file(&first).unwrap();
        let mut rest = JoinedCast::open(&first).unwrap();
        let rest = rest.next_lines(1 << 20).unwrap().unwrap();
        let rest = CastReader::new(rest.as_slice()).unwrap();
        assert_eq!(rest.header().timestamp, Some(1010), "time begins later");
        let times: Vec<_> = rest.map(|event| event.unwrap().at.as_millis()).collect();
        assert_eq!(times, [750], "from the second in the header");
    }
}
