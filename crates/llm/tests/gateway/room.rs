//! A gateway with a store of its own, and servers that do what they are told, byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use missiond_audit::AuditLog;
use missiond_config::Config;
use missiond_core::{Clock, DaemonId, Principal, SystemClock};
use missiond_llm::gate::Class;
use missiond_llm::items::{Item, Message, Request, Role};
use missiond_llm::{Answered, Ask, Asker, Llm, LlmError, ModelName, Parts};
use missiond_runtime::{Component, Supervisor};
use missiond_store::llm::{RequestFilter, StoredRequest};
use missiond_store::{DbUrl, MissionDb};
use parking_lot::Mutex;
use tokio::sync::watch;

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes and closes.
    Say(String),
    /// Sends these bytes and resets the connection.
    Reset(String),
    /// Sends these bytes, a few at a time, for ever.
    Trickle(String),
    /// Says nothing.
    Silence,
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

/// Does one act after the other, and the last again and again.
pub(crate) fn serve(acts: Vec<Act>) -> Server {
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

pub(crate) fn http(status: u16, headers: &str, body: &str) -> Act {
    Act::Say(format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n{headers}\r\n{body}",
        body.len()
    ))
}

pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
pub(crate) const HELLO: &str =
    "data: {\"id\":\"c\",\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n";
pub(crate) const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
     data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";

pub(crate) fn good() -> Act {
    Act::Say(format!("{STREAM}{HELLO}{END}"))
}

pub(crate) struct Room {
    pub(crate) llm: Arc<Llm>,
    pub(crate) config: watch::Sender<Arc<Config>>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) daemon: DaemonId,
    pub(crate) db: MissionDb,
}

pub(crate) const KEY: &str = "sk-the-key-of-this-test-1234567890";

pub(crate) async fn room(more: &str, providers: &[(&str, &str)]) -> Room {
    room_in(tempfile::tempdir().unwrap(), more, providers).await
}

pub(crate) fn config(folder: &std::path::Path, more: &str, providers: &[(&str, &str)]) -> Config {
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

pub(crate) async fn room_in(
    folder: tempfile::TempDir,
    more: &str,
    providers: &[(&str, &str)],
) -> Room {
    room_at(folder, more, providers, Arc::new(SystemClock)).await
}

/// A room whose time is told by this clock.
pub(crate) async fn room_at(
    folder: tempfile::TempDir,
    more: &str,
    providers: &[(&str, &str)],
    clock: Arc<dyn Clock>,
) -> Room {
    let config = config(folder.path(), more, providers);
    let config = watch::Sender::new(Arc::new(config));
    let url = DbUrl::sqlite(folder.path().join("mission.db"));
    let daemon = DaemonId::generate();
    let (audit, identity) = (folder.path().join("audit"), folder.path().join("identity"));
    let (audit, _) = AuditLog::open(&audit, &identity, Arc::new(SystemClock)).unwrap();
    let db = MissionDb::open(&url).await.unwrap();
    let llm = Arc::new(Llm::new(Parts {
        audit,
        daemon,
        db: db.clone(),
        clock,
        config: config.subscribe(),
        supervisor: Supervisor::standalone(),
    }));
    Arc::clone(&llm).start().await.unwrap();
    Room {
        llm,
        config,
        folder,
        daemon,
        db,
    }
}

pub(crate) fn ask_of(models: &[&str], within: Duration) -> Ask {
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
    pub(crate) async fn ask(&self, models: &[&str]) -> Result<Answered, LlmError> {
        self.llm
            .ask(&ask_of(models, Duration::from_secs(20)), &mut |_| {})
            .await
    }

    pub(crate) async fn requests(&self) -> Vec<StoredRequest> {
        self.llm
            .requests(RequestFilter::default(), 500)
            .await
            .unwrap()
    }

    /// All requests, when each has an end.
    pub(crate) async fn ended_requests(&self) -> Vec<StoredRequest> {
        let all_ended = async {
            loop {
                let requests = self.requests().await;
                if requests.iter().all(|one| one.ended_at.is_some()) {
                    return requests;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), all_ended).await;
        ended.expect("each request has an end")
    }

    pub(crate) async fn outcomes(&self) -> Vec<String> {
        let requests = self.requests().await;
        let outcomes = requests
            .into_iter()
            .rev()
            .map(|one| one.outcome.unwrap_or_default());
        outcomes.collect()
    }
}
