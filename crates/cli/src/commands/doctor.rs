//! `mission doctor`: what could be wrong, whether it is, and what to do.

use std::path::Path;
use std::process::ExitCode;

use missiond_adapters::{DetectError, detect, install_command, known_engines, login_state};
use missiond_api::operations::NoParams;
use missiond_api::operations::system::DaemonStatus;
use missiond_api::{ClientError, Home};
use missiond_config::Config;
use missiond_core::{CliEngine, LoginState};
use missiond_daemon::Instance;
use missiond_pty::{load_manifest, manifest_files};
use missiond_sandbox::{Typing, typing};
use missiond_workspace::Git;

use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::process;
use crate::term::Style;

use super::engine::{driven, way};
use super::sandbox;
use super::startable::{Finding, Readiness, Verdict};
use super::status::open_incidents;

/// Less free space than this is worth a word.
const LOW_DISK_BYTES: u64 = 500 * 1024 * 1024;

pub(super) fn doctor(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    // They take seconds to say who they are; the rest is looked at meanwhile.
    let config = Config::load(&reach.home.config_file()).unwrap_or_default();
    let config = std::sync::Arc::new(config);
    let agents: Vec<_> = known_engines()
        .iter()
        .map(|engine| {
            let config = std::sync::Arc::clone(&config);
            std::thread::spawn(move || agent(engine, &config))
        })
        .collect();
    let readiness = Readiness::of(&reach.home);
    let daemon = daemon(reach, readiness.obstacle());
    let Readiness {
        configuration,
        data,
        runtime,
        log,
        socket,
        database,
        port,
    } = readiness;
    let free_space = free_space(reach.home.data_dir(), data.verdict);
    let mut findings = vec![
        configuration,
        manifests(&reach.home),
        data,
        runtime,
        free_space,
        daemon,
        log,
        socket,
        database,
        port,
        containment(),
        callers(),
        sandbox::finding(&config),
        git(),
    ];
    let agents: Vec<_> = agents
        .into_iter()
        .filter_map(|agent| agent.join().ok())
        .collect();
    let missing = |agent: &Finding| agent.verdict == Verdict::NotInstalled;
    let none = agents.iter().all(missing);
    findings.extend(agents);
    if none {
        findings.push(no_agents());
    }
    let failed = findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Failed);
    output.result(&findings, |output, findings| {
        for finding in findings {
            let mark = match finding.verdict {
                Verdict::Ok => output.paint.apply(Style::Green, "ok  "),
                Verdict::NotInstalled => output.paint.apply(Style::Dim, "-   "),
                Verdict::Warning => output.paint.apply(Style::Yellow, "warn"),
                Verdict::Failed => output.paint.apply(Style::Red, "FAIL"),
            };
            let mut lines = finding.detail.lines();
            let first = lines.next().unwrap_or_default();
            output.line(format!("{mark}  {:<16}{first}", finding.check));
            for line in lines {
                output.line(format!("{:<22}{line}", ""));
            }
        }
    });
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn agent(engine: &CliEngine, config: &Config) -> Finding {
    let path = std::env::var("PATH").unwrap_or_default();
    let (verdict, detail) = match detect(engine, &path) {
        Ok(found) => {
            let what = format!(
                "{} {} ({})",
                found.engine,
                found.version,
                found.program.display()
            );
            let drive = driven(engine, config, &path);
            let drive = format!("driven by {}: {}", way(drive.by), drive.why);
            let model = if config.llm.is_for(engine) {
                "reaches its model through the daemon, which has the key (`llm.engines`)"
            } else {
                "reaches its model by its own log-in or key"
            };
            let drive = format!("{drive}\n{model}");
            match login_state(engine, &|name| std::env::var_os(name)) {
                LoginState::Absent if config.llm.is_for(engine) => {
                    (Verdict::Ok, format!("{what}\n{drive}"))
                }
                LoginState::Absent => (
                    Verdict::Warning,
                    format!("{what}: no log-in was found; run `{engine}` once and log in\n{drive}"),
                ),
                LoginState::Known | LoginState::Unknown => {
                    (Verdict::Ok, format!("{what}\n{drive}"))
                }
            }
        }
        Err(missing @ DetectError::Missing { .. }) => (Verdict::NotInstalled, missing.to_string()),
        Err(error) => (Verdict::Warning, error.to_string()),
    };
    Finding {
        check: "agent CLI",
        verdict,
        detail,
    }
}

/// Without any of them nothing but a rehearsal can run.
fn no_agents() -> Finding {
    let install = install_command(&CliEngine::Claude).unwrap_or_default();
    Finding {
        check: "agents",
        verdict: Verdict::Warning,
        detail: format!(
            "none of the agent CLIs is installed: install one (`{install}`),\n\
             or try `mission demo`, which needs none"
        ),
    }
}

/// The person's manifests, each read as the daemon would.
fn manifests(home: &Home) -> Finding {
    let folder = home.manifests_dir();
    let (verdict, detail) = match manifest_files(&folder) {
        Err(_) if is_missing(&folder) => (
            Verdict::Ok,
            format!("no {}: the built-in ones are used", folder.display()),
        ),
        Err(error) => (Verdict::Failed, error.to_string()),
        Ok(files) => {
            let broken = files.iter().filter_map(|file| load_manifest(file).err());
            let broken: Vec<_> = broken.map(|error| error.to_string()).collect();
            if broken.is_empty() {
                (
                    Verdict::Ok,
                    format!("{} in {}", files.len(), folder.display()),
                )
            } else {
                (Verdict::Failed, broken.join("\n"))
            }
        }
    };
    Finding {
        check: "manifests",
        verdict,
        detail,
    }
}

