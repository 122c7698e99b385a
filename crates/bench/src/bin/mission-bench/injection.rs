//! How well text that tries to command is told from ordinary text: on a corpus made by
//! code, on ordinary source, logs and terminal output made by code, and on files that are
//! named. A text counts as found when it would be marked.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use missiond_console::failure::Failure;
use missiond_core::ErrorCode;
use missiond_guard::injection::corpus::samples;
use missiond_guard::injection::{Verdict, inspect, rules};
use missiond_secrets::corpus::{Sort, text};
use serde_json::Value;

use crate::Report;

/// Ordinary text is read in pieces of so many bytes.
const PIECE: usize = 4_000;
/// Ordinary text that is made, of each sort.
const MADE: usize = 2 << 20;

pub(super) struct Texts<'a> {
    /// Hostile texts that are made; as many ordinary ones come with them.
    pub(super) made: usize,
    pub(super) hostile: &'a [PathBuf],
    pub(super) ordinary: &'a [PathBuf],
}

#[derive(Debug, Default)]
struct Count {
    all: u32,
    marked: u32,
    held: u32,
}

impl Count {
    fn take(&mut self, text: &str) {
        let verdict = inspect(text).verdict();
        self.all += 1;
        self.marked += u32::from(verdict != Verdict::Plain);
        self.held += u32::from(verdict == Verdict::Held);
    }

    fn share(&self, part: u32) -> f64 {
        f64::from(part) / f64::from(self.all.max(1))
    }
}

pub(super) fn measure(texts: &Texts<'_>, report: &mut Report) -> Result<(), Failure> {
    let (mut hostile, mut ordinary) = (Count::default(), Count::default());
    for sample in samples(41, texts.made) {
        let count = if sample.hostile {
            &mut hostile
        } else {
            &mut ordinary
        };
        count.take(&sample.text);
    }
    report.condition("injection_rules", rules().len());
    report.condition("injection_texts", hostile.all);
    report.condition("injection_ordinary", ordinary.all);
    report.exact("injection_recall", hostile.share(hostile.marked));
    report.exact("injection_held", hostile.share(hostile.held));
    report.exact("injection_false_alarms", ordinary.share(ordinary.marked));
    let mut plain = Count::default();
    let mut bytes = 0;
    let began = Instant::now();
    for sort in [Sort::Source, Sort::Logs, Sort::Terminal] {
        let made = text(sort, MADE);
        let made = String::from_utf8_lossy(&made);
        bytes += made.len();
        in_pieces(&made, &mut plain);
    }
    let rate = bytes as f64 / 1e6 / began.elapsed().as_secs_f64();
    report.metric("inspect_mb_per_s", rate);
    report.exact("injection_false_alarms_made", plain.share(plain.marked));
    if !texts.hostile.is_empty() {
        let mut named = Count::default();
        each_text(texts.hostile, &mut |text| named.take(text))?;
        report.condition("injection_texts_named", named.all);
        report.exact("injection_recall_named", named.share(named.marked));
    }
    if !texts.ordinary.is_empty() {
        let mut named = Count::default();
        each_file(texts.ordinary, &mut |_, text| in_pieces(text, &mut named))?;
        report.condition("injection_ordinary_named", named.all);
        report.exact("injection_false_alarms_named", named.share(named.marked));
    }
    Ok(())
}

fn in_pieces(mut text: &str, count: &mut Count) {
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE.min(text.len())));
        count.take(piece);
        text = rest;
    }
}

/// Every text of the files: of JSON each string, of JSON lines each line's, else the file.
fn each_text(named: &[PathBuf], take: &mut impl FnMut(&str)) -> Result<(), Failure> {
    each_file(named, &mut |path, text| {
        let ends = |end| path.extension().is_some_and(|found| found == end);
        if ends("json")
            && let Ok(value) = serde_json::from_str(text)
        {
            strings(&value, take);
        } else if ends("jsonl") {
            let values = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            values.for_each(|value| strings(&value, take));
        } else {
            take(text);
        }
    })
}

fn strings(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, take)),
        Value::Object(members) => members.values().for_each(|member| strings(member, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text files that are named, and those below the folders that are; what is hidden, a
/// link or no text is passed over.
fn each_file(named: &[PathBuf], take: &mut impl FnMut(&Path, &str)) -> Result<(), Failure> {
    let mut waiting = named.to_vec();
    while let Some(path) = waiting.pop() {
        let unreadable = |error: std::io::Error| {
            Failure::new(ErrorCode::NotFound, format!("{}: {error}", path.display()))
        };
        let kind = fs::symlink_metadata(&path).map_err(unreadable)?;
        if kind.is_dir() {
            for entry in fs::read_dir(&path).map_err(unreadable)? {
                let entry = entry?;
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    waiting.push(entry.path());
                }
            }
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(&path)
        {
            take(&path, &text);
        }
    }
    Ok(())
}
