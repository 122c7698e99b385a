//! The board: its graph, what is ready, and who may work on what.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use missiond_core::{
    AttemptId, BoardTask, BoardTaskId, BoardTaskStatus, Claim, ClaimKind, CliEngine, DaemonId,
    ErrorCode, Event, Evidence, ExecutionId, FencingToken, Isolation, Outcome, Priority, SlotId,
    TaskDraft, TaskNumber, TaskRef, Timestamp, TraceContext, Wait,
};

use super::fixtures::{TTL, minutes_later, noon, open};
use crate::board::{
    self, Act, Brought, Claimant, Claimed, Clearable, Ended, NewBoardTask, ReadyLimits, TaskEdit,
    TaskFilter,
};
use crate::timeline::{self, TimelineFilter};
use crate::{DbUrl, MissionDb, StoreError, Tx};

fn act(now: Timestamp) -> Act {
    Act {
        now,
        daemon: DaemonId::generate(),
        trace: TraceContext::root(),
    }
}

fn claimant(holder: &str) -> Claimant {
    Claimant {
        holder: holder.to_owned(),
        ttl: Duration::from_secs(600),
        execution: Some(ExecutionId::generate()),
        slot: Some(SlotId::generate()),
    }
}

fn draft(title: &str) -> TaskDraft {
    TaskDraft {
        title: Some(title.into()),
        isolation: Some(Isolation::None),
        ..TaskDraft::default()
    }
}

async fn write<T: Send + 'static>(
    db: &MissionDb,
    work: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
) -> T {
    db.write(work).await.unwrap()
}

async fn add(db: &MissionDb, draft: TaskDraft, on: &[BoardTaskId]) -> BoardTask {
    let new = NewBoardTask {
        depends_on: on.to_vec(),
        ..NewBoardTask::open(draft)
    };
    write(db, move |tx| {
        Box::pin(async move { board::add(tx, new, &act(noon())).await })
    })
    .await
}

async fn titled(db: &MissionDb, title: &str, on: &[BoardTaskId]) -> BoardTaskId {
    add(db, draft(title), on).await.id
}

async fn ready(db: &MissionDb, now: Timestamp) -> Vec<String> {
    ready_within(db, now, ReadyLimits::default()).await
}

async fn ready_within(db: &MissionDb, now: Timestamp, limits: ReadyLimits) -> Vec<String> {
    let found = db
        .read(move |tx| Box::pin(async move { board::ready(tx, now, &limits).await }))
        .await
        .unwrap();
    found.into_iter().map(|task| task.title).collect()
}

/// What each waiting task waits for, in sentences.
async fn waits(
    db: &MissionDb,
    now: Timestamp,
    limits: ReadyLimits,
) -> BTreeMap<String, Vec<String>> {
    let found = db
        .read(move |tx| Box::pin(async move { board::waiting(tx, now, &limits).await }))
        .await
        .unwrap();
    let told = |waits: Vec<Wait>| waits.iter().map(ToString::to_string).collect();
    found
        .into_iter()
        .map(|waiting| (waiting.task.title, told(waiting.waits)))
        .collect()
}

async fn try_claim(
    db: &MissionDb,
    id: BoardTaskId,
    holder: &str,
    now: Timestamp,
) -> Result<Claimed, StoreError> {
    let claimant = claimant(holder);
    db.write(move |tx| Box::pin(async move { board::claim(tx, id, &claimant, &act(now)).await }))
        .await
}

async fn claim(db: &MissionDb, id: BoardTaskId, now: Timestamp) -> Claimed {
    try_claim(db, id, "worker", now).await.unwrap()
}

