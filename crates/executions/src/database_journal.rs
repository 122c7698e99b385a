//! Journals in the mission database, for a fleet whose hosts share it. The store
//! knows the tables and the journal knows the lines; this is where they meet.
//!
//! The one writer of a journal holds the lease `journal/<execution>`. The lease
//! says who writes; that a stray writer cannot do harm is ensured by each commit,
//! which moves the head only from where the writer left it. A home has one daemon
//! at a time, so a lease that an earlier daemon of the same home left behind is
//! taken over at once; that of another home is waited out.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use missiond_core::{Clock, ExecutionId, FencingToken};
use missiond_journal::store::{Batch, OpenedJournal, Scanned, Visitor};
use missiond_journal::{
    Head, JournalStore, JournalWriter, Line, Recovery, Sequence, StoreError as JournalError,
};
use missiond_store::journals::{self, JournalHead, JournalLine};
use missiond_store::leases::{self, Claim};
use missiond_store::{MissionDb, StoreError, Tx};
use tokio::runtime::Handle;

/// How long a writer that says nothing is believed to be there. A journal of a
/// daemon that died can be opened by another one after this.
const LEASE: Duration = Duration::from_secs(15);

/// How long giving a lease back may take.
const LETTING_GO: Duration = Duration::from_millis(500);

/// Lines read at once.
const PAGE: i64 = 500;

/// The journals of a database. Its methods block and wait for the database: call
/// them on a thread that may block, never within an async task.
#[derive(Clone)]
pub struct DatabaseJournals {
    db: MissionDb,
    runtime: Handle,
    clock: Arc<dyn Clock>,
    holder: Holder,
}

/// Who writes: a home, and which run of its daemon. As text it is what a person
/// is told who asks why a journal is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    home: String,
    run: String,
}

impl Holder {
    #[must_use]
    pub fn new(home: impl Into<String>, run: impl Into<String>) -> Self {
        Self {
            home: home.into(),
            run: run.into(),
        }
    }

    /// Whether `holder` is this home, in whichever run of its daemon.
    fn is_home_of(&self, holder: &str) -> bool {
        let run = holder.strip_prefix(&self.home);
        run.is_some_and(|run| run.starts_with(" (") && run.ends_with(')'))
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.home, self.run)
    }
}

impl DatabaseJournals {
    #[must_use]
    pub fn new(db: MissionDb, runtime: Handle, clock: Arc<dyn Clock>, holder: Holder) -> Self {
        Self {
            db,
            runtime,
            clock,
            holder,
        }
    }

    fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    {
        self.runtime.block_on(self.db.write(work))
    }

    fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    {
        self.runtime.block_on(self.db.read(work))
    }

    fn head(&self, execution: ExecutionId) -> Result<Option<JournalHead>, JournalError> {
        self.read(move |tx| Box::pin(journals::head(tx, execution)))
            .map_err(failed)
    }

    /// Whether this home wrote the journal last. On a shared database the others
    /// are another daemon's, which may be silent and alive.
    pub fn is_ours(&self, execution: ExecutionId) -> Result<bool, JournalError> {
        let last = self
            .read(move |tx| {
                Box::pin(async move { leases::last_holder(tx, &resource(execution)).await })
            })
            .map_err(failed)?;
        Ok(last.is_some_and(|last| self.holder.is_home_of(&last)))
    }

    /// A writer of this process that was let go of a moment ago may still be
    /// giving its lease back.
    fn claim(&self, execution: ExecutionId) -> Result<FencingToken, JournalError> {
        let deadline = Instant::now() + LETTING_GO;
        loop {
            match self.claim_once(execution) {
                Err(JournalError::Locked { holder, .. })
                    if holder == self.holder.to_string() && Instant::now() < deadline =>
                {
                    std::thread::sleep(LETTING_GO / 50);
                }
                claimed => return claimed,
            }
        }
    }

