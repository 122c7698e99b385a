//! A connection that belongs to one execution: the daemon as the MCP server of
//! its agent, and the ear for the hooks of its program, which are answered
//! whether it may use a tool. Nothing else can be reached on it.
//!
//! One message is worked on at a time, so that what an agent reports stays in
//! order; only calls of other people's tools run beside it. The right to speak is
//! looked up anew for each, so that what is taken back or expires ends a
//! connection that is open.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::StreamCommon;
use missiond_adapters::{HookReport, ToolUse};
use missiond_api::{
    ApiError, ExecutionHelloParams, ExecutionWelcome, Frame, FrameDecoder, HookParams, Incoming,
    METHOD_EXECUTION_HELLO, METHOD_HOOK, METHOD_OVERSIZED, METHOD_TOOL_USE, OversizedParams,
    PROTOCOL_VERSION, Request, Response, ToolUseParams,
};
use missiond_core::{ErrorCode, Event, ExecutionId, Principal, TraceContext};
use missiond_executions::access::{self, AccessError};
use missiond_journal::catalogue::{MCP_SERVER_NAME, SignalType, tools};
use missiond_journal::{Acknowledgement, Outcome};
use missiond_mcp::{Face, Identity, Step, ToolCall, ToolOutcome, Verdict};
use missiond_operations::state::{Daemon, VERSION};
use missiond_operations::{ClientId, Operations};
use missiond_runtime::Stage;
use missiond_store::capabilities::TokenHash;
use missiond_toolhub::SEPARATOR;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::commander::{Allowed, hub_entries, hub_result};
use crate::rate::SharedRate;

/// A message that has begun must be complete, and an answer must be taken,
/// within this time.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// Calls of other people's tools at once.
const MOST_CALLS: usize = 16;

const INSTRUCTIONS: &str = "\
Report on the work of this run. Say `progress` when you finish a step, `needs_input` when only a \
person can decide, `blocked` when you cannot go on, and at the end `completed_claim` or \
`failed_claim`. Each is recorded; claims are checked by others.";

/// Serves the connection whose first message was `hello`.
pub(super) async fn serve(
    daemon: Daemon,
    operations: Arc<Operations>,
    stream: Stream,
    decoder: FrameDecoder,
    hello: Request,
    (principal, rate): (Principal, SharedRate),
) {
    let (caller, welcome) = match greet(&daemon, &stream, &hello, principal).await {
        Ok(greeted) => greeted,
        Err(error) => {
            let _ = write_line(&stream, &Response::error_line(Some(&hello.id), &error)).await;
            return;
        }
    };
    if write_line(&stream, &Response::result_line(&hello.id, &welcome))
        .await
        .is_err()
    {
        return;
    }
    let offered = daemon.executions.offered(caller.execution);
    let mut connection = ExecutionConnection {
        face: face(&offered, Vec::new()),
        tools: Tools {
            allowed: allowed(&daemon, caller.execution),
            are_listed: false,
            calls: FuturesUnordered::new(),
        },
        operations,
        rate,
        daemon,
        caller,
    };
    connection.listen(&stream, decoder).await;
}

/// Who speaks, and by which right.
#[derive(Debug)]
struct Caller {
    execution: ExecutionId,
    token: TokenHash,
    uid: u32,
}

struct ExecutionConnection {
    daemon: Daemon,
    caller: Caller,
    face: Face,
    tools: Tools,
    operations: Arc<Operations>,
    rate: SharedRate,
}

/// Other people's tools, as far as this agent may use them.
struct Tools {
    allowed: Allowed,
    /// Their servers are asked when the agent asks, not when it connects.
    are_listed: bool,
    calls: FuturesUnordered<BoxFuture<'static, Vec<u8>>>,
}

/// What the configuration lets the agent use: of its slot if that has a setting,
/// of all agents otherwise.
fn allowed(daemon: &Daemon, execution: ExecutionId) -> Allowed {
    let slot = daemon.executions.slot_name(execution);
    Allowed::of_slot(&daemon.config(), slot.as_deref())
}