/// Nothing is there, as opposed to nothing that could be looked at.
fn is_missing(path: &Path) -> bool {
    std::fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// What holds the processes of a slot together. Both are sound while the slot's
/// host lives; only a control group still is when it was killed.
fn containment() -> Finding {
    let detail = missiond_pty::host::containment().to_string();
    Finding {
        check: "slot processes",
        verdict: Verdict::Ok,
        detail,
    }
}

/// Whether this machine lets the daemon tell a person from an agent, and what an agent
/// could still do to look like one.
fn callers() -> Finding {
    use missiond_os::{lineage, mark};
    if !lineage::has_table() {
        return Finding {
            check: "who asks",
            verdict: Verdict::Warning,
            detail: "this system does not tell which process asks: every caller counts as the \
                     person, agents included"
                .to_owned(),
        };
    }
    let mut told = "a caller is told by its process and those above it".to_owned();
    let mut weak = Vec::new();
    if lineage::hides_others() {
        weak.push(
            "processes of other users are hidden: a caller without a terminal below one of them \
             counts as nobody",
        );
    }
    if mark::own_is_set() {
        weak.push(
            "a limit on file locks is set here (`ulimit -x`), by which missiond knows what a slot \
             has left behind: what is started under it counts as nobody to a daemon that is not",
        );
    }
    if rustix::process::geteuid().is_root() {
        weak.push(
            "agents run as the root user, and one that kills the host of its slot could take off \
             the mark by which it is still known",
        );
    }
    if lineage::tracing_limit() == Some(0) {
        weak.push(
            "a process may take over any other of its user (kernel.yama.ptrace_scope is 0), so an \
             agent could act through a program of yours",
        );
    }
    let mut kept = Vec::new();
    match typing() {
        Typing::KeptByKernel => {}
        Typing::KeptByFilter => kept.push(
            "this kernel lets a program type into its own terminal; in slots a filter keeps it from \
             that, under which `sudo` does not work (`sysctl dev.tty.legacy_tiocsti=0` makes it \
             needless, but for the root user)",
        ),
        Typing::Open => weak.push(
            "a program may type into its own terminal, so an agent could press keys in its slot: \
             this system has no filters of system calls",
        ),
    }
    for weakness in kept.iter().chain(&weak) {
        told.push('\n');
        told.push_str(weakness);
    }
    Finding {
        check: "who asks",
        verdict: if weak.is_empty() {
            Verdict::Ok
        } else {
            Verdict::Warning
        },
        detail: told,
    }
}

/// Without it everything works but tasks that have a repository.
fn git() -> Finding {
    let found = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
        .and_then(|runtime| {
            let found = runtime.block_on(Git::find());
            found.map_err(|error| error.to_string())
        });
    let (verdict, detail) = match found {
        Ok(git) => (
            Verdict::Ok,
            format!("{} ({})", git.version(), git.program().display()),
        ),
        Err(error) => (Verdict::Warning, error),
    };
    Finding {
        check: "git",
        verdict,
        detail,
    }
}

fn free_space(path: &Path, folder: Verdict) -> Finding {
    let check = "free space";
    if folder == Verdict::Failed && !path.is_dir() {
        return Finding {
            check,
            verdict: Verdict::Warning,
            detail: "not measured: there is no data folder".to_owned(),
        };
    }
    // The folder may not exist yet: the nearest one above it is on the same disk.
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    if let Ok(stat) = rustix::fs::statvfs(existing) {
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let detail = format!("{:.1} GB", free as f64 / 1e9);
        return if free < LOW_DISK_BYTES {
            let detail = format!("{detail}: events are refused when the disk is full");
            Finding {
                check,
                verdict: Verdict::Warning,
                detail,
            }
        } else {
            Finding {
                check,
                verdict: Verdict::Ok,
                detail,
            }
        };
    }
    Finding {
        check,
        verdict: Verdict::Warning,
        detail: format!("{} cannot be measured", existing.display()),
    }
}

/// `obstacle` is what keeps one from starting.
fn daemon(reach: &Reach, obstacle: Option<&Finding>) -> Finding {
    let check = "daemon";
    let status = reach
        .running()
        .and_then(|mut client| client.call::<DaemonStatus>(&NoParams {}));
    let (verdict, detail) = match status {
        Ok(report) if report.version != missiond_daemon::VERSION => (
            Verdict::Warning,
            format!(
                "version {} runs, {} is installed: `mission daemon restart`",
                report.version,
                missiond_daemon::VERSION
            ),
        ),
        Ok(report) if report.open_incidents > 0 => {
            (Verdict::Warning, open_incidents(report.open_incidents))
        }
        Ok(report) => (
            Verdict::Ok,
            format!("version {}, process {}", report.version, report.pid),
        ),
        Err(ClientError::NotRunning { .. }) => match Instance::is_held(&reach.home) {
            Ok(true) => {
                let detail = "starting or stuck: it holds its lock but does not answer; \
                              `mission daemon stop --force` ends it";
                (Verdict::Failed, detail.to_owned())
            }
            _ => match (process::died(&reach.home), obstacle) {
                (_, Some(obstacle)) => (
                    obstacle.verdict,
                    format!("not running, and it cannot start: see `{}`", obstacle.check),
                ),
                (Some(pid), None) => (
                    Verdict::Warning,
                    format!("not running: the last one (process {pid}) ended without closing"),
                ),
                (None, None) => (
                    Verdict::Ok,
                    "not running: `mission up` starts it".to_owned(),
                ),
            },
        },
        Err(error) => (Verdict::Failed, error.to_string()),
    };
    Finding {
        check,
        verdict,
        detail,
    }
}
