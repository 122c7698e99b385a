//! What the gateway adds to a request of an agent, beside the same request sent to the
//! same scripted model directly, in turns; and how many answers flow through it at once,
//! with one among their readers who reads nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::NoParams;
use missiond_api::operations::system::DaemonStatus;
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::ErrorCode;

use crate::temporary::{Mission, TemporaryDaemon};
use crate::{Report, percentile};

/// Longer than any of it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Events of an answer.
const EVENTS: usize = 20;

pub(super) fn run(
    requests: u32,
    streams: u32,
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "asking a model");
    let mut report = Report::new("llm");
    let model = Model::start()?;
    let daemon = TemporaryDaemon::new(mission)?;
    let way = way_of_agent(&daemon, model.address)?;
    let body = request_body(false);
    report.condition("requests", requests);
    report.condition("streams_at_once", streams);
    report.condition("request_bytes", body.len());
    report.condition("events_of_an_answer", EVENTS);
    report.condition("upstream", "scripted, in this process, answers at once");

    let mut direct = Asker::open(model.address, "/v1/messages", "none")?;
    let mut through = Asker::open(way.address, "/llm/anthropic/v1/messages", &way.token)?;
    let (mut alone, mut passed, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..requests + 50 {
        let bare = direct.ask(&body)?;
        let whole = through.ask(&body)?;
        if round >= 50 {
            alone.push(bare);
            passed.push(whole);
            added.push(whole.saturating_sub(bare));
        }
    }
    report.times("direct_", &mut alone);
    report.times("gateway_", &mut passed);
    report.times("added_", &mut added);
    let first = percentile(&mut passed, 0.5).saturating_sub(percentile(&mut alone, 0.5));
    report.metric("added_between_medians_ms", first.as_secs_f64() * 1e3);

    // Each begins, and goes on when all have begun.
    let held = request_body(true);
    let mut open = Vec::new();
    for _ in 0..streams {
        let mut asker = Asker::open(way.address, "/llm/anthropic/v1/messages", &way.token)?;
        asker.begin(&held)?;
        open.push(asker);
    }
    let slow = open.pop();
    report.metric("rss_mb", resident_mb(&daemon)?);
    let began = Instant::now();
    model.release();
    let readers = open
        .into_iter()
        .map(|mut asker| std::thread::spawn(move || asker.finish()));
    let readers: Vec<_> = readers.collect();
    let count = readers.len();
    for reader in readers {
        let read = reader.join().map_err(|_| broken("a reader panicked"))?;
        read?;
    }
    report.metric(
        "streams_per_s",
        count as f64 / began.elapsed().as_secs_f64(),
    );
    drop(slow);
    Ok(report)
}

/// Where an agent reaches its model, and its token.
struct Way {
    address: SocketAddr,
    token: String,
}

/// An agent that writes down how it was told to reach its model, and waits.
fn way_of_agent(daemon: &TemporaryDaemon, model: SocketAddr) -> Result<Way, Failure> {
    let home = daemon.home();
    let file = home.config_file();
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    let config = format!(
        "[llm]\nengines = [\"claude\"]\nfind_ollama = false\n[[llm.providers]]\n\
         name = \"scripted\"\nformat = \"anthropic\"\nurl = \"http://{model}\"\nfree = true\n\
         at_once = 10000\n"
    );
    std::fs::write(&file, config)?;
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600))?;
    daemon.run(&["daemon", "start"])?;
    let bin = daemon.path().join("bench-bin");
    std::fs::create_dir_all(&bin)?;
    let told = bin.join("told");
    let program = bin.join("claude");
    let script = format!(
        "#!/bin/sh\necho \"$ANTHROPIC_BASE_URL $ANTHROPIC_AUTH_TOKEN\" > {0}.part\nmv {0}.part {0}\nexec sleep 3600\n",
        told.display()
    );
    std::fs::write(&program, script)?;
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("--env=PATH={}:{path}", bin.display());
    let cwd = bin.display().to_string();
    daemon.run(&[
        "run",
        "go",
        "--engine",
        "claude",
        "--control",
        "terminal",
        "--trust",
        "--no-context",
        "--cwd",
        &cwd,
        &path,
    ])?;
    let since = Instant::now();
    let written = loop {
        match std::fs::read_to_string(&told) {
            Ok(written) => break written,
            Err(_) if since.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.into()),
        }
    };
    let way = written.trim().split_once(' ').and_then(|(url, token)| {
        let host = url.strip_prefix("http://")?.split('/').next()?;
        Some(Way {
            address: host.parse().ok()?,
            token: token.to_owned(),
        })
    });
    way.ok_or_else(|| broken("the agent was told no way to its model"))
}

