//! What goes wrong with a provider, and what becomes of it: the real client, the real
//! store, and a server that does what it is told, byte by byte.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use missiond_audit::AuditLog;
use missiond_config::Config;
use missiond_core::{Clock, DaemonId, Principal, SystemClock};
use missiond_llm::gate::Class;
use missiond_llm::items::{Item, Message, Request, Role, Stop};
use missiond_llm::{Answered, Ask, Asker, Llm, LlmError, ModelName, Parts};
use missiond_runtime::{Component, Supervisor};
use missiond_store::llm::{RequestFilter, StoredRequest};
use missiond_store::{DbUrl, MissionDb};
use parking_lot::Mutex;
use tokio::sync::watch;

/// What the server does with one request.
#[derive(Clone)]
enum Act {
    /// Sends these bytes and closes.
    Say(String),
    /// Sends these bytes and resets the connection.
    Reset(String),
    /// Sends these bytes, a few at a time, for ever.
    Trickle(String),
    /// Says nothing.
    Silence,
}

struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Does one act after the other, and the last again and again.
fn serve(acts: Vec<Act>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (count, log) = (Arc::clone(&asked), Arc::clone(&requests));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let (acts, count, log) = (acts.clone(), Arc::clone(&count), Arc::clone(&log));
            std::thread::spawn(move || answer(stream, &acts, &count, &log));
        }
    });
    Server {
        url,
        asked,
        requests,
    }
}

