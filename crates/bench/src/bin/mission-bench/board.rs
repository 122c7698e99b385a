//! Claims per second by several claimers at once, and how long it takes to say
//! what is ready on a small and a large board.
//!
//! Each claimer claims the task that is wanted most, until none is left, and
//! waits for each commit before it asks for the next. That no task was claimed
//! twice is looked at after every round; a duplicate fails the bench.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::{
    BoardTaskId, Clock, DaemonId, ErrorCode, ExecutionId, Isolation, SlotId, SystemClock,
    TaskDraft, TraceContext,
};
use missiond_store::board::{self, Act, Claimant, NewBoardTask, ReadyLimits};
use missiond_store::private_postgres::{PrivatePostgres, create_database, drop_database};
use missiond_store::{DbUrl, MissionDb, StoreError};

use crate::{Mission, Report, median, millis, percentile, scratch};

const CLAIMERS: [u32; 3] = [1, 8, 64];

/// One claimer waits for one flush per claim: fewer claims say as much.
const CLAIMS_OF_ONE: u32 = 300;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Full,
    /// Shows that it works, measures nothing.
    Quick,
}

impl Scale {
    /// Each rate is measured this often; the median counts.
    const fn rounds(self) -> u32 {
        match self {
            Self::Full => 3,
            Self::Quick => 1,
        }
    }

    /// How many tasks the boards hold that are asked what is ready.
    const fn boards(self) -> [(u32, &'static str); 2] {
        match self {
            Self::Full => [(1_000, "ready_1k_ms"), (100_000, "ready_100k_ms")],
            Self::Quick => [(1_000, "ready_1k_ms"), (2_000, "ready_100k_ms")],
        }
    }
}

/// How often what is ready is asked for.
const ASKED: usize = 30;

pub(super) fn run(
    claims: u32,
    scale: Scale,
    postgres: Option<&str>,
    mission: &Mission,
    output: &mut Output,
) -> Result<Report, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = scratch::folder()?;
    let mut report = Report::new("board");
    report.condition("claims_per_round", claims);
    report.condition("claims_of_one_claimer", claims.min(CLAIMS_OF_ONE));
    report.condition("rounds", scale.rounds());
    report.condition("quick", scale == Scale::Quick);
    report.condition("sqlite_synchronous", "FULL");
    report.condition(
        "claim",
        "claim_next: pick, lease, attempt and two timeline events in one committed transaction",
    );
    report.condition(
        "ready",
        "SQLite, the first 100 of the ready tasks; chains of ten, so that one in ten is ready",
    );
    {
        let _progress = Progress::start(output, "measuring SQLite");
        runtime.block_on(async {
            for claimers in CLAIMERS {
                let mut rates = Vec::new();
                for round in 0..scale.rounds() {
                    let file = folder.path().join(format!("{claimers}-{round}.db"));
                    let url = DbUrl::sqlite(file);
                    rates.push(rate(&url, claimers, count(claims, claimers)).await?);
                }
                report.metric(
                    format!("claims_per_s_sqlite_{claimers}"),
                    median(&mut rates),
                );
            }
            ready(folder.path(), scale, &mut report).await
        })?;
    }
    let server = match postgres {
        Some(url) => Ok((url.parse::<DbUrl>()?, None)),
        None => PrivatePostgres::start().map(|server| (server.url().clone(), Some(server))),
    };
    match server {
        Ok((url, _private)) => {
            let _progress = Progress::start(output, "measuring PostgreSQL");
            report.condition("postgres_synchronous_commit", "on");
            runtime.block_on(of_postgres(&url, claims, scale, &mut report))?;
        }
        Err(error) => report.condition("postgres", format!("not measured: {error}")),
    }
    {
        let _progress = Progress::start(output, "measuring dispatch");
        report.condition(
            "dispatch",
            "from the commit that makes a task done to the next agent's process running; a chain \
             of rehearsal agents, each with a git worktree of its own",
        );
        let mut took = crate::dispatch::hand_overs(mission)?;
        report.condition("dispatches", took.len());
        report.metric("dispatch_p50_ms", millis(percentile(&mut took, 0.50)));
        report.metric("dispatch_p90_ms", millis(percentile(&mut took, 0.90)));
    }
    // Every round that was counted was looked through.
    report.metric("duplicate_claims", 0.0);
    Ok(report)
}

