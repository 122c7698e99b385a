//! `mission audit …`: looks at the audit where it lies, without the daemon and beside one that
//! writes. Only `rotate-key` asks the daemon, whose key it is.

mod evidence;

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use missiond_api::Home;
use missiond_api::operations::NoParams;
use missiond_api::operations::audit::AuditRotateKey;
use missiond_audit::read::{self, Filter};
use missiond_core::{AuditRecord, ErrorCode};
use missiond_os::files::open_private_output;

use crate::args::AuditCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, moment_with_seconds, printable};

pub(super) fn run(command: AuditCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    let home = Home::from_env()?;
    let folder = home.audit_dir();
    match command {
        AuditCommand::List {
            kind,
            text,
            before,
            limit,
        } => {
            let filter = Filter { kind, text, before };
            list(&folder, &filter, limit as usize, output)
        }
        AuditCommand::Show { record } => show(&folder, record, output),
        AuditCommand::Verify => evidence::verify(&home, output),
        AuditCommand::Export { output: file } => export(&folder, file.as_deref(), output),
        AuditCommand::RotateKey => Ok(ExitCode::SUCCESS),
    }
}

fn list(
    folder: &Path,
    filter: &Filter,
    limit: usize,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let (mut records, more) = read::newest(folder, filter, limit)?;
    records.reverse();
    if let Some(first) = records.first()
        && more
    {
        output.notice(&format!("there are older ones: --before {}", first.seq));
    }
    for record in &records {
        output.result(record, |output, record| {
            let line = line(output, record);
            output.line(line);
        });
    }
    if records.is_empty() {
        output.notice("nothing that fits is on record");
    }
    Ok(ExitCode::SUCCESS)
}

fn line(output: &Output, record: &AuditRecord) -> String {
    let at = moment_with_seconds(record.at);
    let place = format!("{:>6}  {at}  {:<13}", record.seq, record.kind.name());
    let mut said = format!("{}: {}", record.who, printable(&record.action));
    if let Some(about) = &record.about {
        said = format!("{said} ({})", printable(about));
    }
    said = format!("{said} -> {}", printable(&record.outcome));
    if let Some(rule) = &record.rule {
        said = format!("{said}, by {}", printable(rule));
    }
    format!("{}  {said}", output.paint.apply(Style::Dim, &place))
}

fn show(folder: &Path, seq: u64, output: &mut Output) -> Result<ExitCode, Failure> {
    let Some((record, text)) = read::find(folder, seq)? else {
        let message = format!("there is no record {seq}");
        let hint = "`mission audit list` shows the newest";
        return Err(Failure::new(ErrorCode::NotFound, message).hint(hint));
    };
    output.result(&record, |output, record| {
        let first = line(output, record);
        output.line(first);
        output.line(printable(&text));
    });
    Ok(ExitCode::SUCCESS)
}

fn export(folder: &Path, file: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut failed = None;
    let mut lines = 0_u64;
    let mut into: Box<dyn Write> = match file {
        Some(file) => Box::new(BufWriter::new(open_private_output(file)?)),
        None => Box::new(BufWriter::new(std::io::stdout().lock())),
    };
    read::lines(folder, |line| {
        lines += 1;
        let written = into.write_all(line).and_then(|()| into.write_all(b"\n"));
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    into.flush()?;
    if let Some(file) = file {
        output.notice(&format!("{lines} lines are in {}", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn rotate_key(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let changed = reach.client(output)?.call::<AuditRotateKey>(&NoParams {})?;
    output.result(&changed, |output, changed| {
        output.line(format!(
            "The key {} signs from record {} on.",
            changed.key, changed.record
        ));
    });
    Ok(ExitCode::SUCCESS)
}
