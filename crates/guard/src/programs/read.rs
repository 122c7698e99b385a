//! The words of one command line, read with the program's profile.

use super::profile::{Args, Kind, Profile};
use crate::shell::value::{Atom, Value};
use crate::shell::variables::is_harmless_variable;

/// Something that a command line makes a program do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    Reads(Value),
    Lists(Value),
    Writes(Value),
    /// Everything below is read or listed.
    Recurses(Value),
    /// The same, but for what begins with a dot.
    RecursesVisible(Value),
    Folder(Value),
    /// A command with its words.
    Command(Vec<Value>),
    /// A line for a shell.
    Script(Value),
    /// The words that line is given, the first as `$0`.
    Arguments(Vec<Value>),
    /// A file with a program that is run.
    Program(Value),
    /// Code of another language.
    Code(Value),
    /// It does more than a wildcard means: the rule has to name the word.
    Risk(String),
    /// The profile does not know the word.
    Unknown(String),
    /// What the program is told cannot be seen from here.
    Hidden(String),
}

/// Everything a command line makes a program do, its name left out.
pub(crate) fn facts(profile: &Profile, words: &[Value]) -> Vec<Fact> {
    let mut reader = Reader {
        facts: Vec::new(),
        recurses: profile.recurses,
        pattern_given: false,
        line_follows: false,
        lists_archive: false,
        hidden_too: false,
    };
    if profile.named {
        reader.facts.push(Fact::Risk(String::new()));
    }
    match words.split_first() {
        Some((first, rest)) if profile.bundled && !first.beginning().starts_with('-') => {
            let mut dashed = Value::text("-");
            dashed.push(first);
            reader.read(profile, &[&[dashed], rest].concat());
        }
        _ => reader.read(profile, words),
    }
    let Reader {
        mut facts,
        lists_archive,
        hidden_too,
        ..
    } = reader;
    if lists_archive && profile.bundled {
        facts.retain(|fact| !matches!(fact, Fact::Risk(name) if name == "-f" || name == "--file"));
        for fact in &mut facts {
            if let Fact::Writes(file) = fact {
                *fact = Fact::Reads(std::mem::take(file));
            }
        }
    }
    if profile.skips_hidden && !hidden_too {
        for fact in &mut facts {
            if let Fact::Recurses(folder) = fact {
                *fact = Fact::RecursesVisible(std::mem::take(folder));
            }
        }
    }
    facts
}

struct Reader {
    facts: Vec<Fact>,
    recurses: bool,
    /// Whether an option held the pattern.
    pattern_given: bool,
    /// Whether a shell was told that its first word is a line.
    line_follows: bool,
    /// Whether an archive is only listed.
    lists_archive: bool,
    /// Whether it was told to go to what begins with a dot.
    hidden_too: bool,
}