async fn try_finish(
    db: &MissionDb,
    id: AttemptId,
    token: FencingToken,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Ended, StoreError> {
    db.write(move |tx| {
        Box::pin(async move {
            board::finish(tx, id, token, outcome, Some("so it was"), &act(now)).await
        })
    })
    .await
}

async fn finish(db: &MissionDb, claimed: &Claimed, outcome: Outcome, now: Timestamp) -> BoardTask {
    let (id, token) = (claimed.attempt.id, claimed.attempt.token);
    try_finish(db, id, token, outcome, now).await.unwrap().task
}

async fn get(db: &MissionDb, id: BoardTaskId) -> BoardTask {
    db.read(move |tx| Box::pin(async move { board::find(tx, TaskRef::Id(id)).await }))
        .await
        .unwrap()
}

async fn told(db: &MissionDb, kind: &'static str) -> Vec<Event> {
    let filter = TimelineFilter {
        kinds: vec![kind.to_owned()],
        limit: 1000,
        ..TimelineFilter::default()
    };
    let page = db
        .read(move |tx| Box::pin(async move { timeline::query(tx, &filter).await }))
        .await
        .unwrap();
    page.events.into_iter().map(|event| event.event).collect()
}

pub async fn board_a_diamond_opens_level_by_level(url: DbUrl) {
    let db = open(&url).await;
    let top = titled(&db, "top", &[]).await;
    let left = titled(&db, "left", &[top]).await;
    let right = titled(&db, "right", &[top]).await;
    let bottom = titled(&db, "bottom", &[left, right]).await;
    assert_eq!(ready(&db, noon()).await, ["top"]);
    let refused = try_claim(&db, bottom, "w", noon()).await.unwrap_err();
    assert_eq!(refused.to_string(), "T-4 waits for T-2");

    let claimed = claim(&db, top, noon()).await;
    assert_eq!(claimed.task.number, TaskNumber(1));
    assert_eq!(ready(&db, noon()).await, [""; 0]);
    assert_eq!(
        waits(&db, noon(), ReadyLimits::default()).await["left"],
        ["waits for T-1, which is running"]
    );
    let done = finish(&db, &claimed, Outcome::Verified, minutes_later(1)).await;
    assert_eq!(done.status, BoardTaskStatus::Done);
    assert_eq!(done.finished_at, Some(minutes_later(1)));
    assert_eq!(ready(&db, minutes_later(1)).await, ["left", "right"]);

    let (one, other) = (
        claim(&db, left, minutes_later(1)).await,
        claim(&db, right, minutes_later(1)).await,
    );
    finish(&db, &one, Outcome::Verified, minutes_later(2)).await;
    assert_eq!(
        ready(&db, minutes_later(2)).await,
        [""; 0],
        "half is not whole"
    );
    finish(&db, &other, Outcome::Verified, minutes_later(2)).await;
    assert_eq!(ready(&db, minutes_later(2)).await, ["bottom"]);
    assert_eq!(told(&db, "board_task_created").await.len(), 4);
    assert_eq!(told(&db, "board_task_claimed").await.len(), 3);
}

pub async fn board_a_cycle_is_refused_and_named(url: DbUrl) {
    let db = open(&url).await;
    let first = titled(&db, "first", &[]).await;
    let second = titled(&db, "second", &[first]).await;
    let third = titled(&db, "third", &[second]).await;
    let depend = |task, on: BoardTaskId| {
        let db = &db;
        async move {
            db.write(move |tx| {
                Box::pin(async move { board::depend(tx, task, &[on], &act(noon())).await })
            })
            .await
        }
    };
    let refused = depend(first, third).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict);
    let sentence = refused.to_string();
    let (_, cycle) = sentence.split_once(": ").unwrap();
    let named: Vec<_> = cycle.split(" → ").collect();
    assert_eq!(named.len(), 4, "{sentence}");
    assert_eq!(named.first(), named.last(), "{sentence}");
    assert_eq!(
        named.into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from(["T-1", "T-2", "T-3"])
    );
    let itself = depend(first, first).await.unwrap_err();
    assert_eq!(
        itself.to_string(),
        "these tasks would wait for each other: T-1 → T-1"
    );
    let unknown = depend(first, BoardTaskId::generate()).await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::NotFound);
    assert_eq!(ready(&db, noon()).await, ["first"], "nothing was kept");

    let removed = db
        .write(move |tx| {
            Box::pin(async move { board::undepend(tx, third, &[second], &act(noon())).await })
        })
        .await;
    assert!(removed.is_ok(), "{removed:?}");
    assert!(depend(first, third).await.is_ok(), "the cycle is gone");
    assert_eq!(ready(&db, noon()).await, ["third"]);
}

