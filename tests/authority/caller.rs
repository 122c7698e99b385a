//! Calls every operation on every way in, from wherever it runs, and says what came of each.
//!
//! Many calls share a connection, and no call has a process of its own, so that the whole
//! table is asked within seconds.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use missiond_api::CATALOGUE;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::PATIENCE;
use crate::http::{Http, Login, Socket};

/// What came of a call, by the operation, for each way in.
pub(super) type Answers = BTreeMap<String, BTreeMap<String, Came>>;

/// What comes of a call whose parameters have one that no operation has: whoever may make it
/// is told of that, and whoever may not is told so first. Nothing is done either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Came {
    Allowed,
    Refused,
    /// Who asks shows nothing.
    Unknown,
    /// No operation is called on this way.
    NoWay,
}

/// Where to ask, and with what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) home: PathBuf,
    pub(super) program: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) http: String,
    /// A token for each of these names.
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) cookie: String,
    pub(super) csrf: String,
    /// What a hook shows: the run and its token.
    pub(super) hook: Option<(String, String)>,
    /// Things by what the table calls them, those of whoever asks and those of others: an
    /// operation that is about such a thing is asked for both as well.
    pub(super) things: BTreeMap<String, Things>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Things {
    /// The parameter that names them.
    pub(super) parameter: String,
    pub(super) own: Vec<String>,
    pub(super) others: Vec<String>,
}

/// The call as it is told of: an operation, and about whose thing.
struct Asked {
    name: String,
    operation: &'static str,
    params: Value,
}

fn stray() -> Value {
    json!({ "no_such_parameter": 1 })
}

impl Place {
    fn asked(&self) -> Vec<Asked> {
        let mut asked = Vec::new();
        for spec in CATALOGUE {
            asked.push(Asked {
                name: spec.name.to_owned(),
                operation: spec.name,
                params: stray(),
            });
            let Some(things) = self.things.get(spec.name) else {
                continue;
            };
            let own = things.own.iter().map(|thing| ("its", thing));
            let others = things.others.iter().map(|thing| ("another's", thing));
            for (number, (whose, thing)) in own.chain(others).enumerate() {
                let mut params = stray();
                params[&things.parameter] = json!(thing);
                asked.push(Asked {
                    name: format!("{} of {whose} {number}", spec.name),
                    operation: spec.name,
                    params,
                });
            }
        }
        asked
    }

    /// Asks on each way in.
    pub(super) fn ask_everywhere(&self) -> Answers {
        let mut answers = Answers::new();
        let mut add = |way: &str, came: BTreeMap<String, Came>| {
            answers.insert(way.to_owned(), came);
        };
        add("socket", self.on_the_socket());
        add("bridge", self.on_the_bridge());
        add("hook", self.as_a_hook());
        let origin = format!("http://{}", self.http);
        let page = [
            ("cookie", self.cookie.as_str()),
            ("x-mission-csrf", self.csrf.as_str()),
            ("origin", origin.as_str()),
        ];
        add("http", self.over_http(&[]));
        add("http page", self.over_http(&page));
        add("mcp page", self.over_mcp(&page));
        for (name, token) in &self.tokens {
            let bearer = format!("Bearer {token}");
            let shows = [("authorization", bearer.as_str())];
            add(&format!("http {name}"), self.over_http(&shows));
            add(&format!("mcp {name}"), self.over_mcp(&shows));
        }
        let http = Http {
            address: self.http.clone(),
        };
        let login = Login {
            cookie: self.cookie.clone(),
            csrf: self.csrf.clone(),
        };
        add(
            "terminal page",
            self.on_a_terminal(&mut Socket::open_as(&http, &login, TERMINAL)),
        );
        let token = &self.tokens["every"];
        add(
            "terminal every",
            self.on_a_terminal(&mut Socket::open(&http, token, TERMINAL)),
        );
        answers
    }

    fn on_the_socket(&self) -> BTreeMap<String, Came> {
        let mut lines = Lines::of_socket(&self.socket);
        let hello = json!({ "protocol": 1, "client": "test" });
        let greeted = lines.ask("hello", &hello);
        assert_eq!(greeted["result"]["protocol"], 1, "{greeted}");
        self.each(|asked| {
            let answer = lines.ask(asked.operation, &asked.params);
            came(answer["error"]["data"]["code"].as_str(), &answer)
        })
    }

