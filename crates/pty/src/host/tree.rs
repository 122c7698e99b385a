//! The processes below a host.
//!
//! The host is subreaper, so a process that forks away from the program becomes
//! a child of the host instead of leaving its sight. Where the system has no
//! subreaper, only the program's process group is known.

use missiond_os::processes::ProcessTable;

/// Living descendants of this process; collects the dead ones that became its
/// children, except `program`, whose status someone waits for.
pub(super) fn descendants(program: u32) -> Vec<u32> {
    let table = ProcessTable::read();
    table.reap_orphans(Some(program));
    table.descendants_of(std::process::id())
}
