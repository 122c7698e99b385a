//! `mission guard scan`: where secrets stand in files, without a daemon. What a secret is,
//! is decided in `missiond-secrets`; here is decided which files are read and how what was
//! found is told. The secret itself is never printed.

mod inspect;
mod pieces;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use missiond_core::ErrorCode;
use missiond_secrets::Detector;
use serde::Serialize;

use crate::args::{GuardCommand, ScanArgs};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{counted, printable};

use pieces::Sizes;

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
    fn tell(&mut self, one: &Found, output: &mut Output) {
        self.findings += 1;
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

fn scan_files(
    args: &ScanArgs,
    detector: &Detector,
    scanned: &mut Scanned,
    output: &mut Output,
) -> Result<(), Failure> {
    each_file(&args.files, output, |name, source, output| {
        scanned.files += 1;
        pieces::find(name, source, detector, Sizes::default(), &mut |found| {
            scanned.tell(&found, output);
        })
    })
}

/// Opens what is named, and of folders the files that are text.
fn each_file(
    named: &[PathBuf],
    output: &mut Output,
    mut look: impl FnMut(&str, &mut dyn Read, &mut Output) -> io::Result<()>,
) -> Result<(), Failure> {
    let here = [PathBuf::from(".")];
    let named = if named.is_empty() { &here[..] } else { named };
    for path in named {
        if path.as_os_str() == "-" {
            look("-", &mut io::stdin().lock(), output)?;
            continue;
        }
        let kind = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if !kind.is_dir() {
            File::open(path)
                .and_then(|mut file| look(&path.to_string_lossy(), &mut file, output))
                .map_err(|error| unreadable(path, &error))?;
            continue;
        }
        let files = match files_of_git(path) {
            Some(files) => files,
            None => files_below(path)?,
        };
        for file in files {
            // What went away meanwhile, or is a link or a submodule, is no file of ours.
            let regular = std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
            if !regular {
                continue;
            }
            let looked = open_text(&file).and_then(|text| {
                let Some(mut text) = text else {
                    return Ok(());
                };
                let name = file.strip_prefix(".").unwrap_or(&file).to_string_lossy();
                look(&name, &mut text, output)
            });
            if looked.is_err() {
                output.notice(&format!("{} cannot be read", file.display()));
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

/// How much of a file says whether it is text.
const LOOKED_AT: usize = 8192;

/// A file, if it is text.
fn open_text(file: &Path) -> io::Result<Option<BufReader<File>>> {
    let mut file = BufReader::with_capacity(LOOKED_AT, File::open(file)?);
    let is_text = !file.fill_buf()?.contains(&0);
    Ok(is_text.then_some(file))
}

fn is_binary(text: &[u8]) -> bool {
    text[..text.len().min(LOOKED_AT)].contains(&0)
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
            scanned.files += 1;
            let is_added = |one: &Found| {
                let last = one.end_line.unwrap_or(one.line);
                added
                    .iter()
                    .any(|&(first, after)| one.line < after && last >= first)
            };
            let sizes = Sizes::default();
            pieces::find(&name, &mut text.as_slice(), detector, sizes, &mut |found| {
                if is_added(&found) {
                    scanned.tell(&found, output);
                }
            })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_a_difference_adds_are_read_from_its_hunks() {
        let difference =
            b"--- a/x\n+++ b/x\n@@ -0,0 +1,3 @@\n+a\n@@ -5 +9 @@ fn x\n+b\n@@ -7,2 +11,0 @@\n";
        assert_eq!(added_lines(difference), [(1, 4), (9, 10), (11, 11)]);
    }
}
