//! All doors of a daemon, and what they share.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use missiond_os::files::{ClosedTo, use_own_dir};
use missiond_runtime::Supervisor;
use missiond_sandbox::{Network, Place};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::dial::Resolve;
use crate::door::Door;
use crate::judge::{Caller, CallerKind, Judge};
use crate::machine::MachinePort;

/// How much and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections of one door at once; more wait.
    pub connections: usize,
    /// For a request's head, and for the rest of the first message of TLS.
    pub head: Duration,
    /// For a name to be resolved, and for a host to be connected.
    pub connect: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// For a client that is still sending when it has been refused.
    pub drain: Duration,
    pub tunnel_time: Duration,
    pub tunnel_bytes: u64,
    pub request_bytes: u64,
    pub answer_bytes: u64,
}

const GIB: u64 = 1 << 30;

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(10),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(600),
            drain: Duration::from_secs(2),
            tunnel_time: Duration::from_secs(24 * 3600),
            tunnel_bytes: 16 * GIB,
            request_bytes: GIB,
            answer_bytes: 4 * GIB,
        }
    }
}

/// What the way out is made of.
#[derive(Debug)]
pub struct Parts {
    /// Where the sockets are: a folder of its own.
    pub folder: PathBuf,
    pub judge: Arc<dyn Judge>,
    pub resolver: Arc<dyn Resolve>,
    pub limits: Limits,
    pub supervisor: Supervisor,
}

/// Why a door did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the folder of the ways out, {folder}, cannot be used: {error}")]
    Folder { folder: String, error: io::Error },
    #[error("the way out {path} cannot be opened: {error}")]
    Socket { path: String, error: io::Error },
    #[error("no randomness for the token of a way out")]
    Randomness,
}

/// What a door is of, and to which port of this machine it leads; none to the proxy.
type Whose = (Caller, Option<u16>);

/// The ways out, a door for each caller.
#[derive(Debug)]
pub struct Egress {
    parts: Arc<Parts>,
    doors: Mutex<HashMap<Whose, Arc<Door>>>,
}

impl Egress {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
            doors: Mutex::default(),
        }
    }

    /// Makes the proxy the network of a place in which a caller is to run, with these ports
    /// of this machine beside it.
    pub fn lead_out(
        &self,
        caller: &Caller,
        ports: impl IntoIterator<Item = MachinePort>,
        place: &mut Place,
    ) -> Result<(), OpenError> {
        place.network = Network::Proxy(self.open(caller)?);
        for port in ports {
            let socket = self.door(caller, Some(port))?;
            place.ports.push((port.port, socket));
        }
        Ok(())
    }

    /// The socket of a caller: the one that is open, or a new one. A caller has the same
    /// path from every daemon of a home, so that its program goes on with the next one.
    pub fn open(&self, caller: &Caller) -> Result<PathBuf, OpenError> {
        self.door(caller, None)
    }

    fn door(&self, caller: &Caller, port: Option<MachinePort>) -> Result<PathBuf, OpenError> {
        let whose = (caller.clone(), port.map(|port| port.port));
        let mut doors = self.doors.lock();
        if let Some(path) = doors.get(&whose).and_then(|door| door.path()) {
            return Ok(path.to_owned());
        }
        let path = self.path_of(&whose)?;
        let door = Door::socket(&path, caller.clone(), port, Arc::clone(&self.parts));
        let door = door.map_err(|error| OpenError::Socket {
            path: path.display().to_string(),
            error,
        })?;
        doors.insert(whose, Arc::new(door));
        Ok(path)
    }

    /// A port of this machine for a caller that cannot be given a socket. Everybody on the
    /// machine reaches it, so its address holds a token.
    pub async fn open_port(&self, caller: &Caller) -> Result<Arc<Door>, OpenError> {
        let token: Arc<str> = random(24)?.into();
        let door = Door::port(caller.clone(), Arc::clone(&self.parts), token).await;
        let door = door.map_err(|error| OpenError::Socket {
            path: "127.0.0.1".to_owned(),
            error,
        })?;
        Ok(Arc::new(door))
    }

    /// Ends what a caller has open. Nothing of it goes out any more when this returns.
    pub async fn close(&self, kind: CallerKind, name: &str) {
        let is_of = |whose: &Whose| whose.0.kind == kind && whose.0.name == name;
        let closed: Vec<Arc<Door>> = {
            let mut doors = self.doors.lock();
            let closed = doors.extract_if(|whose, _| is_of(whose));
            let closed: Vec<_> = closed.map(|(_, door)| door).collect();
            // While nobody can open the same path anew.
            closed.iter().for_each(|door| door.remove());
            closed
        };
        for door in closed {
            door.close().await;
        }
    }

    /// Closes every door.
    pub async fn close_all(&self) {
        let doors: Vec<Arc<Door>> = self.doors.lock().drain().map(|(_, door)| door).collect();
        for door in doors {
            door.close().await;
        }
    }

    /// Those that are open.
    #[must_use]
    pub fn callers(&self) -> Vec<Caller> {
        let doors = self.doors.lock();
        let proxies = doors.keys().filter(|(_, port)| port.is_none());
        proxies.map(|(caller, _)| caller.clone()).collect()
    }

    fn path_of(&self, (caller, port): &Whose) -> Result<PathBuf, OpenError> {
        let folder: &Path = &self.parts.folder;
        use_own_dir(folder, ClosedTo::Everything).map_err(|error| OpenError::Folder {
            folder: folder.display().to_string(),
            error,
        })?;
        let mut name = Sha256::new();
        name.update(caller.kind.as_str());
        name.update([0]);
        name.update(&caller.name);
        name.update([0]);
        name.update(caller.folder.as_os_str().as_encoded_bytes());
        name.update(port.unwrap_or_default().to_be_bytes());
        // Short, because the path of a socket may have 107 bytes.
        Ok(folder.join(missiond_os::hex::encode(&name.finalize()[..8])))
    }
}

fn random(bytes: usize) -> Result<String, OpenError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| OpenError::Randomness)?;
    Ok(missiond_os::hex::encode(&random))
}
