//! An editor without manners, and everything that needs no daemon.

use parking_lot::Mutex;

use super::*;

/// What was written, to be looked at.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn served(input: &[u8]) -> Vec<Value> {
    let written = Written::default();
    let settings = Settings {
        engine: "rehearsal".parse().unwrap(),
        args: Vec::new(),
        model: None,
        permission: missiond_core::Permission::Ask,
        env: Default::default(),
        trust_folder: false,
        context: true,
        hint: None,
    };
    let connect: Connect = Arc::new(|| Err("nobody is there".to_owned()));
    let log: Log = Box::new(|_| {});
    let mut server = Server::new(Box::new(written.clone()), connect, settings, log);
    server.serve(input).unwrap();
    let written = written.0.lock();
    let lines = written.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn lines(messages: &[Value]) -> Vec<u8> {
    let lines = messages.iter().map(|message| format!("{message}\n"));
    lines.collect::<String>().into_bytes()
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn hello() -> Value {
    request(0, "initialize", &json!({ "protocolVersion": 1 }))
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap()
}

#[test]
fn an_editor_is_told_what_can_be_done() {
    let ask = json!({ "protocolVersion": 7, "clientInfo": { "name": "an editor", "version": "1" },
                      "clientCapabilities": { "fs": { "readTextFile": true } } });
    let answers = served(&lines(&[request(0, "initialize", &ask)]));
    let result = &answers[0]["result"];
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(result["authMethods"], json!([]));
    let capabilities = &result["agentCapabilities"];
    assert_eq!(capabilities["loadSession"], true);
    assert_eq!(capabilities["promptCapabilities"]["image"], false);
    assert_eq!(
        capabilities["sessionCapabilities"],
        json!({ "list": {}, "resume": {}, "close": {} })
    );
}

#[test]
fn garbage_is_answered_and_what_follows_is_read() {
    let mut input = b"garbage\n\n{\"jsonrpc\":\"2.0\",\n[1,2]\n\xff\n".to_vec();
    input.extend(lines(&[
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": "x", "error": 3 }),
        json!({ "jsonrpc": "2.0", "method": "no/such" }),
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": 3 } }),
        request(5, "session/new", &json!({ "cwd": "/", "mcpServers": [] })),
        hello(),
        request(6, "no/such", &json!({})),
        request(7, "session/new", &json!({ "cwd": 7 })),
        request(
            8,
            "session/prompt",
            &json!({ "sessionId": "no\u{0}ne", "prompt": [] }),
        ),
        request(9, "authenticate", &json!({ "methodId": "none" })),
    ]));
    let answers = served(&input);
    let outline: Vec<_> = answers
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].as_i64()))
        .collect();
    let expected = [
        (Value::Null, Some(-32700)),
        (Value::Null, Some(-32700)),
        (Value::Null, Some(-32600)),
        (Value::Null, Some(-32700)),
        (json!(5), Some(-32600)),
        (json!(0), None),
        (json!(6), Some(-32601)),
        (json!(7), Some(-32602)),
        (json!(8), Some(-32002)),
        (json!(9), None),
    ];
    assert_eq!(outline, expected);
}

#[test]
fn a_line_without_end_costs_a_line_and_no_more() {
    let mut input = vec![b'x'; 3 * LONGEST_LINE];
    input.push(b'\n');
    input.extend(lines(&[hello()]));
    let answers = served(&input);
    assert_eq!(answers.len(), 2);
    assert_eq!(code(&answers[0]), -32600);
    assert_eq!(answers[1]["id"], 0);
}

#[test]
fn a_session_is_opened_where_it_can_work() {
    let folder = std::env::temp_dir();
    let new = |id, params: Value| request(id, "session/new", &params);
    let more = json!({ "cwd": folder, "mcpServers": [], "additionalDirectories": ["/"] });
    let answers = served(&lines(&[
        hello(),
        new(1, json!({ "cwd": folder, "mcpServers": [] })),
        new(2, json!({ "cwd": "relative", "mcpServers": [] })),
        new(3, json!({ "cwd": "/no/such/folder", "mcpServers": [] })),
        new(4, more),
    ]));
    let opened = &answers[1]["result"];
    assert!(opened["sessionId"].as_str().unwrap().starts_with(PREFIX));
    assert_eq!(opened["modes"]["currentModeId"], "ask");
    for answer in &answers[2..] {
        assert_eq!(code(answer), -32602, "{answer}");
    }
}

#[test]
fn sessions_have_a_bound() {
    let folder = std::env::temp_dir();
    let mut messages = vec![hello()];
    for id in 0..=MOST_SESSIONS as u32 {
        let params = json!({ "cwd": folder, "mcpServers": [] });
        messages.push(request(id + 1, "session/new", &params));
    }
    let answers = served(&lines(&messages));
    let (last, others) = answers.split_last().unwrap();
    assert_eq!(code(last), -32600);
    assert!(others.iter().all(|answer| answer["error"].is_null()));
}