async fn of_postgres(
    server: &DbUrl,
    claims: u32,
    scale: Scale,
    report: &mut Report,
) -> Result<(), Failure> {
    for claimers in CLAIMERS {
        let mut rates = Vec::new();
        for round in 0..scale.rounds() {
            let name = format!("mission_bench_board_{claimers}_{round}");
            let url = create_database(server, &name).await?;
            rates.push(rate(&url, claimers, count(claims, claimers)).await?);
            drop_database(server, &name).await?;
        }
        report.metric(
            format!("claims_per_s_postgres_{claimers}"),
            median(&mut rates),
        );
    }
    Ok(())
}

const fn count(claims: u32, claimers: u32) -> u32 {
    match claimers {
        1 if claims > CLAIMS_OF_ONE => CLAIMS_OF_ONE,
        _ => claims,
    }
}

/// Claims per second on a fresh board of so many tasks.
async fn rate(url: &DbUrl, claimers: u32, claims: u32) -> Result<f64, Failure> {
    let db = MissionDb::open(url).await?;
    add(&db, (0..claims).map(task).collect()).await?;
    let started = Instant::now();
    let workers: Vec<_> = (0..claimers)
        .map(|worker| tokio::spawn(claim_all(db.clone(), worker)))
        .collect();
    let (mut claimed, mut total) = (HashSet::new(), 0);
    for worker in workers {
        let mine = worker.await.map_err(|error| defect(error.to_string()))??;
        total += mine.len();
        claimed.extend(mine);
    }
    let took = started.elapsed();
    if claimed.len() != total || total != claims as usize {
        return Err(defect(format!(
            "{claims} tasks were claimed {total} times, {} of them different: a task was claimed \
             twice or forgotten",
            claimed.len()
        )));
    }
    db.close().await?;
    Ok(f64::from(claims) / took.as_secs_f64())
}

fn defect(message: String) -> Failure {
    Failure::new(ErrorCode::Internal, message)
}

async fn claim_all(db: MissionDb, worker: u32) -> Result<Vec<BoardTaskId>, StoreError> {
    let mut mine = Vec::new();
    loop {
        let claimant = Claimant {
            holder: format!("claimer {worker}"),
            ttl: Duration::from_secs(600),
            execution: Some(ExecutionId::generate()),
            slot: Some(SlotId::generate()),
        };
        let claimed = db
            .write(move |tx| {
                Box::pin(async move {
                    board::claim_next(tx, &claimant, &ReadyLimits::default(), &act()).await
                })
            })
            .await?;
        match claimed {
            Some(claimed) => mine.push(claimed.task.id),
            None => return Ok(mine),
        }
    }
}

/// How long it takes to say what is ready, on a small and on a large board.
async fn ready(folder: &Path, scale: Scale, report: &mut Report) -> Result<(), Failure> {
    for (tasks, metric) in scale.boards() {
        let db = MissionDb::open(&DbUrl::sqlite(folder.join(format!("{metric}.db")))).await?;
        for first in (0..tasks).step_by(10_000) {
            let last = (first + 10_000).min(tasks);
            add(&db, chains(first, last)).await?;
        }
        let mut asked = Vec::with_capacity(ASKED);
        for _ in 0..ASKED {
            let now = SystemClock.now();
            let started = Instant::now();
            let found = db
                .read(move |tx| {
                    Box::pin(async move { board::ready(tx, now, &ReadyLimits::default()).await })
                })
                .await?;
            asked.push(started.elapsed());
            if found.len() != 100 {
                return Err(defect(format!("{} tasks were ready, not 100", found.len())));
            }
        }
        report.metric(metric, millis(percentile(&mut asked, 0.5)));
        db.close().await?;
    }
    Ok(())
}

/// Tasks in chains of ten.
fn chains(first: u32, last: u32) -> Vec<NewBoardTask> {
    let mut tasks: Vec<NewBoardTask> = Vec::new();
    for number in first..last {
        let mut new = task(number);
        if number % 10 != 0 {
            new.depends_on.extend(tasks.last().map(|before| before.id));
        }
        tasks.push(new);
    }
    tasks
}

fn task(number: u32) -> NewBoardTask {
    NewBoardTask::open(TaskDraft {
        title: Some(format!("Task number {number}")),
        description: Some("What is to be done, in a sentence or two.".to_owned()),
        isolation: Some(Isolation::None),
        ..TaskDraft::default()
    })
}

async fn add(db: &MissionDb, tasks: Vec<NewBoardTask>) -> Result<(), StoreError> {
    db.write(move |tx| {
        Box::pin(async move { board::add_graph(tx, tasks, &[], &act()).await.map(drop) })
    })
    .await
}

fn act() -> Act {
    Act {
        now: SystemClock.now(),
        daemon: DaemonId::generate(),
        trace: TraceContext::root(),
    }
}
