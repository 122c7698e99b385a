//! Who works on what. A claim gives a fencing token, and whatever is written
//! afterwards is written under it; what comes too late is refused, and that it
//! came is put on the timeline.

use std::time::Duration;

use missiond_core::{
    Attempt, AttemptId, BoardTask, BoardTaskId, Claim, Event, Evidence, FencingToken, Lease,
    Outcome, TraceContext,
};
use missiond_store::StoreError;
use missiond_store::board::{
    self as store, AttemptLocation, Claimant, Claimed, EndedAttempt, ReadyLimits, Waiting,
};

use super::{Board, BoardError};

impl Board {
    /// The tasks that can be claimed now, the most wanted first.
    pub async fn ready(&self, limits: ReadyLimits) -> Result<Vec<BoardTask>, BoardError> {
        let now = self.clock.now();
        let found = self
            .db
            .read(move |tx| Box::pin(async move { store::ready(tx, now, &limits).await }));
        Ok(found.await?)
    }

    /// The tasks that cannot, each with everything it waits for.
    pub async fn waiting(&self, limits: ReadyLimits) -> Result<Vec<Waiting>, BoardError> {
        let now = self.clock.now();
        let found = self
            .db
            .read(move |tx| Box::pin(async move { store::waiting(tx, now, &limits).await }));
        Ok(found.await?)
    }

    pub async fn claim(
        &self,
        task: BoardTaskId,
        claimant: Claimant,
        trace: TraceContext,
    ) -> Result<Claimed, BoardError> {
        let act = self.act(trace);
        let claimed = self.db.write(move |tx| {
            Box::pin(async move { store::claim(tx, task, &claimant, &act).await })
        });
        Ok(claimed.await?)
    }

    /// Claims the task that is wanted most, if any can be.
    pub async fn claim_next(
        &self,
        claimant: Claimant,
        limits: ReadyLimits,
        trace: TraceContext,
    ) -> Result<Option<Claimed>, BoardError> {
        let act = self.act(trace);
        let claimed = self.db.write(move |tx| {
            Box::pin(async move { store::claim_next(tx, &claimant, &limits, &act).await })
        });
        Ok(claimed.await?)
    }

    /// Takes an attempt over from a holder that is gone.
    pub async fn adopt(
        &self,
        attempt: AttemptId,
        holder: String,
        ttl: Duration,
        trace: TraceContext,
    ) -> Result<Claimed, BoardError> {
        let act = self.act(trace);
        let adopted = self.db.write(move |tx| {
            Box::pin(async move { store::adopt(tx, attempt, &holder, ttl, &act).await })
        });
        Ok(adopted.await?)
    }

    pub async fn heartbeat(
        &self,
        attempt: &Attempt,
        ttl: Duration,
        trace: TraceContext,
    ) -> Result<Lease, BoardError> {
        let act = self.act(trace);
        let (id, token) = (attempt.id, attempt.token);
        let beaten = self.db.write(move |tx| {
            Box::pin(async move { store::heartbeat(tx, id, token, ttl, &act).await })
        });
        let beaten = beaten.await;
        self.fenced(attempt, beaten, trace).await
    }

    /// Keeps where the attempt is made.
    pub async fn record_location(
        &self,
        attempt: &Attempt,
        location: AttemptLocation,
        trace: TraceContext,
    ) -> Result<Attempt, BoardError> {
        let act = self.act(trace);
        let (id, token) = (attempt.id, attempt.token);
        let recorded = self.db.write(move |tx| {
            Box::pin(async move { store::record_location(tx, id, token, &location, &act).await })
        });
        let recorded = recorded.await;
        self.fenced(attempt, recorded, trace).await
    }

