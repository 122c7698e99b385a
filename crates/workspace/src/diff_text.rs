//! What `git diff` prints, as data.
//!
//! Two texts are read here: the list of changed files (`--raw --numstat -z`) and
//! the patch. Neither is trusted: the files are an agent's, so their names and
//! lines are anything, and a patch may be cut anywhere. What cannot be made sense
//! of is passed over, what is over a limit is left out and marked, and nothing
//! here panics or takes more memory than the limits say.

mod names;

use std::collections::HashMap;

use self::names::{both_names, side_name, unquoted};

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    Deleted,
    Modified,
    Renamed,
    /// A file became a link, or a link a file.
    Retyped,
}

/// One file of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As git knows it, from the top of the repository; bytes, not always text.
    pub path: Vec<u8>,
    /// What it was called before.
    pub old_path: Option<Vec<u8>>,
    pub change: Change,
    pub binary: bool,
    pub additions: u64,
    pub deletions: u64,
}

/// What the patch says of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub old_path: Option<Vec<u8>>,
    pub new_path: Option<Vec<u8>>,
    pub binary: bool,
    pub hunks: Vec<Hunk>,
    /// There is more of it than stands here.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// What git takes for the function it is in.
    pub heading: String,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub side: LineSide,
    /// What is no text is shown by replacement characters; what is too long ends
    /// with `…`.
    pub text: String,
    /// The file ends here without the end of a line.
    pub unended: bool,
}

/// In which of the two files a line is, with its numbers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineSide {
    Both { old: u32, new: u32 },
    Old { old: u32 },
    New { new: u32 },
}

/// How much of a patch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchLimits {
    pub lines: usize,
    /// Of their texts together.
    pub bytes: usize,
    /// Of one line.
    pub line_chars: usize,
}

/// Reads the output of `git diff --raw --numstat -z`.
#[must_use]
pub fn parse_list(output: &[u8]) -> Vec<Entry> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut entries: Vec<Entry> = Vec::new();
    let mut positions: HashMap<&[u8], usize> = HashMap::new();
    while let Some(field) = fields.next() {
        if let Some(raw) = field.strip_prefix(b":") {
            let status = raw.rsplit(|byte| *byte == b' ').next();
            let change = match status.and_then(|status| status.first()) {
                Some(b'A') => Change::Added,
                Some(b'D') => Change::Deleted,
                Some(b'R') => Change::Renamed,
                Some(b'T') => Change::Retyped,
                // Of a file in conflict the difference is listed besides.
                Some(b'U') => {
                    fields.next();
                    continue;
                }
                _ => Change::Modified,
            };
            let old_path = match change {
                Change::Renamed => fields.next().map(<[u8]>::to_vec),
                _ => None,
            };
            let Some(path) = fields.next().filter(|path| !path.is_empty()) else {
                break;
            };
            positions.entry(path).or_insert(entries.len());
            entries.push(Entry {
                path: path.to_vec(),
                old_path,
                change,
                binary: false,
                additions: 0,
                deletions: 0,
            });
        } else if let Some((additions, deletions, path)) = counts(field) {
            // A renamed file has its two names in fields of their own.
            let path = match path {
                b"" => fields.nth(1),
                path => Some(path),
            };
            let Some(path) = path else { break };
            if let Some(entry) = positions
                .get(path)
                .and_then(|position| entries.get_mut(*position))
            {
                entry.binary = additions.is_none();
                entry.additions = additions.unwrap_or(0);
                entry.deletions = deletions.unwrap_or(0);
            }
        }
    }
    entries
}

/// `12\t3\tpath`, or `-\t-\tpath` for what is no text.
fn counts(field: &[u8]) -> Option<(Option<u64>, Option<u64>, &[u8])> {
    let mut parts = field.splitn(3, |byte| *byte == b'\t');
    let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse().ok();
    let (additions, deletions) = (parts.next()?, parts.next()?);
    let path = parts.next()?;
    match (additions, deletions) {
        (b"-", b"-") => Some((None, None, path)),
        _ => Some((Some(number(additions)?), Some(number(deletions)?), path)),
    }
}

/// Reads a patch, in the order of its files.
#[must_use]
pub fn parse_patch(patch: &[u8], limits: PatchLimits) -> Vec<Section> {
    let mut reader = Reader {
        lines: Lines(patch),
        left: limits,
    };
    let mut sections = Vec::new();
    while let Some(line) = reader.lines.next() {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            sections.push(reader.section(names));
        }
    }
    sections
}

/// The lines of a text, one looked at before it is taken.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a [u8]> {
        (!self.0.is_empty()).then(|| {
            let end = self.0.iter().position(|byte| *byte == b'\n');
            &self.0[..end.unwrap_or(self.0.len())]
        })
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.0 = self.0.get(line.len() + 1..).unwrap_or_default();
        Some(line)
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    left: PatchLimits,
}

