//! What vouches for what a dialog shows, and what rules may decide about it then.
//!
//! A rule that denies or asks holds for whatever is shown. One that allows needs to know
//! what the program will run: from its protocol, from the hook that announced this very
//! use, or from a person who said that for this rule the screen is enough.

use missiond_core::{BoardTaskId, Controller, ExecutionId, PermissionAsked};
use missiond_guard::permissions::{Effect, Verdict};
use missiond_slots::OpenSlot;

use super::{Permissions, request};
use crate::announced::AnnouncedUse;
use crate::questions::QuestionError;

pub(super) enum Witness {
    /// The program asks over its protocol: the dialog is its own word.
    Protocol,
    /// A hook announced it.
    Hook(Box<AnnouncedUse>),
    /// The program has a hook, and that announced something else or nothing.
    Contradicted(String),
    /// There is the screen and nothing beside it.
    Sight,
}

impl Witness {
    pub(super) fn of(
        permissions: &Permissions,
        open: &OpenSlot,
        shown: Option<&PermissionAsked>,
    ) -> Self {
        if open.controller() == Controller::Structured {
            return Self::Protocol;
        }
        let slot = open.slot.id;
        if !permissions.executions.asks_before_tools(slot) {
            return Self::Sight;
        }
        let uses = permissions.questions.announced().open(slot);
        let of_shown = |one: &&AnnouncedUse| shown.is_some_and(|shown| one.is_shown_by(shown));
        match (uses.iter().find(of_shown), uses.last()) {
            (Some(one), _) => Self::Hook(Box::new(one.clone())),
            (None, None) => Self::Contradicted(
                "the agent's program has announced no use of a tool to this daemon".to_owned(),
            ),
            (None, Some(last)) => Self::Contradicted(format!(
                "the screen does not show for certain what the agent's program announced: {}",
                sentence(&last.asked())
            )),
        }
    }

    /// What is asked for, as surely as it is known.
    pub(super) fn asked(&self, shown: Option<&PermissionAsked>) -> Option<PermissionAsked> {
        match self {
            Self::Hook(one) => Some(one.asked()),
            _ => shown.cloned(),
        }
    }

    /// The decision that was taken when it was announced.
    pub(super) fn decision(&self) -> Option<i64> {
        match self {
            Self::Hook(one) => one.allowed.as_ref().map(|allowed| allowed.decision),
            _ => None,
        }
    }

    pub(super) async fn verdict(
        &self,
        permissions: &Permissions,
        open: &OpenSlot,
        shown: Option<&PermissionAsked>,
        runs: Option<(ExecutionId, Option<BoardTaskId>)>,
    ) -> Result<Verdict, QuestionError> {
        let rules = permissions.in_force(&open.record.cwd).await?;
        let request = request::request(open, shown, runs).await;
        Ok(match self {
            Self::Protocol => rules.decide(&request).verdict(),
            Self::Hook(one) => {
                let verdict = match &one.allowed {
                    Some(allowed) => allowed.verdict.clone(),
                    None => rules.decide(&one.request).verdict(),
                };
                // Somebody who can call our hook can announce what he likes, but cannot
                // take back what the program itself has announced.
                let uses = permissions.questions.announced().open(open.slot.id);
                let others = uses.iter().filter(|other| other.digest != one.digest);
                let mut doubtful =
                    others.filter(|other| rules.decide(&other.request).effect != Effect::Allow);
                match (verdict.effect, doubtful.next()) {
                    (Effect::Allow, Some(other)) => ask(format!(
                        "{}, but another use of a tool is open that no rule allows: {}",
                        verdict.reason,
                        sentence(&other.asked())
                    )),
                    _ => verdict,
                }
            }
            Self::Contradicted(why) => {
                let verdict = rules.decide(&request).verdict();
                match verdict.effect {
                    Effect::Deny => verdict,
                    Effect::Allow | Effect::Ask => ask(why.clone()),
                }
            }
            Self::Sight => rules.decide_by_sight(&request).verdict(),
        })
    }
}

fn ask(reason: String) -> Verdict {
    Verdict {
        effect: Effect::Ask,
        rules: Vec::new(),
        reason,
    }
}

fn sentence(asked: &PermissionAsked) -> String {
    const LONGEST: usize = 300;
    let parts = [&asked.tool, &asked.command, &asked.path, &asked.argument];
    let parts = parts.into_iter().flatten().map(String::as_str);
    let whole = parts.collect::<Vec<_>>().join(" ");
    missiond_core::excerpt(&missiond_core::one_line(&whole), LONGEST)
}
