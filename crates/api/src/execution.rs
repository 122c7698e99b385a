//! How the agent of an execution reaches the daemon: the file that holds its
//! access, and the words of a connection that belongs to one execution.
//!
//! Such a connection begins with [`METHOD_EXECUTION_HELLO`] instead of `hello`.
//! After it the daemon is the MCP server of that execution and nothing else.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use missiond_core::ExecutionId;
use missiond_os::files;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub const METHOD_EXECUTION_HELLO: &str = "execution_hello";
/// A hook of the agent's program reports an event.
pub const METHOD_HOOK: &str = "hook";
/// A hook of the agent's program asks whether a tool may be used.
pub const METHOD_TOOL_USE: &str = "tool_use";
/// Sent by a bridge (a notification): its client sent a message that is too
/// large to be passed on.
pub const METHOD_OVERSIZED: &str = "oversized";

/// In the environment of an agent: its execution. It proves nothing; it tells the
/// messages of agents from those of people.
pub const EXECUTION_VARIABLE: &str = "MISSION_EXECUTION";

/// A secret. It is never shown, not even by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccessToken(String);

impl AccessToken {
    /// 256 random bits, in hexadecimal, behind what it is known by where it must not be
    /// stored.
    #[must_use]
    pub fn from_bits(bits: [u8; 32]) -> Self {
        let mut text = "msn_agent_".to_owned();
        for byte in bits {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        Self(text)
    }

    /// For whoever hashes it or sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(…)")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionHelloParams {
    pub protocol: u32,
    pub execution: ExecutionId,
    pub token: AccessToken,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionWelcome {
    pub protocol: u32,
    pub version: String,
    pub execution: ExecutionId,
}

/// One event of a hook. The number makes it count once, however often it is
/// handed over.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookParams {
    pub sequence: u64,
    /// What the adapter made of the hook's input.
    pub report: Box<RawValue>,
}

/// A tool that is about to be used. It is the same question however often it is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUseParams {
    /// What the adapter made of the hook's input.
    pub asked: Box<RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OversizedParams {
    pub bytes: u64,
}

/// What lets one agent speak to the daemon, in a file of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFile {
    pub socket: PathBuf,
    pub execution: ExecutionId,
    pub token: AccessToken,
}

#[derive(Debug, thiserror::Error)]
pub enum AccessFileError {
    #[error("the access file {path} cannot be read: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} is not an access file: {why}")]
    Content { path: String, why: String },
    #[error("the access file {path} may be read by others; run `chmod 600` on it")]
    Public { path: String },
}

/// Larger files are no access files.
const MAX_ACCESS_FILE: u64 = 16 * 1024;

impl AccessFile {
    pub fn read(path: &Path) -> Result<Self, AccessFileError> {
        let shown = || path.display().to_string();
        let unreadable = |source| AccessFileError::Read {
            path: shown(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
            return Err(AccessFileError::Public { path: shown() });
        }
        let mut text = String::new();
        file.take(MAX_ACCESS_FILE)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        serde_json::from_str(&text).map_err(|error| AccessFileError::Content {
            path: shown(),
            why: error.to_string(),
        })
    }

    /// Makes the file; one that is there already is not touched.
    pub fn create(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        files::create_private(path)?.write_all(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> AccessFile {
        AccessFile {
            socket: "/run/daemon.sock".into(),
            execution: ExecutionId::generate(),
            token: AccessToken::from_bits([0xa5; 32]),
        }
    }

    #[test]
    fn a_token_is_written_to_its_file_and_shown_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.json");
        let access = access();
        access.create(&path).unwrap();
        assert_eq!(AccessFile::read(&path).unwrap(), access);
        assert!(std::fs::read_to_string(&path).unwrap().contains("a5a5a5"));
        assert!(!format!("{access:?}").contains("a5a5"));
        let again = access.create(&path).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.json");
        access().create(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let refused = AccessFile::read(&path).unwrap_err();
        assert!(matches!(refused, AccessFileError::Public { .. }));
        let wrong = folder.path().join("wrong.json");
        std::fs::write(&wrong, "{}").unwrap();
        std::fs::set_permissions(&wrong, PermissionsExt::from_mode(0o600)).unwrap();
        let refused = AccessFile::read(&wrong).unwrap_err();
        assert!(matches!(refused, AccessFileError::Content { .. }));
    }
}