fn answer(mut stream: TcpStream, acts: &[Act], count: &AtomicUsize, log: &Mutex<Vec<String>>) {
    let Some(request) = whole_request(&stream) else {
        return;
    };
    let place = count.fetch_add(1, Ordering::SeqCst);
    let act = &acts[place.min(acts.len() - 1)];
    if !matches!(act, Act::Reset(_)) {
        stream.read_exact(&mut vec![0; request.len()]).unwrap();
    }
    log.lock().push(request);
    match act {
        Act::Say(text) => {
            let _ = stream.write_all(text.as_bytes());
        }
        Act::Reset(text) => {
            let _ = stream.write_all(text.as_bytes());
            // The request was only peeked at: with unread bytes the system sends a reset
            // instead of an end.
            return;
        }
        Act::Trickle(text) => {
            let _ = stream.write_all(text.as_bytes());
            while stream.write_all(b": still here\n\n").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Act::Silence => {
            let _ = stream.read(&mut [0; 1]);
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// The request when all of it is there, without taking it.
fn whole_request(stream: &TcpStream) -> Option<String> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let there = stream.peek(&mut bytes).ok().filter(|there| *there > 0)?;
        let text = String::from_utf8_lossy(&bytes[..there]).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1).unwrap_or("0");
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        if body.len() >= length {
            return Some(text);
        }
    }
}

fn http(status: u16, headers: &str, body: &str) -> Act {
    Act::Say(format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n{headers}\r\n{body}",
        body.len()
    ))
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const HELLO: &str =
    "data: {\"id\":\"c\",\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
     data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";

fn good() -> Act {
    Act::Say(format!("{STREAM}{HELLO}{END}"))
}

struct Room {
    llm: Arc<Llm>,
    config: watch::Sender<Arc<Config>>,
    folder: tempfile::TempDir,
    daemon: DaemonId,
}

const KEY: &str = "sk-the-key-of-this-test-1234567890";

async fn room(more: &str, providers: &[(&str, &str)]) -> Room {
    room_in(tempfile::tempdir().unwrap(), more, providers).await
}

fn config(folder: &std::path::Path, more: &str, providers: &[(&str, &str)]) -> Config {
    use std::os::unix::fs::PermissionsExt;
    let key = folder.join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut text = format!("[llm]\nfind_ollama = false\n{more}\n");
    for (name, url) in providers {
        text += &format!(
            "[[llm.providers]]\nname = \"{name}\"\nformat = \"chat\"\nurl = \"{url}\"\nkey_file = {key:?}\n"
        );
    }
    text += "[[usage.prices]]\nmodel = \"m*\"\ninput = 1\noutput = 2\n";
    Config::parse(std::path::Path::new("c"), &text).unwrap()
}

async fn room_in(folder: tempfile::TempDir, more: &str, providers: &[(&str, &str)]) -> Room {
    let config = config(folder.path(), more, providers);
    let config = watch::Sender::new(Arc::new(config));
    let url = DbUrl::sqlite(folder.path().join("mission.db"));
    let daemon = DaemonId::generate();
    let (audit, identity) = (folder.path().join("audit"), folder.path().join("identity"));
    let (audit, _) = AuditLog::open(&audit, &identity, Arc::new(SystemClock)).unwrap();
    let llm = Arc::new(Llm::new(Parts {
        audit,
        daemon,
        db: MissionDb::open(&url).await.unwrap(),
        clock: Arc::new(SystemClock),
        config: config.subscribe(),
        supervisor: Supervisor::standalone(),
    }));
    Arc::clone(&llm).start().await.unwrap();
    Room {
        llm,
        config,
        folder,
        daemon,
    }
}

fn ask_of(models: &[&str], within: Duration) -> Ask {
    Ask {
        request: Request {
            messages: vec![Message {
                role: Role::User,
                items: vec![Item::Text("say hello".to_owned())],
            }],
            max_output: Some(100),
            ..Request::default()
        },
        models: models
            .iter()
            .map(|name| ModelName::parse(name).unwrap())
            .collect(),
        class: Class::Person,
        asker: Asker::new(&Principal::Person, "test"),
        within,
    }
}

impl Room {
    async fn ask(&self, models: &[&str]) -> Result<Answered, LlmError> {
        self.llm
            .ask(&ask_of(models, Duration::from_secs(20)), &mut |_| {})
            .await
    }

    async fn requests(&self) -> Vec<StoredRequest> {
        self.llm
            .requests(RequestFilter::default(), 500)
            .await
            .unwrap()
    }

    async fn outcomes(&self) -> Vec<String> {
        let requests = self.requests().await;
        let outcomes = requests
            .into_iter()
            .rev()
            .map(|one| one.outcome.unwrap_or_default());
        outcomes.collect()
    }
}

#[tokio::test]
async fn an_answer_is_on_record_with_what_it_used_and_cost() {
    let server = serve(vec![good()]);
    let room = room("keep = \"masked\"", &[("p", &server.url)]).await;
    let answered = room.ask(&["p/m"]).await.unwrap();
    assert_eq!(answered.answer.text(), "hello");
    assert_eq!(answered.answer.stop, Stop::End);
    assert_eq!(answered.cost, Some(20));
    let stored = room.requests().await.remove(0);
    assert_eq!(stored.id, answered.id);
    assert_eq!(
        (stored.tokens.input, stored.tokens.output),
        (Some(10), Some(5))
    );
    assert_eq!(
        (stored.cost, stored.answered_by.as_deref()),
        (Some(20), Some("m-1"))
    );
    assert_eq!(
        stored.tokens.cache_read, None,
        "it did not say, which is not 0"
    );
    assert_eq!(
        (stored.prompt.as_deref(), stored.answer.as_deref()),
        (Some("say hello"), Some("hello"))
    );
    let sent = server.requests.lock()[0].clone();
    assert!(
        sent.contains(&format!("authorization: Bearer {KEY}")),
        "{sent}"
    );
    let database = std::fs::read(room.folder.path().join("mission.db")).unwrap();
    let wal = std::fs::read(room.folder.path().join("mission.db-wal")).unwrap_or_default();
    for bytes in [database, wal] {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY));
    }
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again() {
    for (status, headers, body) in [
        (
            429,
            "retry-after: 0\r\n",
            "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}}",
        ),
        (429, "", "{\"error\":{\"message\":\"slow\"}}"),
        (
            529,
            "",
            "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}",
        ),
        (500, "", "<html>oops</html>"),
    ] {
        let server = serve(vec![http(status, headers, body), good()]);
        let room = room("", &[("p", &server.url)]).await;
        let answered = room.ask(&["p/m"]).await.unwrap();
        assert_eq!(answered.answer.text(), "hello", "{status}");
        assert_eq!(answered.before.len(), 1, "what was tried is said");
        assert_eq!(room.outcomes().await, ["failed", "answered"]);
        assert_eq!(server.asked.load(Ordering::SeqCst), 2);
        assert_eq!(
            room.requests().await[1].cost,
            Some(0),
            "what was refused cost nothing"
        );
    }
}

