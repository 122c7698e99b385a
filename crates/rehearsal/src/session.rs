//! What a session remembers between two runs: which turns were taken and which
//! tools may be used without asking. One private file per session, replaced as
//! a whole after each turn.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use missiond_context::request_of;
use missiond_os::files::{create_private_dir, replace_private};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::script::Script;

/// No session file is longer.
const MAX_BYTES: u64 = 1 << 20;

/// Names one rehearsal across its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

impl SessionId {
    /// One that no other session has.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, InvalidSessionId> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| InvalidSessionId)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session id is a UUID, as a rehearsal prints it when it ends")]
pub struct InvalidSessionId;

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("there is no session {id} in {}", folder.display())]
    Unknown { id: SessionId, folder: PathBuf },
    #[error("session {id} exists already: use --resume to go on with it")]
    Exists { id: SessionId },
    #[error(
        "session {id} was played by the script `{was}` with {was_turns} turns, not by `{now}` with {now_turns}"
    )]
    OtherScript {
        id: SessionId,
        was: String,
        was_turns: usize,
        now: String,
        now_turns: usize,
    },
    #[error("{} is not a session file: {reason}", path.display())]
    Broken { path: PathBuf, reason: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A session and the file that keeps it.
#[derive(Debug)]
pub(crate) struct Session {
    path: PathBuf,
    kept: SavedSession,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSession {
    id: SessionId,
    script: String,
    /// How often each turn was taken.
    used: Vec<u32>,
    /// Prompts answered so far.
    prompts: u32,
    /// Tools that were allowed for good.
    allowed: BTreeSet<String>,
}

impl Session {
    pub(crate) fn create(
        folder: &Path,
        id: SessionId,
        script: &Script,
    ) -> Result<Self, SessionError> {
        let path = file_of(folder, id);
        create_private_dir(folder).map_err(|source| SessionError::Io {
            path: folder.to_owned(),
            source,
        })?;
        if path.exists() {
            return Err(SessionError::Exists { id });
        }
        let session = Self {
            path,
            kept: SavedSession {
                id,
                script: script.name.clone(),
                used: vec![0; script.turns.len()],
                prompts: 0,
                allowed: BTreeSet::new(),
            },
        };
        session.save()?;
        Ok(session)
    }

    pub(crate) fn resume(
        folder: &Path,
        id: SessionId,
        script: &Script,
    ) -> Result<Self, SessionError> {
        let path = file_of(folder, id);
        let broken = |reason: String| SessionError::Broken {
            path: path.clone(),
            reason,
        };
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = folder.to_owned();
                return Err(SessionError::Unknown { id, folder });
            }
            Err(source) => return Err(SessionError::Io { path, source }),
        };
        let kept: SavedSession =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if kept.id != id {
            return Err(broken(format!("it is about session {}", kept.id)));
        }
        if kept.script != script.name || kept.used.len() != script.turns.len() {
            return Err(SessionError::OtherScript {
                id,
                was: kept.script,
                was_turns: kept.used.len(),
                now: script.name.clone(),
                now_turns: script.turns.len(),
            });
        }
        Ok(Self { path, kept })
    }

    pub(crate) fn id(&self) -> SessionId {
        self.kept.id
    }

    /// The first turn with uses left that answers this prompt; counted as used.
    pub(crate) fn next_turn(&mut self, script: &Script, prompt: &str) -> Option<usize> {
        self.kept.prompts += 1;
        // What an agent is told beside it is not what it is asked.
        let request = request_of(prompt);
        let answers = |(index, turn): (usize, &crate::script::Turn)| {
            (turn.uses.allows(self.kept.used[index]) && turn.when.holds(request)).then_some(index)
        };
        let found = script.turns.iter().enumerate().find_map(answers)?;
        self.kept.used[found] += 1;
        Some(found)
    }

    /// The number of the prompt being answered.
    pub(crate) fn prompts(&self) -> u32 {
        self.kept.prompts
    }

    pub(crate) fn allow_always(&mut self, tool: &str) {
        self.kept.allowed.insert(tool.to_owned());
    }

    pub(crate) fn is_allowed(&self, tool: &str) -> bool {
        self.kept.allowed.contains(tool)
    }

    pub(crate) fn save(&self) -> Result<(), SessionError> {
        let io = |source| SessionError::Io {
            path: self.path.clone(),
            source,
        };
        let text = serde_json::to_vec(&self.kept).map_err(|error| io(error.into()))?;
        replace_private(&self.path, &text).map_err(io)
    }
}

fn file_of(folder: &Path, id: SessionId) -> PathBuf {
    folder.join(format!("{id}.json"))
}

fn read(path: &Path) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}
