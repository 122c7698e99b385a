//! Handlers of models: which there are, what was asked of them, and conversations.

use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::llm::{
    LlmModelUsage, LlmModels, LlmModelsPage, LlmModelsParams, LlmProvider, LlmRequest, LlmRequests,
    LlmTest, LlmTestParams, LlmTested, LlmTier, LlmTrace, LlmTraceParams, LlmUsage, LlmUsagePage,
    LlmUsageParams, ModelTier, RouterChat, RouterChatConversation, RouterChatList,
    RouterChatListParams, RouterChatMessage, RouterChatParams, RouterChatReply, RouterChatSession,
    RouterChatSessions, RouterChatShow, RouterChatShowParams,
};
use missiond_llm::gate::{Class, Standing};
use missiond_llm::items::{Item, Message, Request, Role};
use missiond_llm::{Ask, Asker, LlmError, ModelName, Need, ProviderState, Said, Tier};
use missiond_store::StoreError;
use missiond_store::llm::{ChatSession, ModelUsage, RequestFilter, StoredRequest};
use missiond_store::token_usage::begin_of_day;

use crate::call::{Call, Operations};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<LlmModels, _, _>(models);
    operations.add::<LlmTest, _, _>(test);
    operations.add::<LlmUsage, _, _>(usage);
    operations.add::<LlmTrace, _, _>(trace);
    operations.add::<RouterChat, _, _>(chat);
    operations.add::<RouterChatList, _, _>(chat_list);
    operations.add::<RouterChatShow, _, _>(chat_show);
}

/// A test is a word: whoever does not say it by then does not work.
const TEST_LIMIT: Duration = Duration::from_secs(60);

