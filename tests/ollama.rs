//! An Ollama of the tests' own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// An Ollama of the test's own: vectors that depend on the words of a text.
pub(crate) struct Ollama {
    url: String,
    asked: Arc<AtomicUsize>,
    embedded: Arc<AtomicUsize>,
}

impl Ollama {
    /// Answers with vectors of this many dimensions; after `lies_after`
    /// requests with one more than it said.
    pub(crate) fn serve(dimension: usize, lies_after: usize, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::serve_on(listener, dimension, lies_after, pause)
    }

    pub(crate) fn serve_on(
        listener: TcpListener,
        dimension: usize,
        lies_after: usize,
        pause: Duration,
    ) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let embedded = Arc::new(AtomicUsize::new(0));
        let (count, texts) = (Arc::clone(&asked), Arc::clone(&embedded));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let nth = count.fetch_add(1, Ordering::SeqCst);
                let dimension = dimension + usize::from(nth >= lies_after);
                let texts = Arc::clone(&texts);
                std::thread::spawn(move || answer(stream, dimension, pause, &texts));
            }
        });
        Self {
            url,
            asked,
            embedded,
        }
    }

    /// How often it was asked for anything.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// How many texts it made vectors of.
    pub(crate) fn embedded(&self) -> usize {
        self.embedded.load(Ordering::SeqCst)
    }

    pub(crate) fn config(&self) -> String {
        Self::config_of(&self.url)
    }

    /// What a home is told that is to find one there.
    pub(crate) fn config_of(url: &str) -> String {
        format!("[knowledge]\nembedding = \"ollama\"\nmodel = \"m\"\nurl = \"{url}\"\n")
    }
}

fn answer(mut stream: TcpStream, dimension: usize, pause: Duration, embedded: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).unwrap();
    let wants_tags = line.contains("/api/tags");
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
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let value = if wants_tags {
        json!({"models": [{"name": "m:latest", "digest": format!("sha256:{dimension:012}")}]})
    } else {
        std::thread::sleep(pause);
        let texts = body["input"].as_array().unwrap();
        embedded.fetch_add(texts.len(), Ordering::SeqCst);
        json!({"embeddings": texts.iter().map(|text| vector(text.as_str().unwrap(), dimension)).collect::<Vec<_>>()})
    };
    let text = value.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
    let _ = stream.write_all(format!("{head}{text}").as_bytes());
}

/// "auto" and "car" mean the same here, and nothing else does.
fn vector(text: &str, dimension: usize) -> Vec<f64> {
    let mut vector = vec![0.1; dimension];
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let word = if word == "auto" { "car" } else { word };
        let place = word
            .bytes()
            .fold(0_usize, |sum, byte| sum * 31 + usize::from(byte))
            % dimension;
        vector[place] += 1.0;
    }
    vector
}
