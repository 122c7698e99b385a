//! What the hooks of an execution reported while no daemon was there, or one that
//! was too slow for them.

use std::sync::Arc;

use missiond_adapters::HookReport;
use missiond_api::{HookParams, HookSpool};
use missiond_runtime::blocking;

use super::run::Run;
use super::{access, facts};
use crate::context::Context;
use crate::error::ExecutionError;

/// Takes it in, after a start of the daemon and at the end of the execution. What
/// is not taken stays and comes with the next hook.
pub(super) async fn ingest(context: &Context, run: &Arc<Run>) {
    let folder = context.launch_folder(run.id);
    if !access::file_in(&folder).exists() {
        return;
    }
    if let Err(error) = ingest_from(HookSpool::in_folder(&folder), run).await {
        tracing::error!(execution = %run.id, %error, "spooled hook reports not handled");
    }
}

async fn ingest_from(spool: HookSpool, run: &Arc<Run>) -> Result<(), ExecutionError> {
    let unreadable = |error: std::io::Error| ExecutionError::Invalid(error.to_string());
    let reading = spool.clone();
    let batch = blocking(move || reading.begin_batch()).await;
    let batch = batch.map_err(unreadable)?;
    for HookParams { sequence, report } in &batch.hooks {
        // Another version's report is not worth losing the others.
        let Ok(report) = serde_json::from_str::<HookReport>(report.get()) else {
            continue;
        };
        for seen in facts::of_hook(*sequence, &report) {
            run.observe(seen).await?;
        }
    }
    let ended = blocking(move || spool.finish_batch(&batch)).await;
    ended.map_err(unreadable)
}
