//! The newest output, numbered byte by byte. Older output is in the recording.

use std::collections::VecDeque;

/// Bytes kept in memory.
pub(super) const BACKLOG: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: VecDeque<u8>,
    /// Number of the first byte kept.
    start: u64,
}

impl Backlog {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let excess = (self.bytes.len() + bytes.len()).saturating_sub(BACKLOG);
        let gone = excess.min(self.bytes.len());
        self.bytes.drain(..gone);
        // A ring is written all around: its room is what it costs. It doubles
        // up to the limit and never beyond.
        let room = self.bytes.capacity();
        if self.bytes.len() + bytes.len() > room && room >= BACKLOG / 2 {
            self.bytes.reserve_exact(BACKLOG - self.bytes.len());
        }
        self.bytes.extend(&bytes[excess - gone..]);
        self.start += excess as u64;
    }

    /// Number of the byte that will come next.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// At most `limit` bytes from `offset` on, or `None` if they are no longer
    /// or not yet here.
    pub(super) fn from(&self, offset: u64, limit: usize) -> Option<Vec<u8>> {
        let skip = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let kept = self.bytes.len().checked_sub(skip)?;
        Some(
            self.bytes
                .range(skip..skip + kept.min(limit))
                .copied()
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_with_their_bytes_when_old_ones_go() {
        let mut backlog = Backlog::default();
        for chunk in 0..40_u8 {
            backlog.push(&[chunk; 65_536]);
            assert!(backlog.bytes.capacity() <= BACKLOG);
        }
        assert_eq!(backlog.end(), 40 * 65_536);
        assert_eq!(backlog.from(23 * 65_536, 1), None);
        assert_eq!(backlog.from(24 * 65_536, 2), Some(vec![24, 24]));
        assert_eq!(backlog.from(25 * 65_536 - 1, 2), Some(vec![24, 25]));
        assert_eq!(backlog.from(40 * 65_536, 9), Some(Vec::new()));
        assert_eq!(backlog.from(40 * 65_536 + 1, 9), None);
    }
}
