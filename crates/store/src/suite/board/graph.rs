//! The graph of tasks: what may depend on what, and what that makes ready.

use super::*;

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
    assert_eq!(events_of_kind(&db, "board_task_created").await.len(), 4);
    assert_eq!(events_of_kind(&db, "board_task_claimed").await.len(), 3);
}

pub async fn board_who_waits_for_a_task_is_counted_without_it(url: DbUrl) {
    let db = open(&url).await;
    let top = titled(&db, "top", &[]).await;
    let left = titled(&db, "left", &[top]).await;
    let right = titled(&db, "right", &[top]).await;
    let bottom = titled(&db, "bottom", &[left, right]).await;
    let waiting = |task: BoardTaskId| {
        let db = &db;
        async move {
            let read = db.read(move |tx| Box::pin(board::waiting_for(tx, task)));
            read.await.unwrap()
        }
    };
    assert_eq!(
        waiting(top).await,
        3,
        "each once, however many ways lead to it"
    );
    assert_eq!(waiting(left).await, 1);
    assert_eq!(waiting(bottom).await, 0, "the one that asks is not counted");
    let claimed = claim(&db, top, noon()).await;
    finish(&db, &claimed, Outcome::Verified, minutes_later(1)).await;
    let claimed = claim(&db, left, minutes_later(1)).await;
    finish(&db, &claimed, Outcome::Verified, minutes_later(2)).await;
    assert_eq!(waiting(top).await, 2, "what is done waits no more");
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
                let on = if tasks.is_empty() {
                    Vec::new()
                } else {
                    vec![one(&mut dice, &tasks)]
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
