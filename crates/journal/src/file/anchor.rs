//! The head file: two slots of fixed size, written in turn, so that a write that
//! is cut short leaves the other one. The valid slot written last counts.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::gate::{Gate, Step};
use super::{failed, private_file};
use crate::frame::Head;
use crate::store::StoreError;

const SLOT: usize = 256;

/// The head is forced to disk by itself this often at least, while there are
/// commits. In between, a loss of power may set it back by this much; the loss
/// of the process alone sets nothing back.
const SYNC_COMMITS: u32 = 256;
const SYNC_EVERY: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Slot {
    turn: u64,
    #[serde(flatten)]
    head: Head,
}

/// The head file of a journal that is being written.
#[derive(Debug)]
pub(super) struct Anchor {
    file: File,
    gate: Gate,
    turn: u64,
    unsynced: u32,
    synced_at: Instant,
}

impl Anchor {
    pub(super) fn open(path: &Path, gate: Gate) -> Result<Self, StoreError> {
        let failed = |error: io::Error| failed("opening the head of the journal", &error);
        let file = private_file()
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let turn = slots(&file).map_err(failed)?.map_or(0, |slot| slot.turn);
        Ok(Self {
            file,
            gate,
            turn,
            unsynced: 0,
            synced_at: Instant::now(),
        })
    }

    /// Remembers a head whose lines are durable.
    pub(super) fn record(&mut self, head: Head) -> Result<(), StoreError> {
        self.write(head)?;
        self.unsynced += 1;
        if self.unsynced >= SYNC_COMMITS || self.synced_at.elapsed() >= SYNC_EVERY {
            self.sync()?;
        }
        Ok(())
    }

    /// As [`Anchor::record`], durable when it returns.
    pub(super) fn record_durably(&mut self, head: Head) -> Result<(), StoreError> {
        self.write(head)?;
        self.sync()
    }

    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.gate.pass(Step::SyncHead)?;
        self.file
            .sync_data()
            .map_err(|error| failed("syncing the head of the journal", &error))?;
        self.unsynced = 0;
        self.synced_at = Instant::now();
        Ok(())
    }

    pub(super) const fn is_synced(&self) -> bool {
        self.unsynced == 0
    }

    fn write(&mut self, head: Head) -> Result<(), StoreError> {
        self.gate.pass(Step::WriteHead)?;
        let turn = self.turn + 1;
        let mut slot =
            serde_json::to_vec(&Slot { turn, head }).map_err(|error| StoreError::Io {
                what: "writing the head of the journal".into(),
                detail: error.to_string(),
            })?;
        let crc = crc32fast::hash(&slot);
        slot.extend_from_slice(format!(" {crc:08x}").as_bytes());
        slot.resize(SLOT - 1, b' ');
        slot.push(b'\n');
        self.file
            .write_all_at(&slot, (turn % 2) * SLOT as u64)
            .map_err(|error| failed("writing the head of the journal", &error))?;
        self.turn = turn;
        Ok(())
    }
}

/// The head in the file, `None` when there is no file or no valid slot.
pub(super) fn read(path: &Path) -> Result<Option<Head>, StoreError> {
    match File::open(path) {
        Ok(file) => slots(&file)
            .map(|slot| slot.map(|slot| slot.head))
            .map_err(|error| failed("reading the head of the journal", &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("opening the head of the journal", &error)),
    }
}

fn slots(file: &File) -> io::Result<Option<Slot>> {
    let mut bytes = Vec::with_capacity(2 * SLOT);
    file.take(2 * SLOT as u64).read_to_end(&mut bytes)?;
    let valid = bytes.chunks(SLOT).filter_map(|slot| {
        let text = std::str::from_utf8(slot).ok()?.trim_end();
        let (json, crc) = text.rsplit_once(' ')?;
        if format!("{:08x}", crc32fast::hash(json.as_bytes())) != crc {
            return None;
        }
        serde_json::from_str::<Slot>(json).ok()
    });
    Ok(valid.max_by_key(|slot| slot.turn))
}
