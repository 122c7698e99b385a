//! Where missiond keeps its things on this machine.
//!
//! `MISSION_HOME` puts everything below one folder; otherwise the XDG folders
//! are used, so a backup of the data does not pick up sockets and a shared
//! temporary folder is never trusted.

use std::path::{Path, PathBuf};

use interprocess::local_socket::{GenericFilePath, Name, prelude::*};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    config: PathBuf,
    data: PathBuf,
    run: PathBuf,
    /// The log's folder, where it is not in the data folder.
    logs: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("no home folder: set HOME, or MISSION_HOME to a folder of your own")]
    NoHome,
    #[error("{variable} must be an absolute path, but is `{value}`")]
    NotAbsolute {
        variable: &'static str,
        value: String,
    },
    #[error(
        "the socket path {path} is {length} bytes long, and the system allows {limit}: set \
         `ipc.socket_path`, MISSION_HOME or XDG_RUNTIME_DIR to a shorter one"
    )]
    SocketPathTooLong {
        path: String,
        length: usize,
        limit: usize,
    },
    #[error("the socket name cannot be used: {0}")]
    Socket(#[from] std::io::Error),
}

/// The longest path of a Unix socket on Linux; the BSDs allow four less.
const SOCKET_PATH_LIMIT: usize = 103;

impl Home {
    /// From the environment of this process.
    pub fn from_env() -> Result<Self, HomeError> {
        Self::from_lookup(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// Everything below one folder, as with `MISSION_HOME`.
    #[must_use]
    pub fn under(root: &Path) -> Self {
        Self {
            config: root.join("config"),
            data: root.join("data"),
            run: root.join("run"),
            logs: None,
        }
    }

    /// The same home with its log in another folder.
    #[must_use]
    pub fn with_log_dir(self, folder: PathBuf) -> Self {
        Self {
            logs: Some(folder),
            ..self
        }
    }

    fn from_lookup(lookup: impl Fn(&'static str) -> Option<PathBuf>) -> Result<Self, HomeError> {
        let folder = |variable: &'static str| match lookup(variable) {
            Some(path) if path.as_os_str().is_empty() => Ok(None),
            Some(path) if path.is_absolute() => Ok(Some(path)),
            Some(path) => Err(HomeError::NotAbsolute {
                variable,
                value: path.display().to_string(),
            }),
            None => Ok(None),
        };
        if let Some(root) = folder("MISSION_HOME")? {
            return Ok(Self::under(&root));
        }
        let home = match folder("HOME")? {
            Some(home) => Some(home),
            None => folder("USERPROFILE")?,
        };
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let config = folder("XDG_CONFIG_HOME")?.or_else(|| below_home(".config"));
        let state = folder("XDG_STATE_HOME")?.or_else(|| below_home(".local/state"));
        let data = state.ok_or(HomeError::NoHome)?.join("missiond");
        let run = match folder("XDG_RUNTIME_DIR")? {
            Some(runtime) => runtime.join("missiond"),
            None => data.join("run"),
        };
        Ok(Self {
            config: config.ok_or(HomeError::NoHome)?.join("missiond"),
            data,
            run,
            logs: None,
        })
    }

    #[must_use]
    pub fn config_dir(&self) -> &Path {
        &self.config
    }

    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// What was changed in the files of the configuration through the daemon.
    #[must_use]
    pub fn config_history(&self) -> PathBuf {
        self.data.join("config_history.jsonl")
    }

    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.data.join("mission.db")
    }

    /// The database as it was before the last upgrade.
    #[must_use]
    pub fn database_before(&self) -> PathBuf {
        self.data.join("mission.db.before")
    }

    #[must_use]
    pub fn log_dir(&self) -> PathBuf {
        let place = self.logs.clone();
        place.unwrap_or_else(|| self.data.join("logs"))
    }

    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.log_dir().join("daemon.log")
    }

    /// What the terminals of slots have shown.
    #[must_use]
    pub fn recordings_dir(&self) -> PathBuf {
        self.data.join("recordings")
    }

    /// What was said to agents, observed of them and decided.
    #[must_use]
    pub fn journals_dir(&self) -> PathBuf {
        self.data.join("journals")
    }

    /// The log of the audit, and where it was last.
    #[must_use]
    pub fn audit_dir(&self) -> PathBuf {
        self.data.join("audit")
    }

    /// The key that the audit is signed with.
    #[must_use]
    pub fn identity_dir(&self) -> PathBuf {
        self.data.join("identity")
    }

    /// Where attempts work, by repository.
    #[must_use]
    pub fn worktrees_dir(&self) -> PathBuf {
        self.data.join("worktrees")
    }

    /// Which tools of external MCP servers were accepted.
    #[must_use]
    pub fn tool_pins(&self) -> PathBuf {
        self.data.join("toolhub/pins.json")
    }

    /// What the HTTP server keeps: the key its secrets are hashed with, and the
    /// port it had.
    #[must_use]
    pub fn http_dir(&self) -> PathBuf {
        self.data.join("http")
    }

    /// What other programs' files were before `mission init` changed them.
    #[must_use]
    pub fn init_dir(&self) -> PathBuf {
        self.data.join("init")
    }