pub async fn board_tasks_that_touch_the_same_paths_never_run_together(url: DbUrl) {
    let db = open(&url).await;
    let touching = |title: &str, repository: &str, glob: &str| TaskDraft {
        repository: Some(repository.into()),
        touches: Some(vec![glob.into()]),
        ..draft(title)
    };
    let whole = add(&db, touching("whole", "/a", "src/**"), &[]).await.id;
    let part = add(&db, touching("part", "/a", "src/main.rs"), &[])
        .await
        .id;
    let docs = add(&db, touching("docs", "/a", "docs/**"), &[]).await.id;
    let elsewhere = add(&db, touching("elsewhere", "/b", "src/**"), &[])
        .await
        .id;
    let claimed = claim(&db, whole, noon()).await;
    assert_eq!(ready(&db, noon()).await, ["docs", "elsewhere"]);
    let refused = try_claim(&db, part, "w", noon()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "T-2 waits for T-1, which is running and touches the same paths"
    );
    claim(&db, docs, noon()).await;
    claim(&db, elsewhere, noon()).await;
    finish(&db, &claimed, Outcome::Superseded, minutes_later(1)).await;
    assert_eq!(ready(&db, minutes_later(1)).await, ["whole", "part"]);

    // However many try at once, only one of the two begins.
    let tries = (0..8).map(|worker| {
        let db = db.clone();
        let id = if worker % 2 == 0 { whole } else { part };
        tokio::spawn(async move { try_claim(&db, id, "w", minutes_later(1)).await.is_ok() })
    });
    let begun = join_all(tries).await;
    assert_eq!(
        begun
            .into_iter()
            .filter(|one| *one.as_ref().unwrap())
            .count(),
        1
    );
}

pub async fn board_a_late_result_is_refused(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "slow", &[]).await;
    let old = claim(&db, id, noon()).await;
    let (attempt, token) = (old.attempt.id, old.attempt.token);
    let beat = |now| {
        let db = &db;
        async move {
            db.write(move |tx| {
                Box::pin(async move {
                    board::heartbeat(tx, attempt, token, Duration::from_secs(600), &act(now)).await
                })
            })
            .await
        }
    };
    let lease = beat(minutes_later(5)).await.unwrap();
    assert_eq!(lease.expires_at, minutes_later(15));
    let expire = |now| {
        let db = &db;
        async move {
            write(db, move |tx| {
                Box::pin(async move { board::expire(tx, &act(now)).await })
            })
            .await
        }
    };
    assert_eq!(expire(minutes_later(14)).await, []);
    let late = try_finish(&db, attempt, token, Outcome::Verified, minutes_later(15)).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);
    let expired = expire(minutes_later(15)).await;
    assert_eq!(expired.len(), 1);
    assert_eq!(expired[0].attempt.outcome, Some(Outcome::Expired));
    assert_eq!(expired[0].task.status, BoardTaskStatus::Open);
    assert_eq!(expire(minutes_later(15)).await, [], "each is told once");
    assert_eq!(
        told(&db, "lease_expired").await,
        [Event::LeaseExpired {
            resource: board::resource(id),
            holder: "worker".into(),
            token,
        }]
    );

    let new = claim(&db, id, minutes_later(16)).await;
    assert!(new.attempt.token > token);
    assert_eq!(new.attempt.number, 2);
    let late = try_finish(&db, attempt, token, Outcome::Verified, minutes_later(17)).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);
    assert!(beat(minutes_later(17)).await.is_err());
    assert_eq!(get(&db, id).await.status, BoardTaskStatus::Running);
    let done = finish(&db, &new, Outcome::Verified, minutes_later(18)).await;
    assert_eq!(done.status, BoardTaskStatus::Done);
    let twice = try_finish(
        &db,
        new.attempt.id,
        new.attempt.token,
        Outcome::Verified,
        minutes_later(18),
    );
    assert_eq!(twice.await.unwrap_err().code(), ErrorCode::StaleLease);
}

