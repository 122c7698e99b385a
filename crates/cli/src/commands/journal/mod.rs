//! `mission journal …`: looks at journals where they lie, without the daemon and
//! beside one that writes. Nothing here changes anything.

mod diff;
mod location;
mod verify;

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use missiond_core::ErrorCode;
use missiond_journal::inspect::{self, ExportError, ExportForm};
use missiond_journal::replay::{Replayed, replay_until};
use missiond_journal::store::StoreError;
use missiond_journal::{Record, RecordKind, ReplayError, Sequence, narrate};
use missiond_os::files::open_private_output;
use serde_json::{Value, json};

use crate::args::{JournalCommand, JournalFormat};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, moment_with_seconds, printable};
use location::JournalLocation;

pub(super) fn run(command: JournalCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        JournalCommand::Show {
            journal,
            after,
            limit,
            kinds,
        } => show(
            &JournalLocation::of(&journal.journal)?,
            after,
            limit,
            &kinds,
            output,
        ),
        JournalCommand::Verify { journals, all } => verify::verify(&journals, all, output),
        JournalCommand::Replay { journal, at } => {
            replay(&JournalLocation::of(&journal.journal)?, at, output)
        }
        JournalCommand::Export {
            journal,
            format,
            output: file,
        } => export(
            &JournalLocation::of(&journal.journal)?,
            format,
            file.as_deref(),
            output,
        ),
        JournalCommand::Diff {
            left,
            right,
            from,
            to,
            limit,
        } => {
            let left = JournalLocation::of(&left)?;
            match (right, from) {
                (Some(right), _) => {
                    diff::journals(&left, &JournalLocation::of(&right)?, limit, output)
                }
                (None, from) => diff::moments(&left, from.unwrap_or_default(), to, output),
            }
        }
    }
}

