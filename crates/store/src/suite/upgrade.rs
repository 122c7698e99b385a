//! Databases of other versions: older ones are brought up with all they hold,
//! newer or altered ones are refused as they are.

use futures::future::join_all;
use missiond_core::ErrorCode;

use super::fixtures::open;
use crate::migrate::MIGRATIONS;
use crate::{DbUrl, MissionDb, StoreError, Tx, Value};

/// What a database of a version holds: written at that version, and asked for
/// after the upgrade to the newest.
struct Holding {
    since: i64,
    write: &'static str,
    ask: &'static str,
    answer: &'static [&'static str],
}

/// At least one for every migration; the case checks that.
const HOLDINGS: &[Holding] = &[
    Holding {
        since: 1,
        write: "INSERT INTO system_timeline (seq, at, daemon, trace_id, span_id, kind, category, \
             payload) VALUES (1, 7200000001, 'd', 't', 's', 'note_added', 'system', '{}')",
        ask: "SELECT kind, payload FROM system_timeline",
        answer: &["note_added", "{}"],
    },
    Holding {
        since: 1,
        write: "UPDATE timeline_head SET seq = 1",
        ask: "SELECT CAST(seq AS text) FROM timeline_head",
        answer: &["1"],
    },
    Holding {
        since: 1,
        write: "INSERT INTO watermarks (consumer, seq) VALUES ('digest', 1)",
        ask: "SELECT consumer, CAST(seq AS text) FROM watermarks",
        answer: &["digest", "1"],
    },
    Holding {
        since: 1,
        write: "INSERT INTO slots (id, name, kind, engine, daemon, created_at) \
             VALUES ('s1', 'builder', 'static', 'claude', 'd', 1)",
        ask: "SELECT name, engine FROM slots",
        answer: &["builder", "claude"],
    },
    Holding {
        since: 1,
        write: "INSERT INTO tasks (id, prompt, status, slot, created_at) \
             VALUES ('t1', 'work', 'running', 's1', 1)",
        ask: "SELECT prompt, status, slot FROM tasks",
        answer: &["work", "running", "s1"],
    },
    Holding {
        since: 1,
        write: "INSERT INTO leases (resource, holder, token, expires_at) \
             VALUES ('task/t1', 'ann', 7, 1)",
        ask: "SELECT holder, CAST(token AS text) FROM leases",
        answer: &["ann", "7"],
    },
    Holding {
        since: 1,
        write: "INSERT INTO incidents (id, kind, subject, severity, summary, occurrences, \
             opened_at, last_seen_at) VALUES ('i1', 'k', 's', 'error', 'broken', 3, 1, 2)",
        ask: "SELECT summary, CAST(occurrences AS text) FROM incidents",
        answer: &["broken", "3"],
    },
    Holding {
        since: 1,
        write: "INSERT INTO daemon_state (id, host, pid, version, started_at, heartbeat_at) \
             VALUES ('d', 'here', 7, '0.1.0', 1, 2)",
        ask: "SELECT host, CAST(pid AS text) FROM daemon_state",
        answer: &["here", "7"],
    },
    Holding {
        since: 2,
        write: "INSERT INTO activity (hour, kind, count) VALUES (0, 'task_created', 5)",
        ask: "SELECT CAST(count AS text) FROM activity WHERE kind = 'task_created'",
        answer: &["5"],
    },
    Holding {
        since: 3,
        write: "INSERT INTO journals (execution, seq, hash, records, segment) \
             VALUES ('exec_1', 1, 'abc', 1, 0)",
        ask: "SELECT execution, hash FROM journals",
        answer: &["exec_1", "abc"],
    },
    Holding {
        since: 3,
        write: "INSERT INTO journal_lines (execution, seq, line) VALUES ('exec_1', 1, '{}')",
        ask: "SELECT line FROM journal_lines",
        answer: &["{}"],
    },
    Holding {
        since: 4,
        write: "INSERT INTO executions (id, slot, engine, cwd, conversation, started_at) \
             VALUES ('e1', 's1', 'claude', '/src', 'c1', 5)",
        ask: "SELECT cwd, conversation FROM executions",
        answer: &["/src", "c1"],
    },
    Holding {
        since: 4,
        write: "INSERT INTO execution_capabilities (token_hash, execution, uid, expires_at) \
             VALUES ('ab', 'e1', 1000, 9)",
        ask: "SELECT execution, CAST(uid AS text) FROM execution_capabilities",
        answer: &["e1", "1000"],
    },
    Holding {
        since: 5,
        write: "INSERT INTO board_tasks (id, number, title, description, status, phase, phases, \
             priority, rank, labels, touches, args, isolation, finish, checks, setup, teardown, \
             max_attempts, tries, created_at, updated_at, open_dependencies) VALUES ('b1', 1, \
             'card', '', 'open', 'execute', '[]', 2, 1.0, '[]', '[]', '[]', 'none', 'merge', \
             '[]', '[]', '[]', 3, 0, 1, 1, 0)",
        ask: "SELECT title, status FROM board_tasks",
        answer: &["card", "open"],
    },
    Holding {
        since: 6,
        write: "INSERT INTO agent_questions (id, number, origin, origin_key, question, options, \
             blocks, stands, asked_at) VALUES ('q1', 1, '{}', 'k', 'Which?', '[]', 1, 1, 5)",
        ask: "SELECT question, origin_key FROM agent_questions",
        answer: &["Which?", "k"],
    },
    Holding {
        since: 6,
        write: "INSERT INTO permission_rules (number, effect, tool, scope, created_by, \
             created_at) VALUES (1, 'deny', 'Bash', '{}', 'person', 5)",
        ask: "SELECT effect, tool FROM permission_rules",
        answer: &["deny", "Bash"],
    },
    Holding {
        since: 6,
        write: "INSERT INTO permission_decisions (id, slot, asked, effect, decided_by, reason, \
             decided_at) VALUES (1, 's1', '{}', 'deny', 'P-1', 'no', 5)",
        ask: "SELECT decided_by, reason FROM permission_decisions",
        answer: &["P-1", "no"],
    },
    Holding {
        since: 7,
        write: "UPDATE autopilot SET mode = 'running', changed_by = 'person'",
        ask: "SELECT mode, changed_by FROM autopilot",
        answer: &["running", "person"],
    },
    Holding {
        since: 7,
        write: "INSERT INTO slot_sessions (execution, slot_name, engine, task, attempt, cwd, \
             conversation, started_at) VALUES ('e1', 'T-1', 'claude', 'b1', 'a1', '/src', 'c1', 5)",
        ask: "SELECT slot_name, conversation FROM slot_sessions",
        answer: &["T-1", "c1"],
    },
    Holding {
        since: 7,
        write: "INSERT INTO token_usage (execution, day, task, slot_name, engine, input_tokens, \
             output_tokens, cache_read_tokens, cache_write_tokens, updated_at) \
             VALUES ('e1', 1, 'b1', 'T-1', 'claude', 10, 20, 0, 0, 5)",
        ask: "SELECT engine, CAST(output_tokens AS text) FROM token_usage",
        answer: &["claude", "20"],
    },
    Holding {
        since: 7,
        write: "INSERT INTO parked_tasks (task, engine, until, resumes, reason, parked_at) \
             VALUES ('b1', 'claude', 9, 0, 'limit', 5)",
        ask: "SELECT task, reason FROM parked_tasks",
        answer: &["b1", "limit"],
    },
    Holding {
        since: 7,
        write: "INSERT INTO attempt_conflicts (attempt, conflicts, round, files) \
             VALUES ('a1', 1, 2, '[]')",
        ask: "SELECT attempt, files FROM attempt_conflicts",
        answer: &["a1", "[]"],
    },
    Holding {
        since: 8,
        write: "INSERT INTO told_effects (execution, effect, told_at) \
             VALUES ('e1', 'obs_1/run_ended', 5)",
        ask: "SELECT execution, effect FROM told_effects",
        answer: &["e1", "obs_1/run_ended"],
    },
    Holding {
        since: 9,
        write: "INSERT INTO http_access (id, home, kind, name, secret_hash, created_at) \
             VALUES ('access_1', 'h', 'token', 'ci', 'ab', 5)",
        ask: "SELECT kind, name FROM http_access",
        answer: &["token", "ci"],
    },
    Holding {
        since: 10,
        write: "INSERT INTO beacons (family, name, note, repository, created_at) \
             VALUES (3, 'auth', 'the door', 7, 1)",
        ask: "SELECT name, note FROM beacons",
        answer: &["auth", "the door"],
    },
    Holding {
        since: 11,
        write: "INSERT INTO knowledge (id, key, scope, category, summary, detail, labels, source, \
             author, tier, confidence, utility, revision, created_at, verified_at) VALUES \
             ('k1', 'deploy', '', 'ops', 'make ship', '', '[]', 's', 'a', 'person', 1.0, 0.3, 1, 5, 5)",
        ask: "SELECT key, summary FROM knowledge",
        answer: &["deploy", "make ship"],
    },
    Holding {
        since: 11,
        write: "INSERT INTO knowledge_edges (from_entry, to_entry, kind, reason, at) VALUES \
             ('k9', 'compared', 'supersedes', '90 % of the words in common; 3 where the older says 2', 5), \
             ('k9', 'outdated', 'supersedes', '80 % of the words in common; 3 where the older says 2', 5), \
             ('k9', 'stated', 'supersedes', 'it was decided', 5)",
        ask: "SELECT CAST(COUNT(*) AS text) FROM knowledge_edges WHERE from_entry = 'k9'",
        answer: &["3"],
    },
    Holding {
        since: 11,
        write: "INSERT INTO knowledge_revisions \
             (entry, revision, category, summary, detail, labels, author, at) \
             VALUES ('outdated', 2, 'ops', 'make shape', '', '[]', 'a', 9)",
        ask: "SELECT entry, summary FROM knowledge_revisions WHERE entry = 'outdated'",
        answer: &["outdated", "make shape"],
    },
    Holding {
        since: 11,
        write: "INSERT INTO knowledge_edges (from_entry, to_entry, kind, reason, at) \
             VALUES ('k1', 'k2', 'refines', 'why', 5)",
        ask: "SELECT kind, reason FROM knowledge_edges WHERE from_entry = 'k1'",
        answer: &["refines", "why"],
    },
    Holding {
        since: 13,
        write: "INSERT INTO prompt_snapshots (execution, slot, engine, cwd, at, budget, used, \
             masked, context, items, sources) \
             VALUES ('e1', 's1', 'claude', '/', 5, 4000, 9, 0, '> x', '[]', '[]')",
        ask: "SELECT engine, context FROM prompt_snapshots",
        answer: &["claude", "> x"],
    },
    Holding {
        since: 12,
        write: "INSERT INTO conversation_messages (conversation, place, key, turn, role, text, \
             bytes, at) VALUES ('c1', 1, 'm1', 1, 'person', 'hello', 5, 7)",
        ask: "SELECT role, text FROM conversation_messages",
        answer: &["person", "hello"],
    },
    Holding {
        since: 12,
        write: "INSERT INTO transcript_cursors (host, source, conversation, place, moved_at) \
             VALUES ('h', '/t.jsonl', 'c1', '{}', 7)",
        ask: "SELECT source, place FROM transcript_cursors",
        answer: &["/t.jsonl", "{}"],
    },
    Holding {
        since: 14,
        write: "INSERT INTO stats_samples (host, resolution, at, numbers) \
             VALUES ('here', 0, 5, '{\"calls\":1.0}')",
        ask: "SELECT host, numbers FROM stats_samples",
        answer: &["here", "{\"calls\":1.0}"],
    },
    Holding {
        since: 25,
        write: "INSERT INTO llm_requests (id, daemon, provider, format, model, purpose, principal, \
             started_at, reserved) VALUES ('r1', 'd1', 'p', 'chat', 'm', 'test', 'person', 5, 70)",
        ask: "SELECT model, CAST(reserved AS text) FROM llm_requests",
        answer: &["m", "70"],
    },
    Holding {
        since: 25,
        write: "INSERT INTO llm_parked (provider, parked_at, until, reason) \
             VALUES ('p', 5, 9, 'no money')",
        ask: "SELECT provider, reason FROM llm_parked",
        answer: &["p", "no money"],
    },
    // The two engines write bytes differently; an execution that ended is found by
    // the index that came with the vectors.
    Holding {
        since: 15,
        write: "UPDATE executions SET ended_at = 8 WHERE id = 'e1'",
        ask: "SELECT id FROM executions WHERE ended_at >= 8",
        answer: &["e1"],
    },
    Holding {
        since: 16,
        write: "INSERT INTO conversation_usage (conversation, request, input_tokens, \
             output_tokens, cache_read_tokens, cache_write_tokens, at, cost) \
             VALUES ('c1', 'priced', 1, 2, 3, 4, 5, 60)",
        ask: "SELECT CAST(cost AS text) FROM conversation_usage WHERE request = 'priced'",
        answer: &["60"],
    },
    Holding {
        since: 17,
        write: "INSERT INTO knowledge_models (name, dimension, endpoint) \
             VALUES ('ollama:m@1/3', 3, 'http://127.0.0.1:11434')",
        ask: "SELECT endpoint FROM knowledge_models",
        answer: &["http://127.0.0.1:11434"],
    },
    Holding {
        since: 18,
        write: "UPDATE board_tasks SET review = 'after_approval'",
        ask: "SELECT review FROM board_tasks",
        answer: &["after_approval"],
    },
    Holding {
        since: 19,
        write: "INSERT INTO overview_seen (id, at) VALUES (1, 9)",
        ask: "SELECT CAST(at AS text) FROM overview_seen",
        answer: &["9"],
    },
    Holding {
        since: 20,
        write: "INSERT INTO conversation_usage (conversation, request, input_tokens, \
             output_tokens, cache_read_tokens, cache_write_tokens, at, cache_write_1h_tokens) \
             VALUES ('c1', 'kept', 1, 2, 3, 4, 5, 4)",
        ask: "SELECT CAST(cache_write_1h_tokens AS text) FROM conversation_usage \
             WHERE request = 'kept'",
        answer: &["4"],
    },
    Holding {
        since: 21,
        write: "UPDATE board_tasks SET pull_request = '{}'",
        ask: "SELECT pull_request FROM board_tasks",
        answer: &["{}"],
    },
    Holding {
        since: 22,
        write: "UPDATE board_tasks SET alternative_of = 'b1'",
        ask: "SELECT alternative_of FROM board_tasks",
        answer: &["b1"],
    },
    Holding {
        since: 23,
        write: "UPDATE executions SET ended_as = 'failed'",
        ask: "SELECT ended_as FROM executions",
        answer: &["failed"],
    },
    Holding {
        since: 24,
        write: "UPDATE board_tasks SET control = 'terminal'",
        ask: "SELECT control FROM board_tasks",
        answer: &["terminal"],
    },
    Holding {
        since: 26,
        write: "INSERT INTO trust_facts (id, subject, kind, began_at, at, count) \
             VALUES (1, 'server:docs', 'drifted', 1, 1, 1)",
        ask: "SELECT subject, kind FROM trust_facts",
        answer: &["server:docs", "drifted"],
    },
    Holding {
        since: 26,
        write: "INSERT INTO run_surfaces (execution, part, digest) VALUES ('e1', 'AGENTS.md', 'd')",
        ask: "SELECT part, digest FROM run_surfaces",
        answer: &["AGENTS.md", "d"],
    },
    Holding {
        since: 26,
        write: "INSERT INTO run_drifts (execution, digest, changes, found_at) \
             VALUES ('e1', 'd', '[]', 1)",
        ask: "SELECT digest, changes FROM run_drifts",
        answer: &["d", "[]"],
    },
    Holding {
        since: 27,
        write: "INSERT INTO audit_anchors (home, opened_at, records, head, anchored_at) \
             VALUES ('this home', 1, 7, '{}', 2)",
        ask: "SELECT home, CAST(records AS text) FROM audit_anchors",
        answer: &["this home", "7"],
    },
];