impl Reader<'_> {
    fn section(&mut self, names: &[u8]) -> Section {
        let (old_path, new_path) = both_names(names);
        let mut section = Section {
            old_path,
            new_path,
            binary: false,
            hunks: Vec::new(),
            truncated: false,
        };
        while let Some(line) = self.lines.peek() {
            if line.starts_with(b"diff --git ") {
                break;
            }
            self.lines.next();
            if let Some(header) = line.strip_prefix(b"@@ ") {
                match hunk_header(header) {
                    Some(mut hunk) => {
                        section.truncated |= self.read_hunk_lines(&mut hunk) == HunkExtent::Partial;
                        section.hunks.push(hunk);
                    }
                    None => section.truncated = true,
                }
            } else if let Some(name) = line.strip_prefix(b"--- ") {
                section.old_path = side_name(name, b"a/");
            } else if let Some(name) = line.strip_prefix(b"+++ ") {
                section.new_path = side_name(name, b"b/");
            } else if let Some(name) = line.strip_prefix(b"rename from ") {
                section.old_path = Some(unquoted(name));
            } else if let Some(name) = line.strip_prefix(b"rename to ") {
                section.new_path = Some(unquoted(name));
            } else if line.starts_with(b"Binary files ") || line.starts_with(b"GIT binary patch") {
                section.binary = true;
            } else if line.starts_with(b"new file mode ") {
                section.old_path = None;
            } else if line.starts_with(b"deleted file mode ") {
                section.new_path = None;
            }
        }
        section
    }

    /// Reads as many lines as the hunk says it has. The count decides where it
    /// ends, so a line of a file is never taken for the next header.
    fn read_hunk_lines(&mut self, hunk: &mut Hunk) -> HunkExtent {
        let mut extent = HunkExtent::Whole;
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let (old_end, new_end) = (end(old, hunk.old_lines), end(new, hunk.new_lines));
        while old < old_end || new < new_end {
            let side = match self.lines.peek().map(<[u8]>::first) {
                // A setting of the person leaves the space of an empty line out.
                Some(Some(b' ') | None) if old < old_end && new < new_end => {
                    LineSide::Both { old, new }
                }
                Some(Some(b'-')) if old < old_end => LineSide::Old { old },
                Some(Some(b'+')) if new < new_end => LineSide::New { new },
                Some(Some(b'\\')) => {
                    self.mark_unended(hunk);
                    continue;
                }
                _ => return HunkExtent::Partial,
            };
            match side {
                LineSide::Both { .. } => (old, new) = (old + 1, new + 1),
                LineSide::Old { .. } => old += 1,
                LineSide::New { .. } => new += 1,
            }
            let text = self.lines.next().and_then(|line| line.get(1..));
            extent = match self.bounded_line(text.unwrap_or_default()) {
                Some(text) => {
                    let unended = false;
                    hunk.lines.push(Line {
                        side,
                        text,
                        unended,
                    });
                    extent
                }
                None => HunkExtent::Partial,
            };
        }
        if self
            .lines
            .peek()
            .is_some_and(|line| line.starts_with(b"\\"))
        {
            self.mark_unended(hunk);
        }
        extent
    }

    fn mark_unended(&mut self, hunk: &mut Hunk) {
        self.lines.next();
        if let Some(line) = hunk.lines.last_mut() {
            line.unended = true;
        }
    }

    /// The text of a line, unless there were enough already.
    fn bounded_line(&mut self, line: &[u8]) -> Option<String> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = bounded(line, self.left.line_chars);
        if self.left.lines == 0 || text.len() > self.left.bytes {
            // What comes after it is left out too: no holes in a hunk.
            self.left.lines = 0;
            return None;
        }
        self.left.lines -= 1;
        self.left.bytes -= text.len();
        Some(text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HunkExtent {
    Whole,
    Partial,
}

/// One past the last line; where a side has none, its start is not a line.
fn end(start: u32, count: u32) -> u32 {
    match count {
        0 => start,
        count => start.saturating_add(count),
    }
}

fn bounded(line: &[u8], chars: usize) -> String {
    // Four bytes are the longest character: no more needs to be looked at.
    let most = chars.saturating_mul(4).saturating_add(4).min(line.len());
    let mut text = String::from_utf8_lossy(&line[..most]).into_owned();
    if let Some((cut, _)) = text.char_indices().nth(chars) {
        text.truncate(cut);
        text.push('…');
    } else if most < line.len() {
        text.push('…');
    }
    text
}

/// `-1,3 +1,4 @@ fn main() {` without the leading `@@ `.
fn hunk_header(header: &[u8]) -> Option<Hunk> {
    let text = bounded(header, 300);
    let (ranges, heading) = text.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let (old_start, old_lines) = range(old.strip_prefix('-')?)?;
    let (new_start, new_lines) = range(new.strip_prefix('+')?)?;
    Some(Hunk {
        old_start,
        old_lines,
        new_start,
        new_lines,
        heading: heading.trim().to_owned(),
        lines: Vec::new(),
    })
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests;
