//! Whose a process is. Everything that comes of a slot's program is below its host, which
//! is subreaper, or in the slot's control group where there is one.
//!
//! A host is remembered for as long as this daemon runs, also when its slot was closed:
//! what its program left behind is still of that slot.

use std::collections::HashMap;

use missiond_core::SlotId;
use missiond_os::lineage::Lineage;
use missiond_os::processes::Process;
use missiond_pty::host::HostRecord;

#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// By number; the start tells it from others that have had that number.
    by_pid: HashMap<u32, Host>,
    /// By the last part of their control groups.
    by_group: HashMap<String, SlotId>,
}

#[derive(Debug, Clone, Copy)]
struct Host {
    slot: SlotId,
    start: Option<u64>,
}

impl Hosts {
    pub(crate) fn add(&mut self, record: &HostRecord) {
        let host = Host {
            slot: record.slot,
            start: record.host_start_ticks,
        };
        self.by_pid.insert(record.host_pid, host);
        let group = record.cgroup.as_deref().and_then(|path| path.file_name());
        if let Some(group) = group.and_then(|name| name.to_str()) {
            self.by_group.insert(group.to_owned(), record.slot);
        }
    }

    pub(crate) fn above(&self, lineage: &Lineage) -> Option<SlotId> {
        let by_host = lineage.processes.iter().find_map(|one| self.hosted_by(one));
        by_host.or_else(|| {
            let mut parts = lineage.group.as_deref()?.rsplit('/');
            parts.find_map(|part| self.by_group.get(part).copied())
        })
    }

    /// The same by the records of slots that are not known yet. Of one that is known
    /// nothing is believed: a record is a file, and anybody of this user writes files.
    pub(crate) fn starting_above(
        &self,
        lineage: &Lineage,
        records: &[HostRecord],
    ) -> Option<SlotId> {
        let is_known = |slot| self.by_pid.values().any(|host| host.slot == slot);
        let mut records = records.iter().filter(|record| !is_known(record.slot));
        let is_above = |record: &&HostRecord| {
            lineage.processes.iter().any(|one| {
                one.pid == record.host_pid && record.host_start_ticks == Some(one.start_ticks)
            })
        };
        records.find(is_above).map(|record| record.slot)
    }

    /// The slot of a host by its number and start.
    pub(crate) fn slot_of(&self, pid: u32, start: u64) -> Option<SlotId> {
        let host = self.by_pid.get(&pid)?;
        let is_it = host.start.is_none_or(|known| known == start);
        is_it.then_some(host.slot)
    }

    fn hosted_by(&self, process: &Process) -> Option<SlotId> {
        self.slot_of(process.pid, process.start_ticks)
    }
}

#[cfg(test)]
mod tests {
    use missiond_os::lineage::Top;

    use super::*;

    fn record(slot: SlotId, pid: u32, start: u64, group: Option<&str>) -> HostRecord {
        let record = serde_json::json!({
            "slot": slot, "name": "work", "engine": "generic", "argv": ["sh"], "cwd": "/",
            "recording": "/r", "host_pid": pid, "host_start_ticks": start, "program_pid": 9,
            "cgroup": group, "started_at_us": 0, "exited": null,
        });
        serde_json::from_value(record).unwrap()
    }

    fn lineage(group: Option<&str>) -> Lineage {
        let own = Lineage::of(std::process::id()).unwrap();
        Lineage {
            group: group.map(str::to_owned),
            top: Top::First,
            ..own
        }
    }

    #[test]
    fn a_process_is_of_the_slot_whose_host_is_above_it_or_whose_group_it_is_in() {
        let (one, other) = (SlotId::generate(), SlotId::generate());
        let own = lineage(None).processes[0];
        let mut hosts = Hosts::default();
        assert_eq!(hosts.above(&lineage(None)), None);
        // Another process had that number.
        hosts.add(&record(one, own.pid, own.start_ticks + 1, None));
        assert_eq!(hosts.above(&lineage(None)), None);
        hosts.add(&record(one, own.pid, own.start_ticks, None));
        assert_eq!(hosts.above(&lineage(None)), Some(one));
        let group = format!("/sys/fs/cgroup/missiond-{other}");
        hosts.add(&record(other, 4_000_000_000, 1, Some(&group)));
        let inside = lineage(Some(&format!("/user.slice/missiond-{other}/deeper")));
        assert_eq!(hosts.above(&inside), Some(one), "the host comes first");
        let mut orphan = inside;
        orphan.processes.clear();
        assert_eq!(hosts.above(&orphan), Some(other));
    }

    #[test]
    fn a_record_that_somebody_wrote_moves_nobody_into_a_known_slot() {
        let (known, starting) = (SlotId::generate(), SlotId::generate());
        let own = lineage(None).processes[0];
        let mut hosts = Hosts::default();
        hosts.add(&record(known, 4_000_000_000, 1, None));
        let forged = record(known, own.pid, own.start_ticks, None);
        let asks = lineage(None);
        assert_eq!(hosts.starting_above(&asks, &[forged]), None);
        let real = record(starting, own.pid, own.start_ticks, None);
        assert_eq!(hosts.starting_above(&asks, &[real]), Some(starting));
    }
}