/// An empty database as the release before would have made it: without the newest
/// migration.
pub async fn create_before_last_migration(url: &DbUrl) -> Result<(), StoreError> {
    let known = &MIGRATIONS[..MIGRATIONS.len() - 1];
    let older = MissionDb::open_with_migrations(url, known).await?;
    older.close().await
}

pub async fn every_earlier_version_upgrades_and_keeps_its_data(url: DbUrl) {
    for migration in MIGRATIONS {
        assert!(
            HOLDINGS
                .iter()
                .any(|holding| holding.since == migration.version),
            "{} has no data that must survive the migrations after it",
            migration.name
        );
    }
    for known in 1..=MIGRATIONS.len() {
        let old = MissionDb::open_with_migrations(&url, &MIGRATIONS[..known])
            .await
            .unwrap();
        let version = MIGRATIONS[known - 1].version;
        let held = move || HOLDINGS.iter().filter(move |held| held.since <= version);
        run(&old, held().map(|held| held.write).collect()).await;
        old.close().await.unwrap();

        let upgraded = open(&url).await;
        for held in held() {
            assert_eq!(
                ask(&upgraded, held.ask).await,
                [held.answer],
                "{}",
                held.ask
            );
        }
        if known == 1 {
            let counted = "SELECT CAST(hour AS text), kind, CAST(count AS text) FROM activity";
            let expected = [["7200000000", "note_added", "1"]];
            assert_eq!(
                ask(&upgraded, counted).await,
                expected,
                "counted from the timeline"
            );
        }
        if (11..17).contains(&version) {
            let believed = "SELECT key FROM knowledge WHERE trust = 1.0";
            let entries = ask(&upgraded, believed).await;
            assert_eq!(entries, [["deploy"]], "a person said it");
            let edges = "SELECT to_entry, made_by, \
                 CASE WHEN to_keeps = 0.5 THEN 'half' ELSE 'all' END, \
                 CAST(COALESCE(ended_at, 0) AS text) FROM knowledge_edges \
                 WHERE from_entry = 'k9' ORDER BY to_entry";
            let expected = [
                ["compared", "comparison", "half", "0"],
                ["outdated", "comparison", "half", "9"],
                ["stated", "statement", "all", "0"],
            ];
            assert_eq!(ask(&upgraded, edges).await, expected);
        }
        wipe(&upgraded).await;
        upgraded.close().await.unwrap();
    }
}

