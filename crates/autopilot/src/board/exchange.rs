//! Boards on their way in and out. A file is taken whole or not at all; the
//! sentence that refuses it names its line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use missiond_core::{
    BoardTask, BoardTaskId, BoardTaskStatus, ExportFormat, ImportFormat, Isolation, TaskDraft,
    TaskNumber, TraceContext,
};
use missiond_exchange::{Card, ImportError, Standing};
use missiond_os::{expand_home, files};
use missiond_runtime::blocking;
use missiond_store::board::{self as store, History, ImportedStatus, NewBoardTask};
use missiond_store::{StoreError, Tx};

use super::fill::repository_defaults;
use super::{Board, BoardError};

/// The largest file that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How many tasks are read from the store in one go.
const PAGE: u32 = 500;

/// Where the tasks come from.
#[derive(Debug, Clone)]
pub enum Source {
    Text(String),
    /// The name of a file in the exchange folder.
    File(String),
}

/// What was read from a file.
#[derive(Debug, Clone)]
pub struct ReadCards {
    pub cards: Vec<Card>,
    /// Lines that belong to no task.
    pub passed_over: Vec<usize>,
}

/// Whether tasks that are on the board already are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// A file whose every task is there already was imported before.
    Refuse,
    Take,
}

/// What was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    pub tasks: u64,
    pub first: Option<TaskNumber>,
    pub last: Option<TaskNumber>,
}

impl Board {
    /// Reads a file of tasks.
    pub async fn read_cards(
        &self,
        format: ImportFormat,
        source: Source,
    ) -> Result<ReadCards, BoardError> {
        let folder = self.home.exchange_dir();
        blocking(move || read(&folder, format, source)).await
    }

    /// Puts cards on the board, in one transaction.
    pub async fn import(
        &self,
        cards: Vec<Card>,
        defaults: TaskDraft,
        again: Again,
        trace: TraceContext,
    ) -> Result<Imported, BoardError> {
        self.refuse_known(&cards, again).await?;
        let tasks = cards.len() as u64;
        let usual = self.usual();
        let new = blocking(move || tasks_of(cards, &defaults, &usual)).await?;
        let act = self.act(trace);
        let added = self
            .db
            .write(move |tx| Box::pin(async move { store::add_graph(tx, new, &[], &act).await }));
        let added = added.await?;
        Ok(Imported {
            tasks,
            first: added.first().map(|task| task.number),
            last: added.last().map(|task| task.number),
        })
    }

    /// Whether the cards could be put on the board.
    pub async fn could_take(
        &self,
        cards: Vec<Card>,
        defaults: TaskDraft,
        again: Again,
    ) -> Result<Imported, BoardError> {
        self.refuse_known(&cards, again).await?;
        let usual = self.usual();
        let new = blocking(move || tasks_of(cards, &defaults, &usual)).await?;
        Ok(Imported {
            tasks: new.len() as u64,
            first: None,
            last: None,
        })
    }

    async fn refuse_known(&self, cards: &[Card], again: Again) -> Result<(), BoardError> {
        if again == Again::Take || cards.is_empty() {
            return Ok(());
        }
        let words = |draft: &TaskDraft| {
            let words = (draft.title.clone(), draft.description.clone());
            (words.0.unwrap_or_default(), words.1.unwrap_or_default())
        };
        let mut missing: HashSet<_> = cards.iter().map(|card| words(&card.draft)).collect();
        let known = self.db.read(move |tx| {
            Box::pin(async move {
                let mut after = TaskNumber(0);
                while !missing.is_empty() {
                    let page = store::export_page(tx, after, PAGE).await?;
                    let Some(last) = page.last() else {
                        return Ok(None);
                    };
                    after = last.number;
                    for task in page {
                        missing.remove(&(task.title, task.description));
                    }
                }
                Ok(Some(()))
            })
        });
        match known.await? {
            Some(()) => Err(BoardError::KnownAlready { count: cards.len() }),
            None => Ok(()),
        }
    }

