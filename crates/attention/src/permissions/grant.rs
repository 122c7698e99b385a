//! An approval that is more than one: a rule made of the answer to a question,
//! for this very use of the tool, with an end.

use std::time::Duration;

use missiond_core::{PermissionAsked, Question, QuestionOrigin, SlotId, TraceContext};
use missiond_guard::permissions::{Effect, Pattern, Rule, Scope, exact_command, exact_text};

use super::{Permissions, path_base};
use crate::questions::QuestionError;

/// When nobody says for how long.
const USUAL: Duration = Duration::from_secs(3600);

/// What an answer grants beside itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub for_time: Option<Duration>,
    pub scope: GrantFor,
    /// Also where a screen alone shows what is asked.
    pub by_sight: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantFor {
    /// The task of the slot, else the slot.
    Asker,
    Slot,
    Execution,
    Task,
    Everywhere,
}

impl Permissions {
    /// The rule a grant would be, before the question is answered: whatever
    /// stands against it is said then.
    pub fn rule_of_grant(&self, question: &Question, grant: &Grant) -> Result<Rule, QuestionError> {
        let QuestionOrigin::Dialog {
            slot,
            execution,
            permission: Some(asked),
            ..
        } = &question.origin
        else {
            return Err(QuestionError::NoGrant(question.number));
        };
        let invalid = |why: &str| QuestionError::Invalid(why.to_owned());
        let Some(tool) = asked.tool.as_deref().and_then(exact_text) else {
            return Err(invalid("which tool is asked for cannot be read"));
        };
        if asked.shown_in_part {
            return Err(invalid(
                "the dialog does not show all of what is asked for: answer this one alone, or \
                 make a rule with `mission permission add`",
            ));
        }
        if asked.digest.is_none() && !grant.by_sight {
            return Err(invalid(
                "what is asked for is read from a screen alone: answer this one alone, or grant \
                 it with --by-sight",
            ));
        }
        let mut rule = Rule {
            name: "grant".to_owned(),
            effect: Effect::Allow,
            tool,
            argument: argument(asked)?,
            path: None,
            server: asked.server.as_deref().and_then(exact_text),
            scope: Scope {
                by_sight: grant.by_sight,
                ..self.scope(grant.scope, *slot, *execution)?
            },
            expires_at: Some(self.clock.now().plus(grant.for_time.unwrap_or(USUAL))),
            uses_left: None,
        };
        if let Some(path) = &asked.path {
            let open = self.slots.find(&slot.to_string());
            let open = open.ok_or_else(|| invalid("its slot is closed"))?;
            let path = path_base(&open.record.cwd).absolute(path);
            if path.contains(['*', '?']) {
                return Err(invalid(
                    "the file has `*` or `?` in its name, which a rule would take for a pattern",
                ));
            }
            let pattern = path.parse();
            rule.path = Some(pattern.map_err(|_| invalid("its path cannot be a rule"))?);
        }
        Ok(rule)
    }

    /// Makes the rule, once it is known whether the answer was yes or no.
    pub async fn make_grant(
        &self,
        mut rule: Rule,
        question: &Question,
        by: &str,
        trace: TraceContext,
    ) -> Result<Option<i64>, QuestionError> {
        let QuestionOrigin::Dialog { allows, denies, .. } = &question.origin else {
            return Ok(None);
        };
        rule.effect = match &question.answer {
            Some(answer) if Some(answer) == allows.as_ref() => Effect::Allow,
            Some(answer) if Some(answer) == denies.as_ref() => Effect::Deny,
            _ => return Ok(None),
        };
        let added = self.add(&rule, Some(question.id), by, trace).await;
        added.map(Some)
    }

    fn scope(
        &self,
        scope: GrantFor,
        slot: SlotId,
        execution: Option<missiond_core::ExecutionId>,
    ) -> Result<Scope, QuestionError> {
        let none = |what: &str| Err(QuestionError::Invalid(format!("its slot runs no {what}")));
        let everywhere = Scope::default();
        Ok(match scope {
            GrantFor::Everywhere => everywhere,
            GrantFor::Asker => match self.executions.in_slot(slot) {
                Some((_, Some(_))) => self.scope(GrantFor::Task, slot, execution)?,
                _ => self.scope(GrantFor::Slot, slot, execution)?,
            },
            GrantFor::Slot => Scope {
                slot: Some(slot.to_string()),
                ..everywhere
            },
            GrantFor::Execution => match execution {
                Some(_) => Scope {
                    execution,
                    ..everywhere
                },
                None => return none("execution"),
            },
            GrantFor::Task => match self.executions.in_slot(slot) {
                Some((_, task @ Some(_))) => Scope { task, ..everywhere },
                _ => return none("task"),
            },
        })
    }
}

fn argument(asked: &PermissionAsked) -> Result<Option<Pattern>, QuestionError> {
    let unclear = || {
        QuestionError::Invalid(
            "this command cannot be granted for longer, because only a shell could say what it \
             does: answer this one alone"
                .to_owned(),
        )
    };
    match (&asked.command, &asked.argument) {
        (Some(command), _) => exact_command(command).map(Some).ok_or_else(unclear),
        (None, Some(text)) if !text.is_empty() => exact_text(text).map(Some).ok_or_else(unclear),
        _ => Ok(None),
    }
}
