//! The questions agents ask in structure (`needs_input`): each open request in a
//! journal is a question, and a question whose request is no longer open is
//! closed by what became of it. Both are found by looking at the journals, so
//! nothing depends on having heard every event.

use std::sync::Arc;
use std::time::Duration;

use missiond_core::{Event, ExecutionId, Question, QuestionOrigin, TraceContext};
use missiond_executions::AskedInput;
use missiond_store::questions::QuestionFilter;
use missiond_timeline::{FollowError, Follower};

use super::{NewQuestion, QuestionError, Questions};

/// Before the timeline or a journal that could not be read is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Follows what agents ask. Without a follower it begins anew: what was asked
/// meanwhile is looked for.
pub(super) async fn follow(questions: Arc<Questions>, follower: Option<Follower>) {
    let mut follower = match follower {
        Some(follower) => follower,
        None => {
            let follower = questions.timeline.follow();
            if let Err(error) = questions.reconcile_inputs().await {
                tracing::error!(%error, "agent questions not refreshed");
            }
            follower
        }
    };
    loop {
        let event = match follower.next().await {
            Ok(event) => event,
            Err(FollowError::Closed) => return,
            Err(FollowError::Store(error)) => {
                tracing::error!(%error, "timeline read failed, retrying");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        let execution = match &event.event {
            Event::InputRequested { execution, .. }
            | Event::ExecutionStateChanged { execution, .. }
            | Event::ExecutionEnded { execution, .. } => *execution,
            Event::RunDrifted {
                execution, digest, ..
            } => {
                if let Err(error) = questions.handle_drift(*execution, digest).await {
                    tracing::error!(%execution, %error, "drift of run not asked about");
                }
                continue;
            }
            _ => continue,
        };
        if let Event::ExecutionEnded { execution, .. } = &event.event
            && let Err(error) = questions.close_asked_for(*execution).await
        {
            tracing::error!(%execution, %error, "questions about run not closed");
        }
        if let Err(error) = questions.reconcile_execution(execution).await {
            tracing::error!(%execution, %error, "execution questions not refreshed");
        }
    }
}

impl Questions {
    /// Brings the questions of all agents in line with their journals.
    pub(super) async fn reconcile_inputs(&self) -> Result<(), QuestionError> {
        let mut executions = self.executions.running_here();
        for question in self.list(QuestionFilter::Open).await? {
            if let QuestionOrigin::NeedsInput { execution, .. } = question.origin
                && !executions.contains(&execution)
                && self.executions.is_ours(execution).await?
            {
                executions.push(execution);
            }
        }
        for execution in executions {
            self.reconcile_execution(execution).await?;
        }
        Ok(())
    }

    async fn reconcile_execution(&self, execution: ExecutionId) -> Result<(), QuestionError> {
        for asked in self.executions.open_requests(execution)? {
            let task = self.executions.in_slot(asked.slot);
            let task = task.and_then(|(_, task)| task);
            let new = NewQuestion {
                origin: QuestionOrigin::NeedsInput {
                    execution,
                    slot: asked.slot,
                    request: asked.request,
                },
                question: asked.question,
                context: None,
                options: asked.choices,
                blocks: self.waiting_for(task).await?,
            };
            self.raise(new, TraceContext::root()).await?;
        }
        let filter = QuestionFilter::OpenOfExecution(execution);
        for question in self.list(filter).await? {
            self.close_if_settled(&question).await?;
        }
        Ok(())
    }

    async fn close_if_settled(&self, question: &Question) -> Result<(), QuestionError> {
        let QuestionOrigin::NeedsInput {
            execution, request, ..
        } = question.origin
        else {
            return Ok(());
        };
        let became = self.executions.asked_input(execution, request).await?;
        // In this order: an answer that is in the journal was under way before.
        if self.under_way.has(execution, request) {
            return Ok(());
        }
        match became {
            AskedInput::Open => Ok(()),
            AskedInput::Answered(answer) => self.settle(question.id, answer, "person").await,
            AskedInput::Withdrawn => {
                self.close_gone(question.id, "the agent no longer waits for it")
                    .await
            }
            AskedInput::Ended => {
                self.close_gone(question.id, "the execution has ended")
                    .await
            }
        }
    }
}