    /// Keeps what the agent said of its work.
    pub async fn record_claim(
        &self,
        attempt: &Attempt,
        claim: Claim,
        trace: TraceContext,
    ) -> Result<Attempt, BoardError> {
        let act = self.act(trace);
        let (id, token) = (attempt.id, attempt.token);
        let recorded = self.db.write(move |tx| {
            Box::pin(async move { store::record_claim(tx, id, token, claim, &act).await })
        });
        let recorded = recorded.await;
        self.fenced(attempt, recorded, trace).await
    }

    /// Keeps what the checks of one round said.
    pub async fn record_evidence(
        &self,
        attempt: &Attempt,
        round: u32,
        evidence: Vec<Evidence>,
        trace: TraceContext,
    ) -> Result<Attempt, BoardError> {
        let act = self.act(trace);
        let (id, token) = (attempt.id, attempt.token);
        let recorded = self.db.write(move |tx| {
            Box::pin(
                async move { store::record_evidence(tx, id, token, round, &evidence, &act).await },
            )
        });
        let recorded = recorded.await;
        self.fenced(attempt, recorded, trace).await
    }

    /// Ends the attempt and does to the task what the outcome means for it.
    pub async fn finish(
        &self,
        attempt: &Attempt,
        outcome: Outcome,
        reason: Option<String>,
        trace: TraceContext,
    ) -> Result<EndedAttempt, BoardError> {
        let act = self.act(trace);
        let (id, token) = (attempt.id, attempt.token);
        let finished = self.db.write(move |tx| {
            Box::pin(
                async move { store::finish(tx, id, token, outcome, reason.as_deref(), &act).await },
            )
        });
        let finished = finished.await;
        self.fenced(attempt, finished, trace).await
    }

    /// Ends the attempt as verified; its task waits for a person to review it.
    pub async fn submit(
        &self,
        attempt: &Attempt,
        trace: TraceContext,
    ) -> Result<EndedAttempt, BoardError> {
        let act = self.act(trace);
        let (id, token) = (attempt.id, attempt.token);
        let submitted = self
            .db
            .write(move |tx| Box::pin(async move { store::submit(tx, id, token, &act).await }));
        let submitted = submitted.await;
        self.fenced(attempt, submitted, trace).await
    }

    /// Ends the attempts whose lease has run out.
    pub async fn expire(&self, trace: TraceContext) -> Result<Vec<EndedAttempt>, BoardError> {
        let act = self.act(trace);
        let expired = self
            .db
            .write(move |tx| Box::pin(async move { store::expire(tx, &act).await }));
        Ok(expired.await?)
    }

    /// A person must look before anybody works on the task.
    pub async fn block(
        &self,
        task: BoardTaskId,
        reason: String,
        trace: TraceContext,
    ) -> Result<BoardTask, BoardError> {
        let act = self.act(trace);
        let blocked = self
            .db
            .write(move |tx| Box::pin(async move { store::block(tx, task, &reason, &act).await }));
        Ok(blocked.await?)
    }

    /// Every attempt that has not ended.
    pub async fn live_attempts(&self) -> Result<Vec<Attempt>, BoardError> {
        Ok(self
            .db
            .read(|tx| Box::pin(store::live_attempts(tx)))
            .await?)
    }

    /// The result of a write under a token; one that was refused is told.
    async fn fenced<T>(
        &self,
        attempt: &Attempt,
        result: Result<T, StoreError>,
        trace: TraceContext,
    ) -> Result<T, BoardError> {
        if let Err(StoreError::StaleLease { resource, token }) = &result {
            self.record_refusal(resource, &attempt.holder, *token, trace)
                .await;
        }
        Ok(result?)
    }

    /// The refusal stands whether or not it can be told.
    async fn record_refusal(
        &self,
        resource: &str,
        holder: &str,
        token: FencingToken,
        trace: TraceContext,
    ) {
        let refused = Event::StaleWriteRefused {
            resource: resource.to_owned(),
            holder: holder.to_owned(),
            token,
        };
        if let Err(error) = self.timeline.record(refused, trace.child()).await {
            tracing::warn!(%error, resource, "refused write not recorded on timeline");
        }
    }
}
