//! Servers as they are met: honest, slow, endless, cut short and not trusted.
//! Each is a real one on a socket of this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::*;
use hyper::Method;
use hyper::header::{AUTHORIZATION, LOCATION};

const LIMITS: Limits = Limits {
    total: Duration::from_secs(20),
    body: 1000,
};

/// Reads one request to the end of its head and body.
fn read_request(stream: impl Read) -> String {
    let mut reader = BufReader::new(stream);
    let mut asked = String::new();
    // Whoever does not trust us says so instead of asking.
    while reader.read_line(&mut asked).is_ok_and(|count| count > 2) {}
    let length = asked.to_ascii_lowercase();
    let length = length
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next()?.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    asked + &String::from_utf8_lossy(&body)
}

/// Does something with the first connection; what was asked on it.
fn serve(with: impl FnOnce(TcpStream) -> String + Send + 'static) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || with(listener.accept().unwrap().0));
    (address.to_string(), serving)
}

fn answering(answer: &'static [u8]) -> (String, JoinHandle<String>) {
    serve(move |mut stream| {
        let asked = read_request(&stream);
        let _ = stream.write_all(answer);
        asked
    })
}

fn post(address: &str, body: &'static str) -> Request {
    request(
        Method::POST,
        format!("http://{address}/path?x=1").parse().unwrap(),
    )
    .header(AUTHORIZATION, "Bearer the-key")
    .body(Full::from(body))
    .unwrap()
}

/// Without a runtime, as a thread would.
fn fetch(address: &str) -> Result<Answer, HttpError> {
    HttpClient::new(Connections::Closed).fetch_blocking(post(address, "{}"), LIMITS)
}

#[test]
fn an_exchange_gives_status_headers_and_body() {
    let (address, serving) = answering(
        b"HTTP/1.1 201 Made\r\nX-Kind: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
    );
    let answer = fetch(&address).unwrap();
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.headers["x-kind"], "a");
    assert_eq!(answer.body, b"{\"a\":1}");
    let asked = serving.join().unwrap();
    assert!(asked.starts_with("POST /path?x=1 HTTP/1.1\r\n"), "{asked}");
    let host = format!("host: {address}\r\n");
    assert!(
        asked.contains(&host) && asked.ends_with("\r\n\r\n{}"),
        "{asked}"
    );
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    for broken in [
        &b"nonsense"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
        b"",
    ] {
        let (address, serving) = answering(broken);
        let error = fetch(&address).unwrap_err();
        assert!(matches!(error, HttpError::Broken(_)), "{error:?}");
        serving.join().unwrap();
    }
}

#[test]
fn a_large_answer_is_refused_when_it_says_so_and_when_it_does_not() {
    let too_large = Err(HttpError::TooLarge { limit: 1000 });
    // It says more than it could ever send, and sends nothing.
    let (address, _) = serve(|mut stream| {
        let asked = read_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n");
        let _ = stream.read(&mut [0]);
        asked
    });
    assert_eq!(fetch(&address).map(|answer| answer.body), too_large);
    let (address, _) = serve(|mut stream| {
        let asked = read_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 100]).is_ok() {}
        asked
    });
    assert_eq!(fetch(&address).map(|answer| answer.body), too_large);
}

#[test]
fn an_answer_that_trickles_is_given_up_in_time() {
    let (address, serving) = serve(|mut stream| {
        let asked = read_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n");
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        asked
    });
    let limits = Limits {
        total: Duration::from_millis(300),
        ..LIMITS
    };
    let began = Instant::now();
    let client = HttpClient::new(Connections::Closed);
    let error = client
        .fetch_blocking(post(&address, ""), limits)
        .unwrap_err();
    assert_eq!(error, HttpError::Timeout(limits.total));
    assert!(began.elapsed() < LIMITS.total);
    serving.join().unwrap();
}

#[test]
fn a_redirection_is_an_answer_and_is_not_followed() {
    let (address, serving) =
        answering(b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    let answer = fetch(&address).unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(answer.headers[LOCATION], "http://127.0.0.1:1/");
    serving.join().unwrap();
}

#[test]
fn who_is_not_there_was_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = fetch(&address).unwrap_err();
    assert!(matches!(error, HttpError::Unreachable(_)), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn a_kept_connection_is_used_again() {
    let (address, serving) = serve(|mut stream| {
        let first = read_request(&stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        let second = read_request(&stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        first + &second
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = HttpClient::new(Connections::Kept);
    for body in ["one", "two"] {
        let answer = runtime.block_on(client.fetch(post(&address, body), LIMITS));
        assert_eq!(answer.unwrap().status, StatusCode::OK);
    }
    let asked = serving.join().unwrap();
    assert!(asked.contains("one") && asked.ends_with("two"), "{asked}");
}

/// Answers one request over TLS as `localhost`; what was asked, and the
/// certificate.
fn serve_tls() -> (String, JoinHandle<String>, Trust) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let certificate = certified.cert.der().clone();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    let (address, serving) = serve(move |stream| {
        let session = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = rustls::StreamOwned::new(session, stream);
        let asked = read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}");
        asked
    });
    (address, serving, Trust::Only(vec![certificate]))
}

fn fetch_tls(address: &str, trust: Trust) -> Result<Answer, HttpError> {
    let port = address.rsplit(':').next().unwrap();
    let mut request = post(address, "");
    *request.uri_mut() = format!("https://localhost:{port}/v1").parse().unwrap();
    HttpClient::trusting(trust, Connections::Closed).fetch_blocking(request, LIMITS)
}

#[test]
fn a_secret_is_sent_to_whom_the_certificates_know_and_to_nobody_else() {
    let (address, serving, trust) = serve_tls();
    assert_eq!(fetch_tls(&address, trust).unwrap().body, b"{\"a\": 1}");
    let asked = serving.join().unwrap();
    assert!(asked.starts_with("POST /v1 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("Bearer the-key"), "{asked}");

    let (address, serving, _) = serve_tls();
    let error = fetch_tls(&address, Trust::Only(Vec::new())).unwrap_err();
    assert!(matches!(error, HttpError::Unreachable(_)), "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(!serving.join().unwrap().contains("the-key"));
}
