//! The names of slots, worktrees and branches that attempts are given.

use std::path::{Path, PathBuf};

use missiond_config::SlotConfig;
use missiond_core::{Attempt, BoardTask, CliEngine, SlotName};
use missiond_os::hex;
use sha2::{Digest, Sha256};

/// The end of an attempt's id: two databases may both have a T-1.
fn mark(attempt: &Attempt) -> String {
    let id = attempt.id.to_string();
    id[id.len() - 5..].to_owned()
}

/// What the attempt is called where names must differ.
fn name(task: &BoardTask, attempt: &Attempt) -> String {
    format!("{}-{}-{}", task.number, attempt.number, mark(attempt))
}

pub(super) fn branch(task: &BoardTask, attempt: &Attempt) -> String {
    format!("mission/{}", name(task, attempt))
}

/// Below the data folder, by repository, so that no two are ever the same.
pub(super) fn worktree(
    data: &Path,
    repository: &Path,
    task: &BoardTask,
    attempt: &Attempt,
) -> PathBuf {
    let digest = Sha256::digest(repository.as_os_str().as_encoded_bytes());
    let hash = hex::encode(&digest[..8]);
    data.join("worktrees").join(hash).join(name(task, attempt))
}

/// Where an agent works that needs no repository.
pub(super) fn folder(data: &Path, task: &BoardTask) -> PathBuf {
    data.join("tasks").join(task.number.to_string())
}

/// The slot of the configuration that is free for this engine, or a name of the
/// attempt's own.
pub(super) fn slot(
    configured: &[SlotConfig],
    engine: &CliEngine,
    taken: &dyn Fn(&str) -> bool,
    task: &BoardTask,
    attempt: &Attempt,
) -> SlotName {
    let fits = |slot: &&SlotConfig| slot.engine == *engine && !taken(slot.name.as_str());
    let fixed = configured.iter().find(fits).map(|slot| slot.name.clone());
    fixed.unwrap_or_else(|| SlotName::of_attempt(task.number, attempt.number))
}
