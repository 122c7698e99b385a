//! What a line for a shell would run, as far as it can be told without one.
//!
//! To allow, a line is cut into its parts, and anything whose meaning is known
//! only to a shell (expansions, groups, redirections into files) is refused as
//! unclear. To deny, everything that might be run is looked at, however crudely
//! it was cut out. So what is not understood is never allowed and still denied.

use super::pattern::Pattern;

/// Why a line cannot be cut into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unclear {
    #[error("it holds an expansion (`$` or a backtick)")]
    Expansion,
    #[error("it holds a group or a brace")]
    Group,
    #[error("it redirects into or from a file")]
    Redirection,
    #[error("a quote or a backslash is left open")]
    Open,
    #[error("it holds a character that cannot be seen")]
    Invisible,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// As written, with single blanks between its words.
    written: String,
    /// Its words without their quotes, with single blanks between them.
    plain: String,
}

impl Part {
    /// A part as another reading found it.
    pub(super) fn of(written: &str, plain: &str) -> Self {
        Self {
            written: written.to_owned(),
            plain: plain.to_owned(),
        }
    }

    /// Whether it falls under a pattern, with its quotes and without: neither
    /// may turn one command into another.
    pub(super) fn fits(&self, pattern: &Pattern) -> bool {
        pattern.matches_words(&self.written) && pattern.matches_words(&self.plain)
    }

    pub(super) fn shown(&self) -> &str {
        &self.written
    }

    /// With its quotes and without.
    pub(super) fn spellings(&self) -> impl Iterator<Item = &str> {
        [self.written.as_str(), self.plain.as_str()].into_iter()
    }
}

/// Every way to read rows of a screen as a line: as they are, as one line that
/// was wrapped between words, and as one that was wrapped within a word.
pub(super) fn readings(text: &str) -> Vec<String> {
    let rows: Vec<&str> = text.lines().map(str::trim).collect();
    let mut readings = vec![text.to_owned()];
    if rows.len() > 1 {
        readings.push(rows.join(" "));
        readings.push(rows.concat());
    }
    readings
}

/// The parts of a compound command, in order.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, Unclear> {
    let mut splitter = Splitter::default();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                splitter.open_word();
                splitter.written.push(c);
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(inner) => splitter.both(visible(inner)?),
                        None => return Err(Unclear::Open),
                    }
                }
                splitter.written.push(c);
            }
            '"' => {
                splitter.open_word();
                splitter.written.push(c);
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some('$' | '`') => return Err(Unclear::Expansion),
                        Some('\\') => match rest.next() {
                            Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                                splitter.written.push('\\');
                                splitter.both(escaped);
                            }
                            Some('\n') | None => return Err(Unclear::Open),
                            Some(other) => {
                                splitter.both('\\');
                                splitter.both(visible(other)?);
                            }
                        },
                        Some(inner) => splitter.both(visible(inner)?),
                        None => return Err(Unclear::Open),
                    }
                }
                splitter.written.push(c);
            }
            '\\' => match rest.next() {
                Some(escaped) if escaped != '\n' => {
                    splitter.open_word();
                    splitter.written.push('\\');
                    splitter.both(visible(escaped)?);
                }
                _ => return Err(Unclear::Open),
            },
            '$' | '`' => return Err(Unclear::Expansion),
            '(' | ')' | '{' | '}' => return Err(Unclear::Group),
            '<' | '>' => {
                splitter.drop_descriptor();
                harmless_redirection(&mut rest)?;
                splitter.end_word();
            }
            '&' if rest.peek() == Some(&'>') => {
                rest.next();
                harmless_redirection(&mut rest)?;
                splitter.end_word();
            }
            ';' | '&' | '|' | '\n' => {
                // `&&`, `||`, `|&` and `;;` end a part as their first sign does.
                splitter.end_part();
            }
            ' ' | '\t' => splitter.end_word(),
            other => {
                splitter.open_word();
                splitter.both(visible(other)?);
            }
        }
    }
    splitter.end_part();
    Ok(splitter.parts)
}

#[derive(Default)]
struct Splitter {
    parts: Vec<Part>,
    written: String,
    plain: String,
    in_word: bool,
}

impl Splitter {
    fn open_word(&mut self) {
        if !self.in_word {
            self.in_word = true;
            if !self.written.is_empty() {
                self.written.push(' ');
                self.plain.push(' ');
            }
        }
    }

    fn both(&mut self, c: char) {
        self.written.push(c);
        self.plain.push(c);
    }

    fn end_word(&mut self) {
        self.in_word = false;
    }

