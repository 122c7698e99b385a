//! One connection of a client: one request, judged, and passed on or answered with the
//! sentence that says why not.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use missiond_guard::permissions::Effect;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::body::{BodyError, Buffered, Framing, pass};
use crate::dial::{DialError, dial};
use crate::head::{
    self, AnswerHead, Field, Length, MAX_ANSWER_HEAD, MAX_REQUEST_HEAD, RequestHead, Version,
};
use crate::judge::{Caller, Outcome, Report, Ruling, Target, Undecided};
use crate::proxy::Parts;
use crate::tunnel::{self, TunnelError};

/// Everything a connection needs to know of its door.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) parts: Arc<Parts>,
    pub(crate) caller: Arc<Caller>,
    /// What a client of a port has to show; a socket is protected by its file.
    pub(crate) token: Option<Arc<str>>,
}

/// An answer of our own.
struct Refusal {
    status: &'static str,
    said: String,
}

impl Refusal {
    fn new(status: &'static str, said: impl Into<String>) -> Self {
        Self {
            status,
            said: said.into(),
        }
    }
}

/// How a connection ended without an answer of its own.
enum Failure {
    Refused(Refusal),
    /// Something was answered already, or nobody listens.
    Over(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Over(error.to_string())
    }
}

pub(crate) async fn serve<S>(stream: S, context: Context)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (mut reads, mut writes) = tokio::io::split(stream);
    let ended = exchange(&mut reads, &mut writes, &context).await;
    let caller = &context.caller.name;
    match ended {
        Ok(()) => {}
        Err(Failure::Over(why)) => tracing::debug!(caller, why, "outgoing connection ended"),
        Err(Failure::Refused(refusal)) => {
            tracing::debug!(caller, why = refusal.said, "outgoing request refused");
            if answer_with(&mut writes, &refusal).await.is_ok() {
                drain(&mut reads, &context).await;
            }
        }
    }
    let _ = writes.shutdown().await;
}

async fn exchange<R, W>(reads: &mut R, writes: &mut W, context: &Context) -> Result<(), Failure>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let limits = context.parts.limits;
    let malformed = |error: head::BadHead| {
        let status = match error {
            head::BadHead::TooLong(_) => "431 Request Header Fields Too Large",
            _ => "400 Bad Request",
        };
        Failure::Refused(Refusal::new(status, error.to_string()))
    };
    let read = timeout(limits.head, read_head(reads, Vec::new(), MAX_REQUEST_HEAD)).await;
    let Ok(read) = read else {
        return Err(Failure::Refused(Refusal::new(
            "408 Request Timeout",
            "no request came",
        )));
    };
    let Some((head, rest)) = read?.map_err(malformed)? else {
        return Err(Failure::Over("nothing was asked".to_owned()));
    };
    let request = head::request(&head).map_err(malformed)?;
    if let Some(token) = &context.token
        && !shows(&request.fields, token)
    {
        let refusal = Refusal::new(
            "407 Proxy Authentication Required",
            "this way out belongs to another program",
        );
        return Err(Failure::Refused(refusal));
    }
    let target = Target {
        host: request.host.clone(),
        port: request.port,
        request: request
            .path
            .clone()
            .map(|path| (request.method.clone(), path)),
    };
    let upstream = connect(context, &target, &request).await?;
    match &request.path {
        None => {
            writes
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
            writes.flush().await?;
            let ended = tunnel::run(&target, reads, writes, rest, upstream, &limits).await;
            ended.map_err(|error| {
                if let TunnelError::Refused(why) = &error {
                    report(context, &target, Outcome::Denied, &[], why, None);
                }
                Failure::Over(error.to_string())
            })
        }
        Some(path) => forward(reads, writes, context, &request, path, rest, upstream).await,
    }
}