impl Reader {
    fn read(&mut self, profile: &Profile, words: &[Value]) {
        let mut plain: Vec<Value> = Vec::new();
        let mut at = 0;
        let mut options_over = false;
        while at < words.len() {
            let word = &words[at];
            at += 1;
            let text = word.beginning();
            // Some subcommands are spelled like options: `git config --get`.
            let is_sub = plain.is_empty()
                && word.is_known()
                && profile.subcommands.contains_key(text.as_str());
            if profile.shell && plain.is_empty() && !options_over && text.starts_with('+') {
                at += usize::from(matches!(text.as_str(), "+O" | "+o"));
                continue;
            }
            let dash = text == "-" && word.is_known() && !profile.options.contains_key("-");
            let plain_word = !word.may_be_option() || dash;
            if options_over || is_sub || plain_word {
                if !profile.subcommands.is_empty() {
                    let name = word.known().unwrap_or_default();
                    match profile.subcommands.get(&name) {
                        Some(sub) => {
                            if sub.named {
                                self.facts.push(Fact::Risk(name));
                            }
                            self.recurses |= sub.recurses;
                            return self.read(sub, &words[at..]);
                        }
                        None if name.starts_with('+') && profile.any_option => continue,
                        None if profile.args == Args::Setting => {}
                        None => {
                            self.facts.push(Fact::Unknown(word.to_string()));
                            self.paths_of_unknown(&words[at..]);
                            return;
                        }
                    }
                }
                if self.line_follows {
                    let rest = words.get(at..).unwrap_or_default().to_vec();
                    self.facts
                        .extend([Fact::Script(word.clone()), Fact::Arguments(rest)]);
                    return;
                }
                plain.push(word.clone());
                let command = matches!(profile.args, Args::Command)
                    || (profile.args == Args::SecondCommand && plain.len() == 2);
                if command && !(profile.assigns && text.contains('=')) {
                    plain.extend_from_slice(&words[at..]);
                    break;
                }
                options_over |= profile.options_first;
                continue;
            }
            if text == "--" && word.is_known() {
                if let Some(other) = profile.behind.as_deref().and_then(super::profile) {
                    self.arguments(profile, plain);
                    return self.read(other, &words[at..]);
                }
                options_over = true;
                continue;
            }
            if !text.starts_with('-') && self.line_follows {
                let rest = words.get(at..).unwrap_or_default().to_vec();
                self.facts
                    .extend([Fact::Script(word.clone()), Fact::Arguments(rest)]);
                return;
            }
            if !text.starts_with('-') {
                // It may become an option, and the person cannot see which.
                let runs = |kind: &Kind| {
                    matches!(
                        kind,
                        Kind::Writes | Kind::Config | Kind::Runs | Kind::Commands | Kind::Code
                    )
                };
                let risky = profile.options.values().any(runs);
                if risky && !profile.single_dash {
                    self.facts.push(Fact::Hidden(word.to_string()));
                }
                plain.push(word.clone());
                continue;
            }
            let long = text.starts_with("--") || profile.single_dash;
            if long {
                self.long(profile, word, words, &mut at);
            } else {
                self.cluster(profile, word, words, &mut at);
            }
        }
        self.arguments(profile, plain);
    }

