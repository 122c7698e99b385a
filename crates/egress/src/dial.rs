//! From a name to a connection: resolved once, every address judged, and connected to one
//! of those that were judged. No other part of the crate resolves or connects.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_guard::policy::Host;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::judge::{Caller, Judge, Target};

/// Turns names into addresses.
pub trait Resolve: Debug + Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the system, as every other program on it does.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, port)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Addresses of a name that are tried.
const MAX_ADDRESSES: usize = 16;

/// Why nothing was connected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("{0}")]
    Refused(String),
    #[error("{host} cannot be resolved: {error}")]
    Unresolved { host: Host, error: io::Error },
    #[error("{host} cannot be reached: {error}")]
    Unreachable { host: Host, error: io::Error },
    #[error("{0} does not answer")]
    Silent(Host),
}

pub(crate) async fn dial(
    judge: &dyn Judge,
    resolver: &dyn Resolve,
    caller: &Caller,
    target: &Target,
    limit: Duration,
) -> Result<(TcpStream, IpAddr), DialError> {
    let host = || target.host.clone();
    let addresses = match &target.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => {
            let resolved = timeout(limit, resolver.resolve(name, target.port)).await;
            let resolved = resolved.map_err(|_| DialError::Silent(host()))?;
            resolved.map_err(|error| DialError::Unresolved {
                host: host(),
                error,
            })?
        }
    };
    // One address that is refused is a name that plays with us: none of it is used.
    for address in &addresses {
        let allowed = judge.address(caller, target, *address);
        allowed.map_err(DialError::Refused)?;
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    for address in addresses.into_iter().take(MAX_ADDRESSES) {
        let to = SocketAddr::new(address, target.port);
        match timeout(limit, TcpStream::connect(to)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok((stream, address));
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    if last.kind() == io::ErrorKind::TimedOut {
        return Err(DialError::Silent(host()));
    }
    Err(DialError::Unreachable {
        host: host(),
        error: last,
    })
}
