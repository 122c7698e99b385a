//! What a server offers, page by page, within limits.

use std::collections::BTreeSet;
use std::time::Duration;

use missiond_core::excerpt;
use serde_json::{Map, Value, json};

use crate::config::{ServerName, Transport};
use crate::error::HubError;
use crate::link::RequestOptions;
use crate::pins::{self, HoldReason};
use crate::session::{Era, Session};

/// The most things of one kind a server may have.
const MAX_LISTED: usize = 5000;
const MAX_PAGES: usize = 200;

/// A tool of a server, as the server described it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    /// Every member the server gave, also those nobody here knows.
    pub manifest: Value,
    pub digest: String,
    pub held: Option<HoldReason>,
    /// Arguments that are repeated in headers, over HTTP in the newer era.
    mirrored: Vec<Mirrored>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirrored {
    header: String,
    path: Vec<String>,
}

impl Tool {
    /// The headers a call with these arguments carries.
    #[must_use]
    pub(crate) fn headers(&self, arguments: &Value) -> Vec<(String, String)> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(yes) => Some(yes.to_string()),
            Value::Number(number) => Some(
                // An integer that was written as 42.0 is 42.
                number.as_i64().map_or_else(
                    || {
                        number
                            .as_f64()
                            .map_or_else(|| number.to_string(), |n| format!("{n:.0}"))
                    },
                    |n| n.to_string(),
                ),
            ),
            _ => None,
        };
        self.mirrored
            .iter()
            .filter_map(|mirrored| {
                let value = mirrored
                    .path
                    .iter()
                    .try_fold(arguments, |value, key| value.get(key))?;
                Some((mirrored.header.clone(), text(value)?))
            })
            .collect()
    }

    /// Whether the server says that calling it changes nothing. Only a hint: a
    /// server can say anything.
    #[must_use]
    pub fn claims_read_only(&self) -> bool {
        self.manifest["annotations"]["readOnlyHint"] == json!(true)
    }

    #[must_use]
    pub fn description(&self) -> &str {
        self.manifest["description"].as_str().unwrap_or_default()
    }
}

/// Every tool of a server, in the server's order. What cannot be used is left
/// out and named in the log.
pub(crate) async fn list_tools(
    server: &ServerName,
    session: &Session,
    transport: &Transport,
    limit: Duration,
) -> Result<Vec<Tool>, HubError> {
    let mirrors = session.era == Era::Modern && matches!(transport, Transport::Http { .. });
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for manifest in list(server, session, "tools/list", "tools", limit).await? {
        match tool(manifest, mirrors) {
            Ok(tool) if names.insert(tool.name.clone()) => tools.push(tool),
            Ok(tool) => {
                tracing::warn!(%server, tool = tool.name, "duplicate MCP tool ignored");
            }
            Err(why) => tracing::warn!(%server, why, "MCP tool left out"),
        }
    }
    Ok(tools)
}

/// Every entry of a list that comes in pages.
pub(crate) async fn list(
    server: &ServerName,
    session: &Session,
    method: &str,
    member: &str,
    limit: Duration,
) -> Result<Vec<Value>, HubError> {
    let broken = |why: &str| HubError::Protocol {
        server: server.to_string(),
        why: format!("{method}: {why}"),
    };
    let mut entries = Vec::new();
    let mut cursor: Option<Value> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor
            .as_ref()
            .map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let answer = session
            .request(method, params, RequestOptions::within(limit))
            .await?;
        let mut page: Map<String, Value> =
            serde_json::from_str(answer.get()).map_err(|_| broken("the answer is no object"))?;
        match page.remove(member) {
            Some(Value::Array(found)) => entries.extend(found),
            _ => return Err(broken(&format!("the answer has no `{member}`"))),
        }
        if entries.len() > MAX_LISTED {
            return Err(broken("there are more than 5000"));
        }
        match page.remove("nextCursor") {
            None | Some(Value::Null) => return Ok(entries),
            Some(next) if Some(&next) == cursor.as_ref() => {
                return Err(broken("a page leads to itself"));
            }
            next => cursor = next,
        }
    }
    Err(broken("there are more than 200 pages"))
}