pub async fn board_attempts_back_off_and_end_at_the_cap(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "flaky", &[]).await;
    let mut now = noon();
    for wait in [10, 20] {
        let claimed = claim(&db, id, now).await;
        let task = finish(&db, &claimed, Outcome::AgentLost, now).await;
        let until = now.plus(Duration::from_secs(wait));
        assert_eq!(task.status, BoardTaskStatus::Open);
        assert_eq!(task.not_before, Some(until));
        assert_eq!(ready(&db, now).await, [""; 0]);
        let refused = try_claim(&db, id, "w", now).await.unwrap_err().to_string();
        assert!(refused.starts_with("T-1 tried again at "), "{refused}");
        now = until;
        assert_eq!(ready(&db, now).await, ["flaky"]);
    }
    let claimed = claim(&db, id, now).await;
    let task = finish(&db, &claimed, Outcome::Stalled, now).await;
    assert_eq!(task.status, BoardTaskStatus::Failed);
    assert_eq!(
        task.blocked.as_deref(),
        Some("it was tried 3 times; at last: so it was")
    );
    let retried = write(&db, move |tx| {
        Box::pin(async move { board::retry(tx, id, &act(now)).await })
    })
    .await;
    assert_eq!((retried.status, retried.tries), (BoardTaskStatus::Open, 0));
    let claimed = claim(&db, id, now).await;
    assert_eq!(claimed.attempt.number, 4, "the history stays");
    let given_back = finish(&db, &claimed, Outcome::Superseded, now).await;
    assert_eq!((given_back.tries, given_back.not_before), (0, None));
}

pub async fn board_a_graph_is_added_whole_or_not_at_all(url: DbUrl) {
    let db = open(&url).await;
    let before = titled(&db, "before", &[]).await;
    let parent = titled(&db, "parent", &[before]).await;
    let step = |title: &str, on: &[BoardTaskId]| NewBoardTask {
        parent: Some(parent),
        depends_on: on.to_vec(),
        ..NewBoardTask::open(draft(title))
    };
    let add_graph = |new: Vec<NewBoardTask>, also: Vec<(BoardTaskId, BoardTaskId)>| {
        let db = &db;
        async move {
            db.write(move |tx| {
                Box::pin(async move { board::add_graph(tx, new, &also, &act(noon())).await })
            })
            .await
        }
    };
    let (mut one, two) = (step("one", &[]), step("two", &[]));
    one.depends_on = vec![two.id];
    let mut back = two.clone();
    back.depends_on = vec![one.id];
    let refused = add_graph(vec![one.clone(), back], vec![])
        .await
        .unwrap_err();
    let sentence = refused.to_string();
    assert!(
        sentence.contains("“one” → “two” → “one”") || sentence.contains("“two” → “one” → “two”"),
        "{sentence}"
    );
    let untitled = step(" ", &[]);
    assert!(
        add_graph(vec![two.clone(), untitled], vec![])
            .await
            .is_err()
    );
    // The parent would wait for a step that waits for what waits for the parent.
    let after = titled(&db, "after", &[parent]).await;
    let knot = step("knot", &[after]);
    let refused = add_graph(vec![knot.clone()], vec![(parent, knot.id)]).await;
    let sentence = refused.unwrap_err().to_string();
    assert!(
        sentence.contains("“knot”") && sentence.contains("T-2"),
        "{sentence}"
    );
    let nothing = db
        .read(move |tx| Box::pin(async move { board::children(tx, parent).await }))
        .await
        .unwrap();
    assert_eq!(nothing, []);

    let ids = [one.id, two.id];
    let added = add_graph(vec![one, two], ids.map(|id| (parent, id)).to_vec());
    let added = added.await.unwrap();
    assert_eq!(
        added[0].number,
        TaskNumber(4),
        "a refused graph uses no numbers up"
    );
    assert_eq!(added[1].parent, Some(parent));
    assert_eq!(ready(&db, noon()).await, ["before", "two"]);
    assert_eq!(
        waits(&db, noon(), ReadyLimits::default()).await["parent"],
        ["waits for T-1", "waits for T-4", "waits for T-5"]
    );
}

