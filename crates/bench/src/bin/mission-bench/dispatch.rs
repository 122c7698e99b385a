//! From a task that is verified to the next agent's process: a chain of tasks in
//! a daemon and a repository of their own, each waiting for the one before.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::autopilot::{AutopilotMode, AutopilotSet, AutopilotSetParams};
use missiond_api::operations::board::{
    BoardAdd, BoardAddParams, BoardShow, BoardTaskParams, TaskDetails,
};
use missiond_api::operations::communication::{
    Order, PageLimit, TimelineQuery, TimelineQueryParams,
};
use missiond_api::operations::execution::{ExecutionList, ExecutionListParams};
use missiond_console::failure::Failure;
use missiond_core::{
    BoardTaskId, BoardTaskStatus, ErrorCode, Event, SlotId, TaskDraft, TaskNumber, TaskRef, Text,
    Timestamp,
};

use crate::temporary::{Mission, TemporaryDaemon};

/// Tasks of the chain; one less hand-over is measured.
pub(super) const CHAIN: usize = 12;

const PATIENCE: Duration = Duration::from_secs(300);

const SCRIPT: &str = "\
rehearsal: 1
startup: 0.05
turns:
  - uses: always
    steps:
      - write: {file: \"{{env.MISSION_TASK}}.txt\", text: \"x\\n\"}
      - signal: {type: completed_claim, payload: {summary: Written.}}
";

/// How long each hand-over took.
pub(super) fn hand_overs(mission: &Mission) -> Result<Vec<Duration>, Failure> {
    let daemon = TemporaryDaemon::new(mission)?;
    let repository = daemon.path().join("repository");
    make_repository(&repository)?;
    let script = daemon.path().join("chain.yaml");
    std::fs::write(&script, SCRIPT)?;
    daemon.run(&["daemon", "start"])?;
    let mut client = Client::connect(&daemon.home())?;
    let mut tasks: Vec<TaskNumber> = Vec::new();
    for number in 0..CHAIN {
        let added = client.call::<BoardAdd>(&BoardAddParams {
            task: TaskDraft {
                title: Some(format!("Step {number}")),
                engine: "rehearsal".parse().ok(),
                args: Some(vec![
                    script.display().to_string(),
                    "--speed".into(),
                    "20".into(),
                ]),
                repository: Some(repository.clone()),
                ..TaskDraft::default()
            },
            depends_on: tasks
                .last()
                .copied()
                .map(TaskRef::Number)
                .into_iter()
                .collect(),
            ..BoardAddParams::default()
        })?;
        tasks.push(added.task.number);
    }
    client.call::<AutopilotSet>(&AutopilotSetParams {
        mode: AutopilotMode::Running,
        reason: Text::excerpt("it is measured"),
    })?;
    let deadline = Instant::now() + PATIENCE;
    let mut chain: Vec<TaskDetails> = Vec::new();
    for task in tasks {
        chain.push(done(&mut client, task, deadline)?);
    }
    let took = measure(&mut client, &chain)?;
    // The last agent outlives a daemon that is stopped before it has left.
    while Instant::now() < deadline
        && !client
            .call::<ExecutionList>(&ExecutionListParams::default())?
            .executions
            .is_empty()
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(took)
}

fn done(client: &mut Client, task: TaskNumber, deadline: Instant) -> Result<TaskDetails, Failure> {
    loop {
        let details = client.call::<BoardShow>(&BoardTaskParams {
            task: TaskRef::Number(task),
        })?;
        match details.task.status {
            BoardTaskStatus::Done => return Ok(details),
            BoardTaskStatus::Open | BoardTaskStatus::Running if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(50));
            }
            status => {
                let message = format!("{task} is {status} and not done");
                return Err(Failure::new(ErrorCode::Internal, message));
            }
        }
    }
}

/// By the times of the timeline: the daemon's own clock for both ends.
fn measure(client: &mut Client, chain: &[TaskDetails]) -> Result<Vec<Duration>, Failure> {
    let mut verified: BTreeMap<BoardTaskId, Timestamp> = BTreeMap::new();
    let mut started: BTreeMap<SlotId, Timestamp> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = client.call::<TimelineQuery>(&TimelineQueryParams {
            kinds: vec!["board_task_updated".to_owned(), "slot_created".to_owned()],
            after,
            order: Some(Order::OldestFirst),
            limit: PageLimit::of::<1000>(),
            ..TimelineQueryParams::default()
        })?;
        let Some(last) = page.events.last() else {
            break;
        };
        after = last.seq;
        for event in &page.events {
            match event.event {
                Event::BoardTaskUpdated {
                    task,
                    status: BoardTaskStatus::Done,
                } => {
                    verified.entry(task).or_insert(event.at);
                }
                Event::SlotCreated { slot, .. } => {
                    started.insert(slot, event.at);
                }
                _ => {}
            }
        }
    }
    let took = chain.windows(2).filter_map(|pair| {
        let before = verified.get(&pair[0].task.id)?;
        let slot = pair[1].attempts.first()?.slot?;
        Some(started.get(&slot)?.since(*before))
    });
    Ok(took.collect())
}

fn make_repository(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("README.md"), "A chain of tasks.\n")?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"][..],
        &["commit", "--quiet", "--no-verify", "-m", "Begin"][..],
    ] {
        let output = Command::new("git")
            .args(who)
            .args(args)
            .current_dir(folder)
            .output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let message = format!("git {} failed: {why}", args.join(" "));
            return Err(Failure::new(ErrorCode::Internal, message));
        }
    }
    Ok(())
}
