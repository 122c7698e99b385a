//! What an agent needs behind a wall beside its work: its launch folder, this program, its
//! end of the daemon, what its engine keeps in the home, and its own way out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use missiond_adapters::{HomeNeeds, find_program, home_needs, script_of};
use missiond_config::Config;
use missiond_core::{CliEngine, ExecutionId, SlotId};
use missiond_egress::{Caller, CallerKind, MachinePort, OpenError};
use missiond_os::programs::own_program;
use missiond_sandbox::{Nesting, PROXY_PORT, Place, Profile};

use crate::Executions;
use crate::context::Context;
use crate::error::ExecutionError;

impl Context {
    /// The place of an agent; none where there is to be no wall.
    pub(crate) fn place(
        &self,
        profile: Profile,
        (execution, engine): (ExecutionId, &CliEngine),
        (cwd, launch_folder): (&Path, &Path),
        variables: &BTreeMap<String, String>,
        argv: &[String],
    ) -> Result<Option<Place>, ExecutionError> {
        if profile == Profile::Open {
            return Ok(None);
        }
        let config = self.config.borrow().clone();
        let own = self.home.own_folders();
        let mut place = config.sandbox.place(profile, cwd, own);
        place.writable.push(launch_folder.to_owned());
        place.readable.extend(own_program().ok());
        place.readable.extend(script_of(engine, argv));
        place.doors.push(self.home.socket());
        if profile == Profile::Guarded {
            // What speaks the protocol may be another program, which starts this one.
            let path = variables.get("PATH").map_or("", String::as_str);
            place.programs.extend(find_program(engine.name(), path));
            let needs = home_needs(engine, cwd, &|name| variables.get(name).map(PathBuf::from));
            make_folders(&needs)
                .map_err(|error| ExecutionError::Invalid(format!("no wall: {error}")))?;
            place.private.extend(needs.private);
            place.writable.extend(needs.kept);
            place.writable.extend(needs.writable);
            place.readable.extend(needs.readable);
            for folder in needs.layered {
                let there = std::fs::read_dir(&folder).into_iter().flatten().flatten();
                place.readable.extend(there.map(|entry| entry.path()));
                place.private.push(folder);
            }
            place.copied.extend(needs.copied);
            if let Some(added) = config.engines.added(engine) {
                place.readable.extend(added.readable());
                place.writable.extend(added.writable());
            }
            if needs.confines_itself {
                place.nesting = Nesting::Allowed;
            }
        }
        if config.sandbox.goes_out_by_daemon(profile) {
            self.lead_out((execution, engine), cwd, &config, &mut place)
                .map_err(|error| ExecutionError::Invalid(format!("no way out: {error}")))?;
        }
        Ok(Some(place))
    }

    /// Opens again what an agent goes out by that an earlier daemon started.
    pub(crate) fn reopen_way_out(
        &self,
        (execution, engine): (ExecutionId, &CliEngine),
        slot: SlotId,
    ) {
        let open = self.slots.find(&slot.to_string());
        let Some(record) = open.map(|open| open.record) else {
            return;
        };
        let config = self.config.borrow().clone();
        let profile = record.sandbox.unwrap_or(Profile::Open);
        if !config.sandbox.goes_out_by_daemon(profile) {
            return;
        }
        let mut place = Place::elsewhere(profile);
        let opened = self.lead_out((execution, engine), &record.cwd, &config, &mut place);
        if let Err(error) = opened {
            tracing::error!(%execution, %error, "way out of agent not opened again");
        }
    }

    fn lead_out(
        &self,
        (execution, engine): (ExecutionId, &CliEngine),
        cwd: &Path,
        config: &Config,
        place: &mut Place,
    ) -> Result<(), OpenError> {
        let caller = Caller {
            kind: CallerKind::Execution,
            name: execution.to_string(),
            task: None,
            folder: cwd.to_owned(),
        };
        // Its model, where that is reached through this daemon, which may not serve yet.
        let configured = Some(config.http.listen.port()).filter(|port| *port != 0);
        let model = self.llm.port().or(configured);
        let model: Vec<u16> = model
            .filter(|_| config.llm.is_for(engine))
            .into_iter()
            .collect();
        let ports = MachinePort::each(&config.sandbox.ports, "sandbox.ports");
        let ports = ports.chain(MachinePort::each(&model, "llm.engines"));
        // Of the daemon's own environment: what a caller names might be anything that
        // answers on this machine.
        let named = model_ports(std::env::vars_os());
        let ports = ports.chain(MachinePort::each(
            &named,
            "an address of a model in the environment",
        ));
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let settings = home_needs(engine, cwd, &variable).readable;
        let named = ports_in_settings(&settings);
        let ports = ports.chain(MachinePort::each(&named, "the settings of its engine"));
        self.egress.lead_out(&caller, ports, place)
    }
}

