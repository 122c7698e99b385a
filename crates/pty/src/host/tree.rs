//! The processes below a host: who they are, and how they are ended.
//!
//! The host is subreaper, so a process that forks away from the program becomes
//! a child of the host instead of leaving its sight. Where the system has no
//! subreaper, only the program's process group is known.

use rustix::process::{Pid, Signal};

/// Whether a process with this number runs; an uncollected dead one does not.
pub(super) fn exists(pid: u32) -> bool {
    if matches!(stat(pid).map(|stat| stat.state), Some('Z' | 'X')) {
        return false;
    }
    pid_of(pid)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// When a living process began, in clock ticks since boot.
pub(super) fn start_ticks(pid: u32) -> Option<u64> {
    let stat = stat(pid)?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.start_ticks)
}

struct Stat {
    state: char,
    parent: u32,
    start_ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything; only its closing parenthesis is sure.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    Some(Stat {
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        start_ticks: fields.nth(17)?.parse().ok()?,
    })
}

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

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
