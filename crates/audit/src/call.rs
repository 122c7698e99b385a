//! Which calls are on record. All that only people may do, or people and programs, is, if it
//! changes anything: it is authority that is used. Of what programs and agents do, all that
//! changes anything is. What only looks is not, and neither is the daily work of a person.

use missiond_api::{Authority, Effect, OperationSpec};
use missiond_core::{AuditKind, Principal, TraceContext};

use crate::entry::Entry;
use crate::log::{AuditError, AuditLog};

/// So much of the parameters is looked at. What is typed into terminals is not shown at all:
/// its digest says enough.
const SHOWN: usize = 4096;

/// A call that has to be on record before it is answered. One that nobody waits for any
/// longer is on record as that.
#[derive(Debug)]
pub struct AuditedCall {
    audit: AuditLog,
    entry: Option<Entry>,
    /// It is a person's way to stop things, which works when nothing else does.
    stops: bool,
}

impl AuditedCall {
    /// Refused when nothing can be put on record: then nothing may be done either. None for
    /// a call that is not on record.
    pub fn begin(
        audit: &AuditLog,
        spec: &OperationSpec,
        principal: &Principal,
        params: &str,
        trace: TraceContext,
    ) -> Result<Option<Self>, AuditError> {
        if !is_on_record(spec, principal) {
            return Ok(None);
        }
        let stops = principal.is_person() && stops(spec.name, params);
        if !stops {
            audit.check()?;
        }
        let entry = Entry::new(AuditKind::Call, principal, spec.name)
            .exact(params.as_bytes())
            .trace(trace);
        let entry = match spec.toolset {
            "slots" => entry,
            _ if params == "{}" => entry,
            _ => entry.about(&params[..params.floor_char_boundary(SHOWN)]),
        };
        Ok(Some(Self {
            audit: audit.clone(),
            entry: Some(entry),
            stops,
        }))
    }

    /// Puts the call on record, with why it failed if it did; returns when that is on disk.
    pub async fn finish(mut self, failure: Option<&str>) -> Result<(), AuditError> {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        let entry = match failure {
            None => entry,
            Some(why) => entry.outcome(&format!("failed: {why}")),
        };
        match self.audit.record(entry).await {
            Err(error) if self.stops => {
                tracing::error!(%error, "call not on record");
                Ok(())
            }
            recorded => recorded.map(drop),
        }
    }
}

impl Drop for AuditedCall {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            let outcome = "nobody waited for the answer: it may have been carried out";
            self.audit.record_at_once(entry.outcome(outcome));
        }
    }
}

/// Whether a call is one of the switches with which a person stops things: no full disk may
/// keep them from that.
fn stops(operation: &str, params: &str) -> bool {
    match operation {
        "daemon_control" => true,
        "autopilot_set" => !params.contains("running"),
        _ => false,
    }
}

fn is_on_record(spec: &OperationSpec, principal: &Principal) -> bool {
    if spec.effect == Effect::ReadOnly {
        return false;
    }
    match principal {
        Principal::Person | Principal::Daemon { .. } => {
            matches!(spec.authority, Authority::People | Authority::Programs)
        }
        _ => true,
    }
}
