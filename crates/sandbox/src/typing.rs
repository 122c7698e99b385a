//! A program may push keys into the terminal that controls it, as if somebody had pressed
//! them: an agent could answer its own dialog. Where the kernel lets it, a filter keeps it
//! from that, with a wall around it or without.

use std::path::Path;

/// Who keeps a program from typing into its own terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// The kernel, of itself.
    KeptByKernel,
    /// The filter of [`refuse_typing`]. Whoever has it gains no privileges any more: `sudo`
    /// does not work.
    KeptByFilter,
    /// Nobody: this system has no filters.
    Open,
}

/// How it is on this machine.
#[must_use]
pub fn typing() -> Typing {
    if !missiond_os::lineage::allows_typing_for_others() {
        Typing::KeptByKernel
    } else if Path::new("/proc/sys/kernel/seccomp/actions_avail").exists() {
        Typing::KeptByFilter
    } else {
        Typing::Open
    }
}

/// Takes it from this thread and everything it starts, where that is the filter's to do.
pub fn refuse_typing() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    if typing() == Typing::KeptByFilter {
        return crate::typing_filter::apply().map_err(|error| {
            format!("nothing keeps a program from typing into its own terminal: {error}")
        });
    }
    Ok(())
}