    /// Writes the board to a new file in the exchange folder.
    pub async fn export(&self, format: ExportFormat) -> Result<(PathBuf, u64), BoardError> {
        let cards = self
            .db
            .read(|tx| Box::pin(async move { cards_of(tx).await }))
            .await?;
        let folder = self.home.exchange_dir();
        let count = cards.len() as u64;
        let file = blocking(move || write(&folder, format, &cards)).await?;
        Ok((file, count))
    }
}

fn read(folder: &Path, format: ImportFormat, source: Source) -> Result<ReadCards, BoardError> {
    let cards = match (format, source) {
        (ImportFormat::VibeKanban, Source::Text(_)) => {
            return Err(BoardError::Exchange {
                message: "a database is not text: name its file".to_owned(),
            });
        }
        (ImportFormat::VibeKanban, Source::File(name)) => {
            missiond_exchange::read_vibe_kanban(&within(folder, &name)?).map(only_cards)
        }
        (format, Source::Text(text)) => read_text(format, &text),
        (format, Source::File(name)) => read_text(format, &read_bounded(&within(folder, &name)?)?),
    };
    cards.map_err(BoardError::Import)
}

fn read_text(format: ImportFormat, text: &str) -> Result<ReadCards, ImportError> {
    match format {
        ImportFormat::Markdown => {
            let (cards, passed_over) = missiond_exchange::read_markdown_with_skipped(text)?;
            Ok(ReadCards { cards, passed_over })
        }
        ImportFormat::Beads => missiond_exchange::read_beads(text).map(only_cards),
        ImportFormat::Jsonl | ImportFormat::VibeKanban => {
            missiond_exchange::read_jsonl(text).map(only_cards)
        }
    }
}

fn only_cards(cards: Vec<Card>) -> ReadCards {
    ReadCards {
        cards,
        passed_over: Vec::new(),
    }
}

/// The file of that name in the folder, and no other.
fn within(folder: &Path, name: &str) -> Result<PathBuf, BoardError> {
    let mut parts = Path::new(name).components();
    let plain = matches!(parts.next(), Some(std::path::Component::Normal(_)));
    if !plain || parts.next().is_some() {
        return Err(BoardError::Exchange {
            message: format!("`{name}` is not the name of a file in {}", folder.display()),
        });
    }
    let file = folder.join(name);
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_file() => Ok(file),
        _ => Err(BoardError::Exchange {
            message: format!("there is no file {}", file.display()),
        }),
    }
}

