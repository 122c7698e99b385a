//! What `git diff` prints, as data.
//!
//! Two texts are read here: the list of changed files (`--raw --numstat -z`) and
//! the patch. Neither is trusted: the files are an agent's, so their names and
//! lines are anything, and a patch may be cut anywhere. What cannot be made sense
//! of is passed over, what is over a limit is left out and marked, and nothing
//! here panics or takes more memory than the limits say.

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
            if let Some(entry) = entries.iter_mut().find(|entry| entry.path == path) {
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
                        section.truncated |= self.fill(&mut hunk) == Filled::InPart;
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
    fn fill(&mut self, hunk: &mut Hunk) -> Filled {
        let mut filled = Filled::Wholly;
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
                    self.unend(hunk);
                    continue;
                }
                _ => return Filled::InPart,
            };
            match side {
                LineSide::Both { .. } => (old, new) = (old + 1, new + 1),
                LineSide::Old { .. } => old += 1,
                LineSide::New { .. } => new += 1,
            }
            let text = self.lines.next().and_then(|line| line.get(1..));
            filled = match self.take(text.unwrap_or_default()) {
                Some(text) => {
                    let unended = false;
                    hunk.lines.push(Line {
                        side,
                        text,
                        unended,
                    });
                    filled
                }
                None => Filled::InPart,
            };
        }
        if self
            .lines
            .peek()
            .is_some_and(|line| line.starts_with(b"\\"))
        {
            self.unend(hunk);
        }
        filled
    }

    fn unend(&mut self, hunk: &mut Hunk) {
        self.lines.next();
        if let Some(line) = hunk.lines.last_mut() {
            line.unended = true;
        }
    }

    /// The text of a line, unless there were enough already.
    fn take(&mut self, line: &[u8]) -> Option<String> {
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
enum Filled {
    Wholly,
    InPart,
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

/// The name behind `---` or `+++`; none where the file is not.
fn side_name(name: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    // Git puts a tab behind a name with spaces in it.
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    if name == b"/dev/null" {
        return None;
    }
    let name = unquoted(name);
    Some(name.strip_prefix(prefix).unwrap_or(&name).to_vec())
}

/// Both names of `a/old b/new`. Unquoted ones are told apart only where they are
/// the same, which they are wherever no later line names them.
fn both_names(names: &[u8]) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let name = |name: &[u8], prefix: &[u8]| {
        let name = unquoted(name);
        Some(name.strip_prefix(prefix).unwrap_or(&name).to_vec())
    };
    if let Some(length) = quoted_length(names) {
        let new = names.get(length + 1..).unwrap_or_default();
        return (name(&names[..length], b"a/"), name(new, b"b/"));
    }
    let middle = names.len() / 2;
    let (old, new) = names.split_at(middle);
    let new = new.strip_prefix(b" ").unwrap_or(new);
    if old.get(2..).is_some() && old.get(2..) == new.get(2..) {
        return (name(old, b"a/"), name(new, b"b/"));
    }
    (None, None)
}

/// How long the quoted name is that a text begins with.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let inside = text.strip_prefix(b"\"")?;
    for (place, byte) in inside.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(place + 2),
            _ => {}
        }
    }
    None
}

