//! Without a daemon: a hub of our own for one request, and everything it
//! started ended after it.

use std::future::Future;
use std::time::Duration;

use missiond_api::operations::tools::{
    McpPin, McpPromptGet, McpPromptList, McpServerControl, McpServerList, McpToolCall, McpToolList,
};
use missiond_api::{ApiError, Home, Operation};
use missiond_config::{Config, DaemonConfig};
use missiond_operations::toolhub;
use missiond_runtime::Supervisor;
use missiond_toolhub::Hub;

use crate::failure::Failure;

/// Nobody else bounds what is asked here; a server's own limit is shorter.
const LIMIT: Duration = Duration::from_secs(3600);

/// Listing asks every server, and one that hangs must not hold the rest.
const LISTING: Duration = Duration::from_secs(60);

pub(super) struct Direct {
    runtime: tokio::runtime::Runtime,
    hub: Hub,
}

impl Direct {
    pub(super) fn new(home: &Home) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            runtime,
            hub: standalone_hub(home)?,
        })
    }

    pub(super) fn ask<O: Request>(self, params: O::Params) -> Result<O::Result, Failure> {
        self.runtime.block_on(async {
            let result = O::direct(&self.hub, params).await;
            self.hub.stop().await;
            Ok(result?)
        })
    }
}

/// A hub of this process alone.
pub(super) fn standalone_hub(home: &Home) -> std::io::Result<Hub> {
    let health_check = DaemonConfig::default().health_check();
    let config = Config::load(&home.config_file()).map_err(std::io::Error::other)?;
    let supervisor = Supervisor::standalone();
    toolhub::hub(
        home,
        &supervisor,
        health_check,
        &config.sandbox,
        None,
        |_| (),
    )
}

/// An operation that can be carried out without a daemon.
pub(super) trait Request: Operation {
    fn direct(
        hub: &Hub,
        params: Self::Params,
    ) -> impl Future<Output = Result<Self::Result, ApiError>>;
}

macro_rules! requests {
    ($($operation:ident: |$hub:ident, $params:ident| $work:expr;)*) => {$(
        impl Request for $operation {
            async fn direct($hub: &Hub, $params: Self::Params) -> Result<Self::Result, ApiError> {
                $work
            }
        }
    )*};
}

requests! {
    McpServerList: |hub, params| toolhub::servers(hub, &params);
    McpServerControl: |hub, params| toolhub::control(hub, params, LISTING).await;
    McpToolList: |hub, params| toolhub::tools(hub, params, LISTING).await;
    McpToolCall: |hub, params| toolhub::tool_call(hub, params, LIMIT, None).await;
    McpPromptList: |hub, params| toolhub::prompts(hub, params, LISTING).await;
    McpPromptGet: |hub, params| toolhub::prompt_get(hub, params, LISTING).await;
    McpPin: |hub, params| toolhub::pin(hub, params, LISTING).await;
}
