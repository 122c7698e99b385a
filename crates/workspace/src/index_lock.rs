//! Locks that a git left behind when it was killed.
//!
//! Git itself never removes one, because it cannot know whether its owner lives.
//! Here it is known: a lock that no process has open, in a checkout where no git
//! runs, belongs to nobody.

use std::path::{Path, PathBuf};

/// Removes the lock of an index if it is provably nobody's. Says whether the way
/// is free; where the system does not show its processes it is not.
pub(crate) fn clear(admin: &Path, checkout: &Path) -> bool {
    let lock = admin.join("index.lock");
    if !lock.exists() {
        return true;
    }
    match users(&lock, checkout) {
        Some(0) => {
            tracing::info!(lock = %lock.display(), "stale git index lock removed");
            std::fs::remove_file(&lock).is_ok()
        }
        _ => false,
    }
}

/// How many processes have the lock open or are a git in this checkout; nothing
/// when that cannot be told.
fn users(lock: &Path, checkout: &Path) -> Option<usize> {
    let own = std::process::id();
    let processes = std::fs::read_dir("/proc").ok()?;
    let uses = |process: &PathBuf| has_open(process, lock) || is_git_in(process, checkout);
    let pids = processes.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (pid != own).then(|| entry.path())
    });
    Some(pids.filter(uses).count())
}

fn has_open(process: &Path, file: &Path) -> bool {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten();
    let mut open = open.flatten();
    open.any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == file))
}

fn is_git_in(process: &Path, checkout: &Path) -> bool {
    let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
    let dead = std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.starts_with(" Z"))
    });
    let inside = || {
        let folder = std::fs::read_link(process.join("cwd"));
        folder.is_ok_and(|folder| folder.starts_with(checkout))
    };
    name.starts_with("git") && !dead && inside()
}
