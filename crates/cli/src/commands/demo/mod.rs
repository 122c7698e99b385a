//! `mission demo`: five tasks done by agents, from claim to merge, in a folder,
//! a home and with a daemon of their own. The demo plays the person: it puts the
//! tasks on the board, allows one command and answers one question. Everything
//! else is the product at work, and is left there to be looked at.

mod interrupt;
mod view;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use missiond_adapters::{adapter, find_program, known_engines, offer_for};
use missiond_api::operations::NoParams;
use missiond_api::operations::access::WebLogin;
use missiond_api::operations::attention::permission::PermissionAdd;
use missiond_api::operations::attention::{
    PermissionAddParams, PermissionEffect, PermissionSubject, QuestionAnswer, QuestionAnswerParams,
    QuestionList, QuestionListParams,
};
use missiond_api::operations::autopilot::{
    AutopilotMode, AutopilotReport, AutopilotSet, AutopilotSetParams, AutopilotShow,
};
use missiond_api::operations::board::{
    BoardAdd, BoardAddParams, BoardList, BoardListParams, BoardShow, BoardTaskParams, TaskSummary,
};
use missiond_api::operations::communication::{
    Order, PageLimit, TimelineQuery, TimelineQueryParams,
};
use missiond_api::operations::compute::{SlotList, SlotListParams};
use missiond_api::operations::execution::{ExecutionList, ExecutionListParams, ExecutionSummary};
use missiond_api::{Client, Home};
use missiond_core::{
    BoardTaskStatus, CliEngine, Controller, ErrorCode, Question, QuestionOrigin, QuestionRef, Seq,
    TaskDraft, TaskNumber, TaskRef, Text, TimelineEvent,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use missiond_rehearsal::sample::{self, SampleError, Stage, TASKS};

use self::interrupt::Interrupt;
use self::view::View;
use crate::args::DemoArgs;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::process::{self, Force};
use crate::term::Style;

/// Rehearsal agents need a third of this.
const REHEARSAL_LIMIT: Duration = Duration::from_secs(110);
const REAL_LIMIT: Duration = Duration::from_secs(20 * 60);
const LOOK: Duration = Duration::from_millis(200);
/// How long a question can be read before it is answered.
const READING_TIME: Duration = Duration::from_millis(1500);
/// What the sample is made and tested with.
const NEEDED: [&str; 2] = ["git", "sh"];
/// What the demo answers where it is offered.
const ANSWER: &str = "three exclamation marks";

pub(super) fn run(args: &DemoArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    if let Some(engine) = &args.engine {
        expect_engine(engine, args.control)?;
    }
    expect_programs(&std::env::var("PATH").unwrap_or_default())?;
    let interrupt = Interrupt::listen()?;
    let folder = fresh_folder(&Home::from_env()?)?;
    let stage = Stage::build(&folder).map_err(|error| of_sample(&error))?;
    let root = folder.join("home");
    let home = Home::under(&root);
    let started = start_daemon(&root);
    let played = started.and_then(|()| play(&home, &stage, args, &interrupt, output));
    if played.is_err()
        && let Ok(mut client) = Client::connect(&home)
    {
        // What went wrong is worth more than that the end did, too.
        let _ = stop_agents(&mut client);
    }
    let report = match played {
        Ok(report) => report,
        Err(failure) => {
            process::stop(&home, Force::Kill)?;
            return Err(failure);
        }
    };
    let done = report.verified;
    output.result(&report, |output, report| {
        print_report(output, report);
        if waits(args) {
            wait_for_person(&interrupt, output);
        }
    });
    if !args.keep {
        process::stop(&home, Force::Kill)?;
    }
    if !output.is_json() {
        print_next(output, args, &stage, &root);
    }
    Ok(if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Refuses an engine that the demo could not run, before anything is made.
fn expect_engine(engine: &CliEngine, control: Option<Controller>) -> Result<(), Failure> {
    let known = known_engines();
    if !known.contains(engine) {
        let names: Vec<_> = known.iter().map(CliEngine::name).collect();
        let message = format!("the demo cannot be run with `{engine}`");
        let failure = Failure::new(ErrorCode::InvalidParams, message);
        return Err(failure.hint(format!(
            "use {}, or leave --engine out for rehearsal agents",
            names.join(", ")
        )));
    }
    let adapter = adapter(engine);
    let offer = offer_for(&*adapter, control)
        .map_err(|refused| Failure::new(ErrorCode::InvalidParams, refused.to_string()))?;
    let program = offer.map_or(adapter.program(), |offer| offer.program);
    let path = std::env::var("PATH").unwrap_or_default();
    if find_program(program, &path).is_none() {
        let message = format!("{engine} is not installed: there is no program `{program}` in PATH");
        let failure = Failure::new(ErrorCode::NotFound, message);
        return Err(failure.hint("leave --engine out: rehearsal agents need no other program"));
    }
    Ok(())
}

/// Refuses where the sample could not be made or tested, as in the bare container image.
fn expect_programs(path: &str) -> Result<(), Failure> {
    let missing = NEEDED
        .iter()
        .find(|name| find_program(name, path).is_none());
    let Some(missing) = missing else {
        return Ok(());
    };
    let message = format!(
        "the demo works in a git repository and checks it with a shell script, but there is no \
         program `{missing}` in PATH"
    );
    Err(Failure::new(ErrorCode::NotFound, message).hint(
        "install it; the container image has none, and `mission docs install` says how one with \
         git is built on it",
    ))
}

/// What became of it.
#[derive(Debug, Serialize)]
struct Report {
    /// Every task is done, and all tests pass where the work was merged.
    verified: bool,
    seconds: f64,
    folder: PathBuf,
    repository: PathBuf,
    tasks: Vec<TaskReport>,
    questions_answered: usize,
}

#[derive(Debug, Serialize)]
struct TaskReport {
    task: TaskNumber,
    title: String,
    status: BoardTaskStatus,
    attempts: usize,
    check_rounds: u32,
    /// What the last check said.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<String>,
}

/// The longest path a socket may have on the systems this runs on.
const LONGEST_SOCKET: usize = 103;
/// What is added to the folder of the slots for the socket of one.
const SOCKET_NAME: usize = 48;

/// A new folder below the home; elsewhere when sockets in it would have too long
/// a path for the system.
fn fresh_folder(home: &Home) -> Result<PathBuf, Failure> {
    let demos = home.data_dir().join("demos");
    let slots = Home::under(&demos.join("1000").join("home")).slots_dir();
    if slots.as_os_str().len() + SOCKET_NAME > LONGEST_SOCKET {
        let folder = tempfile::Builder::new().prefix("mission-demo-").tempdir()?;
        return Ok(folder.keep());
    }
    sample::fresh_folder(&demos).map_err(|error| of_sample(&error))
}

fn of_sample(error: &SampleError) -> Failure {
    Failure::new(error.code(), error.to_string())
}

fn start_daemon(root: &Path) -> Result<(), Failure> {
    let started = Command::new(missiond_os::programs::own_program()?)
        .args(["daemon", "start"])
        .env("MISSION_HOME", root)
        .stdin(Stdio::null())
        .output()?;
    if started.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&started.stderr).trim().to_owned();
    let message = format!("the demo's daemon did not start: {why}");
    Err(Failure::new(ErrorCode::Internal, message))
}

fn play(
    home: &Home,
    stage: &Stage,
    args: &DemoArgs,
    interrupt: &Interrupt,
    output: &mut Output,
) -> Result<Report, Failure> {
    let began = Instant::now();
    let mut client = Client::connect(home)?;
    if !output.is_json() {
        say_where(&mut client, output);
    }
    client.call::<PermissionAdd>(&allowed())?;
    let tasks = add_tasks(&mut client, stage, args)?;
    switch(&mut client, AutopilotMode::Running, "the demo begins")?;
    let limit = match args.engine {
        Some(_) => REAL_LIMIT,
        None => REHEARSAL_LIMIT,
    };
    let mut view = View::new(output.is_json());
    let mut seen = Seq::default();
    let mut asked: BTreeMap<String, Instant> = BTreeMap::new();
    let mut answered = 0;
    let page = loop {
        let snapshot = Snapshot::fetch(&mut client, &mut seen)?;
        view.show(output, &snapshot, began.elapsed());
        answered += answer(&mut client, &snapshot, &mut asked)?;
        if snapshot.is_over() || began.elapsed() > limit {
            break snapshot.tasks;
        }
        if let Err(interrupted) = interrupt.check() {
            view.end();
            return Err(interrupted);
        }
        std::thread::sleep(LOOK);
    };
    view.end();
    let done = page.iter().all(|task| task.status == BoardTaskStatus::Done);
    stop_agents(&mut client)?;
    let mut reports = Vec::new();
    for task in &tasks {
        reports.push(report_of(&mut client, *task)?);
    }
    Ok(Report {
        verified: done && stage.tests_pass(),
        seconds: began.elapsed().as_secs_f64(),
        folder: stage.folder.clone(),
        repository: stage.repository.clone(),
        tasks: reports,
        questions_answered: answered,
    })
}

/// The page of the demo, before anything happens on it.
fn say_where(client: &mut Client, output: &mut Output) {
    // Without a page there still is the demo.
    if let Ok(login) = client.call::<WebLogin>(&NoParams {}) {
        output.line(
            "Watch it on the board, in a browser on this machine (the link works for two minutes):",
        );
        output.line(format!("  {}\n", login.link));
    }
}

/// The one rule of the demo: the sample's tests may be run.
fn allowed() -> PermissionAddParams {
    PermissionAddParams {
        effect: PermissionEffect::Allow,
        subject: PermissionSubject {
            argument: Some("sh tests/run.sh*".to_owned()),
            // Its agents draw their dialogs and say nothing beside them.
            by_sight: true,
            ..PermissionSubject::default()
        },
        seconds: None,
        uses: None,
        by: Text::new("demo").ok(),
    }
}

fn add_tasks(
    client: &mut Client,
    stage: &Stage,
    args: &DemoArgs,
) -> Result<Vec<TaskNumber>, Failure> {
    let mut numbers: BTreeMap<&str, TaskNumber> = BTreeMap::new();
    let mut order = Vec::new();
    for task in &TASKS {
        let depends_on = task.after.iter().filter_map(|name| numbers.get(name));
        let added = client.call::<BoardAdd>(&BoardAddParams {
            task: TaskDraft {
                control: args.control,
                ..stage.draft(task, args.engine.as_ref())
            },
            depends_on: depends_on.copied().map(TaskRef::Number).collect(),
            ..BoardAddParams::default()
        })?;
        numbers.insert(task.name, added.task.number);
        order.push(added.task.number);
    }
    Ok(order)
}

fn switch(
    client: &mut Client,
    mode: AutopilotMode,
    reason: &str,
) -> Result<AutopilotReport, Failure> {
    let reason = Text::excerpt(reason);
    Ok(client.call::<AutopilotSet>(&AutopilotSetParams { mode, reason })?)
}

/// Nothing of the demo runs on when it is over.
fn stop_agents(client: &mut Client) -> Result<(), Failure> {
    switch(client, AutopilotMode::Stopped, "the demo is over")?;
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let under_way = client.call::<AutopilotShow>(&NoParams {})?.attempts;
        let running = client.call::<ExecutionList>(&ExecutionListParams::default())?;
        let open = client.call::<SlotList>(&SlotListParams { all: false })?;
        if under_way.is_empty() && running.executions.is_empty() && open.slots.is_empty() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Everything the view shows of one moment.
struct Snapshot {
    tasks: Vec<TaskSummary>,
    autopilot: AutopilotReport,
    agents: Vec<ExecutionSummary>,
    questions: Vec<Question>,
    events: Vec<TimelineEvent>,
}

impl Snapshot {
    fn fetch(client: &mut Client, seen: &mut Seq) -> Result<Self, Failure> {
        let events = client.call::<TimelineQuery>(&TimelineQueryParams {
            kinds: view::TOLD.map(str::to_owned).to_vec(),
            after: Some(*seen),
            order: Some(Order::OldestFirst),
            limit: PageLimit::of::<500>(),
            ..TimelineQueryParams::default()
        })?;
        if let Some(newest) = events.events.last().and_then(|event| event.seq) {
            *seen = newest;
        }
        let mut tasks = client.call::<BoardList>(&BoardListParams::default())?.tasks;
        tasks.sort_by_key(|task| task.number);
        Ok(Self {
            tasks,
            autopilot: client.call::<AutopilotShow>(&NoParams {})?,
            agents: client
                .call::<ExecutionList>(&ExecutionListParams::default())?
                .executions,
            questions: client
                .call::<QuestionList>(&QuestionListParams::default())?
                .questions,
            events: events.events,
        })
    }

    /// Nothing will change any more without a person.
    fn is_over(&self) -> bool {
        use BoardTaskStatus::{Blocked, Done, Failed};
        let stands = |task: &TaskSummary| matches!(task.status, Done | Failed | Blocked);
        let all_done = self.tasks.iter().all(|task| task.status == Done);
        let stuck = self
            .tasks
            .iter()
            .any(|task| matches!(task.status, Failed | Blocked))
            && self.autopilot.attempts.is_empty();
        all_done || stuck || self.tasks.iter().all(stands)
    }
}

/// Answers the questions of agents that could be read for a while; how many.
fn answer(
    client: &mut Client,
    snapshot: &Snapshot,
    asked: &mut BTreeMap<String, Instant>,
) -> Result<usize, Failure> {
    let mut answered = 0;
    for question in &snapshot.questions {
        // Dialogs are for the rules, and else for the person.
        let QuestionOrigin::NeedsInput { .. } = question.origin else {
            continue;
        };
        let number = question.number.to_string();
        let since = *asked.entry(number).or_insert_with(Instant::now);
        if since.elapsed() < READING_TIME {
            continue;
        }
        let offered = question.options.iter().find(|option| *option == ANSWER);
        let chosen = offered.or_else(|| question.options.first());
        let answer = Text::new(chosen.map_or(ANSWER, String::as_str));
        client.call::<QuestionAnswer>(&QuestionAnswerParams {
            question: QuestionRef::Number(question.number),
            answer: parameter("the answer", answer)?,
            by: Text::new("demo").ok(),
            grant: None,
        })?;
        answered += 1;
    }
    Ok(answered)
}

fn report_of(client: &mut Client, task: TaskNumber) -> Result<TaskReport, Failure> {
    let details = client.call::<BoardShow>(&BoardTaskParams {
        task: TaskRef::Number(task),
    })?;
    Ok(TaskReport {
        task,
        title: details.task.title,
        status: details.task.status,
        attempts: details.attempts.len(),
        check_rounds: details
            .attempts
            .iter()
            .map(|attempt| attempt.check_rounds)
            .sum(),
        blocked: details.task.blocked,
    })
}

/// Whether somebody is there who may want to look around before the daemon ends.
fn waits(args: &DemoArgs) -> bool {
    let watched = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    watched && !args.keep && !args.no_wait
}

/// Until a key is pressed or Ctrl-C.
fn wait_for_person(interrupt: &Interrupt, output: &mut Output) {
    output.line("The board stays up while you look at it. Press Enter to end the demo.");
    let stdin = std::io::stdin();
    let look = Timespec::try_from(LOOK).ok();
    while interrupt.check().is_ok() {
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut watched, look.as_ref()).is_err() {
            continue;
        }
        if !watched[0].revents().is_empty() {
            let _ = stdin.read_line(&mut String::new());
            return;
        }
    }
}

fn print_report(output: &mut Output, report: &Report) {
    let words = if report.verified {
        output
            .paint
            .apply(Style::Green, "All five tasks are done and checked")
    } else {
        output.paint.apply(Style::Red, "Not every task is done")
    };
    output.line(format!("\n{words}, after {:.0} s.", report.seconds));
}

/// What to do with what is left, in few lines.
fn print_next(output: &mut Output, args: &DemoArgs, stage: &Stage, root: &Path) {
    let home = format!("MISSION_HOME={}", root.display());
    output.line("\nEverything is left to be looked at:");
    output.line(format!("  {home} mission open"));
    output.line(format!(
        "  git -C {} log --graph --oneline",
        stage.repository.display()
    ));
    if args.keep {
        output.line(format!("`{home} mission down` stops its daemon."));
    }
    output.line(format!(
        "`rm -r {}` removes it. With an agent of your own: `mission run \"fix the bug\"`.",
        stage.folder.display()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_the_demo_needs_is_named_before_anything_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let refusal = expect_programs(&path).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::NotFound);
        assert!(refusal.message.contains("`git`"), "{}", refusal.message);
        let system = std::env::var("PATH").unwrap();
        expect_programs(&system).unwrap();
    }
}
