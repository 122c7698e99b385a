//! The way out over real sockets on this machine. That loopback counts as a host of
//! everybody is a judge's doing, as every other decision is.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_egress::{
    Caller, CallerKind, Egress, Judge, Limits, Outcome, Parts, Report, Resolve, Ruling, Target,
};
use missiond_guard::policy::{Outbound, Policies, PolicySource, read};
use missiond_runtime::Supervisor;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;

#[derive(Debug)]
struct TestJudge {
    policies: Policies,
    public: Vec<IpAddr>,
    reports: Mutex<Vec<Report>>,
}

impl Judge for TestJudge {
    fn target(&self, _: &Caller, target: &Target) -> Ruling {
        let request = target.request.as_ref();
        let decided = self.policies.outbound(&Outbound {
            host: &target.host,
            port: target.port,
            request: request.map(|(method, path)| (method.as_str(), path.as_str())),
        });
        Ruling {
            effect: decided.effect,
            rules: decided.rules,
            reason: decided.reason,
            change: decided.change,
        }
    }

    fn address(&self, _: &Caller, target: &Target, address: IpAddr) -> Result<(), String> {
        if self.public.contains(&address) {
            return Ok(());
        }
        self.policies.address(&target.host, target.port, address)
    }

    fn report(&self, report: Report) {
        self.reports.lock().push(report);
    }
}

/// Names and what they are the first time, the second time and so on.
#[derive(Debug, Default)]
struct TestResolver {
    names: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: Mutex<HashMap<String, usize>>,
}

impl Resolve for TestResolver {
    fn resolve<'a>(&'a self, name: &'a str, _: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let time = {
            let mut asked = self.asked.lock();
            let count = asked.entry(name.to_owned()).or_default();
            *count += 1;
            *count - 1
        };
        let answers = self.names.get(name);
        let found = answers.and_then(|answers| answers.get(time.min(answers.len() - 1)));
        let found = found.cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        Box::pin(async move { found })
    }
}

struct World {
    egress: Egress,
    judge: Arc<TestJudge>,
    resolver: Arc<TestResolver>,
    socket: PathBuf,
    folder: tempfile::TempDir,
}

const LOOPBACK: &str = "127.0.0.1";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn caller(name: &str) -> Caller {
    Caller {
        kind: CallerKind::Execution,
        name: name.to_owned(),
        task: None,
        folder: PathBuf::from("/"),
    }
}

fn world(policy: &str, public: &[&str], limits: Limits) -> World {
    let judge = Arc::new(TestJudge {
        policies: Policies {
            person: Some(read(PolicySource::Person, policy).unwrap().into()),
            ..Policies::default()
        },
        public: public.iter().map(|address| ip(address)).collect(),
        reports: Mutex::default(),
    });
    let names = [
        ("good.example", vec![vec![ip(LOOPBACK)]]),
        ("evil.test", vec![vec![ip(LOOPBACK)]]),
        ("odd.example", vec![vec![ip(LOOPBACK)]]),
        ("api.example", vec![vec![ip(LOOPBACK)]]),
        ("inside.example", vec![vec![ip("10.0.0.7")]]),
        ("mapped.example", vec![vec![ip("::ffff:127.0.0.1")]]),
        ("cloud.example", vec![vec![ip("169.254.169.254")]]),
        ("nat64.example", vec![vec![ip("64:ff9b::a9fe:a9fe")]]),
        (
            "mixed.example",
            vec![vec![ip("93.184.216.34"), ip("192.168.0.1")]],
        ),
        (
            "rebinds.example",
            vec![vec![ip(LOOPBACK)], vec![ip("127.0.0.2")]],
        ),
    ];
    let resolver = Arc::new(TestResolver {
        names: names.into_iter().collect(),
        ..TestResolver::default()
    });
    let folder = tempfile::tempdir().unwrap();
    let egress = Egress::new(Parts {
        folder: folder.path().join("egress"),
        judge: Arc::clone(&judge) as _,
        resolver: Arc::clone(&resolver) as _,
        limits,
        supervisor: Supervisor::standalone(),
    });
    let socket = egress.open(&caller("one")).unwrap();
    World {
        egress,
        judge,
        resolver,
        socket,
        folder,
    }
}

