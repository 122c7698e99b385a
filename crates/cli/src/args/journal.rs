//! `mission journal …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_journal::{RecordKind, Sequence};

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Print the records, one a line.
    #[command(after_help = "\
Examples:
  mission journal show exec_01jq8v5f7k3m9n2p4r6t8w0y1z
  mission journal show exec_01jq8v5f7k3m9n2p4r6t8w0y1z --after 120 --limit 20
  mission journal show exec_01jq8v5f7k3m9n2p4r6t8w0y1z --kind state.changed,decision.recorded
  mission journal show backup/exec_01jq8v5f7k3m9n2p4r6t8w0y1z.interaction.jsonl --json")]
    Show {
        #[command(flatten)]
        journal: JournalArg,
        /// Only what comes after this record.
        #[arg(long, value_name = "SEQ", default_value = "0", value_parser = sequence)]
        after: Sequence,
        /// At most so many.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Only these kinds, separated by commas.
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<RecordKind>,
    },
    /// Read everything, recompute every hash, and say what is not as it was written.
    ///
    /// Finds a flipped bit, a removed record, an exchanged pair and a missing
    /// beginning or end. Ends with 0 only when every journal is intact.
    #[command(after_help = "\
Examples:
  mission journal verify exec_01jq8v5f7k3m9n2p4r6t8w0y1z
  mission journal verify --all
  mission journal verify --all --json | jq 'select(.intact | not)'")]
    Verify {
        /// Ids of executions, or files of journals.
        #[arg(value_name = "EXECUTION|FILE", required_unless_present = "all")]
        journals: Vec<String>,
        /// Every journal of this home.
        #[arg(long, conflicts_with = "journals")]
        all: bool,
    },
    /// Print the state the records add up to.
    #[command(after_help = "\
Examples:
  mission journal replay exec_01jq8v5f7k3m9n2p4r6t8w0y1z
  mission journal replay exec_01jq8v5f7k3m9n2p4r6t8w0y1z --at 120 --json | jq .lifecycle")]
    Replay {
        #[command(flatten)]
        journal: JournalArg,
        /// As it was after this record.
        #[arg(long, value_name = "SEQ", value_parser = sequence)]
        at: Option<Sequence>,
    },
    /// Write a journal out, for programs or for people.
    #[command(after_help = "\
Examples:
  mission journal export exec_01jq8v5f7k3m9n2p4r6t8w0y1z > records.jsonl
  mission journal export exec_01jq8v5f7k3m9n2p4r6t8w0y1z --format lines -o copy.jsonl
  mission journal export exec_01jq8v5f7k3m9n2p4r6t8w0y1z --format markdown -o journal.md")]
    Export {
        #[command(flatten)]
        journal: JournalArg,
        #[arg(long, value_enum, default_value = "jsonl")]
        format: JournalFormat,
        /// The file to write; standard output when left out.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Compare two journals record by record, or two moments of one.
    #[command(after_help = "\
Examples:
  mission journal diff exec_01jq8v5f7k3m9n2p4r6t8w0y1z backup/exec_01jq8v5f7k3m9n2p4r6t8w0y1z.interaction.jsonl
  mission journal diff exec_01jq8v5f7k3m9n2p4r6t8w0y1z --from 120
  mission journal diff exec_01jq8v5f7k3m9n2p4r6t8w0y1z --from 120 --to 180 --json

Ends with 0 when nothing differs and with 1 when something does.")]
    Diff {
        /// The id of an execution, or the file of a journal.
        #[arg(value_name = "EXECUTION|FILE")]
        left: String,
        /// Another one.
        #[arg(value_name = "EXECUTION|FILE", required_unless_present = "from")]
        right: Option<String>,
        /// Compare the state after this record …
        #[arg(long, value_name = "SEQ", value_parser = sequence, conflicts_with = "right")]
        from: Option<Sequence>,
        /// … with the state after this one; the newest when left out.
        #[arg(long, value_name = "SEQ", value_parser = sequence, requires = "from")]
        to: Option<Sequence>,
        /// Name at most so many differences between two journals.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct JournalArg {
    /// The id of an execution, or the file of a journal.
    #[arg(value_name = "EXECUTION|FILE")]
    pub(crate) journal: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum JournalFormat {
    /// One record a line.
    Jsonl,
    /// The lines as they are stored, with the chain that proves them.
    Lines,
    /// A page for people.
    Markdown,
}

fn sequence(text: &str) -> Result<Sequence, String> {
    text.parse()
        .map(Sequence)
        .map_err(|_| "the place of a record is a number, 0 or more".to_owned())
}
