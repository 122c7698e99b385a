//! What an agent needs behind a wall beside its work: its launch folder, this program, its
//! end of the daemon, what its engine keeps in the home, and its own way out.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use missiond_adapters::{HomeNeeds, find_program, home_needs};
use missiond_config::Config;
use missiond_core::{CliEngine, ExecutionId, SlotId};
use missiond_egress::{Caller, CallerKind, MachinePort, OpenError};
use missiond_os::programs::own_program;
use missiond_sandbox::{Nesting, Place, Profile};

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
    ) -> Result<Option<Place>, ExecutionError> {
        if profile == Profile::Open {
            return Ok(None);
        }
        let config = self.config.borrow().clone();
        let own = self.home.own_folders();
        let mut place = config.sandbox.place(profile, cwd, own);
        place.writable.push(launch_folder.to_owned());
        place.readable.extend(own_program().ok());
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
        self.egress.lead_out(&caller, ports, place)
    }
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