const POLICY: &str = r#"
[[network]]
allow = ["good.example", "api.example", "inside.example", "mapped.example", "cloud.example", "nat64.example", "mixed.example", "rebinds.example", "nowhere.example"]
deny = "evil.test"
because = "as a test"

[[network]]
ask = "odd.example"

[[rest]]
host = "api.example"
allow = "GET /open/**"
deny = "DELETE /**"
"#;

/// A host that answers every request with the same bytes, and what it was sent.
async fn host(answer: &'static [u8]) -> (u16, mpsc::UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let told = told.clone();
            tokio::spawn(async move {
                let mut all = Vec::new();
                let mut bytes = [0; 4096];
                loop {
                    let read = stream.read(&mut bytes).await.unwrap_or(0);
                    all.extend_from_slice(&bytes[..read]);
                    let text = String::from_utf8_lossy(&all).into_owned();
                    let (head, body) = text.split_once("\r\n\r\n").unwrap_or(("", ""));
                    let wanted = head
                        .lines()
                        .find_map(|line| line.strip_prefix("content-length: "))
                        .map_or(0, |length| length.parse().unwrap());
                    let chunked = head.contains("transfer-encoding: chunked");
                    let whole = !head.is_empty()
                        && if chunked {
                            body.ends_with("0\r\n\r\n")
                        } else {
                            body.len() >= wanted
                        };
                    if whole || read == 0 {
                        break;
                    }
                }
                let _ = told.send(all);
                let _ = stream.write_all(answer).await;
            });
        }
    });
    (port, seen)
}

/// What comes back, to its end.
async fn ask(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(host: &str, port: u16, path: &str) -> String {
    format!("GET http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
}

/// The first message of TLS that asks for a name.
fn hello(name: &str) -> Vec<u8> {
    let short = |bytes: &[u8]| {
        let mut all = u16::try_from(bytes.len()).unwrap().to_be_bytes().to_vec();
        all.extend(bytes);
        all
    };
    let names = short(&[&[0][..], &short(name.as_bytes())].concat());
    let extensions = short(&[&[0, 0][..], &short(&names)].concat());
    let body = [
        &[3, 3][..],
        &[9; 32],
        &[0, 0, 2, 0x13, 1, 1, 0],
        &extensions,
    ]
    .concat();
    let message = [&[1, 0][..], &short(&body)].concat();
    [&[22, 3, 1][..], &short(&message)].concat()
}

async fn tunnel(socket: &Path, host: &str, port: u16) -> (UnixStream, String) {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap() == 0 {
            break;
        }
        answer.push(byte[0]);
    }
    (stream, String::from_utf8_lossy(&answer).into_owned())
}

async fn echo() -> SocketAddr {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut reads, mut writes) = stream.split();
                let _ = tokio::io::copy(&mut reads, &mut writes).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn a_tunnel_carries_bytes_to_the_host_it_was_opened_to() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let address = echo().await;
    let (mut stream, answer) = tunnel(&world.socket, "good.example", address.port()).await;
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\n");
    let sent = [hello("good.example"), b"and what follows".to_vec()].concat();
    stream.write_all(&sent).await.unwrap();
    let mut back = vec![0; sent.len()];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(back, sent);
    let reports = world.judge.reports.lock().clone();
    let [report] = reports.as_slice() else {
        panic!("{reports:?}")
    };
    assert_eq!(
        (
            report.outcome,
            report.address,
            report.rules.as_slice(),
            report.caller.name.as_str()
        ),
        (
            Outcome::Allowed,
            Some(ip(LOOPBACK)),
            &["policy.toml:3".to_owned()][..],
            "one"
        )
    );
    assert_eq!(
        report.target.line(),
        format!("CONNECT good.example:{}", address.port())
    );
    assert_eq!(report.target.digest().len(), 64);
}