/// Asks the judge, resolves, asks again, connects, and reports what came of it.
async fn connect(
    context: &Context,
    target: &Target,
    request: &RequestHead,
) -> Result<TcpStream, Failure> {
    let Parts {
        judge,
        resolver,
        limits,
        ..
    } = context.parts.as_ref();
    let mut ruling = judge.target(&context.caller, target);
    if ruling.effect == Effect::Ask {
        let client = head::client(&request.fields);
        let asked = Undecided {
            caller: &context.caller,
            target,
            client: client.as_deref(),
        };
        ruling = judge.undecided(asked, ruling).await;
    }
    let refused = |ruling: &Ruling, outcome: Outcome| {
        report(
            context,
            target,
            outcome,
            &ruling.rules,
            &ruling.reason,
            None,
        );
        Err(Failure::Refused(refusal(
            target,
            outcome,
            &ruling.reason,
            ruling.change.as_deref(),
        )))
    };
    match ruling.effect {
        Effect::Allow => {}
        Effect::Ask => return refused(&ruling, Outcome::Asked),
        Effect::Deny => return refused(&ruling, Outcome::Denied),
    }
    if head::overrides_method(&request.fields) {
        let reason = "a field of the request says that its method is another one";
        report(
            context,
            target,
            Outcome::Denied,
            &ruling.rules,
            reason,
            None,
        );
        return Err(Failure::Refused(refusal(
            target,
            Outcome::Denied,
            reason,
            None,
        )));
    }
    let dialled = dial(
        judge.as_ref(),
        resolver.as_ref(),
        &context.caller,
        target,
        limits.connect,
    );
    match dialled.await {
        Ok((stream, address)) => {
            report(
                context,
                target,
                Outcome::Allowed,
                &ruling.rules,
                &ruling.reason,
                Some(address),
            );
            Ok(stream)
        }
        Err(DialError::Refused(reason)) => {
            report(
                context,
                target,
                Outcome::Denied,
                &ruling.rules,
                &reason,
                None,
            );
            let change = "a rule of [[network]] in policy.toml that names the address itself \
                 opens an address of your own network";
            Err(Failure::Refused(refusal(
                target,
                Outcome::Denied,
                &reason,
                Some(change),
            )))
        }
        Err(error) => {
            // It was allowed, and that is what is on record.
            report(
                context,
                target,
                Outcome::Allowed,
                &ruling.rules,
                &ruling.reason,
                None,
            );
            let status = match error {
                DialError::Silent(_) => "504 Gateway Timeout",
                _ => "502 Bad Gateway",
            };
            Err(Failure::Refused(Refusal::new(status, error.to_string())))
        }
    }
}

fn report(
    context: &Context,
    target: &Target,
    outcome: Outcome,
    rules: &[String],
    reason: &str,
    address: Option<std::net::IpAddr>,
) {
    context.parts.judge.report(Report {
        caller: Caller::clone(&context.caller),
        target: target.clone(),
        outcome,
        rules: rules.to_vec(),
        reason: reason.to_owned(),
        address,
    });
}

fn refusal(target: &Target, outcome: Outcome, reason: &str, change: Option<&str>) -> Refusal {
    let what = match outcome {
        Outcome::Asked => "not allowed yet",
        _ => "denied",
    };
    let mut said = format!("{}:{} is {what}: {reason}", target.host, target.port);
    if let Some(change) = change {
        said.push_str(&format!("\nWhat would change it: {change}"));
    }
    Refusal::new("403 Forbidden", said)
}

/// Reads to the end of a head: the head, and what came behind it. None where nothing came.
async fn read_head<R: AsyncRead + Unpin>(
    reads: &mut R,
    mut bytes: Vec<u8>,
    most: usize,
) -> io::Result<Result<Option<(Vec<u8>, Vec<u8>)>, head::BadHead>> {
    loop {
        match head::end_of_head(&bytes, most) {
            Ok(Some(end)) => {
                let rest = bytes.split_off(end);
                return Ok(Ok(Some((bytes, rest))));
            }
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
        let mut more = vec![0; 4096];
        match reads.read(&mut more).await? {
            0 if bytes.is_empty() => return Ok(Ok(None)),
            0 => return Ok(Err(head::BadHead::Malformed("the head has no end"))),
            read => bytes.extend_from_slice(&more[..read]),
        }
    }
}

/// Whether a client shows what it has to, by Basic with any name, or by Bearer.
fn shows(fields: &[Field], token: &str) -> bool {
    let mut given = fields
        .iter()
        .filter(|field| field.name == "proxy-authorization");
    let (Some(field), None) = (given.next(), given.next()) else {
        return false;
    };
    let text = String::from_utf8_lossy(&field.value);
    let Some((scheme, value)) = text.split_once(' ') else {
        return false;
    };
    let shown = if scheme.eq_ignore_ascii_case("bearer") {
        value.as_bytes().to_vec()
    } else if scheme.eq_ignore_ascii_case("basic") {
        let decoded = STANDARD.decode(value.trim()).unwrap_or_default();
        let colon = decoded.iter().position(|byte| *byte == b':');
        colon
            .map(|at| decoded[at + 1..].to_vec())
            .unwrap_or_default()
    } else {
        return false;
    };
    // Digests are compared, so that the time says nothing of the token.
    Sha256::digest(shown) == Sha256::digest(token.as_bytes())
}

async fn forward<R, W>(
    reads: &mut R,
    writes: &mut W,
    context: &Context,
    request: &RequestHead,
    path: &str,
    rest: Vec<u8>,
    upstream: TcpStream,
) -> Result<(), Failure>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let limits = context.parts.limits;
    let (mut host_reads, mut host_writes) = upstream.into_split();
    host_writes.write_all(&request_bytes(request, path)).await?;
    if request.expects_continue {
        writes.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        writes.flush().await?;
    }
    let framing = framing_of(request.length);
    let mut body = Buffered::new(reads, rest, limits.idle);
    let sent = pass(
        &mut body,
        &mut host_writes,
        request.length,
        framing,
        limits.request_bytes,
    );
    match sent.await {
        Ok(_) => {}
        Err(error @ BodyError::TooLong(_)) => {
            let refusal = Refusal::new("413 Content Too Large", error.to_string());
            return Err(Failure::Refused(refusal));
        }
        Err(error @ BodyError::Malformed(_)) => {
            return Err(Failure::Refused(Refusal::new(
                "400 Bad Request",
                error.to_string(),
            )));
        }
        Err(error) => return Err(Failure::Over(error.to_string())),
    }
    let broken = |why: String| {
        Failure::Refused(Refusal::new(
            "502 Bad Gateway",
            format!("the host's answer is refused: {why}"),
        ))
    };
    let mut rest = Vec::new();
    let answer = loop {
        let read = timeout(
            limits.idle,
            read_head(&mut host_reads, rest, MAX_ANSWER_HEAD),
        )
        .await;
        let Ok(read) = read else {
            return Err(Failure::Refused(Refusal::new(
                "504 Gateway Timeout",
                "the host did not answer",
            )));
        };
        let Some((head, after)) = read?.map_err(|error| broken(error.to_string()))? else {
            return Err(broken("it has none".to_owned()));
        };
        let answer =
            head::answer(&head, &request.method).map_err(|error| broken(error.to_string()))?;
        rest = after;
        match answer.status {
            101 => return Err(broken("it leaves HTTP, which a tunnel is for".to_owned())),
            100..=199 => {}
            _ => break answer,
        }
    };
    let framing = match answer.length {
        Length::Chunked if request.version == Version::Http11 => Framing::Chunked,
        _ => Framing::Plain,
    };
    writes.write_all(&answer_bytes(&answer, framing)).await?;
    let mut body = Buffered::new(host_reads, rest, limits.idle);
    let passed = pass(
        &mut body,
        writes,
        answer.length,
        framing,
        limits.answer_bytes,
    )
    .await;
    // The client sees that it is cut short: neither its length nor its last chunk comes.
    passed
        .map(drop)
        .map_err(|error| Failure::Over(error.to_string()))
}

