//! The manifests in force: those shipped, and the person's own put over them.
//!
//! The person's files may change while slots run. A changed file is read again
//! and every slot it concerns goes on with it; a broken one leaves in force what
//! it said before. Whether a file has changed is told by its metadata, so asking
//! often costs nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use missiond_pty::{load_catalogue, load_manifest, manifest_files};
use missiond_semantic::{Catalogue, Manifest};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Manifests {
    folder: PathBuf,
    loaded: Mutex<LoadedManifests>,
    /// How often the catalogue has changed.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct LoadedManifests {
    files: BTreeMap<PathBuf, OwnFile>,
    /// Made when the first slot needs it: reading the shipped ones takes longer
    /// than all the rest of a start.
    shipped: Option<Catalogue>,
}

#[derive(Debug)]
struct OwnFile {
    stamp: Option<Stamp>,
    /// What it said when it was last right.
    manifest: Option<Arc<Manifest>>,
    /// Why it is not in force as it is now.
    refused: Option<String>,
}

/// Differs when a file was written or replaced.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What reading the folder again has brought.
#[derive(Debug, Default)]
pub struct Refreshed {
    /// Files that are in force as they are now, or gone.
    pub changed: Vec<String>,
    /// Files that were found wrong, each with what is wrong.
    pub refused: Vec<(String, String)>,
}

impl Manifests {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            loaded: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Reads what has changed in the folder since the last time.
    pub(super) fn refresh(&self) -> Refreshed {
        let mut outcome = Refreshed::default();
        let files = match manifest_files(&self.folder) {
            Ok(files) => files,
            Err(_) if !self.folder.exists() => Vec::new(),
            Err(error) => {
                outcome
                    .refused
                    .push((shown(&self.folder), error.to_string()));
                return outcome;
            }
        };
        let mut loaded = self.loaded();
        loaded.files.retain(|path, _| {
            let stays = files.contains(path);
            if !stays {
                outcome.changed.push(shown(path));
            }
            stays
        });
        for path in files {
            let stamp = Stamp::of(&path);
            let file = loaded.files.entry(path.clone()).or_insert(OwnFile {
                stamp: None,
                manifest: None,
                refused: None,
            });
            if stamp.is_some() && file.stamp == stamp {
                continue;
            }
            file.stamp = stamp;
            match load_manifest(&path) {
                Ok(manifest) => {
                    file.manifest = Some(Arc::new(manifest));
                    file.refused = None;
                    outcome.changed.push(shown(&path));
                }
                Err(error) => {
                    file.refused = Some(error.to_string());
                    outcome.refused.push((shown(&path), error.to_string()));
                }
            }
        }
        drop(loaded);
        if !outcome.changed.is_empty() {
            self.changes.send_modify(|changes| *changes += 1);
        }
        outcome
    }

    /// Why files are not in force as they are now, also those that were told of
    /// before.
    pub(super) fn wrong(&self) -> Vec<String> {
        let loaded = self.loaded();
        let files = loaded.files.values();
        files.filter_map(|file| file.refused.clone()).collect()
    }

    /// Tells each time manifests have changed.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn get(&self, engine: &str) -> Option<Arc<Manifest>> {
        self.own(engine).or_else(|| {
            let mut loaded = self.loaded();
            loaded.shipped().get(engine).cloned()
        })
    }

    /// The engine's manifest, or the generic one.
    pub(super) fn for_engine(&self, engine: &str) -> Option<Arc<Manifest>> {
        self.get(engine)
            .or_else(|| self.get(missiond_semantic::GENERIC))
    }

    /// The last file of this engine counts, as everywhere.
    fn own(&self, engine: &str) -> Option<Arc<Manifest>> {
        let loaded = self.loaded();
        let manifests = loaded
            .files
            .values()
            .filter_map(|file| file.manifest.as_ref());
        manifests
            .rev()
            .find(|manifest| manifest.engine() == engine)
            .cloned()
    }

    fn loaded(&self) -> MutexGuard<'_, LoadedManifests> {
        self.loaded.lock()
    }
}

impl LoadedManifests {
    fn shipped(&mut self) -> &Catalogue {
        self.shipped.get_or_insert_with(|| {
            load_catalogue(None).unwrap_or_else(|error| {
                tracing::error!(%error, "shipped manifests not loaded");
                Catalogue::default()
            })
        })
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("manifests/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(reason: &str) -> String {
        format!(
            "manifest: 1\nengine: toy\nrules:\n  - {{id: all, state: idle, priority: 1, \
             confidence: 0.5, reason: {reason}, when: {{in: screen, exists: true}}}}\n"
        )
    }

    #[test]
    fn a_broken_file_leaves_in_force_what_it_said_before() {
        let folder = tempfile::tempdir().unwrap();
        let manifests = Manifests::new(folder.path().join("manifests"));
        assert!(manifests.refresh().changed.is_empty(), "no folder yet");
        assert!(manifests.get("toy").is_none());

        let file = folder.path().join("manifests/toy.yaml");
        std::fs::create_dir(folder.path().join("manifests")).unwrap();
        std::fs::write(&file, manifest("one")).unwrap();
        let mut changes = manifests.changes();
        assert_eq!(manifests.refresh().changed, ["manifests/toy.yaml"]);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        let first = manifests.get("toy").unwrap();
        assert!(
            manifests.refresh().changed.is_empty(),
            "nothing was written"
        );

        std::fs::write(&file, "manifest: 1\nengine: toy\nruls: []\n").unwrap();
        let outcome = manifests.refresh();
        let (file_name, said) = &outcome.refused[0];
        assert_eq!(file_name, "manifests/toy.yaml");
        assert!(
            said.contains("toy.yaml") && said.contains("line 3"),
            "{said}"
        );
        assert!(Arc::ptr_eq(&first, &manifests.get("toy").unwrap()));
        assert!(manifests.refresh().refused.is_empty(), "it is told once");
        assert_eq!(manifests.wrong().len(), 1, "and stays wrong");
        assert!(!changes.has_changed().unwrap());

        std::fs::write(&file, manifest("two")).unwrap();
        assert_eq!(manifests.refresh().changed, ["manifests/toy.yaml"]);
        assert!(!Arc::ptr_eq(&first, &manifests.get("toy").unwrap()));
        assert!(manifests.wrong().is_empty());

        std::fs::remove_file(&file).unwrap();
        assert_eq!(manifests.refresh().changed, ["manifests/toy.yaml"]);
        assert!(manifests.get("toy").is_none());
        assert_eq!(manifests.for_engine("toy").unwrap().engine(), "generic");
    }
}