pub async fn a_newer_database_is_refused_untouched(url: DbUrl) {
    let newest = MIGRATIONS.len();
    open(&url).await.close().await.unwrap();
    let older = MissionDb::open_with_migrations(&url, &MIGRATIONS[..newest - 1])
        .await
        .unwrap_err();
    let expected = StoreError::Newer {
        found: newest as i64,
        known: newest as i64 - 1,
    };
    assert_eq!(older, expected);
    assert_eq!(older.code(), ErrorCode::VersionMismatch);
    open(&url).await;
}

pub async fn a_changed_migration_is_refused(url: DbUrl) {
    let db = open(&url).await;
    run(
        &db,
        vec!["UPDATE schema_migrations SET checksum = 'other' WHERE version = 1"],
    )
    .await;
    db.close().await.unwrap();
    let refused = MissionDb::open(&url).await.unwrap_err();
    let expected = StoreError::ChecksumMismatch {
        version: 1,
        name: "0001_base".into(),
    };
    assert_eq!(refused, expected);
}

pub async fn daemons_that_start_together_migrate_once(url: DbUrl) {
    let starting = (0..6).map(|_| {
        let url = url.clone();
        tokio::spawn(async move { MissionDb::open(&url).await })
    });
    let mut daemons = Vec::new();
    for started in join_all(starting).await {
        daemons.push(started.unwrap().unwrap());
    }
    let versions = ask(
        &daemons[0],
        "SELECT CAST(version AS text) FROM schema_migrations ORDER BY schema_migrations.version",
    )
    .await;
    let expected: Vec<_> = MIGRATIONS
        .iter()
        .map(|m| vec![m.version.to_string()])
        .collect();
    assert_eq!(versions, expected);
}

