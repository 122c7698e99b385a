//! Messages of the protocol as they are read and written: JSON-RPC, one on a line.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::{McpConfig, Server};

pub(super) const PARSE_ERROR: i64 = -32_700;
pub(super) const INVALID_REQUEST: i64 = -32_600;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_PARAMS: i64 = -32_602;
pub(super) const INTERNAL_ERROR: i64 = -32_603;
/// What the protocol says where something named is not there.
pub(super) const NOT_FOUND: i64 = -32_002;

/// What came in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notice {
        method: String,
        params: Value,
    },
    /// To something this side asked; none for an error.
    Answer {
        id: u64,
        result: Option<Value>,
    },
}

impl Message {
    pub(super) fn read(line: &[u8]) -> Result<Self, Refusal> {
        let mut value: Value = serde_json::from_slice(line)
            .map_err(|error| Refusal::new(PARSE_ERROR, error.to_string()))?;
        let (id, params) = (value["id"].take(), value["params"].take());
        if let Some(method) = value["method"].as_str() {
            let method = method.to_owned();
            return Ok(if id.is_null() {
                Self::Notice { method, params }
            } else {
                Self::Request { id, method, params }
            });
        }
        let is_answer = !value["result"].is_null() || !value["error"].is_null();
        match id.as_u64() {
            Some(id) if is_answer => Ok(Self::Answer {
                id,
                result: Some(value["result"].take()).filter(|result| !result.is_null()),
            }),
            _ => Err(Refusal::new(
                INVALID_REQUEST,
                "neither a request nor an answer".to_owned(),
            )),
        }
    }
}

/// An error as the answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: i64, message: String) -> Self {
        Self {
            code,
            message,
            data: None,
        }
    }

    pub(super) fn body(&self) -> Value {
        let mut body = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            body["data"] = data.clone();
        }
        body
    }
}

/// A session as it is asked for.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) which: WhichSession,
    pub(super) cwd: PathBuf,
    pub(super) servers: McpConfig,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhichSession {
    New,
    Load(String),
    Resume(String),
}

impl Opening {
    /// None for another method.
    pub(super) fn read(method: &str, params: &Value) -> Option<Result<Self, Refusal>> {
        let id = || text(params, "sessionId").map(str::to_owned);
        let which = match method {
            "session/new" => Ok(WhichSession::New),
            "session/load" => id().map(WhichSession::Load),
            "session/resume" => id().map(WhichSession::Resume),
            _ => return None,
        };
        Some(which.and_then(|which| Self::of(which, params)))
    }

    fn of(which: WhichSession, params: &Value) -> Result<Self, Refusal> {
        let cwd = PathBuf::from(text(params, "cwd")?);
        if !cwd.is_absolute() || !cwd.is_dir() {
            let message = format!("{} is not the full path of a folder", cwd.display());
            return Err(Refusal::new(INVALID_PARAMS, message));
        }
        let mut servers = McpConfig::default();
        for server in params["mcpServers"].as_array().into_iter().flatten() {
            let name = text(server, "name")?.to_owned();
            servers.servers.insert(name, server_of(server)?);
        }
        Ok(Self {
            which,
            cwd,
            servers,
        })
    }
}

fn server_of(server: &Value) -> Result<Server, Refusal> {
    let pairs = |member: &str| {
        let pairs = server[member].as_array().into_iter().flatten();
        pairs
            .filter_map(|pair| {
                let name = pair["name"].as_str()?.to_owned();
                Some((name, pair["value"].as_str()?.to_owned()))
            })
            .collect()
    };
    if server["url"].is_string() {
        return Ok(Server::Http {
            url: text(server, "url")?.to_owned(),
            headers: pairs("headers"),
        });
    }
    let words = server["args"].as_array().into_iter().flatten();
    Ok(Server::Stdio {
        command: text(server, "command")?.to_owned(),
        args: words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect(),
        env: pairs("env"),
    })
}

pub(super) fn text<'a>(params: &'a Value, member: &str) -> Result<&'a str, Refusal> {
    params[member].as_str().ok_or_else(|| {
        let message = format!("`{member}` is missing or no text");
        Refusal::new(INVALID_PARAMS, message)
    })
}

/// The words of a prompt; what is linked is named, as nothing here reads it.
pub(super) fn prompt_text(params: &Value) -> Result<String, Refusal> {
    let parts = params["prompt"].as_array().into_iter().flatten();
    let parts: Vec<&str> = parts
        .filter_map(|part| match part["type"].as_str()? {
            "text" => part["text"].as_str(),
            "resource_link" => part["uri"].as_str(),
            "resource" => part["resource"]["text"].as_str(),
            _ => None,
        })
        .collect();
    let text = parts.join("\n");
    if text.trim().is_empty() {
        let message = "a prompt needs words".to_owned();
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    Ok(text)
}