fn show(
    location: &JournalLocation,
    after: Sequence,
    limit: u32,
    kinds: &[RecordKind],
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut left = limit;
    let (mut last, mut more) = (after, false);
    let mut damage = None;
    let scanned = location
        .store()
        .scan(location.execution, after, &mut |scanned| {
            let record = match scanned.line.and_then(|line| line.record()) {
                Ok(record) => record,
                Err(reason) => {
                    let after = last;
                    damage = Some(ReplayError::Line { after, reason });
                    return ControlFlow::Break(());
                }
            };
            if kinds.is_empty() || kinds.contains(&record.body.kind()) {
                if left == 0 {
                    more = true;
                    return ControlFlow::Break(());
                }
                left -= 1;
                output.result(&record, |output, record| {
                    let line = line(output, record);
                    output.line(line);
                });
            }
            last = record.sequence;
            ControlFlow::Continue(())
        });
    scanned.map_err(|error| store_failure(&error))?;
    if let Some(damage) = damage {
        return Err(replay_failure(damage));
    }
    if more {
        output.notice(&format!("there is more: --after {last}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(output: &Output, record: &Record) -> String {
    let said = printable(&narrate::sentence(&record.body));
    let kind = record.body.kind().name();
    let at = moment_with_seconds(record.at);
    let place = format!("{:>6}  {at}  {kind:<21}", record.sequence.0);
    format!("{}  {said}", output.paint.apply(Style::Dim, &place))
}

fn replay(
    location: &JournalLocation,
    at: Option<Sequence>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let Replayed { state, .. } = state_at(location, at)?;
    if output.is_json() {
        output.json_line(&outline(&state)?);
        return Ok(ExitCode::SUCCESS);
    }
    let outline = outline(&state)?;
    let word = |name: &str| {
        outline[name]
            .as_str()
            .unwrap_or("unknown")
            .replace('_', " ")
    };
    let mut rows = vec![
        ("execution", state.execution.to_string()),
        ("owner", state.owner.to_string()),
        ("engine", state.engine.to_string()),
        (
            "after record",
            format!("{}, {}", state.head, moment_with_seconds(state.updated_at)),
        ),
        ("lifecycle", word("lifecycle")),
        ("attention", word("attention")),
        ("activity", word("activity")),
    ];
    if let Some(progress) = &state.progress {
        rows.push(("progress", progress.summary.to_string()));
    }
    if let Some(session) = &state.session {
        rows.push(("conversation", session.id.to_string()));
    }
    let totals = state.telemetry;
    rows.push((
        "tokens",
        format!(
            "{} in, {} out, in {}",
            totals.input_tokens,
            totals.output_tokens,
            counted(totals.requests, "request", "requests")
        ),
    ));
    rows.push(("observations", state.processed_count().to_string()));
    rows.push(("refused", state.refusals.to_string()));
    rows.push(("messages", state.messages.len().to_string()));
    for request in state.requests.values() {
        rows.push((
            "open question",
            format!("{} {}", request.id, request.question),
        ));
    }
    for (message, waiting) in state.undelivered() {
        let reason = waiting.reason.as_deref().unwrap_or("");
        let status = serde_json::to_value(waiting.status).unwrap_or(Value::Null);
        let status = status.as_str().unwrap_or("waiting").to_owned();
        rows.push(("not delivered", format!("{message} {status} {reason}")));
    }
    for effect in state.due.keys() {
        rows.push(("owner not told", effect.to_string()));
    }
    for (name, value) in rows {
        output.line(format!("{name:<15}{}", printable(value.trim_end())));
    }
    Ok(ExitCode::SUCCESS)
}

fn state_at(location: &JournalLocation, at: Option<Sequence>) -> Result<Replayed, Failure> {
    let last = at.unwrap_or(Sequence(u64::MAX));
    match replay_until(location.store(), location.execution, last) {
        Err(ReplayError::Empty { .. }) if at.is_some() => {
            let message = format!("nothing was recorded by record {last}");
            Err(Failure::new(ErrorCode::InvalidParams, message)
                .hint("the first record is 1; a group counts with its last record"))
        }
        replayed => {
            let replayed = replayed.map_err(replay_failure)?;
            let head = replayed.state.head;
            match at.filter(|at| *at > head) {
                Some(at) => {
                    let message = format!("record {at} is not there: the last one is {head}");
                    Err(Failure::new(ErrorCode::InvalidParams, message))
                }
                None => Ok(replayed),
            }
        }
    }
}

fn outline(state: &missiond_journal::ExecutionState) -> Result<Value, Failure> {
    inspect::outline(state)
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("the state: {error}")))
}

fn export(
    location: &JournalLocation,
    format: JournalFormat,
    file: Option<&Path>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let Some(path) = file else {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = write_out(location, format, &mut out)
            .and_then(|_| out.flush().map_err(ExportError::Write));
        return match written {
            Err(ExportError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                Ok(ExitCode::SUCCESS)
            }
            written => written.map(|()| ExitCode::SUCCESS).map_err(export_failure),
        };
    };
    let unwritable = |error: std::io::Error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(ErrorCode::Internal, message)
    };
    // What an agent said may be nobody else's business.
    let mut out = BufWriter::new(open_private_output(path).map_err(unwritable)?);
    let records = write_out(location, format, &mut out).map_err(export_failure)?;
    out.flush().map_err(unwritable)?;
    output.result(&json!({"file": path, "records": records}), |output, _| {
        let records = counted(records, "record", "records");
        output.line(format!("{records} written to {}", path.display()));
    });
    Ok(ExitCode::SUCCESS)
}

fn write_out(
    location: &JournalLocation,
    format: JournalFormat,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let (store, execution) = (location.store(), location.execution);
    match format {
        JournalFormat::Jsonl => inspect::export(store, execution, ExportForm::Records, out),
        JournalFormat::Lines => inspect::export(store, execution, ExportForm::Lines, out),
        JournalFormat::Markdown => narrate::markdown(store, execution, out),
    }
}

fn store_failure(error: &StoreError) -> Failure {
    Failure::new(error.code(), error.to_string())
}

fn replay_failure(error: ReplayError) -> Failure {
    match error {
        ReplayError::Store(error) => store_failure(&error),
        damaged => Failure::new(ErrorCode::StorageCorrupt, damaged.to_string())
            .hint("`mission journal verify` says what is wrong with it"),
    }
}

fn export_failure(error: ExportError) -> Failure {
    match error {
        ExportError::Replay(error) => replay_failure(error),
        ExportError::Write(_) => Failure::new(ErrorCode::Internal, error.to_string()),
    }
}
