//! The files of one launch on disk: written before the start, for the owner's
//! eyes alone, and removed when the run is over.

use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use missiond_os::files::{create_private, create_private_dir};

use crate::plan::{LaunchPlan, LinkedTo, PlannedFile, PlannedLink};

#[derive(Debug, thiserror::Error)]
pub enum EquipError {
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is not in the folder of this launch", .0.display())]
    Outside(PathBuf),
}

/// A private folder with the files of a launch. It stays when this value is
/// dropped, because the program may outlive whoever started it.
#[derive(Debug)]
pub struct Equipment {
    folder: PathBuf,
}

impl Equipment {
    /// Writes everything a plan names, or removes what was written.
    pub fn write(folder: &Path, plan: &LaunchPlan) -> Result<Self, EquipError> {
        let files = plan.files.iter().map(|file| &file.path);
        let mut places = files.chain(plan.links.iter().map(|link| &link.path));
        if let Some(outside) = places.find(|path| !is_inside(path, folder)) {
            return Err(EquipError::Outside(outside.clone()));
        }
        let equipment = Self::at(folder);
        let written = private_folder(folder)
            .and_then(|()| plan.files.iter().try_for_each(write_file))
            .and_then(|()| plan.links.iter().try_for_each(make_link));
        if written.is_err() {
            let _ = equipment.remove();
        }
        written.map(|()| equipment)
    }

    /// The equipment an earlier process wrote.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Removes the folder and all in it; nothing there is fine too.
    pub fn remove(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

fn is_inside(path: &Path, folder: &Path) -> bool {
    let within = path.strip_prefix(folder);
    within.is_ok_and(|rest| {
        let mut parts = rest.components();
        parts.all(|part| matches!(part, Component::Normal(_))) && rest != Path::new("")
    })
}

fn private_folder(path: &Path) -> Result<(), EquipError> {
    create_private_dir(path).map_err(|source| failed(path, source))
}

fn write_file(file: &PlannedFile) -> Result<(), EquipError> {
    private_folder(file.path.parent().unwrap_or(Path::new("/")))?;
    create_private(&file.path)
        .and_then(|mut open| open.write_all(file.contents.as_bytes()))
        .map_err(|source| failed(&file.path, source))
}

fn make_link(link: &PlannedLink) -> Result<(), EquipError> {
    private_folder(link.path.parent().unwrap_or(Path::new("/")))?;
    if link.to == LinkedTo::Folder {
        private_folder(&link.target)?;
    }
    symlink(&link.target, &link.path).map_err(|source| failed(&link.path, source))
}

fn failed(path: &Path, source: io::Error) -> EquipError {
    EquipError::Write {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::plan::{ConversationId, Instructions, SignalTransport};

    fn plan(folder: &Path, names: &[&str]) -> LaunchPlan {
        let file = |name: &&str| PlannedFile {
            path: folder.join(name),
            contents: "secret".to_owned(),
        };
        LaunchPlan {
            argv: vec!["agent".to_owned()],
            environment: BTreeMap::new(),
            files: names.iter().map(file).collect(),
            links: Vec::new(),
            conversation: ConversationId::ToldLater,
            instructions: Instructions::Absent,
            signals: SignalTransport::StdoutMarker,
            control: None,
        }
    }

    #[test]
    fn files_are_private_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("run/one");
        let kept = place.path().join("kept");
        std::fs::write(&kept, "theirs").unwrap();
        let mut plan = plan(&folder, &["home/mcp.json"]);
        plan.links.push(PlannedLink {
            path: folder.join("home/theirs"),
            target: kept.clone(),
            to: LinkedTo::AnythingOrNothing,
        });
        let missing = place.path().join("missing/folder");
        plan.links.push(PlannedLink {
            path: folder.join("home/folder"),
            target: missing.clone(),
            to: LinkedTo::Folder,
        });
        let equipment = Equipment::write(&folder, &plan).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("home")), 0o700);
        assert_eq!(mode(&folder.join("home/mcp.json")), 0o600);
        let linked = std::fs::read_to_string(folder.join("home/theirs")).unwrap();
        assert_eq!(linked, "theirs");
        std::fs::create_dir(folder.join("home/folder/within")).unwrap();
        assert!(missing.join("within").is_dir());
        equipment.remove().unwrap();
        assert!(!folder.exists());
        assert!(kept.exists(), "a link is removed, not what it names");
        equipment.remove().unwrap();
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("one");
        let error = Equipment::write(&folder, &plan(&folder, &["a", "a"])).unwrap_err();
        assert!(error.to_string().contains("cannot write"), "{error}");
        assert!(!folder.exists());
    }

    #[test]
    fn a_file_elsewhere_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("one");
        for name in ["../a", "sub/../../a", "/etc/a", ""] {
            let refused = Equipment::write(&folder, &plan(&folder, &[name]));
            assert!(matches!(refused, Err(EquipError::Outside(_))), "{name}");
        }
        assert!(!folder.exists());
    }
}
