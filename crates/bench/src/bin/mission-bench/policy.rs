//! How long a decision by policy takes, and what the way out adds to a request. A request
//! through the proxy and one without it take turns, over the same sockets of this machine;
//! each opens a connection of its own, as a client that is not kept waiting does.

use std::hint::black_box;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_console::failure::Failure;
use missiond_core::{CliEngine, ErrorCode, Timestamp};
use missiond_egress::{
    Caller, CallerKind, Egress, Judge, Limits, Report as Told, Ruling, SystemResolver, Target,
};
use missiond_guard::permissions::{Argument, PathBase, Request, Shown};
use missiond_guard::policy::{InForce, Outbound, Policies, PolicySource, read};
use missiond_runtime::Supervisor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::{Report, micros, millis, percentile};

const REQUESTS: usize = 400;

/// The starter policy and what a person may have beside it.
const POLICY: &str = r#"
starter = true
[[shell]]
allow = ["just *", "terraform validate*"]
deny = ["terraform destroy*", "git push --mirror*"]
[[files]]
deny = ["~/Documents/**", "/etc/**"]
[[network]]
allow = ["bench.example", "127.0.0.1", "10.0.0.0/8", "*.example.com:443"]
deny = ["*.evil.test"]
[[rest]]
host = "api.example.com"
allow = "GET /repos/**"
deny = "DELETE /**"
"#;

pub(super) fn run(report: &mut Report, decisions: usize) -> Result<(), Failure> {
    let policies = policies()?;
    decide(report, &policies, decisions);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(through_the_proxy(report, policies))
}

fn policies() -> Result<Policies, Failure> {
    let policy = read(PolicySource::Person, POLICY).map_err(|problems| {
        let said = problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        Failure::new(ErrorCode::Internal, said.join("; "))
    })?;
    Ok(Policies {
        person: Some(Arc::new(policy)),
        ..Policies::default()
    })
}

/// In turns: commands, files, pages and connections, each with a policy that is read.
fn decide(report: &mut Report, policies: &Policies, decisions: usize) {
    let in_force = InForce::new(Vec::new(), policies.clone(), Timestamp::from_micros(0));
    let request = |tool: &str| Request {
        tool: Some(tool.to_owned()),
        shown: Shown::Exact,
        base: PathBase {
            folder: "/home/me/app".to_owned(),
            home: Some("/home/me".to_owned()),
        },
        ..Request::from_engine(CliEngine::Claude)
    };
    let command = |text: &str| Request {
        argument: Some(Argument::Command(text.to_owned())),
        ..request("Bash")
    };
    let asked = [
        command("cargo test --workspace"),
        command("git push origin main"),
        command("curl -sS https://api.example.com/repos/x"),
        Request {
            paths: vec!["/home/me/app/src/lib.rs".to_owned()],
            ..request("Write")
        },
        Request {
            argument: Some(Argument::Text("https://docs.rs/toml".to_owned())),
            ..request("WebFetch")
        },
    ];
    let mut times: Vec<Duration> = (0..decisions)
        .map(|number| {
            let one = &asked[number % asked.len()];
            let began = Instant::now();
            black_box(in_force.decide(black_box(one)));
            began.elapsed()
        })
        .collect();
    report.condition("policy_rules", policies.rules().count());
    report.condition("policy_requests", "commands, a file and a page, in turns");
    report.metric("policy_decide_p50_us", micros(percentile(&mut times, 0.5)));
    report.metric("policy_decide_p99_us", micros(percentile(&mut times, 0.99)));
}

#[derive(Debug)]
struct BenchJudge(Policies);

impl Judge for BenchJudge {
    fn target(&self, _: &Caller, target: &Target) -> Ruling {
        let request = target.request.as_ref();
        let decided = self.0.outbound(&Outbound {
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
        self.0.address(&target.host, target.port, address)
    }

    fn report(&self, told: Told) {
        black_box(told);
    }
}

async fn through_the_proxy(report: &mut Report, policies: Policies) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let egress = Egress::new(missiond_egress::Parts {
        folder: folder.path().join("egress"),
        judge: Arc::new(BenchJudge(policies)),
        resolver: Arc::new(SystemResolver),
        limits: Limits::default(),
        supervisor: Supervisor::standalone(),
    });
    let caller = Caller {
        kind: CallerKind::Check,
        name: "bench".to_owned(),
        task: None,
        folder: PathBuf::from("/"),
    };
    let socket = egress
        .open(&caller)
        .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let host = tokio::spawn(answer_all(listener));
    let (mut plain, mut proxied) = (Vec::new(), Vec::new());
    for _ in 0..REQUESTS {
        let began = Instant::now();
        ask(TcpStream::connect(address).await?, "/", address).await?;
        plain.push(began.elapsed());
        let began = Instant::now();
        ask(
            proxy(&socket).await?,
            &format!("http://{address}/"),
            address,
        )
        .await?;
        proxied.push(began.elapsed());
    }
    host.abort();
    egress.close_all().await;
    let (without, with) = (percentile(&mut plain, 0.5), percentile(&mut proxied, 0.5));
    report.condition("proxy_requests", REQUESTS);
    report.metric("proxy_without_p50_ms", millis(without));
    report.metric("proxy_p50_ms", millis(with));
    report.metric("proxy_added_p50_ms", millis(with.saturating_sub(without)));
    report.metric("proxy_p99_ms", millis(percentile(&mut proxied, 0.99)));
    Ok(())
}

async fn proxy(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket).await
}

async fn ask<S>(mut stream: S, target: &str, host: SocketAddr) -> io::Result<()>
where
    S: AsyncReadExt + AsyncWriteExt + Unpin,
{
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    if answer.ends_with(b"ok") {
        return Ok(());
    }
    Err(io::Error::other(
        String::from_utf8_lossy(&answer).into_owned(),
    ))
}

/// A host that answers every request alike.
async fn answer_all(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut head = Vec::new();
        let mut bytes = [0; 1024];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut bytes).await {
                Ok(read @ 1..) => head.extend_from_slice(&bytes[..read]),
                _ => break,
            }
        }
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
            .await;
    }
}
