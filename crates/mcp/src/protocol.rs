//! The words of the protocol that every face uses: versions, keys, error codes,
//! and how a request says which era it belongs to.

use missiond_api::RequestId;
use serde_json::{Value, json};

/// Without a handshake: the version comes with each request.
pub(crate) const MODERN: &str = "2026-07-28";
/// With a handshake, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
pub(crate) const HEADER_MISMATCH: i32 = -32020;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

/// How a request is meant. The error is a version nobody here speaks.
pub(crate) fn era(params: &Value) -> Result<Era, String> {
    match params["_meta"][VERSION_KEY].as_str() {
        None => Ok(Era::Legacy),
        Some(MODERN) => Ok(Era::Modern),
        // A client of the older era may carry it along.
        Some(version) if LEGACY.contains(&version) => Ok(Era::Legacy),
        Some(other) => Err(excerpt(other)),
    }
}

/// A stranger's words, short enough and harmless to repeat.
pub(crate) fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    short.escape_default().to_string()
}

pub(crate) fn failure(
    id: Option<&RequestId>,
    code: i32,
    message: &str,
    data: Option<Value>,
) -> Vec<u8> {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    let message = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    format!("{message}\n").into_bytes()
}
