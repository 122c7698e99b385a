//! What a test can rely on: replies in order, helpers beside them, gates that
//! hold, errors and breaks as asked.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;

use missiond_model_server::{Gate, ModelServer, Purpose, Reply};
use serde_json::{Value, json};

struct Answer {
    stream: TcpStream,
    text: String,
}

impl Answer {
    fn to(server: &ModelServer, path: &str, body: &Value) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let body = body.to_string();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        Self {
            stream,
            text: String::new(),
        }
    }

    fn until(&mut self, wanted: &str) {
        let mut bytes = [0; 4096];
        while !self.text.contains(wanted) {
            let count = self.stream.read(&mut bytes).unwrap();
            assert!(count > 0, "`{wanted}` never came: {}", self.text);
            self.text
                .push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    fn whole(mut self) -> String {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).unwrap();
        self.text + &rest
    }
}

#[test]
fn each_api_gets_its_reply_and_helpers_take_none() {
    let server = ModelServer::start().unwrap();
    let turn = json!({"model": "m", "stream": true, "tools": [{"name": "t"}]});
    let paths = [
        ("/v1/messages", "text_delta", "message_stop"),
        (
            "/v1/responses",
            "response.output_text.delta",
            "response.completed",
        ),
        ("/v1/chat/completions", "\"content\":", "[DONE]"),
        (
            "/v1beta/models/m:streamGenerateContent",
            "\"text\":",
            "\"finishReason\":\"STOP\"",
        ),
    ];
    for (path, text, end) in paths {
        server.reply(Reply::new().text("forty-two").call("t", json!({"a": 1})));
        let helper = json!({"model": "m", "text": {"format": {"type": "json_schema"}}});
        let title = Answer::to(&server, path, &helper).whole();
        assert!(title.starts_with("HTTP/1.1 200"), "{title}");
        let answer = Answer::to(&server, path, &turn).whole();
        for wanted in ["forty-two", text, end, r#"{\"a\":1}"#] {
            let plain = wanted.replace('\\', "");
            assert!(
                answer.contains(wanted) || answer.contains(&plain),
                "{path}: {wanted}: {answer}"
            );
        }
        let purposes: Vec<_> = server.received().iter().map(|r| r.purpose).collect();
        let last = &purposes[purposes.len() - 2..];
        assert_eq!(last, [Purpose::Helper, Purpose::Turn], "{path}");
    }
    let answer = Answer::to(&server, "/v1/messages", &turn).whole();
    assert!(answer.contains("queued no"), "{answer}");
    assert_eq!(server.turns().last().unwrap().purpose, Purpose::Unscripted);
}

#[test]
fn a_gate_holds_until_it_is_opened_and_errors_are_errors() {
    let server = ModelServer::start().unwrap();
    let turn = json!({"model": "m", "stream": true, "tools": [{"name": "t"}]});
    let gate = Gate::closed();
    server.reply(Reply::new().text("before").hold(&gate).text("after"));
    let mut answer = Answer::to(&server, "/v1/messages", &turn);
    answer.until("before");
    answer.until("content_block_stop");
    assert!(!answer.text.contains("after"));
    gate.open();
    answer.until("after");

    server.reply(Reply::error(429));
    let refused = Answer::to(&server, "/v1/messages", &turn).whole();
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("rate_limit_error"), "{refused}");

    server.reply(Reply::new().text("cut").drop_connection());
    let cut = Answer::to(&server, "/v1/messages", &turn).whole();
    assert!(
        cut.contains("cut") && !cut.contains("message_stop"),
        "{cut}"
    );
}