    /// The programs that each task's repository names, as its last attempt found them.
    #[must_use]
    pub fn repository_programs_dir(&self) -> PathBuf {
        self.data.join("repository-programs")
    }

    /// Models that were installed.
    #[must_use]
    pub fn models_dir(&self) -> PathBuf {
        self.data.join("models")
    }

    /// The person's policy.
    #[must_use]
    pub fn policy_file(&self) -> PathBuf {
        self.config.join("policy.toml")
    }

    /// The user's manifests, put over the built-in ones.
    #[must_use]
    pub fn manifests_dir(&self) -> PathBuf {
        self.config.join("manifests")
    }

    /// The user's task templates.
    #[must_use]
    pub fn templates_dir(&self) -> PathBuf {
        self.config.join("templates")
    }

    /// Files of tasks on their way in and out. The daemon reads and writes such
    /// files here alone, so that nobody can make it read any other.
    #[must_use]
    pub fn exchange_dir(&self) -> PathBuf {
        self.data.join("exchange")
    }

    /// Sockets and records of the processes that hold slots.
    #[must_use]
    pub fn slots_dir(&self) -> PathBuf {
        self.run.join("slots")
    }

    /// Sockets of the proxy, by whom they lead out.
    #[must_use]
    pub fn egress_dir(&self) -> PathBuf {
        self.run.join("egress")
    }

    /// What is nobody's but the daemon's and the person's: settings, data and sockets.
    #[must_use]
    pub fn own_folders(&self) -> Vec<PathBuf> {
        [&self.config, &self.data, &self.run]
            .map(Clone::clone)
            .into()
    }

    #[must_use]
    pub fn run_dir(&self) -> &Path {
        &self.run
    }

    /// The name of the socket in this home. A daemon that listens elsewhere leaves a link
    /// to that place here, so that whoever knows the home finds it.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.run.join("daemon.sock")
    }

    /// Where the socket is.
    #[must_use]
    pub fn socket_place(&self) -> PathBuf {
        socket_place(&self.socket())
    }

    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.run.join("daemon.lock")
    }

    #[must_use]
    pub fn pid_file(&self) -> PathBuf {
        self.run.join("daemon.pid")
    }

    /// The name to listen on and to connect to: where the socket is.
    pub fn socket_name(&self) -> Result<Name<'static>, HomeError> {
        let socket = self.socket_place();
        Self::check_socket_length(&socket)?;
        Ok(socket.to_fs_name::<GenericFilePath>()?.into_owned())
    }

    /// Whether a socket can have this path.
    pub fn check_socket_length(path: &Path) -> Result<(), HomeError> {
        let length = path.as_os_str().len();
        if length <= SOCKET_PATH_LIMIT {
            return Ok(());
        }
        Err(HomeError::SocketPathTooLong {
            path: path.display().to_string(),
            length,
            limit: SOCKET_PATH_LIMIT,
        })
    }
}

/// Where the socket of this name is: the target of a link, which may be shorter than what
/// the system takes as the path of a socket when the name is not.
#[must_use]
pub fn socket_place(name: &Path) -> PathBuf {
    std::fs::read_link(name).unwrap_or_else(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(variables: &[(&'static str, &str)]) -> Result<Home, HomeError> {
        Home::from_lookup(|name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| PathBuf::from(value))
        })
    }

    #[test]
    fn the_xdg_folders_are_used_and_have_their_defaults() {
        let plain = home(&[("HOME", "/home/me")]).unwrap();
        assert_eq!(
            plain.config_file(),
            Path::new("/home/me/.config/missiond/config.toml")
        );
        assert_eq!(
            plain.database(),
            Path::new("/home/me/.local/state/missiond/mission.db")
        );
        assert_eq!(
            plain.socket(),
            Path::new("/home/me/.local/state/missiond/run/daemon.sock")
        );
        let xdg = home(&[
            ("HOME", "/home/me"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_RUNTIME_DIR", "/r"),
        ])
        .unwrap();
        assert_eq!(xdg.config_file(), Path::new("/c/missiond/config.toml"));
        assert_eq!(xdg.database(), Path::new("/s/missiond/mission.db"));
        assert_eq!(xdg.socket(), Path::new("/r/missiond/daemon.sock"));
    }

    #[test]
    fn mission_home_wins_over_everything() {
        let moved = home(&[
            ("MISSION_HOME", "/m"),
            ("HOME", "/h"),
            ("XDG_RUNTIME_DIR", "/r"),
        ]);
        assert_eq!(moved.unwrap(), Home::under(Path::new("/m")));
    }

    #[test]
    fn a_relative_path_is_refused() {
        let error = home(&[("MISSION_HOME", "here")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "MISSION_HOME must be an absolute path, but is `here`"
        );
        assert!(matches!(home(&[]), Err(HomeError::NoHome)));
    }

    #[test]
    fn a_socket_path_too_long_for_the_system_is_named() {
        let home = Home::under(Path::new(&format!("/{}", "x".repeat(120))));
        assert!(
            home.socket_name()
                .unwrap_err()
                .to_string()
                .contains("MISSION_HOME")
        );
    }
}
