//! What the app-server tells by itself.

use missiond_core::Timestamp;
use serde_json::Value;

use crate::app_server::items::{self, Stage};
use crate::app_server::{Thread, adopt, error_end, name_turn, thread_of, turn_error, turn_id};
use crate::conversation::Conversation;
use crate::event::{
    Activity, ControlEvent, LimitWindow, Plan, PlanStep, RateLimits, Speaker, StepStatus, Tokens,
    TurnEnd, Usage,
};
use crate::permission::{AgentRequestId, Resolution};
use crate::text::Clipped;

pub(super) fn receive(core: &mut Conversation, method: &str, params: &Value) {
    match method {
        // Of no thread.
        "account/rateLimits/updated" => rate_limits(core, &params["rateLimits"]),
        "warning" | "guardianWarning" => warning(core, params, "message"),
        "configWarning" | "deprecationNotice" => warning(core, params, "summary"),
        "serverRequest/resolved" => resolved(core, params),
        "thread/started" => started(core, &params["thread"]),
        _ if is_of_a_thread(method) => match thread_of(core, params) {
            Some(Thread::Ours(session)) => ours(core, &session, method, params),
            Some(Thread::SubAgent(session)) => {
                core.speak_for(&session);
                both(core, &session, method, params);
            }
            None => {}
        },
        _ => core.unknown_notification(method, params),
    }
}

fn is_of_a_thread(method: &str) -> bool {
    method == "error"
        || method == "model/rerouted"
        || ["thread/", "turn/", "item/"]
            .iter()
            .any(|prefix| method.starts_with(prefix))
}

/// What changes our own session and turn.
fn ours(core: &mut Conversation, session: &str, method: &str, params: &Value) {
    match method {
        "turn/started" => match turn_id(&params["turn"]) {
            Some(id) => name_turn(core, None, id),
            None => core.malformed(method, "turn.id"),
        },
        "turn/completed" => completed(core, &params["turn"]),
        "thread/status/changed" => status(core, &params["status"]),
        "thread/closed" => {
            core.session = None;
            core.emit(ControlEvent::SessionClosed {
                session: session.to_owned(),
            });
        }
        "model/rerouted" => model(core, &params["toModel"]),
        "thread/settings/updated" => model(core, &params["threadSettings"]["model"]),
        _ => both(core, session, method, params),
    }
}

/// What is told of our thread and of a sub-agent's alike.
fn both(core: &mut Conversation, session: &str, method: &str, params: &Value) {
    match method {
        "item/started" => items::receive(core, session, &params["item"], Stage::Started),
        "item/completed" => items::receive(core, session, &params["item"], Stage::Completed),
        "item/agentMessage/delta" | "item/plan/delta" => {
            items::delta(core, params, Speaker::Agent);
        }
        "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
            items::delta(core, params, Speaker::Thought);
        }
        "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
            items::output(core, params, "delta");
        }
        "item/mcpToolCall/progress" => items::output(core, params, "message"),
        "item/fileChange/patchUpdated" => items::patch_updated(core, session, params),
        "turn/plan/updated" => plan(core, params),
        "turn/diff/updated" => {
            let patch = core.clip_at(params, "diff").unwrap_or_default();
            core.emit(ControlEvent::TurnDiff { patch });
        }
        "thread/tokenUsage/updated" => usage(core, &params["tokenUsage"]),
        "thread/name/updated" => {
            let title = core.clip_at(params, "threadName");
            core.emit(ControlEvent::SessionTitled { title });
        }
        "thread/compacted" => core.emit(ControlEvent::ContextCompacted),
        "error" => {
            let error = turn_error(core, &params["error"]);
            let will_retry = params["willRetry"].as_bool().unwrap_or(false);
            core.emit(ControlEvent::Error { error, will_retry });
        }
        _ => core.unknown_notification(method, params),
    }
}

/// Threads that come from ours are sub-agents; ours was told by the answer already.
fn started(core: &mut Conversation, thread: &Value) {
    let (Some(id), Some(parent)) = (thread["id"].as_str(), thread["parentThreadId"].as_str())
    else {
        return;
    };
    let is_ours = core
        .session
        .as_ref()
        .is_some_and(|session| session.id == parent);
    if is_ours || core.children.contains(parent) {
        adopt(core, id);
    }
}

fn completed(core: &mut Conversation, turn: &Value) {
    let Some(id) = turn_id(turn) else {
        return core.malformed("turn/completed", "turn.id");
    };
    let running = core.turn.as_ref().and_then(|turn| turn.id.clone());
    if core.turn.is_none() || running.as_ref().is_some_and(|running| *running != id) {
        return core.out_of_order("the end of a turn that did not run");
    }
    let end = match turn["status"].as_str().unwrap_or_default() {
        "completed" => TurnEnd::Done,
        "interrupted" => TurnEnd::Cancelled,
        "failed" => error_end(turn_error(core, &turn["error"])),
        unknown => TurnEnd::Unknown(Clipped::new(unknown, 64).text),
    };
    if let TurnEnd::AuthenticationRequired(error) = &end {
        core.emit(ControlEvent::AuthenticationRequired {
            methods: Vec::new(),
            error: error.clone(),
        });
    }
    if running.is_none() {
        name_turn(core, None, id);
    }
    core.end_turn(end, None);
}

