//! The audit: who did what, by which rule, and what came of it.

use missiond_core::{AuditKind, AuditRecord, Limit, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    AuditList = "audit_list" (ReadOnly, "system", Programs; Process):
        AuditListParams => AuditPage,
        "List what was decided, called, changed and refused, for whom and by which rule, newest \
         first.";

    AuditRotateKey = "audit_rotate_key" (Additive, "system", People):
        NoParams => AuditKeyChanged,
        "Put another key in the place of the one that signs the audit; the change is signed by both.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditListParams {
    /// Only records of this sort; all when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<AuditKind>,
    /// Only records that have this in who, what, by which rule or outcome, whatever the case
    /// of its letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<200, 0>>,
    /// Only records before the one of this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most so many records.
    pub limit: Limit<1000, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// Newest first.
    pub records: Vec<AuditRecord>,
    /// Whether there are older ones that fit.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditKeyChanged {
    /// The name of the key that signs from now on.
    pub key: String,
    /// The record of the change.
    pub record: u64,
}
