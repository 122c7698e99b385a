//! Reaching the daemon, and starting it on first use.

use missiond_api::{Client, ClientError, Home};

use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::process;

/// Where the daemon is and whether a command may start it.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) home: Home,
    start: bool,
}

impl Reach {
    /// The home of the environment; `start` says whether a daemon may be started.
    pub(crate) fn from_env(start: bool) -> Result<Self, Failure> {
        Ok(Self {
            home: Home::from_env()?,
            start,
        })
    }

    pub(crate) fn may_start(&self) -> bool {
        self.start
    }

    /// A connection to the running daemon; starts one if there is none, unless
    /// the person said not to.
    pub(crate) fn client(&self, output: &mut Output) -> Result<Client, Failure> {
        match Client::connect(&self.home) {
            Err(ClientError::NotRunning { .. }) if self.start => {
                let _progress = Progress::start(output, "starting the daemon");
                process::start(&self.home)?;
                Ok(Client::connect(&self.home)?)
            }
            other => Ok(other?),
        }
    }

    /// A connection to the running daemon, or the failure that there is none.
    pub(crate) fn running(&self) -> Result<Client, ClientError> {
        Client::connect(&self.home)
    }
}
