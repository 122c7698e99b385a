//! Whether a process is still the one that was meant: numbers are used again,
//! a number with its start time is not.

use rustix::process::Pid;

/// Whether a process with this number runs; an uncollected dead one does not.
#[must_use]
pub fn process_exists(pid: u32) -> bool {
    if matches!(stat(pid).map(|stat| stat.state), Some('Z' | 'X')) {
        return false;
    }
    // A process of another user answers with a refusal, which proves it.
    pid_of(pid)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// When a living process began, in clock ticks since boot; nothing where the
/// system does not tell.
#[must_use]
pub fn process_start(pid: u32) -> Option<u64> {
    let stat = stat(pid)?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.start_ticks)
}

/// The recorded process still lives, and is not another with its number.
#[must_use]
pub fn is_same_process(pid: u32, start: Option<u64>) -> bool {
    match start {
        Some(start) => process_start(pid) == Some(start),
        None => process_exists(pid),
    }
}

pub(crate) struct Stat {
    pub(crate) state: char,
    pub(crate) parent: u32,
    start_ticks: u64,
}

pub(crate) fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything; only its closing parenthesis is sure.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    Some(Stat {
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        start_ticks: fields.nth(17)?.parse().ok()?,
    })
}

pub(crate) fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn another_process_with_the_same_number_is_not_the_same() {
        let own = std::process::id();
        let start = process_start(own);
        assert!(start.is_some() && is_same_process(own, start));
        assert!(!is_same_process(own, start.map(|ticks| ticks - 1)));
    }

    #[test]
    fn a_process_that_ended_but_was_not_collected_does_not_exist() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while process_exists(child.id()) {
            std::thread::yield_now();
        }
        assert_eq!(process_start(child.id()), None);
        child.wait().unwrap();
    }
}
