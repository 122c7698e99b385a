//! `mission usage`: what agents used and what it cost.

use std::process::ExitCode;

use missiond_api::operations::observe::{
    BudgetOf, BudgetUsage, Cost, UsageReport, UsageReportParams, UsageTotals, UsedTokens,
};
use missiond_core::Limit;

use crate::args::UsageArgs;
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::{Style, dollars, printable};

pub(super) fn run(
    args: &UsageArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let params = UsageReportParams {
        days: parameter("days", Limit::new(i64::from(args.days)))?,
    };
    let totals = reach.client(output)?.call::<UsageReport>(&params)?;
    output.result(&totals, show);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &mut Output, totals: &UsageTotals) {
    if !totals.budgets.is_empty() {
        heading(output, "Budgets of today");
        for budget in &totals.budgets {
            output.line(format!("  {}", of_budget(budget)));
        }
    }
    if totals.days.is_empty() && totals.models.is_empty() {
        output.line("Nothing was used in these days.");
        return;
    }
    let days: Vec<_> = totals
        .days
        .iter()
        .map(|each| {
            let day = each.day.to_string();
            let day = day.split(['T', ' ']).next().unwrap_or_default().to_owned();
            let engine = each.engine.to_string();
            row([day, engine].to_vec(), each.tokens, &each.cost)
        })
        .collect();
    table(output, "Agents of tasks, by day", &["DAY", "ENGINE"], &days);
    let engines = totals.engines.iter();
    let engines: Vec<_> = engines
        .map(|each| row(vec![each.engine.to_string()], each.tokens, &each.cost))
        .collect();
    table(output, "By engine", &["ENGINE"], &engines);
    let tasks: Vec<_> = totals
        .tasks
        .iter()
        .map(|each| {
            let number = each.task.map_or("gone".to_owned(), |task| task.to_string());
            let title = printable(each.title.as_deref().unwrap_or_default());
            row(vec![number, title], each.tokens, &each.cost)
        })
        .collect();
    table(output, "By task", &["TASK", "TITLE"], &tasks);
    let models: Vec<_> = totals
        .models
        .iter()
        .map(|each| {
            let model = printable(each.model.as_deref().unwrap_or("unknown"));
            row(vec![model], each.tokens, &each.cost)
        })
        .collect();
    table(output, "Every conversation, by model", &["MODEL"], &models);
    output.line(format!("In all, by model: {}", cost(&totals.cost)));
    let sources: Vec<_> = totals
        .prices
        .iter()
        .map(|source| format!("{} of {}", source.vendor, source.as_of))
        .collect();
    let sources = format!(
        "By list prices: {}; `usage.prices` comes before them.",
        sources.join(", ")
    );
    output.line(output.paint.apply(Style::Dim, &sources));
}

fn heading(output: &mut Output, title: &str) {
    output.line(output.paint.apply(Style::Bold, title));
}

fn table(output: &mut Output, title: &str, names: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    heading(output, title);
    let header = [names, &["IN", "OUT", "FROM CACHE", "COUNTED", "COST"]].concat();
    output.table(&header, rows);
    output.line("");
}

fn row(mut names: Vec<String>, tokens: UsedTokens, of: &Cost) -> Vec<String> {
    names.extend([
        (tokens.input + tokens.cache_write).to_string(),
        tokens.output.to_string(),
        tokens.cache_read.to_string(),
        tokens.counted.to_string(),
        cost(of),
    ]);
    names
}

fn of_budget(budget: &BudgetUsage) -> String {
    let of = match &budget.of {
        BudgetOf::Day => "all agents".to_owned(),
        BudgetOf::Engine { engine } => engine.to_string(),
        BudgetOf::Slot { name } => format!("slot {}", printable(name)),
    };
    let spent = if budget.used >= budget.limit {
        ", used up"
    } else {
        ""
    };
    format!("{of}: {} of {} tokens{spent}", budget.used, budget.limit)
}

/// What it cost in dollars, or that it has no price.
pub(super) fn cost(cost: &Cost) -> String {
    if let (None, Some(told)) = (cost.microdollars, cost.told_microdollars) {
        return format!("{} by its own count", dollars(told));
    }
    let models = printable(&cost.unpriced.join(", "));
    match (cost.microdollars, cost.unpriced.is_empty()) {
        (None, true) => "no cost".to_owned(),
        (None, false) => format!("no price for {models}"),
        (Some(micros), true) => dollars(micros),
        (Some(micros), false) => {
            format!("{} without {models}, which has no price", dollars(micros))
        }
    }
}
