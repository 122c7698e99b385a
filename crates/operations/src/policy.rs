//! Handlers of the operations on policies.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::attention::PermissionTestParams;
use missiond_api::operations::policy as api;
use missiond_attention::questions::QuestionError;
use missiond_core::{Question, QuestionOrigin};
use missiond_guard::permissions::Effect;
use missiond_guard::policy::suggest::{Decided, suggest};
use missiond_guard::policy::{
    Considered, Host, NetworkDecision, Outbound, Policies, PolicyProblem, PolicyRule, PolicySource,
    read,
};
use missiond_runtime::blocking;
use missiond_store::permissions;
use missiond_store::questions::QuestionFilter;

use crate::attention::{effect, request_of, wire_layer};
use crate::call::{Call, Operations, of_store};

/// Answers and decisions that proposals are made from.
const MAX_DECIDED: u32 = 5000;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<api::PolicyShow, _, _>(show);
    operations.add::<api::PolicyCheck, _, _>(check);
    operations.add::<api::PolicyExplain, _, _>(explain);
    operations.add::<api::PolicySuggest, _, _>(propose);
}

async fn show(call: Call, params: api::PolicyShowParams) -> Result<api::PolicyPage, ApiError> {
    let folder = folder_of(params.folder.as_deref());
    let files = Arc::clone(call.daemon.permissions.policy_files());
    let (places, policies, mut problems) = blocking(move || {
        (
            files.places(&folder),
            files.of(&folder),
            files.problems(&folder),
        )
    })
    .await;
    problems.extend(policies.broken.clone());
    problems.dedup();
    let wanted = |rule: &&PolicyRule| {
        params
            .layer
            .is_none_or(|layer| layer == wire_layer(rule.layer()))
    };
    let file = |source: PolicySource, file: PathBuf, in_force: bool| api::PolicyFile {
        name: source.name().to_owned(),
        file: file.display().to_string(),
        in_force,
    };
    let mut found = vec![file(
        PolicySource::Person,
        places.person,
        policies.person.is_some(),
    )];
    found.extend(places.repository.map(|place| {
        file(
            PolicySource::Repository,
            place,
            policies.repository.is_some(),
        )
    }));
    let written = [policies.person.as_deref(), policies.repository.as_deref()];
    let warnings = written.into_iter().flatten().flat_map(|one| &one.warnings);
    Ok(api::PolicyPage {
        files: found,
        starter: policies.person.as_ref().is_some_and(|one| one.starter),
        warnings: warnings.map(problem).collect(),
        problems: problems.iter().map(problem).collect(),
        rules: rules_shown(&policies, &wanted),
    })
}

/// The rules in force; where nobody speaks of networks, those that the program brings.
fn rules_shown(policies: &Policies, wanted: &dyn Fn(&&PolicyRule) -> bool) -> Vec<api::PolicyRule> {
    let mut rules: Vec<&PolicyRule> = policies.rules().collect();
    for rule in policies.network_rules() {
        if !rules.iter().any(|known| known.name == rule.name) {
            rules.push(rule);
        }
    }
    let rules = rules.into_iter().filter(|rule| wanted(rule));
    rules
        .map(|rule| api::PolicyRule {
            name: rule.name.clone(),
            line: rule.line,
            layer: wire_layer(rule.layer()),
            effect: effect(rule.effect),
            sentence: rule.sentence(),
        })
        .collect()
}

async fn check(
    _call: Call,
    params: api::PolicyCheckParams,
) -> Result<api::PolicyChecked, ApiError> {
    let source = if params.repository {
        PolicySource::Repository
    } else {
        PolicySource::Person
    };
    let read = read(source, &params.text);
    Ok(match read {
        Ok(policy) => api::PolicyChecked {
            usable: true,
            rules: u32::try_from(policy.rules.len()).unwrap_or(u32::MAX),
            problems: Vec::new(),
            warnings: policy.warnings.iter().map(problem).collect(),
        },
        Err(problems) => api::PolicyChecked {
            usable: false,
            rules: 0,
            problems: problems.iter().map(problem).collect(),
            warnings: Vec::new(),
        },
    })
}

async fn explain(
    call: Call,
    params: api::PolicyExplainParams,
) -> Result<api::PolicyExplanation, ApiError> {
    let folder = folder_of(params.folder.as_deref());
    let permissions = &call.daemon.permissions;
    let in_force = permissions.in_force(&folder).await;
    let in_force = in_force.map_err(|error| of_question(&error))?;
    if let Some(url) = &params.url {
        let method = params.method.as_deref().unwrap_or("GET");
        let decided = reached(in_force.written().policies(), url, method)?;
        return Ok(of_network(decided, url));
    }
    let tool = match (params.tool, &params.argument) {
        (Some(tool), _) => tool,
        (None, Some(_)) => "Bash".to_owned(),
        (None, None) => {
            return Err(ApiError::invalid_params(
                "name a `tool`, an `argument` (a command) or a `url`",
            ));
        }
    };
    let request = request_of(PermissionTestParams {
        tool,
        argument: params.argument,
        path: params.path,
        server: params.server,
        engine: params.engine,
        slot: None,
        folder: params.folder,
    });
    let decided = in_force.decide(&request);
    Ok(api::PolicyExplanation {
        effect: effect(decided.effect),
        layer: decided.layer.map(wire_layer),
        rules: decided.rules,
        reason: decided.reason,
        change: decided.change,
        considered: decided.considered.into_iter().map(considered).collect(),
    })
}

