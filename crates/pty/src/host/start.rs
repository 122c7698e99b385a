//! How a host comes up: it leaves the session that started it, prepares the
//! recording and the socket, starts the program, and reports one line. If
//! anything fails, the line says why and nothing is left behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use missiond_os::mark;
use missiond_os::processes::{Signal, signal_each, signal_group};
use missiond_os::programs::find_program;
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;

use super::cgroup::Cgroup;
use super::channel::{Channel, InputEnd, OutputEnd};
use super::process::{HostFiles, HostRecord, LaunchSpec, Order};
use super::recording::Recorder;
use super::segments::Recording;
use super::serve::{Connected, Host, Program};
use super::tree;
use crate::cast::{CastHeader, CastSource};

/// Longer than any honest order, with a large environment.
const MAX_SPEC: u64 = 4 << 20;
/// The longest path of a Unix socket on Linux; the BSDs allow four less.
const MAX_SOCKET_PATH: usize = 103;

/// The line a host reports to the daemon that started it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Startup {
    Started(Box<HostRecord>),
    Failed(String),
}

/// Is the host: reads its order from standard input, reports on standard
/// output, and returns when the program has ended and a daemon knows.
pub fn run() -> io::Result<()> {
    let mut spec = Vec::new();
    io::stdin().lock().take(MAX_SPEC).read_to_end(&mut spec)?;
    let order: Order = match serde_json::from_slice(&spec) {
        Ok(order) => order,
        Err(error) => return report(&Startup::Failed(format!("the order is no order: {error}"))),
    };
    // Before the recording is begun, which masks with what is known then.
    order.learn();
    let spec = order.spec;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // Leads no group, so it may leave the session and its signals.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // What its program leaves behind is known by it also when this host is gone.
    mark::put_on()?;
    // Before there is another thread, which would be without it.
    if let Err(why) = missiond_sandbox::refuse_typing() {
        return report(&Startup::Failed(why));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match start(&spec) {
            Ok(host) => {
                let started = Startup::Started(Box::new(host.record().clone()));
                // A daemon that died meanwhile finds the record.
                let _ = report(&started);
                host.serve().await
            }
            Err(why) => report(&Startup::Failed(why)),
        }
    })
}

fn start(spec: &LaunchSpec) -> Result<Host, String> {
    check(spec)?;
    let files = HostFiles::new(&spec.run_dir, spec.slot);
    let prepared = prepare(spec, &files);
    if prepared.is_err() {
        files.remove();
        let _ = Recording::remove(&spec.recording);
    }
    prepared
}

fn check(spec: &LaunchSpec) -> Result<(), String> {
    if spec.argv.first().is_none_or(String::is_empty) {
        return Err("no program was named".to_owned());
    }
    match std::fs::metadata(&spec.cwd) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(format!("{} is not a folder", spec.cwd.display())),
        Err(error) => {
            return Err(format!(
                "the folder {} cannot be used: {error}",
                spec.cwd.display()
            ));
        }
    }
    let socket = HostFiles::new(&spec.run_dir, spec.slot).socket;
    let length = socket.as_os_str().len();
    if length > MAX_SOCKET_PATH {
        return Err(format!(
            "the socket path {} is {length} bytes long, and the system allows \
             {MAX_SOCKET_PATH}: set MISSION_HOME or XDG_RUNTIME_DIR to a shorter path",
            socket.display()
        ));
    }
    Ok(())
}

fn prepare(spec: &LaunchSpec, files: &HostFiles) -> Result<Host, String> {
    let listener = listen(files)
        .map_err(|error| format!("cannot listen on {}: {error}", files.socket.display()))?;
    let started = start_program(spec, files)?;
    Ok(Host::new(spec.clone(), files.clone(), started, listener))
}

/// A program that runs, is recorded and is on record.
pub(super) struct Started {
    pub(super) record: HostRecord,
    pub(super) program: Program,
    pub(super) recorder: Recorder,
}

/// Starts the program that takes the place of another. What fails leaves no recording.
pub(super) fn start_next(spec: &LaunchSpec, files: &HostFiles) -> Result<Started, String> {
    let started = check(spec).and_then(|()| start_program(spec, files));
    if started.is_err() {
        let _ = Recording::remove(&spec.recording);
    }
    started
}

fn start_program(spec: &LaunchSpec, files: &HostFiles) -> Result<Started, String> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let header = CastHeader {
        version: 2,
        width: spec.size.columns,
        height: spec.size.rows,
        timestamp: i64::try_from(now.as_secs()).ok(),
        title: Some(spec.name.clone()),
        env: None,
        mission: Some(CastSource {
            engine: Some(spec.engine.name().to_owned()),
            handover: spec.handover.clone(),
            agent: spec.agent.map(|agent| agent.to_string()),
            ..CastSource::default()
        }),
    };
    // A header has whole seconds, so time zero of the recording is one.
    let time_zero = Duration::from_secs(now.as_secs());
    let recorder = Recorder::create(&spec.recording, &header, now - time_zero, spec.limits);
    let recorder = recorder.map_err(|error| {
        let path = spec.recording.display();
        format!("the recording {path} cannot be written: {error}")
    })?;
    let (connected, cgroup) = spawn_contained(spec)?;
    let program_pid = connected.child.id().unwrap_or_default();
    let host_pid = std::process::id();
    let record = HostRecord {
        slot: spec.slot,
        name: spec.name.clone(),
        engine: spec.engine.clone(),
        argv: spec.argv.clone(),
        cwd: spec.cwd.clone(),
        recording: spec.recording.clone(),
        host_pid,
        host_start_ticks: crate::process_start(host_pid),
        program_pid,
        program_start_ticks: crate::process_start(program_pid),
        cgroup: cgroup.as_ref().map(|cgroup| cgroup.path().to_owned()),
        channel: spec.channel,
        handover: spec.handover.clone(),
        generation: spec.generation,
        started_at_us: i64::try_from(time_zero.as_micros()).unwrap_or(i64::MAX),
        exited: None,
        sandbox: spec.sandbox.as_ref().map(|place| place.profile),
    };
    if let Err(error) = files.write(&record) {
        signal_group(program_pid, Signal::KILL);
        signal_each(&tree::descendants(program_pid), Signal::KILL);
        if let Some(cgroup) = cgroup {
            cgroup.kill();
            cgroup.remove();
        }
        let path = files.record.display();
        return Err(format!("{path} cannot be written: {error}"));
    }
    Ok(Started {
        record,
        program: Program { connected, cgroup },
        recorder,
    })
}

