//! The conversation around the operations: who speaks, in which version, how
//! to cancel, how to subscribe.
//!
//! The first message of a connection chooses its face. [`METHOD_HELLO`] opens
//! our own; after it every operation of the catalogue is a method.

use missiond_core::{Category, DaemonId, Seq, TimelineEvent};
use serde::{Deserialize, Serialize};

use crate::RequestId;

/// Raised when a client of the version before could no longer understand.
pub const PROTOCOL_VERSION: u32 = 1;

pub const METHOD_HELLO: &str = "hello";
pub const METHOD_CANCEL: &str = "cancel";
pub const METHOD_SUBSCRIBE: &str = "subscribe";
pub const METHOD_UNSUBSCRIBE: &str = "unsubscribe";
/// Sent by the daemon for each event of a subscription.
pub const METHOD_EVENT: &str = "event";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HelloParams {
    /// The newest protocol the client speaks.
    pub protocol: u32,
    /// Name and version of the client, for the log.
    pub client: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub protocol: u32,
    pub version: String,
    pub daemon: DaemonId,
    pub pid: u32,
}

/// Parameters of the `cancel` notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelParams {
    pub id: RequestId,
}

/// Which events to be told of. With `after`, first everything stored since
/// then, in order and without a hole, then what happens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscribeParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
    /// Empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Category>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeResult {
    pub subscription: u64,
    /// The newest stored event when the subscription began.
    pub head: Seq,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnsubscribeParams {
    pub subscription: u64,
}

/// Parameters of the `event` notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventNotice {
    pub subscription: u64,
    pub event: TimelineEvent,
}