#[tokio::test]
async fn tls_for_another_name_does_not_pass() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let address = echo().await;
    for name in ["evil.test", "good.example.evil.test", "127.0.0.1"] {
        let (mut stream, _) = tunnel(&world.socket, "good.example", address.port()).await;
        stream.write_all(&hello(name)).await.unwrap();
        let mut back = Vec::new();
        let _ = stream.read_to_end(&mut back).await;
        assert_eq!(back, b"", "{name}");
        let report = world.judge.reports.lock().last().unwrap().clone();
        assert_eq!(report.outcome, Outcome::Denied);
        assert!(
            report
                .reason
                .contains(&format!("TLS asks in it for {name}")),
            "{}",
            report.reason
        );
    }
}

#[tokio::test]
async fn what_is_denied_or_not_known_is_answered_with_the_sentence_of_the_rule() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let (port, mut seen) = host(b"HTTP/1.1 200 OK\r\n\r\nreached").await;
    for (request, said, outcome) in [
        (
            get("evil.test", port, "/"),
            "is denied: policy.toml:4: deny reaching evil.test (as a test)",
            Outcome::Denied,
        ),
        (
            get("odd.example", port, "/"),
            "is not allowed yet: policy.toml:8: ask reaching odd.example",
            Outcome::Asked,
        ),
        (
            get("other.test", port, "/"),
            "What would change it: put `allow = \"other.test",
            Outcome::Asked,
        ),
        (
            get("api.example", port, "/closed"),
            "no rule on requests to api.example allows GET /closed",
            Outcome::Asked,
        ),
        (
            get("api.example", port, "/open/../closed"),
            "no rule on requests to api.example allows GET /closed",
            Outcome::Asked,
        ),
        (
            get("api.example", port, "/%6fpen/x"),
            "no rule on requests",
            Outcome::Asked,
        ),
        (
            get("api.example", port, "//x").replace("GET", "DELETE"),
            "deny DELETE /** at api.example",
            Outcome::Denied,
        ),
        (
            get("api.example", port, "/open/x")
                .replace("\r\n\r\n", "\r\nX-HTTP-Method-Override: DELETE\r\n\r\n"),
            "says that its method is another one",
            Outcome::Denied,
        ),
        (
            format!("CONNECT evil.test:{port} HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n"),
            "deny reaching evil.test",
            Outcome::Denied,
        ),
        (
            format!("CONNECT api.example:{port} HTTP/1.1\r\nHost: api.example:{port}\r\n\r\n"),
            "within TLS no request is seen",
            Outcome::Asked,
        ),
    ] {
        let answer = ask(&world.socket, &request).await;
        assert!(
            answer.starts_with("HTTP/1.1 403 Forbidden\r\n"),
            "{request}: {answer}"
        );
        assert!(answer.contains(said), "{request}: {answer}");
        assert_eq!(
            world.judge.reports.lock().last().unwrap().outcome,
            outcome,
            "{request}"
        );
    }
    assert!(seen.try_recv().is_err(), "nothing reached the host");
}

#[tokio::test]
async fn a_plain_request_goes_on_clean_and_a_redirection_is_the_clients() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let (port, mut seen) = host(
        b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nConnection: X-Own\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nok",
    )
    .await;
    let request = format!(
        "POST http://good.example:{port}/a?b=c HTTP/1.1\r\nHost: good.example:{port}\r\nX-Keep: 1\r\nConnection: X-Drop\r\nX-Drop: 1\r\nProxy-Authorization: Basic x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody"
    );
    let answer = ask(&world.socket, &request).await;
    assert_eq!(
        answer,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nlocation: http://evil.test/\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"
    );
    let sent = String::from_utf8(seen.recv().await.unwrap()).unwrap();
    assert_eq!(
        sent,
        format!(
            "POST /a?b=c HTTP/1.1\r\nhost: good.example:{port}\r\nx-keep: 1\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody"
        )
    );
    assert_eq!(
        world.judge.reports.lock().len(),
        1,
        "the redirection was not followed"
    );
}

