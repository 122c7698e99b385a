//! The lines of an overview, from what was gathered.

use std::collections::HashSet;
use std::time::Duration;

use missiond_api::operations::observe::{Cost, UsedTokens};
use missiond_api::operations::overview::{
    CheckState, OverviewKind, OverviewLine, OverviewQuestion,
};
use missiond_autopilot::Doing;
use missiond_config::UsageConfig;
use missiond_core::{
    Attempt, AttemptId, BoardTask, BoardTaskStatus, ExecutionId, ExecutionLifecycle, PtyState,
    Question, QuestionOrigin, SlotId, Timestamp,
};
use missiond_memory::cost;
use missiond_semantic::GENERIC;
use missiond_store::executions::ExecutionRow;
use missiond_store::token_usage::Tokens;

use crate::observe::used_tokens;
use crate::run_facts::repository_name;

use super::facts::{Facts, JournalFacts, Terminal};
use super::words::{self, Owner};

/// A dialog that stands so long without being a question is nobody's but a person's:
/// a rule would have answered it.
const UNANSWERED: Duration = Duration::from_secs(5);

/// A title is what the agent was asked, and no longer than this.
const LONGEST_TITLE: usize = 120;

pub(super) fn lines(facts: &Facts, prices: &UsageConfig) -> Vec<OverviewLine> {
    let maker = Maker {
        facts,
        prices,
        asked: HashSet::new(),
    };
    maker.lines()
}

struct Maker<'a> {
    facts: &'a Facts,
    prices: &'a UsageConfig,
    /// Questions that stand on a line already.
    asked: HashSet<i64>,
}

