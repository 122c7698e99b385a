//! Conversations: what has a key is there once, cursors move once, and the rest
//! reads back as it was written.

use missiond_core::{BoardTaskId, CliEngine, ConversationId, ExecutionId, SlotId};

use super::fixtures::{minutes_later, noon, open};
use crate::conversations::cursors::{self, CursorMove, CursorRow};
use crate::conversations::items::{self, CallEnd, CallRow, EventRow, MessageRow, UsageRow, Window};
use crate::conversations::turns::{self, TurnRow};
use crate::conversations::usage;
use crate::conversations::{self, ConversationFilter, ConversationRow, Counts};
use crate::token_usage::{Tokens, Used};
use crate::{DbUrl, MissionDb};

fn conversation(session: &str, minute: u64) -> ConversationRow {
    ConversationRow {
        id: conversations::id_of(&CliEngine::Claude, session),
        engine: CliEngine::Claude,
        session: session.into(),
        host: "here".into(),
        project: "/src/app".into(),
        cwd: "/src/app/sub".into(),
        title: "修复 the bug".into(),
        execution: None,
        task: None,
        slot: None,
        started_at: minutes_later(minute),
        last_at: minutes_later(minute + 1),
        taken_at: minutes_later(minute),
        next_place: 1,
        skipped: 0,
        diagnostic: None,
    }
}

fn message(place: i64, key: &str, text: &str) -> MessageRow {
    MessageRow {
        place,
        key: key.into(),
        turn: 1,
        role: "person".into(),
        text: text.into(),
        model: None,
        noise: None,
        bytes: text.len() as i64,
        at: noon(),
    }
}

fn call(place: i64, call: &str) -> CallRow {
    CallRow {
        place,
        call: call.into(),
        turn: 1,
        tool: "Bash".into(),
        input: "{\"command\":\"ls\"}".into(),
        outcome: None,
        output: String::new(),
        noise: None,
        bytes: 0,
        at: noon(),
        ended_at: None,
    }
}

async fn hold(db: &MissionDb, row: &ConversationRow) -> ConversationRow {
    let row = row.clone();
    db.write(move |tx| Box::pin(async move { conversations::hold(tx, &row).await }))
        .await
        .unwrap()
}

const ALL: Window = Window {
    after: 0,
    turn: None,
    limit: 100,
};

