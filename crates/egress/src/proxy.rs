//! All doors of a daemon, and what they share.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use missiond_os::files::{ClosedTo, use_own_dir};
use missiond_runtime::Supervisor;
use parking_lot::Mutex;

use crate::dial::Resolve;
use crate::door::Door;
use crate::judge::{Caller, Judge};

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

/// The ways out, a door for each caller.
#[derive(Debug)]
pub struct Egress {
    parts: Arc<Parts>,
    doors: Mutex<HashMap<Caller, Arc<Door>>>,
}

impl Egress {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
            doors: Mutex::default(),
        }
    }

    /// The socket of a caller: the one that is open, or a new one.
    pub fn open(&self, caller: &Caller) -> Result<PathBuf, OpenError> {
        let mut doors = self.doors.lock();
        if let Some(path) = doors.get(caller).and_then(|door| door.path()) {
            return Ok(path.to_owned());
        }
        let path = self.new_path()?;
        let door = Door::socket(&path, caller.clone(), Arc::clone(&self.parts));
        let door = door.map_err(|error| OpenError::Socket {
            path: path.display().to_string(),
            error,
        })?;
        doors.insert(caller.clone(), Arc::new(door));
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
    pub async fn close(&self, caller: &Caller) {
        let door = self.doors.lock().remove(caller);
        if let Some(door) = door {
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
        self.doors.lock().keys().cloned().collect()
    }

    fn new_path(&self) -> Result<PathBuf, OpenError> {
        let folder: &Path = &self.parts.folder;
        use_own_dir(folder, ClosedTo::Everything).map_err(|error| OpenError::Folder {
            folder: folder.display().to_string(),
            error,
        })?;
        // Short, because the path of a socket may have 107 bytes.
        Ok(folder.join(random(6)?))
    }
}

fn random(bytes: usize) -> Result<String, OpenError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| OpenError::Randomness)?;
    Ok(missiond_os::hex::encode(&random))
}
