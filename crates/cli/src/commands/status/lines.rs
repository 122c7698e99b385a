//! An overview as lines of text, for the command that prints it once and for the one
//! that keeps showing it.

use missiond_api::operations::autopilot::AutopilotMode;
use missiond_api::operations::observe::{Cost, UsedTokens};
use missiond_api::operations::overview::{
    CheckState, OverviewKind, OverviewLine, OverviewQuestion, OverviewReport,
};
use missiond_core::{Timestamp, one_line};

use crate::term::{Style, dollars, printable};

/// One agent, task or question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// `T-12`; empty for a run of no task.
    pub(super) task: String,
    pub(super) title: String,
    pub(super) repository: String,
    pub(super) activity: String,
    /// How long, tokens, cost and checks, in that order.
    pub(super) numbers: Vec<String>,
}

impl Shown {
    pub(super) fn to_text(&self) -> String {
        let name = match (self.task.as_str(), self.repository.as_str()) {
            ("", "") => self.title.clone(),
            ("", repository) => format!("{} ({repository})", self.title),
            (task, "") => format!("{task} {}", self.title),
            (task, repository) => format!("{task} {} ({repository})", self.title),
        };
        format!("{name}  {}  {}", self.activity, self.numbers.join(" · "))
    }
}

pub(super) type Group<'a> = (&'static str, Style, &'a [OverviewLine]);

/// The groups in the order they are wanted.
pub(super) fn groups(overview: &OverviewReport) -> [Group<'_>; 3] {
    [
        ("Needs you", Style::Yellow, &overview.needs_you),
        ("Working", Style::Cyan, &overview.working),
        ("Finished since you looked", Style::Bold, &overview.finished),
    ]
}

pub(super) fn line(line: &OverviewLine, now: Timestamp) -> Shown {
    let mut numbers = vec![time(line, now)];
    numbers.extend(spent(&line.tokens, &line.cost));
    if !matches!(line.kind, OverviewKind::Done | OverviewKind::Review) {
        numbers.extend(line.checks.map(checks));
    }
    Shown {
        task: line.task.map_or_else(String::new, |task| task.to_string()),
        title: printable(&one_line(&line.title)),
        repository: line.repository.as_ref().map_or_else(String::new, |of| {
            // A folder for nothing but this run says nothing.
            printable(&of.name)
        }),
        activity: activity(line),
        numbers,
    }
}

fn activity(line: &OverviewLine) -> String {
    let said = printable(&one_line(&line.activity));
    match line.kind {
        OverviewKind::Review => format!("ready for review: {}", lower_first(&said)),
        OverviewKind::Blocked => format!("blocked: {said}"),
        OverviewKind::Failed => format!("failed: {said}"),
        _ => said,
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

fn time(line: &OverviewLine, now: Timestamp) -> String {
    match line.kind {
        OverviewKind::Asks
        | OverviewKind::Question
        | OverviewKind::Review
        | OverviewKind::Blocked => format!("waits {}", short(now, line.since)),
        OverviewKind::Works | OverviewKind::Idle | OverviewKind::Checks => {
            short(now, line.started_at)
        }
        OverviewKind::Done | OverviewKind::Failed | OverviewKind::Ended => {
            format!("{} ago", short(now, line.ended_at.unwrap_or(line.since)))
        }
    }
}

/// How long ago, by its largest unit.
pub(super) fn short(now: Timestamp, earlier: Timestamp) -> String {
    let seconds = now.since(earlier).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Tokens and what they cost, as far as that is known.
pub(super) fn spent(tokens: &UsedTokens, cost: &Cost) -> Option<String> {
    let all = tokens.counted;
    let known = cost.microdollars.or(cost.told_microdollars);
    let cost = known.filter(|cost| *cost > 0).map(dollars);
    let used = (all > 0).then(|| format!("{} tokens", count(all)));
    match (used, cost) {
        (Some(used), Some(cost)) => Some(format!("{used} · {cost}")),
        (used, cost) => used.or(cost),
    }
}

fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{} k", (tokens + 500) / 1_000),
        _ => format!("{}.{} M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

fn checks(checks: CheckState) -> String {
    match checks.passed + checks.failed {
        0 => "no checks".to_owned(),
        all => format!("{} of {all} checks", checks.passed),
    }
}

/// The answers that are offered, and the command that gives one.
pub(super) fn how_to_answer(question: &OverviewQuestion) -> Vec<String> {
    let number = question.number;
    if question.options.is_empty() {
        return vec![format!("mission answer {number} \"…\"")];
    }
    vec![options(question), format!("mission answer {number} 1")]
}

pub(super) fn options(question: &OverviewQuestion) -> String {
    let options = question.options.iter().enumerate();
    let options = options.map(|(at, option)| {
        let option = printable(&one_line(option));
        format!("{} {option}", at + 1)
    });
    options.collect::<Vec<_>>().join(" · ")
}

/// What is said when nobody works and nobody asks.
pub(super) fn idle(overview: &OverviewReport) -> &'static str {
    match (overview.autopilot, overview.ready) {
        (_, 0) => "No agent works, and no task waits for one. `mission task add` adds a task.",
        (AutopilotMode::Running, _) => "No agent works yet.",
        _ => "No agent works. `mission autopilot resume` has the tasks of the board worked on.",
    }
}

/// The autopilot and its places, in a sentence.
pub(super) fn autopilot(overview: &OverviewReport) -> String {
    let mode = match overview.autopilot {
        AutopilotMode::Running => "on",
        AutopilotMode::Paused => "paused",
        AutopilotMode::Draining => "finishing what runs",
        AutopilotMode::Stopped => "stopped",
    };
    let ready = match overview.ready {
        0 => String::new(),
        1 => ", 1 task ready".to_owned(),
        n => format!(", {n} tasks ready"),
    };
    format!(
        "Autopilot {mode}, {} of {} agents at work{ready}.",
        overview.agents, overview.max_agents
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_nothing() {
        assert_eq!(
            [count(7), count(1_499), count(31_400)],
            ["7", "1 k", "31 k"]
        );
        assert_eq!(count(2_340_000), "2.3 M");
        let tokens = UsedTokens {
            counted: 31_000,
            ..UsedTokens::default()
        };
        let cost = Cost {
            told_microdollars: Some(120_000),
            ..Cost::default()
        };
        assert_eq!(
            spent(&tokens, &cost).as_deref(),
            Some("31 k tokens · $0.12")
        );
        assert_eq!(spent(&UsedTokens::default(), &Cost::default()), None);
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        assert_eq!(short(at(90_000), at(0)), "1 d");
        assert_eq!(short(at(3_700), at(0)), "1 h 1 min");
        assert_eq!(short(at(5), at(9)), "0 s");
    }
}