impl Maker<'_> {
    fn lines(mut self) -> Vec<OverviewLine> {
        let facts = self.facts;
        let mut lines = Vec::new();
        let live: HashSet<_> = facts.rows.live.iter().map(|attempt| attempt.id).collect();
        for row in &facts.rows.running {
            let attempt = facts.attempt_of(row.id);
            // Its attempt is over: it is on its way out.
            let leaves = match attempt {
                Some(attempt) => !live.contains(&attempt.id),
                None => facts.of_tasks.contains(&row.id),
            };
            if !leaves {
                let line = self.of_run(row, attempt);
                self.push_agent(line, Some(row.id), Some(row.slot), &mut lines);
            }
        }
        let runs: HashSet<_> = facts.rows.running.iter().map(|row| row.id).collect();
        let without_run = |attempt: &&Attempt| {
            let run = attempt.execution;
            run.is_none_or(|run| !runs.contains(&run))
        };
        for attempt in facts.rows.live.iter().filter(without_run) {
            lines.extend(self.of_attempt(attempt));
        }
        let used: HashSet<_> = facts.rows.running.iter().map(|row| row.slot).collect();
        let bare = facts.terminals.iter().filter(|(id, _)| !used.contains(id));
        for (id, terminal) in bare {
            let line = of_slot(facts, terminal);
            self.push_agent(line, None, Some(*id), &mut lines);
        }
        for task in &facts.rows.standing {
            match task.status {
                BoardTaskStatus::Review => {
                    lines.push(self.of_waiting_task(task, OverviewKind::Review));
                }
                BoardTaskStatus::Blocked => {
                    lines.push(self.of_waiting_task(task, OverviewKind::Blocked));
                }
                BoardTaskStatus::Open => lines.extend(self.of_later_task(task)),
                BoardTaskStatus::Running | BoardTaskStatus::Done | BoardTaskStatus::Failed => {}
            }
        }
        for question in &facts.rows.questions {
            if !self.asked.contains(&question.number.0) {
                lines.push(self.of_question(question));
            }
        }
        for task in &facts.rows.finished {
            lines.push(self.of_finished(task));
        }
        for row in &facts.rows.ended {
            let mut line = self.of_run(row, None);
            let (kind, activity) = match row.ended_as {
                Some(ExecutionLifecycle::Failed) => (OverviewKind::Crashed, "The run failed"),
                Some(ExecutionLifecycle::Terminated) => {
                    (OverviewKind::Crashed, "The run ended unexpectedly")
                }
                Some(ExecutionLifecycle::Cancelled) => {
                    (OverviewKind::Cancelled, "The run was cancelled")
                }
                _ => (OverviewKind::Ended, "The run ended"),
            };
            line.kind = kind;
            activity.clone_into(&mut line.activity);
            line.last_line = None;
            line.ended_at = row.ended_at;
            line.since = row.ended_at.unwrap_or(row.started_at);
            lines.push(line);
        }
        lines
    }

    /// The line of an agent: one for each question it asks, else one.
    fn push_agent(
        &mut self,
        line: OverviewLine,
        run: Option<ExecutionId>,
        slot: Option<SlotId>,
        lines: &mut Vec<OverviewLine>,
    ) {
        let facts = self.facts;
        let asks = |question: &&Question| {
            let by_run = run.is_some() && question.origin.execution() == run;
            let by_slot = slot.is_some() && question.origin.slot() == slot;
            by_run || by_slot
        };
        let before = lines.len();
        for question in facts.rows.questions.iter().filter(asks) {
            self.asked.insert(question.number.0);
            let mut line = line.clone();
            line.kind = OverviewKind::Asks;
            line.activity = words::asks(&question.headline);
            line.last_line = None;
            line.since = question.asked_at;
            line.question = Some(offered(question));
            lines.push(line);
        }
        if lines.len() == before {
            lines.push(line);
        }
    }

    fn of_run(&self, row: &ExecutionRow, attempt: Option<&Attempt>) -> OverviewLine {
        let facts = self.facts;
        let task = attempt.and_then(|attempt| facts.tasks.get(&attempt.task));
        let terminal = facts.terminals.get(&row.slot);
        let journal = facts.journals.get(&row.id);
        let owner = match task {
            Some(_) => Owner::Task,
            None => Owner::Person,
        };
        let (mut kind, activity) = of_agent(facts.now, terminal, journal, owner);
        let (mut activity, mut since) = match terminal {
            Some(terminal) => (activity, terminal.since()),
            None => (
                activity,
                journal.map_or(row.started_at, |one| one.updated_at),
            ),
        };
        if let Some((now_kind, now_activity, began)) = attempt.and_then(|one| self.step(one.id)) {
            (kind, activity, since) = (now_kind, now_activity, began);
        }
        let title = match task {
            Some(task) => task.title.clone(),
            None => self.title_of(row),
        };
        let repository = match task.and_then(|task| task.repository.as_deref()) {
            Some(repository) => Some(repository_name(repository)),
            None if task.is_none() => {
                let checkout = facts.checkouts.get(&row.cwd);
                Some(repository_name(checkout.unwrap_or(&row.cwd)))
            }
            None => None,
        };
        let words = journal.and_then(|journal| journal.last_words.clone());
        // A dialog is no work; what it asks is on the line.
        let asks = terminal.and_then(Terminal::state) == Some(PtyState::Confirming);
        OverviewLine {
            kind,
            title,
            task: task.map(|task| task.number),
            status: task.map(|task| task.status),
            repository,
            attempt: attempt.map(|attempt| attempt.id),
            execution: Some(row.id),
            slot: terminal.map(|terminal| terminal.open.slot.name.clone()),
            engine: Some(row.engine.clone()),
            model: self.model_of(Some(row.id), task),
            activity,
            last_line: if asks {
                None
            } else {
                let shown = terminal.and_then(|terminal| terminal.work_line.clone());
                shown.or_else(|| words.map(|words| words::cut(&words)))
            },
            started_at: attempt.map_or(row.started_at, |attempt| attempt.started_at),
            since,
            ended_at: None,
            holds_place: attempt.is_some(),
            tokens: self.tokens_of(Some(row.id)),
            cost: self.cost_of(Some(row.id)),
            checks: attempt.and_then(|attempt| self.checks_of(attempt.id)),
            question: None,
        }
    }

    /// An attempt whose agent does not run: it is prepared, checked or finished.
    fn of_attempt(&self, attempt: &Attempt) -> Option<OverviewLine> {
        let task = self.facts.tasks.get(&attempt.task)?;
        let step = self.step(attempt.id);
        let (kind, activity, since) = step.unwrap_or_else(|| {
            let activity = match attempt.execution {
                Some(_) if attempt.worktree.is_some() => "Its agent has ended",
                _ => "Waits to be started",
            };
            (OverviewKind::Works, activity.to_owned(), attempt.started_at)
        });
        Some(OverviewLine {
            kind,
            activity,
            since,
            started_at: attempt.started_at,
            holds_place: true,
            ..self.of_task(task)
        })
    }

    /// What the daemon itself does for an attempt at the moment.
    fn step(&self, attempt: AttemptId) -> Option<(OverviewKind, String, Timestamp)> {
        let step = self.facts.steps.get(&attempt)?;
        let (kind, activity) = match step.doing {
            Doing::Prepare => (OverviewKind::Works, "Gets its place to work".to_owned()),
            Doing::Start => (OverviewKind::Works, "Starts".to_owned()),
            Doing::Check { round } => (
                OverviewKind::Checks,
                format!("Runs the checks, round {round}"),
            ),
            Doing::Integrate => (OverviewKind::Checks, "Finishes the work".to_owned()),
            Doing::Other => return None,
        };
        Some((kind, activity, step.since))
    }

    fn of_waiting_task(&mut self, task: &BoardTask, kind: OverviewKind) -> OverviewLine {
        let mut line = self.of_task(task);
        line.kind = kind;
        line.since = task.updated_at;
        line.activity = match (&task.blocked, kind) {
            (Some(reason), _) => words::cut(reason),
            (None, OverviewKind::Review) => {
                words_of(line.checks).unwrap_or_else(|| "Waits for your review".to_owned())
            }
            (None, _) => "Cannot go on".to_owned(),
        };
        let questions = self.facts.rows.questions.iter();
        let mut about = questions.filter(|question| {
            matches!(question.origin, QuestionOrigin::Task { task: of, .. } if of == task.id)
        });
        if let Some(question) = about.next() {
            self.asked.insert(question.number.0);
            line.question = Some(offered(question));
            line.since = question.asked_at;
        }
        line
    }

    /// A task between two attempts.
    fn of_later_task(&self, task: &BoardTask) -> Option<OverviewLine> {
        let facts = self.facts;
        let attempt = facts.attempts.get(&task.id)?;
        let soon = words::soon(task.not_before?.since(facts.now));
        let why = attempt.reason.as_deref();
        let why = why.map_or_else(String::new, |why| format!(": {}", words::cut(why)));
        let line = self.of_task(task);
        Some(OverviewLine {
            kind: OverviewKind::Waits,
            activity: format!("Is tried again {soon}{why}"),
            since: attempt.ended_at.unwrap_or(attempt.started_at),
            ..line
        })
    }

    fn of_question(&self, question: &Question) -> OverviewLine {
        let about = question.origin.task();
        let task = about.and_then(|id| self.facts.tasks.get(&id));
        let mut line = match task {
            Some(task) => self.of_task(task),
            None => {
                let mut line = empty(words::cut(&question.question), question.asked_at);
                line.task = question.task;
                line.execution = question.origin.execution();
                line
            }
        };
        line.kind = OverviewKind::Question;
        line.activity = words::asks(&question.headline);
        line.since = question.asked_at;
        line.question = Some(offered(question));
        line
    }

    fn of_finished(&self, task: &BoardTask) -> OverviewLine {
        let mut line = self.of_task(task);
        let done = task.status == BoardTaskStatus::Done;
        line.kind = if done {
            OverviewKind::Done
        } else if self.facts.rows.not_kept.contains(&task.id) {
            OverviewKind::NotKept
        } else if task.was_cancelled() {
            OverviewKind::Cancelled
        } else {
            OverviewKind::Failed
        };
        line.activity = match (&task.blocked, done) {
            (Some(reason), false) => words::cut(reason),
            (None, false) => "Was given up".to_owned(),
            (_, true) => words_of(line.checks).unwrap_or_else(|| "Done".to_owned()),
        };
        line.ended_at = task.finished_at;
        line.since = task.finished_at.unwrap_or(task.updated_at);
        line
    }

    /// A task by its last attempt; what goes on is for the caller to say.
    fn of_task(&self, task: &BoardTask) -> OverviewLine {
        let attempt = self.facts.attempts.get(&task.id);
        let run = attempt.and_then(|attempt| attempt.execution);
        let started_at = attempt.map_or(task.created_at, |attempt| attempt.started_at);
        OverviewLine {
            task: Some(task.number),
            status: Some(task.status),
            repository: task.repository.as_deref().map(repository_name),
            attempt: attempt.map(|attempt| attempt.id),
            execution: run,
            engine: task.engine.clone(),
            model: self.model_of(run, Some(task)),
            tokens: self.tokens_of(run),
            cost: self.cost_of(run),
            checks: attempt.and_then(|attempt| self.checks_of(attempt.id)),
            ..empty(task.title.clone(), started_at)
        }
    }

    fn title_of(&self, row: &ExecutionRow) -> String {
        let usage = self.facts.usage.get(&row.id);
        let journal = self.facts.journals.get(&row.id);
        let said = journal.and_then(|one| one.first_prompt.as_deref());
        let said = said.or_else(|| usage.and_then(|usage| usage.title.as_deref()));
        match said.and_then(|said| said.lines().find(|line| !line.trim().is_empty())) {
            Some(said) => said.trim().chars().take(LONGEST_TITLE).collect(),
            None => format!("{} in {}", row.engine, repository_name(&row.cwd).name),
        }
    }

    fn tokens_of(&self, run: Option<ExecutionId>) -> UsedTokens {
        let Some(run) = run else {
            return UsedTokens::default();
        };
        let live = self.facts.journals.get(&run).map(|journal| journal.tokens);
        let usage = self.facts.usage.get(&run);
        let counted = usage.map(|usage| usage.counted);
        let mut read = Tokens::default();
        for one in usage.iter().flat_map(|usage| &usage.models) {
            read.input += one.tokens.input;
            read.output += one.tokens.output;
            read.cache_read += one.tokens.cache_read;
            read.cache_write += one.tokens.cache_write;
        }
        let known = [live, counted, Some(read)].into_iter().flatten();
        let mut known = known.filter(|tokens| *tokens != Tokens::default());
        used_tokens(known.next().unwrap_or_default())
    }

    fn cost_of(&self, run: Option<ExecutionId>) -> Cost {
        let usage = run.and_then(|run| self.facts.usage.get(&run));
        usage.map_or_else(Cost::default, |usage| {
            cost::of(self.prices, &usage.models, usage.reported_cost)
        })
    }

    /// The model that was used most, else the one that was asked for.
    fn model_of(&self, run: Option<ExecutionId>, task: Option<&BoardTask>) -> Option<String> {
        let usage = run.and_then(|run| self.facts.usage.get(&run));
        let models = usage.iter().flat_map(|usage| &usage.models);
        let named = models.filter(|used| used.of.is_some());
        let most = named.max_by_key(|used| used.tokens.counted());
        most.and_then(|used| used.of.clone())
            .or_else(|| task.and_then(|task| task.model.clone()))
    }

    fn checks_of(&self, attempt: AttemptId) -> Option<CheckState> {
        let round = self.facts.rounds.get(&attempt)?;
        Some(CheckState {
            round: round.round,
            passed: round.passed,
            failed: round.failed,
        })
    }
}

