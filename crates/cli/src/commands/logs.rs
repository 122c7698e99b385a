//! `mission daemon logs`: reads the files, so it works when nothing else does.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use missiond_core::{ErrorCode, Timestamp};
use serde_json::Value;

use crate::args::{Level, LogsArgs};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, moment_with_seconds, printable};

const POLL: Duration = Duration::from_millis(200);

pub(super) fn logs(
    args: &LogsArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let path = reach.logged_home().log_file();
    let files: Vec<_> = missiond_log::files(&path).rev().collect();
    if files.is_empty() && !args.follow {
        let message = format!("there is no log yet at {}", path.display());
        return Err(
            Failure::new(ErrorCode::NotFound, message).hint("`mission up` starts the daemon")
        );
    }
    let mut last = VecDeque::with_capacity(args.lines.min(10_000));
    for file in &files {
        for line in BufReader::new(File::open(file)?).lines() {
            let line = line?;
            if at_least(&line, args.level) {
                if last.len() == args.lines {
                    last.pop_front();
                }
                last.push_back(line);
            }
        }
    }
    for line in last.into_iter().take(args.lines) {
        show(&line, output);
    }
    if args.follow {
        output.exit_when_reader_closes();
        follow(&path, args.level, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints lines as they come, over rotations.
fn follow(path: &Path, level: Option<Level>, output: &mut Output) -> io::Result<()> {
    let mut position = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut partial = String::new();
    loop {
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if length < position {
            // Set aside and begun anew.
            position = 0;
            partial.clear();
        }
        if length > position {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(position))?;
            let mut reader = BufReader::new(file);
            while reader.read_line(&mut partial)? > 0 {
                if !partial.ends_with('\n') {
                    break;
                }
                let line = partial.trim_end().to_owned();
                partial.clear();
                if at_least(&line, level) {
                    show(&line, output);
                }
            }
            position = reader.stream_position()?;
        }
        std::thread::sleep(POLL);
    }
}

fn at_least(line: &str, wanted: Option<Level>) -> bool {
    let Some(wanted) = wanted else { return true };
    let level = serde_json::from_str::<Value>(line).ok().and_then(|value| {
        Some(match value.get("level")?.as_str()? {
            "TRACE" => Level::Trace,
            "DEBUG" => Level::Debug,
            "INFO" => Level::Info,
            "WARN" => Level::Warn,
            _ => Level::Error,
        })
    });
    // A line that is not ours is shown: it is likely what one looks for.
    level.is_none_or(|level| level >= wanted)
}

fn show(line: &str, output: &mut Output) {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else {
        output.line(printable(line));
        return;
    };
    if output.is_json() {
        output.line(line);
        return;
    }
    let mut take = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (time, level, message) = (take("timestamp"), take("level"), take("message"));
    // Where in the sources it was written is for whoever reads the file itself.
    fields.retain(|name, _| name != "target" && !name.starts_with("log."));
    let style = match level.as_str() {
        "ERROR" => Style::Red,
        "WARN" => Style::Yellow,
        _ => Style::Dim,
    };
    let rest: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", short(value)))
        .collect();
    let level = output.paint.apply(style, &format!("{level:<5}"));
    let rest = output.paint.apply(Style::Dim, &printable(&rest.join(" ")));
    let time = local(&time);
    output.line(format!("{time} {level} {} {rest}", printable(&message)).trim_end());
}

/// On this machine's clock, as all times for people are.
fn local(time: &str) -> String {
    let at = serde_json::from_value::<Timestamp>(Value::from(time));
    at.map_or_else(|_| printable(time), moment_with_seconds)
}

/// A value without quotes where it needs none, and a number without digits that no one reads.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '=']) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            format!("{number:.1}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_for_people_has_no_more_digits_and_quotes_than_it_needs() {
        assert_eq!(short(&json!(128.405_500_000_000_02)), "128.4");
        assert_eq!(short(&json!(7)), "7");
        assert_eq!(short(&json!("board_add")), "board_add");
        assert_eq!(short(&json!("two words")), "\"two words\"");
        assert_eq!(short(&json!("")), "\"\"");
        assert!(!local("2026-11-18T15:28:11.237603Z").contains('T'));
        assert_eq!(local("yesterday"), "yesterday");
    }
}