fn read_bounded(file: &Path) -> Result<String, BoardError> {
    let refuse = |message: String| BoardError::Exchange {
        message: format!("{}: {message}; nothing was imported", file.display()),
    };
    let opened = fs::File::open(file).map_err(|error| refuse(error.to_string()))?;
    let mut bytes = Vec::new();
    let read = opened.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| refuse(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse(format!("it has more than {MOST_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..good];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        BoardError::Import(ImportError::at(line, "it is not text (UTF-8)"))
    })
}

/// The tasks the cards become, filled in and checked. What neither the import nor the
/// repository says is as usual.
fn tasks_of(
    cards: Vec<Card>,
    defaults: &TaskDraft,
    usual: &TaskDraft,
) -> Result<Vec<NewBoardTask>, BoardError> {
    let ids: HashMap<String, BoardTaskId> = cards
        .iter()
        .map(|card| (card.key.clone(), BoardTaskId::generate()))
        .collect();
    let mut of_repository: BTreeMap<PathBuf, TaskDraft> = BTreeMap::new();
    let mut new = Vec::with_capacity(cards.len());
    for card in cards {
        let line = card.line;
        let refused = |message: String| BoardError::Import(ImportError::at(line, message));
        let mut draft = card.draft;
        if let (Some(labels), Some(more)) = (&mut draft.labels, &defaults.labels) {
            labels.extend(
                more.iter()
                    .filter(|label| !labels.contains(label))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
        }
        let mut below = defaults.clone();
        if draft.isolation == Some(Isolation::None) {
            below.repository = None;
        }
        draft = draft.over(below);
        draft.repository = draft.repository.map(|path| expand_home(&path));
        if let Some(repository) = draft.repository.clone() {
            let known = match of_repository.get(&repository) {
                Some(known) => known.clone(),
                None => {
                    let read = repository_defaults(&repository)?;
                    of_repository.insert(repository, read.clone());
                    read
                }
            };
            draft = draft.over(known);
        }
        draft = draft.over(usual.clone());
        draft.check().map_err(|error| refused(error.to_string()))?;
        new.push(NewBoardTask {
            id: ids[&card.key],
            draft,
            parent: card.parent.as_ref().map(|parent| ids[parent]),
            alternative_of: None,
            depends_on: card.depends_on.iter().map(|on| ids[on]).collect(),
            history: History {
                status: match card.standing {
                    Standing::Open => None,
                    Standing::Done => Some(ImportedStatus::Done),
                    Standing::Failed { reason } => Some(ImportedStatus::Failed { reason }),
                    Standing::Blocked { reason } => Some(ImportedStatus::Blocked { reason }),
                },
                created_at: card.created_at,
                finished_at: card.finished_at,
                notes: card.notes,
            },
        });
    }
    Ok(new)
}

/// The whole board as cards, by number, as of one moment.
async fn cards_of(tx: &mut Tx<'_>) -> Result<Vec<Card>, StoreError> {
    let mut tasks: Vec<BoardTask> = Vec::new();
    loop {
        let after = tasks.last().map_or(TaskNumber(0), |task| task.number);
        let page = store::export_page(tx, after, PAGE).await?;
        if page.is_empty() {
            break;
        }
        tasks.extend(page);
    }
    let keys: HashMap<_, _> = tasks
        .iter()
        .map(|task| (task.id, task.number.to_string()))
        .collect();
    let ids: Vec<_> = tasks.iter().map(|task| task.id).collect();
    let mut edges = store::edges_among(tx, &ids).await?;
    let mut cards = Vec::with_capacity(tasks.len());
    for task in tasks {
        let mut on: Vec<_> = edges.remove(&task.id).unwrap_or_default();
        on.sort_by_key(|id| keys.get(id).map(|key| (key.len(), key.clone())));
        let notes = store::notes(tx, task.id).await?;
        let reason = task.blocked.clone().unwrap_or_default();
        cards.push(Card {
            key: keys[&task.id].clone(),
            draft: task.draft(),
            parent: task.parent.and_then(|parent| keys.get(&parent).cloned()),
            depends_on: on.iter().filter_map(|id| keys.get(id).cloned()).collect(),
            standing: match task.status {
                // Who works on it is not for a file to say.
                BoardTaskStatus::Open | BoardTaskStatus::Running => Standing::Open,
                BoardTaskStatus::Done => Standing::Done,
                BoardTaskStatus::Failed => Standing::Failed { reason },
                BoardTaskStatus::Blocked => Standing::Blocked { reason },
                // The work itself is in no file, so nobody else can merge it.
                BoardTaskStatus::Review => Standing::Blocked {
                    reason: "its work was ready for review where it was exported".to_owned(),
                },
            },
            created_at: Some(task.created_at),
            finished_at: task.finished_at,
            notes: notes
                .into_iter()
                .map(|note| (note.author, note.text))
                .collect(),
            line: 0,
        });
    }
    Ok(cards)
}

fn write(folder: &Path, format: ExportFormat, cards: &[Card]) -> Result<PathBuf, BoardError> {
    let (text, ending) = match format {
        ExportFormat::Jsonl => {
            let lines: Vec<_> = cards.iter().map(missiond_exchange::write_jsonl).collect();
            (
                lines.join("\n") + if lines.is_empty() { "" } else { "\n" },
                "jsonl",
            )
        }
        ExportFormat::Markdown => (missiond_exchange::write_markdown(cards), "md"),
    };
    let file = folder.join(format!("export-{}.{ending}", BoardTaskId::generate()));
    let written = files::create_private_dir(folder)
        .and_then(|()| files::create_private(&file)?.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(file),
        Err(error) => Err(BoardError::Exchange {
            message: format!("{} cannot be written: {error}", file.display()),
        }),
    }
}
