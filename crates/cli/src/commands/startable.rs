//! What keeps a daemon from starting, found out without starting one and without changing
//! anything.

use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use missiond_api::Home;
use missiond_config::{Config, changes};
use missiond_daemon::Instance;
use missiond_store::{DbUrl, MissionDb, StoreError};
use serde::Serialize;

use super::config::way_out;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Ok,
    /// It is not there, which is a trouble only when nothing like it is.
    NotInstalled,
    Warning,
    Failed,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) verdict: Verdict,
    /// What was found; for a trouble also what to do.
    pub(super) detail: String,
}

/// A server that does not answer by then is no reason to keep a person waiting.
const DATABASE_LIMIT: Duration = Duration::from_secs(5);

/// Everything a start needs, in the order in which it is needed.
#[derive(Debug)]
pub(super) struct Readiness {
    pub(super) configuration: Finding,
    pub(super) data: Finding,
    pub(super) runtime: Finding,
    pub(super) log: Finding,
    pub(super) socket: Finding,
    pub(super) database: Finding,
    pub(super) port: Finding,
}

impl Readiness {
    pub(super) fn of(home: &Home) -> Self {
        let config = Config::load(&home.config_file()).unwrap_or_default();
        Self {
            configuration: configuration(home),
            data: folder("data folder", home.data_dir()),
            runtime: folder("runtime folder", home.run_dir()),
            log: log(home, &config),
            socket: socket(home, &config),
            database: database(home, &config),
            port: port(home, &config),
        }
    }

    /// The first finding with which no daemon starts.
    pub(super) fn obstacle(&self) -> Option<&Finding> {
        let Self {
            configuration,
            data,
            runtime,
            log,
            socket,
            database,
            port,
        } = self;
        let failed = [configuration, data, runtime, log, socket, database, port]
            .into_iter()
            .find(|finding| finding.verdict == Verdict::Failed);
        // The one thing that is not wrong and starts no daemon: it was switched off.
        let switched_off = (configuration.verdict == Verdict::Warning).then_some(configuration);
        failed.or(switched_off)
    }
}

fn configuration(home: &Home) -> Finding {
    let file = home.config_file();
    let (verdict, detail) = match Config::load(&file) {
        Err(error) => {
            let out = way_out(home, &error);
            (Verdict::Failed, with_way_out(error.to_string(), out))
        }
        Ok(config) if !config.daemon.enabled => (
            Verdict::Warning,
            with_way_out(
                "`daemon.enabled` is false, so no daemon starts".to_owned(),
                changes::way_out(home, "daemon.enabled"),
            ),
        ),
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

/// The folder of the log, where it is not in the data folder.
fn log(home: &Home, config: &Config) -> Finding {
    let check = "log";
    let file = config.log.place(home.clone()).log_file();
    let Some(place) = file.parent().filter(|_| !config.log.directory.is_empty()) else {
        return Finding {
            check,
            verdict: Verdict::Ok,
            detail: file.display().to_string(),
        };
    };
    let found = folder(check, place);
    let others_write = std::fs::metadata(place).is_ok_and(|about| about.mode() & 0o022 != 0);
    let (verdict, detail) = match found.verdict {
        Verdict::Failed => (Verdict::Failed, found.detail),
        _ if others_write => (
            Verdict::Failed,
            format!(
                "{}: other users may write there; `chmod go-w` closes it",
                place.display()
            ),
        ),
        _ => (Verdict::Ok, file.display().to_string()),
    };
    let detail = match verdict {
        Verdict::Failed => with_way_out(detail, changes::way_out(home, "log.directory")),
        _ => detail,
    };
    Finding {
        check,
        verdict,
        detail,
    }
}

/// Where the socket will be: a path that is short enough, and that nothing else has.
fn socket(home: &Home, config: &Config) -> Finding {
    let check = "socket";
    let own = home.socket();
    let place = config.ipc.socket_path().unwrap_or(&own);
    let trouble = match Home::check_socket_length(place) {
        Err(error) => Some(error.to_string()),
        Ok(()) if config.ipc.socket_path().is_some() => placed_elsewhere(home, place),
        Ok(()) => None,
    };
    match trouble {
        None => Finding {
            check,
            verdict: Verdict::Ok,
            detail: place.display().to_string(),
        },
        Some(trouble) => Finding {
            check,
            verdict: Verdict::Failed,
            detail: with_way_out(trouble, changes::way_out(home, "ipc.socket_path")),
        },
    }
}

/// What is wrong with a socket that the configuration has put somewhere.
fn placed_elsewhere(home: &Home, place: &Path) -> Option<String> {
    let folder_of = place.parent().unwrap_or(Path::new("/"));
    let above = folder("socket", folder_of);
    if above.verdict == Verdict::Failed {
        return Some(above.detail);
    }
    let is_open = std::fs::metadata(folder_of).is_ok_and(|about| about.mode() & 0o077 != 0);
    if is_open {
        return Some(format!(
            "{}: other users may enter it; `chmod 700` closes it",
            folder_of.display()
        ));
    }
    let is_socket = |about: std::fs::Metadata| about.file_type().is_socket();
    let is_held = Instance::is_held(home).unwrap_or(false);
    let found = std::fs::symlink_metadata(place).ok()?;
    (!is_held && !is_socket(found))
        .then(|| format!("{} is there and is not a socket", place.display()))
}

/// Looks into the database; a running daemon has it open.
fn database(home: &Home, config: &Config) -> Finding {
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
    let url = match missiond_daemon::database_url(config, home) {
        Ok(url) => url,
        Err(error) => return found(Verdict::Failed, error.to_string()),
    };
    // A link to nowhere is there, and no file can be made in its place.
    let missing = |file: &&Path| std::fs::symlink_metadata(file).is_err();
    if let Some(folder) = url.file().filter(missing).and_then(Path::parent) {
        let verdict = if folder.is_dir() {
            Verdict::Ok
        } else if folder == home.data_dir() {
            not_made_yet(folder).0
        } else {
            Verdict::Failed
        };
        let detail = if verdict == Verdict::Ok {
            format!("{url} is made at the first start")
        } else {
            format!("{url} cannot be made")
        };
        return found(verdict, detail);
    }
    match look_into(&url) {
        Ok(()) => found(Verdict::Ok, url.to_string()),
        Err(error) => found(
            Verdict::Failed,
            with_way_out(error, changes::way_out(home, "database.url")),
        ),
    }
}

/// Whether a start could use it. One that is older is migrated by the start.
fn look_into(url: &DbUrl) -> Result<(), String> {
    if let Some(file) = url.file()
        && rustix::fs::access(file, rustix::fs::Access::WRITE_OK).is_err()
        && file.exists()
    {
        let path = file.display().to_string();
        return Err(StoreError::ReadOnly { path }.to_string());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let opened = tokio::time::timeout(DATABASE_LIMIT, MissionDb::open_read_only(url)).await;
        match opened {
            Err(_) => Err(format!("no answer within {} s", DATABASE_LIMIT.as_secs())),
            Ok(Err(StoreError::Older { .. })) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(db)) => db.close().await.map_err(|error| error.to_string()),
        }
    })
}

fn port(home: &Home, config: &Config) -> Finding {
    let check = "HTTP port";
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