const fn framing_of(length: Length) -> Framing {
    match length {
        Length::Chunked => Framing::Chunked,
        _ => Framing::Plain,
    }
}

fn request_bytes(request: &RequestHead, path: &str) -> Vec<u8> {
    let host = match request.port {
        80 => request.host.to_string(),
        port => format!("{}:{port}", request.host),
    };
    let mut bytes = format!("{} {path} HTTP/1.1\r\nhost: {host}\r\n", request.method).into_bytes();
    let fields = head::passed_on(&request.fields);
    put_fields(
        &mut bytes,
        fields.filter(|field| !matches!(field.name.as_str(), "host" | "expect")),
    );
    put_end(&mut bytes, request.length, framing_of(request.length));
    bytes
}

fn answer_bytes(answer: &AnswerHead, framing: Framing) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {} {}\r\n", answer.status, answer.reason).into_bytes();
    put_fields(&mut bytes, head::passed_on(&answer.fields));
    put_end(&mut bytes, answer.length, framing);
    bytes
}

fn put_fields<'f>(bytes: &mut Vec<u8>, fields: impl Iterator<Item = &'f Field>) {
    for field in fields {
        bytes.extend_from_slice(field.name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(&field.value);
        bytes.extend_from_slice(b"\r\n");
    }
}

fn put_end(bytes: &mut Vec<u8>, length: Length, framing: Framing) {
    if let Length::Bytes(length) = length {
        bytes.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
    }
    if framing == Framing::Chunked {
        bytes.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    bytes.extend_from_slice(b"connection: close\r\n\r\n");
}

async fn answer_with<W: AsyncWrite + Unpin>(writes: &mut W, refusal: &Refusal) -> io::Result<()> {
    let body = format!("missiond: {}\n", refusal.said);
    let plain: String = refusal
        .said
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() && c != '"' && c != '\\' {
                c
            } else {
                ' '
            }
        })
        .take(400)
        .collect();
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         proxy-status: missiond; details=\"{plain}\"\r\nconnection: close\r\n{}\r\n",
        refusal.status,
        body.len(),
        if refusal.status.starts_with("407") {
            "proxy-authenticate: Basic realm=\"missiond\"\r\n"
        } else {
            ""
        },
    );
    writes.write_all(head.as_bytes()).await?;
    writes.write_all(body.as_bytes()).await?;
    writes.flush().await?;
    writes.shutdown().await
}

/// Takes what a client is still sending, so that it reads the answer instead of an error.
async fn drain<R: AsyncRead + Unpin>(reads: &mut R, context: &Context) {
    let read = async {
        let mut nothing = vec![0; 8192];
        let mut left = 64;
        while left > 0 && matches!(reads.read(&mut nothing).await, Ok(1..)) {
            left -= 1;
        }
    };
    let _ = timeout(context.parts.limits.drain, read).await;
}
