//! An overview as lines of text, for the command that prints it once and for the one
//! that keeps showing it.

use missiond_api::operations::autopilot::AutopilotMode;
use missiond_api::operations::observe::{Cost, UsedTokens};
use missiond_api::operations::overview::{
    CheckState, OverviewKind, OverviewLine, OverviewQuestion, OverviewReport,
};
use missiond_core::{Incident, Timestamp, one_line};

use crate::term::{Style, dollars, printable};

/// One agent, task or question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// `T-12`; empty for a run of no task.
    pub(super) task: String,
    pub(super) title: String,
    /// Where it works and who does: `calc, codex`.
    pub(super) place: String,
    pub(super) activity: String,
    /// The last line of its work, where the activity does not say it.
    pub(super) last_line: Option<String>,
    /// How long, tokens, cost and checks, in that order.
    pub(super) numbers: Vec<String>,
}

impl Shown {
    /// `T-12 Say hello (calc, codex)`
    pub(super) fn name(&self) -> String {
        let mut name = self.task.clone();
        for (part, before, after) in [(&self.title, " ", ""), (&self.place, " (", ")")] {
            if !part.is_empty() {
                let before = if name.is_empty() { "" } else { before };
                name.push_str(&format!("{before}{part}{after}"));
            }
        }
        name
    }

    pub(super) fn to_text(&self) -> String {
        let numbers = self.numbers.join(" · ");
        format!("{}  {}  {numbers}", self.name(), self.activity)
    }
}

/// Lines that belong together.
pub(super) struct Group<'a> {
    pub(super) heading: &'static str,
    pub(super) style: Style,
    pub(super) lines: &'a [OverviewLine],
    /// They need somebody, too.
    pub(super) incidents: &'a [Incident],
}

impl Group<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.incidents.is_empty()
    }
}

/// The groups in the order they are wanted.
pub(super) fn groups(overview: &OverviewReport) -> [Group<'_>; 5] {
    let group = |heading, style, lines| Group {
        heading,
        style,
        lines,
        incidents: &[],
    };
    [
        Group {
            incidents: &overview.incidents,
            ..group("Needs you", Style::Yellow, overview.needs_you.as_slice())
        },
        group("Working", Style::Cyan, &overview.working),
        group("Idle", Style::Bold, &overview.idle),
        group("Finished since you looked", Style::Bold, &overview.finished),
        group("Terminals", Style::Dim, &overview.terminals),
    ]
}

pub(super) fn incident(incident: &Incident) -> String {
    let times = match incident.occurrences {
        0 | 1 => String::new(),
        n => format!(" ({n} times)"),
    };
    let summary = printable(&one_line(&incident.summary));
    format!("{}: {summary}{times}", printable(&incident.kind))
}

pub(super) fn line(line: &OverviewLine, now: Timestamp) -> Shown {
    let mut numbers = vec![time(line, now)];
    numbers.extend(spent(&line.tokens, &line.cost));
    if !matches!(line.kind, OverviewKind::Done | OverviewKind::Review) {
        numbers.extend(line.checks.map(checks));
    }
    let repository = line.repository.as_ref().map(|of| of.name.clone());
    let engine = line.engine.as_ref().map(ToString::to_string);
    // A model says whose it is; a shell is no engine.
    let agent = line.model.clone().or(engine);
    let agent = agent.filter(|_| line.kind != OverviewKind::Terminal);
    let place: Vec<_> = repository.into_iter().chain(agent).collect();
    let activity = activity(line);
    let last_line = line.last_line.as_deref().map(one_line);
    let last_line = last_line.map(|last| printable(&last));
    Shown {
        task: line.task.map_or_else(String::new, |task| task.to_string()),
        title: printable(&one_line(&line.title)),
        place: printable(&place.join(", ")),
        last_line: last_line.filter(|last| !last.is_empty() && !activity.contains(last.as_str())),
        activity,
        numbers,
    }
}

fn activity(line: &OverviewLine) -> String {
    let said = printable(&one_line(&line.activity));
    match line.kind {
        OverviewKind::Review => format!("ready for review: {}", lower_first(&said)),
        OverviewKind::Blocked => format!("blocked: {said}"),
        OverviewKind::Failed => format!("failed: {said}"),
        OverviewKind::Cancelled if line.task.is_some() => format!("cancelled: {said}"),
        OverviewKind::NotKept => format!("not kept: {said}"),
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
        | OverviewKind::Error
        | OverviewKind::Question
        | OverviewKind::Review
        | OverviewKind::Blocked
        | OverviewKind::Waits => format!("waits {}", short(now, line.since)),
        OverviewKind::Works
        | OverviewKind::Idle
        | OverviewKind::Checks
        | OverviewKind::Terminal => short(now, line.started_at),
        OverviewKind::Done
        | OverviewKind::Failed
        | OverviewKind::NotKept
        | OverviewKind::Ended
        | OverviewKind::Cancelled
        | OverviewKind::Crashed => {
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

/// What a person can do about a line: the answers that are offered, and the command that
/// gives one or shows more.
pub(super) fn next_steps(line: &OverviewLine) -> Vec<String> {
    if let Some(question) = &line.question {
        let number = question.number;
        return match (question.options.is_empty(), line.kind) {
            (true, OverviewKind::Blocked) => vec![format!(
                "mission answer {number} \"try again\" · \"give up\" · or words for its agent"
            )],
            (true, _) => vec![format!("mission answer {number} \"…\"")],
            (false, _) => vec![options(question), format!("mission answer {number} 1")],
        };
    }
    let step = match (line.kind, line.task, &line.slot) {
        (OverviewKind::Review, Some(task), _) => format!("mission review {task}"),
        (OverviewKind::Blocked | OverviewKind::Failed, Some(task), _) => {
            format!("mission task show {task}")
        }
        (OverviewKind::Error | OverviewKind::Asks, _, Some(slot)) => {
            format!("mission slot attach {slot}")
        }
        (OverviewKind::Crashed, ..) => match line.execution {
            Some(run) => format!("mission execution show {run}"),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    vec![step]
}

pub(super) fn options(question: &OverviewQuestion) -> String {
    let options = question.options.iter().enumerate();
    let options = options.map(|(at, option)| {
        let option = printable(&one_line(option));
        format!("{} {option}", at + 1)
    });
    options.collect::<Vec<_>>().join(" · ")
}

/// Whether no agent is there to be spoken of.
pub(super) fn is_quiet(overview: &OverviewReport) -> bool {
    let groups = [&overview.needs_you, &overview.working, &overview.idle];
    groups.iter().all(|lines| lines.is_empty())
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
        // Not "ready": those are the tasks that no limit holds back either.
        1 => ", 1 task waits for an agent".to_owned(),
        n => format!(", {n} tasks wait for an agent"),
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
