//! `mission kb import` and `export`: files of entries, one entry at a time, so
//! that an import that is interrupted has kept what it said it kept and is
//! finished by running it again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use missiond_api::Client;
use missiond_api::operations::knowledge::{
    KbChange, KbDraft, KbEntry, KbExport, KbExportParams, KbRemember,
};
use missiond_core::ErrorCode;
use missiond_knowledge::transfer::{Draft, read_jsonl, read_markdown, write_jsonl, write_markdown};
use missiond_operations::wire_draft;
use serde_json::json;

use crate::args::KbFormat;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::term::counted;

/// A file of notes that is larger is none.
const LARGEST_FILE: u64 = 256 << 20;

pub(super) fn import(
    paths: &[PathBuf],
    scope: Option<&str>,
    client: &mut Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    // Everything is read before anything is remembered: a broken file adds
    // nothing.
    let mut drafts = Vec::new();
    for path in paths {
        for file in files(path)? {
            drafts.extend(read(&file)?);
        }
    }
    let (mut added, mut revised, mut unchanged, mut masked) = (0, 0, 0, 0);
    {
        let entries = counted(drafts.len() as u64, "entry", "entries");
        let _progress = Progress::start(output, &format!("remembering {entries}"));
        for draft in drafts {
            let result = client.call::<KbRemember>(&wire(draft, scope))?;
            masked += result.masked;
            match result.change {
                KbChange::Added => added += 1,
                KbChange::Revised => revised += 1,
                KbChange::Unchanged => unchanged += 1,
            }
        }
    }
    let result =
        json!({"added": added, "revised": revised, "unchanged": unchanged, "masked": masked});
    output.result(&result, |output, _| {
        output.line(format!(
            "{added} added, {revised} revised, {unchanged} known already."
        ));
        if masked > 0 {
            let secrets = counted(masked as u64, "secret was", "secrets were");
            output.line(format!("{secrets} taken out."));
        }
    });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn export(
    format: KbFormat,
    client: &mut Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut after = None;
    loop {
        let page = client.call::<KbExport>(&KbExportParams { after })?;
        after = page.entries.last().map(|entry| entry.id);
        let drafts: Vec<Draft> = page.entries.into_iter().map(draft).collect();
        let text = match format {
            KbFormat::Jsonl => write_jsonl(&drafts),
            KbFormat::Markdown => write_markdown(&drafts),
        };
        for line in text.lines() {
            output.line(line);
        }
        if !page.more {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// The files of a path: itself, or what a folder has directly in it.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let problem = |error: std::io::Error| {
        Failure::new(
            ErrorCode::NotFound,
            format!("{} cannot be read: {error}", path.display()),
        )
    };
    if !fs::metadata(path).map_err(problem)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(problem)? {
        let file = entry.map_err(problem)?.path();
        let fits = file
            .extension()
            .is_some_and(|ending| ending == "md" || ending == "jsonl");
        if fits && fs::metadata(&file).is_ok_and(|metadata| metadata.is_file()) {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}

fn read(file: &Path) -> Result<Vec<Draft>, Failure> {
    let problem = |problem: &dyn std::fmt::Display| {
        Failure::new(
            ErrorCode::InvalidParams,
            format!("{}: {problem}", file.display()),
        )
    };
    let metadata = fs::metadata(file).map_err(|error| problem(&error))?;
    if metadata.len() > LARGEST_FILE {
        return Err(problem(&"larger than 256 MB"));
    }
    let bytes = fs::read(file).map_err(|error| problem(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| problem(&"not text in UTF-8"))?;
    let name = file
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let drafts = match file.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl") => read_jsonl(&text),
        Some("md") => read_markdown(&name, &text),
        _ => return Err(problem(&"neither .jsonl nor .md")),
    };
    drafts.map_err(|error| problem(&error))
}

fn wire(draft: Draft, scope: Option<&str>) -> KbDraft {
    let wire = wire_draft(draft);
    KbDraft {
        scope: wire.scope.or_else(|| scope.map(str::to_owned)),
        tier: wire.tier.map(|tier| tier.min(super::kb::most_believed())),
        ..wire
    }
}

fn draft(entry: KbEntry) -> Draft {
    Draft {
        key: Some(entry.key),
        category: entry.category,
        summary: entry.summary,
        detail: entry.detail,
        labels: entry.labels,
        scope: entry.scope.unwrap_or_default(),
        source: Some(entry.source),
        conversation: entry.conversation,
        turn: entry.turn,
        author: Some(entry.author),
        tier: entry.tier,
    }
}