fn status(core: &mut Conversation, status: &Value) {
    let has = |flag: &str| {
        status["activeFlags"]
            .as_array()
            .is_some_and(|flags| flags.iter().any(|f| f == flag))
    };
    let activity = match status["type"].as_str().unwrap_or_default() {
        "idle" => Activity::Idle,
        "systemError" => Activity::Broken,
        "active" if has("waitingOnApproval") => Activity::WaitsForApproval,
        "active" if has("waitingOnUserInput") => Activity::WaitsForInput,
        "active" => Activity::Running,
        unknown => Activity::Unknown(Clipped::new(unknown, 64).text),
    };
    if core.activity.as_ref() != Some(&activity) {
        core.activity = Some(activity.clone());
        core.emit(ControlEvent::ActivityChanged { activity });
    }
}

fn plan(core: &mut Conversation, params: &Value) {
    let steps = core
        .list(params, "plan")
        .iter()
        .map(|step| PlanStep {
            text: core.clip_at(step, "step").unwrap_or_default(),
            status: match step["status"].as_str().unwrap_or_default() {
                "pending" => StepStatus::Pending,
                "inProgress" => StepStatus::Running,
                "completed" => StepStatus::Completed,
                unknown => StepStatus::Unknown(Clipped::new(unknown, 64).text),
            },
            priority: None,
        })
        .collect();
    let explanation = core.clip_at(params, "explanation");
    core.emit(ControlEvent::Plan(Plan {
        id: None,
        explanation,
        steps,
    }));
}

fn usage(core: &mut Conversation, usage: &Value) {
    core.emit(ControlEvent::UsageChanged(Usage {
        // What the last answer of the model had before it and added.
        context_used: usage["last"]["totalTokens"].as_u64(),
        context_size: usage["modelContextWindow"].as_u64(),
        request: Some(tokens(&usage["last"])),
        session: Some(tokens(&usage["total"])),
        ..Usage::default()
    }));
}

fn tokens(counted: &Value) -> Tokens {
    let count = |member: &str| counted[member].as_u64();
    let cached = count("cachedInputTokens");
    let input = count("inputTokens");
    Tokens {
        // Counted with what came from a cache.
        input: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        output: count("outputTokens"),
        cached_read: cached,
        cached_write: count("cacheWriteInputTokens"),
        reasoning: count("reasoningOutputTokens"),
        total: count("totalTokens"),
    }
}

/// Sent after every answer of a model; with a key instead of an account all is null.
fn rate_limits(core: &mut Conversation, limits: &Value) {
    let windows: Vec<LimitWindow> = ["primary", "secondary"]
        .iter()
        .filter(|name| limits[**name].is_object())
        .map(|name| {
            let window = &limits[*name];
            LimitWindow {
                name: (*name).to_owned(),
                used_percent: window["usedPercent"].as_f64(),
                minutes: window["windowDurationMins"].as_u64(),
                resets_at: window["resetsAt"]
                    .as_i64()
                    .map(|seconds| Timestamp::from_micros(seconds.saturating_mul(1_000_000))),
            }
        })
        .collect();
    let reached = core.clip_at(limits, "rateLimitReachedType");
    if windows.is_empty() && reached.is_none() {
        return;
    }
    let event = ControlEvent::RateLimitsChanged(RateLimits {
        id: core.clip_at(limits, "limitId"),
        plan: core.clip_at(limits, "planType"),
        windows,
        reached,
    });
    core.emit(event);
}

fn model(core: &mut Conversation, model: &Value) {
    if let Some(model) = model.as_str() {
        let model = Clipped::new(model, 256).text;
        core.emit(ControlEvent::ModelChanged { model });
    }
}

fn warning(core: &mut Conversation, params: &Value, member: &str) {
    let message = core.clip_at(params, member).unwrap_or_default();
    core.emit(ControlEvent::Warning { message });
}

/// A request of the server's was answered, here or by another of its clients, or its
/// turn ended.
fn resolved(core: &mut Conversation, params: &Value) {
    let id = match &params["requestId"] {
        Value::String(text) => AgentRequestId::Text(text.clone()),
        number => match number.as_i64() {
            Some(number) => AgentRequestId::Number(number),
            None => return core.malformed("serverRequest/resolved", "requestId"),
        },
    };
    core.settle(&id, Resolution::Withdrawn);
}
