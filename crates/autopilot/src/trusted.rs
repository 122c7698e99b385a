//! The repositories whose own git programs are run, as the configuration names them.

use std::sync::Arc;

use missiond_config::Config;
use missiond_os::expand_home;
use missiond_workspace::trust_repositories;
use tokio::sync::watch;

/// Hands the list on, now and whenever it changes.
pub(crate) async fn follow(mut config: watch::Receiver<Arc<Config>>) {
    loop {
        let named = config.borrow_and_update().autopilot.clone();
        let named = named.trusted_repositories.iter();
        trust_repositories(named.map(|path| expand_home(path.as_ref())).collect());
        if config.changed().await.is_err() {
            return;
        }
    }
}