pub async fn board_64_claimers_claim_every_task_once(url: DbUrl) {
    const TASKS: usize = 200;
    let daemons = [open(&url).await, open(&url).await];
    let new: Vec<_> = (0..TASKS)
        .map(|number| NewBoardTask::open(draft(&format!("task {number}"))))
        .collect();
    let mut claims: BTreeMap<_, _> = new.iter().map(|new| (new.id, 0)).collect();
    write(&daemons[0], move |tx| {
        Box::pin(async move { board::add_graph(tx, new, &[], &act(noon())).await })
    })
    .await;
    let workers = (0..64).map(|worker| {
        let db = daemons[worker % 2].clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimant = claimant(&format!("worker {worker}"));
                let claimed = write(&db, move |tx| {
                    Box::pin(async move {
                        let limits = ReadyLimits::default();
                        board::claim_next(tx, &claimant, &limits, &act(noon())).await
                    })
                })
                .await;
                match claimed {
                    Some(claimed) => mine.push(claimed.task.id),
                    None => return mine,
                }
            }
        })
    });
    for mine in join_all(workers).await {
        for id in mine.unwrap() {
            *claims.get_mut(&id).unwrap() += 1;
        }
    }
    assert!(claims.values().all(|&times| times == 1), "{claims:?}");
    assert_eq!(told(&daemons[1], "board_task_claimed").await.len(), TASKS);
}

pub async fn board_an_attempt_is_taken_over_under_a_new_token(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "left behind", &[]).await;
    let old = claim(&db, id, noon()).await;
    let attempt = old.attempt.id;
    let adopted = write(&db, move |tx| {
        Box::pin(
            async move { board::adopt(tx, attempt, "heir", TTL, &act(minutes_later(30))).await },
        )
    })
    .await;
    assert_eq!(
        adopted.attempt.execution, old.attempt.execution,
        "the agent is the same"
    );
    assert_eq!(adopted.attempt.number, 1);
    assert!(adopted.attempt.token > old.attempt.token);
    let late = try_finish(
        &db,
        attempt,
        old.attempt.token,
        Outcome::Error,
        minutes_later(31),
    );
    assert_eq!(late.await.unwrap_err().code(), ErrorCode::StaleLease);
    let found = db
        .read(|tx| Box::pin(board::live_attempts(tx)))
        .await
        .unwrap();
    assert_eq!(found, std::slice::from_ref(&adopted.attempt));
    let execution = old.attempt.execution.unwrap();
    let of_execution = db
        .read(move |tx| Box::pin(board::attempt_of_execution(tx, execution)))
        .await
        .unwrap();
    assert_eq!(of_execution, Some(adopted.attempt.clone()));
    finish(&db, &adopted, Outcome::Verified, minutes_later(32)).await;
    let over = db
        .write(move |tx| {
            Box::pin(async move { board::adopt(tx, attempt, "x", TTL, &act(noon())).await })
        })
        .await;
    assert_eq!(over.unwrap_err().code(), ErrorCode::Conflict);
}

pub async fn board_claim_evidence_and_outcome_are_three_facts(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "checked", &[]).await;
    let claimed = claim(&db, id, noon()).await;
    let (attempt, token) = (claimed.attempt.id, claimed.attempt.token);
    let said = Claim {
        kind: ClaimKind::Completed,
        text: "all \"done\"".into(),
        at: minutes_later(1),
    };
    let evidence = |round, passed| Evidence {
        attempt,
        round,
        check: "cargo test".into(),
        exit: Some(if passed { 0 } else { 101 }),
        signal: None,
        timed_out: false,
        passed,
        tail: "…".into(),
        commit: Some("abc".into()),
        at: minutes_later(2),
        millis: 12,
    };
    let place = board::Place {
        worktree: Some("/trees/a b".into()),
        branch: Some("mission/T-1".into()),
        ..board::Place::default()
    };
    let (first, second) = (evidence(1, false), evidence(2, true));
    let rounds = [first.clone(), second.clone()];
    let kept = said.clone();
    let recorded = write(&db, move |tx| {
        Box::pin(async move {
            let act = act(minutes_later(2));
            board::record_place(tx, attempt, token, &place, &act).await?;
            board::record_claim(tx, attempt, token, kept, &act).await?;
            for (round, said) in (1..).zip([&first, &second]) {
                let one = std::slice::from_ref(said);
                board::record_evidence(tx, attempt, token, round, one, &act).await?;
                board::record_evidence(tx, attempt, token, round, one, &act).await?;
            }
            Ok(())
        })
    });
    recorded.await;
    let found = db
        .read(move |tx| Box::pin(board::evidence(tx, attempt)))
        .await
        .unwrap();
    assert_eq!(found, rounds, "a round is kept once");
    assert_eq!(told(&db, "checks_finished").await.len(), 2);
    let blocked = finish(&db, &claimed, Outcome::ChecksFailed, minutes_later(3)).await;
    assert_eq!(blocked.status, BoardTaskStatus::Blocked);
    assert_eq!(
        waits(&db, minutes_later(3), ReadyLimits::default()).await["checked"],
        ["is blocked: so it was"]
    );
    let attempts = db
        .read(move |tx| Box::pin(board::attempts(tx, id)))
        .await
        .unwrap();
    assert_eq!(attempts[0].claim, Some(said));
    assert_eq!(attempts[0].outcome, Some(Outcome::ChecksFailed));
    assert_eq!(attempts[0].check_rounds, 2);
    assert_eq!(attempts[0].worktree.as_deref(), Some("/trees/a b".as_ref()));
    let there = db.read(|tx| {
        Box::pin(async move {
            let folders = ["/trees/a b".into(), "/trees/elsewhere".into()];
            board::attempts_in(tx, &folders).await
        })
    });
    assert_eq!(there.await.unwrap(), attempts);
}

