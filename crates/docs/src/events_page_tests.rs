//! `docs/reference/events.md` is printed from the declaration of the events, with who reads
//! each kind as the sources say it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use missiond_core::{Category, Durability, KINDS, KindSpec};

/// Set to write the page instead of comparing it.
const WRITE: &str = "MISSION_WRITE_DOCUMENTS";
const PAGE: &str = "docs/reference/events.md";

/// Who does something when an event of some kind comes, and the source that says of which.
/// Whoever reads every kind is named above the tables.
const READERS: [(&str, &str); 11] = [
    ("runs", "crates/executions/src/follow.rs"),
    ("questions", "crates/attention/src/questions/inputs.rs"),
    ("permissions", "crates/attention/src/permissions/watch.rs"),
    ("notifications", "crates/attention/src/notifications/mod.rs"),
    ("autopilot", "crates/autopilot/src/watch.rs"),
    (
        "extraction",
        "crates/cognition/src/workers/harvester/mod.rs",
    ),
    ("incidents", "crates/timeline/src/incidents.rs"),
    ("MCP clients", "crates/server/src/commander/changes.rs"),
    ("`mission run`", "crates/cli/src/commands/run.rs"),
    ("the page", "web/src/daemon/queries.ts"),
    ("the story", "web/src/timeline/sentences.ts"),
];

const HEAD: &str = "\
# Events

Everything that happens is an event on the timeline. Printed from the declarations in
`crates/core/src/event.rs`; a test compares them, and `cargo xtask test` fails on a stored kind
that nothing told while all tests ran.

*Stored* events have a place, are there after a crash, and are read again by whoever missed
them. *Told* ones go to whoever listens and are forgotten; when they come faster than they
can be told, the newest of each subject stays.

Every event says when it happened, which daemon saw it, and what caused it: `trace_id` is the
chain it belongs to, `span_id` its own place there, `parent_span_id` the event before. A chain
begins with a person, a timer or a process that was found; `mission timeline trace` draws it.

Every kind is read by `mission timeline`, by the timeline of the page and by subscriptions
over the socket and the WebSocket; stored kinds are counted by the hour (`mission timeline
activity`), and the audit has them all. *Read by* names who does something when one comes: *the
page* reads again what it may have changed, *the story* is what the page and `mission status`
tell of a day, *incidents* open or close one, *runs* are the executions that follow their slot.
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A source without its tests.
fn source(path: &str) -> String {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let end = text.find("\n#[cfg(test)]").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Whether a Rust source takes events of this kind apart; making one is not reading it.
fn matches_on(source: &str, variant: &str) -> bool {
    let name = format!("Event::{variant} {{");
    source.match_indices(&name).any(|(at, _)| {
        let rest = &source[at + name.len()..];
        let Some((inner, after)) = rest.split_once('}') else {
            return false;
        };
        let after = after.trim_start();
        let is_open = inner.trim().ends_with("..");
        is_open
            || ["=>", "|", "= ", "if "]
                .iter()
                .any(|sign| after.starts_with(sign))
    })
}

fn is_read(path: &str, source: &str, spec: &KindSpec) -> bool {
    let kind = spec.kind;
    match path.rsplit('/').next() {
        Some("queries.ts") => source.contains(&format!("case \"{kind}\":")),
        Some("sentences.ts") => {
            let (_, after) = source.split_once("const STORY").unwrap();
            let (story, _) = after.split_once("]);").unwrap();
            story.contains(&format!("\"{kind}\","))
        }
        Some("changes.rs") if spec.category == Category::Board => true,
        _ => matches_on(source, spec.variant),
    }
}

fn name_of(category: Category) -> String {
    let name = serde_json::to_value(category).unwrap();
    name.as_str().unwrap().to_owned()
}

/// A sentence in the cell of a table.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('|', "\\|")
}

fn fields(spec: &KindSpec) -> String {
    let fields = spec.fields.iter();
    let fields = fields.map(|field| format!("`{}`: {}", field.name, field.of));
    // Of a type in angle brackets a page would make markup.
    let fields = fields.map(|field| field.replace('<', "\\<"));
    fields.collect::<Vec<_>>().join(", ")
}

fn page() -> String {
    let sources = READERS.map(|(_, path)| source(path));
    let mut page = HEAD.to_owned();
    let mut category = None;
    for spec in KINDS {
        if category != Some(spec.category) {
            category = Some(spec.category);
            let name = name_of(spec.category);
            write!(
                page,
                "\n## {name}\n\n| kind | is | what has happened | fields | read by |\n\
                 |---|---|---|---|---|\n"
            )
            .unwrap();
        }
        let is = match spec.durability {
            Durability::Persistent => "stored",
            Durability::Ephemeral => "told",
        };
        let readers = READERS.iter().zip(&sources);
        let readers = readers
            .filter(|((_, path), source)| is_read(path, source, spec))
            .map(|((name, _), _)| *name);
        let readers = readers.collect::<Vec<_>>().join(", ");
        let (kind, sentence) = (spec.kind, cell(spec.sentence));
        let fields = fields(spec);
        writeln!(
            page,
            "| `{kind}` | {is} | {sentence} | {fields} | {readers} |"
        )
        .unwrap();
    }
    page
}

#[test]
fn the_page_of_events_is_printed_from_their_declaration() {
    let file = root().join(PAGE);
    let expected = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == expected,
        "{PAGE} is not what crates/core declares; write it with {WRITE}=1 cargo test --workspace \
         -p missiond-docs events"
    );
}

#[test]
fn every_reader_reads_something_and_making_an_event_is_no_reading() {
    for (name, path) in READERS {
        let source = source(path);
        let read = KINDS.iter().filter(|spec| is_read(path, &source, spec));
        assert!(read.count() > 0, "{name} reads nothing in {path}");
    }
    let made = "timeline.record(Event::NoteAdded { text, author }, trace);";
    assert!(!matches_on(made, "NoteAdded"));
    for read in [
        "Event::NoteAdded { .. } => true,",
        "if let Event::NoteAdded { text, author } = event {",
        "Event::NoteAdded { text, .. } if text.is_empty() => {}",
        "Event::NoteAdded { text, author } | Event::Other { text, author } => {}",
    ] {
        assert!(matches_on(read, "NoteAdded"), "{read}");
        assert!(!matches_on(read, "Note"), "{read}");
    }
}
