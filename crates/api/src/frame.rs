//! Cutting a byte stream into messages: one message a line, at most
//! [`MAX_FRAME`] bytes.
//!
//! The limit is enforced while reading, so a peer that never sends a newline
//! costs at most that much memory. An oversized message is reported once and
//! skipped to its newline; the messages after it are read as usual.

/// The largest message, newline not counted.
pub const MAX_FRAME: usize = 1024 * 1024;

/// What the decoder found next.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// One line, without its line ending. Never empty.
    Message(&'a [u8]),
    /// A line over the limit. It is being skipped.
    TooLarge,
}

/// Feed it what arrives, take out what is complete.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    /// Up to here the buffer has been handed out.
    consumed: usize,
    /// Up to here the unconsumed part is known to hold no newline.
    scanned: usize,
    skipping: bool,
    limit: usize,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_FRAME)
    }
}

impl FrameDecoder {
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            consumed: 0,
            scanned: 0,
            skipping: false,
            limit,
        }
    }

    /// Takes in bytes as they came from the stream. Take every frame out with
    /// [`next_frame`](Self::next_frame) before feeding more: that is what keeps
    /// the buffer within the limit plus one read.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.consumed > 0 {
            self.buffer.drain(..self.consumed);
            self.scanned -= self.consumed;
            self.consumed = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete message, if there is one.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        loop {
            let newline = self.buffer[self.scanned..]
                .iter()
                .position(|&byte| byte == b'\n');
            let Some(end) = newline.map(|offset| self.scanned + offset) else {
                self.scanned = self.buffer.len();
                let pending = self.buffer.len() - self.consumed;
                if self.skipping {
                    self.discard_pending();
                } else if pending > self.limit {
                    self.discard_pending();
                    self.skipping = true;
                    return Some(Frame::TooLarge);
                }
                return None;
            };
            let start = std::mem::replace(&mut self.consumed, end + 1);
            self.scanned = end + 1;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            let line = &self.buffer[start..end];
            if line.len() > self.limit {
                return Some(Frame::TooLarge);
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                // Sliced again from the buffer: the borrow of `line` would
                // otherwise last over the next turn of the loop.
                let end = start + line.len();
                return Some(Frame::Message(&self.buffer[start..end]));
            }
        }
    }

    /// Bytes of a message that has not ended yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    fn discard_pending(&mut self) {
        self.buffer.clear();
        self.consumed = 0;
        self.scanned = 0;
        // A burst must not pin its memory for the life of the connection.
        self.buffer.shrink_to(self.limit.min(64 * 1024));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Owned {
        Message(Vec<u8>),
        TooLarge,
    }

    fn decode(limit: usize, chunks: &[&[u8]]) -> (Vec<Owned>, usize) {
        let mut decoder = FrameDecoder::with_limit(limit);
        let mut frames = Vec::new();
        let mut peak = 0;
        for chunk in chunks {
            decoder.feed(chunk);
            peak = peak.max(decoder.buffer.len());
            while let Some(frame) = decoder.next_frame() {
                frames.push(match frame {
                    Frame::Message(line) => Owned::Message(line.to_vec()),
                    Frame::TooLarge => Owned::TooLarge,
                });
            }
        }
        (frames, peak)
    }

    /// What the frames are, without a decoder: split at newlines.
    fn expected(limit: usize, bytes: &[u8]) -> Vec<Owned> {
        let mut lines: Vec<_> = bytes.split(|&b| b == b'\n').collect();
        let unfinished = lines.pop().unwrap_or_default();
        let mut frames: Vec<_> = lines
            .into_iter()
            .filter_map(|line| {
                if line.len() > limit {
                    return Some(Owned::TooLarge);
                }
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                (!line.is_empty()).then(|| Owned::Message(line.to_vec()))
            })
            .collect();
        if unfinished.len() > limit {
            frames.push(Owned::TooLarge);
        }
        frames
    }

    proptest! {
        #[test]
        fn any_cut_of_the_stream_gives_the_same_frames(
            bytes in prop::collection::vec(prop_oneof![3 => 32u8..40, 1 => Just(b'\n'), 1 => Just(b'\r')], 0..200),
            cuts in prop::collection::vec(1usize..20, 0..40),
        ) {
            let mut chunks = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                chunks.push(head);
                rest = tail;
            }
            chunks.push(rest);
            let (frames, peak) = decode(8, &chunks);
            prop_assert_eq!(frames, expected(8, &bytes));
            // The limit, plus one read.
            prop_assert!(peak <= 8 + 200);
        }
    }

    #[test]
    fn a_line_without_end_costs_no_more_than_the_limit() {
        let mut decoder = FrameDecoder::with_limit(1000);
        let mut reported = 0;
        for _ in 0..10_000 {
            decoder.feed(&[b'x'; 100]);
            while let Some(frame) = decoder.next_frame() {
                assert_eq!(frame, Frame::TooLarge);
                reported += 1;
            }
            assert!(decoder.buffer.capacity() <= 4096);
        }
        assert_eq!(reported, 1);
        decoder.feed(b"\n{}\n");
        assert_eq!(decoder.next_frame(), Some(Frame::Message(b"{}")));
    }
}
