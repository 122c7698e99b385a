//! From what a dialog shows to a request the rules can decide on.

use std::path::{Path, PathBuf};

use missiond_core::{BoardTaskId, ExecutionId, PermissionAsked};
use missiond_guard::permissions::{Argument, PathBase, Request, Shown};
use missiond_runtime::blocking;
use missiond_slots::OpenSlot;

/// What the paths of an agent that works in this folder are relative to.
pub fn path_base(folder: &Path) -> PathBase {
    PathBase {
        folder: folder.display().to_string(),
        home: std::env::var("HOME").ok(),
    }
}

/// The request of a dialog in a slot. What could not be read is left out.
pub(super) async fn request(
    open: &OpenSlot,
    asked: Option<&PermissionAsked>,
    runs: Option<(ExecutionId, Option<BoardTaskId>)>,
) -> Request {
    let asked = asked.cloned().unwrap_or_default();
    let base = path_base(&open.record.cwd);
    let paths = match &asked.path {
        Some(path) => every_name(base.absolute(path)).await,
        None => Vec::new(),
    };
    let command = asked.command.map(Argument::Command);
    Request {
        tool: asked.tool,
        server: asked.server,
        argument: command.or(asked.argument.map(Argument::Text)),
        paths,
        shown: if asked.shown_in_part {
            Shown::InPart
        } else {
            Shown::Whole
        },
        base,
        slot: Some(open.slot.id),
        slot_name: Some(open.slot.name.clone()),
        execution: runs.map(|(execution, _)| execution),
        task: runs.and_then(|(_, task)| task),
        ..Request::from_engine(open.slot.engine.clone())
    }
}

/// The same of several.
pub(super) async fn every_name_of(paths: Vec<String>) -> Vec<String> {
    const MOST: usize = 64;
    let mut names: Vec<String> = Vec::new();
    for (index, path) in paths.into_iter().enumerate() {
        // More than anybody writes: what its links lead to is not looked up any more.
        let of_path = if index < MOST {
            every_name(path).await
        } else {
            vec![path]
        };
        names.extend(
            of_path
                .into_iter()
                .filter(|name| !names.contains(name))
                .collect::<Vec<_>>(),
        );
    }
    names
}

/// A path as it is written, and as its links resolve: of one that does not exist
/// yet, those of the nearest folder that does.
async fn every_name(path: String) -> Vec<String> {
    let written = PathBuf::from(&path);
    let real = blocking(move || resolved(&written)).await;
    let mut names = vec![path];
    if let Some(real) = real
        && !names.contains(&real)
    {
        names.push(real);
    }
    names
}

fn resolved(path: &Path) -> Option<String> {
    for ancestor in path.ancestors() {
        // A link that leads nowhere exists, but cannot be resolved: whoever
        // writes to it writes where it leads.
        if let Ok(target) = std::fs::read_link(ancestor) {
            let target = match ancestor.parent() {
                Some(parent) => parent.join(target),
                None => target,
            };
            let rest = path.strip_prefix(ancestor).ok()?;
            let base = PathBase::default();
            let whole = base.absolute(&target.join(rest).display().to_string());
            return match std::fs::canonicalize(&whole) {
                Ok(real) => Some(real.display().to_string()),
                Err(_) => Some(whole),
            };
        }
        if let Ok(real) = std::fs::canonicalize(ancestor) {
            let rest = path.strip_prefix(ancestor).ok()?;
            return Some(real.join(rest).display().to_string());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_also_where_its_target_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("secret")).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("open")).unwrap();
        std::os::unix::fs::symlink("secret/new", root.join("new")).unwrap();
        for (path, expected) in [
            ("open/key", "secret/key"),
            ("open/deep/key", "secret/deep/key"),
            ("new", "secret/new"),
            ("plain/a", "plain/a"),
        ] {
            let found = resolved(&root.join(path)).unwrap();
            assert_eq!(found, root.join(expected).display().to_string(), "{path}");
        }
    }
}