pub async fn what_was_said_is_there_once(url: DbUrl) {
    let db = open(&url).await;
    let row = conversation("c1", 0);
    let id = row.id;
    assert_eq!(hold(&db, &row).await, row);
    let other = ConversationRow {
        title: "another".into(),
        ..row.clone()
    };
    assert_eq!(hold(&db, &other).await, row, "the first one stays");
    let (messages, calls, events, counts) = db
        .write(move |tx| {
            Box::pin(async move {
                assert!(items::add_message(tx, id, &message(1, "m1", "hello")).await?);
                assert!(!items::add_message(tx, id, &message(2, "m1", "again")).await?);
                assert!(items::add_call(tx, id, &call(2, "t1")).await?);
                assert!(!items::add_call(tx, id, &call(3, "t1")).await?);
                let end = CallEnd {
                    call: "t1".into(),
                    outcome: "failed".into(),
                    output: "no".into(),
                    noise: None,
                    bytes: 2,
                    at: minutes_later(1),
                };
                assert_eq!(items::end_call(tx, id, &end).await?, Some(1));
                assert_eq!(items::end_call(tx, id, &end).await?, None);
                let event = EventRow {
                    place: 3,
                    key: "e1".into(),
                    turn: 1,
                    kind: "turn_ended".into(),
                    at: noon(),
                };
                assert!(items::add_event(tx, id, &event).await?);
                assert!(!items::add_event(tx, id, &event).await?);
                for output in [20, 35, 35, 7] {
                    let usage = UsageRow {
                        request: "r1".into(),
                        model: Some("m".into()),
                        input: 100,
                        output,
                        cache_read: 3,
                        cache_write: 8,
                        cache_write_1h: 6,
                        at: noon(),
                    };
                    items::put_usage(tx, id, &usage).await?;
                }
                for (request, cost) in [("r1", 40), ("all", 90), ("all", 120), ("all", 100)] {
                    usage::put_cost(tx, id, request, cost, noon()).await?;
                }
                assert_eq!(usage::reported_cost(tx, id).await?, Some(160));
                assert_eq!(usage::reported_cost_since(tx, noon()).await?, Some(160));
                let models = usage::since(tx, noon()).await?;
                let tokens = Tokens {
                    input: 100,
                    output: 35,
                    cache_read: 3,
                    cache_write: 8,
                    cache_write_1h: 6,
                };
                let of = Some("m".to_owned());
                assert_eq!(models, [Used { of, tokens }]);
                assert_eq!(usage::since(tx, minutes_later(9)).await?, []);
                let requests = usage::requests(tx, id, noon(), Some(minutes_later(1))).await?;
                assert_eq!(
                    requests.iter().map(|each| each.tokens.output).sum::<u64>(),
                    35
                );
                assert_eq!(usage::requests(tx, id, minutes_later(1), None).await?, []);
                let later = Window { after: 1, ..ALL };
                assert_eq!(items::messages(tx, id, later).await?, []);
                let other_turn = Window {
                    turn: Some(2),
                    ..ALL
                };
                assert_eq!(items::calls(tx, id, other_turn).await?, []);
                Ok((
                    items::messages(tx, id, ALL).await?,
                    items::calls(tx, id, ALL).await?,
                    items::events(tx, id, ALL).await?,
                    conversations::counts(tx, id).await?,
                ))
            })
        })
        .await
        .unwrap();
    assert_eq!(messages, [message(1, "m1", "hello")]);
    let ended = CallRow {
        outcome: Some("failed".into()),
        output: "no".into(),
        bytes: 2,
        ended_at: Some(minutes_later(1)),
        ..call(2, "t1")
    };
    assert_eq!(calls, [ended]);
    assert_eq!(events.len(), 1);
    let expected = Counts {
        turns: 0,
        messages: 1,
        tools: 1,
        input: 100,
        output: 35,
        cache_read: 3,
        cache_write: 8,
    };
    assert_eq!(counts, expected, "the largest count of a request holds");
}

pub async fn a_transcript_is_read_on_from_where_it_was(url: DbUrl) {
    let db = open(&url).await;
    let to = |place: &str| CursorRow {
        source: "/t.jsonl".into(),
        conversation: conversations::id_of(&CliEngine::Codex, "x"),
        place: place.into(),
    };
    let advance = |host: &'static str, from: Option<&'static str>, to: CursorRow| {
        let db = db.clone();
        async move {
            db.write(move |tx| {
                Box::pin(async move { cursors::advance(tx, host, from, &to, noon()).await })
            })
            .await
            .unwrap()
        }
    };
    assert_eq!(advance("a", None, to("10")).await, CursorMove::Done);
    let late = advance("a", None, to("10")).await;
    assert_eq!(late, CursorMove::Elsewhere("10".into()));
    assert_eq!(advance("a", Some("10"), to("20")).await, CursorMove::Done);
    let late = advance("a", Some("10"), to("30")).await;
    assert_eq!(late, CursorMove::Elsewhere("20".into()));
    assert_eq!(advance("b", None, to("5")).await, CursorMove::Done);
    let stored = db
        .read(|tx| Box::pin(cursors::get(tx, "a", "/t.jsonl")))
        .await
        .unwrap();
    assert_eq!(stored, Some(to("20")));

    // Of many that read the same piece, one takes it in.
    let racing: Vec<_> = (0..8)
        .map(|_| tokio::spawn(advance("a", Some("20"), to("40"))))
        .collect();
    let mut done = 0;
    for one in racing {
        done += usize::from(one.await.unwrap() == CursorMove::Done);
    }
    assert_eq!(done, 1);
}