pub async fn board_a_cancelled_task_fences_out_its_holder(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "unwanted", &[]).await;
    let claimed = claim(&db, id, noon()).await;
    let cancelled = write(&db, move |tx| {
        Box::pin(async move { board::cancel(tx, id, "no longer wanted", &act(noon())).await })
    })
    .await;
    assert_eq!(cancelled.status, BoardTaskStatus::Failed);
    let (attempt, token) = (claimed.attempt.id, claimed.attempt.token);
    let late = try_finish(&db, attempt, token, Outcome::Verified, noon()).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);
    let kept = db
        .read(move |tx| Box::pin(board::attempt(tx, attempt)))
        .await
        .unwrap();
    assert_eq!(kept.unwrap().outcome, Some(Outcome::Cancelled));
}

pub async fn board_tasks_are_edited_noted_and_found(url: DbUrl) {
    let db = open(&url).await;
    let wanted = TaskDraft {
        labels: Some(vec!["it's 100% \"odd\"".into(), "b".into()]),
        priority: Some(Priority::Urgent),
        due: Some(minutes_later(60)),
        engine: Some(CliEngine::Codex),
        ..draft("Fix the LEXER")
    };
    let odd = add(&db, wanted, &[]).await;
    titled(&db, "write docs", &[]).await;
    let list = |filter: TaskFilter| {
        let db = &db;
        async move {
            let limit = 10;
            let filter = TaskFilter { limit, ..filter };
            db.read(move |tx| {
                Box::pin(async move {
                    let found = board::list(tx, &filter).await?;
                    assert_eq!(board::count(tx, &filter).await?, found.len() as u64);
                    Ok(found
                        .into_iter()
                        .map(|task| task.number.0)
                        .collect::<Vec<_>>())
                })
            })
            .await
            .unwrap()
        }
    };
    assert_eq!(list(TaskFilter::default()).await, [1, 2]);
    let by_label = |label: &str| TaskFilter {
        label: Some(label.into()),
        ..TaskFilter::default()
    };
    assert_eq!(list(by_label("it's 100% \"odd\"")).await, [1]);
    assert_eq!(
        list(by_label("it")).await,
        [0; 0],
        "a label is matched whole"
    );
    let search = TaskFilter {
        search: Some("lexer".into()),
        ..TaskFilter::default()
    };
    assert_eq!(list(search).await, [1]);
    let done = TaskFilter {
        status: vec![BoardTaskStatus::Done, BoardTaskStatus::Failed],
        ..TaskFilter::default()
    };
    assert_eq!(list(done).await, [0; 0]);

    let id = odd.id;
    let change = TaskEdit {
        set: TaskDraft {
            title: Some("Fix the parser".into()),
            ..TaskDraft::default()
        },
        clear: vec![Clearable::Due, Clearable::Engine],
    };
    let edited = write(&db, move |tx| {
        Box::pin(async move {
            board::note(tx, id, "ann", "look at 'a b'", &act(noon())).await?;
            board::edit(tx, id, change, &act(minutes_later(1))).await
        })
    })
    .await;
    let expected = BoardTask {
        title: "Fix the parser".into(),
        due: None,
        engine: None,
        updated_at: minutes_later(1),
        ..odd
    };
    assert_eq!(edited, expected);
    assert_eq!(get(&db, id).await, expected);
    let notes = db
        .read(move |tx| Box::pin(board::notes(tx, id)))
        .await
        .unwrap();
    assert_eq!(notes[0].text, "look at 'a b'");

    let mut brought = NewBoardTask::open(draft("from elsewhere"));
    brought.history.status = Some(Brought::Done);
    let brought = write(&db, move |tx| {
        Box::pin(async move { board::add(tx, brought, &act(noon())).await })
    })
    .await;
    assert_eq!(brought.finished_at, Some(noon()));
    titled(&db, "after it", &[brought.id]).await;
    assert!(ready(&db, noon()).await.contains(&"after it".to_owned()));
}

