//! What hooks reported while no daemon was there, in a small file beside the
//! access file; and the numbers of hooks, which processes that know nothing of
//! each other must not give twice.
//!
//! A report leaves the spool after it was handed over. So a crash in between
//! hands it over again, and its number makes it count once.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use missiond_os::files;

use crate::HookParams;

/// More is not kept: an agent must not fill the disk of a daemon that is away.
const SPOOL_LIMIT: u64 = 256 * 1024;

/// The spool of one execution.
#[derive(Debug, Clone)]
pub struct HookSpool {
    folder: PathBuf,
}

/// Whether a report was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spooled {
    Kept,
    /// The spool is full; the report is lost.
    Full,
}

/// Reports that are being handed over.
#[derive(Debug, Default)]
pub struct SpoolBatch {
    pub hooks: Vec<HookParams>,
    /// The file as it was read: reports have numbers, so no two are the same.
    text: Vec<u8>,
}

impl HookSpool {
    /// Of the execution whose access file is in this folder.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The next number: 1, 2, 3 …
    pub fn number(&self) -> io::Result<u64> {
        let mut counter = self.lock()?;
        let mut text = String::new();
        (&mut counter).take(32).read_to_string(&mut text)?;
        let next = text.trim().parse::<u64>().map_or(1, |last| last + 1);
        // Over the old one, which is never longer: a crash leaves one of the two.
        counter.seek(SeekFrom::Start(0))?;
        counter.write_all(next.to_string().as_bytes())?;
        Ok(next)
    }

    /// Keeps a report for later.
    pub fn keep(&self, hook: &HookParams) -> io::Result<Spooled> {
        let mut line = serde_json::to_vec(hook)?;
        line.push(b'\n');
        let _lock = self.lock()?;
        let mut file = files::open_private_log(&self.path("hooks.spool"))?;
        if file.metadata()?.len() + line.len() as u64 > SPOOL_LIMIT {
            return Ok(Spooled::Full);
        }
        file.write_all(&line)?;
        Ok(Spooled::Kept)
    }

    /// Hands over what was kept, oldest first, until it is all gone or one is
    /// not taken; that one and those after it stay. Returns how many were taken.
    pub fn hand_over<E: From<io::Error>>(
        &self,
        mut take: impl FnMut(HookParams) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut batch = self.begin_batch()?;
        let hooks = std::mem::take(&mut batch.hooks);
        let taken = hooks.len();
        for hook in hooks {
            take(hook)?;
        }
        self.finish_batch(&batch)?;
        Ok(taken)
    }

    /// What is to be handed over, set apart so that new reports do not mix in.
    /// What an earlier hand-over did not finish comes first.
    pub fn begin_batch(&self) -> io::Result<SpoolBatch> {
        let _lock = self.lock()?;
        let handing = self.path("hooks.handing");
        if !handing.exists() {
            match fs::rename(self.path("hooks.spool"), &handing) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(SpoolBatch::default());
                }
                renamed => renamed?,
            }
        }
        let text = self.handing()?;
        let lines = text.split(|&byte| byte == b'\n');
        // A line that was cut by a crash is no report.
        let hooks = lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        Ok(SpoolBatch { hooks, text })
    }

    /// All of it was handed over. Others may have handed over the same meanwhile and
    /// set the next apart: that stays.
    pub fn finish_batch(&self, batch: &SpoolBatch) -> io::Result<()> {
        let _lock = self.lock()?;
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match self.handing() {
            Ok(text) if text == batch.text => fs::remove_file(self.path("hooks.handing")),
            Err(error) if !gone(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn handing(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        File::open(self.path("hooks.handing"))?
            .take(SPOOL_LIMIT)
            .read_to_end(&mut text)?;
        Ok(text)
    }

    /// The file of the numbers, locked until it is closed.
    fn lock(&self) -> io::Result<File> {
        let file = files::open_private_lock(&self.path("hooks.count"))?;
        file.lock()?;
        Ok(file)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(sequence: u64, text: &str) -> HookParams {
        let report = serde_json::value::to_raw_value(text).unwrap();
        HookParams { sequence, report }
    }

    fn handed(spool: &HookSpool) -> Vec<u64> {
        let mut numbers = Vec::new();
        let taken: Result<usize, io::Error> = spool.hand_over(|hook| {
            numbers.push(hook.sequence);
            Ok(())
        });
        assert_eq!(taken.unwrap(), numbers.len());
        numbers
    }

    #[test]
    fn numbers_are_given_once_by_whoever_asks() {
        let folder = tempfile::tempdir().unwrap();
        let spool = HookSpool::in_folder(folder.path());
        let mut numbers: Vec<u64> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..10).map(|_| spool.number().unwrap()).collect()))
                .collect();
            let given = asking.into_iter().map(|thread| thread.join().unwrap());
            given.flat_map(|numbers: Vec<u64>| numbers).collect()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=80).collect::<Vec<_>>());
    }

    #[test]
    fn reports_are_handed_over_in_order_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let spool = HookSpool::in_folder(folder.path());
        assert!(handed(&spool).is_empty());
        for number in 1..=3 {
            assert_eq!(spool.keep(&hook(number, "x")).unwrap(), Spooled::Kept);
        }
        assert_eq!(handed(&spool), [1, 2, 3]);
        assert!(handed(&spool).is_empty());
    }

    #[test]
    fn a_hand_over_that_broke_off_is_begun_again_before_newer_reports() {
        let folder = tempfile::tempdir().unwrap();
        let spool = HookSpool::in_folder(folder.path());
        spool.keep(&hook(1, "x")).unwrap();
        spool.keep(&hook(2, "x")).unwrap();
        let broken: Result<usize, io::Error> = spool.hand_over(|hook| match hook.sequence {
            1 => Ok(()),
            _ => Err(io::Error::other("the daemon went away")),
        });
        assert!(broken.is_err());
        spool.keep(&hook(3, "x")).unwrap();
        assert_eq!(handed(&spool), [1, 2]);
        assert_eq!(handed(&spool), [3]);
    }

    #[test]
    fn a_late_end_of_one_hand_over_leaves_the_next_batch() {
        let folder = tempfile::tempdir().unwrap();
        let spool = HookSpool::in_folder(folder.path());
        spool.keep(&hook(1, "x")).unwrap();
        let slow = spool.begin_batch().unwrap();
        assert_eq!(handed(&spool), [1]);
        spool.keep(&hook(2, "x")).unwrap();
        let set_apart = spool.begin_batch().unwrap();
        assert_eq!(set_apart.hooks[0].sequence, 2);
        spool.finish_batch(&slow).unwrap();
        assert_eq!(handed(&spool), [2]);
        spool.finish_batch(&set_apart).unwrap();
    }

    #[test]
    fn a_full_spool_keeps_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let spool = HookSpool::in_folder(folder.path());
        let large = "x".repeat(100_000);
        assert_eq!(spool.keep(&hook(1, &large)).unwrap(), Spooled::Kept);
        assert_eq!(spool.keep(&hook(2, &large)).unwrap(), Spooled::Kept);
        assert_eq!(spool.keep(&hook(3, &large)).unwrap(), Spooled::Full);
        assert_eq!(handed(&spool), [1, 2]);
    }
}
