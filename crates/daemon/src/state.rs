//! What the parts of a running daemon share: a handle that is cheap to clone
//! and knows no logic of its own.

use std::sync::{Arc, Mutex, PoisonError};

use missiond_api::Home;
use missiond_core::{Clock, DaemonId, Timestamp};
use missiond_store::{DbUrl, MissionDb};
use tokio::sync::watch;

use crate::board::Board;
use crate::config::Config;
use crate::logging::Logging;
use crate::metrics::Metrics;
use crate::shutdown::Shutdown;
use crate::timeline::{Consumers, Timeline};

/// A handle to the running daemon.
pub(crate) type Daemon = Arc<DaemonState>;

#[derive(Debug)]
pub(crate) struct DaemonState {
    pub id: DaemonId,
    pub home: Home,
    pub host: String,
    pub started_at: Timestamp,
    pub clock: Arc<dyn Clock>,
    pub config: watch::Sender<Arc<Config>>,
    pub logging: Logging,
    pub metrics: Arc<Metrics>,
    pub db_url: DbUrl,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub board: Arc<Board>,
    pub code: Arc<crate::code::CodeMaps>,
    pub knowledge: crate::knowledge::Knowledge,
    #[cfg(unix)]
    pub conversations: crate::conversations::Conversations,
    #[cfg(unix)]
    pub slots: Arc<crate::slots::Slots>,
    #[cfg(unix)]
    pub executions: Arc<crate::executions::Executions>,
    #[cfg(unix)]
    pub context: crate::context::ContextPipeline,
    #[cfg(unix)]
    pub questions: Arc<crate::questions::Questions>,
    #[cfg(unix)]
    pub permissions: Arc<crate::permissions::Permissions>,
    #[cfg(unix)]
    pub notifications: Arc<crate::notifications::Notifications>,
    #[cfg(unix)]
    pub autopilot: crate::autopilot::Autopilot,
    #[cfg(unix)]
    pub commander: crate::commander::Changes,
    #[cfg(unix)]
    pub toolhub: crate::toolhub::Toolhub,
    pub http_access: crate::http_access::HttpAccess,
    pub consumers: Mutex<Option<Consumers>>,
    pub http: Mutex<Option<std::net::SocketAddr>>,
    pub shutdown: Shutdown,
}

impl DaemonState {
    /// The configuration in force.
    #[must_use]
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.borrow())
    }

    /// Ends the process without closing, but with its last words in the log.
    pub(crate) fn end_process(&self, code: i32) -> ! {
        self.logging.finish();
        std::process::exit(code)
    }

    /// Slots whose programs run.
    #[must_use]
    pub(crate) fn slots_running(&self) -> u64 {
        #[cfg(unix)]
        return self.slots.running();
        #[cfg(not(unix))]
        0
    }

    /// Where HTTP is served.
    #[must_use]
    pub(crate) fn http_address(&self) -> Option<std::net::SocketAddr> {
        *self.http.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
