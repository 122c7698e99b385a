//! `mission guard scan`: where secrets stand in files, without a daemon. What a secret is,
//! is decided in `missiond-secrets`; here is decided which files are read and how what was
//! found is told. The secret itself is never printed.

mod inspect;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use missiond_core::ErrorCode;
use missiond_secrets::{Detector, Finding};
use serde::Serialize;

use crate::args::{GuardCommand, ScanArgs};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{counted, printable};

/// A line that says one of these holds no secret, says whoever wrote it.
const ALLOWED: [&[u8]; 2] = [b"guard:allow", b"gitleaks:allow"];

/// Where a secret is.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Found {
    file: String,
    /// Counted from 1.
    line: usize,
    /// Bytes of the line before it.
    start: usize,
    /// Bytes of the line up to its end.
    end: usize,
    kind: &'static str,
    /// The last line, of one that goes on behind the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
}

pub(super) fn run(command: &GuardCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        GuardCommand::Scan(args) => scan(args, output),
        GuardCommand::Inspect(args) => inspect::run(args, output),
    }
}

fn scan(args: &ScanArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    let detector = Detector::current();
    let mut scanned = Scanned::default();
    if args.staged {
        scan_staged(&detector, &mut scanned, output)?;
    } else {
        scan_files(args, &detector, &mut scanned, output)?;
    }
    let files = counted(scanned.files, "file", "files");
    if scanned.findings == 0 {
        output.notice(&format!("no secrets in {files}"));
        return Ok(ExitCode::SUCCESS);
    }
    let findings = counted(scanned.findings, "secret", "secrets");
    output.notice(&format!("{findings} in {files}"));
    Ok(ExitCode::from(1))
}

#[derive(Debug, Default)]
struct Scanned {
    files: u64,
    findings: u64,
}

impl Scanned {
    fn tell(&mut self, found: &[Found], output: &mut Output) {
        self.files += 1;
        self.findings += found.len() as u64;
        for one in found {
            if output.is_json() {
                output.json_line(one);
            } else {
                let file = printable(&one.file);
                output.line(format!(
                    "{file}:{}:{}: {}",
                    one.line,
                    one.start + 1,
                    one.kind
                ));
            }
        }
    }
}

fn scan_files(
    args: &ScanArgs,
    detector: &Detector,
    scanned: &mut Scanned,
    output: &mut Output,
) -> Result<(), Failure> {
    each_file(&args.files, output, |name, text, output| {
        scanned.tell(&found_in(name, text, detector), output);
    })
}

/// Reads what is named, and of folders the files that are text.
fn each_file(
    named: &[PathBuf],
    output: &mut Output,
    mut look: impl FnMut(&str, &[u8], &mut Output),
) -> Result<(), Failure> {
    let here = [PathBuf::from(".")];
    let named = if named.is_empty() { &here[..] } else { named };
    for path in named {
        if path.as_os_str() == "-" {
            let mut text = Vec::new();
            std::io::stdin().lock().read_to_end(&mut text)?;
            look("-", &text, output);
            continue;
        }
        let kind = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if !kind.is_dir() {
            let text = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
            look(&path.to_string_lossy(), &text, output);
            continue;
        }
        let files = match files_of_git(path) {
            Some(files) => files,
            None => files_below(path)?,
        };
        for file in files {
            // What went away meanwhile, or is a link or a submodule, is no file of ours.
            let regular = std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
            let Ok(text) = (if regular {
                std::fs::read(&file)
            } else {
                continue;
            }) else {
                output.notice(&format!("{} cannot be read", file.display()));
                continue;
            };
            if !is_binary(&text) {
                let name = file.strip_prefix(".").unwrap_or(&file).to_string_lossy();
                look(&name, &text, output);
            }
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{}: {error}", printable(&path.to_string_lossy()));
    Failure::new(ErrorCode::NotFound, message)
}

/// The files below a folder that git knows or would add; nothing outside of a repository.
fn files_of_git(folder: &Path) -> Option<Vec<PathBuf>> {
    let listed = git(
        folder,
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    )?;
    let mut files: Vec<PathBuf> = listed
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| folder.join(String::from_utf8_lossy(name).as_ref()))
        .collect();
    files.sort();
    files.dedup();
    Some(files)
}

/// Every file below a folder without git, in order; links are not followed.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_binary(text: &[u8]) -> bool {
    text[..text.len().min(8192)].contains(&0)
}

