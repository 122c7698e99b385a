//! Putting decisions on record: what was asked, which rules decided, and what came of it.

use missiond_core::{ExecutionId, PermissionAsked, SlotId};
use missiond_guard::permissions::Verdict;
use missiond_store::StoreError;
use missiond_store::permissions::{NewDecision, decide_by, settle_decision};

use super::{Permissions, RuleSource};
use crate::questions::QuestionError;

impl Permissions {
    /// Puts a decision on record and counts the uses of its rules; none when a
    /// rule is used up or gone since it decided.
    pub(super) async fn record_decision(
        &self,
        slot: SlotId,
        execution: Option<ExecutionId>,
        asked: PermissionAsked,
        verdict: &Verdict,
    ) -> Result<Option<i64>, QuestionError> {
        let known = self.rules().await?;
        let numbers: Vec<i64> = known
            .iter()
            .filter(|known| verdict.rules.contains(&known.rule.name))
            .filter_map(|known| match known.source {
                RuleSource::Stored { number, .. } => Some(number),
                RuleSource::BuiltIn | RuleSource::Configuration => None,
            })
            .collect();
        let decision = NewDecision {
            slot,
            execution,
            asked,
            effect: verdict.effect.as_str().to_owned(),
            decided_by: verdict.rules.join(", "),
            reason: verdict.reason.clone(),
            decided_at: self.clock.now(),
        };
        let recorded = self
            .db
            .write(move |tx| Box::pin(async move { decide_by(tx, &decision, &numbers).await }))
            .await;
        match recorded {
            Ok(decision) => Ok(Some(decision)),
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts on record what became of a decision.
    pub(super) async fn settle(&self, decision: i64, outcome: &str) -> Result<(), QuestionError> {
        let (now, outcome) = (self.clock.now(), outcome.to_owned());
        self.db
            .write(move |tx| {
                Box::pin(async move { settle_decision(tx, decision, &outcome, now).await })
            })
            .await?;
        Ok(())
    }
}
