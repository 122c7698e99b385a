//! A PostgreSQL server of one's own, for tests and measurements: a throw-away
//! cluster in a private folder, reached through a socket in that folder.
//!
//! Durability is left as PostgreSQL ships it (`fsync`, `synchronous_commit`),
//! so what is measured on it is real. The server ends with the value that
//! started it, and also when the process that holds the value is killed: a
//! small shell stands beside the server, reads from a pipe that only we hold
//! open, and stops the server when the pipe closes, whoever closed it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::postgres::PgConnection;
use crate::url::Target;
use crate::{DbUrl, StoreError};

/// A running server.
#[derive(Debug)]
pub struct PrivatePostgres {
    /// The shell; it ends after the server has.
    keeper: Child,
    url: DbUrl,
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum PrivatePostgresError {
    #[error(
        "PostgreSQL is not installed: no `initdb` and `postgres` in PATH or the usual folders. \
         Install it, for example with `apt install postgresql` or `brew install postgresql@17`"
    )]
    NotInstalled,
    #[error(
        "PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody` to run it \
         as: create one, or run this as an ordinary user"
    )]
    NoUnprivilegedUser,
    #[error("the private PostgreSQL server could not be {attempted}: {source}")]
    Io {
        attempted: &'static str,
        source: std::io::Error,
    },
    #[error("the private PostgreSQL server could not be {attempted}. It said:\n{said}")]
    Refused {
        attempted: &'static str,
        said: String,
    },
}

/// How long a start may take on a slow or busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// `$1` is the folder of the binaries, `$2` ours. A background command has no
/// standard input, so the pipe is handed to the watching one as descriptor 3.
const KEEPER: &str = r#"
exec 3<&0
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=300 3<&- </dev/null &
server=$!
(read -r _ <&3; kill -QUIT "$server") 2>/dev/null &
watcher=$!
wait "$server"
kill "$watcher" 2>/dev/null
rm -rf "$2"
"#;

impl PrivatePostgres {
    /// Makes a cluster and starts a server on it. Takes a second or two.
    pub fn start() -> Result<Self, PrivatePostgresError> {
        let binaries = find_binaries().ok_or(PrivatePostgresError::NotInstalled)?;
        let user = User::to_run_as()?;
        let folder = tempfile::Builder::new()
            .prefix("missiond-pg-")
            .tempdir()
            .map_err(|source| io("given a folder", source))?;
        if let User::Other { uid, gid } = user {
            std::os::unix::fs::chown(folder.path(), Some(uid), Some(gid))
                .map_err(|source| io("given a folder", source))?;
        }
        make_cluster(&binaries, folder.path(), user)?;
        let mut keeper = user
            .command("/bin/sh", folder.path())
            .args(["-c", KEEPER, "sh"])
            .arg(&binaries)
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C meant for us must not reach it before we are gone.
            .process_group(0)
            .spawn()
            .map_err(|source| io("started", source))?;
        let log = keeper.stderr.take();
        // From here on the keeper removes the folder.
        let folder = folder.keep();
        let this = Self {
            url: url_of(&folder),
            keeper,
            folder,
        };
        match log {
            Some(log) => await_ready(log)?,
            None => return Err(refused("started", "its log could not be read".into())),
        }
        Ok(this)
    }

    /// The server's own database, on which others may be created.
    #[must_use]
    pub const fn url(&self) -> &DbUrl {
        &self.url
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        if let Err(error) = self.keeper.wait() {
            tracing::warn!(%error, "private PostgreSQL server may still be running");
        }
    }
}

/// Makes an empty database on a server and says where it is.
pub async fn create_database(server: &DbUrl, name: &str) -> Result<DbUrl, StoreError> {
    let url = server.with_database(name)?;
    command(server, &format!("CREATE DATABASE {name}")).await?;
    Ok(url)
}

/// Removes a database, whoever is still connected to it.
pub async fn drop_database(server: &DbUrl, name: &str) -> Result<(), StoreError> {
    server.with_database(name)?;
    command(
        server,
        &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
    )
    .await
}

