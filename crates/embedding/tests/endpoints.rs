//! Endpoints as they are met: right, slow, wrong-sized, failing and down. The
//! server is a real one on a socket of this machine.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use missiond_embedding::remote::{Interface, RemoteModel, RemoteSettings};
use missiond_knowledge::{EmbedError, Embedder, Purpose};
use serde_json::{Value, json};

/// What the server does with the nth request, given its path and body.
type Script = dyn Fn(usize, &str, &Value) -> Reply + Send + Sync;

enum Reply {
    Json(u16, Value),
    /// Sends a byte now and then and never ends.
    Trickle,
}

fn serve(script: Arc<Script>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = AtomicUsize::new(0);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            answer(stream, &*script, asked.fetch_add(1, Ordering::SeqCst));
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream, script: &Script, nth: usize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap_or("").to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    match script(nth, &path, &body) {
        Reply::Json(status, value) => {
            let text = value.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            let _ = stream.write_all(format!("{head}{text}").as_bytes());
        }
        Reply::Trickle => {
            std::thread::spawn(move || {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
                while stream.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
    }
}

fn settings(interface: Interface, url: String) -> RemoteSettings {
    RemoteSettings {
        interface,
        url,
        model: "qwen3-embedding".into(),
        key: None,
        timeout: Duration::from_secs(5),
    }
}

fn ollama(path: &str, body: &Value, dimension: usize) -> Reply {
    match path {
        "/api/tags" => Reply::Json(
            200,
            json!({"models": [{"name": "qwen3-embedding:latest", "digest": "sha256:0123456789abcdef"}]}),
        ),
        "/api/embed" => {
            let texts = body["input"].as_array().unwrap();
            let vector = |text: &Value| {
                let length = text.as_str().unwrap().len() as f64;
                (0..dimension)
                    .map(|at| if at == 0 { length } else { 1.0 })
                    .collect::<Vec<_>>()
            };
            Reply::Json(
                200,
                json!({"embeddings": texts.iter().map(vector).collect::<Vec<_>>()}),
            )
        }
        _ => Reply::Json(404, json!({"error": "not found"})),
    }
}

#[test]
fn ollama_tells_dimension_and_digest_and_many_texts_keep_their_order() {
    let url = serve(Arc::new(|_, path, body| ollama(path, body, 5)));
    let model = RemoteModel::open(settings(Interface::Ollama, url)).unwrap();
    assert_eq!(
        model.name().to_string(),
        "ollama:qwen3-embedding@0123456789ab/5"
    );
    let texts: Vec<String> = (1..=70).map(|n| "x".repeat(n)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = model.embed(&texts, Purpose::Entry).unwrap();
    assert_eq!(vectors.len(), 70);
    assert!(
        vectors.windows(2).all(|pair| pair[0][0] < pair[1][0]),
        "longer texts come later"
    );
}

#[test]
fn a_model_that_is_not_pulled_is_named_with_the_command() {
    let url = serve(Arc::new(|_, _, _| Reply::Json(200, json!({"models": []}))));
    let error = RemoteModel::open(settings(Interface::Ollama, url)).unwrap_err();
    assert!(
        error.to_string().contains("ollama pull qwen3-embedding"),
        "{error}"
    );
}

#[test]
fn an_openai_endpoint_gets_the_key_and_gives_vectors() {
    let url = serve(Arc::new(|_, path, body| {
        assert_eq!(path, "/v1/embeddings");
        let count = body["input"].as_array().unwrap().len();
        let data: Vec<Value> = (0..count)
            .map(|n| json!({"index": n, "embedding": [3.0, 4.0]}))
            .collect();
        Reply::Json(200, json!({"data": data}))
    }));
    let model = RemoteModel::open(RemoteSettings {
        key: Some("secret".into()),
        ..settings(Interface::OpenAi, format!("{url}/v1"))
    })
    .unwrap();
    assert_eq!(model.embed(&["a"], Purpose::Query).unwrap(), [[0.6, 0.8]]);
}

#[test]
fn another_dimension_later_is_an_error_and_no_vector() {
    let url = serve(Arc::new(|nth, path, body| {
        ollama(path, body, if nth < 2 { 5 } else { 7 })
    }));
    let model = RemoteModel::open(settings(Interface::Ollama, url)).unwrap();
    let error = model.embed(&["text"], Purpose::Entry).unwrap_err();
    assert_eq!(
        error,
        EmbedError::WrongShape {
            expected: 5,
            found: "7 dimensions".into()
        }
    );
}

#[test]
fn an_endpoint_that_trickles_is_given_up_in_time() {
    let url = serve(Arc::new(|_, _, _| Reply::Trickle));
    let slow = RemoteSettings {
        timeout: Duration::from_secs(1),
        ..settings(Interface::OpenAi, url)
    };
    assert_eq!(
        RemoteModel::open(slow).unwrap_err(),
        EmbedError::TooSlow { seconds: 1 }
    );
}

#[test]
fn failures_say_what_the_endpoint_said() {
    let url = serve(Arc::new(|_, _, _| {
        Reply::Json(500, json!({"error": "out of memory"}))
    }));
    let error = RemoteModel::open(settings(Interface::OpenAi, url)).unwrap_err();
    assert!(
        error.to_string().contains("status 500") && error.to_string().contains("out of memory"),
        "{error}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let down =
        RemoteModel::open(settings(Interface::OpenAi, format!("http://{address}"))).unwrap_err();
    assert!(matches!(down, EmbedError::Unreachable(_)), "{down}");
}
