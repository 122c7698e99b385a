//! Colours, only where a person looks and did not ask for none.

use std::io::IsTerminal;

use missiond_core::{Timestamp, is_deceptive};

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

    /// Whether anything is painted.
    #[must_use]
    pub const fn is_on(self) -> bool {
        self.0
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

/// Text from elsewhere, made safe to print: a stored event could move the cursor, or
/// turn round the order in which its letters are read.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if is_deceptive(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// A moment on this machine's clock: the time of one of today, date and time of any
/// other.
pub fn moment(at: Timestamp) -> String {
    seen_from(&jiff::Zoned::now(), at, "%H:%M")
}

/// The same to the second, for what happens in quick order.
pub fn moment_with_seconds(at: Timestamp) -> String {
    seen_from(&jiff::Zoned::now(), at, "%H:%M:%S")
}

fn seen_from(now: &jiff::Zoned, at: Timestamp, clock: &str) -> String {
    let Ok(moment) = jiff::Timestamp::from_microsecond(at.as_micros()) else {
        return at.to_string();
    };
    let moment = moment.to_zoned(now.time_zone().clone());
    if moment.date() == now.date() {
        moment.strftime(clock).to_string()
    } else {
        moment.strftime(&format!("%Y-%m-%d {clock}")).to_string()
    }
}

/// Millionths of a dollar, to the cent.
pub fn dollars(microdollars: u64) -> String {
    if (1..5_000).contains(&microdollars) {
        return "under $0.01".to_owned();
    }
    let cents = microdollars.saturating_add(5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// So many of something: `1 agent`, `2 agents`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    let word = if number == 1 { one } else { many };
    format!("{number} {word}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_the_time_of_today_and_the_date_of_other_days() {
        let now: jiff::Zoned = "2026-01-04T12:00+02:00[+02:00]".parse().unwrap();
        let seen = |text: &str| seen_from(&now, text.parse().unwrap(), "%H:%M");
        assert_eq!(seen("2026-01-04T07:05:59Z"), "09:05");
        assert_eq!(seen("2026-01-03T21:59:59Z"), "2026-01-03 23:59");
        assert_eq!(seen("2026-01-03T22:00:00Z"), "00:00");
        let exact = seen_from(&now, "2026-01-03T21:59:58Z".parse().unwrap(), "%H:%M:%S");
        assert_eq!(exact, "2026-01-03 23:59:58");
    }

    #[test]
    fn money_is_rounded_to_the_cent_and_never_to_nothing() {
        assert_eq!(dollars(0), "$0.00");
        assert_eq!(dollars(4_999), "under $0.01");
        assert_eq!(dollars(5_000), "$0.01");
        assert_eq!(dollars(1_234_567), "$1.23");
        assert_eq!(dollars(1_999_999), "$2.00");
        assert_eq!(
            [1, 2].map(|n| counted(n, "agent", "agents")),
            ["1 agent", "2 agents"]
        );
    }
}
