//! Sends the metrics to an OpenTelemetry collector, as OTLP over HTTP in its
//! JSON encoding. Off unless an endpoint is configured.

use std::time::Duration;

use missiond_config::OtlpConfig;
use missiond_net::http::{self, Connections, HttpClient, HttpError, Method, StatusCode, Uri};
use missiond_operations::state::{Daemon, VERSION};
use missiond_runtime::Stage;
use missiond_timeline::metrics::{Sample, SampleKind};
use serde_json::{Value, json};

const SEND_LIMIT: Duration = Duration::from_secs(10);

/// What a collector answers is thrown away, but not without end.
const MAX_ANSWER: usize = 64 * 1024;

/// The last sending must not hold up the daemon's stop.
const LAST_SEND_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("the collector's address cannot be used: {0}")]
    Address(String),
    #[error("the collector cannot be reached: {0}")]
    Http(#[from] HttpError),
    #[error("the collector answered {0}")]
    Refused(StatusCode),
}

/// Sends at the configured interval until the daemon drains, and once more then.
pub async fn run(daemon: Daemon, config: OtlpConfig) {
    let interval = Duration::from_secs(config.interval_secs);
    let mut failing = false;
    loop {
        let last = tokio::select! {
            () = tokio::time::sleep(interval) => false,
            () = daemon.shutdown.reached(Stage::Draining) => true,
        };
        let body = document(
            &daemon.metrics.samples(),
            &daemon.host,
            daemon.clock.now().as_micros(),
        );
        let limit = if last { LAST_SEND_LIMIT } else { SEND_LIMIT };
        let sent = tokio::time::timeout(limit, send(&config.endpoint, &body)).await;
        let failure = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} s", limit.as_secs())),
        };
        // Said once when it begins and once when it ends, not every interval.
        match (&failure, failing) {
            (Some(error), false) => tracing::warn!(error, "metrics export failed"),
            (None, true) => tracing::info!("metrics export resumed"),
            _ => {}
        }
        failing = failure.is_some();
        if last {
            return;
        }
    }
}

async fn send(endpoint: &str, body: &Value) -> Result<(), SendError> {
    let unusable = |error: &dyn std::fmt::Display| SendError::Address(error.to_string());
    let uri = format!("{}/v1/metrics", endpoint.trim_end_matches('/'))
        .parse::<Uri>()
        .map_err(|error| unusable(&error))?;
    let request = http::request(Method::POST, uri)
        .header("content-type", "application/json")
        .body(body.to_string().into())
        .map_err(|error| unusable(&error))?;
    let response = HttpClient::new(Connections::Closed).send(request).await?;
    let status = response.status();
    // Read to the end, so that the collector sees an orderly close.
    let _ = response.into_body().read_to_end(MAX_ANSWER).await;
    if status.is_success() {
        Ok(())
    } else {
        Err(SendError::Refused(status))
    }
}

fn document(samples: &[Sample], host: &str, now_us: i64) -> Value {
    let time = (i128::from(now_us) * 1000).to_string();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let metrics: Vec<_> = samples
        .iter()
        .map(|sample| {
            let points = json!([{"asDouble": sample.value, "timeUnixNano": time}]);
            let mut metric = json!({"name": sample.name, "description": sample.help});
            match sample.kind {
                // 2 is "cumulative" in OTLP's enumeration.
                SampleKind::Counter => {
                    metric["sum"] = json!({
                        "dataPoints": points, "isMonotonic": true, "aggregationTemporality": 2,
                    });
                }
                SampleKind::Gauge => metric["gauge"] = json!({"dataPoints": points}),
            }
            metric
        })
        .collect();
    json!({"resourceMetrics": [{
        "resource": {"attributes": [
            text("service.name", "missiond"),
            text("service.version", VERSION),
            text("host.name", host),
        ]},
        "scopeMetrics": [{"scope": {"name": "missiond", "version": VERSION}, "metrics": metrics}],
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_cumulative_sums_and_gauges_are_gauges() {
        let sample = |name, kind, value| Sample {
            name,
            help: "h",
            kind,
            value,
        };
        let document = document(
            &[
                sample("c", SampleKind::Counter, 3.0),
                sample("g", SampleKind::Gauge, 0.5),
            ],
            "here",
            5,
        );
        let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        assert_eq!(metrics[0]["sum"]["dataPoints"][0]["asDouble"], 3.0);
        assert_eq!(metrics[0]["sum"]["aggregationTemporality"], 2);
        assert_eq!(metrics[0]["sum"]["dataPoints"][0]["timeUnixNano"], "5000");
        assert_eq!(metrics[1]["gauge"]["dataPoints"][0]["asDouble"], 0.5);
    }
}
