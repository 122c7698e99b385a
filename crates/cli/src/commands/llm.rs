//! `mission llm …`: models, what was asked of them, conversations.

use std::process::ExitCode;

use missiond_api::operations::llm::{
    LlmModelUsage, LlmModels, LlmModelsPage, LlmModelsParams, LlmProvider, LlmRequest, LlmTest,
    LlmTestParams, LlmTrace, LlmTraceParams, LlmUsage, LlmUsageParams, RouterChat, RouterChatList,
    RouterChatListParams, RouterChatParams, RouterChatShow, RouterChatShowParams,
};

use crate::args::LlmCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, dollars, moment, printable};

pub(super) fn run(
    command: LlmCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        LlmCommand::Models { provider } => {
            let page = client.call::<LlmModels>(&LlmModelsParams { provider })?;
            output.result(&page, show_models);
        }
        LlmCommand::Test { model } => {
            let tested = client.call::<LlmTest>(&LlmTestParams { model })?;
            output.result(&tested, |output, tested| {
                let time = tested
                    .first_ms
                    .map_or_else(String::new, |ms| format!(", {ms} ms"));
                output.line(format!(
                    "{} answered ({}{time}, {}): {}",
                    printable(&tested.model),
                    printable(&tested.answered_by),
                    cost(tested.cost_microdollars),
                    printable(tested.said.trim())
                ));
                if tested.was_parked {
                    output.line("It was parked, and is used again.");
                }
            });
        }
        LlmCommand::Chat { list: true, .. } => {
            let page = client.call::<RouterChatList>(&RouterChatListParams::default())?;
            output.result(&page, |output, page| {
                if page.sessions.is_empty() {
                    output.line("No conversation is kept.");
                    return;
                }
                let rows: Vec<_> = page
                    .sessions
                    .iter()
                    .map(|one| {
                        vec![
                            one.session.clone(),
                            moment(one.used_at),
                            printable(&one.title),
                        ]
                    })
                    .collect();
                output.table(&["session", "last used", "begins with"], &rows);
            });
        }
        LlmCommand::Chat {
            show: Some(session),
            ..
        } => {
            let shown = client.call::<RouterChatShow>(&RouterChatShowParams { session })?;
            output.result(&shown, |output, shown| {
                for message in &shown.messages {
                    let who = output.paint.apply(Style::Bold, &message.role);
                    output.line(format!("{who} {}", moment(message.at)));
                    output.line(printable(&message.text));
                }
            });
        }
        LlmCommand::Chat {
            message,
            session,
            tier,
            model,
            max_output,
            ..
        } => {
            let Some(message) = message else {
                return Ok(ExitCode::FAILURE);
            };
            let reply = client.call::<RouterChat>(&RouterChatParams {
                message,
                session,
                tier: tier.map(Into::into),
                model,
                max_output,
            })?;
            output.result(&reply, |output, reply| {
                output.line(printable(&reply.reply));
                for tried in &reply.before {
                    output.notice(&format!("before: {}", printable(tried)));
                }
                output.notice(&format!(
                    "{} ({}; {}); go on with --session {}",
                    printable(&reply.model),
                    printable(&reply.because),
                    cost(reply.cost_microdollars),
                    reply.session
                ));
            });
        }
        LlmCommand::Usage { days } => {
            let page = client.call::<LlmUsage>(&LlmUsageParams { days })?;
            output.result(&page, |output, page| {
                if page.models.is_empty() {
                    output.line("No model was asked in these days.");
                    return;
                }
                let rows: Vec<_> = page.models.iter().map(used).collect();
                let head = [
                    "provider", "model", "requests", "failed", "input", "cached", "output", "cost",
                ];
                output.table(&head, &rows);
            });
        }
        LlmCommand::Trace {
            request,
            execution,
            task,
            provider,
            limit,
        } => {
            let page = client.call::<LlmTrace>(&LlmTraceParams {
                request,
                execution,
                task,
                provider,
                limit,
            })?;
            output.result(&page, |output, page| {
                if page.requests.is_empty() {
                    output.line("No request to a model is on record.");
                    return;
                }
                let rows: Vec<_> = page.requests.iter().map(traced).collect();
                let head = [
                    "request", "at", "who", "model", "in", "out", "cost", "first", "outcome",
                ];
                output.table(&head, &rows);
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_models(output: &mut Output, page: &LlmModelsPage) {
    if page.providers.is_empty() {
        output.line(
            "No provider of models is configured (`llm.providers`), and no Ollama runs on this \
             machine.",
        );
    } else {
        let rows: Vec<_> = page.providers.iter().map(provider).collect();
        output.table(&["provider", "format", "key", "standing", "url"], &rows);
    }
    for tier in &page.tiers {
        let name = format!("{:?}", tier.tier).to_lowercase();
        let models = match tier.models.join(", ") {
            none if none.is_empty() => "nothing".to_owned(),
            models => printable(&models),
        };
        let because = output.paint.apply(Style::Dim, &printable(&tier.because));
        output.line(format!("{name:<8} {models}  {because}"));
    }
    for model in &page.models {
        output.line(printable(model));
    }
}

fn provider(one: &LlmProvider) -> Vec<String> {
    let standing = match (one.until, &one.why) {
        (Some(until), Some(why)) => {
            format!(
                "{} until {}: {}",
                one.standing,
                moment(until),
                printable(why)
            )
        }
        _ => one.standing.replace('_', " "),
    };
    let key = match &one.key_problem {
        Some(problem) => format!("{}: {}", one.key, printable(problem)),
        None => one.key.clone(),
    };
    let name = if one.found {
        format!("{} (found)", one.name)
    } else {
        one.name.clone()
    };
    vec![name, one.format.clone(), key, standing, printable(&one.url)]
}

fn used(one: &LlmModelUsage) -> Vec<String> {
    let mut cost = dollars(one.cost_microdollars);
    if one.unpriced > 0 {
        cost = format!("{cost}, and {} of unknown price", one.unpriced);
    }
    vec![
        one.provider.clone(),
        printable(&one.model),
        one.requests.to_string(),
        one.failed.to_string(),
        one.input_tokens.to_string(),
        one.cache_read_tokens.to_string(),
        one.output_tokens.to_string(),
        cost,
    ]
}

fn traced(one: &LlmRequest) -> Vec<String> {
    let count = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    let outcome = match (&one.outcome, &one.failure) {
        (Some(outcome), Some(why)) => format!("{outcome}: {}", printable(why)),
        (Some(outcome), None) => outcome.clone(),
        (None, _) => "under way".to_owned(),
    };
    vec![
        one.id.clone(),
        moment(one.started_at),
        format!("{} ({})", printable(&one.principal), one.purpose),
        format!("{}/{}", one.provider, printable(&one.model)),
        count(one.input_tokens),
        count(one.output_tokens),
        cost(one.cost_microdollars),
        one.first_ms
            .map_or_else(String::new, |ms| format!("{ms} ms")),
        outcome,
    ]
}

fn cost(micro: Option<u64>) -> String {
    micro.map_or_else(|| "cost unknown".to_owned(), dollars)
}
