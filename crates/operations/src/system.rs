//! Handlers that speak of the daemon itself.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::system::{
    ConfigKey, ConfigReport, ConfigShow, ConsumerStatus, ControlAction, DaemonControl,
    DaemonControlParams, DaemonControlResult, DaemonState, DaemonStats, DaemonStatus,
    DatabaseStatus, Health, HealthReport, IncidentList, IncidentListParams, IncidentPage,
    IncidentResolve, IncidentResolveParams, IncidentResolveResult, OperationFind,
    OperationFindParams, OperationFound, OperationsFound, StatsReport, StatusReport,
};
use missiond_config::{Config, KeyValue, Reload};
use missiond_core::{ErrorCode, Event, IncidentState};
use missiond_runtime::Stage;
use missiond_store::daemon_state;
use missiond_store::incidents::{self, IncidentFilter};
use missiond_store::timeline::{self, NewEvent};
use missiond_timeline::metrics::MetricsSnapshot;

use crate::availability;
use crate::call::{Call, Operations, of_store};
use crate::reload;
use crate::state::VERSION;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<Health, _, _>(health);
    operations.add::<DaemonStatus, _, _>(status);
    operations.add::<DaemonStats, _, _>(stats);
    operations.add::<DaemonControl, _, _>(control);
    operations.add::<ConfigShow, _, _>(config_show);
    operations.add::<OperationFind, _, _>(operation_find);
    operations.add::<IncidentList, _, _>(incident_list);
    operations.add::<IncidentResolve, _, _>(incident_resolve);
}

async fn operation_find(_: Call, params: OperationFindParams) -> Result<OperationsFound, ApiError> {
    let query = params.query.unwrap_or_default();
    let found = missiond_mcp::tools::find(&query);
    let operations = found
        .iter()
        .take(params.limit.to_usize())
        .map(|spec| OperationFound {
            name: spec.name.to_owned(),
            description: spec.description.to_owned(),
            toolset: spec.toolset.to_owned(),
            effect: spec.effect.name().to_owned(),
            cost: spec.cost.name().to_owned(),
            params: missiond_mcp::tools::params_schema(spec).clone(),
        });
    Ok(OperationsFound {
        operations: operations.collect(),
        total: found.len() as u64,
    })
}

async fn health(call: Call, _: NoParams) -> Result<HealthReport, ApiError> {
    let healthy = call.daemon.shutdown.stage() == Stage::Running;
    Ok(HealthReport {
        healthy,
        version: VERSION.to_owned(),
    })
}

