//! Importing and exporting. The daemon reads and writes files in its exchange
//! folder alone; a file is copied there first, and taken away again after.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use missiond_api::Client;
use missiond_api::operations::board::{
    BoardExport, BoardExportParams, BoardImport, BoardImportParams, ExportFormat, ImportFormat,
};
use missiond_core::{BoardTaskId, ErrorCode, TaskDraft};
use missiond_os::files;
use serde_json::json;

use super::draft;
use crate::args::{ExportFormatArg, ImportArgs, ImportFormatArg};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, Progress};
use crate::term::counted;

pub(super) fn import(
    args: ImportArgs,
    reach: &Reach,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = args
        .repository
        .as_deref()
        .map(folder::absolute)
        .transpose()?;
    let defaults = TaskDraft {
        repository: draft::repository(named, args.isolation)?,
        isolation: args.isolation,
        labels: draft::some(args.labels),
        ..TaskDraft::default()
    };
    let staged = Staged::copy(&args.file, &reach.home.exchange_dir())?;
    let format = match args.format {
        Some(ImportFormatArg::Jsonl) => ImportFormat::Jsonl,
        Some(ImportFormatArg::Markdown) => ImportFormat::Markdown,
        Some(ImportFormatArg::Beads) => ImportFormat::Beads,
        Some(ImportFormatArg::VibeKanban) => ImportFormat::VibeKanban,
        None => guess(&args.file, &staged.file)?,
    };
    let params = BoardImportParams {
        format,
        text: None,
        file: Some(staged.name),
        defaults,
        dry_run: args.dry_run,
        again: args.again,
    };
    let imported = {
        let _progress = Progress::start(output, "importing");
        client.call::<BoardImport>(&params)?
    };
    output.result(&imported, |output, imported| {
        output.line(match (imported.first, imported.last) {
            (Some(first), Some(last)) => {
                let tasks = counted(imported.tasks, "task is", "tasks are");
                format!("{tasks} on the board: {first} to {last}.")
            }
            _ if args.dry_run => {
                let tasks = counted(imported.tasks, "task", "tasks");
                format!("{tasks} could be imported.")
            }
            _ => "There was nothing to import.".to_owned(),
        });
        if !imported.passed_over.is_empty() {
            output.line(passed_over(&imported.passed_over));
        }
    });
    Ok(())
}

fn passed_over(lines: &[u64]) -> String {
    const NAMED: usize = 10;
    let named: Vec<_> = lines.iter().take(NAMED).map(u64::to_string).collect();
    let more = match lines.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (what, are) = match lines.len() {
        1 => ("Line", "is"),
        _ => ("Lines", "are"),
    };
    format!(
        "{what} {}{more} {are} no task and {} left out.",
        named.join(", "),
        match lines.len() {
            1 => "was",
            _ => "were",
        }
    )
}

pub(super) fn export(
    format: ExportFormatArg,
    to: Option<&Path>,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let format = match format {
        ExportFormatArg::Jsonl => ExportFormat::Jsonl,
        ExportFormatArg::Markdown => ExportFormat::Markdown,
    };
    let exported = client.call::<BoardExport>(&BoardExportParams { format })?;
    let staged = Removed(vec![PathBuf::from(&exported.file)]);
    match to {
        Some(to) => {
            fs::copy(&staged.0[0], to).map_err(|error| unreadable(to, &error))?;
            output.result(&exported, |output, exported| {
                let tasks = counted(exported.tasks, "task is", "tasks are");
                output.line(format!("{tasks} in {}.", to.display()));
            });
        }
        None => {
            let text = fs::read_to_string(&staged.0[0])?;
            let value = json!({"tasks": exported.tasks, "text": text});
            output.result(&value, |output, _| {
                for line in text.lines() {
                    output.line(line);
                }
            });
        }
    }
    Ok(())
}

/// A copy in the exchange folder, removed with this.
struct Staged {
    file: PathBuf,
    name: String,
    _files: Removed,
}

struct Removed(Vec<PathBuf>);

impl Drop for Removed {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}

impl Staged {
    fn copy(from: &Path, folder: &Path) -> Result<Self, Failure> {
        files::create_private_dir(folder)?;
        let name = format!("import-{}", BoardTaskId::generate());
        let file = folder.join(&name);
        // With what SQLite may leave beside a copy of a database.
        let beside = |ending: &str| folder.join(format!("{name}{ending}"));
        let files = Removed(vec![file.clone(), beside("-wal"), beside("-shm")]);
        if from.to_str() == Some("-") {
            copy_to(&file, &mut std::io::stdin())?;
        } else {
            let mut opened = fs::File::open(from).map_err(|error| unreadable(from, &error))?;
            if opened.metadata()?.is_dir() {
                let message = format!("{} is a folder, not a file", from.display());
                return Err(Failure::new(ErrorCode::InvalidParams, message));
            }
            copy_to(&file, &mut opened)?;
            let mut log = from.as_os_str().to_owned();
            log.push("-wal");
            if let Ok(mut log) = fs::File::open(log) {
                copy_to(&beside("-wal"), &mut log)?;
            }
        }
        Ok(Self {
            file,
            name,
            _files: files,
        })
    }
}

fn copy_to(file: &Path, from: &mut impl Read) -> Result<(), Failure> {
    let mut to = files::create_private(file)?;
    std::io::copy(from, &mut to)?;
    to.flush()?;
    Ok(())
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => ErrorCode::NotFound,
        std::io::ErrorKind::PermissionDenied => ErrorCode::Forbidden,
        _ => ErrorCode::Internal,
    };
    Failure::new(code, format!("{}: {error}", file.display()))
}

/// What a file is, by its name and its beginning.
fn guess(named: &Path, copy: &Path) -> Result<ImportFormat, Failure> {
    let mut start = [0; 4096];
    let count = fs::File::open(copy)?.read(&mut start)?;
    let start = &start[..count];
    if start.starts_with(b"SQLite format 3\0") {
        return Ok(ImportFormat::VibeKanban);
    }
    let ending = named.extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("md" | "markdown")) {
        return Ok(ImportFormat::Markdown);
    }
    let text = String::from_utf8_lossy(start);
    Ok(match text.trim_start().starts_with('{') {
        false => ImportFormat::Markdown,
        true if text.contains("\"issue_type\"") => ImportFormat::Beads,
        true => ImportFormat::Jsonl,
    })
}
