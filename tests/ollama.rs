//! An embedding endpoint of the tests' own: an Ollama, and below `/v1` what other
//! endpoints speak, for whoever shows the key.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
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

    /// What a home is told that is to reach it as others are reached.
    pub(crate) fn openai_config(&self, key_file: &Path) -> String {
        format!(
            "[knowledge]\nembedding = \"openai\"\nmodel = \"m\"\nurl = \"{}/v1\"\n\
             api_key_file = \"{}\"\n",
            self.url,
            key_file.display()
        )
    }

    /// What a home is told that is to find one there.
    pub(crate) fn config_of(url: &str) -> String {
        format!("[knowledge]\nembedding = \"ollama\"\nmodel = \"m\"\nurl = \"{url}\"\n")
    }
}

/// What has to be shown below `/v1`.
pub(crate) const KEY: &str = "sk-of-the-tests-0123456789";

fn answer(mut stream: TcpStream, dimension: usize, pause: Duration, embedded: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).unwrap();
    let wants_tags = line.contains("/api/tags");
    let as_others_do = line.contains("/v1/embeddings");
    let mut shown = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => {
                let key = value.trim().strip_prefix("Bearer ");
                key.unwrap_or_default().clone_into(&mut shown);
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut status = "200 OK";
    let value = if wants_tags {
        json!({"models": [{"name": "m:latest", "digest": format!("sha256:{dimension:012}")}]})
    } else if as_others_do && shown != KEY {
        status = "401 Unauthorized";
        json!({"error": {"message": "this key is not known"}})
    } else {
        std::thread::sleep(pause);
        let texts = body["input"].as_array().unwrap();
        embedded.fetch_add(texts.len(), Ordering::SeqCst);
        let vectors = texts
            .iter()
            .map(|text| vector(text.as_str().unwrap(), dimension));
        if as_others_do {
            // Each says which text it is of, and may come in any order.
            let one = |(index, vector)| json!({"index": index, "embedding": vector});
            json!({"data": vectors.enumerate().map(one).rev().collect::<Vec<_>>()})
        } else {
            json!({"embeddings": vectors.collect::<Vec<_>>()})
        }
    };
    let text = value.to_string();
    let length = text.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
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
