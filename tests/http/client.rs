//! A client that sends what it is told to and shows what comes back.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::harness::{PATIENCE, TestHome, text};

/// Where a daemon serves HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    pub(crate) address: String,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The lines of the head, names in small letters.
    head: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What a browser has after a login.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

impl Http {
    pub(crate) fn of(home: &TestHome) -> Self {
        let url = home.json(&["status"])["http"].as_str().unwrap().to_owned();
        let address = url.strip_prefix("http://").unwrap().to_owned();
        Self { address }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request with these headers, and `Host` unless they have it.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || method == "POST" {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        let mut stream = self.connect();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        // A server that refuses does not read the body to its end.
        let _ = stream.write_all(body);
        Answer::read(&mut stream)
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, b"")
    }

    /// Calls an operation as a program does.
    pub(crate) fn call(&self, token: &str, operation: &str, params: &Value) -> Answer {
        let authorization = format!("Bearer {token}");
        let path = format!("/api/v1/ops/{operation}");
        let headers = [("authorization", authorization.as_str())];
        self.send("POST", &path, &headers, params.to_string().as_bytes())
    }

    /// Logs in as a page does, with a link that was just made.
    pub(crate) fn log_in(&self, home: &TestHome) -> Login {
        let answer = self.show_code(&login_code(home));
        assert_eq!(answer.status, 204, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let session = self.get("/api/v1/session", &[("cookie", &cookie)]);
        assert_eq!(session.status, 200, "{session:?}");
        let csrf = session.json()["csrf"].as_str().unwrap().to_owned();
        Login { cookie, csrf }
    }

    pub(crate) fn show_code(&self, code: &str) -> Answer {
        let body = serde_json::json!({"code": code}).to_string();
        let origin = self.origin();
        let headers = [
            ("origin", origin.as_str()),
            ("content-type", "application/json"),
        ];
        self.send("POST", "/api/v1/session", &headers, body.as_bytes())
    }
}

/// The code of a fresh login link.
pub(crate) fn login_code(home: &TestHome) -> String {
    let printed = home.mission(&["open", "--print"]);
    let link = text(&printed.stdout);
    let (page, code) = link.split_once("/login#").unwrap();
    assert_eq!(
        page,
        Http::of(home).origin().replace("0.0.0.0", "127.0.0.1")
    );
    code.to_owned()
}

/// A token of a program that may do all a token can, as `mission token create` prints it.
pub(crate) fn token(home: &TestHome, name: &str) -> String {
    let scopes = "read,work,terminals,manage";
    text(
        &home
            .mission(&["token", "create", name, "--scope", scopes])
            .stdout,
    )
}

impl Answer {
    pub(crate) fn read(stream: &mut TcpStream) -> Self {
        Self::read_after(b"", stream)
    }

    /// The answer of which this much was read already. The server closes after
    /// it, or its length is in the head and nothing else follows.
    pub(crate) fn read_after(begun: &[u8], stream: &mut TcpStream) -> Self {
        let mut bytes = begun.to_vec();
        let length = |name: &str| {
            let head = text(begun).to_ascii_lowercase();
            let line = head
                .lines()
                .find_map(|line| line.strip_prefix(name).map(str::to_owned));
            line.and_then(|value| value.trim().parse::<usize>().ok())
        };
        if let Some(length) = length("content-length:") {
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            bytes.extend(body);
            return Self::parse(&bytes);
        }
        // A connection that is closed with unread bytes is reset; what came
        // before that counts.
        let _ = stream.read_to_end(&mut bytes);
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {}", text(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let head: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut answer = Self {
            status: status.parse().unwrap(),
            head,
            body: bytes[end + 4..].to_vec(),
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunked(&answer.body);
        }
        answer
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&self.body)))
    }

    /// The code this was refused with.
    pub(crate) fn code(&self) -> String {
        let code = self.json()["error"]["code"].as_str().map(str::to_owned);
        code.unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
        if size == 0 {
            break;
        }
    }
    whole
}
