//! Cutting a byte stream into messages: one message a line, each with a limit.
//!
//! The limit is enforced while reading, so a peer that never sends a newline
//! costs at most that much memory. An oversized message is reported once and
//! skipped to its newline; the messages after it are read as usual.

/// The largest message where nothing else is said: of our own socket.
pub const MAX_FRAME: usize = 1024 * 1024;

/// How much of the beginning and end of an oversized line is kept.
const EDGE: usize = 128;

/// What the decoder found next.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// One line, without its line ending. Never empty.
    Message(&'a [u8]),
    /// A line over the limit; [`FrameDecoder::edges`] has what is known of it.
    TooLarge,
}

/// When a line over the limit is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversized {
    /// As soon as it is one: whoever sends a line without end hears of it.
    AtOnce,
    /// At its end, which may say which request it would have answered.
    AtItsEnd,
}

/// The beginning and the end of a line that was too large, at most 128 bytes of
/// each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edges {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
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
    edges: Edges,
    limit: usize,
    oversized: Oversized,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_FRAME)
    }
}

impl FrameDecoder {
    /// Messages may have `limit` bytes, the newline not counted. Larger ones are
    /// reported at once.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self::reporting(limit, Oversized::AtOnce)
    }

    #[must_use]
    pub fn reporting(limit: usize, oversized: Oversized) -> Self {
        Self {
            buffer: Vec::new(),
            consumed: 0,
            scanned: 0,
            skipping: false,
            edges: Edges::default(),
            limit,
            oversized,
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
            let newline = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
            let Some(end) = newline.map(|offset| self.scanned + offset) else {
                self.scanned = self.buffer.len();
                let began = !self.skipping && self.pending() > self.limit;
                if began || self.skipping {
                    self.skip_pending();
                }
                return (began && self.oversized == Oversized::AtOnce).then_some(Frame::TooLarge);
            };
            let start = std::mem::replace(&mut self.consumed, end + 1);
            self.scanned = end + 1;
            let is_rest = std::mem::take(&mut self.skipping);
            if is_rest || end - start > self.limit {
                self.edges.extend(&self.buffer[start..end], is_rest);
                if is_rest && self.oversized == Oversized::AtOnce {
                    continue;
                }
                return Some(Frame::TooLarge);
            }
            let line = &self.buffer[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                // Sliced again from the buffer: the borrow of `line` would
                // otherwise last over the next turn of the loop.
                let end = start + line.len();
                return Some(Frame::Message(&self.buffer[start..end]));
            }
        }
    }

    /// Of the newest line that was too large, as far as it was read.
    #[must_use]
    pub fn edges(&self) -> &Edges {
        &self.edges
    }

    /// Bytes of a message that has not ended yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    /// Forgets what is there of a line that is too large, but for its edges.
    fn skip_pending(&mut self) {
        self.edges
            .extend(&self.buffer[self.consumed..], self.skipping);
        self.skipping = true;
        self.buffer.clear();
        self.consumed = 0;
        self.scanned = 0;
        // A burst must not pin its memory for the life of the connection.
        self.buffer.shrink_to(self.limit.min(64 * 1024));
    }
}

impl Edges {
    /// A piece of a line; `continues` if there were pieces before it.
    fn extend(&mut self, piece: &[u8], continues: bool) {
        if !continues {
            self.head.clear();
            self.tail.clear();
        }
        let room = EDGE.saturating_sub(self.head.len());
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.tail
            .extend_from_slice(&piece[piece.len().saturating_sub(EDGE)..]);
        let surplus = self.tail.len().saturating_sub(EDGE);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Owned {
        Message(Vec<u8>),
        TooLarge(Edges),
    }

    fn decode(mut decoder: FrameDecoder, chunks: &[&[u8]]) -> (Vec<Owned>, usize) {
        let mut frames = Vec::new();
        let mut peak = 0;
        for chunk in chunks {
            decoder.feed(chunk);
            peak = peak.max(decoder.buffer.len());
            while let Some(frame) = decoder.next_frame() {
                frames.push(match frame {
                    Frame::Message(line) => Owned::Message(line.to_vec()),
                    Frame::TooLarge => Owned::TooLarge(decoder.edges().clone()),
                });
            }
        }
        (frames, peak)
    }

    fn edges(line: &[u8]) -> Edges {
        Edges {
            head: line[..line.len().min(EDGE)].to_vec(),
            tail: line[line.len().saturating_sub(EDGE)..].to_vec(),
        }
    }

    /// What the frames are, without a decoder: split at newlines.
    fn expected(limit: usize, oversized: Oversized, bytes: &[u8]) -> Vec<Owned> {
        let mut lines: Vec<_> = bytes.split(|&b| b == b'\n').collect();
        let unfinished = lines.pop().unwrap_or_default();
        let mut frames: Vec<_> = lines
            .into_iter()
            .filter_map(|line| {
                if line.len() > limit {
                    return Some(Owned::TooLarge(edges(line)));
                }
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                (!line.is_empty()).then(|| Owned::Message(line.to_vec()))
            })
            .collect();
        if unfinished.len() > limit && oversized == Oversized::AtOnce {
            frames.push(Owned::TooLarge(edges(unfinished)));
        }
        frames
    }

    /// Reported at once, the edges are of what had been read by then.
    fn without_edges(frames: Vec<Owned>) -> Vec<Owned> {
        let without = |frame| match frame {
            Owned::TooLarge(_) => Owned::TooLarge(Edges::default()),
            message => message,
        };
        frames.into_iter().map(without).collect()
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
            let (frames, peak) = decode(FrameDecoder::with_limit(8), &chunks);
            let wanted = expected(8, Oversized::AtOnce, &bytes);
            prop_assert_eq!(without_edges(frames), without_edges(wanted));
            // The limit, plus one read.
            prop_assert!(peak <= 8 + 200);

            let decoder = FrameDecoder::reporting(8, Oversized::AtItsEnd);
            let (frames, _) = decode(decoder, &chunks);
            prop_assert_eq!(frames, expected(8, Oversized::AtItsEnd, &bytes));
        }
    }

    #[test]
    fn a_line_without_end_costs_no_more_than_the_limit() {
        for (oversized, told) in [(Oversized::AtOnce, 1), (Oversized::AtItsEnd, 0)] {
            let mut decoder = FrameDecoder::reporting(1000, oversized);
            let mut reported = 0;
            for _ in 0..10_000 {
                decoder.feed(&[b'x'; 100]);
                while let Some(frame) = decoder.next_frame() {
                    assert_eq!(frame, Frame::TooLarge);
                    reported += 1;
                }
                assert!(decoder.buffer.capacity() <= 4096);
            }
            assert_eq!(reported, told);
            decoder.feed(b"end\n{}\n");
            if oversized == Oversized::AtItsEnd {
                assert_eq!(decoder.next_frame(), Some(Frame::TooLarge));
                assert_eq!(decoder.edges().head, [b'x'; EDGE]);
                assert!(decoder.edges().tail.ends_with(b"xend"));
            }
            assert_eq!(decoder.next_frame(), Some(Frame::Message(b"{}")));
            assert_eq!(decoder.next_frame(), None);
        }
    }
}
