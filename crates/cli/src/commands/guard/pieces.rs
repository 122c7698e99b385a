//! Secrets of a file of any length, read in pieces: a file may be one line of a hundred
//! megabytes, and takes no more memory than any other.
//!
//! Pieces overlap by more than a decision looks around itself, and of the overlap each half
//! is told from the piece that sees it whole. So where a file is cut changes nothing.

use std::io::{self, Read};

use missiond_secrets::{Detector, Finding};

use super::Found;

/// A line that says one of these holds no secret, says whoever wrote it. Of a line that is
/// longer than a piece, what is near counts.
const ALLOWED: [&[u8]; 2] = [b"guard:allow", b"gitleaks:allow"];

#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) piece: usize,
    /// Before and behind what is told of a piece. The longest block of a key is half of it.
    pub(super) around: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            piece: 2 << 20,
            around: 128 << 10,
        }
    }
}

/// Tells every secret of a text, in the order they stand.
pub(super) fn find(
    file: &str,
    source: &mut dyn Read,
    detector: &Detector,
    sizes: Sizes,
    tell: &mut dyn FnMut(Found),
) -> io::Result<()> {
    let mut reading = Reading {
        file,
        bytes: Vec::new(),
        base: 0,
        counted: 0,
        line: 1,
        line_begin: 0,
        line_is_allowed: None,
        told: 0,
        open: None,
    };
    let mut from = 0;
    loop {
        let is_last = reading.fill(source, sizes.piece)?;
        reading.go_on(is_last, tell);
        let whole = reading.bytes.len();
        let until = if is_last { whole } else { whole - sizes.around };
        for finding in detector.scan_terminal(&reading.bytes) {
            let is_ours = (from..until).contains(&finding.start);
            if is_ours && reading.base + finding.start >= reading.told {
                reading.take(&finding, is_last, tell);
            }
        }
        if is_last {
            return Ok(());
        }
        // What comes before the next piece is only looked back to.
        let cut = until - sizes.around;
        reading.cut(cut);
        from = until - cut;
    }
}

struct Reading<'a> {
    file: &'a str,
    bytes: Vec<u8>,
    /// Where in the file they begin.
    base: usize,
    /// Up to where in the file lines are counted.
    counted: usize,
    line: usize,
    /// Where in the file the line begins.
    line_begin: usize,
    line_is_allowed: Option<bool>,
    /// Where in the file the last secret ended.
    told: usize,
    /// A secret that may go on behind the piece.
    open: Option<Found>,
}

impl Reading<'_> {
    /// Reads up to a whole piece; whether the file ends with it.
    fn fill(&mut self, source: &mut dyn Read, piece: usize) -> io::Result<bool> {
        let wanted = piece - self.bytes.len();
        let read = source.take(wanted as u64).read_to_end(&mut self.bytes)?;
        self.line_is_allowed = None;
        Ok(read < wanted)
    }

    /// Goes on with the secret that reached the end of the piece before.
    fn go_on(&mut self, is_last: bool, tell: &mut dyn FnMut(Found)) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let rest = &self.bytes[self.told - self.base..];
        let length = rest.iter().position(|byte| !of_token(*byte));
        let more = length.unwrap_or(rest.len());
        open.end += more;
        self.told += more;
        if length.is_none() && !is_last {
            self.open = Some(open);
        } else {
            tell(open);
        }
    }

    fn take(&mut self, finding: &Finding, is_last: bool, tell: &mut dyn FnMut(Found)) {
        self.told = self.base + finding.end;
        let Some(found) = self.place(finding) else {
            return;
        };
        if finding.end == self.bytes.len() && !is_last {
            self.open = Some(found);
        } else {
            tell(found);
        }
    }

    fn place(&mut self, finding: &Finding) -> Option<Found> {
        self.count_lines(finding.start);
        let begin = self.line_begin.saturating_sub(self.base);
        let line = &self.bytes[begin..];
        let length = line.iter().position(|&byte| byte == b'\n');
        let line = &line[..length.unwrap_or(line.len())];
        let is_allowed = *self.line_is_allowed.get_or_insert_with(|| {
            let says = |word: &&[u8]| line.windows(word.len()).any(|found| found == *word);
            ALLOWED.iter().any(says)
        });
        if is_allowed {
            return None;
        }
        let secret = &self.bytes[finding.start..finding.end];
        let more = secret.iter().filter(|&&byte| byte == b'\n').count();
        let end = finding.end.min(begin + line.len());
        Some(Found {
            file: self.file.to_owned(),
            line: self.line,
            start: self.base + finding.start - self.line_begin,
            end: self.base + end - self.line_begin,
            kind: finding.kind(),
            end_line: (more > 0).then_some(self.line + more),
        })
    }

    /// Counts lines up to this place of the piece.
    fn count_lines(&mut self, until: usize) {
        let from = self.counted.saturating_sub(self.base);
        for (at, byte) in self.bytes.iter().enumerate().take(until).skip(from) {
            if *byte == b'\n' {
                self.line += 1;
                self.line_begin = self.base + at + 1;
                self.line_is_allowed = None;
            }
        }
        self.counted = self.counted.max(self.base + until);
    }

    fn cut(&mut self, bytes: usize) {
        self.count_lines(bytes);
        self.bytes.drain(..bytes);
        self.base += bytes;
    }
}

/// What a secret is made of that goes on as long as such bytes come.
fn of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, sizes: Sizes) -> Vec<Found> {
        let mut all = Vec::new();
        let detector = Detector::current();
        let mut source = text.as_bytes();
        find("x", &mut source, &detector, sizes, &mut |found| {
            all.push(found);
        })
        .unwrap();
        all
    }

    fn token() -> String {
        ["ghp_", "k3Xq9Lw2Rt7VbNcQf5HjZpGs1YuE8oDmKiAb"].concat()
    }

    #[test]
    fn a_finding_is_told_by_line_and_bytes() {
        let token = token();
        let key = ["-----BEGIN PRIVATE ", "KEY-----"].concat();
        let text = format!(
            "é = {token}\nb = {token} # guard:allow\n\n{key}\nMIIEvgIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END"
        );
        let found = found(&text, Sizes::default());
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.line, one.start, one.end, one.kind, one.end_line))
            .collect();
        assert_eq!(
            found,
            [
                (1, 5, 5 + token.len(), "github-token", None),
                (4, 0, key.len(), "private-key", Some(7)),
            ]
        );
    }

    #[test]
    fn where_a_file_is_cut_changes_nothing() {
        let token = token();
        let mut text = String::new();
        for number in 0..40 {
            let filler = "words of no account, ".repeat(number * 7 % 31);
            let end = if number % 3 == 0 { "\n" } else { " " };
            text += &format!("{filler}\u{1b}[1m{token}\u{1b}[0m{end}");
        }
        let whole = found(&text, Sizes::default());
        assert_eq!(whole.len(), 40);
        for piece in [5_000, 5_001, 6_143, 9_000] {
            let around = 2_048;
            assert_eq!(found(&text, Sizes { piece, around }), whole, "{piece}");
        }
    }

    #[test]
    fn a_secret_that_goes_on_through_many_pieces_is_one() {
        let value = "k3Xq9Lw2Rt7VbNcQf5HjZp".repeat(2_000);
        let text = format!("a b c\nAuthorization: Bearer {value} and more\n");
        let whole = found(&text, Sizes::default());
        assert_eq!(whole.len(), 1, "{whole:?}");
        let sizes = Sizes {
            piece: 5_000,
            around: 2_048,
        };
        assert_eq!(found(&text, sizes), whole);
    }
}
