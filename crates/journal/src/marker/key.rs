//! What proves that a marker was written by the agent that got the instructions.

use std::fmt;
use std::str::FromStr;

use missiond_core::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::Digest;

/// 128 random bits, written as 32 hexadecimal digits. It goes into the agent's
/// instructions and nowhere else: no log, no command line, no journal.
#[derive(Clone, PartialEq, Eq)]
pub struct MarkerKey(u128);

/// What a journal keeps of the key: enough to recognise it, not to write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MarkerKeyHash(Digest);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a marker key is 32 hexadecimal digits")]
pub struct InvalidMarkerKey;

impl MarkerKey {
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    /// The key as it stands in a marker.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{:032x}", self.0)
    }

    /// Bound to the execution, so that equal keys of two would not look equal.
    #[must_use]
    pub fn hash(&self, execution: ExecutionId) -> MarkerKeyHash {
        MarkerKeyHash(Digest::of(
            format!("marker key of {execution}: {}", self.reveal()).as_bytes(),
        ))
    }
}

impl FromStr for MarkerKey {
    type Err = InvalidMarkerKey;

    fn from_str(text: &str) -> Result<Self, InvalidMarkerKey> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16)
            .ok()
            .filter(|_| digits)
            .map(Self)
            .ok_or(InvalidMarkerKey)
    }
}

impl fmt::Debug for MarkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MarkerKey(…)")
    }
}

impl MarkerKeyHash {
    /// Whether this is the key. Hashes are compared, and in full, so the time it
    /// takes tells nothing about the key.
    #[must_use]
    pub fn matches(&self, execution: ExecutionId, key: &MarkerKey) -> bool {
        let other = key.hash(execution);
        let difference = self
            .0
            .0
            .iter()
            .zip(other.0.0)
            .fold(0, |found, (a, b)| found | (a ^ b));
        difference == 0
    }
}
