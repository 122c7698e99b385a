//! What an agent needs behind a wall beside its work: its launch folder, this program, its
//! end of the daemon, and what its engine keeps in the home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_adapters::home_needs;
use missiond_config::SandboxConfig;
use missiond_core::CliEngine;
use missiond_os::programs::own_program;
use missiond_sandbox::{Nesting, Place, Profile};

use crate::context::Context;

impl Context {
    /// The place of an agent; none where there is to be no wall.
    pub(crate) fn place(
        &self,
        profile: Profile,
        engine: &CliEngine,
        (cwd, launch_folder): (&Path, &Path),
        variables: &BTreeMap<String, String>,
    ) -> Option<Place> {
        if profile == Profile::Open {
            return None;
        }
        let config: SandboxConfig = self.config.borrow().sandbox.clone();
        let mut place = config.place(profile, cwd, self.home.own_folders());
        place.writable.push(launch_folder.to_owned());
        place.readable.extend(own_program().ok());
        place.doors.push(self.home.socket());
        if profile == Profile::Guarded {
            let needs = home_needs(engine, &|name| variables.get(name).map(PathBuf::from));
            place.readable.extend(needs.readable);
            place.writable.extend(needs.writable);
            if needs.confines_itself {
                place.nesting = Nesting::Allowed;
            }
        }
        Some(place)
    }
}
