//! The connection to the daemon, made again when it is lost: agents outlive the daemon,
//! so a session does too. What may be asked twice is asked again; of everything else the
//! editor is told that nobody knows whether it was done.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_api::{Client, ClientError, Effect, Operation};

use crate::message::Refusal;

/// How long a daemon may be away: an upgrade starts it anew.
const AWAY_AT_MOST: Duration = Duration::from_secs(30);
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Makes a connection, and starts the daemon first where that is wanted; or says why
/// there is none.
pub type Connect = Arc<dyn Fn() -> Result<Client, String> + Send + Sync>;

pub(crate) struct Daemon {
    connect: Connect,
    client: Option<Client>,
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl Daemon {
    pub(crate) fn new(connect: Connect) -> Self {
        Self {
            connect,
            client: None,
        }
    }

    /// Closes the connection until it is needed again: an editor keeps sessions open for
    /// weeks, and the daemon has only so many connections.
    pub(crate) fn disconnect(&mut self) {
        self.client = None;
    }

    pub(crate) fn call<O: Operation>(&mut self, params: &O::Params) -> Result<O::Result, Refusal> {
        let harmless = matches!(O::SPEC.effect, Effect::ReadOnly | Effect::Idempotent);
        self.ask::<O>(params, harmless)
    }

    /// As [`call`](Self::call), for what the daemon knows by its key when it comes again.
    pub(crate) fn call_keyed<O: Operation>(
        &mut self,
        params: &O::Params,
    ) -> Result<O::Result, Refusal> {
        self.ask::<O>(params, true)
    }

    fn ask<O: Operation>(
        &mut self,
        params: &O::Params,
        may_repeat: bool,
    ) -> Result<O::Result, Refusal> {
        let until = Instant::now() + AWAY_AT_MOST;
        loop {
            let client = match &mut self.client {
                Some(client) => client,
                none => none.insert(connected(&self.connect, until)?),
            };
            let error = match client.call::<O>(params) {
                Ok(result) => return Ok(result),
                Err(error @ ClientError::Api(_)) => return Err(error.into()),
                Err(error) => error,
            };
            self.client = None;
            if !may_repeat || Instant::now() >= until {
                return Err(Refusal::internal(format!(
                    "{error}; whether it was done is not known: look before you try again"
                )));
            }
        }
    }
}

fn connected(connect: &Connect, until: Instant) -> Result<Client, Refusal> {
    loop {
        match connect() {
            Ok(client) => return Ok(client),
            Err(why) if Instant::now() >= until => return Err(Refusal::internal(why)),
            Err(_) => std::thread::sleep(TRY_AGAIN),
        }
    }
}
