//! One line in the log for each call of an operation: which tool, for whom, how long it
//! took and whether it succeeded. Never what was asked or answered.
//!
//! Calls that change nothing are logged at `debug`, since pages and status lines make
//! hundreds of them; the others, and calls of external tools, at `info`. A burst is cut
//! off: beyond [`LINES_PER_SECOND`] the lines are counted instead, and the count is logged
//! with the next one.

use std::time::{Duration, Instant};

use missiond_api::{Effect, OperationSpec};
use missiond_core::ErrorCode;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::Level;

use crate::call::ClientId;

/// At this rate a log of the usual size holds several hours.
const LINES_PER_SECOND: u32 = 20;

/// A name longer than that is no tool's.
const TOOL_NAME: usize = 128;

/// The operation that calls a tool of somebody else, which is the name a reader looks for.
const EXTERNAL_CALL: &str = "mcp_tool_call";

#[derive(Debug, Default)]
pub(crate) struct CallLog {
    /// Reads must not use up what is kept for the rest.
    of_reads: Mutex<Budget>,
    of_others: Mutex<Budget>,
}

/// What is known of a call when it begins, kept only if it will be logged.
#[derive(Debug)]
pub(crate) struct CallLine {
    level: Level,
    tool: String,
    client: ClientId,
}

impl CallLog {
    pub(crate) fn begin(
        &self,
        spec: &OperationSpec,
        params: Option<&RawValue>,
        client: &ClientId,
    ) -> Option<CallLine> {
        let level = level_of(spec.effect);
        let is_logged = match level {
            Level::INFO => tracing::enabled!(Level::INFO),
            _ => tracing::enabled!(Level::DEBUG),
        };
        is_logged.then(|| CallLine {
            level,
            tool: tool_name(spec.name, params),
            client: client.clone(),
        })
    }

    pub(crate) fn write(&self, line: &CallLine, took: Duration, error: Option<ErrorCode>) {
        let budget = match line.level {
            Level::INFO => &self.of_others,
            _ => &self.of_reads,
        };
        let Some(left_out) = budget.lock().spend(Instant::now()) else {
            return;
        };
        if left_out > 0 {
            tracing::info!(calls = left_out, "calls not logged: too many at once");
        }
        let (tool, client_id) = (line.tool.as_str(), line.client.as_str());
        // To the microsecond: what a float has behind that says nothing.
        let duration_ms = took.as_micros() as f64 / 1000.0;
        let (success, error) = (error.is_none(), error.map(tracing::field::debug));
        match line.level {
            Level::INFO => {
                tracing::info!(tool, duration_ms, success, client_id, error, "tool called");
            }
            _ => tracing::debug!(tool, duration_ms, success, client_id, error, "tool called"),
        }
    }
}

fn level_of(effect: Effect) -> Level {
    match effect {
        Effect::ReadOnly => Level::DEBUG,
        _ => Level::INFO,
    }
}

fn tool_name(operation: &str, params: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Named {
        tool: String,
    }
    if operation != EXTERNAL_CALL {
        return operation.to_owned();
    }
    let named = params.and_then(|params| serde_json::from_str::<Named>(params.get()).ok());
    let named = named.map_or_else(|| operation.to_owned(), |named| named.tool);
    let printable = named.chars().filter(|c| !c.is_control());
    printable.take(TOOL_NAME).collect()
}

/// Lines of the present second.
#[derive(Debug, Default)]
struct Budget {
    second: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl Budget {
    /// Whether one more line may be written, and how many were left out before it.
    fn spend(&mut self, now: Instant) -> Option<u64> {
        let is_new = self
            .second
            .is_none_or(|second| now.saturating_duration_since(second) >= Duration::from_secs(1));
        if is_new {
            self.second = Some(now);
            self.written = 0;
        }
        if self.written >= LINES_PER_SECOND {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use missiond_api::Operation;
    use missiond_api::operations::board::BoardAdd;
    use missiond_api::operations::system::DaemonStatus;

    use super::*;

    #[test]
    fn a_burst_is_cut_off_and_counted() {
        let mut budget = Budget::default();
        let start = Instant::now();
        for _ in 0..LINES_PER_SECOND {
            assert_eq!(budget.spend(start), Some(0));
        }
        assert_eq!(budget.spend(start), None);
        assert_eq!(budget.spend(start), None);
        let later = start + Duration::from_secs(1);
        assert_eq!(budget.spend(later), Some(2));
        assert_eq!(budget.spend(later), Some(0));
    }

    #[test]
    fn reads_are_quiet_and_an_external_tool_has_its_own_name() {
        assert_eq!(level_of(DaemonStatus::SPEC.effect), Level::DEBUG);
        assert_eq!(level_of(BoardAdd::SPEC.effect), Level::INFO);
        let params = r#"{"tool": "time__now\u0007", "arguments": {"password": "s3cret"}}"#;
        let params = RawValue::from_string(params.to_owned()).unwrap();
        assert_eq!(tool_name("mcp_tool_call", Some(&params)), "time__now");
        assert_eq!(tool_name("board_add", Some(&params)), "board_add");
        assert_eq!(tool_name("mcp_tool_call", None), "mcp_tool_call");
    }

    #[test]
    fn a_client_is_named_in_one_short_line() {
        let long = format!("agent\n{}", "x".repeat(500));
        let id = ClientId::new("ipc", 7, &long);
        assert_eq!(id.as_str().len(), "ipc-7 ".len() + 64);
        assert!(!id.as_str().contains('\n'));
        assert_eq!(ClientId::new("http", "token", "").as_str(), "http-token");
    }
}
