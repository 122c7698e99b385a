//! Who may reach the daemon over HTTP: logins of browsers and tokens of programs.
//!
//! What lets somebody in is given out to a person alone, and each secret once: the
//! daemon keeps only its hash.

use missiond_core::{AccessId, AccessKind, Bounded, List, Scope, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    WebLogin = "web_login" (Additive, "access", People):
        NoParams => LoginLink,
        "Make a link that logs one browser in to the web board, once and within two minutes.";

    TokenCreate = "token_create" (Additive, "access", People):
        TokenCreateParams => TokenCreated,
        "Make a token with which a program can use the daemon over HTTP; it is shown this once.";

    TokenList = "token_list" (ReadOnly, "access", People):
        NoParams => AccessPage,
        "List the browsers that are logged in and the tokens of programs.";

    TokenRevoke = "token_revoke" (Idempotent, "access", People):
        TokenRevokeParams => TokenRevoked,
        "Take back a token, or log a browser out.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginLink {
    /// To be opened in a browser on this machine.
    pub link: String,
    /// Where other devices may find the page, without the code of the link: what
    /// `http.listen` lets in and the names of `http.hosts`. None while only this
    /// machine is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCreateParams {
    /// What it is for; by this it is listed and revoked.
    pub name: Text<100>,
    /// It holds for so many seconds, at most ten years; until it is revoked when left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Bounded<1, { 3650 * 24 * 3600 }>>,
    /// What it lets do; to look at things and nothing else when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<List<Scope, 1, 4>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCreated {
    pub access: AccessSummary,
    /// What the program sends as `Authorization: Bearer ...`.
    pub token: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessPage {
    /// Those that let in now, the oldest first.
    pub access: Vec<AccessSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessSummary {
    pub id: AccessId,
    pub kind: AccessKind,
    pub name: String,
    pub created_at: Timestamp,
    /// Absent when it holds until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// To the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// What a token lets do; a browser that is logged in is a person's and has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRevokeParams {
    /// Its id or its name.
    pub access: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRevoked {
    pub revoked: Vec<AccessSummary>,
}