async fn run(db: &MissionDb, statements: Vec<&'static str>) {
    db.write(|tx| {
        Box::pin(async move {
            for sql in statements {
                tx.execute(sql, &[]).await?;
            }
            Ok(())
        })
    })
    .await
    .unwrap();
}

async fn ask(db: &MissionDb, sql: &'static str) -> Vec<Vec<String>> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is not text"),
    };
    let rows = db
        .read(move |tx: &mut Tx<'_>| Box::pin(tx.query(sql, &[])))
        .await
        .unwrap();
    rows.iter()
        .map(|row| row.0.iter().map(text).collect())
        .collect()
}

/// Makes the database as empty as one nobody has ever opened.
async fn wipe(db: &MissionDb) {
    run(
        db,
        vec![
            "DROP TABLE audit_anchors",
            "DROP TABLE trust_facts",
            "DROP TABLE run_surfaces",
            "DROP TABLE run_drifts",
            "DROP TABLE conversations",
            "DROP TABLE conversation_messages",
            "DROP TABLE tool_calls",
            "DROP TABLE conversation_events",
            "DROP TABLE conversation_usage",
            "DROP TABLE turns",
            "DROP TABLE transcript_cursors",
            "DROP TABLE prompt_snapshots",
            "DROP TABLE code_vectors",
            "DROP TABLE overview_seen",
            "DROP TABLE stats_samples",
            "DROP TABLE knowledge_inbox",
            "DROP TABLE knowledge_vectors",
            "DROP TABLE knowledge_models",
            "DROP TABLE knowledge_edges",
            "DROP TABLE knowledge_revisions",
            "DROP TABLE knowledge",
            "DROP TABLE told_effects",
            "DROP TABLE router_chat_messages",
            "DROP TABLE router_chat_sessions",
            "DROP TABLE llm_tokens",
            "DROP TABLE llm_parked",
            "DROP TABLE llm_budget",
            "DROP TABLE llm_requests",
            "DROP TABLE http_access",
            "DROP TABLE beacon_nodes",
            "DROP TABLE beacons",
            "DROP TABLE ast_nodes",
            "DROP TABLE code_files",
            "DROP TABLE code_repositories",
            "DROP TABLE attempt_conflicts",
            "DROP TABLE parked_tasks",
            "DROP TABLE token_usage",
            "DROP TABLE slot_sessions",
            "DROP TABLE autopilot",
            "DROP TABLE board_evidence",
            "DROP TABLE board_attempts",
            "DROP TABLE board_notes",
            "DROP TABLE board_dependencies",
            "DROP TABLE board_tasks",
            "DROP TABLE board_head",
            "DROP TABLE permission_decisions",
            "DROP TABLE permission_rules",
            "DROP TABLE attention_numbers",
            "DROP TABLE agent_questions",
            "DROP TABLE execution_capabilities",
            "DROP TABLE executions",
            "DROP TABLE journal_lines",
            "DROP TABLE journals",
            "DROP TABLE activity",
            "DROP TABLE tasks",
            "DROP TABLE leases",
            "DROP TABLE slots",
            "DROP TABLE incidents",
            "DROP TABLE daemon_state",
            "DROP TABLE watermarks",
            "DROP TABLE system_timeline",
            "DROP TABLE timeline_head",
            "DROP TABLE schema_migrations",
        ],
    )
    .await;
}
