//! Whole transcripts through the store: in any pieces, twice, cut, written anew,
//! by two daemons at once.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use missiond_adapters::FileTail;
use missiond_config::Config;
use missiond_core::SystemClock;
use missiond_store::conversations::items::{self, Window};
use missiond_store::{DbUrl, MissionDb};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;

const CLAUDE: &str = include_str!("../../../../adapters/tests/transcripts/claude.jsonl");
const CODEX: &str = include_str!("../../../../adapters/tests/transcripts/codex.jsonl");
const GEMINI: &str = include_str!("../../../../adapters/tests/transcripts/gemini.jsonl");

struct Room {
    folder: tempfile::TempDir,
    db: MissionDb,
}

impl Room {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = DbUrl::sqlite(folder.path().join("mission.db"));
        Self {
            db: MissionDb::open(&url).await.unwrap(),
            folder,
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("t.jsonl")
    }

    /// A daemon of its own on the database.
    fn daemon(&self) -> Conversations {
        let (config, watched) = watch::channel(Arc::new(Config::default()));
        // The worker is not started, so nobody waits for changes.
        drop(config);
        Conversations::new(
            "here".to_owned(),
            DaemonId::generate(),
            self.db.clone(),
            Arc::new(SystemClock),
            watched,
            missiond_runtime::Supervisor::standalone(),
        )
    }

    fn source(&self, engine: CliEngine) -> Source {
        Source {
            engine,
            session: "s1".to_owned(),
            tail: TranscriptTail::File(FileTail::new(&self.file())),
            cwd: "/src/app".into(),
            project: "/src/app".to_owned(),
            links: Links::default(),
        }
    }

    /// Everything that is stored of the conversation, as text.
    async fn stored(&self, engine: &CliEngine) -> Vec<String> {
        let id = conversations::id_of(engine, "s1");
        let all = Window {
            after: 0,
            turn: None,
            limit: 10_000,
        };
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let mut lines: Vec<(i64, String)> = Vec::new();
                    for row in items::messages(tx, id, all).await? {
                        lines.push((row.place, format!("{row:?}")));
                    }
                    for row in items::calls(tx, id, all).await? {
                        lines.push((row.place, format!("{row:?}")));
                    }
                    for row in items::events(tx, id, all).await? {
                        lines.push((row.place, format!("{row:?}")));
                    }
                    lines.sort();
                    let mut lines: Vec<String> = lines.into_iter().map(|line| line.1).collect();
                    for turn in turns::of_conversation(tx, id, 0, 1000).await? {
                        lines.push(format!("{turn:?}"));
                    }
                    lines.push(format!("{:?}", conversations::counts(tx, id).await?));
                    Ok(lines)
                })
            })
            .await
            .unwrap()
    }
}

async fn read_all(daemon: &Conversations, source: &Source) {
    while daemon.advance(source).await.unwrap() {}
}

fn append(path: &Path, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(bytes).unwrap();
}

async fn read_whole(engine: &CliEngine, transcript: &str) -> Vec<String> {
    let room = Room::new().await;
    std::fs::write(room.file(), transcript).unwrap();
    read_all(&room.daemon(), &room.source(engine.clone())).await;
    room.stored(engine).await
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// In whatever pieces a file grows, and whichever daemon reads which piece,
    /// the rows are the same.
    #[test]
    fn any_pieces_give_the_same_rows(
        which in 0_usize..3,
        cuts in prop::collection::vec(0.0_f64..1.0, 0..6),
    ) {
        let (engine, transcript) = [
            (CliEngine::Claude, CLAUDE), (CliEngine::Codex, CODEX), (CliEngine::Gemini, GEMINI),
        ][which].clone();
        block_on(async {
            let expected = read_whole(&engine, transcript).await;
            let room = Room::new().await;
            let daemons = [room.daemon(), room.daemon()];
            let source = room.source(engine.clone());
            let mut places: Vec<usize> =
                cuts.iter().map(|cut| (cut * transcript.len() as f64) as usize).collect();
            places.push(transcript.len());
            places.sort_unstable();
            let mut from = 0;
            for (turn, to) in places.into_iter().enumerate() {
                append(&room.file(), &transcript.as_bytes()[from..to]);
                read_all(&daemons[turn % 2], &source).await;
                from = to;
            }
            assert_eq!(room.stored(&engine).await, expected);
        });
    }
}

