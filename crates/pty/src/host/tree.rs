//! The processes below a host: who they are, and how they are ended.
//!
//! The host is subreaper, so a process that forks away from the program becomes
//! a child of the host instead of leaving its sight. Where the system has no
//! subreaper, only the program's process group is known.

use rustix::process::Signal;

use crate::identity::{pid_of, stat};

/// Living descendants of this process; collects the dead ones that became its
/// children, except `program`, whose status someone waits for.
pub(super) fn descendants(program: u32) -> Vec<u32> {
    let own = std::process::id();
    let mut living: Vec<(u32, u32)> = Vec::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in processes {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Some(stat) = stat(pid) else { continue };
        if matches!(stat.state, 'Z' | 'X') {
            if stat.parent == own && pid != program {
                collect(pid);
            }
            continue;
        }
        living.push((pid, stat.parent));
    }
    let mut found = vec![own];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        found.extend(
            living
                .iter()
                .filter(|(_, p)| *p == parent)
                .map(|(pid, _)| *pid),
        );
    }
    found.split_off(1)
}

/// Sends a signal to the program's group and to every descendant.
pub(super) fn signal(program: u32, descendants: &[u32], signal: Signal) {
    if let Some(group) = pid_of(program) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for pid in descendants.iter().copied().filter_map(pid_of) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn collect(pid: u32) {
    if let Some(pid) = pid_of(pid) {
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
    }
}
