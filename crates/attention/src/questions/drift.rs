//! What a person is asked when an agent is not what it was started with: the difference, and
//! whether the run goes on or ends. The run is held by its executions until then; here it is
//! only asked and brought back.

use missiond_core::{ExecutionId, Question, QuestionOrigin, TraceContext};
use missiond_executions::{GO_ON, STOP};
use missiond_store::run_surfaces::RunDrift;

use super::reach::reach_asked;
use super::{NewQuestion, QuestionError, Questions};

/// How the key of such a question begins; behind it stands what was found.
const KEY: &str = "drift/";

/// The run and the difference a question is about, if it is one of these.
fn subject(origin: &QuestionOrigin) -> Option<(ExecutionId, &str)> {
    match origin {
        QuestionOrigin::Tool {
            execution: Some(execution),
            key,
        } => Some((*execution, key.strip_prefix(KEY)?)),
        _ => None,
    }
}

impl Questions {
    /// Asks about every difference that nobody has decided about.
    pub(super) async fn reconcile_drifts(&self) -> Result<(), QuestionError> {
        for drift in self.executions.undecided_drifts().await? {
            self.ask_about_drift(drift).await?;
        }
        Ok(())
    }

    /// Asks about one that was found now.
    pub(super) async fn handle_drift(
        &self,
        execution: ExecutionId,
        digest: &str,
    ) -> Result<(), QuestionError> {
        match self.executions.found_drift(execution, digest).await? {
            Some(drift) if drift.decision.is_none() => self.ask_about_drift(drift).await,
            _ => Ok(()),
        }
    }

    async fn ask_about_drift(&self, drift: RunDrift) -> Result<(), QuestionError> {
        let names: Vec<_> = drift
            .changes
            .iter()
            .filter_map(|said| said.lines().next())
            .collect();
        let slot = self.executions.slot_name(drift.execution);
        let new = NewQuestion {
            origin: QuestionOrigin::Tool {
                execution: Some(drift.execution),
                key: format!("{KEY}{}", drift.digest),
            },
            question: format!(
                "What {} was started with has changed: {}. Does it go on?",
                slot.as_deref().unwrap_or("this agent"),
                names.join(", ")
            ),
            context: Some(drift.changes.join("\n\n")),
            options: vec![GO_ON.to_owned(), STOP.to_owned()],
            blocks: 0,
        };
        let trace = self.executions.trace(drift.execution);
        let trace = trace.unwrap_or_else(TraceContext::root);
        let raised = self.raise(new, trace).await?;
        // It was answered, and the daemon ended before the answer arrived.
        let question = self.find(missiond_core::QuestionRef::Id(raised)).await?;
        self.settle_drift(&question).await
    }

    /// Brings the answer to the run; nothing for other questions.
    pub(super) async fn settle_drift(&self, question: &Question) -> Result<(), QuestionError> {
        if let (Some((execution, digest)), Some(answer)) =
            (subject(&question.origin), &question.answer)
        {
            self.executions
                .decide_drift(execution, digest, answer)
                .await?;
        }
        Ok(())
    }

    /// A run that has ended asks nothing any more, and wants to reach nothing.
    pub(super) async fn close_asked_for(
        &self,
        execution: ExecutionId,
    ) -> Result<(), QuestionError> {
        let filter = missiond_store::questions::QuestionFilter::OpenOfExecution(execution);
        for question in self.list(filter).await? {
            let origin = &question.origin;
            if subject(origin).is_some() || reach_asked(origin).is_some() {
                self.close_gone(question.id, "the execution has ended")
                    .await?;
            }
        }
        Ok(())
    }
}