#[tokio::test]
async fn a_wait_that_was_asked_for_is_kept() {
    let limited = http(
        429,
        "retry-after-ms: 700\r\n",
        "{\"error\":{\"message\":\"slow\"}}",
    );
    let server = serve(vec![limited, good()]);
    let room = room("", &[("p", &server.url)]).await;
    room.ask(&["p/m"]).await.unwrap();
    let requests = room.requests().await;
    let between = requests[0].started_at.since(requests[1].ended_at.unwrap());
    assert!(between >= Duration::from_millis(690), "{between:?}");
}

#[tokio::test]
async fn what_is_wrong_with_the_request_is_told_and_not_tried_again() {
    for (status, body, words) in [
        (
            400,
            "{\"error\":{\"message\":\"messages: required\"}}".to_owned(),
            "messages: required",
        ),
        (
            401,
            format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}"),
            "the key of p is refused: bad key [key]",
        ),
        (
            404,
            "{\"error\":{\"code\":\"model_not_found\",\"message\":\"no model m\"}}".to_owned(),
            "no model m",
        ),
    ] {
        let server = serve(vec![http(status, "", &body)]);
        let room = room("", &[("p", &server.url)]).await;
        let error = room.ask(&["p/m"]).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(server.asked.load(Ordering::SeqCst), 1, "{error}");
        let stored = room.requests().await.remove(0);
        assert!(!stored.failure.unwrap().contains(KEY));
    }
}

