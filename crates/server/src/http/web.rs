//! What every HTTP request may need.

use std::sync::Arc;

use missiond_operations::Operations;
use missiond_operations::state::Daemon;

use super::caller::Limits;
use super::gate;
use super::sockets::SocketPermits;
use crate::commander::Changes;

/// What every request may need.
#[derive(Debug, Clone)]
pub(super) struct Web {
    pub(super) daemon: Daemon,
    pub(super) operations: Arc<Operations>,
    pub(super) changes: Arc<Changes>,
    pub(super) limits: Arc<Limits>,
    pub(super) gate: Arc<gate::Gate>,
    pub(super) socket_permits: Arc<SocketPermits>,
}
