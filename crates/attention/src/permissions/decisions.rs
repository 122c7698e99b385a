//! Putting decisions on record: what was asked, which rules decided, and what came of it.

use missiond_core::{
    AuditedDecision, ExecutionId, PermissionAsked, Principal, SlotId, TraceContext,
};
use missiond_guard::permissions::Verdict;
use missiond_store::StoreError;
use missiond_store::permissions::{NewDecision, decide_by, decision_digests, settle_decision};

use super::{Decided, Permissions, RuleSource};
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
        let asked = decision.asked.clone();
        let recorded = self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let number = decide_by(tx, &decision, &numbers).await?;
                    let mut digests = decision_digests(tx, number, number).await?;
                    let hash = digests.remove(&number).unwrap_or_default();
                    Ok(AuditedDecision { number, hash })
                })
            })
            .await;
        match recorded {
            Ok(row) => {
                let number = row.number;
                self.put_verdict_on_record(slot, execution, &asked, verdict, Some(row))
                    .await?;
                Ok(Some(number))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts into the audit what the rules said, and which row of the database says so too.
    pub(super) async fn put_verdict_on_record(
        &self,
        slot: SlotId,
        execution: Option<ExecutionId>,
        asked: &PermissionAsked,
        verdict: &Verdict,
        row: Option<AuditedDecision>,
    ) -> Result<(), QuestionError> {
        let trace = execution.and_then(|execution| self.executions.trace(execution));
        let decided = Decided {
            who: Principal::Agent { slot, execution },
            asked,
            exact: None,
            effect: verdict.effect.as_str(),
            by: &verdict.rules.join(", "),
            trace: trace.unwrap_or_else(TraceContext::root),
            row,
        };
        Ok(self.put_on_record(decided).await?)
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
