use std::fs::File;
use std::path::PathBuf;

use super::*;

fn line(number: usize, level: &str) -> String {
    format!(
        "{{\"timestamp\":\"2026-01-04T12:00:00.000000Z\",\"level\":\"{level}\",\
         \"target\":\"missiond\",\"message\":\"line {number}\",\"count\":{number}}}\n"
    )
}

/// A log of three files, oldest lines first.
fn log(folder: &Path, lines: usize) -> PathBuf {
    let log = folder.join("daemon.log");
    let third = lines.div_ceil(3);
    for (index, name) in ["daemon.log.2", "daemon.log.1", "daemon.log"]
        .iter()
        .enumerate()
    {
        let numbers = index * third..((index + 1) * third).min(lines);
        let text: String = numbers
            .map(|number| line(number, if number % 10 == 0 { "WARN" } else { "INFO" }))
            .collect();
        std::fs::write(folder.join(name), text).unwrap();
    }
    log
}

fn messages(read: &Read) -> Vec<String> {
    let lines = read.lines.iter();
    lines.map(|line| line.message.clone()).collect()
}

fn all(lines: usize) -> Vec<String> {
    (0..lines).map(|number| format!("line {number}")).collect()
}

#[test]
fn pages_from_the_end_and_onwards_show_every_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 100);
    for limit in [1, 7, 33, 34, 100, 1000] {
        let mut back: Vec<String> = Vec::new();
        let mut from = From::End;
        loop {
            let read = read(&log, from, &LogFilter::default(), limit).unwrap();
            back.splice(0..0, messages(&read));
            match read.older {
                Some(place) => from = From::Before(place),
                None => break,
            }
        }
        assert_eq!(back, all(100), "{limit}");
        let mut forth = Vec::new();
        let gone = LogPosition { file: 1, offset: 0 };
        let mut place = gone;
        loop {
            let read = read(&log, From::After(place), &LogFilter::default(), limit).unwrap();
            if read.lines.is_empty() {
                break;
            }
            forth.extend(messages(&read));
            place = read.newer;
        }
        assert_eq!(forth, all(100), "{limit}");
    }
}

#[test]
fn lines_are_chosen_by_level_and_words() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 100);
    let wanted = LogFilter {
        level: Some(LogLevel::Warn),
        text: None,
    };
    let warned = read(&log, From::End, &wanted, 3).unwrap();
    assert_eq!(messages(&warned), ["line 70", "line 80", "line 90"]);
    let wanted = LogFilter {
        level: None,
        text: Some("ine 42".to_owned()),
    };
    let found = read(&log, From::End, &wanted, 3).unwrap();
    assert_eq!(messages(&found), ["line 42"]);
    assert_eq!(found.older, None);
    assert_eq!(found.lines[0].fields["count"], 42);
    assert!(found.lines[0].at.is_some());
}

#[test]
fn what_comes_while_files_are_set_aside_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 9);
    let first = read(&log, From::End, &LogFilter::default(), 1).unwrap();
    assert_eq!(messages(&first), ["line 8"]);
    // An unfinished line waits until it is whole.
    let more = |text: &str| {
        use std::io::Write;
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let ninth = line(9, "INFO");
    more(&ninth[..20]);
    let next = |place| read(&log, From::After(place), &LogFilter::default(), 10).unwrap();
    let second = next(first.newer);
    assert_eq!(messages(&second), [""; 0]);
    assert_eq!(
        messages(&read(&log, From::End, &LogFilter::default(), 1).unwrap()),
        ["line 8"]
    );
    more(&ninth[20..]);
    std::fs::rename(&log, folder.path().join("daemon.log.1")).unwrap();
    more(&line(10, "INFO"));
    let third = next(second.newer);
    assert_eq!(messages(&third), ["line 9", "line 10"]);
    assert_eq!(messages(&next(third.newer)), [""; 0]);
}

#[test]
fn lines_that_are_none_of_ours_and_endless_ones_are_shown_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("daemon.log");
    let endless = "x".repeat(3 << 20);
    std::fs::write(&log, format!("before\n{endless}\nafter\n")).unwrap();
    let found = read(&log, From::End, &LogFilter::default(), 10).unwrap();
    let heads: Vec<_> = found.lines.iter().map(|line| &line.message[..3]).collect();
    assert_eq!(heads, ["bef", "xxx", "aft"]);
    assert!(found.lines[1].message.len() < 10_000);
    let absent = folder.path().join("none.log");
    let nothing = read(&absent, From::End, &LogFilter::default(), 10).unwrap();
    assert_eq!((nothing.lines.len(), nothing.older), (0, None));
}
