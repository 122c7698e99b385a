//! The checksums of programs, kept as long as their files are the same.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use missiond_os::hex;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Inode, length and time of the last change.
type Stamp = (u64, u64, std::time::SystemTime);

/// The checksums of programs, which are large and seldom change.
#[derive(Debug, Default)]
pub(crate) struct ProgramDigests(Mutex<HashMap<PathBuf, (Stamp, String)>>);

impl ProgramDigests {
    /// Blocks. Nothing for what cannot be read.
    pub(crate) fn of(&self, program: &Path) -> Option<String> {
        use std::os::unix::fs::MetadataExt;
        let path = program.canonicalize().ok()?;
        let found = std::fs::metadata(&path).ok()?;
        let stamp = (found.ino(), found.len(), found.modified().ok()?);
        if let Some((known, digest)) = self.0.lock().get(&path)
            && *known == stamp
        {
            return Some(digest.clone());
        }
        let mut file = std::fs::File::open(&path).ok()?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece).ok()? {
                0 => break,
                read => hash.update(&piece[..read]),
            }
        }
        let digest = hex::encode(&hash.finalize());
        self.0.lock().insert(path, (stamp, digest.clone()));
        Some(digest)
    }
}