    fn claim_once(&self, execution: ExecutionId) -> Result<FencingToken, JournalError> {
        let (now, holder) = (self.clock.now(), self.holder.clone());
        let claim = self.write(move |tx| {
            Box::pin(async move {
                let (resource, name) = (resource(execution), holder.to_string());
                let claim = leases::claim(tx, &resource, &name, now, LEASE).await?;
                match claim {
                    Claim::Held(left) if left.holder != name && holder.is_home_of(&left.holder) => {
                        leases::release(tx, &resource, left.token, now).await?;
                        leases::claim(tx, &resource, &name, now, LEASE).await
                    }
                    claim => Ok(claim),
                }
            })
        });
        match claim.map_err(failed)? {
            Claim::Granted(lease) => Ok(lease.token),
            Claim::Held(lease) => Err(JournalError::Locked {
                execution,
                holder: lease.holder,
            }),
        }
    }

    fn writer(&self, execution: ExecutionId, token: FencingToken, head: JournalHead) -> Writer {
        Writer {
            journals: self.clone(),
            execution,
            token,
            head,
            broken: None,
        }
    }
}

impl std::fmt::Debug for DatabaseJournals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseJournals")
            .field("db", &self.db)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

impl JournalStore for DatabaseJournals {
    fn create(
        &self,
        execution: ExecutionId,
        first: Batch<'_>,
    ) -> Result<Box<dyn JournalWriter>, JournalError> {
        if self.head(execution)?.is_some() {
            return Err(JournalError::Exists { execution });
        }
        let token = self.claim(execution)?;
        let head = stored(first.head, 0);
        // From here on the lease is given back whatever happens.
        let writer = self.writer(execution, token, head.clone());
        let lines = lines(first)?;
        self.write(move |tx| {
            Box::pin(async move { journals::create(tx, execution, &head, &lines).await })
        })
        .map_err(|error| match error {
            StoreError::Conflict { .. } => JournalError::Exists { execution },
            error => failed(error),
        })?;
        Ok(Box::new(writer))
    }

    fn open(&self, execution: ExecutionId) -> Result<OpenedJournal, JournalError> {
        if self.head(execution)?.is_none() {
            return Err(JournalError::NotFound { execution });
        }
        let token = self.claim(execution)?;
        // Read under the lease: nobody moves it from here on.
        let head = self.head(execution)?;
        let head = head.ok_or(JournalError::NotFound { execution })?;
        Ok(OpenedJournal {
            writer: Box::new(self.writer(execution, token, head)),
            recovery: Recovery::default(),
        })
    }

    fn list(&self) -> Result<Vec<ExecutionId>, JournalError> {
        self.read(|tx| Box::pin(journals::list(tx))).map_err(failed)
    }

    fn scan(
        &self,
        execution: ExecutionId,
        after: Sequence,
        visit: &mut Visitor<'_>,
    ) -> Result<(), JournalError> {
        let mut after = stored_sequence(after)?;
        let mut number = 0;
        let mut first_segment = None;
        loop {
            let page = self
                .read(move |tx| Box::pin(journals::read_after(tx, execution, after, PAGE)))
                .map_err(failed)?;
            let (segment, lines) = page.ok_or(JournalError::NotFound { execution })?;
            if *first_segment.get_or_insert(segment) != segment {
                return Err(JournalError::Backend {
                    detail: format!("{execution} was compacted while it was read: read it again"),
                });
            }
            let Some(last) = lines.last().map(|line| line.seq) else {
                return Ok(());
            };
            after = last;
            for line in lines {
                number += 1;
                let line = Line::parse(line.line.as_bytes());
                if let ControlFlow::Break(()) = visit(Scanned { number, line }) {
                    return Ok(());
                }
            }
        }
    }

    fn anchor(&self, execution: ExecutionId) -> Result<Option<Head>, JournalError> {
        self.head(execution)?
            .map(|head| head_of(execution, &head))
            .transpose()
    }
}

#[derive(Debug)]
struct Writer {
    journals: DatabaseJournals,
    execution: ExecutionId,
    token: FencingToken,
    head: JournalHead,
    broken: Option<String>,
}

/// What a commit does with the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Append,
    Replace,
}

impl Writer {
    fn change(&mut self, change: Change, batch: Batch<'_>) -> Result<(), JournalError> {
        if let Some(detail) = &self.broken {
            return Err(JournalError::Broken {
                detail: detail.clone(),
            });
        }
        let done = self.try_change(change, batch);
        if let Err(error) = &done {
            self.broken = Some(error.to_string());
        }
        done
    }

