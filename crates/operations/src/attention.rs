//! Handlers of the operations on questions and permissions.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::attention::permission::{
    PermissionAdd, PermissionList, PermissionRemove, PermissionTest,
};
use missiond_api::operations::attention::{
    GrantParams, GrantScope, MAX_PATTERN, PermissionAddParams, PermissionAddResult,
    PermissionDecision, PermissionEffect, PermissionListParams, PermissionPage, PermissionPart,
    PermissionRemoveParams, PermissionRemoveResult, PermissionRule, PermissionSource,
    PermissionSubject, PermissionTestParams, PermissionVerdict, QuestionAnswer,
    QuestionAnswerParams, QuestionAnswerResult, QuestionDismiss, QuestionDismissParams,
    QuestionList, QuestionListParams, QuestionPage, QuestionResult,
};
use missiond_api::operations::autopilot::AutopilotMode;
use missiond_api::operations::policy::PolicyLayer;
use missiond_attention::permissions::{Grant, GrantFor, KnownRule, RuleSource, path_base};
use missiond_attention::questions::{Answerer, QuestionError};
use missiond_core::{CliEngine, ExecutionId, Question, QuestionOrigin, Text};
use missiond_guard::permissions::{Argument, Effect, Pattern, Request, Rule, Scope};
use missiond_guard::policy::Layer;
use missiond_store::autopilot;
use missiond_store::board::live_attempts;
use missiond_store::permissions;
use missiond_store::questions::QuestionFilter;

use crate::call::{Call, Operations, of_store};

// What the schema says of a pattern is what the guard checks.
const _: () = assert!(MAX_PATTERN == Pattern::MAX_CHARS);

/// The answer that ends a task.
const GIVE_UP: &str = "give up";

/// The tools whose argument is a line for a shell.
const SHELL_TOOLS: [&str; 3] = ["bash", "run", "shell"];

pub(super) fn register(operations: &mut Operations) {
    operations.add::<QuestionList, _, _>(list);
    operations.add::<QuestionAnswer, _, _>(answer);
    operations.add::<QuestionDismiss, _, _>(dismiss);
    operations.add::<PermissionList, _, _>(permission_list);
    operations.add::<PermissionAdd, _, _>(permission_add);
    operations.add::<PermissionRemove, _, _>(permission_remove);
    operations.add::<PermissionTest, _, _>(permission_test);
}

async fn list(call: Call, params: QuestionListParams) -> Result<QuestionPage, ApiError> {
    let limit = params.limit.to_u32();
    let questions = &call.daemon.questions;
    if params.all {
        let newest = questions.list(QuestionFilter::Newest { limit }).await;
        return Ok(QuestionPage {
            questions: newest.map_err(|error| of_question(&error))?,
        });
    }
    let open = questions.attention().await;
    let mut open = open.map_err(|error| of_question(&error))?;
    let live = call.daemon.db.read(|tx| Box::pin(live_attempts(tx))).await;
    let live = live.map_err(|error| of_store(&error))?;
    let working: HashSet<_> = live.iter().filter_map(|one| one.execution).collect();
    open.sort_by_key(|question| urgency(question, &working));
    Ok(QuestionPage { questions: open })
}

/// Who keeps others from working comes first, as in the overview: an agent that holds a
/// place of the autopilot while it waits, then one that holds none.
fn urgency(question: &Question, working: &HashSet<ExecutionId>) -> u8 {
    let execution = question.origin.execution();
    match &question.origin {
        _ if execution.is_some_and(|run| working.contains(&run)) => 0,
        QuestionOrigin::Dialog { .. } | QuestionOrigin::NeedsInput { .. } => 1,
        QuestionOrigin::Task { .. } | QuestionOrigin::Tool { .. } => 2,
    }
}

async fn answer(
    call: Call,
    params: QuestionAnswerParams,
) -> Result<QuestionAnswerResult, ApiError> {
    let reference = params.question;
    let by = who(&call, params.by.as_ref())?;
    let daemon = &call.daemon;
    let rule = match params.grant {
        None => None,
        Some(grant) => {
            let question = daemon.questions.find(reference).await;
            let question = question.map_err(|error| of_question(&error))?;
            let rule = daemon
                .permissions
                .rule_of_grant(&question, &of_grant(&grant));
            Some(rule.map_err(|error| of_question(&error))?)
        }
    };
    let answerer = Answerer {
        name: &by,
        sender: call.sender().await,
    };
    let answered = daemon
        .questions
        .answer(reference, &params.answer, answerer, call.trace)
        .await
        .map_err(|error| of_question(&error))?;
    let granted = match rule {
        None => {
            let reached = daemon.permissions.grant_reach(&answered, &by, call.trace);
            reached.await.map_err(|error| of_question(&error))?
        }
        Some(rule) => {
            let granted = daemon
                .permissions
                .make_grant(rule, &answered, &by, call.trace)
                .await;
            granted.map_err(|error| of_question(&error))?
        }
    };
    Ok(QuestionAnswerResult {
        held_by: held_by(&call, &answered).await?,
        question: answered,
        rule: granted.map(|number| format!("P-{number}")),
    })
}