fn resident_mb(daemon: &TemporaryDaemon) -> Result<f64, Failure> {
    let status = Client::connect(&daemon.home())?.call::<DaemonStatus>(&NoParams {})?;
    let text = std::fs::read_to_string(format!("/proc/{}/status", status.pid))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    Ok(kilobytes.unwrap_or_default() / 1024.0)
}

/// About what an agent sends in the middle of its work.
fn request_body(holds: bool) -> String {
    let said = "The quick brown fox jumps over the lazy dog. ".repeat(400);
    let mark = if holds { "hold" } else { "go" };
    format!(
        "{{\"model\":\"scripted\",\"max_tokens\":1000,\"stream\":true,\"tools\":[{{\"name\":\"Bash\",\
         \"input_schema\":{{\"type\":\"object\"}}}}],\"messages\":[{{\"role\":\"user\",\
         \"content\":\"{said}\"}}],\"metadata\":{{\"user_id\":\"{mark}\"}}}}"
    )
}

fn broken(what: &str) -> Failure {
    Failure::new(ErrorCode::Internal, what)
}

/// One kept connection.
struct Asker {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

const END: &[u8] = b"event: message_stop";

impl Asker {
    fn open(address: SocketAddr, path: &str, token: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            head: format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
                 content-type: application/json\r\ncontent-length: "
            ),
            buffer: Vec::new(),
        })
    }

    fn send(&mut self, body: &str) -> Result<(), Failure> {
        self.buffer.clear();
        let request = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        Ok(self.stream.write_all(request.as_bytes())?)
    }

    /// The whole answer, with its last chunk.
    fn finish(&mut self) -> Result<(), Failure> {
        self.read_until(|read| {
            let last = read.windows(END.len()).rposition(|window| window == END);
            last.is_some() && read.ends_with(b"0\r\n\r\n")
        })
    }

    fn ask(&mut self, body: &str) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.send(body)?;
        self.finish()?;
        Ok(began.elapsed())
    }

    /// Until the answer has begun.
    fn begin(&mut self, body: &str) -> Result<(), Failure> {
        self.send(body)?;
        self.read_until(|read| read.windows(13).any(|window| window == b"message_start"))
    }

    fn read_until(&mut self, so: impl Fn(&[u8]) -> bool) -> Result<(), Failure> {
        let mut piece = [0; 16 << 10];
        while !so(&self.buffer) {
            let read = self.stream.read(&mut piece)?;
            if read == 0 {
                let said = String::from_utf8_lossy(&self.buffer).into_owned();
                return Err(broken(&format!("an answer broke off after `{said}`")));
            }
            self.buffer.extend_from_slice(&piece[..read]);
        }
        Ok(())
    }
}

/// A model that says the same to everybody.
struct Model {
    address: SocketAddr,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

impl Model {
    fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let opened = Arc::clone(&gate);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let gate = Arc::clone(&opened);
                std::thread::spawn(move || converse(stream, &gate));
            }
        });
        Ok(Self { address, gate })
    }

    /// Those that wait go on.
    fn release(&self) {
        *self.gate.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.gate.1.notify_all();
    }
}

/// Answers requests until the connection ends.
fn converse(mut stream: TcpStream, gate: &(Mutex<bool>, Condvar)) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut buffer = Vec::new();
    let mut piece = [0; 64 << 10];
    loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        buffer.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&buffer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1)?;
        let length: usize = length.lines().next()?.trim().parse().ok()?;
        if body.len() < length {
            continue;
        }
        let holds = body.contains("\"user_id\":\"hold\"");
        buffer.clear();
        let [first, rest] = answer();
        stream.write_all(first.as_bytes()).ok()?;
        if holds {
            let opened = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = gate.1.wait_while(opened, |opened| !*opened);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        stream.write_all(rest.as_bytes()).ok()?;
    }
}

/// The beginning of an answer, and the rest of it.
fn answer() -> [String; 2] {
    let chunk = |name: &str, data: &str| {
        let event = format!("event: {name}\ndata: {{\"type\":\"{name}\"{data}}}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let start = chunk(
        "message_start",
        ",\"message\":{\"id\":\"m\",\"model\":\"scripted\",\"usage\":{\"input_tokens\":9}}",
    );
    let piece = chunk(
        "content_block_delta",
        ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a few words \"}",
    );
    let end = chunk(
        "message_delta",
        ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":40}",
    );
    let stop = chunk("message_stop", "");
    [
        format!("{head}{start}"),
        format!("{}{end}{stop}0\r\n\r\n", piece.repeat(EVENTS)),
    ]
}