#[tokio::test]
async fn a_transcript_that_is_read_again_adds_nothing() {
    for (engine, transcript) in [
        (CliEngine::Claude, CLAUDE),
        (CliEngine::Codex, CODEX),
        (CliEngine::Gemini, GEMINI),
    ] {
        let room = Room::new().await;
        let (daemon, source) = (room.daemon(), room.source(engine.clone()));
        std::fs::write(room.file(), transcript).unwrap();
        read_all(&daemon, &source).await;
        let stored = room.stored(&engine).await;
        assert!(stored.len() > 8, "{engine}: {stored:#?}");

        // Replaced by itself, cut to its half, written anew and longer.
        let new = room.folder.path().join("new");
        std::fs::write(&new, transcript).unwrap();
        std::fs::rename(&new, room.file()).unwrap();
        read_all(&daemon, &source).await;
        assert_eq!(room.stored(&engine).await, stored, "{engine} replaced");
        let half = transcript[..transcript.len() / 2].rfind('\n').unwrap() + 1;
        std::fs::write(room.file(), &transcript[..half]).unwrap();
        read_all(&daemon, &source).await;
        assert_eq!(room.stored(&engine).await, stored, "{engine} cut");
        std::fs::write(room.file(), format!("{{}}\n{transcript}")).unwrap();
        read_all(&daemon, &source).await;
        assert_eq!(room.stored(&engine).await, stored, "{engine} written anew");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_that_read_the_same_add_it_once() {
    let expected = read_whole(&CliEngine::Claude, CLAUDE).await;
    let room = Room::new().await;
    std::fs::write(room.file(), CLAUDE).unwrap();
    let reading: Vec<_> = (0..4)
        .map(|_| {
            let (daemon, source) = (room.daemon(), room.source(CliEngine::Claude));
            tokio::spawn(async move { read_all(&daemon, &source).await })
        })
        .collect();
    for one in reading {
        one.await.unwrap();
    }
    assert_eq!(room.stored(&CliEngine::Claude).await, expected);
}

fn user(uuid: &str, text: &str) -> Value {
    json!({
        "type": "user", "uuid": uuid, "timestamp": "2026-01-04T10:00:00Z",
        "message": {"content": text},
    })
}

#[tokio::test]
async fn what_is_hostile_is_counted_and_the_rest_is_taken_in() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let long_key = "k".repeat(100_000);
    let lines = [
        "{\"type\":\"user\",".to_owned(),
        "\u{0}\u{1}binary".to_owned(),
        user("u1", &format!("push with {secret}\0")).to_string(),
        user(&long_key, "a long name").to_string(),
        json!({
            "type": "user", "uuid": "u3", "timestamp": "9999-01-01T00:00:00Z",
            "message": {"content": "from the future"},
        })
        .to_string(),
        json!({"type": "assistant", "uuid": "a1", "message": {"content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {
                "command": format!("curl -H 'x: 1'\n{secret}"), "env": {"PASSWORD": "hunter22"},
            }},
        ]}})
        .to_string(),
        json!({"type": "user", "uuid": "r1", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "QUJD".repeat(4000)},
            {"type": "tool_result", "tool_use_id": "never-began", "content": "x"},
        ]}})
        .to_string(),
    ];
    let room = Room::new().await;
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend_from_slice(b"\n\xff\xfe\n");
    std::fs::write(room.file(), bytes).unwrap();
    let source = room.source(CliEngine::Claude);
    read_all(&room.daemon(), &source).await;
    let stored = room.stored(&CliEngine::Claude).await.join("\n");
    assert!(
        !stored.contains("ghp_") && !stored.contains("hunter22"),
        "{stored}"
    );
    assert!(
        stored.contains("push with [masked GitHub token]\u{fffd}"),
        "{stored}"
    );
    assert!(stored.contains("a long name") && stored.contains("sha256:"));
    assert!(stored.contains("noise: Some(\"binary\")"), "{stored}");
    assert!(!stored.contains("9999-"), "a clock cannot be so far ahead");
    let id = conversations::id_of(&CliEngine::Claude, "s1");
    let row = room
        .db
        .read(move |tx| Box::pin(conversations::get(tx, id)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.skipped, 3, "{:?}", row.diagnostic);
    assert_eq!(row.title, "push with [masked GitHub token]\u{fffd}");
    assert!(row.diagnostic.unwrap().contains("line"));
}