fn tool(manifest: Value, mirrors: bool) -> Result<Tool, String> {
    let name = manifest["name"].as_str().unwrap_or_default().to_owned();
    let usable = |c: char| !c.is_whitespace() && !c.is_control();
    if name.is_empty() || name.len() > 128 || !name.chars().all(usable) {
        return Err(format!(
            "`{}` cannot be the name of a tool",
            excerpt(&name, 40)
        ));
    }
    let mirrored = if mirrors {
        mirrored(&manifest["inputSchema"]).map_err(|why| format!("{name}: {why}"))?
    } else {
        Vec::new()
    };
    Ok(Tool {
        digest: pins::digest(&manifest),
        name,
        manifest,
        held: None,
        mirrored,
    })
}

const HEADER_KEY: &str = "x-mcp-header";

/// The arguments a schema wants repeated in headers. A schema that asks for it
/// in a way that cannot be done is refused as a whole.
fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    walk(schema, Some(&mut Vec::new()), &mut found)?;
    let mut names = BTreeSet::new();
    for Mirrored { header, .. } in &found {
        if !names.insert(header.to_ascii_lowercase()) {
            return Err(format!("two arguments want the header `{header}`"));
        }
    }
    Ok(found)
}

/// `path` is absent below anything but `properties`: there no value has one
/// place.
fn walk(
    schema: &Value,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().try_for_each(|item| walk(item, None, found)),
        _ => return Ok(()),
    };
    for (key, value) in members {
        match (key.as_str(), value) {
            (HEADER_KEY, name) => {
                let name = name.as_str().unwrap_or_default();
                let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
                if name.is_empty() || !name.bytes().all(token) {
                    return Err(format!("`{}` cannot be a header", excerpt(name, 40)));
                }
                let kind = members.get("type").and_then(Value::as_str);
                if !matches!(kind, Some("string" | "integer" | "boolean")) {
                    return Err(format!(
                        "the header `{name}` is for a value that cannot be one"
                    ));
                }
                match path.as_deref() {
                    Some(path) if !path.is_empty() => found.push(Mirrored {
                        header: format!("Mcp-Param-{name}"),
                        path: path.clone(),
                    }),
                    _ => {
                        return Err(format!(
                            "the header `{name}` is for a value without a fixed place"
                        ));
                    }
                }
            }
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    match path.as_deref_mut() {
                        Some(path) => {
                            path.push(name.clone());
                            walk(property, Some(path), found)?;
                            path.pop();
                        }
                        None => walk(property, None, found)?,
                    }
                }
            }
            ("enum" | "const" | "default" | "examples" | "required", _) => {}
            (_, value) => walk(value, None, found)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(properties: &Value) -> Value {
        json!({ "type": "object", "properties": properties })
    }

    #[test]
    fn marked_arguments_are_repeated_in_headers() {
        let manifest = json!({ "name": "t", "inputSchema": schema(&json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"type": "object", "properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "x-mcp-header": {"type": "string"},
        }))});
        let tool = tool(manifest, true).unwrap();
        let mut headers =
            tool.headers(&json!({"region": "eu", "where": {"zone": 42.0}, "dry": null}));
        headers.sort();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            headers,
            [pair("Mcp-Param-Region", "eu"), pair("Mcp-Param-Zone", "42")]
        );
    }

    #[test]
    fn a_tool_that_cannot_be_called_as_it_wants_is_left_out() {
        let text = |more: Value| {
            let mut property = json!({"type": "string"});
            property
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            property
        };
        for properties in [
            json!({"a": text(json!({"x-mcp-header": ""}))}),
            json!({"a": text(json!({"x-mcp-header": "A B"}))}),
            json!({"a": text(json!({"x-mcp-header": "A\r\nEvil: 1"}))}),
            json!({"a": text(json!({"x-mcp-header": "A"})), "b": text(json!({"x-mcp-header": "a"}))}),
            json!({"a": {"type": "number", "x-mcp-header": "A"}}),
            json!({"a": {"type": "array", "items": text(json!({"x-mcp-header": "A"}))}}),
            json!({"a": {"anyOf": [text(json!({"x-mcp-header": "A"}))]}}),
        ] {
            let manifest = json!({"name": "t", "inputSchema": schema(&properties)});
            assert!(tool(manifest.clone(), true).is_err(), "{properties}");
            // On pipes there are no headers, and nothing to refuse.
            assert!(tool(manifest, false).is_ok());
        }
        for name in ["", "a b", "a\u{1b}[31m", &"x".repeat(129)] {
            assert!(tool(json!({"name": name}), false).is_err(), "{name:?}");
        }
    }
}
