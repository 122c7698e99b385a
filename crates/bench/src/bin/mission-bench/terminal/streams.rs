//! Output as programs write it: an agent that redraws its screen, a build log,
//! and text of many scripts. The same bytes every time.

/// A kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Redraw,
    Log,
    Unicode,
}

impl Stream {
    pub(super) const ALL: [Self; 3] = [Self::Redraw, Self::Log, Self::Unicode];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Redraw => "redraw",
            Self::Log => "log",
            Self::Unicode => "unicode",
        }
    }

    /// At least this many bytes, ending with a whole piece.
    pub(super) fn bytes(self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + (16 << 10));
        let mut turn = 0;
        while bytes.len() < length {
            let piece = match self {
                Self::Redraw => agent_frame(Shown::at(turn), turn, Marks::Synchronized),
                Self::Log => log_line(turn),
                Self::Unicode => unicode_line(turn),
            };
            bytes.extend_from_slice(piece.as_bytes());
            turn += 1;
        }
        bytes
    }
}

/// What a frame of the agent shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Waiting,
    Answering,
    RunningTool,
}

impl Shown {
    fn at(turn: usize) -> Self {
        if (turn / 100).is_multiple_of(2) {
            Self::Answering
        } else {
            Self::RunningTool
        }
    }
}

/// Whether the beginning and the end of a frame are told to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    Synchronized,
    None,
}

/// A whole screen of 120 columns and 40 rows, about 4 KB, as Claude Code draws.
pub(super) fn agent_frame(shown: Shown, turn: usize, marks: Marks) -> String {
    let rule = "─".repeat(118);
    let mut frame = String::with_capacity(8 << 10);
    if marks == Marks::Synchronized {
        frame.push_str("\x1b[?2026h");
    }
    let glyph = match shown {
        Shown::Waiting => '✳',
        Shown::Answering | Shown::RunningTool => ['◐', '◓', '◑', '◒'][turn % 4],
    };
    frame.push_str(&format!(
        "\x1b]0;{glyph} Mend the parser\x07\x1b[?25l\x1b[H"
    ));
    for row in 0..24 {
        let number = turn + row;
        frame.push_str(&format!(
            "\x1b[2K\x1b[38;5;246m  {number:>5} \x1b[39m\x1b[38;2;106;153;85m// step {row}\x1b[39m \
             let value_{row} = table.get(\x1b[33m{number}\x1b[39m)?;\r\n"
        ));
    }
    frame.push_str("\x1b[2K\r\n\x1b[2K\x1b[1m> mend the parser\x1b[22m\r\n\x1b[2K\r\n");
    frame.push_str("\x1b[2K\x1b[37m●\x1b[39m I will look at how rows are read.\r\n\x1b[2K\r\n");
    match shown {
        Shown::RunningTool => frame.push_str(
            "\x1b[2K\x1b[32m●\x1b[39m \x1b[1mBash\x1b[22m(cargo test)\r\n\x1b[2K  ⎿  Running…\r\n",
        ),
        Shown::Waiting | Shown::Answering => frame.push_str("\x1b[2K\r\n\x1b[2K\r\n"),
    }
    frame.push_str("\x1b[2K\r\n\x1b[2K");
    if shown != Shown::Waiting {
        let spinner = ['·', '✢', '✶', '✻', '✽'][turn % 5];
        frame.push_str(&format!(
            "\x1b[38;5;174m{spinner} Brewing…\x1b[39m \x1b[2m({}s · esc to interrupt)\x1b[22m",
            turn / 25
        ));
    }
    frame.push_str(&format!(
        "\r\n\x1b[2K\r\n\x1b[2K\x1b[2m{rule}\x1b[22m\r\n\x1b[2K> \r\n\
         \x1b[2K\x1b[2m{rule}\x1b[22m\r\n\x1b[2K  ? for shortcuts\x1b[2A\r\x1b[2C\x1b[?25h"
    ));
    if marks == Marks::Synchronized {
        frame.push_str("\x1b[?2026l");
    }
    frame
}

pub(super) fn log_line(turn: usize) -> String {
    match turn % 4 {
        0 => format!(
            "\x1b[1m\x1b[32m   Compiling\x1b[0m parser-core v0.{}.{}\r\n",
            turn % 40,
            turn % 7
        ),
        1 => format!("test table::row_{turn} ... \x1b[32mok\x1b[0m\r\n"),
        2 => format!(
            "2026-01-04T10:{:02}:{:02}Z  INFO request{{id={turn}}}: read 4096 bytes from shard {} in {} µs\r\n",
            turn / 60 % 60,
            turn % 60,
            turn % 16,
            turn % 977
        ),
        _ => format!(
            "    at src/table/row.rs:{}:{} in function `read_row` called by the scheduler\r\n",
            turn % 900,
            turn % 80
        ),
    }
}

fn unicode_line(turn: usize) -> String {
    const LINES: [&str; 6] = [
        "漢字とかなを混ぜた行を端末に書き出す試験、幅は二つ分です",
        "Příliš žluťoučký kůň úpěl ďábelské ódy, çok güzel bir gün",
        "🦀 🚀 ✅ 👩‍💻 🇯🇵 emoji with joiners and flags, then text",
        "Съешь же ещё этих мягких французских булок, да выпей чаю",
        "e\u{301}a\u{308}o\u{302} combining marks after each letter n\u{303}",
        "한국어 문장을 여러 줄로 출력하면 너비가 두 칸이 된다",
    ];
    format!("{turn:>6} {}\r\n", LINES[turn % LINES.len()])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use missiond_core::PtyState;
    use missiond_pty::Session;
    use missiond_semantic::{Catalogue, Size};

    use super::*;

    #[test]
    fn the_frames_are_read_as_what_they_show() {
        let catalogue = Catalogue::shipped().unwrap();
        let manifest = catalogue.get("claude").unwrap();
        let size = Size {
            columns: 120,
            rows: 40,
        };
        let mut session = Session::new(size, manifest.clone());
        let mut at = Duration::ZERO;
        for marks in [Marks::Synchronized, Marks::None] {
            for (shown, state) in [
                (Shown::Waiting, PtyState::Idle),
                (Shown::Answering, PtyState::Responding),
                (Shown::RunningTool, PtyState::ToolRunning),
                (Shown::Answering, PtyState::Responding),
            ] {
                session.feed(agent_frame(shown, 7, marks).as_bytes(), at, &mut Vec::new());
                at += Duration::from_secs(2);
                session.advance_to(at, &mut Vec::new());
                assert_eq!(
                    session.reader().current().state,
                    state,
                    "{shown:?}, {marks:?}"
                );
            }
        }
    }
}
