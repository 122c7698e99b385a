//! The answer to a hook: may this tool be used with exactly this input?
//!
//! It is the same decision as that about a dialog, taken where nothing can be painted
//! and where the CLI obeys whatever its own mode and settings allow. What a rule denies
//! does not run, what a rule asks about is asked, what a rule allows needs no dialog, and
//! on what no rule knows the CLI does as it was started. A decision is on record before
//! it is told, once: a dialog that is drawn for the same use all the same is answered
//! with it.

use std::path::PathBuf;

use missiond_adapters::{HookEvent, ToolUse, ToolUseAnswer, ToolUseVerdict};
use missiond_core::{Controller, ExecutionId, SlotId};
use missiond_executions::OWN_SERVER;
use missiond_guard::ToolCall;
use missiond_guard::permissions::{Effect, Request, Verdict};
use missiond_slots::OpenSlot;

use super::{Permissions, path_base, request};
use crate::announced::{Allowed, AnnouncedUse};
use crate::questions::QuestionError;

/// A rule that is used up between its decision and its record is decided without; more
/// often than this that is no accident.
const TRIES: usize = 3;

impl Permissions {
    /// Decides about a tool that the program of an execution is about to use.
    pub async fn judge(
        &self,
        execution: ExecutionId,
        used: ToolUse,
    ) -> Result<ToolUseAnswer, QuestionError> {
        let name = self.executions.slot_name(execution);
        let open = name.and_then(|name| self.slots.find(&name));
        let open = open.ok_or_else(|| {
            QuestionError::Invalid("the execution of this agent has ended".to_owned())
        })?;
        if open.controller() == Controller::Structured
            && let Some(call) = &used.call
        {
            self.executions.hook_asked(execution, call, &used.input);
        }
        if is_own(&used) {
            return Ok(leave());
        }
        let request = match self.request_of(&open, execution, &used).await {
            Ok(request) => request,
            Err(why) => {
                return Ok(ToolUseAnswer {
                    verdict: ToolUseVerdict::Ask,
                    reason: format!("no rule can judge this use of {}: {why}", used.tool),
                });
            }
        };
        let mut announced = AnnouncedUse {
            tool: used.told_as.clone(),
            call: used.call.clone(),
            digest: used.digest.clone(),
            request,
            allowed: None,
        };
        let (verdict, recorded) = self.decided(&open, execution, &used, &announced).await?;
        let answer = answer(&verdict, recorded.is_some());
        if answer.verdict != ToolUseVerdict::Deny && open.controller() == Controller::Terminal {
            let decision = recorded.filter(|_| verdict.effect == Effect::Allow);
            announced.allowed = decision.map(|decision| Allowed { decision, verdict });
            self.questions.announced().put(open.slot.id, announced);
        }
        Ok(answer)
    }

    /// What a hook told of the course of its tools and turns.
    pub fn hook_told(&self, execution: ExecutionId, event: &HookEvent) {
        let name = self.executions.slot_name(execution);
        let Some(open) = name.and_then(|name| self.slots.find(&name)) else {
            return;
        };
        let (slot, announced) = (open.slot.id, self.questions.announced());
        match event {
            HookEvent::ToolEnded { tool, call } => announced.end(slot, call.as_deref(), tool),
            HookEvent::ConversationStarted
            | HookEvent::Prompted
            | HookEvent::TurnEnded
            | HookEvent::ConversationEnded { .. } => announced.end_all(slot),
            HookEvent::ToolStarting { .. }
            | HookEvent::Waiting { .. }
            | HookEvent::SubagentEnded => {}
        }
    }

    /// The verdict, and the number of its record where it decides.
    async fn decided(
        &self,
        open: &OpenSlot,
        execution: ExecutionId,
        used: &ToolUse,
        announced: &AnnouncedUse,
    ) -> Result<(Verdict, Option<i64>), QuestionError> {
        let slot = open.slot.id;
        for _ in 0..TRIES {
            let verdict = self.decide(&announced.request).await?;
            let outcome = match verdict.effect {
                Effect::Deny => "refused",
                // What may only be planned is not allowed by a rule on doing it.
                Effect::Allow if !used.plans_only => "allowed",
                Effect::Allow | Effect::Ask => return Ok((verdict, None)),
            };
            let asked = announced.asked();
            let recorded = self.record_decision(slot, Some(execution), asked, &verdict);
            let recorded = recorded.await?;
            if let Some(decision) = recorded {
                self.settle(decision, outcome).await?;
                log(slot, outcome, &verdict);
                return Ok((verdict, Some(decision)));
            }
        }
        let verdict = Verdict {
            effect: Effect::Ask,
            rules: Vec::new(),
            reason: "the rules on it changed while it was decided".to_owned(),
        };
        Ok((verdict, None))
    }

    async fn request_of(
        &self,
        open: &OpenSlot,
        execution: ExecutionId,
        used: &ToolUse,
    ) -> Result<Request, String> {
        let folder = used.cwd.as_ref().map(PathBuf::from);
        let folder = folder.filter(|folder| folder.is_absolute());
        let base = path_base(&folder.unwrap_or_else(|| open.record.cwd.clone()));
        let call = ToolCall {
            tool: Some(&used.tool),
            server: used.server.as_deref(),
            argument: &used.input,
            cwd: Some(&base.folder),
            home: base.home.as_deref(),
        };
        let mut request = call.request()?;
        request.paths = request::every_name_of(request.paths).await;
        let task = self.executions.in_slot(open.slot.id);
        Ok(Request {
            engine: open.slot.engine.clone(),
            slot: Some(open.slot.id),
            slot_name: Some(open.slot.name.clone()),
            execution: Some(execution),
            task: task.and_then(|(_, task)| task),
            ..request
        })
    }
}

/// The tools by which an agent reports to us ask nobody.
fn is_own(used: &ToolUse) -> bool {
    let of_server = used.tool.strip_prefix("mcp__");
    let named = of_server.and_then(|rest| rest.split_once("__"));
    let server = used.server.as_deref().or(named.map(|(server, _)| server));
    server == Some(OWN_SERVER)
}

fn answer(verdict: &Verdict, recorded: bool) -> ToolUseAnswer {
    let word = match verdict.effect {
        Effect::Deny => ToolUseVerdict::Deny,
        Effect::Allow if recorded => ToolUseVerdict::Allow,
        Effect::Ask if !verdict.rules.is_empty() => ToolUseVerdict::Ask,
        Effect::Allow | Effect::Ask => return leave(),
    };
    ToolUseAnswer {
        verdict: word,
        reason: match word {
            ToolUseVerdict::Deny => format!("refused by a rule of missiond, {}", verdict.reason),
            _ => verdict.reason.clone(),
        },
    }
}

fn leave() -> ToolUseAnswer {
    ToolUseAnswer {
        verdict: ToolUseVerdict::Leave,
        reason: "no rule is about it".to_owned(),
    }
}

fn log(slot: SlotId, outcome: &str, verdict: &Verdict) {
    tracing::info!(%slot, outcome, reason = verdict.reason, "tool use decided by rule");
}