#[tokio::test]
async fn the_next_provider_is_asked_and_it_is_said() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let wrong_key = serve(vec![http(401, "", "{\"error\":{\"message\":\"no\"}}")]);
    let well = serve(vec![good()]);
    let providers = [
        ("a", nowhere.as_str()),
        ("b", &wrong_key.url),
        ("c", &well.url),
    ];
    let room = room("", &providers).await;
    let answered = room.ask(&["a/m", "b/m", "c/m"]).await.unwrap();
    assert_eq!(answered.by.to_string(), "c/m");
    assert!(
        answered
            .before
            .last()
            .unwrap()
            .contains("the key of b is refused"),
        "{:?}",
        answered.before
    );
    // Content that one provider refuses is not carried to another.
    let refuses = serve(vec![http(
        400,
        "",
        "{\"error\":{\"code\":\"content_policy_violation\",\"message\":\"no\"}}",
    )]);
    let lax = serve(vec![good()]);
    let room = self::room("", &[("a", &refuses.url), ("b", &lax.url)]).await;
    assert!(room.ask(&["a/m", "b/m"]).await.is_err());
    assert_eq!(lax.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_quota_that_is_spent_parks_the_provider_across_a_crash() {
    let resets = SystemClock.now().plus(Duration::from_secs(900)).as_micros() / 1_000_000;
    let body = format!(
        "{{\"error\":{{\"type\":\"usage_limit_reached\",\"message\":\"the limit of the month\",\"resets_at\":{resets}}}}}"
    );
    let server = serve(vec![http(429, "", &body), good()]);
    let first = room("", &[("p", &server.url)]).await;
    assert!(first.ask(&["p/m"]).await.is_err());
    let parked = first.ask(&["p/m"]).await.unwrap_err().to_string();
    assert!(
        parked.contains("nothing left of its quota") && parked.contains("the limit of the month"),
        "{parked}"
    );
    assert_eq!(server.asked.load(Ordering::SeqCst), 1, "it is left alone");
    // Nothing is closed: as after kill -9, the next one finds what was written.
    let second = room_in(first.folder, "", &[("p", &server.url)]).await;
    let still = second.ask(&["p/m"]).await.unwrap_err().to_string();
    assert!(still.contains("nothing left of its quota"), "{still}");
    assert!(second.llm.unpark("p").await.unwrap());
    assert!(second.ask(&["p/m"]).await.is_ok());
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_never_asked_for_twice_once_it_was_heard() {
    let half = "data: {\"choices\":[{\"delta\":{\"con";
    let lying = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n{HELLO}"
    );
    for act in [
        Act::Reset(format!("{STREAM}{HELLO}")),
        Act::Say(format!("{STREAM}{HELLO}")),
        Act::Say(format!("{STREAM}{HELLO}{half}")),
        Act::Say(lying),
        Act::Say(format!(
            "{STREAM}{HELLO}data: {{\"error\":{{\"message\":\"worker died\"}}}}\n\n"
        )),
    ] {
        let server = serve(vec![act, good()]);
        let other = serve(vec![good()]);
        let room = room("", &[("p", &server.url), ("q", &other.url)]).await;
        let mut heard = Vec::new();
        let ask = ask_of(&["p/m", "q/m"], Duration::from_secs(20));
        let error = room
            .llm
            .ask(&ask, &mut |piece| heard.push(piece.clone()))
            .await;
        let error = error.unwrap_err().to_string();
        assert_eq!(heard.len(), 1, "{error}");
        assert_eq!(server.asked.load(Ordering::SeqCst), 1, "{error}");
        assert_eq!(other.asked.load(Ordering::SeqCst), 0, "{error}");
        let stored = room.requests().await.remove(0);
        assert_eq!(stored.cost, None, "nobody knows what it cost");
        assert!(stored.reserved > 0);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_a_word_is_tried_again() {
    let server = serve(vec![Act::Reset(STREAM.to_owned()), good()]);
    let room = room("", &[("p", &server.url)]).await;
    assert_eq!(room.ask(&["p/m"]).await.unwrap().answer.text(), "hello");
    assert_eq!(server.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn silence_a_trickle_and_an_endless_answer_end() {
    let quiet = serve(vec![Act::Silence]);
    let room = room("silence_secs = 1", &[("p", &quiet.url)]).await;
    let ask = ask_of(&["p/m"], Duration::from_millis(1500));
    let error = room
        .llm
        .ask(&ask, &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("nothing came for 1 s"), "{error}");

    let slow = serve(vec![Act::Trickle(format!("{STREAM}{HELLO}"))]);
    let room = self::room("silence_secs = 5", &[("p", &slow.url)]).await;
    let ask = ask_of(&["p/m"], Duration::from_millis(800));
    let error = room
        .llm
        .ask(&ask, &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("did not come in time"), "{error}");

    let endless = serve(vec![Act::Say(format!(
        "{STREAM}data: {}",
        "x".repeat(17 << 20)
    ))]);
    let room = self::room("", &[("p", &endless.url)]).await;
    let error = room.ask(&["p/m"]).await.unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
}

#[tokio::test]
async fn whoever_goes_away_leaves_an_end_on_record() {
    let server = serve(vec![Act::Trickle(format!("{STREAM}{HELLO}"))]);
    let room = room("", &[("p", &server.url)]).await;
    let (heard, mut first) = tokio::sync::mpsc::unbounded_channel();
    let llm = Arc::clone(&room.llm);
    let asking = tokio::spawn(async move {
        let ask = ask_of(&["p/m"], Duration::from_secs(20));
        llm.ask(&ask, &mut |piece| heard.send(piece.clone()).unwrap())
            .await
    });
    first.recv().await.unwrap();
    asking.abort();
    let _ = asking.await;
    loop {
        let stored = room.requests().await.remove(0);
        if let Some(outcome) = stored.outcome {
            assert_eq!((outcome.as_str(), stored.cost), ("given_up", None));
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn whoever_goes_away_at_any_moment_leaves_nothing_reserved() {
    let server = serve(vec![Act::Silence]);
    let room = room("day_usd = 1.0", &[("p", &server.url)]).await;
    // From before anything is written to after the request was sent.
    for step in 0..60 {
        let llm = Arc::clone(&room.llm);
        let asking = tokio::spawn(async move {
            let ask = ask_of(&["p/m"], Duration::from_secs(600));
            llm.ask(&ask, &mut |_| {}).await.map(|_| ())
        });
        tokio::time::sleep(Duration::from_micros(150 * step)).await;
        asking.abort();
        let _ = asking.await;
    }
    let all_ended = async {
        loop {
            let requests = room.requests().await;
            if requests.iter().all(|one| one.outcome.is_some()) {
                return requests;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), all_ended).await;
    let ended = ended.expect("a request that nobody waits for has an end");
    assert!(!ended.is_empty());
    for request in ended {
        assert_eq!(request.outcome.as_deref(), Some("given_up"));
    }
}

#[tokio::test]
async fn what_a_dead_daemon_left_under_way_goes_on_counting() {
    let server = serve(vec![Act::Silence, good()]);
    let first = room("day_usd = 0.0004", &[("p", &server.url)]).await;
    let llm = Arc::clone(&first.llm);
    let asking = tokio::spawn(async move {
        let ask = ask_of(&["p/m"], Duration::from_secs(600));
        llm.ask(&ask, &mut |_| {}).await.map(|_| ())
    });
    while server.asked.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    // The daemon is gone between reserving and settling: the task is leaked, not ended.
    std::mem::forget(asking);
    let dead = first.daemon;
    let second = room_in(first.folder, "day_usd = 0.0004", &[("p", &server.url)]).await;
    assert_ne!(second.daemon, dead);
    assert_eq!(second.outcomes().await, ["lost"]);
    let refused = second.ask(&["p/m"]).await.unwrap_err().to_string();
    assert!(refused.contains("`llm.day_usd`"), "{refused}");
    drop(second.config);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_budget_is_never_exceeded_by_64_callers_at_once() {
    let server = serve(vec![good()]);
    // Each may cost about 0.0003 dollars and costs 0.00002.
    let room = Arc::new(room("day_usd = 0.001", &[("p", &server.url)]).await);
    let mut callers = Vec::new();
    for _ in 0..64 {
        let room = Arc::clone(&room);
        callers.push(tokio::spawn(async move {
            let mut refused = 0;
            for _ in 0..4 {
                match room.ask(&["p/m"]).await {
                    Ok(_) => {}
                    Err(LlmError::Spent { .. }) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
                let requests = room.requests().await;
                let held: u64 = requests
                    .iter()
                    .map(|one| one.cost.unwrap_or(one.reserved))
                    .sum();
                assert!(held <= 1000, "{held}");
            }
            refused
        }));
    }
    let mut refused = 0;
    for caller in callers {
        refused += caller.await.unwrap();
    }
    assert!(refused > 0, "the budget was never reached");
    let spent: u64 = room
        .requests()
        .await
        .iter()
        .map(|one| one.cost.unwrap())
        .sum();
    assert!(spent <= 1000);
    assert_eq!(
        room.requests().await.len(),
        server.asked.load(Ordering::SeqCst)
    );
}

#[tokio::test]
async fn a_price_nobody_knows_is_said_and_not_guessed() {
    let server = serve(vec![good()]);
    let without = room("", &[("p", &server.url)]).await;
    let answered = without.ask(&["p/another"]).await.unwrap();
    assert_eq!(answered.cost, None);
    let bound = room("day_usd = 1.0", &[("p", &server.url)]).await;
    let refused = bound.ask(&["p/another"]).await.unwrap_err().to_string();
    assert!(
        refused.contains("nobody knows what another costs"),
        "{refused}"
    );
    // What is live in the configuration is so for the next request.
    let raised = config(bound.folder.path(), "", &[("p", &server.url)]);
    bound.config.send_replace(Arc::new(raised));
    assert!(bound.ask(&["p/another"]).await.is_ok());
}

#[tokio::test]
async fn a_server_that_is_not_who_it_should_be_is_sent_nothing() {
    // It speaks no TLS, so nobody knows who it is; and a name that nobody has.
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    let encrypted = format!("https://localhost:{port}");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    std::thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            let mut bytes = vec![0; 4096];
            let read = stream.read(&mut bytes).unwrap_or_default();
            log.lock().extend_from_slice(&bytes[..read]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let well = serve(vec![good()]);
    let providers = [
        ("a", encrypted.as_str()),
        ("b", "https://no-such-host.invalid"),
        ("c", &well.url),
    ];
    let room = room("", &providers).await;
    let answered = room.ask(&["a/m", "b/m", "c/m"]).await.unwrap();
    assert_eq!(answered.by.to_string(), "c/m");
    let seen = String::from_utf8_lossy(&heard.lock()).into_owned();
    assert!(!seen.contains(KEY) && !seen.contains("say hello"), "{seen}");
    let outcomes = room.outcomes().await;
    let (last, before) = outcomes.split_last().unwrap();
    assert_eq!(last, "answered");
    assert!(
        before.iter().all(|one| one == "failed") && before.len() <= 8,
        "{outcomes:?}"
    );
    let spent: u64 = room
        .requests()
        .await
        .iter()
        .filter_map(|one| one.cost)
        .sum();
    assert_eq!(spent, 20, "what was never sent cost nothing");
}