/// Two models on two days, in a conversation of a task and of a run.
async fn spending_is_found_by_task_run_and_day(db: &MissionDb, linked: ConversationRow) {
    let day = 24 * 60;
    let row = |request: &str, model: &str, input, at| UsageRow {
        request: request.into(),
        model: Some(model.into()),
        input,
        output: 1,
        cache_read: 0,
        cache_write: 4,
        cache_write_1h: 3,
        at,
    };
    let rows = [
        row("r1", "a", 10, noon()),
        row("r2", "a", 20, noon()),
        row("r3", "b", 30, minutes_later(day)),
    ];
    let tokens = |input, requests| Tokens {
        input,
        output: requests,
        cache_read: 0,
        cache_write: 4 * requests,
        cache_write_1h: 3 * requests,
    };
    let of = |model: &str, tokens| Used {
        of: Some(model.to_owned()),
        tokens,
    };
    let (task, execution) = (linked.task.unwrap(), linked.execution.unwrap());
    let (tasks, runs, days) = db
        .write(move |tx| {
            Box::pin(async move {
                for row in &rows {
                    items::put_usage(tx, linked.id, row).await?;
                }
                usage::put_cost(tx, linked.id, "r3", 70, minutes_later(day)).await?;
                let others = [task, BoardTaskId::generate()];
                Ok::<_, crate::StoreError>((
                    usage::of_tasks(tx, &others).await?,
                    usage::of_executions(tx, &[execution]).await?,
                    usage::by_day(tx, noon()).await?,
                ))
            })
        })
        .await
        .unwrap();
    let all = usage::Spent {
        models: vec![of("a", tokens(30, 2)), of("b", tokens(30, 1))],
        reported_cost: Some(70),
    };
    assert_eq!(tasks.into_iter().collect::<Vec<_>>(), [(task, all.clone())]);
    assert_eq!(runs.into_iter().collect::<Vec<_>>(), [(execution, all)]);
    let days: Vec<_> = days.into_values().collect();
    assert_eq!(days.len(), 2);
    assert_eq!(days[0].models, [of("a", tokens(30, 2))]);
    assert_eq!(days[1].models, [of("b", tokens(30, 1))]);
    assert_eq!(
        (days[0].reported_cost, days[1].reported_cost),
        (None, Some(70))
    );
}