#[tokio::test]
async fn chunks_are_written_anew_and_a_second_request_behind_them_is_not_served() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let (port, mut seen) = host(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: 1\r\n\r\n",
    )
    .await;
    let request = format!(
        "POST http://good.example:{port}/ HTTP/1.1\r\nHost: good.example:{port}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n{}",
        get("good.example", port, "/second")
    );
    let answer = ask(&world.socket, &request).await;
    assert!(
        answer.ends_with(
            "transfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        ),
        "{answer}"
    );
    let sent = String::from_utf8(seen.recv().await.unwrap()).unwrap();
    assert!(sent.ends_with("\r\n\r\n2\r\nhi\r\n0\r\n\r\n"), "{sent}");
    assert!(seen.try_recv().is_err());
    assert_eq!(world.judge.reports.lock().len(), 1);
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_reaches_nobody() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let (port, mut seen) = host(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let plain = get("good.example", port, "/");
    for request in [
        plain.replace(
            "\r\n\r\n",
            "\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        ),
        plain.replace(
            "\r\n\r\n",
            "\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        ),
        plain.replace("\r\n\r\n", "\nX: y\r\n\r\n"),
        plain.replace("\r\n\r\n", "\r\nHost: evil.test\r\n\r\n"),
        plain.replace("Host: good.example", "Host: evil.test"),
        plain.replace("good.example", "2130706433"),
        plain.replace("good.example", "0x7f000001"),
        plain.replace("good.example", "0177.0.0.1"),
        plain.replace("http://", "https://"),
        plain.replace(" HTTP/1.1", " HTTP/1.1 HTTP/1.1"),
        "\u{16}\u{3}\u{1}\r\n\r\n".to_owned(),
    ] {
        let answer = ask(&world.socket, &request).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
            "{request:?}: {answer}"
        );
    }
    let long = plain.replace(
        "\r\n\r\n",
        &format!("\r\nX: {}\r\n\r\n", "y".repeat(20_000)),
    );
    let answer = ask(&world.socket, &long).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(seen.try_recv().is_err());
    assert!(world.judge.reports.lock().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_after_it_is_resolved() {
    let world = world(POLICY, &[], Limits::default());
    let (port, mut seen) = host(b"HTTP/1.1 200 OK\r\n\r\n").await;
    for (name, said) in [
        (
            "good.example",
            "good.example is 127.0.0.1, an address of this machine",
        ),
        (
            "inside.example",
            "inside.example is 10.0.0.7, an address of a private network",
        ),
        (
            "mapped.example",
            "mapped.example is 127.0.0.1, an address of this machine",
        ),
        (
            "cloud.example",
            "cloud.example is 169.254.169.254, where a cloud hands out credentials",
        ),
        ("nat64.example", "where a cloud hands out credentials"),
        (
            "mixed.example",
            "mixed.example is 192.168.0.1, an address of a private network",
        ),
    ] {
        for request in [
            get(name, port, "/"),
            format!("CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n"),
        ] {
            let answer = ask(&world.socket, &request).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{name}: {answer}");
            assert!(answer.contains(said), "{name}: {answer}");
        }
        assert_eq!(
            world.judge.reports.lock().last().unwrap().outcome,
            Outcome::Denied
        );
    }
    assert!(seen.try_recv().is_err());
    // By their addresses they are not even known.
    for literal in [
        "127.0.0.1",
        "10.0.0.7",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
    ] {
        let answer = ask(&world.socket, &get(literal, port, "/")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{literal}: {answer}");
    }
}

#[tokio::test]
async fn a_name_is_resolved_once_and_that_address_is_connected() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let (port, _seen) = host(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let answer = ask(&world.socket, &get("rebinds.example", port, "/")).await;
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    assert_eq!(world.resolver.asked.lock()["rebinds.example"], 1);
    // The second time it is another address, which is judged anew.
    let answer = ask(&world.socket, &get("rebinds.example", port, "/")).await;
    assert!(answer.contains("rebinds.example is 127.0.0.2"), "{answer}");
}

#[tokio::test]
async fn what_is_longer_than_its_limit_is_cut() {
    let limits = Limits {
        request_bytes: 10,
        answer_bytes: 10,
        tunnel_bytes: 600,
        ..Limits::default()
    };
    let world = world(POLICY, &[LOOPBACK], limits);
    let (port, _seen) = host(b"HTTP/1.1 200 OK\r\n\r\n01234567890123456789").await;
    let request = get("good.example", port, "/")
        .replace("\r\n\r\n", "\r\nContent-Length: 11\r\n\r\n01234567890");
    let answer = ask(&world.socket, &request.replace("GET", "POST")).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let answer = ask(&world.socket, &get("good.example", port, "/")).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && !answer.contains("01234567890"),
        "{answer}"
    );
    let address = echo().await;
    let (mut stream, _) = tunnel(&world.socket, "good.example", address.port()).await;
    let _ = stream
        .write_all(&[&hello("good.example")[..], &[7; 4096]].concat())
        .await;
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back).await;
    assert!(back.len() <= 600 + 4096, "{}", back.len());
}

#[tokio::test]
async fn every_caller_has_a_door_of_its_own_and_nothing_passes_a_closed_one() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.socket), 0o600);
    assert_eq!(mode(&world.folder.path().join("egress")), 0o700);
    let other = world.egress.open(&caller("other")).unwrap();
    assert_ne!(other, world.socket);
    assert_eq!(world.egress.open(&caller("one")).unwrap(), world.socket);
    let address = echo().await;
    let (mut stream, _) = tunnel(&other, "good.example", address.port()).await;
    assert_eq!(
        world.judge.reports.lock().last().unwrap().caller.name,
        "other"
    );
    world.egress.close(CallerKind::Execution, "other").await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(UnixStream::connect(&other).await.is_err());
    assert!(!other.exists());
    assert_eq!(world.egress.callers(), [caller("one")]);
    world.egress.close_all().await;
    assert!(!world.socket.exists());
}

