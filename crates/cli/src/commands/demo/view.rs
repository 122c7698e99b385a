//! The demo as it is watched: a table that is drawn again in place on a
//! terminal, lines as things happen anywhere else, nothing for programs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{IsTerminal, Write};
use std::time::Duration;

use missiond_api::operations::board::TaskSummary;
use missiond_core::{
    BoardTaskId, BoardTaskStatus, Event, ExecutionActivity, ExecutionAttention, TimelineEvent,
};

use super::Snapshot;
use crate::output::Output;
use crate::term::{Style, printable};

/// The kinds of event that are told.
pub(super) const TOLD: [&str; 9] = [
    "board_task_claimed",
    "board_task_updated",
    "checks_finished",
    "dialog_answered",
    "question_created",
    "question_answered",
    "usage_limit_reached",
    "lease_expired",
    "stale_write_refused",
];

/// How many of the last happenings stay on the screen.
const SHOWN: usize = 8;

enum DisplayMode {
    Silent,
    Lines,
    Drawn { lines: usize },
}

pub(super) struct View {
    mode: DisplayMode,
    /// What each task is called: its number and title.
    names: BTreeMap<BoardTaskId, String>,
    done: BTreeMap<BoardTaskId, BoardTaskStatus>,
    /// Those whose checks passed when they last ran.
    passed: BTreeSet<BoardTaskId>,
    happened: VecDeque<String>,
}

impl View {
    pub(super) fn new(json: bool) -> Self {
        let mode = match (json, std::io::stdout().is_terminal()) {
            (true, _) => DisplayMode::Silent,
            (false, true) => DisplayMode::Drawn { lines: 0 },
            (false, false) => DisplayMode::Lines,
        };
        Self {
            mode,
            names: BTreeMap::new(),
            done: BTreeMap::new(),
            passed: BTreeSet::new(),
            happened: VecDeque::new(),
        }
    }

    pub(super) fn show(&mut self, output: &mut Output, snapshot: &Snapshot, elapsed: Duration) {
        for task in &snapshot.tasks {
            let name = format!("{} “{}”", task.number, printable(&task.title));
            self.names.insert(task.id, name);
        }
        let clock = format!("{:>3} s", elapsed.as_secs());
        for event in &snapshot.events {
            if let Some(words) = self.words(event) {
                if matches!(self.mode, DisplayMode::Lines) {
                    output.line(format!("{clock}  {words}"));
                }
                self.happened.push_back(format!("{clock}  {words}"));
            }
        }
        while self.happened.len() > SHOWN {
            self.happened.pop_front();
        }
        if let DisplayMode::Drawn { lines } = self.mode {
            let drawn = self.draw(output, snapshot, &clock);
            let mut stdout = std::io::stdout().lock();
            let up = match lines {
                0 => String::new(),
                n => format!("\x1b[{n}A"),
            };
            let text: String = drawn
                .iter()
                .map(|line| format!("\r\x1b[K{line}\n"))
                .collect();
            // Rows that the last picture had and this one has not.
            let _ = write!(stdout, "{up}{text}\x1b[J");
            let _ = stdout.flush();
            self.mode = DisplayMode::Drawn { lines: drawn.len() };
        }
    }

    /// The picture stays; what is printed next goes below it.
    pub(super) fn end(&mut self) {
        if let DisplayMode::Drawn { lines } = &mut self.mode {
            *lines = 0;
        }
    }

    fn draw(&self, output: &Output, snapshot: &Snapshot, clock: &str) -> Vec<String> {
        let done = snapshot
            .tasks
            .iter()
            .filter(|task| task.status == BoardTaskStatus::Done)
            .count();
        let title = format!(
            "mission demo · {done} of {} tasks done · {clock}",
            snapshot.tasks.len()
        );
        let mut lines = vec![output.paint.apply(Style::Bold, &title), String::new()];
        for task in &snapshot.tasks {
            let (mark, style) = match task.status {
                BoardTaskStatus::Open => ("·", Style::Dim),
                BoardTaskStatus::Running => ("●", Style::Cyan),
                BoardTaskStatus::Review => ("◆", Style::Yellow),
                BoardTaskStatus::Done => ("✓", Style::Green),
                BoardTaskStatus::Failed | BoardTaskStatus::Blocked => ("✗", Style::Red),
            };
            let mark = output.paint.apply(style, mark);
            let doing = doing(task, snapshot);
            lines.push(format!(
                " {mark} {:<5} {:<26} {doing}",
                task.number.to_string(),
                printable(&task.title)
            ));
        }
        lines.push(String::new());
        let happened = self.happened.iter();
        lines.extend(happened.map(|line| output.paint.apply(Style::Dim, &format!("  {line}"))));
        lines
    }