#[tokio::test]
async fn a_conversation_is_linked_to_its_newest_execution() {
    use missiond_core::{BoardTaskId, ExecutionId, SlotId};
    let room = Room::new().await;
    let daemon = room.daemon();
    let own = room.source(CliEngine::Claude);
    let (first, second) = (ExecutionId::generate(), ExecutionId::generate());
    let of = |execution, task| Source {
        links: Links {
            execution: Some(execution),
            task,
            slot: Some(SlotId::generate()),
        },
        ..own.clone()
    };
    let task = Some(BoardTaskId::generate());
    append(&room.file(), format!("{}\n", user("u1", "one")).as_bytes());
    read_all(&daemon, &own).await;
    append(&room.file(), format!("{}\n", user("u2", "two")).as_bytes());
    read_all(&daemon, &of(second, task)).await;
    append(
        &room.file(),
        format!("{}\n", user("u3", "three")).as_bytes(),
    );
    read_all(&daemon, &of(first, None)).await;
    append(&room.file(), format!("{}\n", user("u4", "four")).as_bytes());
    read_all(&daemon, &own).await;
    let id = conversations::id_of(&CliEngine::Claude, "s1");
    let row = room
        .db
        .read(move |tx| Box::pin(conversations::get(tx, id)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((row.execution, row.task), (Some(second), task));
    assert_eq!(row.next_place, 5);
}

#[tokio::test]
async fn turns_that_are_over_are_told_once() {
    let room = Room::new().await;
    let daemon = room.daemon();
    let source = room.source(CliEngine::Claude);
    let now = |entry: Value| {
        let mut entry = entry;
        entry["timestamp"] = json!(SystemClock.now());
        format!("{entry}\n")
    };
    use missiond_core::Clock;
    append(&room.file(), now(user("u1", "one")).as_bytes());
    append(
        &room.file(),
        now(json!({"type": "system", "subtype": "turn_duration", "uuid": "e1"})).as_bytes(),
    );
    append(&room.file(), now(user("u2", "two")).as_bytes());
    read_all(&daemon, &source).await;
    append(&room.file(), now(user("u3", "three")).as_bytes());
    read_all(&daemon, &source).await;
    let told = room
        .db
        .read(|tx| Box::pin(timeline::read_after(tx, missiond_core::Seq(0), 100)))
        .await
        .unwrap();
    let kinds: Vec<_> = told.events.iter().map(|event| event.event.kind()).collect();
    assert_eq!(kinds, ["turn_extracted"; 2], "the third is not over");
}

#[tokio::test]
async fn what_missiond_says_in_a_message_is_nobodys_speech() {
    let room = Room::new().await;
    let told = "Do it now. When it is done, report completed_claim and stop.";
    let first = missiond_context::with_own_words("T-7: Say goodbye", told);
    let background = "==== Background, gathered by missiond ====\n> Asked: feed the pelican\n\
                      ==== End of the background ====";
    let checked = missiond_context::own_words("Your work was checked, and it is not done yet.");
    for (key, text) in [
        ("u1", format!("{first}\n{background}")),
        ("u2", checked),
        ("u3", "thank you".to_owned()),
    ] {
        append(&room.file(), format!("{}\n", user(key, &text)).as_bytes());
    }
    read_all(&room.daemon(), &room.source(CliEngine::Claude)).await;
    let id = conversations::id_of(&CliEngine::Claude, "s1");
    let all = Window {
        after: 0,
        turn: None,
        limit: 100,
    };
    let (messages, turns) = room
        .db
        .read(move |tx| {
            Box::pin(async move {
                let messages = items::messages(tx, id, all).await?;
                Ok((messages, turns::of_conversation(tx, id, 0, 100).await?))
            })
        })
        .await
        .unwrap();
    let noise: Vec<_> = messages.iter().map(|row| row.noise.as_deref()).collect();
    assert_eq!(noise, [None, Some("instructions"), None]);
    assert_eq!(messages[0].text, "T-7: Say goodbye");
    let asked: Vec<_> = turns.iter().map(|turn| turn.prompt.as_str()).collect();
    assert_eq!(asked, ["T-7: Say goodbye", "thank you"]);
}
