//! What the parts of a running daemon share: a handle that is cheap to clone
//! and knows no logic of its own.

use std::sync::Arc;

use missiond_api::Home;
use missiond_audit::AuditLog;
use missiond_autopilot::board::Board;
use missiond_config::Config;
use missiond_core::{Clock, DaemonId, Timestamp};
use missiond_log::Logging;
use missiond_runtime::{Shutdown, Supervisor};
use missiond_store::{DbUrl, MissionDb};
use missiond_timeline::metrics::Metrics;
use missiond_timeline::{Consumers, Timeline};
use parking_lot::Mutex;
use tokio::sync::watch;

/// A handle to the running daemon.
pub type Daemon = Arc<DaemonState>;

#[derive(Debug)]
pub struct DaemonState {
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
    pub audit: AuditLog,
    pub board: Arc<Board>,
    pub code: Arc<missiond_memory::code::CodeMaps>,
    pub knowledge: missiond_memory::knowledge::Knowledge,
    pub conversations: missiond_memory::conversations::Conversations,
    pub slots: Arc<missiond_slots::Slots>,
    pub executions: Arc<missiond_executions::Executions>,
    pub context: missiond_briefing::ContextPipeline,
    pub questions: Arc<missiond_attention::questions::Questions>,
    pub permissions: Arc<missiond_attention::permissions::Permissions>,
    pub notifications: Arc<missiond_attention::notifications::Notifications>,
    pub network: Arc<missiond_attention::network::Network>,
    pub autopilot: Arc<missiond_autopilot::Autopilot>,
    pub llm: Arc<missiond_llm::Llm>,
    pub toolhub: Arc<crate::toolhub::Toolhub>,
    pub http_access: crate::http_access::HttpAccess,
    pub settings: crate::settings::Settings,
    pub consumers: Mutex<Option<Consumers>>,
    pub http: Mutex<Option<std::net::SocketAddr>>,
    pub shutdown: Shutdown,
    pub supervisor: Supervisor,
    pub worktrees: missiond_autopilot::worktrees::Worktrees,
}

impl DaemonState {
    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.borrow())
    }

    /// Ends the process without closing, but with its last words in the log.
    pub fn end_process(&self, code: i32) -> ! {
        self.logging.finish();
        std::process::exit(code)
    }

    /// Slots whose programs run.
    #[must_use]
    pub fn slots_running(&self) -> u64 {
        self.slots.running()
    }

    /// Where HTTP is served.
    #[must_use]
    pub fn http_address(&self) -> Option<std::net::SocketAddr> {
        *self.http.lock()
    }
}

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