/// Ports of this machine's loopback that variables name as the address of a model, by the
/// names engines and their SDKs read.
fn model_ports(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<u16> {
    let is_address = |name: &str| {
        name == "OLLAMA_HOST" || name.ends_with("_BASE_URL") || name.ends_with("_API_BASE")
    };
    let texts = variables.filter_map(|(name, value)| {
        is_address(name.to_str()?).then_some(value.into_string().ok()?)
    });
    let ports: BTreeSet<u16> = texts.filter_map(|text| loopback_port(&text)).collect();
    ports
        .into_iter()
        .filter(|port| *port != PROXY_PORT)
        .collect()
}

/// The longest file of settings that is read for addresses.
const LARGEST_SETTINGS: u64 = 1 << 20;

/// Ports of this machine's loopback that a person named in the settings of an engine: its
/// model, or servers of tools. An agent behind a wall cannot change them.
fn ports_in_settings(files: &[PathBuf]) -> Vec<u16> {
    let mut ports = BTreeSet::new();
    for file in files {
        let is_read = std::fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.len() <= LARGEST_SETTINGS);
        if let Some(text) = is_read
            .then(|| std::fs::read_to_string(file).ok())
            .flatten()
        {
            ports.extend(addresses_in(&text).filter_map(loopback_port));
        }
    }
    ports
        .into_iter()
        .filter(|port| *port != PROXY_PORT)
        .collect()
}

/// What stands in a text as an address of the web.
fn addresses_in(text: &str) -> impl Iterator<Item = &str> {
    let begins = ["http://", "https://"].into_iter();
    let found = begins.flat_map(|scheme| text.match_indices(scheme));
    found.map(|(place, _)| {
        let rest = &text[place..];
        let end = rest.find(|c: char| c.is_whitespace() || "\"'`<>,;)}".contains(c));
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// The port of an address, with or without a scheme, if its host is this machine.
fn loopback_port(address: &str) -> Option<u16> {
    let (scheme, rest) = address
        .trim()
        .split_once("://")
        .unwrap_or(("http", address.trim()));
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let (name, port) = match host.strip_prefix("[::1]") {
        Some(rest) => ("localhost", rest.strip_prefix(':')),
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let is_here = name.eq_ignore_ascii_case("localhost")
        || name
            .parse()
            .is_ok_and(|address: Ipv4Addr| address.is_loopback());
    let port = match port {
        Some(port) => port.parse().ok()?,
        None if scheme == "https" => 443,
        None => 80,
    };
    (is_here && port != 0).then_some(port)
}

/// What is kept of a run must be there before it can be seen inside; so must settings in it,
/// or an agent would make some, and what of it is not kept.
fn make_folders(needs: &HomeNeeds) -> Result<(), String> {
    let is_kept = |path: &&PathBuf| needs.kept.iter().any(|kept| path.starts_with(kept));
    let within = needs.readable.iter().chain(&needs.private).filter(is_kept);
    for folder in needs.kept.iter().chain(within) {
        if !folder.exists() {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(folder);
            made.map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        }
    }
    Ok(())
}

impl Executions {
    /// Makes the way out of a running agent that of a place as well, for what it has
    /// started there.
    pub fn share_way_out(&self, slot: SlotId, place: &mut Place) -> Result<(), ExecutionError> {
        let context = &self.context;
        let (Some(run), Some(open)) = (context.run_in(slot), context.slots.find(&slot.to_string()))
        else {
            return Ok(());
        };
        let config = context.config.borrow().clone();
        if !config.sandbox.goes_out_by_daemon(place.profile) {
            return Ok(());
        }
        context
            .lead_out((run.id, &run.engine), &open.record.cwd, &config, place)
            .map_err(|error| ExecutionError::Invalid(format!("no way out: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_model_on_this_machine_is_read_from_its_address() {
        for (address, port) in [
            ("http://127.0.0.1:11434/v1", Some(11434)),
            ("http://localhost:8080", Some(8080)),
            ("http://LOCALHOST", Some(80)),
            ("https://localhost/v1", Some(443)),
            ("http://[::1]:4000/", Some(4000)),
            ("http://key:word@127.0.0.1:9/x@y", Some(9)),
            ("127.0.0.1:11434", Some(11434)),
            ("0.0.0.0:11434", None),
            ("https://api.example.com:8443", None),
            ("http://localhost.example.com:1", None),
            ("http://example.com/?x=@localhost:5", None),
            ("http://localhost:70000", None),
            ("http://localhost:0", None),
            ("", None),
        ] {
            assert_eq!(loopback_port(address), port, "{address}");
        }
    }

    #[test]
    fn only_variables_that_name_a_model_are_asked() {
        let variables = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:4100"),
            ("OPENAI_API_BASE", "http://127.0.0.1:4100/v1"),
            ("OLLAMA_HOST", "127.0.0.1:11434"),
            ("DATABASE_URL", "postgres://localhost:5432/x"),
            ("OTHER_BASE_URL", "http://127.0.0.1:3128"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(model_ports(variables.into_iter()), [4100, 11434]);
    }

    #[test]
    fn what_a_person_named_in_settings_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        let text = r#"{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4010"}, "docs":
            "see https://example.com:9/x or http://localhost:8931/mcp, and ws://localhost:7"}"#;
        std::fs::write(&file, text).unwrap();
        let files = [file, folder.path().join("none"), folder.path().to_owned()];
        assert_eq!(ports_in_settings(&files), [4010, 8931]);
    }
}