async fn greet(
    daemon: &Daemon,
    stream: &Stream,
    hello: &Request,
    principal: Principal,
) -> Result<(Caller, ExecutionWelcome), ApiError> {
    let params: ExecutionHelloParams =
        super::connection::parse(METHOD_EXECUTION_HELLO, hello.params.as_deref())?;
    if params.protocol != PROTOCOL_VERSION {
        let message = format!(
            "this daemon ({VERSION}) speaks protocol {PROTOCOL_VERSION}, the client protocol {}",
            params.protocol
        );
        return Err(ApiError::new(ErrorCode::VersionMismatch, message));
    }
    let peer = stream.peer_creds().ok().and_then(|creds| creds.euid());
    let caller = Caller {
        execution: params.execution,
        token: access::hash(&params.token),
        uid: peer.ok_or_else(|| {
            ApiError::new(ErrorCode::Forbidden, "the system does not say who you are")
        })?,
    };
    caller.may_speak(daemon).await?;
    caller.check_place(daemon, principal).await?;
    let welcome = ExecutionWelcome {
        protocol: PROTOCOL_VERSION,
        version: VERSION.to_owned(),
        execution: caller.execution,
    };
    Ok((caller, welcome))
}

impl Caller {
    async fn may_speak(&self, daemon: &Daemon) -> Result<(), ApiError> {
        let now = daemon.clock.now();
        let token = self.token.clone();
        match access::check(&daemon.db, token, self.execution, self.uid, now).await {
            Ok(()) => Ok(()),
            Err(AccessError::Refused(refusal)) => {
                self.refused(daemon, &refusal.to_string()).await;
                Err(ApiError::new(ErrorCode::Forbidden, refusal.answer()))
            }
            Err(AccessError::Store(error)) => Err(ApiError::new(error.code(), error.to_string())),
        }
    }

    /// The token of one agent is of no use to another, wherever that found it.
    async fn check_place(&self, daemon: &Daemon, principal: Principal) -> Result<(), ApiError> {
        let is_its = match principal {
            Principal::Agent { slot, .. } => match daemon.executions.slot_of(self.execution) {
                Some(own) => own == slot,
                // It has ended; who comes from where it was may hear so.
                None => daemon.executions.in_slot(slot).is_none(),
            },
            Principal::Untold => false,
            _ => true,
        };
        if is_its {
            return Ok(());
        }
        self.refused(daemon, "its token in the hands of another agent")
            .await;
        Err(ApiError::new(
            ErrorCode::Forbidden,
            "this access belongs to another agent",
        ))
    }

    /// The agent that speaks.
    fn principal(&self, daemon: &Daemon) -> Principal {
        let name = daemon.executions.slot_name(self.execution);
        let open = name.and_then(|name| daemon.slots.find(&name));
        open.map_or(Principal::Untold, |open| Principal::Agent {
            slot: open.slot.id,
            execution: Some(self.execution),
        })
    }

    /// Whoever tried, somebody should see it.
    async fn refused(&self, daemon: &Daemon, what: &str) {
        tracing::warn!(execution = %self.execution, uid = self.uid, what, "execution access refused");
        let event = Event::ExecutionAccessRefused {
            execution: self.execution,
            reason: what.to_owned(),
        };
        if let Err(error) = daemon.timeline.record(event, TraceContext::root()).await {
            tracing::error!(%error, "access refusal not recorded on timeline");
        }
    }
}

fn face(offered: &[SignalType], others: Vec<serde_json::Value>) -> Face {
    let identity = Identity {
        name: MCP_SERVER_NAME.to_owned(),
        version: VERSION.to_owned(),
        instructions: INSTRUCTIONS.to_owned(),
    };
    let tools = tools(offered);
    let described = tools
        .iter()
        .filter_map(|tool| serde_json::to_value(tool).ok());
    Face::new(identity, described.chain(others).collect())
}

