//! A WebSocket client: one frame after the other, by hand.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::client::Answer;
use super::{Http, Login};
use crate::harness::PATIENCE;

pub(crate) struct Socket {
    stream: TcpStream,
}

/// What a server says.
#[derive(Debug)]
pub(crate) enum SocketMessage {
    Text(Value),
    Bytes(Vec<u8>),
    /// With its code, unless the connection just ended.
    Closed(Option<u16>),
}

impl Socket {
    /// Opens a socket, or gives the answer that refused it.
    pub(crate) fn try_open(
        http: &Http,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, Answer> {
        Self::attempt(http, path, headers).unwrap()
    }

    /// As [`Socket::try_open`], with a server that may go away meanwhile.
    pub(crate) fn attempt(
        http: &Http,
        path: &str,
        headers: &[(&str, &str)],
    ) -> std::io::Result<Result<Self, Answer>> {
        let mut head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            http.address
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(&http.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        let mut answered = Vec::new();
        while !answered.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            answered.push(byte[0]);
        }
        if answered.starts_with(b"HTTP/1.1 101 ") {
            return Ok(Ok(Self { stream }));
        }
        Ok(Err(Answer::read_after(&answered, &mut stream)))
    }

    /// Opens a socket as a program does.
    pub(crate) fn open(http: &Http, token: &str, path: &str) -> Self {
        let bearer = format!("Bearer {token}");
        Self::try_open(http, path, &[("authorization", &bearer)])
            .unwrap_or_else(|a| panic!("{a:?}"))
    }

    /// Opens a socket as a page does.
    pub(crate) fn open_as(http: &Http, login: &Login, path: &str) -> Self {
        let origin = http.origin();
        let headers = [("cookie", login.cookie.as_str()), ("origin", &origin)];
        Self::try_open(http, path, &headers).unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.frame(1, message.to_string().as_bytes());
    }

    fn frame(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match u16::try_from(payload.len()).unwrap() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 126);
                frame.extend(long.to_be_bytes());
            }
        }
        // A mask of zeros leaves the payload as it is.
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.write_all(&frame).unwrap();
    }

    /// The next thing said; pings are answered on the way.
    pub(crate) fn next(&mut self) -> SocketMessage {
        loop {
            let (opcode, payload) = match self.read_frame() {
                Ok(frame) => frame,
                Err(error) => {
                    let ended = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset];
                    assert!(ended.contains(&error.kind()), "{error}");
                    return SocketMessage::Closed(None);
                }
            };
            match opcode {
                1 => return SocketMessage::Text(serde_json::from_slice(&payload).unwrap()),
                2 => return SocketMessage::Bytes(payload),
                8 => {
                    let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                    return SocketMessage::Closed(code);
                }
                9 => self.frame(10, &payload),
                other => panic!("frame of kind {other}"),
            }
        }
    }

    /// The next text; anything else fails.
    pub(crate) fn text(&mut self) -> Value {
        match self.next() {
            SocketMessage::Text(value) => value,
            other => panic!("{other:?}"),
        }
    }

    /// Texts up to the first of this type, which is returned.
    pub(crate) fn text_of(&mut self, kind: &str) -> Value {
        loop {
            match self.next() {
                SocketMessage::Text(value) if value["type"] == kind => return value,
                SocketMessage::Text(_) | SocketMessage::Bytes(_) => {}
                SocketMessage::Closed(code) => panic!("closed with {code:?} before {kind}"),
            }
        }
    }

    fn read_frame(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        assert_eq!(head[0] & 0xf0, 0x80, "one whole frame a message");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length)?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length)?;
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload)?;
        Ok((head[0] & 0x0f, payload))
    }
}
