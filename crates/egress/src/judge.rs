//! Who decides, about what, and what is told of it.

use std::fmt::Debug;
use std::net::IpAddr;
use std::path::PathBuf;

use futures::future::BoxFuture;
use missiond_core::BoardTaskId;
use missiond_guard::permissions::Effect;
use missiond_guard::policy::Host;
use sha2::{Digest, Sha256};

/// On whose behalf something goes out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    pub kind: CallerKind,
    /// The id of the execution, the name of the check or of the server.
    pub name: String,
    /// Whose check it is.
    pub task: Option<BoardTaskId>,
    /// Where it works: the repository there may narrow what it may do.
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallerKind {
    Execution,
    Check,
    ToolServer,
}

impl CallerKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::Check => "check",
            Self::ToolServer => "tool server",
        }
    }
}

/// What is to be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub host: Host,
    pub port: u16,
    /// Method and request target; none of a tunnel, whose requests are not seen.
    pub request: Option<(String, String)>,
}

impl Target {
    /// What the decision is about, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self {
            host,
            port,
            request,
        } = self;
        match request {
            Some((method, path)) => format!("{method} http://{host}:{port}{path}"),
            None => format!("CONNECT {host}:{port}"),
        }
    }

    /// The same without what nobody else's business may stand in.
    #[must_use]
    pub fn without_query(&self) -> String {
        let Self { host, port, .. } = self;
        match (&self.request, self.path()) {
            (Some((method, _)), Some(path)) => format!("{method} http://{host}:{port}{path}"),
            _ => self.line(),
        }
    }

    /// The same request has the same digest.
    #[must_use]
    pub fn digest(&self) -> String {
        missiond_os::hex::encode(&Sha256::digest(self.line().as_bytes()))
    }

    /// The path without its query, which may hold what is nobody's business.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        let (_, path) = self.request.as_ref()?;
        path.split(['?', '#']).next()
    }
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub effect: Effect,
    pub rules: Vec<String>,
    pub reason: String,
    /// What a person would have to change.
    pub change: Option<String>,
}

/// A request about which no ruling was made.
#[derive(Debug, Clone, Copy)]
pub struct Undecided<'a> {
    pub caller: &'a Caller,
    pub target: &'a Target,
    /// What the client calls itself, in one short line; it may lie.
    pub client: Option<&'a str>,
}

/// Decides and is told. Called for every connection, so it must not take long.
pub trait Judge: Debug + Send + Sync {
    /// Before a name is resolved.
    fn target(&self, caller: &Caller, target: &Target) -> Ruling;

    /// What holds instead of a ruling that asks: somebody may have been asked before, or be
    /// asked now. The client waits meanwhile.
    fn undecided<'a>(&'a self, _: Undecided<'a>, ruling: Ruling) -> BoxFuture<'a, Ruling> {
        Box::pin(std::future::ready(ruling))
    }

    /// Whether the address that a host was resolved to may be connected to, or why not.
    fn address(&self, caller: &Caller, target: &Target, address: IpAddr) -> Result<(), String>;

    /// Every decision, once.
    fn report(&self, report: Report);
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Allowed,
    /// Nobody has decided about it yet; it was refused for now.
    Asked,
    Denied,
}

impl Outcome {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Denied => "denied",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub caller: Caller,
    pub target: Target,
    pub outcome: Outcome,
    pub rules: Vec<String>,
    pub reason: String,
    /// What was connected to.
    pub address: Option<IpAddr>,
}