    fn long(&mut self, profile: &Profile, word: &Value, words: &[Value], at: &mut usize) {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.clone(), None),
        };
        let Some(name) = name.known() else {
            self.facts.push(Fact::Hidden(word.to_string()));
            return;
        };
        let number = name.trim_start_matches('-');
        if profile.numbers && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        let kind = profile.options.get(&name).copied().or_else(|| {
            // An abbreviation may mean any option that begins so.
            let meant = profile.options.iter().filter(|(known, _)| {
                name.starts_with("--") && name.len() > 2 && known.starts_with(&name)
            });
            meant.map(|(_, kind)| *kind).max()
        });
        let Some(kind) = kind else {
            // Short options may also be written together where long ones have one dash.
            if !profile.any_option || is_loud(&name) {
                self.facts.push(Fact::Unknown(name));
            }
            if let Some(value) = attached {
                if profile.args == Args::Inside && leads_away(&value) {
                    self.facts.push(Fact::Program(value.clone()));
                }
                self.facts.push(Fact::Lists(value));
            }
            return;
        };
        self.note(profile, &name);
        let value = match attached {
            Some(value) => Some(value),
            None if kind.takes_value() => {
                let value = words.get(*at).cloned();
                *at += 1;
                value
            }
            None => None,
        };
        self.option(&name, kind, value, words, at);
    }

    fn cluster(&mut self, profile: &Profile, word: &Value, words: &[Value], at: &mut usize) {
        let text = word.beginning();
        let letters: Vec<char> = text.chars().skip(1).collect();
        // Some programs have long names behind one dash.
        let name = text.split('=').next().unwrap_or_default();
        if name.len() > 2 && profile.options.contains_key(name) {
            return self.long(profile, word, words, at);
        }
        if profile.shell && word.is_known() && letters.iter().all(char::is_ascii_alphabetic) {
            *at += letters.iter().filter(|c| "oO".contains(**c)).count();
            if letters.contains(&'c') {
                self.line_follows = true;
                self.facts.push(Fact::Risk("-c".to_owned()));
            }
            if letters.contains(&'s') {
                self.facts.push(Fact::Risk("-s".to_owned()));
            }
            return;
        }
        if let Some(kind) = profile
            .options
            .get(text.as_str())
            .filter(|_| word.is_known())
        {
            let value = kind
                .takes_value()
                .then(|| words.get(*at).cloned())
                .flatten();
            *at += usize::from(kind.takes_value());
            self.note(profile, &text);
            self.option(&text, *kind, value, words, at);
            return;
        }
        for (index, letter) in letters.iter().enumerate() {
            let name = format!("-{letter}");
            let rest = word.skip(index + 2);
            self.note(profile, &name);
            match profile.options.get(&name) {
                Some(Kind::Optional) => return,
                Some(kind) if kind.takes_value() => {
                    let value = if rest.0.is_empty() {
                        *at += 1;
                        words.get(*at - 1).cloned()
                    } else {
                        Some(rest)
                    };
                    self.option(&name, *kind, value, words, at);
                    return;
                }
                Some(kind) => self.option(&name, *kind, None, words, at),
                None if profile.numbers && letter.is_ascii_digit() => {}
                None => {
                    if !profile.any_option {
                        self.facts.push(Fact::Unknown(text.clone()));
                    }
                    if !rest.0.is_empty() {
                        self.facts.push(Fact::Lists(rest));
                    }
                    return;
                }
            }
        }
        if letters.len() + 1 < word.0.len() {
            self.facts.push(Fact::Hidden(word.to_string()));
        }
    }

    /// Remembers that an option held the pattern.
    fn note(&mut self, profile: &Profile, name: &str) {
        self.lists_archive |= matches!(name, "-t" | "--list");
        self.hidden_too |= matches!(name, "-u" | "-uu" | "-uuu" | "-." | "--unrestricted")
            || name.starts_with("--hi");
        self.pattern_given |= profile.pattern_in.iter().any(|known| {
            known == name || (name.len() > 3 && known.starts_with("--") && known.starts_with(name))
        });
    }

    fn option(
        &mut self,
        name: &str,
        kind: Kind,
        value: Option<Value>,
        words: &[Value],
        at: &mut usize,
    ) {
        let value = value.unwrap_or_default();
        let risk = Fact::Risk(name.to_owned());
        match kind {
            Kind::Flag | Kind::Value | Kind::Optional => {}
            Kind::Pair => *at += 1,
            Kind::Recurses => self.recurses = true,
            Kind::Lists => self.facts.push(Fact::Lists(value)),
            Kind::Reads => self.facts.push(Fact::Reads(value)),
            Kind::Names => self.facts.extend([risk, Fact::Reads(value)]),
            Kind::Folder => self.facts.push(Fact::Folder(value)),
            Kind::Writes if value.known().as_deref() == Some("/dev/null") => {}
            Kind::Writes => self.facts.extend([risk, Fact::Writes(value)]),
            Kind::Changes | Kind::Danger => self.facts.push(risk),
            Kind::Config => self.facts.extend([risk, Fact::Lists(value)]),
            Kind::Loads if is_name_of_file(&value) => {
                self.facts
                    .extend([Fact::Program(value.clone()), Fact::Reads(value)]);
            }
            Kind::Loads => self.facts.extend([risk, Fact::Lists(value)]),
            Kind::Format => {
                // `curl -w @file`, `%output{file}`
                let text = value.to_string();
                if text.starts_with('@') || text.contains("%output") || !value.is_known() {
                    self.facts.extend([risk, Fact::Lists(value)]);
                }
            }
            Kind::Report => {
                if let Some((_, file)) = value.split_once(':') {
                    self.facts.extend([risk, Fact::Writes(file)]);
                }
            }
            Kind::Code => self.facts.extend([risk, Fact::Code(value)]),
            Kind::Runs => {
                let line = match value.split_once('=') {
                    Some((before, line)) if before.known().as_deref() == Some("exec") => line,
                    _ => value,
                };
                self.facts.extend([risk, Fact::Script(line)]);
            }
            Kind::Module => {
                let name = value.known().unwrap_or_default();
                self.facts.extend([risk, Fact::Risk(value.to_string())]);
                let rest = words.get(*at..).unwrap_or_default();
                *at = words.len();
                match super::profile(&name) {
                    Some(profile) => self.read(profile, rest),
                    None => self.facts.extend(rest.iter().cloned().map(Fact::Lists)),
                }
            }
            Kind::Commands => {
                let ends = |word: &Value| matches!(word.known().as_deref(), Some(";" | "+"));
                let rest = words.get(*at..).unwrap_or_default();
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                *at += end + 1;
                let mut command = rest[..end].to_vec();
                if !value.0.is_empty() {
                    command.insert(0, value);
                }
                self.facts.push(Fact::Command(command));
            }
        }
    }

    fn arguments(&mut self, profile: &Profile, mut plain: Vec<Value>) {
        if profile.assigns {
            let is_setting = |word: &&Value| word.beginning().contains('=');
            let settings = plain.iter().take_while(is_setting).count();
            for word in plain.drain(..settings) {
                let name = word.beginning();
                let name = name.split('=').next().unwrap_or_default();
                if !is_harmless_variable(name) {
                    self.facts.push(Fact::Risk(word.to_string()));
                }
            }
        }
        let deep = self.recurses;
        let each = |facts: &mut Vec<Fact>, words: &[Value], make: fn(Value) -> Fact| {
            for word in words {
                if deep {
                    facts.push(Fact::Recurses(word.clone()));
                }
                facts.push(make(word.clone()));
            }
        };
        let given = std::mem::take(&mut self.pattern_given);
        for word in &plain {
            let text = word.known().unwrap_or_default();
            if profile.asked_words.contains(&text) {
                self.facts.push(Fact::Risk(text));
            }
        }
        let facts = &mut self.facts;
        match profile.args {
            // `make test CC=x`: settings stand anywhere.
            Args::Text if profile.assigns => {
                for word in &plain {
                    let text = word.beginning();
                    if text
                        .split_once('=')
                        .is_some_and(|(name, _)| name != "V" && !is_harmless_variable(name))
                    {
                        facts.push(Fact::Risk(word.to_string()));
                    }
                }
            }
            Args::Text => {}
            Args::Reads => each(facts, &plain, Fact::Reads),
            Args::Lists => each(facts, &plain, Fact::Lists),
            Args::Writes => each(facts, &plain, Fact::Writes),
            Args::Edits => {
                each(facts, &plain, Fact::Reads);
                each(facts, &plain, Fact::Writes);
            }
            Args::Output => {
                each(facts, &plain[..plain.len().min(1)], Fact::Reads);
                for word in plain.iter().skip(1) {
                    facts.extend([Fact::Risk(word.to_string()), Fact::Writes(word.clone())]);
                }
            }
            Args::Links => {
                if let Some((last, others)) = plain.split_last() {
                    each(facts, others, Fact::Reads);
                    // Through the link all below is reached.
                    facts.extend(others.iter().cloned().map(Fact::Recurses));
                    let alone = others.is_empty();
                    facts.push(if alone {
                        Fact::Reads(last.clone())
                    } else {
                        Fact::Writes(last.clone())
                    });
                }
            }
            Args::Pages => {
                let path = |word: &&Value| !word.is_known() || word.beginning().contains('/');
                facts.extend(plain.iter().filter(path).cloned().map(Fact::Reads));
            }
            Args::Processes => {
                for word in plain.iter().map(ToString::to_string) {
                    // The environment of processes.
                    if word.contains(['e', 'E', '\u{2026}']) {
                        facts.push(Fact::Risk(word));
                    }
                }
            }
            Args::Format => {
                let other = plain
                    .iter()
                    .filter(|word| !word.beginning().starts_with('+'));
                facts.extend(other.map(|word| Fact::Risk(word.to_string())));
            }
            Args::Inside => {
                for word in &plain {
                    if word.beginning().starts_with('@') {
                        facts.push(Fact::Risk(word.to_string()));
                    }
                    facts.push(Fact::Program(word.clone()));
                }
                each(facts, &plain, Fact::Reads);
            }
            Args::Resources => {
                for word in &plain {
                    if !word.is_known() || word.to_string().contains("secret") {
                        facts.push(Fact::Risk(word.to_string()));
                    }
                }
            }
            Args::Setting => {
                if plain.len() > 1 {
                    facts.extend(plain.iter().map(|word| Fact::Risk(word.to_string())));
                }
            }
            Args::Copies => {
                // A host of its own: `host:file`.
                for word in &plain {
                    let text = word.to_string();
                    let colon = text.find(':').unwrap_or(usize::MAX);
                    if colon < text.find('/').unwrap_or(text.len()) {
                        facts.push(Fact::Risk(text));
                    }
                }
                if let Some((last, others)) = plain.split_last() {
                    each(facts, others, Fact::Reads);
                    each(facts, std::slice::from_ref(last), Fact::Writes);
                }
            }
            Args::Pattern => {
                let files = &plain[usize::from(!given).min(plain.len())..];
                each(facts, files, Fact::Reads);
                if deep && files.is_empty() {
                    facts.push(Fact::Recurses(Value::text(".")));
                }
            }
            Args::Command => {
                if !plain.is_empty() {
                    facts.push(Fact::Command(plain));
                    return;
                }
            }
            Args::SecondCommand => {
                if plain.len() > 1 {
                    facts.push(Fact::Command(plain.split_off(1)));
                }
                return;
            }
            Args::Script => {
                let mut line = Value::default();
                for word in &plain {
                    if !line.0.is_empty() {
                        line.0.push(Atom::Char(' '));
                    }
                    line.push(word);
                }
                if !plain.is_empty() {
                    facts.push(Fact::Script(line));
                }
            }
            Args::Program => {
                if let Some((program, rest)) = plain.split_first() {
                    if program.known().as_deref() == Some("-") {
                        facts.push(Fact::Hidden("-".to_owned()));
                    }
                    facts.push(Fact::Program(program.clone()));
                    each(facts, std::slice::from_ref(program), Fact::Reads);
                    each(facts, rest, Fact::Lists);
                }
            }
            Args::Remote | Args::RemoteUrl => {
                let addressed = profile.args == Args::RemoteUrl;
                for (index, word) in plain.iter().enumerate() {
                    let text = word.known().unwrap_or_default();
                    let name = !text.is_empty()
                        && !text.contains("::")
                        && match index {
                            0 => {
                                text.chars()
                                    .next()
                                    .is_some_and(|c| c.is_ascii_alphanumeric())
                                    && text
                                        .chars()
                                        .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
                            }
                            _ => !text.starts_with(['/', '~', '.']) && !text.contains("://"),
                        };
                    let address = addressed && index == 0 && is_address(&text);
                    if !name && !address {
                        facts.push(Fact::Risk(word.to_string()));
                    }
                    if addressed && index == 1 {
                        facts.push(Fact::Writes(word.clone()));
                    }
                }
            }
            Args::Url => {
                for word in &plain {
                    if !is_address(&word.known().unwrap_or_default()) {
                        facts.push(Fact::Risk(word.to_string()));
                    }
                }
            }
            Args::AskWords => {
                facts.extend(plain.iter().map(|word| Fact::Risk(word.to_string())));
            }
            Args::Named => each(facts, &plain, Fact::Reads),
            Args::Ask => {
                facts.push(Fact::Risk(String::new()));
                facts.extend(plain.iter().cloned().map(Fact::Recurses));
                each(facts, &plain, Fact::Reads);
            }
        }
        if deep && plain.is_empty() {
            facts.push(Fact::Recurses(Value::text(".")));
        }
    }

    fn paths_of_unknown(&mut self, words: &[Value]) {
        for word in words {
            self.facts.push(Fact::Lists(word.clone()));
        }
    }
}

