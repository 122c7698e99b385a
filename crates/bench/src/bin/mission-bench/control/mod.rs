//! What it costs to drive agents by their protocol through a daemon: a turn beside the
//! same turn with nothing between, and a fleet of agents that wait, by protocol and by
//! terminal.

mod bare;

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::execution::{ExecutionMessage, ExecutionMessageParams};
use missiond_console::failure::{Failure, parameter};
use missiond_console::output::{Output, Progress};
use missiond_core::{Controller, ErrorCode, PtyState, SendWhen, Text};

use crate::terminal::{Change, Fleet, Scale, Usage, Watch};
use crate::{Mission, Report, millis, percentile};
use bare::BareAgent;

/// An agent that answers at once: what is left is the way to it and back.
const SCRIPT: &str = "\
rehearsal: 1
startup: 0
turns:
  - uses: always
    steps:
      - say: ok
";
const SPEED: &str = "1000";

const PATIENCE: Duration = Duration::from_secs(60);

struct Extent {
    turns: u32,
    /// Agents that wait, for memory in both ways and for processor time.
    agents: u32,
    idle_agents: u32,
    settle: Duration,
    idle_window: Duration,
}

const FULL: Extent = Extent {
    turns: 200,
    agents: 20,
    idle_agents: 100,
    settle: Duration::from_secs(4),
    idle_window: Duration::from_secs(31),
};

/// Enough to see that everything is measured.
const QUICK: Extent = Extent {
    turns: 2,
    agents: 1,
    idle_agents: 2,
    settle: Duration::from_millis(200),
    idle_window: Duration::from_millis(500),
};

pub(super) fn run(scale: Scale, mission: &Mission, output: &Output) -> Result<Report, Failure> {
    let extent = match scale {
        Scale::Full => FULL,
        Scale::Quick => QUICK,
    };
    let mut report = Report::new("control");
    report.condition(
        "agent",
        "the rehearsal agent over ACP, which answers at once",
    );
    let watch = Watch::start(mission)?;
    {
        let _progress = Progress::start(output, "taking turns");
        turns(&extent, &watch, &mut report)?;
    }
    {
        let _progress = Progress::start(output, "weighing agents");
        for controller in [Controller::Structured, Controller::Terminal] {
            memory(&extent, controller, &watch, &mut report)?;
        }
    }
    let _progress = Progress::start(output, "looking at agents that wait");
    waiting(&extent, &watch, &mut report)?;
    Ok(report)
}

/// A turn through the daemon and one with nothing between, one after the other.
fn turns(extent: &Extent, watch: &Watch, report: &mut Report) -> Result<(), Failure> {
    report.condition("turns", extent.turns);
    report.condition(
        "turn",
        "from a message to the end of its turn: through the daemon from the call of \
         `execution_message` until a subscriber has the agent idle; bare, from the line of \
         the prompt to the line of its answer on a pipe; in turns",
    );
    let mut fleet = Fleet::start(watch)?;
    let script = script_in(fleet.notes())?;
    let changes = fleet.follow_states()?;
    let name = fleet.spawn_agents(1, Controller::Structured, &arguments(&script))?;
    fleet.wait_until_all_read(&[PtyState::Idle])?;
    let mut bare = BareAgent::start(watch.mission(), fleet.notes(), &arguments(&script))?;
    let (mut through, mut alone) = (Vec::new(), Vec::new());
    for turn in 0..=extent.turns {
        let direct = bare.turn()?;
        let driven = driven_turn(fleet.client(), &name, &changes)?;
        // The first opens files and warms what is used by all others.
        if turn > 0 {
            alone.push(direct);
            through.push(driven);
        }
    }
    report.times("turn_", &mut through);
    report.times("turn_bare_", &mut alone);
    let added = |share: f64, through: &mut [Duration], alone: &mut [Duration]| {
        millis(percentile(through, share)) - millis(percentile(alone, share))
    };
    report.metric("turn_added_p50_ms", added(0.50, &mut through, &mut alone));
    report.metric("turn_added_p99_ms", added(0.99, &mut through, &mut alone));
    Ok(())
}

fn driven_turn(
    client: &mut Client,
    name: &str,
    changes: &Receiver<Change>,
) -> Result<Duration, Failure> {
    for _ in changes.try_iter() {}
    let text = parameter("the message", Text::new("go on"))?;
    let begun = Instant::now();
    client.call::<ExecutionMessage>(&ExecutionMessageParams {
        execution: name.to_owned(),
        text,
        key: None,
        from: None,
        files: Vec::new(),
        when: SendWhen::Idle,
    })?;
    let mut worked = false;
    loop {
        let change = changes
            .recv_timeout(PATIENCE)
            .map_err(|_| Failure::new(ErrorCode::Timeout, "the turn of an agent did not end"))?;
        match change.to {
            PtyState::Idle if worked => return Ok(begun.elapsed()),
            state => worked |= state.is_working(),
        }
    }
}

/// What each agent takes of the daemon and its host, once it waits.
fn memory(
    extent: &Extent,
    controller: Controller,
    watch: &Watch,
    report: &mut Report,
) -> Result<(), Failure> {
    report.condition("agents", extent.agents);
    report.condition(
        "rss_per_agent_mb",
        "what daemon and hosts have more with the agents than without, shared pages divided; \
         the agents' own programs not counted",
    );
    let mut fleet = Fleet::start(watch)?;
    let script = script_in(fleet.notes())?;
    std::thread::sleep(extent.settle);
    let before = Usage::of(&fleet.processes()?)?;
    fleet.spawn_agents(extent.agents, controller, &arguments(&script))?;
    fleet.wait_until_all_read(&[PtyState::Idle])?;
    std::thread::sleep(extent.settle);
    let after = Usage::of(&fleet.processes()?)?;
    let each = after.megabytes_since(&before) / f64::from(extent.agents);
    let name = match controller {
        Controller::Structured => "rss_per_agent_mb",
        Controller::Terminal => "rss_per_agent_terminal_mb",
    };
    report.metric(name, each);
    Ok(())
}

/// Processor time of daemon and hosts while agents wait: the metric says how many.
fn waiting(extent: &Extent, watch: &Watch, report: &mut Report) -> Result<(), Failure> {
    report.condition("idle_agents", extent.idle_agents);
    report.condition("idle_window_s", extent.idle_window.as_secs_f64());
    let mut fleet = Fleet::start(watch)?;
    let script = script_in(fleet.notes())?;
    let arguments = arguments(&script);
    fleet.spawn_agents(extent.idle_agents, Controller::Structured, &arguments)?;
    fleet.wait_until_all_read(&[PtyState::Idle])?;
    std::thread::sleep(extent.settle);
    let processes = fleet.processes()?;
    let begin = Usage::of(&processes)?;
    std::thread::sleep(extent.idle_window);
    let end = Usage::of(&processes)?;
    report.metric(
        format!("agents_{}_cpu_pct", extent.idle_agents),
        end.cpu_percent_since(&begin),
    );
    Ok(())
}

fn script_in(folder: &Path) -> Result<PathBuf, Failure> {
    let script = folder.join("answers.yaml");
    std::fs::write(&script, SCRIPT)?;
    Ok(script)
}

fn arguments(script: &Path) -> Vec<String> {
    vec![
        script.display().to_string(),
        "--speed".to_owned(),
        SPEED.to_owned(),
    ]
}
