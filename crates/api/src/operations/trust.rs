//! How far tools, servers, engines and skills are trusted, by what is on record about them.

use missiond_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    TrustList = "trust_list" (ReadOnly, "attention"):
        NoParams => TrustPage,
        "List how far tools, servers, engines and skills are trusted, the least trusted first.";

    TrustExplain = "trust_explain" (ReadOnly, "attention"):
        TrustSubjectParams => TrustExplanation,
        "Say how the trust in one of them came about, fact by fact.";

    TrustReset = "trust_reset" (Idempotent, "attention", People):
        TrustResetParams => TrustExplanation,
        "Begin anew with one of them: nothing that is on record counts any more.";
}

/// Characters of a subject.
pub const MAX_SUBJECT: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustPage {
    pub subjects: Vec<TrustLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustLine {
    /// `engine:claude`, `server:docs`, `tool:docs__search` or `skill:release`.
    pub subject: String,
    /// 0 to 1000; who nothing is known of has 500.
    pub score: u32,
    pub standing: TrustStanding,
}

/// What the score does to what rules would allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustStanding {
    /// Nothing.
    Trusted,
    /// A person is asked.
    Ask,
    /// It is denied.
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustSubjectParams {
    /// `engine:NAME`, `server:NAME`, `tool:SERVER__NAME` or `skill:NAME`.
    #[schemars(length(min = 1, max = MAX_SUBJECT))]
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustResetParams {
    /// `engine:NAME`, `server:NAME`, `tool:SERVER__NAME` or `skill:NAME`.
    #[schemars(length(min = 1, max = MAX_SUBJECT))]
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustExplanation {
    #[serde(flatten)]
    pub line: TrustLine,
    /// What everyone begins with.
    pub begins_with: u32,
    /// What the facts of each kind come to, with their age counted in.
    pub parts: Vec<TrustPart>,
    /// The facts on record, the newest first, at most 50.
    pub facts: Vec<TrustRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustPart {
    /// `verified`, `failed`, `answered`, `errored` or `drifted`.
    pub kind: String,
    pub count: u32,
    pub points: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustRecord {
    pub kind: String,
    pub at: Timestamp,
    /// How often, of what is counted together.
    pub count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