/// Whether an option that is not known sounds as if it ran something.
fn is_loud(name: &str) -> bool {
    const SOUNDS: [&str; 13] = [
        "exec", "command", "cmd", "shell", "script", "eval", "hook", "plugin", "preload", "proxy",
        "pager", "editor", "wrapper",
    ];
    name.starts_with("--")
        && !name.starts_with("--no-")
        && SOUNDS.iter().any(|sound| name.contains(sound))
}

/// Whether a path may lead out of the folder.
fn leads_away(value: &Value) -> bool {
    let text = value.to_string();
    text.starts_with(['/', '~', '\u{2026}']) || text.contains("..")
}

/// Whether a value is a path and no settings in themselves.
fn is_name_of_file(value: &Value) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/@+-~".contains(c);
    value.known().is_some_and(|text| text.chars().all(plain))
}

/// An address of a host elsewhere, without a name, a question or what only this
/// machine can reach.
fn is_address(text: &str) -> bool {
    let Some(rest) = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
    else {
        return false;
    };
    let host = rest.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let plain = rest
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._~/:%+,=&?".contains(c));
    let own = host == "localhost" || host.ends_with(".internal") || host.ends_with(".local");
    let number = host
        .chars()
        .all(|c| c.is_ascii_digit() || c == '.' || c == 'x');
    plain && host.contains('.') && !own && !number
}

