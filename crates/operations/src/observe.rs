//! Handlers that tell of the daemon over time: its log, its numbers, its usage.

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::observe::{
    BudgetOf, BudgetUsage, DaemonLogs, DaemonLogsParams, DayUsage, EngineUsage, LogPage,
    ModelUsage, PriceSource, SlotUsage, StatsHistory, StatsHistoryParams, StatsHistoryReport,
    StatsKind, StatsSeries, TaskUsage, Usage, UsageReport, UsageReportParams, UsageTotals,
    UsedTokens,
};
use missiond_config::UsageConfig;
use missiond_core::{BoardTask, BoardTaskId, CliEngine, ErrorCode, Text, Timestamp};
use missiond_log::reader::{self, From, LogFilter};
use missiond_memory::cost;
use missiond_runtime::blocking;
use missiond_store::conversations::usage::{self as of_conversations, ByModel, Spent};
use missiond_store::stats_samples::{self, Sample, mean};
use missiond_store::token_usage::{self, Tokens, Used, day_of};
use missiond_store::{StoreError, board};

use crate::call::{Call, Operations, of_store};
use crate::sampler::RATES;

const MOST_NAMED: u32 = 50;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<DaemonLogs, _, _>(logs);
    operations.add::<StatsHistory, _, _>(history);
    operations.add::<UsageReport, _, _>(usage);
}

async fn logs(call: Call, params: DaemonLogsParams) -> Result<LogPage, ApiError> {
    let limit = params.limit.to_usize();
    let place = |name: &Option<Text<200, 0>>| {
        let place = name.as_deref().map(str::parse).transpose();
        place.map_err(|error: reader::InvalidLogPosition| {
            ApiError::invalid_params(error.to_string())
        })
    };
    let from = match (place(&params.before)?, place(&params.after)?) {
        (Some(_), Some(_)) => {
            let message = "say `after` or `before`, not both";
            return Err(ApiError::invalid_params(message));
        }
        (Some(before), None) => From::Before(before),
        (None, Some(after)) => From::After(after),
        (None, None) => From::End,
    };
    let text = params.text.filter(|text| !text.is_empty());
    let wanted = LogFilter {
        level: params.level,
        text: text.map(|text| text.to_lowercase()),
    };
    let file = call.daemon.home.log_file();
    let path = file.clone();
    let read = move || reader::read(&path, from, &wanted, limit);
    let read = blocking(read).await.map_err(|error| {
        let message = format!("the log {} cannot be read: {error}", file.display());
        ApiError::new(ErrorCode::StorageUnavailable, message)
    })?;
    Ok(LogPage {
        file: file.display().to_string(),
        lines: read.lines,
        older: read.older.map(|place| place.to_string()),
        newer: read.newer.to_string(),
    })
}

async fn history(call: Call, params: StatsHistoryParams) -> Result<StatsHistoryReport, ApiError> {
    let hour = Duration::from_secs(3600);
    let since = params.since;
    let since = since.unwrap_or_else(|| call.daemon.clock.now().minus(hour));
    let host = call.daemon.host.clone();
    let read = call
        .daemon
        .db
        .read(move |tx| Box::pin(async move { stats_samples::since(tx, &host, since).await }));
    let samples = fewer(
        read.await.map_err(|error| of_store(&error))?,
        params.points.to_usize(),
    );
    Ok(StatsHistoryReport {
        host: call.daemon.host.clone(),
        every_secs: call.daemon.config().daemon.sample_secs,
        at: samples.iter().map(|sample| sample.at).collect(),
        series: series(&samples, &params.names),
    })
}

/// As many samples as were asked for: neighbours become one.
fn fewer(samples: Vec<Sample>, points: usize) -> Vec<Sample> {
    let together = samples.len().div_ceil(points).max(1);
    if together == 1 {
        return samples;
    }
    let one = |some: &[Sample]| {
        some.last().map(|last| Sample {
            at: last.at,
            numbers: mean(some),
        })
    };
    samples.chunks(together).filter_map(one).collect()
}

fn series(samples: &[Sample], names: &[String]) -> Vec<StatsSeries> {
    let mut series: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let wanted = |name: &String| names.is_empty() || names.contains(name);
        for (name, number) in sample.numbers.iter().filter(|(name, _)| wanted(name)) {
            let values = series
                .entry(name)
                .or_insert_with(|| vec![None; samples.len()]);
            // Three digits after the point: more is nothing anybody sees.
            values[index] = Some((number * 1000.0).round() / 1000.0);
        }
    }
    let one = |(name, values): (&str, _)| StatsSeries {
        kind: if RATES.contains(&name) {
            StatsKind::PerMinute
        } else {
            StatsKind::Level
        },
        name: name.to_owned(),
        values,
    };
    series.into_iter().map(one).collect()
}