impl ExecutionConnection {
    /// Until the peer leaves or misbehaves, the right ends, or the daemon drains.
    async fn listen(&mut self, stream: &Stream, mut decoder: FrameDecoder) {
        let shutdown = self.daemon.shutdown.clone();
        let mut chunk = vec![0; 16 * 1024];
        let mut message_due = None;
        loop {
            while let Some(frame) = decoder.next_frame() {
                let answered = match frame {
                    Frame::Message(line) => self.handle_line(line).await,
                    Frame::TooLarge => {
                        let what = "a message of more than 1 MB";
                        self.caller.refused(&self.daemon, what).await;
                        let message = "a message may have at most 1 MB";
                        let error = ApiError::new(ErrorCode::TooLarge, message);
                        Answer::Say(Response::error_line(None, &error))
                    }
                };
                let sent = match &answered {
                    Answer::Nothing => Ok(()),
                    Answer::Say(line) | Answer::Farewell(line) => write_line(stream, line).await,
                };
                if sent.is_err() || matches!(answered, Answer::Farewell(_)) {
                    return;
                }
            }
            // Due as a whole from its first byte on, as on every connection.
            message_due = match decoder.pending() {
                0 => None,
                _ => message_due.or_else(|| Some(Instant::now() + STALL_LIMIT)),
            };
            let mut reader = stream;
            tokio::select! {
                read = reader.read(&mut chunk) => match read {
                    Ok(0) | Err(_) => return,
                    Ok(read) => decoder.feed(&chunk[..read]),
                },
                Some(line) = self.tools.calls.next(), if !self.tools.calls.is_empty() => {
                    if write_line(stream, &line).await.is_err() {
                        return;
                    }
                }
                () = shutdown.reached(Stage::Draining) => return,
                () = missiond_runtime::sleep_until(message_due) => return,
            }
        }
    }

    async fn handle_line(&mut self, line: &[u8]) -> Answer {
        match Incoming::parse(line) {
            Ok(Incoming::Request(request)) => {
                if let Err(wait) = self.rate.try_acquire(std::time::Instant::now()) {
                    tokio::time::sleep(wait).await;
                }
                if let Err(error) = self.caller.may_speak(&self.daemon).await {
                    let line = Response::error_line(Some(&request.id), &error);
                    return match error.code {
                        ErrorCode::Forbidden => Answer::Farewell(line),
                        _ => Answer::Say(line),
                    };
                }
                if request.method == METHOD_HOOK {
                    return Answer::Say(self.hook(&request).await);
                }
                if request.method == METHOD_TOOL_USE {
                    return Answer::Say(self.tool_use(&request).await);
                }
                if let Some(tool) = self.not_allowed(&request) {
                    return Answer::Say(self.refuse_tool(&request, &tool).await);
                }
                if request.method.starts_with("tools/") {
                    self.list_others().await;
                }
            }
            Ok(Incoming::Notification(notice)) if notice.method == METHOD_OVERSIZED => {
                let params = notice.params.as_deref();
                let params = super::connection::parse::<OversizedParams>(METHOD_OVERSIZED, params);
                if let Ok(OversizedParams { bytes }) = params {
                    let what = format!("a message of {bytes} bytes");
                    self.caller.refused(&self.daemon, &what).await;
                }
                return Answer::Nothing;
            }
            _ => {}
        }
        match self.face.read(line) {
            Step::Say(line) => Answer::Say(line),
            Step::Nothing => Answer::Nothing,
            Step::Call(call) if call.name.contains(SEPARATOR) => self.call_other(call),
            Step::Call(call) => {
                let outcome = self.call(&call).await;
                Answer::Say(call.line(&outcome))
            }
        }
    }