    fn words(&mut self, event: &TimelineEvent) -> Option<String> {
        let name_of = |id: &BoardTaskId| {
            let name = self.names.get(id);
            name.map_or_else(|| id.to_string(), String::clone)
        };
        Some(match &event.event {
            Event::BoardTaskClaimed { task, .. } => {
                format!(
                    "{} is claimed: it gets a worktree and an agent",
                    name_of(task)
                )
            }
            Event::BoardTaskUpdated { task, status } => {
                let words = match status {
                    BoardTaskStatus::Done => "is verified, merged and done",
                    BoardTaskStatus::Review => "is verified and ready for review",
                    BoardTaskStatus::Failed => "has failed",
                    BoardTaskStatus::Blocked => "is blocked: a person is asked",
                    BoardTaskStatus::Open | BoardTaskStatus::Running => return None,
                };
                let words = format!("{} {words}", name_of(task));
                let before = self.done.insert(*task, *status);
                return (before != Some(*status)).then_some(words);
            }
            Event::ChecksFinished {
                task,
                passed,
                failed,
                ..
            } => {
                let name = name_of(task);
                match failed {
                    0 if self.passed.insert(*task) => {
                        format!("{name} passes {}", checks(*passed))
                    }
                    0 => format!("{name} passes again, with what was merged meanwhile"),
                    n => {
                        self.passed.remove(task);
                        format!("{name} fails {}: back to its agent", checks(*n))
                    }
                }
            }
            Event::DialogAnswered { option, .. } => {
                format!("a permission is given by a rule: {}", printable(option))
            }
            Event::QuestionCreated { .. } => "an agent asks something".to_owned(),
            Event::QuestionAnswered { by, .. } => format!("it is answered by {}", printable(by)),
            Event::UsageLimitReached { engine, .. } => format!("{engine} has reached its limit"),
            Event::LeaseExpired { resource, .. } => format!("the lease of {resource} ran out"),
            Event::StaleWriteRefused { resource, .. } => {
                format!("a late write to {resource} is refused")
            }
            _ => return None,
        })
    }
}

fn checks(count: u32) -> String {
    match count {
        1 => "its check".to_owned(),
        n => format!("{n} checks"),
    }
}

fn doing(task: &TaskSummary, snapshot: &Snapshot) -> String {
    match task.status {
        BoardTaskStatus::Open => return "waits".to_owned(),
        BoardTaskStatus::Review => return "ready for review".to_owned(),
        BoardTaskStatus::Done => return "done".to_owned(),
        BoardTaskStatus::Failed | BoardTaskStatus::Blocked => {
            return printable(task.blocked.as_deref().unwrap_or("stopped"));
        }
        BoardTaskStatus::Running => {}
    }
    let attempt = snapshot
        .autopilot
        .attempts
        .iter()
        .find(|one| one.task == task.number);
    let agent = attempt.and_then(|attempt| {
        let mut agents = snapshot.agents.iter();
        agents.find(|agent| Some(agent.execution) == attempt.execution)
    });
    let Some(agent) = agent else {
        return "its place is prepared".to_owned();
    };
    if agent.open_questions > 0 {
        return "its agent asks something".to_owned();
    }
    if agent.attention == ExecutionAttention::AwaitingOperator {
        return "its agent asks for permission".to_owned();
    }
    let activity = match agent.activity {
        ExecutionActivity::Unknown => "its agent starts",
        ExecutionActivity::Idle => "its agent rests: the work is checked",
        ExecutionActivity::Planning | ExecutionActivity::Reasoning => "its agent thinks",
        ExecutionActivity::Communicating => "its agent talks",
        ExecutionActivity::Editing => "its agent edits",
        ExecutionActivity::Executing => "its agent runs a tool",
        ExecutionActivity::Testing => "its agent tests",
        ExecutionActivity::Reviewing => "its agent reads",
    };
    activity.to_owned()
}
