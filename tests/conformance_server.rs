//! What the official conformance suite judges as our server: the protocol and the
//! HTTP transport of the commander, over the tools, resources and prompts that
//! the suite asks for by name. Prints its address and serves until its standard
//! input ends.

#![allow(clippy::print_stdout)]

use std::convert::Infallible;
use std::io::Read;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Response, StatusCode};
use futures::future::BoxFuture;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use missiond_mcp::{Change, Features, Identity, Offer, Refusal, Server, ToolRequest, http};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

const MOST: usize = 1024 * 1024;

/// One red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// No sound at all.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    println!("http://{}/mcp", listener.local_addr()?);
    runtime.spawn(serve(listener));
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest)?;
    runtime.shutdown_background();
    Ok(())
}

async fn serve(listener: TcpListener) {
    let (changes, _) = broadcast::channel(16);
    let server = Server::new(Arc::new(Fixtures { changes }));
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let server = server.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(server.clone(), request));
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    server: Server,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        let mut refused = Response::new(Body::empty());
        *refused.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(refused);
    }
    if !http::is_local(&parts.headers) {
        return Ok(http::refuse_stranger());
    }
    let body = to_bytes(Body::new(body), MOST).await.unwrap_or_default();
    Ok(http::post(&server, &parts.headers, &body).await)
}

struct Fixtures {
    changes: broadcast::Sender<Change>,
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn content(items: &[Value]) -> Result<Value, Refusal> {
    Ok(json!({ "content": items }))
}

fn picture() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } })
}

impl Fixtures {
    async fn call_tool(&self, call: ToolRequest) -> Result<Value, Refusal> {
        match call.name.as_str() {
            "test_simple_text" => content(&[text("This is a simple text response for testing.")]),
            "test_image_content" => content(&[picture()]),
            "test_audio_content" => {
                content(&[json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })])
            }
            "test_embedded_resource" => content(&[embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )]),
            "test_multiple_content_types" => content(&[
                text("Multiple content types test:"),
                picture(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    "{\"test\":\"data\",\"value\":123}",
                ),
            ]),
            "test_error_handling" => Ok(json!({
                "isError": true,
                "content": [text("This tool intentionally returns an error for testing")],
            })),
            "test_tool_with_progress" | "test_streaming_elicitation" => {
                for step in [0.0, 50.0, 100.0] {
                    call.progress.report(step, Some(100.0), None);
                    tokio::task::yield_now().await;
                }
                content(&[text("done")])
            }
            "test_logging_tool" => content(&[text("nothing was logged")]),
            "test_missing_capability" if call.client_capabilities["sampling"].is_null() => {
                Err(Refusal {
                    code: -32021,
                    message: "this tool needs a client that can sample".to_owned(),
                    data: Some(json!({ "requiredCapabilities": { "sampling": {} } })),
                })
            }
            "test_missing_capability" => content(&[text("the client can sample")]),
            "test_trigger_tool_change" => {
                let _ = self.changes.send(Change::Tools);
                content(&[text("changed")])
            }
            "test_trigger_prompt_change" => {
                let _ = self.changes.send(Change::Prompts);
                content(&[text("changed")])
            }
            other => Err(Refusal::invalid(format!("there is no tool `{other}`"))),
        }
    }
}

const TOOLS: [&str; 12] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
];

impl Offer for Fixtures {
    fn identity(&self) -> Identity {
        Identity {
            name: "mission-conformance".to_owned(),
            version: "1".to_owned(),
            instructions: "Only for tests.".to_owned(),
        }
    }

    fn features(&self) -> Features {
        Features {
            resources: true,
            prompts: true,
            changing_lists: true,
            changing_resources: false,
        }
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>> {
        let tools = TOOLS.map(|name| {
            json!({
                "name": name,
                "description": format!("What the suite calls {name}."),
                "inputSchema": { "type": "object", "additionalProperties": false },
            })
        });
        Box::pin(std::future::ready(Ok(tools.to_vec())))
    }

    fn call(&self, call: ToolRequest) -> BoxFuture<'_, Result<Value, Refusal>> {
        Box::pin(self.call_tool(call))
    }

    fn resources(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>> {
        let entry = |uri: &str, name: &str, kind: &str| json!({ "uri": uri, "name": name, "description": name, "mimeType": kind });
        Box::pin(std::future::ready(Ok(vec![
            entry("test://static-text", "A text", "text/plain"),
            entry("test://static-binary", "A picture", "image/png"),
        ])))
    }

    fn templates(&self) -> Vec<Value> {
        vec![json!({
            "uriTemplate": "test://template/{id}/data", "name": "Data",
            "description": "Data by its id.", "mimeType": "application/json",
        })]
    }

    fn read(&self, uri: String) -> BoxFuture<'_, Result<Option<Vec<Value>>, Refusal>> {
        let templated = uri
            .strip_prefix("test://template/")
            .and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri.as_str(), templated) {
            ("test://static-text", _) => Some(json!({
                "uri": uri, "mimeType": "text/plain",
                "text": "This is the content of the static text resource.",
            })),
            ("test://static-binary", _) => {
                Some(json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }))
            }
            (_, Some(id)) => {
                let data = json!({
                    "id": id, "templateTest": true, "data": format!("Data for ID: {id}"),
                });
                let text = data.to_string();
                Some(json!({ "uri": uri, "mimeType": "application/json", "text": text }))
            }
            _ => None,
        };
        Box::pin(std::future::ready(Ok(contents.map(|only| vec![only]))))
    }

    fn prompts(&self) -> Vec<Value> {
        let prompt = |name: &str, arguments: &[&str]| {
            let described = |argument: &&str| json!({ "name": argument, "description": "An argument.", "required": true });
            let arguments: Vec<_> = arguments.iter().map(described).collect();
            json!({ "name": name, "description": "A prompt.", "arguments": arguments })
        };
        vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
        ]
    }

    fn prompt(
        &self,
        name: String,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'_, Result<Value, Refusal>> {
        let given = |key: &str| {
            let given = arguments.get(key).and_then(Value::as_str);
            given.unwrap_or_default().to_owned()
        };
        let contents = match name.as_str() {
            "test_simple_prompt" => Some(vec![text("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => Some(vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))]),
            "test_prompt_with_embedded_resource" => Some(vec![
                embedded(
                    &given("resourceUri"),
                    "text/plain",
                    "Embedded resource content for testing.",
                ),
                text("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => {
                Some(vec![picture(), text("Please analyze the image above.")])
            }
            _ => None,
        };
        let answer = match contents {
            Some(contents) => {
                let messages: Vec<_> = contents
                    .into_iter()
                    .map(|content| json!({ "role": "user", "content": content }))
                    .collect();
                Ok(json!({ "messages": messages }))
            }
            None => Err(Refusal::invalid("there is no such prompt")),
        };
        Box::pin(std::future::ready(answer))
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
