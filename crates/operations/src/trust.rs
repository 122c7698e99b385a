//! Handlers of the operations on trust, and the facts that calls of tools leave.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::trust::{
    TrustExplain, TrustExplanation, TrustLine, TrustList, TrustPage, TrustPart, TrustRecord,
    TrustReset, TrustResetParams, TrustStanding, TrustSubjectParams,
};
use missiond_attention::permissions::TrustScores;
use missiond_core::ErrorCode;
use missiond_guard::trust::{BEGINNING, DENY_BELOW, Score, Standing, Subject, SubjectKind};
use missiond_store::trust_facts::{self, TrustFact};

use crate::call::{Call, Operations, of_store};
use crate::state::Daemon;

/// Facts that are told of one subject.
const MOST_FACTS: usize = 50;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<TrustList, _, _>(list);
    operations.add::<TrustExplain, _, _>(explain);
    operations.add::<TrustReset, _, _>(reset);
}

async fn list(call: Call, _: NoParams) -> Result<TrustPage, ApiError> {
    let scores = scores(&call.daemon).await?;
    let lines = scores.sorted().into_iter();
    Ok(TrustPage {
        subjects: lines.map(|(subject, score)| line(subject, score)).collect(),
    })
}

async fn explain(call: Call, params: TrustSubjectParams) -> Result<TrustExplanation, ApiError> {
    explained(&call, parsed(&params.subject)?).await
}

async fn reset(call: Call, params: TrustResetParams) -> Result<TrustExplanation, ApiError> {
    let subject = parsed(&params.subject)?;
    let (name, now) = (subject.to_string(), call.daemon.clock.now());
    let by = call.principal.name();
    let written = call.daemon.db.write(move |tx| {
        let name = name.clone();
        Box::pin(async move { trust_facts::record(tx, &name, "reset", Some(by), now).await })
    });
    written.await.map_err(|error| of_store(&error))?;
    call.daemon.questions.recheck_dialogs();
    explained(&call, subject).await
}

async fn explained(call: &Call, subject: Subject) -> Result<TrustExplanation, ApiError> {
    let name = subject.to_string();
    let facts = call
        .daemon
        .db
        .read(move |tx| Box::pin(async move { trust_facts::of(tx, &name).await }));
    let facts = facts.await.map_err(|error| of_store(&error))?;
    if facts.is_empty() {
        let message =
            format!("nothing is on record about {subject}; `mission trust list` lists what is");
        return Err(ApiError::new(ErrorCode::NotFound, message));
    }
    let scores = TrustScores::of(&facts, call.daemon.clock.now());
    let score = scores
        .get(&subject)
        .ok_or_else(|| ApiError::internal("a newer version wrote what is on record about it"))?;
    let part = |part: &missiond_guard::trust::Part| TrustPart {
        kind: part.kind.as_str().to_owned(),
        count: part.count,
        points: part.points,
    };
    let record = |fact: TrustFact| TrustRecord {
        kind: fact.kind,
        at: fact.at,
        count: fact.count,
        note: fact.note,
    };
    Ok(TrustExplanation {
        line: line(&subject, score),
        begins_with: u32::try_from(BEGINNING).unwrap_or_default(),
        parts: score.parts.iter().map(part).collect(),
        facts: facts
            .into_iter()
            .rev()
            .take(MOST_FACTS)
            .map(record)
            .collect(),
    })
}

fn parsed(text: &str) -> Result<Subject, ApiError> {
    text.parse()
        .map_err(|error: missiond_guard::trust::InvalidSubject| {
            ApiError::invalid_params(error.to_string())
        })
}

fn line(subject: &Subject, score: &Score) -> TrustLine {
    TrustLine {
        subject: subject.to_string(),
        score: score.score,
        standing: match score.standing() {
            Standing::Trusted => TrustStanding::Trusted,
            Standing::Doubted => TrustStanding::Ask,
            Standing::Denied => TrustStanding::Deny,
        },
    }
}

async fn scores(daemon: &Daemon) -> Result<TrustScores, ApiError> {
    let scores = daemon.permissions.trust().await;
    scores.map_err(|error| ApiError::new(error.code(), error.to_string()))
}

fn of_tool(server: &str, tool: &str) -> [Subject; 2] {
    [
        Subject::new(SubjectKind::Server, server),
        Subject::new(SubjectKind::Tool, format!("{server}__{tool}")),
    ]
}

/// Whether a call of somebody who is no person may be handed to this tool.
pub(crate) async fn admit(call: &Call, server: &str, tool: &str) -> Result<(), ApiError> {
    if call.principal.is_person() {
        return Ok(());
    }
    let scores = scores(&call.daemon).await?;
    for subject in of_tool(server, tool) {
        let score = scores.get(&subject);
        if let Some(score) = score.filter(|score| score.standing() == Standing::Denied) {
            return Err(ApiError::new(
                ErrorCode::Forbidden,
                format!(
                    "the trust in {subject} is {} of 1000, and below {DENY_BELOW} only a person may \
                     call it (`mission trust explain {subject}`)",
                    score.score
                ),
            ));
        }
    }
    Ok(())
}

/// Counts how a call of a tool ended. Beside the answer, which does not wait for it.
pub(crate) fn called(daemon: &Daemon, server: &str, tool: &str, answered: bool) {
    let kind = if answered { "answered" } else { "errored" };
    let subjects = of_tool(server, tool).map(|subject| subject.to_string());
    let (db, now) = (daemon.db.clone(), daemon.clock.now());
    let work = async move {
        let counted = db.write(move |tx| {
            let subjects = subjects.clone();
            Box::pin(async move {
                for subject in &subjects {
                    trust_facts::count(tx, subject, kind, now).await?;
                }
                Ok(())
            })
        });
        if let Err(error) = counted.await {
            tracing::warn!(%error, "call of a tool not counted");
        }
    };
    let panics = missiond_runtime::OnPanic::Report;
    daemon
        .supervisor
        .spawn("tool call record", None, panics, work);
}

/// Puts a fact about a server on record that a person caused.
pub(crate) async fn note_server(
    call: &Call,
    server: &str,
    kind: &'static str,
) -> Result<(), ApiError> {
    let subject = Subject::new(SubjectKind::Server, server).to_string();
    let now = call.daemon.clock.now();
    let written = call.daemon.db.write(move |tx| {
        let subject = subject.clone();
        Box::pin(async move { trust_facts::record(tx, &subject, kind, None, now).await })
    });
    written.await.map_err(|error| of_store(&error))
}