/// What an agent does and whether it needs anybody.
fn of_agent(
    now: Timestamp,
    terminal: Option<&Terminal>,
    journal: Option<&JournalFacts>,
    owner: Owner,
) -> (OverviewKind, String) {
    let Some(terminal) = terminal else {
        let activity = match journal {
            Some(_) => "Ends",
            None => "Runs with another daemon",
        };
        return (OverviewKind::Works, activity.to_owned());
    };
    let state = terminal.state();
    let kind = match state {
        Some(PtyState::Idle) if journal.is_none_or(|journal| !journal.waits_for_words) => {
            OverviewKind::Idle
        }
        Some(PtyState::Confirming) if now.since(terminal.since()) >= UNANSWERED => {
            OverviewKind::Asks
        }
        // The autopilot tries again by itself; so do some programs, at once.
        Some(PtyState::Error)
            if owner == Owner::Person && now.since(terminal.since()) >= UNANSWERED =>
        {
            OverviewKind::Error
        }
        _ => OverviewKind::Works,
    };
    let activity = words::activity(terminal.reading.as_ref(), journal, owner);
    (kind, activity)
}

/// A terminal somebody opened, which belongs to no run.
fn of_slot(facts: &Facts, terminal: &Terminal) -> OverviewLine {
    let open = &terminal.open;
    // What a program without a manifest does cannot be told: it is a terminal, and no
    // agent. Only that it asks something is seen.
    let asks = terminal.state() == Some(PtyState::Confirming);
    let (kind, activity) = if open.slot.engine.name() == GENERIC && !asks {
        (OverviewKind::Terminal, "Opened by hand".to_owned())
    } else {
        of_agent(facts.now, Some(terminal), None, Owner::Person)
    };
    let program = open.record.argv.join(" ");
    let checkout = facts.checkouts.get(&open.record.cwd);
    OverviewLine {
        kind,
        repository: Some(repository_name(checkout.unwrap_or(&open.record.cwd))),
        slot: Some(open.slot.name.clone()),
        engine: Some(open.slot.engine.clone()),
        activity,
        last_line: terminal.work_line.clone(),
        since: terminal.since(),
        ..empty(words::cut(&program), open.slot.created_at)
    }
}