pub async fn board_every_limit_explains_itself(url: DbUrl) {
    let db = open(&url).await;
    let of = |title: &str, engine: CliEngine| TaskDraft {
        engine: Some(engine),
        ..draft(title)
    };
    add(&db, of("codex 1", CliEngine::Codex), &[]).await;
    add(&db, of("codex 2", CliEngine::Codex), &[]).await;
    add(&db, of("claude", CliEngine::Claude), &[]).await;
    add(&db, draft("any"), &[]).await;
    let limits = ReadyLimits {
        per_engine: BTreeMap::from([(CliEngine::Codex, 1)]),
        quotas: BTreeMap::from([(CliEngine::Claude, Some(minutes_later(180)))]),
        ..ReadyLimits::default()
    };
    assert_eq!(
        ready_within(&db, noon(), limits.clone()).await,
        ["codex 1", "any"]
    );
    let said = waits(&db, noon(), limits.clone()).await;
    assert_eq!(
        said["codex 2"],
        ["waits for a place: 1 of codex may run at once"]
    );
    assert_eq!(
        said["claude"],
        ["the usage limit of claude is reached until 2026-01-04 15:00:00 UTC"]
    );
    let later = ready_within(&db, minutes_later(180), limits).await;
    assert!(later.contains(&"claude".to_owned()), "{later:?}");
    let held = ReadyLimits {
        spent: BTreeMap::from([(CliEngine::Claude, Some(minutes_later(180)))]),
        capacity: Some(2),
        ..ReadyLimits::default()
    };
    assert_eq!(
        ready_within(&db, noon(), held.clone()).await,
        ["codex 1", "codex 2"]
    );
    let said = waits(&db, noon(), held).await;
    assert_eq!(said["any"], ["waits for a place: 2 agents may run at once"]);
    assert_eq!(
        said["claude"],
        [
            "the budget of claude is used up until 2026-01-04 15:00:00 UTC",
            "waits for a place: 2 agents may run at once",
        ]
    );
    let quiet = ReadyLimits {
        all_wait: vec![Wait::QuietHours {
            hours: "22:00-06:30".into(),
        }],
        ..ReadyLimits::default()
    };
    assert_eq!(ready_within(&db, noon(), quiet.clone()).await, [""; 0]);
    let said = waits(&db, noon(), quiet).await;
    assert_eq!(said.len(), 4);
    assert_eq!(
        said["any"],
        ["waits for the end of the quiet hours (22:00-06:30)"]
    );
}

/// Numbers that look random and are the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

