//! Reaching the daemon, and starting it on first use.

use missiond_api::{Client, ClientError, Home};
use missiond_config::Config;
use missiond_core::ErrorCode;
use missiond_daemon::{Instance, StartError};

use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::process;

/// Where the daemon is and whether a command may start it.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) home: Home,
    start: bool,
}

/// Whether a command starts a daemon that does not run.
enum AutoStart {
    Yes,
    /// The person said not to, for this command.
    NotNow,
    /// `daemon.auto_start` is off.
    Off,
    /// `daemon.enabled` is off.
    Disabled,
}

impl Reach {
    /// The home of the environment; `start` says whether a daemon may be started.
    pub(crate) fn from_env(start: bool) -> Result<Self, Failure> {
        Ok(Self {
            home: Home::from_env()?,
            start,
        })
    }

    /// Whether this command may start a daemon when it is told to.
    pub(crate) fn may_start(&self) -> bool {
        self.start
    }

    /// Whether this command starts a daemon without being told to.
    pub(crate) fn starts_by_itself(&self) -> bool {
        matches!(self.auto_start(), AutoStart::Yes)
    }

    /// The home with its log where the configuration wants it; a daemon that cannot read
    /// that file writes its log into the data folder.
    pub(crate) fn logged_home(&self) -> Home {
        let config = Config::load(&self.home.config_file()).unwrap_or_default();
        config.log.place(self.home.clone())
    }

    /// A file that cannot be read forbids nothing: the daemon says what is wrong with it.
    fn auto_start(&self) -> AutoStart {
        if !self.start {
            return AutoStart::NotNow;
        }
        let config = Config::load(&self.home.config_file()).unwrap_or_default();
        match (config.daemon.enabled, config.daemon.auto_start) {
            (false, _) => AutoStart::Disabled,
            (true, false) => AutoStart::Off,
            (true, true) => AutoStart::Yes,
        }
    }

    /// A connection to the running daemon; starts one if there is none, unless
    /// the person or the configuration says not to.
    pub(crate) fn client(&self, output: &mut Output) -> Result<Client, Failure> {
        let error = match Client::connect(&self.home) {
            Err(error @ ClientError::NotRunning { .. }) => error,
            other => return Ok(other?),
        };
        match self.auto_start() {
            AutoStart::Yes => self.start_daemon(output),
            AutoStart::NotNow => Err(error.into()),
            AutoStart::Off => Err(Failure::from(error).hint(
                "`daemon.auto_start` is false, so nothing starts it by itself: `mission up` does",
            )),
            AutoStart::Disabled => Err(disabled(&self.home)),
        }
    }

    /// As [`client`](Self::client), for a person who asked for the daemon by name.
    pub(crate) fn started_client(&self, output: &mut Output) -> Result<Client, Failure> {
        match Client::connect(&self.home) {
            Err(ClientError::NotRunning { .. }) if self.start => self.start_daemon(output),
            other => Ok(other?),
        }
    }

    fn start_daemon(&self, output: &mut Output) -> Result<Client, Failure> {
        let _progress = Progress::start(output, "starting the daemon");
        process::start(&self.home)?;
        Ok(Client::connect(&self.home)?)
    }

    /// A connection to the running daemon, or the failure that there is none.
    pub(crate) fn running(&self) -> Result<Client, ClientError> {
        Client::connect(&self.home)
    }
}

/// That the configuration wants no daemon, and how that is changed.
pub(crate) fn disabled(home: &Home) -> Failure {
    let error = StartError::disabled(home);
    Failure {
        hint: error.way_out(home),
        ..Failure::new(error.code(), error.to_string())
    }
}

/// The configuration, for a command that stops a daemon to start it again: one that could
/// not come up again is better left running. `not_done` says what is not done then.
pub(crate) fn startable_config(home: &Home, not_done: &str) -> Result<Config, Failure> {
    let left_alone = |failure: Failure| Failure {
        message: format!("{not_done}, what runs was left alone: {}", failure.message),
        ..failure
    };
    let config = Config::load(&home.config_file()).map_err(|error| {
        left_alone(Failure {
            hint: crate::commands::way_out(home, &error),
            ..Failure::new(ErrorCode::InvalidConfig, error.to_string())
        })
    })?;
    if config.daemon.enabled || !Instance::is_held(home)? {
        Ok(config)
    } else {
        Err(left_alone(disabled(home)))
    }
}