/// What a task used, what of it by model, and what transcripts say it cost.
struct UsedByTask {
    used: Used<BoardTaskId>,
    task: Option<BoardTask>,
    models: ByModel,
    reported_cost: Option<u64>,
}

/// What the store keeps of usage since a day.
struct Rows {
    days: Vec<Used<(Timestamp, CliEngine)>>,
    cost_of_days: BTreeMap<(Timestamp, CliEngine), Spent>,
    tasks: Vec<UsedByTask>,
    slots: Vec<Used<String>>,
    models: ByModel,
    reported_cost: Option<u64>,
    today: u64,
    engines_today: Vec<(CliEngine, u64)>,
    slots_today: Vec<(String, u64)>,
}

async fn usage(call: Call, params: UsageReportParams) -> Result<UsageTotals, ApiError> {
    let now = call.daemon.clock.now();
    let since = now.minus(Duration::from_secs((params.days.to_u64() - 1) * 24 * 3600));
    let first_day = token_usage::begin_of_day(since);
    let rows = call
        .daemon
        .db
        .read(move |tx| {
            Box::pin(async move {
                let mut tasks = Vec::new();
                for used in token_usage::by_task(tx, day_of(since), MOST_NAMED).await? {
                    let task = board::get(tx, used.of).await?;
                    let models = of_conversations::of_task(tx, used.of, first_day).await?;
                    let reported_cost =
                        of_conversations::reported_cost_of_task(tx, used.of).await?;
                    tasks.push(UsedByTask {
                        used,
                        task,
                        models,
                        reported_cost,
                    });
                }
                Ok::<_, StoreError>(Rows {
                    days: token_usage::by_day(tx, day_of(since)).await?,
                    cost_of_days: of_conversations::by_day(tx, first_day).await?,
                    tasks,
                    slots: token_usage::by_slot(tx, day_of(since), MOST_NAMED).await?,
                    models: of_conversations::since(tx, first_day).await?,
                    reported_cost: of_conversations::reported_cost_since(tx, first_day).await?,
                    today: token_usage::of_day(tx, now).await?,
                    engines_today: token_usage::engines_of_day(tx, now).await?,
                    slots_today: token_usage::slots_of_day(tx, now).await?,
                })
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    let budgets = budgets(&call, &rows);
    let config = call.daemon.config();
    let mut total = UsedTokens::default();
    let mut engines: BTreeMap<CliEngine, Usage> = BTreeMap::new();
    for day in &rows.days {
        add(&mut total, day.tokens);
        let engine = engines.entry(day.of.1.clone()).or_insert_with(no_usage);
        add(&mut engine.tokens, day.tokens);
    }
    for ((_, engine), spent) in &rows.cost_of_days {
        let engine = engines.entry(engine.clone()).or_insert_with(no_usage);
        let cost = cost::of(&config.usage, &spent.models, spent.reported_cost);
        cost::join(&mut engine.cost, cost);
    }
    let days = days(rows.days, &rows.cost_of_days, &config.usage);
    Ok(UsageTotals {
        since: first_day,
        total,
        days,
        engines: engines
            .into_iter()
            .map(|(engine, Usage { tokens, cost })| EngineUsage {
                engine,
                tokens,
                cost,
            })
            .collect(),
        tasks: rows
            .tasks
            .into_iter()
            .map(|task| of_task(task, &config.usage))
            .collect(),
        slots: rows.slots.into_iter().map(of_slot).collect(),
        cost: cost::of(&config.usage, &rows.models, rows.reported_cost),
        models: rows
            .models
            .into_iter()
            .map(|model| of_model(model, &config.usage))
            .collect(),
        budgets,
        prices: price_sources(),
    })
}

/// The budgets that are set, each with what is used of it today.
fn budgets(call: &Call, rows: &Rows) -> Vec<BudgetUsage> {
    let config = call.daemon.config();
    let mut budgets = Vec::new();
    let mut set = |of: BudgetOf, used: u64, limit: u64| {
        if limit > 0 {
            budgets.push(BudgetUsage { of, used, limit });
        }
    };
    set(BudgetOf::Day, rows.today, config.autopilot.tokens_per_day);
    for (engine, used) in &rows.engines_today {
        let engine = engine.clone();
        let limit = config.autopilot.engine_tokens_per_day;
        set(BudgetOf::Engine { engine }, *used, limit);
    }
    for slot in &config.slots {
        let used = rows
            .slots_today
            .iter()
            .find(|(name, _)| name == slot.name.as_str());
        let used = used.map_or(0, |(_, used)| *used);
        let name = slot.name.to_string();
        set(BudgetOf::Slot { name }, used, slot.tokens_per_day);
    }
    budgets
}

/// What was used on each day by each engine, with what that cost. A transcript may
/// tell of a day of which the daemon itself counted nothing.
fn days(
    used: Vec<Used<(Timestamp, CliEngine)>>,
    spent: &BTreeMap<(Timestamp, CliEngine), Spent>,
    prices: &UsageConfig,
) -> Vec<DayUsage> {
    let mut days: BTreeMap<_, Usage> = BTreeMap::new();
    for used in used {
        let day = days.entry(used.of).or_insert_with(no_usage);
        add(&mut day.tokens, used.tokens);
    }
    for (of, spent) in spent {
        let day = days.entry(of.clone()).or_insert_with(no_usage);
        day.cost = cost::of(prices, &spent.models, spent.reported_cost);
    }
    let one = |((day, engine), Usage { tokens, cost })| DayUsage {
        day,
        engine,
        tokens,
        cost,
    };
    days.into_iter().map(one).collect()
}

fn no_usage() -> Usage {
    Usage {
        tokens: UsedTokens::default(),
        cost: missiond_core::Cost::default(),
    }
}

/// What each of some tasks used so far.
pub(crate) async fn of_tasks(
    call: &Call,
    tasks: Vec<BoardTaskId>,
) -> Result<BTreeMap<BoardTaskId, Usage>, ApiError> {
    let read = call.daemon.db.read(move |tx| {
        Box::pin(async move {
            let used = token_usage::of_tasks(tx, &tasks).await?;
            let spent = of_conversations::of_tasks(tx, &tasks).await?;
            Ok::<_, StoreError>((used, spent))
        })
    });
    let (used, spent) = read.await.map_err(|error| of_store(&error))?;
    let config = call.daemon.config();
    let mut tasks: BTreeMap<_, Usage> = BTreeMap::new();
    for used in used {
        let task = tasks.entry(used.of).or_insert_with(no_usage);
        add(&mut task.tokens, used.tokens);
    }
    for (of, spent) in spent {
        let task = tasks.entry(of).or_insert_with(no_usage);
        task.cost = cost::of(&config.usage, &spent.models, spent.reported_cost);
    }
    Ok(tasks)
}

/// Where the list prices come from.
fn price_sources() -> Vec<PriceSource> {
    let source = |source: &missiond_config::PriceSource| PriceSource {
        vendor: source.vendor.clone(),
        as_of: source.as_of.clone(),
        page: source.page.clone(),
    };
    missiond_config::price_list()
        .sources
        .iter()
        .map(source)
        .collect()
}

fn of_task(of: UsedByTask, prices: &UsageConfig) -> TaskUsage {
    let UsedByTask { used, task, .. } = of;
    TaskUsage {
        task: task.as_ref().map(|task| task.number),
        budget: task
            .as_ref()
            .and_then(|task| task.budget.and_then(|budget| budget.tokens)),
        title: task.map(|task| task.title),
        tokens: used_tokens(used.tokens),
        cost: cost::of(prices, &of.models, of.reported_cost),
    }
}

fn of_model(used: Used<Option<String>>, prices: &UsageConfig) -> ModelUsage {
    ModelUsage {
        cost: cost::of(prices, [&used], None),
        tokens: used_tokens(used.tokens),
        model: used.of,
    }
}

fn of_slot(used: Used<String>) -> SlotUsage {
    SlotUsage {
        slot: used.of,
        tokens: used_tokens(used.tokens),
    }
}

pub(crate) fn used_tokens(tokens: Tokens) -> UsedTokens {
    let mut used = UsedTokens::default();
    add(&mut used, tokens);
    used
}

pub(crate) fn add(sum: &mut UsedTokens, tokens: Tokens) {
    sum.input += tokens.input;
    sum.output += tokens.output;
    sum.cache_read += tokens.cache_read;
    sum.cache_write += tokens.cache_write;
    sum.counted += tokens.counted();
}

#[cfg(test)]
mod tests {
    use missiond_store::stats_samples::Numbers;

    use super::*;

    fn sample(second: i64, numbers: &[(&str, f64)]) -> Sample {
        Sample {
            at: Timestamp::from_micros(second * 1_000_000),
            numbers: numbers
                .iter()
                .map(|(name, number)| ((*name).to_owned(), *number))
                .collect::<Numbers>(),
        }
    }

    #[test]
    fn neighbours_become_one_and_what_is_not_known_is_absent() {
        let samples = vec![
            sample(1, &[("slots", 1.0)]),
            sample(2, &[("slots", 3.0), ("calls", 8.0)]),
            sample(3, &[("calls", 2.0)]),
        ];
        let all = series(&samples, &[]);
        assert_eq!(all[0].name, "calls");
        assert_eq!(all[0].kind, StatsKind::PerMinute);
        assert_eq!(all[0].values, [None, Some(8.0), Some(2.0)]);
        assert_eq!(all[1].kind, StatsKind::Level);
        let two = fewer(samples, 2);
        assert_eq!(
            two,
            [
                sample(2, &[("slots", 2.0), ("calls", 8.0)]),
                sample(3, &[("calls", 2.0)])
            ]
        );
        let calls = series(&two, &["calls".to_owned()]);
        assert_eq!(calls.len(), 1);
    }
}