/// A name as it is: git writes one with quotes, backslashes or control characters
/// as C would.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let inside = name
        .strip_prefix(b"\"")
        .and_then(|name| name.strip_suffix(b"\""));
    let Some(inside) = inside else {
        return name.to_vec();
    };
    let mut plain = Vec::with_capacity(inside.len());
    let mut rest = inside.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'a') => plain.push(7),
            Some(b'b') => plain.push(8),
            Some(b't') => plain.push(b'\t'),
            Some(b'n') => plain.push(b'\n'),
            Some(b'v') => plain.push(11),
            Some(b'f') => plain.push(12),
            Some(b'r') => plain.push(b'\r'),
            Some(first @ b'0'..=b'7') => {
                let mut digits = std::iter::once(first).chain(rest.by_ref().take(2));
                let value = digits.try_fold(0_u32, |value, digit| {
                    let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
                    Some(value * 8 + u32::from(digit))
                });
                plain.push(
                    value
                        .and_then(|value| u8::try_from(value).ok())
                        .unwrap_or(b'?'),
                );
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AMPLE: PatchLimits = PatchLimits {
        lines: 1000,
        bytes: 100_000,
        line_chars: 200,
    };

    fn entry(path: &str, change: Change, additions: u64, deletions: u64) -> Entry {
        Entry {
            path: path.as_bytes().to_vec(),
            old_path: None,
            change,
            binary: false,
            additions,
            deletions,
        }
    }

    #[test]
    fn the_list_has_every_kind_of_change() {
        let output = b":100755 100644 4cb29ea 0000000 M\0a.txt\0:100644 100644 12cfe17 0000000 M\0bin\0\
            :100644 100644 061afc8 da9ccb5 R088\0ren.txt\0dir.txt\0:000000 100644 0000000 e69de29 A\0empty\0\
            :000000 000000 0000000 0000000 U\0fought\0:120000 100644 8d14cbf 0000000 T\0link\0\
            :100644 000000 45b983b 0000000 D\0sp ace\"q.txt\0\
            2\t2\ta.txt\0-\t-\tbin\x00001\t0\t\0ren.txt\0dir.txt\x00000\t0\tempty\x00001\t1\tlink\x00000\t1\tsp ace\"q.txt\0";
        let renamed = Entry {
            old_path: Some(b"ren.txt".to_vec()),
            ..entry("dir.txt", Change::Renamed, 1, 0)
        };
        let binary = Entry {
            binary: true,
            ..entry("bin", Change::Modified, 0, 0)
        };
        assert_eq!(
            parse_list(output),
            [
                entry("a.txt", Change::Modified, 2, 2),
                binary,
                renamed,
                entry("empty", Change::Added, 0, 0),
                entry("link", Change::Retyped, 1, 1),
                entry("sp ace\"q.txt", Change::Deleted, 0, 1),
            ]
        );
        assert_eq!(parse_list(b""), []);
    }

    #[test]
    fn a_patch_is_files_hunks_and_lines() {
        let patch = b"diff --git a/a.txt b/a.txt\nold mode 100755\nnew mode 100644\n\
            index 4cb29ea..a623a0b\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@ fn main() {\n one\n-two\n\
            -three\n+--- b/2\n+three\n\\ No newline at end of file\n\
            diff --git a/bin b/bin\nindex 12cfe17..75f18d7 100644\nBinary files a/bin and b/bin differ\n\
            diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n\
            diff --git \"a/q\\\"\\303\\244\" \"b/q\\\"\\303\\244\"\ndeleted file mode 100644\nindex 45b983b..0000000\n\
            --- \"a/q\\\"\\303\\244\"\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-hi\n\
            diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n";
        let sections = parse_patch(patch, AMPLE);
        let line = |side, text: &str| Line {
            side,
            text: text.to_owned(),
            unended: false,
        };
        let hunk = Hunk {
            old_start: 1,
            old_lines: 3,
            new_start: 1,
            new_lines: 3,
            heading: "fn main() {".to_owned(),
            lines: vec![
                line(LineSide::Both { old: 1, new: 1 }, "one"),
                line(LineSide::Old { old: 2 }, "two"),
                line(LineSide::Old { old: 3 }, "three"),
                line(LineSide::New { new: 2 }, "--- b/2"),
                Line {
                    unended: true,
                    ..line(LineSide::New { new: 3 }, "three")
                },
            ],
        };
        assert_eq!(sections[0].hunks, [hunk]);
        assert!(sections[1].binary && sections[1].hunks.is_empty());
        let names: Vec<_> = sections
            .iter()
            .map(|section| {
                let text = |name: &Option<Vec<u8>>| {
                    name.as_ref()
                        .map(|name| String::from_utf8_lossy(name).into_owned())
                };
                (text(&section.old_path), text(&section.new_path))
            })
            .collect();
        let both = |old: &str, new: &str| (Some(old.to_owned()), Some(new.to_owned()));
        assert_eq!(
            names,
            [
                both("a.txt", "a.txt"),
                both("bin", "bin"),
                both("old name", "new name"),
                (Some("q\"ä".to_owned()), None),
                (None, Some("empty".to_owned())),
            ]
        );
        assert!(sections.iter().all(|section| !section.truncated));
    }

    #[test]
    fn what_is_over_a_limit_is_left_out_and_said() {
        let patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n\
            diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -0,0 +1 @@\n+four\n";
        let few = PatchLimits { lines: 2, ..AMPLE };
        let sections = parse_patch(patch, few);
        let shown: Vec<_> = sections
            .iter()
            .map(|section| (section.hunks[0].lines.len(), section.truncated))
            .collect();
        assert_eq!(shown, [(2, true), (0, true)]);
        let small = PatchLimits { bytes: 5, ..AMPLE };
        assert_eq!(parse_patch(patch, small)[0].hunks[0].lines.len(), 1);
        let narrow = PatchLimits {
            line_chars: 2,
            ..AMPLE
        };
        assert_eq!(parse_patch(patch, narrow)[0].hunks[0].lines[0].text, "on…");
        // Cut off in the middle, as by a limit on the output of git.
        let within = patch.windows(4).position(|four| four == b"+two").unwrap();
        let cut = parse_patch(&patch[..within + 2], AMPLE);
        assert_eq!((cut.len(), cut[0].truncated), (1, true));
    }

    /// Lines of a hunk, as a model to be written and read again.
    fn hunk_lines() -> impl Strategy<Value = Vec<(u8, String)>> {
        let line = (0_u8..3, "[ -~äß]{0,12}");
        proptest::collection::vec(line, 1..20)
    }

    fn written(files: &[(String, Vec<(u8, String)>)]) -> String {
        let mut patch = String::new();
        for (name, lines) in files {
            let count = |left_out: u8| lines.iter().filter(|(side, _)| *side != left_out).count();
            let start = |count: usize| usize::from(count > 0);
            let (old, new) = (count(2), count(1));
            patch.push_str(&format!(
                "diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n\
                 @@ -{},{old} +{},{new} @@\n",
                start(old),
                start(new)
            ));
            for (side, text) in lines {
                let sign = [' ', '-', '+'][usize::from(*side)];
                patch.push_str(&format!("{sign}{text}\n"));
            }
        }
        patch
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(
            files in proptest::collection::vec(("[a-z /.]{1,12}[a-z]", hunk_lines()), 0..5)
        ) {
            let sections = parse_patch(written(&files).as_bytes(), AMPLE);
            prop_assert_eq!(sections.len(), files.len());
            for (section, (name, lines)) in sections.iter().zip(&files) {
                prop_assert!(!section.truncated);
                prop_assert_eq!(section.new_path.as_deref(), Some(name.as_bytes()));
                prop_assert_eq!(section.old_path.as_deref(), Some(name.as_bytes()));
                let read: Vec<_> = section.hunks[0].lines.iter().map(|line| {
                    let side = match line.side {
                        LineSide::Both { .. } => 0_u8,
                        LineSide::Old { .. } => 1,
                        LineSide::New { .. } => 2,
                    };
                    (side, line.text.clone())
                }).collect();
                prop_assert_eq!(&read, lines);
            }
        }

        #[test]
        fn anything_is_read_within_the_limits(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just(b"diff --git a/x b/x\n".to_vec()),
                    Just(b"@@ -1,3 +1,2 @@\n".to_vec()),
                    Just(b"@@ -4294967295,9 +4294967295,9 @@\n".to_vec()),
                    Just(b"--- \"a/\\777\"\n".to_vec()),
                    Just(b"+a\n-b\n c\n\\ No\n".to_vec()),
                    proptest::collection::vec(any::<u8>(), 0..40),
                ],
                0..30,
            ),
            lines in 0_usize..10,
            bytes in 0_usize..50,
        ) {
            let patch = pieces.concat();
            let limits = PatchLimits { lines, bytes, line_chars: 10 };
            let sections = parse_patch(&patch, limits);
            let shown = || sections.iter().flat_map(|s| &s.hunks).flat_map(|h| &h.lines);
            prop_assert!(shown().count() <= lines);
            prop_assert!(shown().map(|line| line.text.len()).sum::<usize>() <= bytes);
            let entries = parse_list(&patch);
            prop_assert!(entries.iter().all(|entry| !entry.path.is_empty()));
        }
    }
}
