//! What lets somebody reach the daemon over HTTP.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// A browser that has logged in; it shows a cookie.
    Session,
    /// A program; it shows a bearer token.
    Token,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither `session` nor `token`")]
pub struct UnknownAccessKind(String);

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Token => "token",
        })
    }
}

impl FromStr for AccessKind {
    type Err = UnknownAccessKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "session" => Ok(Self::Session),
            "token" => Ok(Self::Token),
            other => Err(UnknownAccessKind(other.to_owned())),
        }
    }
}
