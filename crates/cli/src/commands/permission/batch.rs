//! `mission permission test --batch FILE`: the lines of a file, each decided by its
//! own rules, without a daemon.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;

use missiond_core::{Clock, ErrorCode, SystemClock, one_line};
use missiond_guard::batch::{Answer, MAX_LINE_BYTES, answer};
use missiond_guard::permissions::Effect;

use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, printable};

pub(super) fn run(file: &Path, output: &mut Output) -> Result<ExitCode, Failure> {
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        let opened = File::open(file).map_err(|error| {
            let message = format!("cannot read {}: {error}", file.display());
            Failure::new(ErrorCode::NotFound, message)
        })?;
        Box::new(opened)
    };
    let mut lines = BufReader::new(input);
    let mut not_understood = 0_u64;
    while let Some(line) = next_line(&mut lines)? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = answer(&line, SystemClock.now());
        not_understood += u64::from(!answer.understood);
        output.result(&answer, print);
    }
    if not_understood == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    output.notice(&format!("{not_understood} of the lines could not be read"));
    Ok(ExitCode::FAILURE)
}

fn print(output: &mut Output, answer: &Answer) {
    let (word, style) = match answer.verdict {
        Effect::Allow => ("allow", Style::Green),
        Effect::Ask => ("ask", Style::Yellow),
        Effect::Deny => ("deny", Style::Red),
    };
    let word = output.paint.apply(style, word);
    let id = answer
        .id
        .as_str()
        .map_or_else(|| answer.id.to_string(), str::to_owned);
    let reason = one_line(&answer.reason);
    output.line(format!(
        "{}  {word}: {}",
        printable(&id),
        printable(&reason)
    ));
}

/// The next line without its end. Of one that is too long no more than what shows
/// that it is so is kept.
fn next_line(lines: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let room = u64::try_from(MAX_LINE_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(2);
    if lines.by_ref().take(room).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        loop {
            let rest = lines.fill_buf()?;
            if rest.is_empty() {
                break;
            }
            let end = rest.iter().position(|byte| *byte == b'\n');
            let read = end.map_or(rest.len(), |end| end + 1);
            lines.consume(read);
            if end.is_some() {
                break;
            }
        }
    } else {
        line.pop();
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_is_read() {
        let long = vec![b'x'; 3 * MAX_LINE_BYTES];
        let text = [b"a\n".as_slice(), &long, b"\n\nb"].concat();
        let mut lines = BufReader::new(&text[..]);
        let mut read = Vec::new();
        while let Some(line) = next_line(&mut lines).unwrap() {
            read.push(line.len());
        }
        assert_eq!(read, [1, MAX_LINE_BYTES + 2, 0, 1]);
    }
}