async fn status(call: Call, _: NoParams) -> Result<StatusReport, ApiError> {
    let daemon = &call.daemon;
    let (host, now) = (daemon.host.clone(), daemon.clock.now());
    let (open, runs) = daemon
        .db
        .read(move |tx| {
            let host = host.clone();
            Box::pin(async move {
                let open = IncidentFilter {
                    state: Some(IncidentState::Open),
                    limit: u32::MAX,
                };
                let since = now.minus(availability::WINDOW);
                let runs = daemon_state::seen_since(tx, &host, since, availability::MOST_RUNS);
                let runs = runs.await?;
                Ok((incidents::list(tx, &open).await?, runs))
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    let head = daemon.timeline.head();
    let consumers: Vec<_> = daemon
        .consumers
        .lock()
        .as_ref()
        .map(|consumers| consumers.status(head))
        .unwrap_or_default();
    let waiting = daemon.questions.attention().await;
    let waiting = waiting.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    Ok(StatusReport {
        state: match daemon.shutdown.stage() {
            Stage::Running => DaemonState::Running,
            Stage::Draining | Stage::Closing => DaemonState::Draining,
        },
        version: VERSION.to_owned(),
        daemon: daemon.id,
        pid: std::process::id(),
        host: daemon.host.clone(),
        started_at: daemon.started_at,
        uptime_secs: daemon.metrics.uptime().as_secs(),
        socket: daemon.home.socket_place().display().to_string(),
        http: daemon
            .http_address()
            .map(|address| format!("http://{address}")),
        config_file: daemon.home.config_file().display().to_string(),
        log_file: daemon.home.log_file().display().to_string(),
        database: DatabaseStatus {
            engine: daemon.db.engine().name().to_owned(),
            url: daemon.db_url.to_string(),
            timeline_head: head,
        },
        consumers: consumers.into_iter().map(consumer_status).collect(),
        open_incidents: open.len() as u64,
        open_questions: waiting.len() as u64,
        availability: availability::availability(&runs, now),
    })
}

async fn stats(call: Call, _: NoParams) -> Result<StatsReport, ApiError> {
    Ok(stats_report(&call.daemon.metrics.snapshot()))
}

fn consumer_status(status: missiond_timeline::ConsumerStatus) -> ConsumerStatus {
    let missiond_timeline::ConsumerStatus {
        name,
        cursor,
        behind,
        failures,
    } = status;
    ConsumerStatus {
        name: name.to_owned(),
        cursor,
        behind,
        failures,
    }
}

fn stats_report(now: &MetricsSnapshot) -> StatsReport {
    let requests = now.requests();
    StatsReport {
        uptime_secs: now.uptime.as_secs(),
        requests_total: requests,
        requests_succeeded: now.requests_succeeded,
        requests_failed: now.requests_failed,
        active_connections: now.connections_active,
        avg_response_time_ms: if requests == 0 {
            0.0
        } else {
            now.response_time.as_micros() as f64 / requests as f64 / 1000.0
        },
        servers_connected: now.servers_connected,
        servers_healthy: now.servers_healthy,
        memory_usage_mb: now.resident_bytes as f64 / 1e6,
        requests_in_flight: now.requests_in_flight,
        connections_refused: now.connections_refused,
        events_stored: now.events_stored,
        events_ephemeral: now.events_ephemeral,
        events_coalesced: now.events_coalesced,
    }
}

async fn control(call: Call, params: DaemonControlParams) -> Result<DaemonControlResult, ApiError> {
    match params.action {
        ControlAction::Stop => {
            let slots_running = call.daemon.slots_running();
            call.daemon.shutdown.begin("asked to stop");
            Ok(DaemonControlResult {
                applied: Vec::new(),
                needs_restart: Vec::new(),
                slots_running,
            })
        }
        ControlAction::ReloadConfig => {
            let outcome = reload::reload(&call.daemon, call.trace)
                .await
                .map_err(|error| ApiError::new(ErrorCode::InvalidConfig, error.to_string()))?;
            Ok(DaemonControlResult {
                applied: outcome.applied,
                needs_restart: outcome.needs_restart,
                slots_running: call.daemon.slots_running(),
            })
        }
    }
}

async fn config_show(call: Call, _: NoParams) -> Result<ConfigReport, ApiError> {
    let file = call.daemon.home.config_file();
    let read = file.clone();
    let loaded = missiond_runtime::blocking(move || Config::load(&read)).await;
    let running = call.daemon.config();
    let mut keys = config_keys(&running);
    if let Ok(written) = &loaded {
        for waiting in written.describe() {
            let same_key = keys.iter_mut().find(|key| key.key == waiting.spec.key);
            if let Some(key) = same_key.filter(|key| !key.reloads && key.data != waiting.json) {
                key.waiting = Some(waiting.json);
            }
        }
    }
    Ok(ConfigReport {
        file_exists: file.exists(),
        file_error: loaded.err().map(|error| error.to_string()),
        file: file.display().to_string(),
        keys,
    })
}

/// Every key of a configuration, as `config_show` lists them.
#[must_use]
pub fn config_keys(config: &Config) -> Vec<ConfigKey> {
    let key = |key: KeyValue| ConfigKey {
        key: key.spec.key.to_owned(),
        value: key.value,
        default: key.default,
        description: key.spec.description(),
        reloads: key.spec.reload == Reload::Live,
        kind: key.spec.kind,
        data: key.json,
        default_data: key.default_json,
        choices: key
            .spec
            .choices
            .iter()
            .map(|&word| word.to_owned())
            .collect(),
        min: key.spec.range.map(|range| range.min),
        max: key.spec.range.map(|range| range.max),
        waiting: None,
    };
    config.describe().into_iter().map(key).collect()
}

async fn incident_list(call: Call, params: IncidentListParams) -> Result<IncidentPage, ApiError> {
    let incidents = call
        .daemon
        .db
        .read(move |tx| {
            Box::pin(async move {
                let filter = IncidentFilter {
                    state: params.state,
                    ..IncidentFilter::default()
                };
                incidents::list(tx, &filter).await
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    Ok(IncidentPage { incidents })
}

async fn incident_resolve(
    call: Call,
    params: IncidentResolveParams,
) -> Result<IncidentResolveResult, ApiError> {
    let now = call.daemon.clock.now();
    let id = params.incident;
    let resolved = Event::IncidentResolved {
        incident: id,
        by: call.principal.name().to_owned(),
    };
    let resolved = NewEvent::new(now, call.daemon.id, call.trace, resolved)
        .map_err(|error| of_store(&error))?;
    let incident = call
        .daemon
        .db
        .write(move |tx| {
            Box::pin(async move {
                match incidents::get(tx, id).await? {
                    Some(before) if before.state == IncidentState::Resolved => Ok(before),
                    _ => {
                        let incident = incidents::resolve(tx, id, now).await?;
                        timeline::append(tx, &[resolved]).await?;
                        Ok(incident)
                    }
                }
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    Ok(IncidentResolveResult { incident })
}