/// The mode of the autopilot, where an answer about a task waits for another: it begins
/// the next attempt, and who asked is no longer at work. To give a task up needs nobody.
async fn held_by(call: &Call, answered: &Question) -> Result<Option<AutopilotMode>, ApiError> {
    let gives_up = answered.answer.as_deref() == Some(GIVE_UP);
    if answered.task.is_none() || gives_up {
        return Ok(None);
    }
    let asker = answered.origin.execution();
    let read = call.daemon.db.read(move |tx| {
        Box::pin(async move {
            let live = live_attempts(tx).await?;
            let works = live
                .iter()
                .any(|one| one.execution.is_some() && one.execution == asker);
            Ok((works, autopilot::mode(tx).await?.mode))
        })
    });
    let (works, name) = read.await.map_err(|error| of_store(&error))?;
    let mode = crate::autopilot::mode(&name);
    Ok((!works && mode != AutopilotMode::Running).then_some(mode))
}

async fn dismiss(call: Call, params: QuestionDismissParams) -> Result<QuestionResult, ApiError> {
    let questions = &call.daemon.questions;
    let dismissed = questions
        .dismiss(
            params.question,
            params.reason.map(Text::into_string),
            call.principal.name(),
            call.trace,
        )
        .await;
    Ok(QuestionResult {
        question: dismissed.map_err(|error| of_question(&error))?,
    })
}

async fn permission_list(
    call: Call,
    params: PermissionListParams,
) -> Result<PermissionPage, ApiError> {
    let wanted = params.decisions.to_u32();
    let now = call.daemon.clock.now();
    let known = call.daemon.permissions.rules().await;
    let known = known.map_err(|error| of_question(&error))?;
    let decisions = call
        .daemon
        .db
        .read(move |tx| Box::pin(permissions::decisions(tx, wanted)))
        .await
        .map_err(|error| of_store(&error))?;
    Ok(PermissionPage {
        rules: known.into_iter().map(|known| shown(known, now)).collect(),
        decisions: decisions
            .into_iter()
            .map(|row| PermissionDecision {
                slot: row.decision.slot,
                execution: row.decision.execution,
                asked: row.decision.asked,
                effect: row.decision.effect,
                decided_by: row.decision.decided_by,
                reason: row.decision.reason,
                decided_at: row.decision.decided_at,
                outcome: row.outcome,
            })
            .collect(),
    })
}

async fn permission_add(
    call: Call,
    params: PermissionAddParams,
) -> Result<PermissionAddResult, ApiError> {
    let by = who(&call, params.by.as_ref())?;
    let invalid = |error: &dyn std::fmt::Display| ApiError::invalid_params(error.to_string());
    let subject = params.subject;
    let pattern = |text: Option<String>| {
        let parsed = text.map(|text| text.parse()).transpose();
        parsed.map_err(|error| invalid(&error))
    };
    let path = subject.path.map(|text| text.parse()).transpose();
    let now = call.daemon.clock.now();
    let rule = Rule {
        name: "new".to_owned(),
        effect: match params.effect {
            PermissionEffect::Allow => Effect::Allow,
            PermissionEffect::Ask => Effect::Ask,
            PermissionEffect::Deny => Effect::Deny,
        },
        tool: subject
            .tool
            .as_deref()
            .unwrap_or("*")
            .parse()
            .map_err(|error| invalid(&error))?,
        argument: pattern(subject.argument)?,
        path: path.map_err(|error| invalid(&error))?,
        server: pattern(subject.server)?,
        scope: Scope {
            engine: subject.engine,
            slot: subject.slot,
            execution: subject.execution,
            task: subject.task,
            by_sight: subject.by_sight,
        },
        expires_at: params
            .seconds
            .map(|seconds| now.plus(Duration::from_secs(seconds.to_u64()))),
        uses_left: params.uses.map(|uses| uses.to_u32()),
    };
    let permissions = &call.daemon.permissions;
    let number = permissions.add(&rule, None, &by, call.trace).await;
    let number = number.map_err(|error| of_question(&error))?;
    Ok(PermissionAddResult {
        name: format!("P-{number}"),
    })
}

async fn permission_remove(
    call: Call,
    params: PermissionRemoveParams,
) -> Result<PermissionRemoveResult, ApiError> {
    let permissions = &call.daemon.permissions;
    let by = call.principal.name();
    let removed = permissions.remove(&params.rule, by, call.trace).await;
    removed.map_err(|error| of_question(&error))?;
    Ok(PermissionRemoveResult { name: params.rule })
}