/// What the proxy would say to an address.
fn reached(policies: &Policies, url: &str, method: &str) -> Result<NetworkDecision, ApiError> {
    let invalid = |why: String| ApiError::invalid_params(format!("`url` {why}"));
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| invalid("begins with http:// or https://".to_owned()))?;
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return Err(invalid("begins with http:// or https://".to_owned())),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port = port.map(str::parse).transpose();
    let port = port.map_err(|_| invalid("has no port that is a number".to_owned()))?;
    let host: Host = host.parse().map_err(|error| invalid(format!("{error}")))?;
    let path = if path.starts_with('/') { path } else { "/" };
    let outbound = Outbound {
        host: &host,
        port: port.unwrap_or(usual),
        request: (scheme == "http").then_some((method, path)),
    };
    let mut decided = policies.outbound(&outbound);
    if let Some(address) = host.address()
        && decided.effect == Effect::Allow
        && let Err(why) = policies.address(&host, outbound.port, address)
    {
        decided.effect = Effect::Deny;
        decided.reason = why;
    }
    Ok(decided)
}

fn of_network(decided: NetworkDecision, url: &str) -> api::PolicyExplanation {
    let layer = wire_layer(decided.layer);
    api::PolicyExplanation {
        effect: effect(decided.effect),
        layer: Some(layer),
        considered: vec![api::PolicyConsidered {
            layer,
            subject: url.to_owned(),
            effect: effect(decided.effect),
            rules: decided.rules.clone(),
            reason: decided.reason.clone(),
        }],
        rules: decided.rules,
        reason: decided.reason,
        change: decided.change,
    }
}

async fn propose(
    call: Call,
    params: api::PolicySuggestParams,
) -> Result<api::PolicySuggestions, ApiError> {
    let days = params.days.to_u32();
    let folder = folder_of(params.folder.as_deref());
    let daemon = &call.daemon;
    let now = daemon.clock.now();
    let within = Duration::from_secs(u64::from(days) * 24 * 3600);
    let questions = daemon
        .questions
        .list(QuestionFilter::Newest { limit: MAX_DECIDED })
        .await
        .map_err(|error| of_question(&error))?;
    let by_hand = questions
        .iter()
        .filter(|one| now.since(one.asked_at) <= within)
        .filter_map(by_hand);
    let mut decided: Vec<Decided> = by_hand.collect();
    let by_rules = daemon
        .db
        .read(move |tx| Box::pin(permissions::decisions(tx, MAX_DECIDED)))
        .await
        .map_err(|error| of_store(&error))?;
    // What a rule denied is not proposed; what one allowed needs no other.
    let denied = by_rules.into_iter().map(|row| row.decision);
    decided.extend(
        denied
            .filter(|one| one.effect == "deny" && now.since(one.decided_at) <= within)
            .map(|one| Decided {
                asked: one.asked,
                allowed: false,
            }),
    );
    let in_force = daemon.permissions.in_force(&folder).await;
    let in_force = in_force.map_err(|error| of_question(&error))?;
    let suggestions = suggest(&decided, in_force.written()).into_iter();
    Ok(api::PolicySuggestions {
        days,
        decisions: u32::try_from(decided.len()).unwrap_or(u32::MAX),
        suggestions: suggestions
            .map(|one| api::PolicySuggestion {
                toml: one.toml(),
                layer: wire_layer(one.layer),
                pattern: one.pattern,
                times: one.times,
                examples: one.examples,
            })
            .collect(),
    })
}

/// What a person answered about a permission, if it was one of its own two answers.
fn by_hand(question: &Question) -> Option<Decided> {
    let QuestionOrigin::Dialog {
        permission: Some(asked),
        allows,
        denies,
        ..
    } = &question.origin
    else {
        return None;
    };
    let answer = question.answer.as_ref()?;
    let allowed = Some(answer) == allows.as_ref();
    (allowed || Some(answer) == denies.as_ref()).then(|| Decided {
        asked: asked.as_ref().clone(),
        allowed,
    })
}

fn folder_of(folder: Option<&str>) -> PathBuf {
    Path::new(folder.unwrap_or("/")).to_owned()
}

fn considered(one: Considered) -> api::PolicyConsidered {
    api::PolicyConsidered {
        layer: wire_layer(one.layer),
        subject: one.subject,
        effect: effect(one.effect),
        rules: one.rules,
        reason: one.reason,
    }
}

fn problem(problem: &PolicyProblem) -> api::PolicyProblem {
    api::PolicyProblem {
        file: problem.file.clone(),
        line: problem.line,
        problem: problem.problem.clone(),
    }
}

fn of_question(error: &QuestionError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}
