//! A POST or GET of JSON over plain HTTP/1.1, with a limit on time and size.
//! Endpoints on this machine or behind a tunnel speak it; TLS is not built in,
//! and an https address is refused with that sentence.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use missiond_knowledge::EmbedError;
use serde_json::Value;

/// A base address: `http://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    host: String,
    port: u16,
    path: String,
}

/// The largest answer: a batch of vectors of a large model, written as text.
const LARGEST_ANSWER: u64 = 64 << 20;

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Self, EmbedError> {
        let refused = |why: &str| EmbedError::Refused(format!("`{url}` {why}"));
        if url.starts_with("https://") {
            return Err(refused(
                "needs TLS, which is not built in: use a local endpoint or a tunnel",
            ));
        }
        let rest = url
            .strip_prefix("http://")
            .ok_or_else(|| refused("is no address: it should begin with http://"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (
                host,
                port.parse()
                    .map_err(|_| refused("has no port that is a number"))?,
            ),
            _ => (authority, 80),
        };
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '@';
        if host.is_empty() || host.contains(bad) || path.contains(bad) {
            return Err(refused("is no address"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            path: format!("/{}", path.trim_end_matches('/'))
                .trim_end_matches('/')
                .to_owned(),
        })
    }

    /// Asks and waits for the answer, at most `limit` for all of it.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, EmbedError> {
        let deadline = Deadline::after(limit);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => EmbedError::TooSlow {
                seconds: limit.as_secs(),
            },
            _ => EmbedError::Unreachable(format!("{}:{}: {error}", self.host, self.port)),
        };
        let mut stream = self.connect(&deadline).map_err(failed)?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let authorization = key
            .map(|key| format!("Authorization: Bearer {key}\r\n"))
            .unwrap_or_default();
        let head = format!(
            "{method} {}{path} HTTP/1.1\r\nHost: {}:{}\r\n{authorization}Accept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.host,
            self.port,
            body.len()
        );
        stream
            .set_write_timeout(Some(deadline.left().map_err(failed)?))
            .map_err(failed)?;
        stream.write_all(head.as_bytes()).map_err(failed)?;
        stream.write_all(body.as_bytes()).map_err(failed)?;
        let (status, answer) = read_answer(Timed { stream, deadline }).map_err(failed)?;
        let text = String::from_utf8_lossy(&answer);
        if !(200..300).contains(&status) {
            let shown: String = text.chars().take(200).collect();
            return Err(EmbedError::Refused(format!(
                "status {status}: {}",
                shown.trim()
            )));
        }
        serde_json::from_str(&text)
            .map_err(|error| EmbedError::Refused(format!("the answer is no JSON: {error}")))
    }

    fn connect(&self, deadline: &Deadline) -> io::Result<TcpStream> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, deadline.left()?) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

#[derive(Debug, Clone, Copy)]
struct Deadline(Instant);

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }
}

/// A stream whose reads end with the deadline, however small the pieces are
/// that trickle in.
struct Timed {
    stream: TcpStream,
    deadline: Deadline,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.deadline.left()?))?;
        self.stream.read(buffer)
    }
}

fn read_answer(stream: impl Read) -> io::Result<(u16, Vec<u8>)> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut reader = BufReader::new(stream.take(LARGEST_ANSWER));
    let status = read_line(&mut reader)?;
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| broken("the answer is no HTTP"))?;
    let (mut length, mut chunked) = (None, false);
    loop {
        let line = read_line(&mut reader)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<u64>().ok(),
            "transfer-encoding" => chunked = value.to_ascii_lowercase().contains("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        loop {
            let line = read_line(&mut reader)?;
            let size = line.split(';').next().unwrap_or("").trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| broken("a chunk has no size"))?;
            if size == 0 {
                break;
            }
            if (&mut reader).take(size).read_to_end(&mut body)? as u64 != size {
                return Err(broken("the answer ends in the middle of a chunk"));
            }
            read_line(&mut reader)?;
        }
    } else if let Some(length) = length {
        if (&mut reader).take(length).read_to_end(&mut body)? as u64 != length {
            return Err(broken("the answer ends before its length"));
        }
    } else {
        reader.read_to_end(&mut body)?;
    }
    Ok((status, body))
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.take(16 * 1024).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        let local = Endpoint::parse("http://127.0.0.1:11434/").unwrap();
        assert_eq!(
            (local.host.as_str(), local.port, local.path.as_str()),
            ("127.0.0.1", 11434, "")
        );
        assert_eq!(Endpoint::parse("http://box/v1").unwrap().path, "/v1");
        assert_eq!(Endpoint::parse("http://[::1]:80").unwrap().host, "[::1]");
        for bad in [
            "https://api.example.com",
            "ftp://x",
            "http://",
            "http://a b",
            "http://h:port",
        ] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn chunks_are_put_together() {
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
        assert_eq!(
            read_answer(&answer[..]).unwrap(),
            (200, b"{\"a\":1}".to_vec())
        );
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}";
        assert!(read_answer(&cut[..]).is_err());
        assert!(read_answer(&b"nonsense"[..]).is_err());
    }
}
