//! `mission slot …`, and what is common to pictures of screens.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_api::operations::compute::{Columns, Rows, ScreenshotFormat};
use missiond_core::{BoundedOr, SlotName, Text};

#[derive(Debug, Subcommand)]
pub(crate) enum SlotCommand {
    /// Start a program in a terminal of its own.
    #[command(after_help = "\
Examples:
  mission slot spawn -- claude
  mission slot spawn --name build --cwd ~/project -- codex --model o4
  mission slot spawn --env ANTHROPIC_API_KEY -- claude    pass on a variable you have set")]
    Spawn(SpawnArgs),
    /// List the slots and what each is doing.
    #[command(after_help = "Examples:\n  mission slot list\n  mission slot list --all --json")]
    List {
        /// Closed slots too.
        #[arg(long)]
        all: bool,
    },
    /// Show the screen of a slot; of a closed one, its last.
    #[command(after_help = "Example:\n  mission slot read build")]
    Read {
        /// Its name or id.
        slot: String,
    },
    /// Work in a slot from this terminal, or watch it.
    ///
    /// Everything you type goes to the program, Ctrl-C too. The detach key
    /// leaves; the program goes on. Several people can attach to one slot; its
    /// terminal then has the smallest of their sizes, so that each sees all of
    /// it.
    #[command(after_help = "\
Examples:
  mission slot attach build                        Ctrl-] leaves
  mission slot attach build --read-only            watch; Ctrl-C leaves too
  mission slot attach build --detach-key ctrl-q
  mission slot attach build --read-only > screen   until the slot ends")]
    Attach(AttachArgs),
    /// Type text into a slot when it can take it, and press Enter.
    #[command(after_help = "\
The text is typed when the program shows an empty prompt, and Enter is pressed
when the text is seen there. Nothing is typed into a dialog, a menu, somebody's
half-typed text or a program that has ended.

Examples:
  mission slot send build \"fix the failing test\"
  mission slot send build --now \"and the docs\"     while it works; most programs queue it
  mission slot send build --no-enter \"half a thought\"
  mission slot send build - < prompt.md")]
    Send {
        /// Its name or id.
        slot: String,
        /// The text; `-` reads it from standard input.
        text: String,
        /// Leave out Enter.
        #[arg(long)]
        no_enter: bool,
        /// Do not wait until a working agent is idle.
        #[arg(long)]
        now: bool,
        /// Seconds the program may take until it can be typed to, at most 45.
        #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = millis::<45_000, 10_000>)]
        wait: BoundedOr<0, 45_000, 10_000>,
        /// Type whatever is on the screen.
        #[arg(long)]
        force: bool,
    },
    /// Take one option of the dialog a slot shows, or answer in words where it has none.
    #[command(after_help = "\
The mark is moved to the option and looked at again before Enter; if the dialog
is not the same any more, nothing is taken.

Examples:
  mission slot answer build 1
  mission slot answer build yes --expect \"Do you want to proceed?\"")]
    Answer {
        /// Its name or id.
        slot: String,
        /// The number of the option, its text, or the beginning of its text; the answer itself
        /// where the dialog wants words.
        option: Text<2000>,
        /// Answer only if these words stand in the dialog.
        #[arg(long, value_name = "WORDS")]
        expect: Option<Text<2000, 0>>,
        /// Seconds a dialog may take to appear, at most 45.
        #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = millis::<45_000, 2_000>)]
        wait: BoundedOr<0, 45_000, 2_000>,
    },
    /// Press Ctrl-C in a slot.
    #[command(after_help = "Example:\n  mission slot interrupt build")]
    Interrupt {
        /// Its name or id.
        slot: String,
    },
    /// Give the terminal of a slot another size.
    #[command(after_help = "Example:\n  mission slot resize build 100x30")]
    Resize {
        /// Its name or id.
        slot: String,
        /// Columns and rows.
        #[arg(value_name = "COLSxROWS", value_parser = size)]
        size: (Columns, Rows),
    },
    /// End the program of a slot and every process it started.
    #[command(
        after_help = "Examples:\n  mission slot kill build\n  mission slot kill build --grace 0"
    )]
    Kill {
        /// Its name or id.
        slot: String,
        /// Seconds the processes have to end by themselves, at most 30.
        #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = millis::<30_000, 5_000>)]
        grace: BoundedOr<0, 30_000, 5_000>,
    },
    /// Take a picture of a slot's screen; of a closed one, its last.
    #[command(after_help = "\