fn stored(error: &StoreError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

fn refused(error: &LlmError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

async fn models(call: Call, params: LlmModelsParams) -> Result<LlmModelsPage, ApiError> {
    let llm = &call.daemon.llm;
    let standing = llm.standing().await;
    let models = match &params.provider {
        Some(name) => llm.models_of(name).await.map_err(|error| refused(&error))?,
        None => Vec::new(),
    };
    let mut tiers = Vec::new();
    for tier in Tier::ALL {
        let need = Need {
            tier: Some(tier),
            ..Need::default()
        };
        let (models, because) = match llm.route(&need).await {
            Ok(route) => (route.models, route.because),
            Err(error) => (Vec::new(), error.to_string()),
        };
        tiers.push(LlmTier {
            tier: wire_tier(tier),
            models: models.iter().map(ToString::to_string).collect(),
            because,
        });
    }
    Ok(LlmModelsPage {
        providers: standing.into_iter().map(provider).collect(),
        tiers,
        models,
    })
}

async fn test(call: Call, params: LlmTestParams) -> Result<LlmTested, ApiError> {
    let llm = &call.daemon.llm;
    let model = ModelName::parse(&params.model).map_err(|error| refused(&error))?;
    // What is parked is asked because a person wants to know.
    let was_parked = llm.unpark(&model.provider).await;
    let was_parked = was_parked.map_err(|error| stored(&error))?;
    let ask = Ask {
        request: Request {
            messages: vec![Message {
                role: Role::User,
                items: vec![Item::Text("Answer with the word ready.".to_owned())],
            }],
            max_output: Some(512),
            ..Request::default()
        },
        models: vec![model],
        class: Class::Person,
        asker: asker(&call, "test"),
        within: TEST_LIMIT,
    };
    let answered = llm.ask(&ask, &mut |_| {}).await;
    let answered = answered.map_err(|error| refused(&error))?;
    Ok(LlmTested {
        model: answered.by.to_string(),
        said: answered.answer.text(),
        answered_by: answered.answer.model,
        first_ms: answered.first_piece.map(millis),
        cost_microdollars: answered.cost,
        request: answered.id,
        was_parked,
    })
}

async fn usage(call: Call, params: LlmUsageParams) -> Result<LlmUsagePage, ApiError> {
    let today = begin_of_day(call.daemon.clock.now());
    let days = u64::from(params.days.to_u32()).saturating_sub(1);
    let since = today.minus(Duration::from_secs(days * 24 * 3600));
    let models = call.daemon.llm.usage(since).await;
    let models = models.map_err(|error| stored(&error))?;
    let of = |used: ModelUsage| LlmModelUsage {
        provider: used.provider,
        model: used.model,
        requests: used.requests,
        failed: used.failed,
        input_tokens: used.input,
        cache_read_tokens: used.cache_read,
        cache_write_tokens: used.cache_write,
        output_tokens: used.output,
        cost_microdollars: used.cost,
        unpriced: used.unpriced,
        reserved_microdollars: used.reserved,
    };
    Ok(LlmUsagePage {
        since,
        models: models.into_iter().map(of).collect(),
    })
}

async fn trace(call: Call, params: LlmTraceParams) -> Result<LlmRequests, ApiError> {
    let filter = RequestFilter {
        id: params.request.map(|id| id.to_string()),
        execution: params.execution,
        task: params.task,
        provider: params.provider.map(|name| name.to_string()),
        trace_id: None,
        since: None,
    };
    let limit = params.limit.to_u32();
    let requests = call.daemon.llm.requests(filter, limit).await;
    let requests = requests.map_err(|error| stored(&error))?;
    Ok(LlmRequests {
        requests: requests.into_iter().map(request).collect(),
    })
}

async fn chat(call: Call, params: RouterChatParams) -> Result<RouterChatReply, ApiError> {
    let model = params.model.as_deref().map(ModelName::parse).transpose();
    let said = Said {
        session: params.session.map(|session| session.to_string()),
        text: params.message.to_string(),
        tier: params.tier.map(tier),
        model: model.map_err(|error| refused(&error))?,
        max_output: params
            .max_output
            .and_then(|most| u32::try_from(most.to_u64()).ok()),
        asker: asker(&call, "router_chat"),
    };
    let reply = call.daemon.llm.chat(said, &mut |_| {}).await;
    let reply = reply.map_err(|error| refused(&error))?;
    let answered = reply.answered;
    Ok(RouterChatReply {
        session: reply.session,
        reply: answered.answer.text(),
        model: answered.by.to_string(),
        because: reply.route.because,
        before: answered.before,
        stop: answered.answer.stop.name().to_owned(),
        cost_microdollars: answered.cost,
        request: answered.id,
    })
}

async fn chat_list(
    call: Call,
    params: RouterChatListParams,
) -> Result<RouterChatSessions, ApiError> {
    let sessions = call.daemon.llm.sessions(params.limit.to_u32()).await;
    let sessions = sessions.map_err(|error| stored(&error))?;
    Ok(RouterChatSessions {
        sessions: sessions.into_iter().map(session).collect(),
    })
}

async fn chat_show(
    call: Call,
    params: RouterChatShowParams,
) -> Result<RouterChatConversation, ApiError> {
    let found = call.daemon.llm.session(&params.session).await;
    let (found, messages) = found.map_err(|error| refused(&error))?;
    let messages = messages.into_iter().map(|message| RouterChatMessage {
        role: message.role,
        text: message.content,
        request: message.request,
        at: message.at,
    });
    Ok(RouterChatConversation {
        session: session(found),
        messages: messages.collect(),
    })
}

fn asker(call: &Call, purpose: &str) -> Asker {
    Asker {
        trace_id: Some(call.trace.trace_id),
        ..Asker::new(&call.principal, purpose)
    }
}

fn provider(state: ProviderState) -> LlmProvider {
    let (standing, until, why) = match (state.gate.parked, state.gate.breaker) {
        (Some(parked), _) => ("parked", Some(parked.until), Some(parked.why)),
        (None, Standing::Closed) => ("ready", None, None),
        (None, Standing::Open { .. }) => ("left_alone", None, None),
        (None, Standing::Probing) => ("probing", None, None),
    };
    let provider = state.provider;
    LlmProvider {
        name: provider.name,
        format: provider.format.name().to_owned(),
        url: provider.base_url,
        found: provider.found,
        key: provider.key.name().to_owned(),
        key_problem: state.key.err().map(|problem| format!("its key {problem}")),
        standing: standing.to_owned(),
        until,
        why,
        running: state.gate.running,
        waiting: state.gate.waiting,
    }
}

fn request(stored: StoredRequest) -> LlmRequest {
    let first = stored.first_piece_at;
    LlmRequest {
        id: stored.id,
        provider: stored.provider,
        format: stored.format,
        model: stored.model,
        answered_by: stored.answered_by,
        purpose: stored.purpose,
        principal: stored.principal,
        execution: stored.execution,
        task: stored.task,
        first_ms: first.map(|at| millis(at.since(stored.started_at))),
        started_at: stored.started_at,
        ended_at: stored.ended_at,
        outcome: stored.outcome,
        failure: stored.failure,
        stop: stored.stop,
        input_tokens: stored.tokens.input,
        cache_read_tokens: stored.tokens.cache_read,
        cache_write_tokens: stored.tokens.cache_write,
        output_tokens: stored.tokens.output,
        cost_microdollars: stored.cost,
        reserved_microdollars: stored.reserved,
        prompt: stored.prompt,
        answer: stored.answer,
    }
}

fn session(kept: ChatSession) -> RouterChatSession {
    RouterChatSession {
        session: kept.id,
        title: kept.title,
        started_at: kept.started_at,
        used_at: kept.used_at,
    }
}

const fn tier(wire: ModelTier) -> Tier {
    match wire {
        ModelTier::Fast => Tier::Fast,
        ModelTier::Default => Tier::Default,
        ModelTier::Premium => Tier::Premium,
    }
}

const fn wire_tier(tier: Tier) -> ModelTier {
    match tier {
        Tier::Fast => ModelTier::Fast,
        Tier::Default => ModelTier::Default,
        Tier::Premium => ModelTier::Premium,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