    /// The `2` of `2>&1` is no word of the command.
    fn drop_descriptor(&mut self) {
        let last = self.written.rsplit(' ').next().unwrap_or_default().len();
        let digits = self.in_word
            && last > 0
            && self.written[self.written.len() - last..]
                .bytes()
                .all(|b| b.is_ascii_digit());
        if digits {
            self.written.truncate(self.written.len() - last);
            self.plain.truncate(self.plain.len() - last);
            self.written.truncate(self.written.trim_end().len());
            self.plain.truncate(self.plain.trim_end().len());
        }
        self.in_word = false;
    }

    fn end_part(&mut self) {
        self.in_word = false;
        let written = std::mem::take(&mut self.written);
        let plain = std::mem::take(&mut self.plain);
        if !written.is_empty() {
            self.parts.push(Part { written, plain });
        }
    }
}

/// Passes over `>&1`, `>/dev/null` and their like; anything else is unclear.
fn harmless_redirection(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Result<(), Unclear> {
    if rest.peek() == Some(&'>') {
        rest.next();
    }
    while rest.peek() == Some(&' ') {
        rest.next();
    }
    let mut target = String::new();
    while let Some(&c) = rest.peek() {
        let ends = c.is_whitespace() || matches!(c, ';' | '|');
        if ends || (c == '&' && !target.is_empty()) {
            break;
        }
        target.push(c);
        rest.next();
    }
    match target.as_str() {
        "&1" | "&2" | "/dev/null" => Ok(()),
        _ => Err(Unclear::Redirection),
    }
}

fn visible(c: char) -> Result<char, Unclear> {
    let invisible = matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    if invisible || (c.is_control() && c != '\n' && c != '\t') {
        return Err(Unclear::Invisible);
    }
    Ok(c)
}

/// Programs that run what follows them.
const WRAPPERS: [&str; 30] = [
    "then",
    "do",
    "else",
    "elif",
    "if",
    "while",
    "until",
    "!",
    "coproc",
    "trap",
    "watch",
    "busybox",
    "noglob",
    "nocorrect",
    "parallel",
    "select",
    "sudo",
    "doas",
    "env",
    "nohup",
    "nice",
    "ionice",
    "time",
    "timeout",
    "command",
    "builtin",
    "exec",
    "xargs",
    "stdbuf",
    "setsid",
];

/// Programs that read a line of their own from their arguments.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "eval"];

/// Shells within shells are looked into so far; each level is quoted anew.
const MAX_SHELL_DEPTH: u32 = 4;

/// Everything a line might run, for rules that deny: the whole, each part, by
/// the program's bare name, and without what runs it. Where the parts cannot be
/// told, every piece between two signs that could part commands.
pub(super) fn possible_commands(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    gather(text, 0, &mut all);
    all.sort();
    all.dedup();
    all
}

fn gather(text: &str, depth: u32, all: &mut Vec<String>) {
    for reading in readings(text) {
        all.push(single_blanks(&reading));
        let pieces: Vec<String> = match parts(&reading) {
            Ok(parts) => parts
                .into_iter()
                .flat_map(|part| [part.written, part.plain])
                .collect(),
            Err(_) => {
                let plain = reading.replace(['"', '\'', '\\'], "");
                let signs = |c: char| ";&|\n(){}`$<>".contains(c);
                plain.split(signs).map(str::to_owned).collect()
            }
        };
        let mut pieces: Vec<_> = pieces.iter().map(|piece| single_blanks(piece)).collect();
        pieces.dedup();
        for piece in pieces {
            add_with_inner(&piece, depth, all);
        }
    }
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn add_with_inner(piece: &str, depth: u32, all: &mut Vec<String>) {
    let mut words: Vec<&str> = piece.split(' ').filter(|word| !word.is_empty()).collect();
    while let Some(&program) = words.first() {
        all.push(words.join(" "));
        let bare = program.rsplit('/').next().unwrap_or(program);
        if bare != program && !bare.is_empty() {
            words[0] = bare;
            all.push(words.join(" "));
        }
        let assigns = program.contains('=') && !program.starts_with('=');
        let is_shell = SHELLS.contains(&bare);
        if !WRAPPERS.contains(&bare) && !is_shell && !assigns {
            return;
        }
        // Its own options, variables and durations are passed over.
        let own = |word: &&&str| {
            word.starts_with('-')
                || word.contains('=')
                || word.starts_with(|c: char| c.is_ascii_digit())
        };
        words.remove(0);
        let passed = words.iter().take_while(own).count();
        words.drain(..passed);
        if is_shell && depth < MAX_SHELL_DEPTH {
            gather(&words.join(" "), depth + 1, all);
            return;
        }
    }
}

/// The words of a line that may name files.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for reading in readings(text) {
        let plain = reading.replace(['"', '\'', '\\'], "");
        let signs = |c: char| c.is_whitespace() || ";&|(){}`$<>=:,".contains(c);
        words.extend(
            plain
                .split(signs)
                .filter(|word| !word.is_empty())
                .map(str::to_owned),
        );
    }
    words.sort();
    words.dedup();
    words
}
