//! The places that remember where the log ended: the database and a file beside the log.
//! They are written after the log, so they may lag and never lead; and a head of the log says
//! how far they had come, so that one of them that is set back is found out too.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_os::files;
use missiond_runtime::blocking;
use missiond_store::audit::{Anchor, anchor, anchors};
use missiond_store::{DbUrl, MissionDb, StoreError};

use crate::chain::Head;
use crate::log::{AuditLog, Opened};
use crate::verify::Remembered;

/// Between two anchors, so that a busy log is not anchored more often than that.
const PAUSE: Duration = Duration::from_millis(250);

/// The file beside the log.
const HEAD: &str = "head";

/// The name by which a database knows the audit of a home. One that is a file is this home's
/// alone, wherever that moves.
#[must_use]
pub fn home_name(url: &DbUrl, host: &str, data: &Path) -> String {
    match url.file() {
        Some(_) => "this home".to_owned(),
        None => format!("{host}:{}", data.display()),
    }
}

/// Both places.
#[derive(Debug, Clone)]
pub struct Anchors {
    db: MissionDb,
    home: String,
    folder: PathBuf,
}

/// What both places remember.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub database: Vec<Remembered>,
    pub file: Option<Remembered>,
}

impl Memory {
    /// What the file beside the log remembers, where there is no database.
    #[must_use]
    pub fn without_database(folder: &Path) -> Self {
        Self {
            database: Vec::new(),
            file: head_file(folder),
        }
    }

    /// All of it.
    pub fn all(&self) -> impl Iterator<Item = Remembered> + '_ {
        self.database.iter().chain(&self.file).cloned()
    }

    /// The newest of each place, with its name.
    #[must_use]
    pub fn newest(&self) -> [(&'static str, Option<u64>); 2] {
        let database = self.database.iter().map(|one| one.records).max();
        [
            (DATABASE, database),
            (FILE, self.file.as_ref().map(|one| one.records)),
        ]
    }
}

const DATABASE: &str = "the database";
const FILE: &str = "the file beside the log";

impl Anchors {
    #[must_use]
    pub fn new(db: MissionDb, home: String, folder: &Path) -> Self {
        Self {
            db,
            home,
            folder: folder.to_owned(),
        }
    }

    /// The database.
    #[must_use]
    pub const fn db(&self) -> &MissionDb {
        &self.db
    }

    /// What is remembered now.
    pub async fn memory(&self) -> Result<Memory, StoreError> {
        let home = self.home.clone();
        let known = self
            .db
            .read(move |tx| Box::pin(async move { anchors(tx, &home).await }))
            .await?;
        let of_database = |anchor: Anchor| {
            let head = Head::parse(&anchor.head);
            Remembered {
                place: DATABASE.to_owned(),
                records: anchor.records,
                // What is no head is no moment of any chain.
                hash: head.map_or_else(String::new, |head| head.hash()),
            }
        };
        Ok(Memory {
            database: known.into_iter().map(of_database).collect(),
            file: head_file(&self.folder),
        })
    }

    /// What is not as it was left, told when the log was opened.
    pub async fn problems(&self, opened: &Opened) -> Result<Vec<String>, StoreError> {
        let mut problems = opened.problems.clone();
        let memory = self.memory().await?;
        let (found, stated) = opened
            .head
            .as_ref()
            .map_or((0, 0), |head| (head.records, head.anchored));
        for (place, newest) in memory.newest() {
            let known = newest.unwrap_or(0);
            if known > found {
                problems.push(format!(
                    "{place} knew of {known} records, and the log ended at {found}"
                ));
            } else if known < stated {
                problems.push(format!(
                    "{place} knew of {known} records, and {stated} had been known there"
                ));
            }
        }
        Ok(problems)
    }

    /// Anchors each new head, for ever.
    pub async fn run(self, log: AuditLog) {
        let mut heads = log.heads();
        let mut anchored = None;
        loop {
            let head = heads.borrow_and_update().clone();
            if let Some(head) = head
                && anchored != Some(head.records)
            {
                match self.place(&log, &head).await {
                    Ok(()) => {
                        anchored = Some(head.records);
                        log.anchored(head.records).await;
                    }
                    Err(error) => tracing::error!(error, "audit not anchored"),
                }
            }
            tokio::time::sleep(PAUSE).await;
            if heads.changed().await.is_err() {
                return;
            }
        }
    }

    /// Anchors the newest head now, and puts that on record: for the end of a daemon.
    pub async fn finish(&self, log: &AuditLog) {
        let Some(head) = log.head() else {
            return;
        };
        match self.place(log, &head).await {
            Ok(()) => log.anchored(head.records).await,
            Err(error) => tracing::error!(error, "audit not anchored"),
        }
    }

    async fn place(&self, log: &AuditLog, head: &Head) -> Result<(), String> {
        // One after another, and never an older one over a newer one.
        let mut placed = log.placed().lock().await;
        if *placed >= head.records {
            return Ok(());
        }
        let row = Anchor {
            home: self.home.clone(),
            opened_at: log.opened_at(),
            records: head.records,
            head: head.line(),
            anchored_at: head.at,
        };
        let line = format!("{}\n", row.head);
        let path = self.folder.join(HEAD);
        let written = blocking(move || files::replace_private(&path, line.as_bytes())).await;
        written.map_err(|error| error.to_string())?;
        let stored = self
            .db
            .write(move |tx| Box::pin(async move { anchor(tx, &row).await }));
        stored.await.map_err(|error| error.to_string())?;
        *placed = head.records;
        Ok(())
    }
}

/// What the file beside the log remembers.
fn head_file(folder: &Path) -> Option<Remembered> {
    let path = folder.join(HEAD);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => String::new(),
    };
    let head = Head::parse(&text);
    Some(Remembered {
        place: FILE.to_owned(),
        records: head.as_ref().map_or(0, |head| head.records),
        hash: head.map_or_else(String::new, |head| head.hash()),
    })
}
