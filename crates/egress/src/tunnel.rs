//! A tunnel: bytes in both directions, counted and timed. What TLS is asked for in it has
//! to be the host that it was opened to.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use missiond_guard::policy::Host;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::judge::Target;
use crate::proxy::Limits;
use crate::sni::{Hello, hello};

/// Where TLS is spoken and nothing else.
const TLS_PORT: u16 = 443;

/// How a tunnel ended that was not let run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TunnelError {
    /// Against the decision it was opened by.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Ended(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What both directions share: how much has passed.
struct Passed {
    bytes: AtomicU64,
    most: u64,
}

pub(crate) async fn run<R, W>(
    target: &Target,
    mut client_reads: R,
    mut client_writes: W,
    early: Vec<u8>,
    upstream: TcpStream,
    limits: &Limits,
) -> Result<(), TunnelError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (mut host_reads, mut host_writes) = upstream.into_split();
    let passed = Passed {
        bytes: AtomicU64::new(0),
        most: limits.tunnel_bytes,
    };
    let out = async {
        let first = first_bytes(target, &mut client_reads, early, limits).await?;
        host_writes.write_all(&first).await?;
        copy(&mut client_reads, &mut host_writes, &passed, limits.idle).await
    };
    let back = copy(&mut host_reads, &mut client_writes, &passed, limits.idle);
    let both = Box::pin(async { tokio::try_join!(out, back) });
    match timeout(limits.tunnel_time, both).await {
        Ok(ended) => ended.map(drop),
        Err(_) => Err(TunnelError::Ended(format!(
            "it was open for {} s",
            limits.tunnel_time.as_secs()
        ))),
    }
}

/// What the client says first, looked at before any of it goes on.
async fn first_bytes<R: AsyncRead + Unpin>(
    target: &Target,
    client: &mut R,
    mut bytes: Vec<u8>,
    limits: &Limits,
) -> Result<Vec<u8>, TunnelError> {
    let refused = |why: String| Err(TunnelError::Refused(why));
    loop {
        match hello(&bytes) {
            Hello::Incomplete => {}
            Hello::NotTls if target.port == TLS_PORT => {
                return refused(format!(
                    "what is sent to port {TLS_PORT} of {} is not TLS",
                    target.host
                ));
            }
            Hello::NotTls => return Ok(bytes),
            Hello::Broken => return refused("the first message of TLS cannot be read".to_owned()),
            Hello::Tls(name) => {
                return match (&target.host, name) {
                    (Host::Address(_), None) => Ok(bytes),
                    (host, Some(name)) if name.parse::<Host>().as_ref() == Ok(host) => Ok(bytes),
                    (host, Some(name)) => {
                        let name: String =
                            name.chars().filter(|c| !c.is_control()).take(100).collect();
                        refused(format!(
                            "the tunnel was opened to {host}, and TLS asks in it for {name}"
                        ))
                    }
                    (host, None) => refused(format!(
                        "the tunnel was opened to {host}, and TLS does not say whom it asks"
                    )),
                };
            }
        }
        let begun = !bytes.is_empty();
        let mut more = vec![0; 8192];
        let patience = if begun { limits.head } else { limits.idle };
        let read = timeout(patience, client.read(&mut more)).await;
        let Ok(read) = read else {
            return Err(TunnelError::Ended("nothing was sent".to_owned()));
        };
        match read? {
            // A client that says nothing may still listen.
            0 if !begun => return Ok(bytes),
            0 => return refused("the first message of TLS has no end".to_owned()),
            read => bytes.extend_from_slice(&more[..read]),
        }
    }
}

async fn copy<R, W>(
    from: &mut R,
    to: &mut W,
    passed: &Passed,
    idle: Duration,
) -> Result<(), TunnelError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut buffer = vec![0; 32 * 1024];
    loop {
        let before = passed.bytes.load(Ordering::Relaxed);
        let Ok(read) = timeout(idle, from.read(&mut buffer)).await else {
            // The other direction may be busy.
            if passed.bytes.load(Ordering::Relaxed) == before {
                return Err(TunnelError::Ended(format!(
                    "nothing passed for {} s",
                    idle.as_secs()
                )));
            }
            continue;
        };
        let read = read?;
        if read == 0 {
            let _ = to.shutdown().await;
            return Ok(());
        }
        let total = passed.bytes.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
        if total > passed.most {
            return Err(TunnelError::Ended(format!(
                "more than {} bytes passed",
                passed.most
            )));
        }
        to.write_all(&buffer[..read]).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn first(port: u16, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let target = Target {
            host: "a.example".parse().unwrap(),
            port,
            request: None,
        };
        let mut client = bytes;
        let limits = Limits::default();
        let first = first_bytes(&target, &mut client, Vec::new(), &limits).await;
        first.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn the_port_of_tls_carries_tls_and_others_what_they_are_for() {
        let refused = first(443, b"SSH-2.0-x").await.unwrap_err();
        assert_eq!(refused, "what is sent to port 443 of a.example is not TLS");
        assert_eq!(first(22, b"SSH-2.0-x").await.unwrap(), b"SSH-2.0-x");
        assert!(first(443, &[22, 3, 1, 0, 9]).await.is_err());
        assert!(first(8443, &[22, 3, 1, 0, 4, 2, 0, 0, 0]).await.is_err());
    }
}