    fn try_change(&mut self, change: Change, batch: Batch<'_>) -> Result<(), JournalError> {
        let segment = self.head.segment + i64::from(change == Change::Replace);
        let to = stored(batch.head, segment);
        let lines = lines(batch)?;
        let (execution, token, from) = (self.execution, self.token, self.head.clone());
        let (now, holder) = (self.journals.clock.now(), self.journals.holder.to_string());
        let target = to.clone();
        self.token = self
            .journals
            .write(move |tx| {
                Box::pin(async move {
                    let token = keep(tx, execution, token, &holder, now).await?;
                    match change {
                        Change::Append => {
                            journals::append(tx, execution, &from, &target, &lines).await?;
                        }
                        Change::Replace => {
                            journals::replace(tx, execution, &from, &target, &lines).await?;
                        }
                    }
                    Ok(token)
                })
            })
            .map_err(failed)?;
        self.head = to;
        Ok(())
    }
}

impl JournalWriter for Writer {
    fn head(&self) -> Head {
        head_of(self.execution, &self.head).unwrap_or(Head::EMPTY)
    }

    fn commit(&mut self, batch: Batch<'_>) -> Result<(), JournalError> {
        self.change(Change::Append, batch)
    }

    fn replace(&mut self, segment: Batch<'_>) -> Result<(), JournalError> {
        self.change(Change::Replace, segment)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let (execution, token, now) = (self.execution, self.token, self.journals.clock.now());
        let db = self.journals.db.clone();
        let release = async move {
            let released = db.write(move |tx| {
                Box::pin(async move { leases::release(tx, &resource(execution), token, now).await })
            });
            if let Err(error) = released.await {
                // It ends by itself; until then another home has to wait.
                tracing::debug!(%execution, %error, "journal lease not released");
            }
        };
        // The last who had the journal may be a task, which must not block.
        drop(self.journals.runtime.spawn(release));
    }
}

/// Renews the lease, or takes it again when it ended while there was nothing to
/// write and nobody else wanted it.
async fn keep(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    token: FencingToken,
    holder: &str,
    now: missiond_core::Timestamp,
) -> Result<FencingToken, StoreError> {
    let resource = resource(execution);
    match leases::claim(tx, &resource, holder, now, LEASE).await? {
        Claim::Granted(lease) => Ok(lease.token),
        Claim::Held(lease) if lease.token == token => {
            let renewed = leases::renew(tx, &resource, token, now, LEASE).await?;
            Ok(renewed.token)
        }
        Claim::Held(_) => Err(StoreError::StaleLease { resource, token }),
    }
}

fn resource(execution: ExecutionId) -> String {
    format!("journal/{execution}")
}

fn stored_sequence(sequence: Sequence) -> Result<i64, JournalError> {
    i64::try_from(sequence.0).map_err(|_| JournalError::Backend {
        detail: format!("record {sequence} is beyond what a database can number"),
    })
}

fn stored(head: Head, segment: i64) -> JournalHead {
    JournalHead {
        seq: i64::try_from(head.sequence.0).unwrap_or(i64::MAX),
        hash: head.hash.to_string(),
        records: i64::try_from(head.records).unwrap_or(i64::MAX),
        segment,
    }
}

fn head_of(execution: ExecutionId, head: &JournalHead) -> Result<Head, JournalError> {
    let sequence = Sequence(u64::try_from(head.seq).unwrap_or(0));
    let hash = head.hash.parse().map_err(|error| JournalError::Damaged {
        execution,
        after: sequence,
        detail: format!("its head is wrong: {error}"),
    })?;
    Ok(Head {
        sequence,
        hash,
        records: u64::try_from(head.records).unwrap_or(0),
    })
}

fn lines(batch: Batch<'_>) -> Result<Vec<JournalLine>, JournalError> {
    let wrong = |detail: String| JournalError::Backend { detail };
    batch
        .lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|bytes| {
            let line = Line::parse(bytes).map_err(|error| wrong(error.to_string()))?;
            Ok(JournalLine {
                seq: stored_sequence(line.sequence)?,
                line: String::from_utf8(bytes.to_vec())
                    .map_err(|error| wrong(error.to_string()))?,
            })
        })
        .collect()
}

fn failed(error: StoreError) -> JournalError {
    match error {
        StoreError::Full { .. } => JournalError::Full,
        error => JournalError::Backend {
            detail: error.to_string(),
        },
    }
}
