//! A mark that a process hands down to everything it starts and that only the root user can
//! take off: a limit on file locks, which no kernel since Linux 2.6 enforces. A limit can be
//! lowered by everybody and raised by nobody but root; it survives everything by which a
//! process leaves its parent, also the end of that parent.
//!
//! What is compared is the limit of the process that looks: one that is marked itself, because
//! it runs where another has marked, sees those that are marked once more.

use std::io;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

/// Where nobody has set a limit before: far above every number of locks.
#[cfg(target_os = "linux")]
const HIGHEST: u64 = 1 << 40;

/// The limit of this process before it was marked.
#[cfg(target_os = "linux")]
static UNMARKED: OnceLock<u64> = OnceLock::new();

/// Marks this process and all that it starts from now on.
#[cfg(target_os = "linux")]
pub fn put_on() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Some(unmarked().min(HIGHEST).saturating_sub(1));
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    Ok(setrlimit(Resource::Locks, limit)?)
}

/// There is no such limit elsewhere, and nothing is marked.
#[cfg(not(target_os = "linux"))]
pub fn put_on() -> io::Result<()> {
    Ok(())
}

/// Whether a process carries a mark that this one does not.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_on(pid: u32) -> bool {
    let Ok(limits) = std::fs::read_to_string(format!("/proc/{pid}/limits")) else {
        return false;
    };
    // `Max file locks            unlimited            unlimited            locks`
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max file locks"));
    let limit = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
    limit.is_some_and(|limit: u64| limit < unmarked())
}

#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_on(_: u32) -> bool {
    false
}

/// Whether this process has a limit on file locks, whoever set it.
#[cfg(target_os = "linux")]
#[must_use]
pub fn own_is_set() -> bool {
    unmarked() != u64::MAX
}

#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn own_is_set() -> bool {
    false
}

/// No limit is the highest.
#[cfg(target_os = "linux")]
fn unmarked() -> u64 {
    use rustix::process::{Resource, getrlimit};
    *UNMARKED.get_or_init(|| getrlimit(Resource::Locks).maximum.unwrap_or(u64::MAX))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_lower_limit_is_a_mark_and_stays_on_what_is_left_behind() {
        let start = |limit: &str| {
            let script = format!("ulimit {limit}; (setsid sleep 60 > /dev/null 2>&1 & echo $!)");
            let said = Command::new("bash").args(["-c", &script]).output().unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            said.trim().parse::<u32>().unwrap()
        };
        let (marked, plain) = (start("-x 1000"), start("-c 0"));
        assert!(is_on(marked));
        assert!(!is_on(plain));
        assert!(!is_on(std::process::id()));
        crate::processes::signal_each(&[marked, plain], crate::processes::Signal::KILL);
    }
}