async fn permission_test(
    call: Call,
    params: PermissionTestParams,
) -> Result<PermissionVerdict, ApiError> {
    if params.tool.trim().is_empty() {
        return Err(ApiError::invalid_params("`tool` must name a tool"));
    }
    let folder = Path::new(params.folder.as_deref().unwrap_or("/")).to_owned();
    let request = request_of(params);
    let mut commands = match &request.argument {
        Some(Argument::Command(command)) => missiond_guard::permissions::command_parts(command),
        _ => Vec::new(),
    };
    commands.retain(|part| request.argument != Some(Argument::Command(part.clone())));
    let rules = call.daemon.permissions.in_force(&folder).await;
    let rules = rules.map_err(|error| of_question(&error))?;
    let verdict = rules.decide(&request);
    let part = |command: String| {
        let alone = Request {
            argument: Some(Argument::Command(command.clone())),
            ..request.clone()
        };
        let verdict = rules.decide(&alone);
        PermissionPart {
            command,
            effect: effect(verdict.effect),
            rules: verdict.rules,
            reason: verdict.reason,
        }
    };
    let parts = commands.into_iter().map(part).collect();
    Ok(PermissionVerdict {
        effect: effect(verdict.effect),
        rules: verdict.rules,
        reason: verdict.reason,
        layer: verdict.layer.map(wire_layer),
        change: verdict.change,
        parts,
    })
}

/// The request that a use of a tool would be.
pub(super) fn request_of(params: PermissionTestParams) -> Request {
    let folder = params.folder.as_deref().unwrap_or("/");
    let base = path_base(Path::new(folder));
    let runs_commands = SHELL_TOOLS.contains(&params.tool.to_lowercase().as_str());
    Request {
        tool: Some(params.tool),
        server: params.server,
        argument: params.argument.map(Text::into_string).map(|text| {
            if runs_commands {
                Argument::Command(text)
            } else {
                Argument::Text(text)
            }
        }),
        paths: params
            .path
            .map(|path| base.absolute(&path))
            .into_iter()
            .collect(),
        base,
        slot_name: params.slot,
        ..Request::from_engine(params.engine.unwrap_or(CliEngine::Claude))
    }
}

fn shown(known: KnownRule, now: missiond_core::Timestamp) -> PermissionRule {
    let KnownRule { rule, source } = known;
    let in_force = rule.is_in_force(now);
    let (source, created_by, created_at) = match source {
        RuleSource::BuiltIn => (PermissionSource::BuiltIn, None, None),
        RuleSource::Configuration => (PermissionSource::Configuration, None, None),
        RuleSource::Stored {
            created_by,
            created_at,
            ..
        } => (PermissionSource::Added, Some(created_by), Some(created_at)),
    };
    PermissionRule {
        name: rule.name,
        effect: effect(rule.effect),
        subject: PermissionSubject {
            tool: Some(rule.tool.to_string()),
            argument: rule.argument.map(|pattern| pattern.to_string()),
            path: rule.path.map(|pattern| pattern.to_string()),
            server: rule.server.map(|pattern| pattern.to_string()),
            engine: rule.scope.engine,
            slot: rule.scope.slot,
            execution: rule.scope.execution,
            task: rule.scope.task,
            by_sight: rule.scope.by_sight,
        },
        expires_at: rule.expires_at,
        uses_left: rule.uses_left,
        in_force,
        source,
        created_by,
        created_at,
    }
}

pub(super) const fn effect(effect: Effect) -> PermissionEffect {
    match effect {
        Effect::Allow => PermissionEffect::Allow,
        Effect::Ask => PermissionEffect::Ask,
        Effect::Deny => PermissionEffect::Deny,
    }
}

pub(super) const fn wire_layer(layer: Layer) -> PolicyLayer {
    match layer {
        Layer::Shell => PolicyLayer::Shell,
        Layer::Files => PolicyLayer::Files,
        Layer::Network => PolicyLayer::Network,
        Layer::Rest => PolicyLayer::Rest,
    }
}

fn of_grant(grant: &GrantParams) -> Grant {
    let seconds = grant.seconds.map(|seconds| seconds.to_u64());
    Grant {
        for_time: seconds.map(Duration::from_secs),
        scope: match grant.scope {
            GrantScope::Asker => GrantFor::Asker,
            GrantScope::Slot => GrantFor::Slot,
            GrantScope::Execution => GrantFor::Execution,
            GrantScope::Task => GrantFor::Task,
            GrantScope::Everywhere => GrantFor::Everywhere,
        },
        by_sight: grant.by_sight,
    }
}

/// In whose name something is decided: the caller's, with what they call themselves beside
/// it.
fn who(call: &Call, by: Option<&Text<128>>) -> Result<String, ApiError> {
    let by = call.principal.with_note(by.map(|by| &**by));
    if by.contains('\0') {
        return Err(ApiError::invalid_params(
            "`by` is a name, without NUL characters",
        ));
    }
    Ok(by)
}

fn of_question(error: &QuestionError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}