async fn command(server: &DbUrl, sql: &str) -> Result<(), StoreError> {
    match &server.0 {
        Target::Postgres { config, .. } => PgConnection::open(config).await?.batch(sql).await,
        Target::Sqlite(_) => Err(StoreError::BadUrl {
            detail: format!("{server} is not a PostgreSQL server"),
        }),
    }
}

fn make_cluster(binaries: &Path, folder: &Path, user: User) -> Result<(), PrivatePostgresError> {
    let made = user
        .command(binaries.join("initdb"), folder)
        .arg("-D")
        .arg(folder.join("data"))
        // An empty cluster lost to a power cut is made again; the server
        // itself syncs.
        .args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ])
        .stdin(Stdio::null())
        .output()
        .map_err(|source| io("initialised", source))?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    Err(refused("initialised", said))
}

/// Waits for the line in the log that says the server takes connections, and
/// keeps reading the log afterwards, so that the server never waits for us.
fn await_ready(log: ChildStderr) -> Result<(), PrivatePostgresError> {
    let (lines, heard) = mpsc::channel();
    std::thread::Builder::new()
        .name("postgres-log".into())
        .spawn(move || {
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                tracing::debug!(target: "private_postgres", "{line}");
                // Nobody listens any more once it is ready.
                let _ = lines.send(line);
            }
        })
        .map_err(|source| io("watched", source))?;
    let mut said = Vec::new();
    while let Ok(line) = heard.recv_timeout(PATIENCE) {
        if line.contains("ready to accept connections") {
            return Ok(());
        }
        said.push(line);
    }
    Err(refused("started", said.join("\n")))
}

/// Who the server runs as.
#[derive(Debug, Clone, Copy)]
enum User {
    Ourselves,
    Other { uid: u32, gid: u32 },
}

impl User {
    fn to_run_as() -> Result<Self, PrivatePostgresError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ourselves);
        }
        let users =
            std::fs::read_to_string("/etc/passwd").map_err(|source| io("given a user", source))?;
        let found = ["postgres", "nobody"].iter().find_map(|name| {
            let fields: Vec<_> = users
                .lines()
                .map(|line| line.split(':').collect::<Vec<_>>())
                .find(|fields| fields.first() == Some(name))?;
            Some(Self::Other {
                uid: fields.get(2)?.parse().ok()?,
                gid: fields.get(3)?.parse().ok()?,
            })
        });
        found.ok_or(PrivatePostgresError::NoUnprivilegedUser)
    }

    /// A command run as this user, in a folder the user may enter, and without
    /// settings of ours that PostgreSQL's programs would take for their own.
    fn command(self, program: impl Into<OsString>, folder: &Path) -> Command {
        let mut command = Command::new(program.into());
        command
            .current_dir(folder)
            .env("LC_ALL", "C")
            .env_remove("LANGUAGE");
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// The folder of the server's programs: what PATH finds, else the newest of
/// the places packages use.
fn find_binaries() -> Option<PathBuf> {
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<_> = std::env::split_paths(&in_path).collect();
    let packaged = [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql@", "bin"),
        ("/usr/local/opt", "postgresql@", "bin"),
    ];
    let packaged = packaged.into_iter().flat_map(|(parent, prefix, bin)| {
        let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let version = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
                Some((version, entry.path().join(bin)))
            })
            .collect();
        versions.sort_by(|a, b| b.cmp(a));
        versions.into_iter().map(|(_, path)| path)
    });
    in_path.into_iter().chain(packaged).find(|folder| {
        let executable = |name| {
            let file = folder.join(name).metadata();
            file.is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
        };
        executable("initdb") && executable("postgres")
    })
}

fn url_of(folder: &Path) -> DbUrl {
    let mut host = String::new();
    for &byte in folder.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            host.push(char::from(byte));
        } else {
            host.push_str(&format!("%{byte:02X}"));
        }
    }
    let text = format!("postgres://postgres@{host}/postgres");
    text.parse()
        .expect("a percent-encoded folder is a valid host")
}

fn io(attempted: &'static str, source: std::io::Error) -> PrivatePostgresError {
    PrivatePostgresError::Io { attempted, source }
}

fn refused(attempted: &'static str, said: String) -> PrivatePostgresError {
    PrivatePostgresError::Refused { attempted, said }
}