fn listen(files: &HostFiles) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let listener = UnixListener::bind(&files.socket)?;
    std::fs::set_permissions(&files.socket, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Starts the program in a control group of its own where there can be one.
fn spawn_contained(spec: &LaunchSpec) -> Result<(Connected, Option<Cgroup>), String> {
    let cgroup = Cgroup::for_slot(spec.slot).ok();
    let cgroup = cgroup.filter(|cgroup| {
        let entered = cgroup.enter();
        if entered.is_err() {
            cgroup.remove();
        }
        entered.is_ok()
    });
    let spawned = program_of(spec).and_then(|program| match spec.channel {
        Channel::Terminal => spawn_on_terminal(spec, &program),
        Channel::Pipes => spawn_on_pipes(spec, &program),
    });
    // A host that is inside could not end the group without ending itself.
    let cgroup = cgroup.filter(|cgroup| cgroup.leave().is_ok());
    if let (Err(_), Some(cgroup)) = (&spawned, &cgroup) {
        cgroup.remove();
    }
    Ok((spawned?, cgroup))
}

/// The program that was ordered, or this one as the wall around it.
struct ProgramToStart {
    file: OsString,
    arguments: Vec<OsString>,
    environment: BTreeMap<String, String>,
}

fn program_of(spec: &LaunchSpec) -> Result<ProgramToStart, String> {
    let mut program = ProgramToStart {
        file: OsString::from(&spec.argv[0]),
        arguments: spec.argv[1..].iter().map(OsString::from).collect(),
        environment: spec.environment.clone(),
    };
    let Some(place) = &spec.sandbox else {
        return Ok(program);
    };
    let path = spec.environment.get("PATH").map_or("", String::as_str);
    let found = if spec.argv[0].contains('/') {
        Some(spec.cwd.join(&spec.argv[0]))
    } else {
        find_program(&spec.argv[0], path)
    };
    let Some(found) = found else {
        return Err(not_started(spec, &io::ErrorKind::NotFound.into()));
    };
    let refused = |error: io::Error| format!("no sandbox: {error}");
    if let Some(wall) = place.wall(&found, &spec.environment).map_err(refused)? {
        let walled = wall.command(&found).map_err(refused)?;
        program.file = walled.program.into();
        program.arguments.splice(0..0, walled.arguments);
        let (name, plan) = walled.variable;
        program.environment.insert(name.to_owned(), plan);
    }
    Ok(program)
}

fn spawn_on_terminal(spec: &LaunchSpec, program: &ProgramToStart) -> Result<Connected, String> {
    let (pty, pts) = pty_process::open().map_err(|error| format!("no terminal: {error}"))?;
    let size = pty_process::Size::new(spec.size.rows, spec.size.columns);
    pty.resize(size)
        .map_err(|error| format!("the terminal has no size: {error}"))?;
    let child = pty_process::Command::new(&program.file)
        .args(&program.arguments)
        .env_clear()
        .envs(&program.environment)
        .current_dir(&spec.cwd)
        .spawn(pts)
        .map_err(|error| match error {
            pty_process::Error::Io(error) => not_started(spec, &error),
            other => format!("`{}` could not be started: {other}", spec.argv[0]),
        })?;
    let (reader, writer) = pty.into_split();
    Ok(Connected {
        child,
        output: OutputEnd::Terminal(reader),
        input: InputEnd::Terminal(writer),
        errors: None,
    })
}

fn spawn_on_pipes(spec: &LaunchSpec, program: &ProgramToStart) -> Result<Connected, String> {
    let mut child = tokio::process::Command::new(&program.file)
        .args(&program.arguments)
        .env_clear()
        .envs(&program.environment)
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // As on a terminal: whoever ends the program ends its group.
        .process_group(0)
        .spawn()
        .map_err(|error| not_started(spec, &error))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(format!("`{}` has no pipes", spec.argv[0]));
    };
    Ok(Connected {
        errors: child.stderr.take(),
        child,
        output: OutputEnd::Pipe(output),
        input: InputEnd::Pipe(input),
    })
}

fn not_started(spec: &LaunchSpec, error: &io::Error) -> String {
    let program = &spec.argv[0];
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no program `{program}`: give its path, or check PATH")
        }
        io::ErrorKind::PermissionDenied => {
            format!("`{program}` may not be run: it is not an executable file for this user")
        }
        _ => format!("`{program}` could not be started: {error}"),
    }
}

fn report(startup: &Startup) -> io::Result<()> {
    let line = serde_json::to_string(startup).map_err(io::Error::from)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