/// The words of a command line in the form that rules which deny compare: options one
/// by one under one name, and the words that are no options.
pub(crate) fn without_options(
    profile: Option<&Profile>,
    words: &[Value],
) -> (Vec<String>, Vec<Value>) {
    let mut options = Vec::new();
    let mut plain = Vec::new();
    let mut profile = profile;
    let mut over = false;
    let mut at = 0;
    while at < words.len() {
        let word = &words[at];
        at += 1;
        let text = word.beginning();
        if over || !text.starts_with('-') || text == "-" {
            if let Some(sub) = profile.and_then(|profile| profile.subcommands.get(&text)) {
                profile = Some(sub);
            }
            plain.push(word.clone());
            continue;
        }
        if text == "--" {
            over = true;
            continue;
        }
        let same = |name: &str| {
            let other = profile.and_then(|profile| profile.same.get(name));
            other.map_or_else(|| name.to_owned(), Clone::clone)
        };
        let takes = |name: &str| {
            let kind = profile.and_then(|profile| profile.options.get(name));
            kind.is_some_and(|kind| kind.takes_value())
        };
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(&text);
            let names = profile.iter().flat_map(|profile| profile.options.keys());
            let longer = profile.iter().flat_map(|profile| profile.same.keys());
            let meant: Vec<&String> = names
                .chain(longer)
                .filter(|known| known.starts_with(name))
                .collect();
            options.push(text.clone());
            options.extend(meant.iter().map(|name| same(name)));
            options.push(same(name));
            at += usize::from(takes(name) && !text.contains('='));
            continue;
        }
        options.push(text.clone());
        for (index, letter) in text.chars().enumerate().skip(1) {
            let name = format!("-{letter}");
            options.push(same(&name));
            if takes(&name) {
                at += usize::from(index + 1 == text.chars().count());
                break;
            }
        }
    }
    options.sort();
    options.dedup();
    (options, plain)
}