pub async fn conversations_are_listed_found_and_forgotten(url: DbUrl) {
    let db = open(&url).await;
    let rows: Vec<_> = [("c1", 0), ("c2", 10), ("d3", 20)]
        .map(|(session, minute)| conversation(session, minute))
        .into();
    for row in &rows {
        hold(&db, row).await;
    }
    let linked = ConversationRow {
        execution: Some(ExecutionId::generate()),
        task: Some(BoardTaskId::generate()),
        slot: Some(SlotId::generate()),
        next_place: 7,
        skipped: 2,
        diagnostic: Some("a line".into()),
        project: "/src/other".into(),
        ..rows[1].clone()
    };
    let changed = linked.clone();
    db.write(move |tx| Box::pin(async move { conversations::update(tx, &changed).await }))
        .await
        .unwrap();
    let list = |filter: ConversationFilter| {
        let db = db.clone();
        async move {
            let found = db
                .read(move |tx| Box::pin(async move { conversations::list(tx, &filter).await }))
                .await
                .unwrap();
            found
                .iter()
                .map(|row| row.session.clone())
                .collect::<Vec<_>>()
        }
    };
    let any = ConversationFilter {
        limit: 10,
        ..ConversationFilter::default()
    };
    assert_eq!(list(any.clone()).await, ["d3", "c2", "c1"]);
    let of_task = ConversationFilter {
        task: linked.task,
        execution: linked.execution,
        project: Some("/src/other".into()),
        engine: Some(CliEngine::Claude),
        ..any.clone()
    };
    assert_eq!(list(of_task).await, ["c2"]);
    spending_is_found_by_task_run_and_day(&db, linked.clone()).await;
    let of_codex = ConversationFilter {
        engine: Some(CliEngine::Codex),
        ..any.clone()
    };
    assert_eq!(list(of_codex).await, [""; 0]);
    let between = ConversationFilter {
        since: Some(minutes_later(5)),
        until: Some(minutes_later(15)),
        ..any.clone()
    };
    assert_eq!(list(between).await, ["c2"]);
    let rest = ConversationFilter {
        after: Some((rows[2].last_at, rows[2].id)),
        ..any.clone()
    };
    assert_eq!(list(rest).await, ["c2", "c1"]);

    let (begins, wild, taken, gone) = db
        .write(move |tx| {
            Box::pin(async move {
                let begins = conversations::by_session(tx, "c").await?;
                let wild = conversations::by_session(tx, "%").await?;
                let taken = conversations::ingested_since(tx, minutes_later(10), None, 10).await?;
                let gone = conversations::forget_before(tx, minutes_later(5), 10).await?;
                Ok((begins, wild, taken, gone))
            })
        })
        .await
        .unwrap();
    assert_eq!(begins.len(), 2);
    assert_eq!(wild, [], "what people type is no pattern");
    let taken: Vec<_> = taken.iter().map(|row| row.session.as_str()).collect();
    assert_eq!(taken, ["c2", "d3"]);
    assert_eq!(gone, 1);
    assert_eq!(list(any).await, ["d3", "c2"]);
    let found = db
        .read(move |tx| Box::pin(conversations::get(tx, linked.id)))
        .await
        .unwrap();
    assert_eq!(found.map(|row| row.skipped), Some(2));
}

pub async fn the_newest_turns_of_a_project_come_first(url: DbUrl) {
    let db = open(&url).await;
    let (here, there) = (
        conversation("c1", 0),
        ConversationRow {
            project: "/src/other".into(),
            ..conversation("c2", 0)
        },
    );
    hold(&db, &here).await;
    hold(&db, &there).await;
    let turn = |number: i64, prompt: &str, minute: u64| TurnRow {
        number,
        first_place: number,
        last_place: number,
        prompt: prompt.into(),
        answer: String::new(),
        messages: 1,
        tools: 0,
        failed: 0,
        ending: None,
        began_at: minutes_later(minute),
        last_at: minutes_later(minute),
    };
    let (first, second, blank, elsewhere) = (
        turn(1, "first", 1),
        turn(2, "second", 2),
        turn(3, "", 3),
        turn(1, "elsewhere", 4),
    );
    let expected = [
        (here.id, second.clone()),
        (
            here.id,
            TurnRow {
                answer: "done".into(),
                failed: 1,
                ending: Some("answered".into()),
                ..first.clone()
            },
        ),
    ];
    let (recent, last, all) = db
        .write(move |tx| {
            Box::pin(async move {
                turns::put(tx, here.id, &first).await?;
                let answered = TurnRow {
                    answer: "done".into(),
                    ending: Some("answered".into()),
                    ..first
                };
                turns::put(tx, here.id, &answered).await?;
                turns::count_failure(tx, here.id, 1).await?;
                turns::put(tx, here.id, &second).await?;
                turns::put(tx, here.id, &blank).await?;
                turns::put(tx, there.id, &elsewhere).await?;
                Ok((
                    turns::recent(tx, "/src/app", 10).await?,
                    turns::last(tx, here.id).await?,
                    turns::of_conversation(tx, here.id, 0, 10).await?,
                ))
            })
        })
        .await
        .unwrap();
    assert_eq!(recent, expected);
    assert_eq!(last.map(|turn| turn.number), Some(3));
    assert_eq!(all.len(), 3);
    let twice = |id: ConversationId| (turns::id_of(id, 1), turns::id_of(id, 2));
    assert_eq!(twice(here.id), twice(here.id));
    assert_ne!(turns::id_of(here.id, 1), turns::id_of(here.id, 2));
}
