//! What a command prints: text for people, or with `--json` one value (or one
//! value a line) for programs. A reader that closes the pipe ends the command
//! without a complaint.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;
use crate::term::{Paint, Style};

#[derive(Debug)]
pub struct Output {
    json: bool,
    pub paint: Paint,
}

impl Output {
    pub fn new(json: bool) -> Self {
        Self {
            json,
            paint: Paint::for_stdout(),
        }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    /// One line of text.
    pub fn line(&mut self, text: impl AsRef<str>) {
        write_line(text.as_ref().as_bytes());
    }

    /// The result: `value` for programs, what `text` prints for people.
    pub fn result<T: Serialize>(&mut self, value: &T, text: impl FnOnce(&mut Self, &T)) {
        if self.json {
            self.json_line(value);
        } else {
            text(self, value);
        }
    }

    pub fn json_line(&mut self, value: &impl Serialize) {
        match serde_json::to_vec(value) {
            Ok(line) => write_line(&line),
            Err(error) => self.line(format!("{{\"error\":{{\"message\":\"{error}\"}}}}")),
        }
    }

    /// From now on a reader that goes away ends the command, also while it has
    /// nothing to print.
    pub fn exit_when_reader_closes(&self) {
        std::thread::spawn(|| {
            use rustix::event::{PollFd, PollFlags, poll};
            let stdout = io::stdout();
            // A file or a terminal never reports this; a pipe or socket does
            // when its other end is closed.
            let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
            while poll(&mut watched, None).is_ok() {
                if watched[0]
                    .revents()
                    .intersects(PollFlags::ERR | PollFlags::HUP)
                {
                    std::process::exit(0);
                }
            }
        });
    }

    /// A table with its columns aligned, the header first.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let mut widths: Vec<_> = (0..header.len())
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
                widest.max(header[column].width())
            })
            .collect();
        if let Some(room) = crate::term::columns() {
            shrink_columns(&mut widths, room);
        }
        let format = |cells: &[String]| {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let cell = fitted(cell, *width);
                line.push_str(&cell);
                line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
            }
            line.trim_end().to_owned()
        };
        let header: Vec<_> = header.iter().map(|name| (*name).to_owned()).collect();
        let header = self.paint.apply(Style::Bold, &format(&header));
        self.line(header);
        for row in rows {
            let row = format(row);
            self.line(row);
        }
    }

    /// Something to know that is not the result. Goes to standard error.
    pub fn notice(&mut self, text: &str) {
        if !self.json {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// A word to a person who looks at an empty screen; not for a file or pipe.
    pub fn notice_on_terminal(&mut self, text: &str) {
        if io::stderr().is_terminal() {
            self.notice(text);
        }
    }

    pub fn failure(&mut self, failure: &Failure) {
        let mut stderr = io::stderr();
        if self.json {
            let value = serde_json::json!({"error": {
                "code": failure.code, "message": failure.message, "hint": failure.hint,
            }});
            let _ = writeln!(stderr, "{value}");
            return;
        }
        let paint = Paint::for_stderr();
        let _ = writeln!(
            stderr,
            "{} {}",
            paint.apply(Style::Red, "error:"),
            failure.message
        );
        if let Some(hint) = &failure.hint {
            let _ = writeln!(stderr, "{} {hint}", paint.apply(Style::Cyan, "hint:"));
        }
    }
}

/// Makes the widest columns narrower until a row has room on the screen.
fn shrink_columns(widths: &mut [usize], room: usize) {
    const MIN_WIDTH: usize = 8;
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > MIN_WIDTH => *widest -= 1,
            _ => return,
        }
    }
}

/// What fits into so many columns of the screen, with a mark where more was.
pub fn fitted(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let mut shown = String::new();
    for c in cell.chars() {
        shown.push(c);
        // Together: characters that join take less room than each alone.
        if shown.width() >= width {
            shown.pop();
            break;
        }
    }
    shown.push('…');
    shown
}

/// Says what is being waited for, once it has taken a second, and takes the
/// words back when it is over. Silent unless a person watches.
#[derive(Debug)]
pub struct Progress {
    done: std::sync::mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Progress {
    pub fn start(output: &Output, what: &str) -> Self {
        let (done, finished) = std::sync::mpsc::channel::<()>();
        let watched = !output.json && io::stderr().is_terminal();
        let what = what.to_owned();
        let thread = watched.then(|| {
            std::thread::spawn(move || {
                let second = std::time::Duration::from_secs(1);
                let mut elapsed = 0;
                while finished.recv_timeout(second)
                    == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    elapsed += 1;
                    let _ = write!(io::stderr(), "\r{what} … {elapsed} s");
                }
                if elapsed > 0 {
                    let _ = write!(io::stderr(), "\r\x1b[K");
                }
            })
        });
        Self { done, thread }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = self.done.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_line(line: &[u8]) {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(line)
        .and_then(|()| stdout.write_all(b"\n"));
    if let Err(error) = written.and_then(|()| stdout.flush()) {
        if error.kind() == io::ErrorKind::BrokenPipe {
            std::process::exit(0);
        }
        let _ = writeln!(
            io::stderr(),
            "error: the output could not be written: {error}"
        );
        std::process::exit(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_gives_up_room_where_it_has_most() {
        let mut widths = [4, 60, 9, 40];
        shrink_columns(&mut widths, 80);
        assert_eq!(widths, [4, 31, 9, 30]);
        assert_eq!(widths.iter().sum::<usize>() + 6, 80);
        let mut narrow = [4, 9];
        shrink_columns(&mut narrow, 10);
        assert_eq!(narrow, [4, 8], "what is left can still be read");
        assert_eq!(fitted("Say goodbye", 6), "Say g…");
        assert_eq!(fitted("Say", 6), "Say");
    }

    #[test]
    fn a_cell_takes_the_room_it_takes_on_the_screen() {
        for (cell, width, shown) in [
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("日本語", 2, "…"),
            ("e\u{301}tude", 5, "e\u{301}tude"),
            ("e\u{301}tude", 4, "e\u{301}tu…"),
        ] {
            let shown_cell = fitted(cell, width);
            assert_eq!(shown_cell, shown);
            assert!(shown_cell.width() <= width);
        }
    }
}