    fn on_the_bridge(&self) -> BTreeMap<String, Came> {
        let mut child = Command::new(&self.program)
            .args(["mcp", "serve", "--toolset", "all"])
            .env("MISSION_HOME", &self.home)
            .env_remove("MISSION_NO_START")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = Lines::of_child(&mut child);
        let came = self.each(|asked| {
            let mut call = tool_call(asked);
            call["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            came_of_tool(&lines.ask("tools/call", &call))
        });
        drop(lines);
        child.wait().unwrap();
        came
    }

    /// What a hook may say is that something happened, and ask whether a tool may be used.
    fn as_a_hook(&self) -> BTreeMap<String, Came> {
        let mut lines = Lines::of_socket(&self.socket);
        let (execution, token) = self.hook.clone().unwrap_or_default();
        let hello = json!({ "protocol": 1, "execution": execution, "token": token });
        let greeted = lines.ask("execution_hello", &hello);
        if greeted.get("error").is_some() {
            return self.each(|_| Came::NoWay);
        }
        self.each(|asked| {
            let answer = lines.ask(asked.operation, &asked.params);
            assert_eq!(answer["error"]["code"], -32601, "{answer}");
            Came::NoWay
        })
    }

    fn over_http(&self, shows: &[(&str, &str)]) -> BTreeMap<String, Came> {
        let mut web = Web::to(&self.http);
        self.each(|asked| {
            let path = format!("/api/v1/ops/{}", asked.operation);
            let answer = web.post(&path, shows, &asked.params);
            came(answer["error"]["code"].as_str(), &answer)
        })
    }

    fn over_mcp(&self, shows: &[(&str, &str)]) -> BTreeMap<String, Came> {
        let mut web = Web::to(&self.http);
        self.each(|asked| {
            let params = tool_call(asked);
            let call =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            came_of_tool(&web.post("/mcp", shows, &call))
        })
    }

    /// On the socket of a terminal keys are pressed by whoever may press them, and nothing
    /// else is understood.
    fn on_a_terminal(&self, socket: &mut Socket) -> BTreeMap<String, Came> {
        let mut came = self.each(|asked| {
            let mut says = asked.params.clone();
            says["type"] = json!(asked.operation);
            socket.send(&says);
            let answer = socket.text_of("refused");
            let why = answer["message"].as_str().unwrap();
            assert!(why.contains("not understood"), "{answer}");
            Came::NoWay
        });
        socket.send(&json!({ "type": "take" }));
        let answer = loop {
            let said = socket.text();
            if said["type"] == "taken" || said["type"] == "refused" {
                break said;
            }
        };
        let taken = match answer["type"].as_str() {
            Some("taken") => {
                socket.send(&json!({ "type": "release" }));
                Came::Allowed
            }
            _ => Came::Refused,
        };
        came.insert(TAKE.to_owned(), taken);
        came
    }

    fn each(&self, mut ask: impl FnMut(&Asked) -> Came) -> BTreeMap<String, Came> {
        let asked = self.asked();
        asked
            .iter()
            .map(|asked| (asked.name.clone(), ask(asked)))
            .collect()
    }
}

/// The slot whose terminal is opened is started by the test.
const TERMINAL: &str = "/api/v1/slots/sibling/terminal";
/// Taking a terminal over, as it is told of.
pub(super) const TAKE: &str = "take";

fn tool_call(asked: &Asked) -> Value {
    json!({
        "name": "operation_call",
        "arguments": { "operation": asked.operation, "params": asked.params },
    })
}

fn came_of_tool(answer: &Value) -> Came {
    let code = match &answer["error"]["code"] {
        Value::String(code) => Some(code.as_str()),
        _ => answer["result"]["_meta"]["missiond/error"]["code"].as_str(),
    };
    came(code, answer)
}

fn came(code: Option<&str>, answer: &Value) -> Came {
    match code {
        Some("forbidden") => Came::Refused,
        Some("unauthenticated") => Came::Unknown,
        Some("invalid_params") if answer.to_string().contains("no_such_parameter") => Came::Allowed,
        _ => panic!("{answer}"),
    }
}

/// Messages on lines.
struct Lines {
    reader: BufReader<Box<dyn Read>>,
    writer: Box<dyn Write>,
    next: u64,
}

impl Lines {
    fn of_socket(socket: &std::path::Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            writer: Box::new(stream.try_clone().unwrap()),
            reader: BufReader::new(Box::new(stream)),
            next: 0,
        }
    }

    fn of_child(child: &mut Child) -> Self {
        Self {
            writer: Box::new(child.stdin.take().unwrap()),
            reader: BufReader::new(Box::new(child.stdout.take().unwrap())),
            next: 0,
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let asks = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.writer
            .write_all(format!("{asks}\n").as_bytes())
            .unwrap();
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "{method}");
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["id"] == id && said.get("method").is_none() {
                return said;
            }
        }
    }
}

/// One connection for many requests.
struct Web {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Web {
    fn to(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            address: address.to_owned(),
            stream: BufReader::new(stream),
        }
    }

    fn post(&mut self, path: &str, shows: &[(&str, &str)], body: &Value) -> Value {
        let body = body.to_string();
        let mut asks = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in shows {
            asks += &format!("{name}: {value}\r\n");
        }
        asks += &format!("\r\n{body}");
        // Whoever shows nothing is not kept for long.
        let answer = self.exchange(&asks).or_else(|| {
            *self = Self::to(&self.address);
            self.exchange(&asks)
        });
        let body = answer.unwrap_or_else(|| panic!("{path}: no answer"));
        serde_json::from_slice(&body)
            .unwrap_or_else(|_| panic!("{path}: {}", String::from_utf8_lossy(&body)))
    }

    /// The body of the answer; nothing from a connection that was closed.
    fn exchange(&mut self, asks: &str) -> Option<Vec<u8>> {
        self.stream.get_mut().write_all(asks.as_bytes()).ok()?;
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some(body)
    }
}

/// What is run where somebody else asks; alone it does nothing.
#[test]
#[ignore = "run by the other tests of this file, inside a slot and below a daemon"]
fn from_inside() {
    let Some(file) = std::env::var_os("AUTHORITY").map(PathBuf::from) else {
        return;
    };
    let place: Place = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let answers = serde_json::to_vec(&place.ask_everywhere()).unwrap();
    let unfinished = file.with_extension("unfinished");
    std::fs::write(&unfinished, answers).unwrap();
    std::fs::rename(unfinished, file.with_extension("answers")).unwrap();
}