Examples:
  mission slot screenshot build -o build.png
  mission slot screenshot build --format ansi
  mission slot screenshot build --format svg > build.svg")]
    Screenshot {
        /// Its name or id.
        slot: String,
        #[command(flatten)]
        picture: PictureArgs,
    },
    /// Say what a slot is doing and which rule decided so.
    #[command(after_help = "Example:\n  mission slot explain build")]
    Explain {
        /// Its name or id.
        slot: String,
        /// Also the rules that nearly hold, for authors of manifests.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Its name or id.
    pub(crate) slot: String,
    /// Look only: what you type changes nothing, and the size of your terminal
    /// neither. A terminal that is too small shows the part with the cursor.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The key that leaves: `ctrl-` and a letter, or one of `]`, `\\`, `^`, `_`.
    #[arg(long, value_name = "KEY", default_value = "ctrl-]")]
    pub(crate) detach_key: crate::commands::DetachKey,
}

#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    /// What to call it; made up when left out.
    #[arg(long)]
    pub(crate) name: Option<SlotName>,
    /// Which manifest reads the screen; guessed from the program when left out.
    #[arg(long)]
    pub(crate) engine: Option<missiond_core::CliEngine>,
    /// The folder to run in; this one when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A variable for the program: NAME=VALUE, or NAME to pass on your own.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Columns and rows of the terminal.
    #[arg(long, value_name = "COLSxROWS", default_value = "120x40", value_parser = size)]
    pub(crate) size: (Columns, Rows),
    /// The program and its arguments; no shell reads them.
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub(crate) argv: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// How to write it down; what the name of the file says when left out, and
    /// text without a file.
    #[arg(long, value_enum)]
    pub(crate) format: Option<PictureFormat>,
    /// The file to write; standard output when left out.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PictureFormat {
    /// An image.
    Png,
    /// The characters alone.
    Text,
    /// The characters with their colours, for a terminal.
    Ansi,
    /// A drawing whose text stays text.
    Svg,
}

impl From<PictureFormat> for ScreenshotFormat {
    fn from(format: PictureFormat) -> Self {
        match format {
            PictureFormat::Png => Self::Png,
            PictureFormat::Text => Self::Text,
            PictureFormat::Ansi => Self::Ansi,
            PictureFormat::Svg => Self::Svg,
        }
    }
}

fn size(text: &str) -> Result<(Columns, Rows), String> {
    let (columns, rows) = text
        .split_once('x')
        .ok_or("columns and rows, such as 120x40")?;
    let columns = columns.parse().map_err(|error| format!("columns: {error}"));
    let rows = rows.parse().map_err(|error| format!("rows: {error}"));
    Ok((columns?, rows?))
}

/// Seconds, which go on the wire as milliseconds.
fn millis<const MAX: i64, const DEFAULT: i64>(
    text: &str,
) -> Result<BoundedOr<0, MAX, DEFAULT>, String> {
    let millis = i64::try_from(seconds(text)?.as_millis()).unwrap_or(i64::MAX);
    BoundedOr::new(millis).map_err(|_| format!("must be from 0 to {} seconds", MAX / 1000))
}

pub(super) fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| "a number of seconds, such as 12.5".to_owned())?;
    std::time::Duration::try_from_secs_f64(value).map_err(|_| "seconds are 0 or more".to_owned())
}
