//! What a file holds, twice: as every process sees it now, and as the disk
//! would have it after a power cut.

use std::collections::BTreeSet;

use super::Random;

/// What the kernel writes back and a failed sync forgets, as one piece.
const PAGE: usize = 4096;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What becomes of writes that no sync covers when the power goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unsynced {
    /// None of them reached the disk.
    Lost,
    /// Any of them may have, sector by sector and in any order, as a disk with
    /// a cache of its own does it. The number is the seed.
    LostInPart(u64),
}

#[derive(Debug, Default)]
pub(super) struct Contents {
    written: Vec<u8>,
    durable: Vec<u8>,
    /// Pages of `written` that the next sync carries over.
    dirty: BTreeSet<usize>,
}

impl Contents {
    pub(super) fn len(&self) -> usize {
        self.written.len()
    }

    pub(super) fn read(&self, offset: usize, size: usize) -> &[u8] {
        let start = offset.min(self.len());
        let end = offset.saturating_add(size).min(self.len());
        &self.written[start..end]
    }

    pub(super) fn write(&mut self, offset: usize, data: &[u8]) {
        let end = offset + data.len();
        if end > self.len() {
            self.set_len(end);
        }
        self.written[offset..end].copy_from_slice(data);
        self.touch(offset, end);
    }

    pub(super) fn set_len(&mut self, len: usize) {
        let before = self.len();
        self.written.resize(len, 0);
        if len > before {
            self.touch(before, len);
        }
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.written.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            let start = (page * PAGE).min(self.written.len());
            let end = (start + PAGE).min(self.written.len());
            self.durable[start..end].copy_from_slice(&self.written[start..end]);
        }
    }

    /// Linux reports a failed write-back once and then takes the pages for
    /// clean: they can still be read, but no later sync brings them to disk
    /// unless they are written again.
    pub(super) fn sync_in_vain(&mut self) {
        self.dirty.clear();
    }

    pub(super) fn lose_power(&mut self, unsynced: Unsynced) {
        if let Unsynced::LostInPart(seed) = unsynced {
            self.keep_some_sectors(&mut Random::new(seed));
        }
        self.dirty.clear();
        self.written.clone_from(&self.durable);
    }

    fn keep_some_sectors(&mut self, random: &mut Random) {
        if random.below(2) == 0 {
            self.durable.resize(self.written.len(), 0);
        }
        let reach = self.durable.len().min(self.written.len());
        for &page in &self.dirty {
            for sector in 0..PAGE / SECTOR {
                let start = (page * PAGE + sector * SECTOR).min(reach);
                let end = (start + SECTOR).min(reach);
                if random.below(2) == 0 {
                    self.durable[start..end].copy_from_slice(&self.written[start..end]);
                }
            }
        }
    }

    fn touch(&mut self, start: usize, end: usize) {
        self.dirty.extend(start / PAGE..end.div_ceil(PAGE));
    }
}
