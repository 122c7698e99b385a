//! A POST or GET of JSON over HTTP/1.1, with a limit on time and size. What is
//! sent is what people remember, and perhaps a key: it leaves this machine only by
//! https, to whom the system's certificates know.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_knowledge::EmbedError;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

/// A base address: `http://host:port/path`, or with `https`.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    host: String,
    port: u16,
    path: String,
    tls: Option<Arc<ClientConfig>>,
}

/// The largest answer: a batch of vectors of a large model, written as text.
const LARGEST_ANSWER: u64 = 64 << 20;

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Self, EmbedError> {
        let refused = |why: &str| EmbedError::Refused(format!("`{url}` {why}"));
        let (rest, secure) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => {
                return Err(refused(
                    "is no address: it should begin with https://, or http:// on this machine",
                ));
            }
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (
                host,
                port.parse()
                    .map_err(|_| refused("has no port that is a number"))?,
            ),
            _ => (authority, if secure { 443 } else { 80 }),
        };
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '@';
        if host.is_empty() || host.contains(bad) || path.contains(bad) {
            return Err(refused("is no address"));
        }
        if !secure && !is_this_machine(host) {
            return Err(refused(
                "is not on this machine: what is remembered goes to others by https only; give an \
                 https address, or a tunnel that ends here",
            ));
        }
        Ok(Self {
            tls: secure.then(trusting_the_system).transpose()?,
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
        let plain = Timed {
            stream: self.connect(&deadline).map_err(failed)?,
            deadline,
        };
        let mut stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(plain),
            Some(config) => {
                let broken = |error: &dyn std::fmt::Display| {
                    EmbedError::Unreachable(format!("{}: {error}", self.host))
                };
                let name = ServerName::try_from(bare(&self.host).to_owned())
                    .map_err(|error| broken(&error))?;
                let session = ClientConnection::new(Arc::clone(config), name)
                    .map_err(|error| broken(&error))?;
                Box::new(StreamOwned::new(session, plain))
            }
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        let authorization = key
            .map(|key| format!("Authorization: Bearer {key}\r\n"))
            .unwrap_or_default();
        let head = format!(
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\n{authorization}Accept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.authority(),
            body.len()
        );
        stream.write_all(head.as_bytes()).map_err(failed)?;
        stream.write_all(body.as_bytes()).map_err(failed)?;
        stream.flush().map_err(failed)?;
        let (status, answer) = read_answer(stream).map_err(failed)?;
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

    /// Host and port, the latter where it is not the usual one.
    fn authority(&self) -> String {
        let usual = if self.tls.is_some() { 443 } else { 80 };
        match self.port == usual {
            true => self.host.clone(),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    fn connect(&self, deadline: &Deadline) -> io::Result<TcpStream> {
        let host = bare(&self.host);
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

/// What a request is written to and its answer read from.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

/// An address without the brackets of its number.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether an address is one of this machine.
pub(crate) fn is_on_this_machine(url: &str) -> bool {
    Endpoint::parse(url).is_ok_and(|endpoint| is_this_machine(&endpoint.host))
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback = |address: IpAddr| address.is_loopback();
    host == "localhost" || bare(host).parse().is_ok_and(is_loopback)
}

/// TLS with the certificates the system trusts, `SSL_CERT_FILE` included.
fn trusting_the_system() -> Result<Arc<ClientConfig>, EmbedError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(ToString::to_string);
        return Err(EmbedError::Unreachable(format!(
            "this system has no certificates to know others by: {}",
            why.as_deref().unwrap_or("none were found")
        )));
    }
    trusting(roots)
}

fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, EmbedError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| EmbedError::Unreachable(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
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

/// A stream whose reads and writes end with the deadline, however small the
/// pieces are that trickle through.
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

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.deadline.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
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
        assert_eq!(Endpoint::parse("http://localhost/v1").unwrap().path, "/v1");
        assert_eq!(Endpoint::parse("http://[::1]:80").unwrap().host, "[::1]");
        for bad in [
            "http://api.example.com",
            "http://192.168.0.7:11434",
            "http://localhost.example.com",
            "ftp://x",
            "http://",
            "http://a b",
            "http://h:port",
        ] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
    }

    /// A certificate for `localhost` with its key.
    fn certified() -> rcgen::CertifiedKey<rcgen::KeyPair> {
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
    }

    /// Answers one request over TLS and returns what was asked.
    fn serve_once(
        certified: &rcgen::CertifiedKey<rcgen::KeyPair>,
    ) -> (u16, std::thread::JoinHandle<String>) {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key =
            rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key.into())
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let session = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            let mut reader = BufReader::new(StreamOwned::new(session, stream));
            let mut asked = String::new();
            // Whoever does not trust us says so instead of asking.
            while reader.read_line(&mut asked).is_ok_and(|count| count > 2) {}
            let _ = reader
                .get_mut()
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}");
            asked
        });
        (port, serving)
    }

    #[test]
    fn an_https_endpoint_is_asked_when_its_certificate_is_trusted() {
        let certified = certified();
        let mut roots = RootCertStore::empty();
        roots.add(certified.cert.der().clone()).unwrap();
        let limit = Duration::from_secs(20);
        let ask = |config: Arc<ClientConfig>, port: u16| {
            let endpoint = Endpoint {
                host: "localhost".to_owned(),
                port,
                path: "/v1".to_owned(),
                tls: Some(config),
            };
            endpoint.ask("GET", "/embeddings", Some("the-key"), None, limit)
        };
        let (port, serving) = serve_once(&certified);
        let answer = ask(trusting(roots).unwrap(), port).unwrap();
        assert_eq!(answer, serde_json::json!({"a": 1}));
        let asked = serving.join().unwrap();
        assert!(asked.starts_with("GET /v1/embeddings HTTP/1.1"), "{asked}");
        assert!(asked.contains("Authorization: Bearer the-key"), "{asked}");

        let (port, serving) = serve_once(&certified);
        let stranger = trusting(RootCertStore::empty()).unwrap();
        let refused = ask(stranger, port).unwrap_err().to_string();
        assert!(refused.contains("certificate"), "{refused}");
        assert!(!serving.join().unwrap().contains("the-key"));
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
