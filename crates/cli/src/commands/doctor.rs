//! `mission doctor`: what could be wrong, whether it is, and what to do.

use std::path::Path;
use std::process::ExitCode;

use missiond_adapters::{DetectError, detect, install_command, known_engines, login_state};
use missiond_api::operations::NoParams;
use missiond_api::operations::system::DaemonStatus;
use missiond_api::{ClientError, Home};
use missiond_config::{Config, changes};
use missiond_core::{CliEngine, Controller, LoginState};
use missiond_daemon::Instance;
use missiond_pty::{load_manifest, manifest_files};
use missiond_store::MissionDb;
use missiond_workspace::Git;
use serde::Serialize;

use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::process;
use crate::term::Style;

use super::config::way_out;
use super::engine::driven;
use super::status::open_incidents;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    /// It is not there, which is a trouble only when nothing like it is.
    NotInstalled,
    Warning,
    Failed,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    verdict: Verdict,
    /// What was found; for a trouble also what to do.
    detail: String,
}

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
    let data = folder("data folder", reach.home.data_dir());
    let runtime = folder("runtime folder", reach.home.run_dir());
    let configuration = configuration(&reach.home);
    let database = database(&reach.home);
    let port = port(&reach.home);
    let needed = [&data, &runtime, &configuration, &database, &port];
    let failed = |finding: &&&Finding| finding.verdict == Verdict::Failed;
    let daemon = daemon(reach, needed.iter().find(failed).map(|failed| failed.check));
    let free_space = free_space(reach.home.data_dir(), data.verdict);
    let mut findings = vec![
        configuration,
        manifests(&reach.home),
        data,
        runtime,
        free_space,
        daemon,
        database,
        port,
        containment(),
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
            match login_state(engine, &|name| std::env::var_os(name)) {
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

fn way(by: Controller) -> &'static str {
    match by {
        Controller::Structured => "its protocol",
        Controller::Terminal => "its terminal",
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

fn configuration(home: &Home) -> Finding {
    let file = home.config_file();
    let (verdict, detail) = match Config::load(&file) {
        Err(error) => {
            let out = way_out(home, &error);
            (Verdict::Failed, with_way_out(error.to_string(), out))
        }
        Ok(_) if file.exists() => (Verdict::Ok, file.display().to_string()),
        Ok(_) => (
            Verdict::Ok,
            format!("no {}: every key has its default", file.display()),
        ),
    };
    Finding {
        check: "configuration",
        verdict,
        detail,
    }
}

/// What is wrong, and under it what to do.
fn with_way_out(detail: String, way_out: Option<String>) -> String {
    match way_out {
        Some(way_out) => format!("{detail}\n{way_out}"),
        None => detail,
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

fn folder(check: &'static str, path: &Path) -> Finding {
    let (verdict, detail) = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => not_made_yet(path),
        Err(error) => (Verdict::Failed, format!("{}: {error}", path.display())),
        Ok(metadata) if !metadata.is_dir() => (
            Verdict::Failed,
            format!("{} is not a folder: move it away", path.display()),
        ),
        Ok(metadata) => permissions(path, &metadata),
    };
    Finding {
        check,
        verdict,
        detail,
    }
}

/// A folder that is not there yet, and whether it can be made. Rights alone do not
/// tell: in some folders nobody can make anything.
fn not_made_yet(path: &Path) -> (Verdict, String) {
    let existing = path.ancestors().find(|path| path.exists());
    let Some(above) = existing else {
        return (
            Verdict::Failed,
            format!("{} cannot be made", path.display()),
        );
    };
    let made = tempfile::Builder::new()
        .prefix(".mission-doctor-")
        .tempdir_in(above);
    match made.and_then(tempfile::TempDir::close) {
        Ok(()) => (
            Verdict::Ok,
            format!("{} is made at the first start", path.display()),
        ),
        Err(error) => {
            let detail = format!(
                "{} cannot be made: nothing can be written to {} ({error}); set MISSION_HOME to \
                 a folder of yours",
                path.display(),
                above.display()
            );
            (Verdict::Failed, detail)
        }
    }
}

fn permissions(path: &Path, metadata: &std::fs::Metadata) -> (Verdict, String) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        (
            Verdict::Failed,
            format!("{} belongs to another user", path.display()),
        )
    } else if rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err() {
        (
            Verdict::Failed,
            format!("{} cannot be written", path.display()),
        )
    } else if mode & 0o077 != 0 {
        let detail = format!(
            "{} is open to others (mode {mode:o}); the next start closes it",
            path.display()
        );
        (Verdict::Warning, detail)
    } else {
        (Verdict::Ok, path.display().to_string())
    }
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

/// Opens the database as a start would; a running daemon has it open.
fn database(home: &Home) -> Finding {
    let check = "database";
    let found = |verdict, detail| Finding {
        check,
        verdict,
        detail,
    };
    match Instance::is_held(home) {
        Ok(true) => return found(Verdict::Ok, "in use by the daemon".to_owned()),
        Ok(false) => {}
        Err(error) => return found(Verdict::Failed, error.to_string()),
    }
    let config = Config::load(&home.config_file()).unwrap_or_default();
    let url = match missiond_daemon::database_url(&config, home) {
        Ok(url) => url,
        Err(error) => return found(Verdict::Failed, error.to_string()),
    };
    if config.database.url.is_empty() && !home.database().exists() {
        let verdict = if home.data_dir().exists() {
            Verdict::Ok
        } else {
            not_made_yet(home.data_dir()).0
        };
        let detail = if verdict == Verdict::Ok {
            format!("{url} is made at the first start")
        } else {
            format!("{url} cannot be made")
        };
        return found(verdict, detail);
    }
    let opened = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
        .and_then(|runtime| {
            runtime.block_on(async {
                let db = MissionDb::open(&url)
                    .await
                    .map_err(|error| error.to_string())?;
                db.close().await.map_err(|error| error.to_string())
            })
        });
    match opened {
        Ok(()) => found(Verdict::Ok, url.to_string()),
        Err(error) => found(
            Verdict::Failed,
            with_way_out(error, changes::way_out(home, "database.url")),
        ),
    }
}

fn port(home: &Home) -> Finding {
    let check = "HTTP port";
    let config = Config::load(&home.config_file()).unwrap_or_default();
    let address = config.http.listen;
    let (verdict, detail) = if !config.http.enabled {
        (Verdict::Ok, "switched off".to_owned())
    } else if Instance::is_held(home).unwrap_or(false) {
        (Verdict::Ok, "the daemon has it".to_owned())
    } else if address.port() == 0 {
        (Verdict::Ok, "a free one is taken".to_owned())
    } else {
        match std::net::TcpListener::bind(address) {
            Ok(_) => (Verdict::Ok, address.to_string()),
            Err(error) => (
                Verdict::Failed,
                with_way_out(
                    format!("{address} cannot be used ({error}): change `http.listen`"),
                    changes::way_out(home, "http.listen"),
                ),
            ),
        }
    };
    Finding {
        check,
        verdict,
        detail,
    }
}

/// `blocked` is the check for whose reason none can start.
fn daemon(reach: &Reach, blocked: Option<&str>) -> Finding {
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
            _ => match (process::died(&reach.home), blocked) {
                (_, Some(check)) => (
                    Verdict::Failed,
                    format!("not running, and it cannot start: see `{check}`"),
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