#[tokio::test]
async fn a_port_wants_the_token_of_its_address() {
    let world = world(POLICY, &[LOOPBACK], Limits::default());
    let (port, _seen) = host(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let door = world.egress.open_port(&caller("port")).await.unwrap();
    let url = door.url().unwrap();
    let (token, address) = url
        .strip_prefix("http://mission:")
        .unwrap()
        .split_once('@')
        .unwrap();
    let send = |field: String| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            get("good.example", port, "/").replace("\r\n\r\n", &format!("{field}\r\n\r\n"));
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    };
    assert!(send(String::new()).await.starts_with("HTTP/1.1 407 "));
    assert!(
        send("\r\nProxy-Authorization: Bearer x".to_owned())
            .await
            .starts_with("HTTP/1.1 407 ")
    );
    let bearer = format!("\r\nProxy-Authorization: Bearer {token}");
    assert!(send(bearer).await.ends_with("\r\n\r\nok"));
    drop(door);
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_a_sentence() {
    let limits = Limits {
        connect: Duration::from_secs(5),
        ..Limits::default()
    };
    let world = world(POLICY, &[LOOPBACK], limits);
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let answer = ask(&world.socket, &get("good.example", port, "/")).await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("good.example cannot be reached"),
        "{answer}"
    );
    let answer = ask(&world.socket, &get("nowhere.example", port, "/")).await;
    assert!(
        answer.contains("nowhere.example cannot be resolved"),
        "{answer}"
    );
    let (port, _seen) =
        host(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok").await;
    let answer = ask(&world.socket, &get("good.example", port, "/")).await;
    assert!(
        answer.contains("502 Bad Gateway") && answer.contains("two ways"),
        "{answer}"
    );
}