/// Random changes of a graph: it never holds a cycle, and what is ready is what
/// its plain definition says.
pub async fn board_random_changes_keep_the_graph_whole(url: DbUrl) {
    const STEPS: usize = 250;
    let db = open(&url).await;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut tasks: Vec<BoardTaskId> = Vec::new();
    // A second keeping of the same graph, in the plainest way.
    let mut edges: BTreeSet<(BoardTaskId, BoardTaskId)> = BTreeSet::new();
    let mut done: BTreeSet<BoardTaskId> = BTreeSet::new();
    for step in 0..STEPS {
        let one = |dice: &mut Dice, tasks: &[BoardTaskId]| tasks[dice.below(tasks.len())];
        match dice.below(10) {
            0..=2 => {
                let on = match tasks.is_empty() {
                    true => Vec::new(),
                    false => vec![one(&mut dice, &tasks)],
                };
                let id = titled(&db, &format!("{step}"), &on).await;
                edges.extend(on.into_iter().map(|on| (id, on)));
                tasks.push(id);
            }
            3..=6 if tasks.len() > 1 => {
                let (task, on) = (one(&mut dice, &tasks), one(&mut dice, &tasks));
                let changed = db
                    .write(move |tx| {
                        Box::pin(async move { board::depend(tx, task, &[on], &act(noon())).await })
                    })
                    .await;
                let cycle = task == on || reaches(&edges, on, task);
                let begun = done.contains(&task) && !edges.contains(&(task, on));
                assert_eq!(changed.is_err(), cycle || begun, "{changed:?}");
                if changed.is_ok() {
                    edges.insert((task, on));
                }
            }
            7 if !edges.is_empty() => {
                let all: Vec<_> = edges.iter().copied().collect();
                let (task, on) = all[dice.below(all.len())];
                write(&db, move |tx| {
                    Box::pin(async move { board::undepend(tx, task, &[on], &act(noon())).await })
                })
                .await;
                edges.remove(&(task, on));
            }
            _ => {
                let claimant = claimant("w");
                let claimed = write(&db, move |tx| {
                    Box::pin(async move {
                        let limits = ReadyLimits::default();
                        board::claim_next(tx, &claimant, &limits, &act(noon())).await
                    })
                });
                if let Some(claimed) = claimed.await {
                    finish(&db, &claimed, Outcome::Verified, noon()).await;
                    done.insert(claimed.task.id);
                }
            }
        }
        let naive: BTreeSet<_> = tasks
            .iter()
            .filter(|task| !done.contains(task))
            .filter(|task| {
                let mut on = edges.iter().filter(|(from, _)| from == *task);
                on.all(|(_, on)| done.contains(on))
            })
            .copied()
            .collect();
        let found = db
            .read(|tx| {
                Box::pin(async move {
                    board::ready(
                        tx,
                        noon(),
                        &ReadyLimits {
                            limit: 1000,
                            ..ReadyLimits::default()
                        },
                    )
                    .await
                })
            })
            .await
            .unwrap();
        assert_eq!(
            found.iter().map(|task| task.id).collect::<BTreeSet<_>>(),
            naive,
            "after step {step}"
        );
    }
    assert!(done.len() > 10 && edges.len() > 10, "the walk went nowhere");
}

fn reaches(
    edges: &BTreeSet<(BoardTaskId, BoardTaskId)>,
    from: BoardTaskId,
    to: BoardTaskId,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(task) = open.pop() {
        if task == to {
            return true;
        }
        if seen.insert(task) {
            open.extend(
                edges
                    .iter()
                    .filter(|(one, _)| *one == task)
                    .map(|(_, on)| *on),
            );
        }
    }
    false
}

pub async fn board_work_taken_by_a_person_completes_its_task(url: DbUrl) {
    let db = open(&url).await;
    let first = titled(&db, "first", &[]).await;
    titled(&db, "second", &[first]).await;
    let complete = |db: MissionDb| async move {
        db.write(move |tx| {
            Box::pin(
                async move { board::complete(tx, first, "person", "by hand", &act(noon())).await },
            )
        })
        .await
    };
    let claimed = claim(&db, first, noon()).await;
    let refused = complete(db.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict, "it is running");
    let (id, token) = (claimed.attempt.id, claimed.attempt.token);
    write(&db, move |tx| {
        Box::pin(async move {
            board::finish(
                tx,
                id,
                token,
                Outcome::ChecksFailed,
                Some("red"),
                &act(noon()),
            )
            .await
        })
    })
    .await;
    let done = complete(db.clone()).await.unwrap();
    assert_eq!((done.status, done.blocked), (BoardTaskStatus::Done, None));
    assert_eq!(ready(&db, noon()).await, ["second"]);
    let notes = db
        .read(move |tx| Box::pin(board::notes(tx, first)))
        .await
        .unwrap();
    assert_eq!(notes[0].text, "by hand");
    let again = complete(db.clone()).await.unwrap_err();
    assert!(matches!(again, StoreError::IllegalMove(_)), "{again}");
}