fn empty(title: String, started_at: Timestamp) -> OverviewLine {
    OverviewLine {
        kind: OverviewKind::Works,
        title,
        task: None,
        status: None,
        repository: None,
        attempt: None,
        execution: None,
        slot: None,
        engine: None,
        model: None,
        activity: String::new(),
        last_line: None,
        started_at,
        since: started_at,
        ended_at: None,
        holds_place: false,
        tokens: UsedTokens::default(),
        cost: Cost::default(),
        checks: None,
        question: None,
    }
}

fn offered(question: &Question) -> OverviewQuestion {
    let (allows, denies) = match &question.origin {
        QuestionOrigin::Dialog { allows, denies, .. } => (allows.clone(), denies.clone()),
        _ => (None, None),
    };
    OverviewQuestion {
        number: question.number,
        question: question.question.clone(),
        headline: question.headline.clone(),
        options: question.options.clone(),
        allows,
        denies,
    }
}

fn words_of(checks: Option<CheckState>) -> Option<String> {
    let checks = checks?;
    let all = checks.passed + checks.failed;
    Some(match (all, checks.failed) {
        (0, _) => "No checks: the agent's word was taken".to_owned(),
        (1, 0) => "Its check passed".to_owned(),
        (_, 0) => format!("All {all} checks passed"),
        _ => format!("{} of {all} checks passed", checks.passed),
    })
}