/// What the next commit adds: of each staged file the lines that are new.
fn scan_staged(
    detector: &Detector,
    scanned: &mut Scanned,
    output: &mut Output,
) -> Result<(), Failure> {
    let here = Path::new(".");
    let names = git(
        here,
        &[
            "diff",
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--diff-filter=AM",
            "--relative",
        ],
    )
    .ok_or_else(|| Failure::new(ErrorCode::NotFound, "this folder is in no git repository"))?;
    for name in names
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
    {
        let name = String::from_utf8_lossy(name);
        let path = format!(":./{name}");
        let Some(text) = git(here, &["show", "--no-textconv", &path]) else {
            continue;
        };
        let difference = git(
            here,
            &[
                "diff",
                "--cached",
                "-U0",
                "--no-color",
                "--no-ext-diff",
                "--no-textconv",
                "--no-renames",
                "--relative",
                "--",
                &name,
            ],
        );
        let added = added_lines(&difference.unwrap_or_default());
        if !is_binary(&text) {
            let mut found = found_in(&name, &text, detector);
            found.retain(|one| {
                let last = one.end_line.unwrap_or(one.line);
                added
                    .iter()
                    .any(|&(first, after)| one.line < after && last >= first)
            });
            scanned.tell(&found, output);
        }
    }
    Ok(())
}

/// The ranges of lines that a difference adds: the first, and the one behind the last.
fn added_lines(difference: &[u8]) -> Vec<(usize, usize)> {
    let text = String::from_utf8_lossy(difference);
    let ranges = text.lines().filter_map(|line| {
        let added = line
            .strip_prefix("@@ -")?
            .split_once(" +")?
            .1
            .split_once(" @@")?
            .0;
        let (first, count) = added.split_once(',').unwrap_or((added, "1"));
        let first: usize = first.parse().ok()?;
        Some((first, first + count.parse::<usize>().ok()?))
    });
    ranges.collect()
}

/// What git says, without the variables that would lead it elsewhere than to the folder.
fn git(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(["-c", "core.quotePath=false"])
        .args(arguments);
    let done = command.output().ok()?;
    done.status.success().then_some(done.stdout)
}

/// Every secret of one file.
fn found_in(file: &str, text: &[u8], detector: &Detector) -> Vec<Found> {
    let mut lines = Lines {
        text,
        line: 1,
        begin: 0,
    };
    detector
        .scan_terminal(text)
        .iter()
        .filter_map(|finding| lines.place(file, finding))
        .collect()
}

/// Counts lines up to each finding, which come in order.
struct Lines<'a> {
    text: &'a [u8],
    line: usize,
    begin: usize,
}

impl Lines<'_> {
    fn place(&mut self, file: &str, finding: &Finding) -> Option<Found> {
        while let Some(end) = self.end_of_line(self.begin)
            && end < finding.start
        {
            self.line += 1;
            self.begin = end + 1;
        }
        let line_end = self.end_of_line(self.begin).unwrap_or(self.text.len());
        let line = &self.text[self.begin..line_end];
        if ALLOWED
            .iter()
            .any(|word| line.windows(word.len()).any(|found| found == *word))
        {
            return None;
        }
        let more = self.text[finding.start..finding.end]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Some(Found {
            file: file.to_owned(),
            line: self.line,
            start: finding.start - self.begin,
            end: finding.end.min(line_end) - self.begin,
            kind: finding.kind(),
            end_line: (more > 0).then_some(self.line + more),
        })
    }

    fn end_of_line(&self, from: usize) -> Option<usize> {
        let rest = self.text.get(from..)?;
        rest.iter()
            .position(|&byte| byte == b'\n')
            .map(|length| from + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_by_line_and_bytes() {
        let token = ["ghp_", "k3Xq9Lw2Rt7VbNcQf5HjZpGs1YuE8oDmKiAb"].concat();
        let key = ["-----BEGIN PRIVATE ", "KEY-----"].concat();
        let text = format!(
            "é = {token}\nb = {token} # guard:allow\n\n{key}\nMIIEvgIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END"
        );
        let found = found_in("x", text.as_bytes(), &Detector::current());
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.line, one.start, one.end, one.kind, one.end_line))
            .collect();
        assert_eq!(
            found,
            [
                (1, 5, 5 + token.len(), "github-token", None),
                (4, 0, key.len(), "private-key", Some(7)),
            ]
        );
    }

    #[test]
    fn the_lines_a_difference_adds_are_read_from_its_hunks() {
        let difference =
            b"--- a/x\n+++ b/x\n@@ -0,0 +1,3 @@\n+a\n@@ -5 +9 @@ fn x\n+b\n@@ -7,2 +11,0 @@\n";
        assert_eq!(added_lines(difference), [(1, 4), (9, 10), (11, 11)]);
    }
}
