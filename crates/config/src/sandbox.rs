//! The walls around what runs for an agent.

use std::path::{Path, PathBuf};

use missiond_os::expand_home;
use missiond_sandbox::{Network, PROXY_PORT, Place, Profile};
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Text: Profile, SandboxNetwork; }

/// Which network there is behind a wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    Host,
    None,
    Proxy,
}

section! {
    pub struct SandboxConfig: "sandbox." {
        /// The wall around the checks of tasks: `open` is none, `guarded` shows the folder
        /// of the work, toolchains and caches, `sealed` takes the network away too.
        live checks: Profile = Profile::Guarded, one of ["open", "guarded", "sealed"];
        /// The wall around the commands that set up a place to work. What they leave
        /// running ends with them unless this is `open`.
        live setup: Profile = Profile::Open, one of ["open", "guarded", "sealed"];
        /// The wall around the agents that the autopilot starts.
        live agents: Profile = Profile::Open, one of ["open", "guarded", "sealed"];
        /// The wall around the agents that people and programs start. What an agent starts
        /// is behind a wall no thinner than its own.
        live runs: Profile = Profile::Open, one of ["open", "guarded", "sealed"];
        /// The wall around MCP servers whose entry in the list does not say.
        restart tool_servers: Profile = Profile::Open, one of ["open", "guarded", "sealed"];
        /// Which network there is behind a wall that is not sealed: that of the machine,
        /// none but a loopback of its own, or that with a proxy on it, which lets through
        /// what the policy does.
        live network: SandboxNetwork = SandboxNetwork::Proxy, one of ["host", "none", "proxy"];
        /// The Unix socket of another HTTP proxy that takes the place of the daemon's.
        live proxy: String = String::new();
        /// Ports of this machine's loopback that answer behind walls whose network is the
        /// daemon's proxy too, for example that of a database.
        live ports: Vec<u16> = Vec::new();
        /// Files and folders that may be read behind every wall beside what is seen anyway.
        live read: Vec<String> = Vec::new();
        /// Files and folders that may be changed behind every wall, for example a cache.
        live write: Vec<String> = Vec::new();
        /// Megabytes of memory for all processes behind one wall, where the system can
        /// count them together; else for each.
        live memory_mb: u64 = 8192, in 64..=4_194_304;
        /// Processes behind one wall.
        live processes: u64 = 4096, in 16..=1_000_000;
    }
}

impl SandboxConfig {
    /// A place behind such a wall, which never shows these folders.
    pub fn place(&self, profile: Profile, folder: &Path, hidden: Vec<PathBuf>) -> Place {
        let mut place = Place::new(profile, folder);
        place.network = match self.network {
            SandboxNetwork::Host => Network::Host,
            SandboxNetwork::Proxy if !self.proxy.is_empty() => {
                Network::Proxy(expand_home(Path::new(&self.proxy)))
            }
            // Who starts the program opens the daemon's proxy for it.
            SandboxNetwork::None | SandboxNetwork::Proxy => Network::None,
        };
        let named = |paths: &[String]| -> Vec<PathBuf> {
            let named = paths.iter().map(|path| expand_home(Path::new(path)));
            named.collect()
        };
        place.readable = named(&self.read);
        place.writable = named(&self.write);
        place.limits.memory_mb = self.memory_mb;
        place.limits.processes = self.processes;
        place.hidden = hidden;
        place
    }

    /// Whether what runs behind such a wall goes out by the daemon's own proxy.
    pub fn goes_out_by_daemon(&self, profile: Profile) -> bool {
        profile == Profile::Guarded
            && self.network == SandboxNetwork::Proxy
            && self.proxy.is_empty()
    }

    /// The wall around checks: what an agent can have run must not be a way out of its own.
    pub fn around_checks(&self) -> Profile {
        self.checks.max(self.agents)
    }

    /// The same for setup and teardown.
    pub fn around_setup(&self) -> Profile {
        self.setup.max(self.agents)
    }

    /// What is wrong with the paths among the values.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        for (port, what) in [
            (0, "no port"),
            (PROXY_PORT, "where the proxy answers behind a wall"),
        ] {
            if self.ports.contains(&port) {
                let message = format!("{port} is {what}");
                return Err(InvalidValue::new("sandbox.ports", message));
            }
        }
        let proxy: Vec<_> = Some(&self.proxy)
            .filter(|path| !path.is_empty())
            .cloned()
            .into_iter()
            .collect();
        for (key, paths) in [
            ("sandbox.read", &self.read),
            ("sandbox.write", &self.write),
            ("sandbox.proxy", &proxy),
        ] {
            let relative = |path: &&String| !path.starts_with('/') && !path.starts_with("~/");
            if let Some(path) = paths.iter().find(relative) {
                let message = format!("`{path}` is relative: begin it with / or ~/");
                return Err(InvalidValue::new(key, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_can_have_run_is_behind_a_wall_no_thinner_than_its_own() {
        let mut config = SandboxConfig::default();
        assert_eq!(config.around_checks(), Profile::Guarded);
        assert_eq!(config.around_setup(), Profile::Open);
        config.agents = Profile::Sealed;
        assert_eq!(config.around_checks(), Profile::Sealed);
        assert_eq!(config.around_setup(), Profile::Sealed);
    }

    #[test]
    fn the_network_is_the_daemons_proxy_unless_another_is_named() {
        let mut config = SandboxConfig::default();
        let network = |config: &SandboxConfig| {
            let place = config.place(Profile::Guarded, Path::new("/work"), Vec::new());
            place.network
        };
        assert!(config.goes_out_by_daemon(Profile::Guarded));
        assert!(!config.goes_out_by_daemon(Profile::Sealed));
        // Nobody has opened it yet: until then there is none.
        assert_eq!(network(&config), Network::None);
        config.proxy = "run/proxy.sock".to_owned();
        assert!(config.check().is_err());
        config.proxy = "/run/proxy.sock".to_owned();
        assert!(config.check().is_ok());
        assert!(!config.goes_out_by_daemon(Profile::Guarded));
        assert_eq!(network(&config), Network::Proxy("/run/proxy.sock".into()));
    }

    #[test]
    fn a_port_that_cannot_be_let_in_is_refused() {
        for (port, why) in [(0, "no port"), (3128, "where the proxy answers")] {
            let config = SandboxConfig {
                ports: vec![5432, port],
                ..SandboxConfig::default()
            };
            let refused = config.check().unwrap_err().message;
            assert!(refused.contains(why), "{refused}");
        }
    }
}
