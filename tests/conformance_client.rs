//! What the official conformance suite runs to judge our client: a hub with one
//! server, the suite's, whose address is the last argument. It does what a
//! person would: lists the tools, and calls them.

#![allow(clippy::print_stderr)]

use std::time::Duration;

use missiond_runtime::Supervisor;
use missiond_toolhub::{Hub, HubError, HubSettings, KeeperCommand};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().next_back().unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let list = format!("[servers.suite]\nurl = {}\n", json!(url));
    std::fs::write(folder.path().join("mcp.toml"), list)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(folder.path().join("mcp.toml"), mode)?;
    let hub = Hub::new(HubSettings {
        config: folder.path().to_owned(),
        pins: folder.path().join("pins.json"),
        keeper: KeeperCommand {
            place: missiond_sandbox::Place::elsewhere(missiond_sandbox::Profile::Open),
            program: "none".into(),
            arguments: Vec::new(),
            network: None,
        },
        supervisor: Supervisor::standalone(),
        health_check: std::time::Duration::from_secs(30),
        listener: Box::new(|_| ()),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let used = use_everything(&hub).await;
        hub.stop().await;
        used
    })?;
    Ok(())
}

async fn use_everything(hub: &Hub) -> Result<(), HubError> {
    let mut tools = Vec::new();
    for listed in hub.tools(Some("suite"), LIMIT).await? {
        tools.extend(listed.tools?.iter().cloned());
    }
    for tool in &tools {
        for arguments in arguments(&tool.name, &tool.manifest["inputSchema"], &tools) {
            let called = hub
                .call(
                    &format!("suite__{}", tool.name),
                    arguments,
                    Some(LIMIT),
                    None,
                )
                .await;
            if let Err(error) = called {
                eprintln!("{error}");
            }
        }
    }
    for listed in hub.prompts(Some("suite"), LIMIT).await? {
        for prompt in listed.prompts? {
            let name = format!("suite__{}", prompt["name"].as_str().unwrap_or_default());
            hub.prompt(&name, Default::default(), LIMIT).await?;
        }
    }
    Ok(())
}

/// What a tool is called with: what the suite asks for, else something that
/// fits its schema.
fn arguments(name: &str, schema: &Value, tools: &[missiond_toolhub::Tool]) -> Vec<Value> {
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|context| serde_json::from_str(&context).ok())
        .unwrap_or_default();
    let wanted: Vec<_> = context["toolCalls"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|call| call["name"] == name)
        .map(|call| call["arguments"].clone())
        .collect();
    if !wanted.is_empty() {
        return wanted;
    }
    let mut arguments = json!({});
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (property, described) in properties {
        arguments[property] = match described["type"].as_str() {
            // The suite compares what comes back with what it listed.
            Some("object") if property == "schema" => {
                let focal = tools.iter().find(|tool| tool.name != name);
                focal.map_or_else(|| json!({}), |tool| tool.manifest["inputSchema"].clone())
            }
            Some("integer" | "number") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
    }
    vec![arguments]
}
