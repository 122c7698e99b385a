//! Colours, only where a person looks and did not ask for none.

use std::io::IsTerminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// Whether this stream takes colours.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

/// How wide the terminal is that standard output goes to; none for a file or pipe.
pub fn columns() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let columns = rustix::termios::tcgetwinsize(&stdout)
        .ok()
        .map(|size| size.ws_col);
    columns.filter(|columns| *columns > 0).map(usize::from)
}

impl Paint {
    /// For a stream that takes none.
    #[must_use]
    pub const fn plain() -> Self {
        Self(false)
    }

    pub fn for_stdout() -> Self {
        Self(std::io::stdout().is_terminal() && wanted())
    }

    pub fn for_stderr() -> Self {
        Self(std::io::stderr().is_terminal() && wanted())
    }

    pub fn apply(self, style: Style, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Green => 32,
            Style::Yellow => 33,
            Style::Cyan => 36,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Text from elsewhere, made safe to print: control characters would let a
/// stored event move the cursor or worse.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// A duration as a person says it.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}