    /// The tool of somebody else's that this calls and the agent may not use.
    fn not_allowed(&self, request: &Request) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
        }
        let params = request.params.as_deref();
        let params = params.filter(|_| request.method == "tools/call")?;
        let Named { name } = serde_json::from_str(params.get()).ok()?;
        let is_refused = name.contains(SEPARATOR) && !self.tools.allowed.allows(&name);
        is_refused.then_some(name)
    }

    /// Such a tool is never shown to the agent, so somebody told it the name: a
    /// person should see that.
    async fn refuse_tool(&mut self, request: &Request, tool: &str) -> Vec<u8> {
        let tool: String = tool.chars().filter(|c| !c.is_control()).take(128).collect();
        let what = format!("the tool `{tool}`, which this agent may not use");
        self.caller.refused(&self.daemon, &what).await;
        let message = format!(
            "`{tool}` is not among the tools this agent may use; `tools` of its slot, or \
             `mcp.agents`, in the configuration says which are"
        );
        let error = ApiError::new(ErrorCode::Forbidden, message);
        Response::error_line(Some(&request.id), &error)
    }

    /// Adds other people's tools to the list, once.
    async fn list_others(&mut self) {
        if self.tools.allowed.is_empty() || self.tools.are_listed {
            return;
        }
        let others = hub_entries(&self.daemon, &self.tools.allowed).await;
        let offered = self.daemon.executions.offered(self.caller.execution);
        self.face = face(&offered, others);
        self.tools.are_listed = true;
    }

    /// Begins a call of somebody else's tool; the agent goes on meanwhile.
    fn call_other(&mut self, call: ToolCall) -> Answer {
        if self.tools.calls.len() >= MOST_CALLS {
            let message = format!("{MOST_CALLS} calls are under way: wait for one of them");
            let error = ApiError::new(ErrorCode::Busy, message);
            return Answer::Say(call.result_line(hub_result(Err(error))));
        }
        let operations = Arc::clone(&self.operations);
        let client = ClientId::new("agent", self.caller.execution, "");
        let principal = self.caller.principal(&self.daemon);
        self.tools.calls.push(Box::pin(async move {
            let arguments: serde_json::Value =
                serde_json::from_str(&call.arguments).unwrap_or_default();
            let params = json!({ "tool": call.name, "arguments": arguments }).to_string();
            let called = match RawValue::from_string(params) {
                Ok(params) => {
                    operations
                        .call("mcp_tool_call", Some(params), principal, &client)
                        .await
                }
                Err(error) => Err(ApiError::internal(error.to_string())),
            };
            call.result_line(hub_result(called))
        }));
        Answer::Nothing
    }

    async fn call(&mut self, call: &ToolCall) -> ToolOutcome {
        let executions = &self.daemon.executions;
        let execution = self.caller.execution;
        match executions
            .signal(execution, &call.name, &call.arguments)
            .await
        {
            Ok(acknowledgement) => outcome(&acknowledgement),
            Err(error) => {
                tracing::error!(%execution, tool = call.name, %error, "agent signal not recorded");
                ToolOutcome {
                    verdict: Verdict::Failed,
                    structured: json!({ "error": error.code(), "detail": error.to_string() }),
                    text: format!("not recorded: {error}"),
                }
            }
        }
    }

    async fn hook(&mut self, request: &Request) -> Vec<u8> {
        let done = async {
            let params: HookParams =
                super::connection::parse(METHOD_HOOK, request.params.as_deref())?;
            let report: HookReport = serde_json::from_str(params.report.get())
                .map_err(|error| ApiError::invalid_params(format!("no hook's report: {error}")))?;
            let executions = &self.daemon.executions;
            let event = report.event.clone();
            executions
                .hook(self.caller.execution, params.sequence, report)
                .await
                .map_err(|error| ApiError::new(error.code(), error.to_string()))?;
            let permissions = &self.daemon.permissions;
            permissions.hook_told(self.caller.execution, &event);
            Ok(())
        };
        match done.await {
            Ok(()) => Response::result_line(&request.id, &json!({})),
            Err(error) => Response::error_line(Some(&request.id), &error),
        }
    }

    /// Whether the agent's program may use a tool.
    async fn tool_use(&mut self, request: &Request) -> Vec<u8> {
        let judged = async {
            let params: ToolUseParams =
                super::connection::parse(METHOD_TOOL_USE, request.params.as_deref())?;
            let used: ToolUse = serde_json::from_str(params.asked.get())
                .map_err(|error| ApiError::invalid_params(format!("no use of a tool: {error}")))?;
            let permissions = &self.daemon.permissions;
            let judged = permissions.judge(self.caller.execution, used).await;
            judged.map_err(|error| ApiError::new(error.code(), error.to_string()))
        };
        match judged.await {
            Ok(answer) => Response::result_line(&request.id, &answer),
            Err(error) => Response::error_line(Some(&request.id), &error),
        }
    }
}

enum Answer {
    Nothing,
    Say(Vec<u8>),
    /// Say it and close.
    Farewell(Vec<u8>),
}

fn outcome(acknowledgement: &Acknowledgement) -> ToolOutcome {
    let verdict = match acknowledgement.outcome {
        Outcome::Rejected { .. } => Verdict::Failed,
        _ => Verdict::Done,
    };
    ToolOutcome {
        verdict,
        structured: serde_json::to_value(acknowledgement).unwrap_or_default(),
        text: acknowledgement.detail.clone(),
    }
}

async fn write_line(stream: &Stream, line: &[u8]) -> std::io::Result<()> {
    let mut writer = stream;
    tokio::time::timeout(STALL_LIMIT, writer.write_all(line)).await?
}
