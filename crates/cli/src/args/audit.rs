//! `mission audit …`.

use std::path::PathBuf;

use clap::Subcommand;
use missiond_core::AuditKind;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print the newest records, one a line.
    #[command(after_help = "\
Examples:
  mission audit list
  mission audit list --kind refusal --limit 20
  mission audit list --text permission_add
  mission audit list --json | jq -r .action")]
    List {
        /// Only this sort: decision, call, tool, model, refusal, configuration, daemon,
        /// journals, timeline, key or integrity.
        #[arg(long, value_name = "KIND", value_parser = kind)]
        kind: Option<AuditKind>,
        /// Only records that have this in who, what, by which rule or outcome.
        #[arg(long)]
        text: Option<String>,
        /// Only those before the record of this number.
        #[arg(long, value_name = "NUMBER")]
        before: Option<u64>,
        /// At most so many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
    /// Print one record.
    #[command(after_help = "Examples:\n  mission audit show 1\n  mission audit show 1 --json")]
    Show {
        /// Its number.
        record: u64,
    },
    /// Read everything, recompute every hash and signature, and say what is not as it was
    /// written.
    ///
    /// Finds a changed, removed, moved or added record, a missing beginning or end, an older
    /// copy of the log, of the database or of a journal, a journal that is gone, a signature
    /// by another key, and events of the timeline and decisions about permissions that are gone
    /// or changed. Needs no daemon and changes nothing. Ends with 0 only when nothing is found.
    #[command(after_help = "Examples:\n  mission audit verify\n  mission audit verify --json")]
    Verify,
    /// Write the log out as it stands, a line of JSON for each record and each signed head.
    #[command(after_help = "\
Examples:
  mission audit export > audit.jsonl
  mission audit export --output audit.jsonl")]
    Export {
        /// Into this file.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Put another key in the place of the one that signs.
    #[command(after_help = "Example:\n  mission audit rotate-key")]
    RotateKey,
}

fn kind(name: &str) -> Result<AuditKind, String> {
    let found = AuditKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names: Vec<_> = AuditKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("there are {}", names.join(", "))
    })
}
