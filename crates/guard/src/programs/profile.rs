//! The profiles themselves, as the data files declare them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// What an option, or a word that is none, makes the program do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Nothing beyond the program's own work, without a value.
    Flag,
    /// The same, with a value.
    Value,
    /// The same, with two values.
    Pair,
    /// A value may follow, but only within the same word.
    Optional,
    /// Its value is a file or folder whose names are shown.
    Lists,
    /// Goes into folders.
    Recurses,
    Reads,
    /// Its value is a file with the names of files that are read.
    Names,
    /// Where it works.
    Folder,
    Writes,
    /// Without a value: changes what it only read before.
    Changes,
    /// Takes settings, files of settings or libraries, which make it run something.
    Config,
    /// Its value is a file or folder whose code or settings are obeyed.
    Loads,
    /// Its value says what is printed, where it names no file.
    Format,
    /// Its value is a kind of report, and behind a colon the file it is written to.
    Report,
    /// Its value is a line for a shell or a program.
    Runs,
    /// A program of the language's own follows, with its words.
    Module,
    /// A command follows, to a `;`, a `+` or the end.
    Commands,
    /// Its value is code of another language.
    Code,
    /// Without a value: runs something, or speaks with others.
    Danger,
}

impl Kind {
    pub(super) const fn takes_value(self) -> bool {
        !matches!(
            self,
            Self::Flag
                | Self::Optional
                | Self::Recurses
                | Self::Changes
                | Self::Danger
                | Self::Commands
        )
    }
}

/// What the words are that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Args {
    /// Text; no file is meant.
    Text,
    #[default]
    Reads,
    Lists,
    Writes,
    /// Files, read and changed.
    Edits,
    /// The last is written, the others are read.
    Copies,
    /// The first is a pattern or a program in a small language, the others are read.
    Pattern,
    /// A command with its own words begins with the first.
    Command,
    /// The same, after one word of its own (a time, a host).
    SecondCommand,
    /// All of them are one line for a shell.
    Script,
    /// The first is a program or a script to run.
    Program,
    /// Only the person who wrote the rule can know.
    Named,
    /// A remote of the repository and what is exchanged with it.
    Remote,
    /// The same, or an address that is only read from, and perhaps a folder.
    RemoteUrl,
    /// Addresses that are only read from.
    Url,
    /// The first is read; one that follows is written.
    Output,
    /// Names of pages; with a slash, files that are read.
    Pages,
    /// Letters that are options without their dash, and numbers.
    Processes,
    /// What is to be printed begins with `+`; anything else changes something.
    Format,
    /// Files and folders whose code is run or rewritten.
    Inside,
    /// The last is made, and leads to the others.
    Links,
    /// One word is a name and is shown; with another it is set.
    Setting,
    /// Kinds of things; those that hold secrets want to be named.
    Resources,
    /// Any word wants to be named by the rule.
    AskWords,
    /// Whatever they are, a person is asked.
    Ask,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Profile {
    pub(crate) args: Args,
    /// Options of more than one letter begin with one dash.
    pub(crate) single_dash: bool,
    /// Options unknown to the profile do nothing of interest.
    pub(crate) any_option: bool,
    /// Numbers are options: `head -5`.
    pub(crate) numbers: bool,
    /// Goes into folders without being told to.
    pub(crate) recurses: bool,
    /// But not to what begins with a dot, unless it is told to.
    pub(crate) skips_hidden: bool,
    /// Runs what it is given without adding anything: allowed when that is.
    pub(crate) transparent: bool,
    /// `name=value` words: variables or settings.
    pub(crate) assigns: bool,
    /// Options end with the first word that is none.
    pub(crate) options_first: bool,
    /// The first word holds options without their dash: `tar xf`.
    pub(crate) bundled: bool,
    /// What it does wants to be named by the rule: `git *` does not mean it.
    pub(crate) named: bool,
    /// A shell: `-c` may stand anywhere among its options, which may also begin with `+`.
    pub(crate) shell: bool,
    /// Options that hold the pattern, so that every word is a file.
    pub(crate) pattern_in: Vec<String>,
    /// Words that a rule has to name.
    pub(crate) asked_words: Vec<String>,
    /// The program that is given what stands behind `--`.
    pub(crate) behind: Option<String>,
    pub(crate) options: HashMap<String, Kind>,
    /// Long names of short options, for rules that deny.
    pub(crate) same: HashMap<String, String>,
    pub(crate) subcommands: HashMap<String, Profile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Written {
    args: Args,
    single_dash: bool,
    any_option: bool,
    numbers: bool,
    recursive: bool,
    transparent: bool,
    assigns: bool,
    options_first: bool,
    named: bool,
    shell: bool,
    skips_hidden: bool,
    names: String,
    pattern_in: String,
    asked_words: String,
    /// The subcommand beside it whose options it has too.
    like: String,
    /// For a name of the subcommand, the program that is given what stands behind `--`.
    behind: HashMap<String, String>,
    flag: String,
    value: String,
    optional: String,
    lists: String,
    recurses: String,
    reads: String,
    folder: String,
    writes: String,
    changes: String,
    config: String,
    loads: String,
    format: String,
    report: String,
    runs: String,
    commands: String,
    module: String,
    pair: String,
    bundled: bool,
    inherited: bool,
    code: String,
    danger: String,
    same: HashMap<String, String>,
    /// Subcommands with nothing of interest, and those that a rule has to name.
    harmless: String,
    asked: String,
    sub: HashMap<String, Written>,
}

const FILES: [&str; 5] = [
    include_str!("data/files.toml"),
    include_str!("data/text.toml"),
    include_str!("data/git.toml"),
    include_str!("data/runners.toml"),
    include_str!("data/tools.toml"),
];

static PROFILES: LazyLock<HashMap<String, Profile>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    for file in FILES {
        let written: HashMap<String, Written> =
            toml::from_str(file).expect("the profiles of the program are read by a test");
        for (names, profile) in written {
            let profile = profile.read();
            for name in names.split_whitespace() {
                all.insert(name.to_owned(), profile.clone());
            }
        }
    }
    all
});

impl Written {
    fn read(self) -> Profile {
        let mut options = HashMap::new();
        let lists = [
            (&self.flag, Kind::Flag),
            (&self.value, Kind::Value),
            (&self.optional, Kind::Optional),
            (&self.lists, Kind::Lists),
            (&self.recurses, Kind::Recurses),
            (&self.reads, Kind::Reads),
            (&self.names, Kind::Names),
            (&self.folder, Kind::Folder),
            (&self.writes, Kind::Writes),
            (&self.changes, Kind::Changes),
            (&self.config, Kind::Config),
            (&self.loads, Kind::Loads),
            (&self.format, Kind::Format),
            (&self.report, Kind::Report),
            (&self.runs, Kind::Runs),
            (&self.commands, Kind::Commands),
            (&self.module, Kind::Module),
            (&self.pair, Kind::Pair),
            (&self.code, Kind::Code),
            (&self.danger, Kind::Danger),
        ];
        for (names, kind) in lists {
            for name in names.split_whitespace() {
                options.insert(name.to_owned(), kind);
            }
        }
        let mut subcommands = HashMap::new();
        for name in self.harmless.split_whitespace() {
            let profile = Profile {
                args: Args::Text,
                any_option: true,
                options: if self.inherited {
                    options.clone()
                } else {
                    HashMap::new()
                },
                ..Profile::default()
            };
            subcommands.insert(name.to_owned(), profile);
        }
        for name in self.asked.split_whitespace() {
            let profile = Profile {
                args: Args::Text,
                any_option: true,
                named: true,
                ..Profile::default()
            };
            subcommands.insert(name.to_owned(), profile);
        }
        // Those that are like another come last.
        let mut subs: Vec<(String, Written)> = self.sub.into_iter().collect();
        subs.sort_by_key(|(_, sub)| !sub.like.is_empty());
        for (names, mut sub) in subs {
            let like = std::mem::take(&mut sub.like);
            let behind = std::mem::take(&mut sub.behind);
            let mut profile = sub.read();
            if let Some(other) = subcommands.get(&like) {
                let other: Profile = other.clone();
                profile.numbers |= other.numbers;
                for (name, kind) in other.options {
                    profile.options.entry(name).or_insert(kind);
                }
            }
            for name in names.split_whitespace() {
                let profile = Profile {
                    behind: behind.get(name).cloned(),
                    ..profile.clone()
                };
                subcommands.insert(name.to_owned(), profile);
            }
        }
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Profile {
            args: self.args,
            single_dash: self.single_dash,
            any_option: self.any_option,
            numbers: self.numbers,
            recurses: self.recursive,
            skips_hidden: self.skips_hidden,
            transparent: self.transparent,
            assigns: self.assigns,
            options_first: self.options_first,
            bundled: self.bundled,
            named: self.named,
            shell: self.shell,
            pattern_in: words(&self.pattern_in),
            asked_words: words(&self.asked_words),
            behind: None,
            options,
            same: self.same,
            subcommands,
        }
    }
}

/// `grm` and `gtimeout` are what others call `rm` and `timeout`.
pub(crate) fn ungnu(name: &str) -> Option<&str> {
    const NAMES: &str = "cat chmod chown cp date dd env head install ln ls mkdir mv nice nohup rm rmdir \
        shred shuf sort split stat stdbuf tac tail tee timeout touch truncate unlink";
    let rest = name.strip_prefix('g')?;
    NAMES
        .split_whitespace()
        .any(|known| known == rest)
        .then_some(rest)
}

/// The profile of a program, by its bare name.
pub(crate) fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.get(ungnu(name).unwrap_or(name)).or_else(|| {
        // `python3.12`, `gcc-13`, `clang++-18`.
        let end = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        PROFILES
            .get(end.trim_end_matches('-'))
            .filter(|_| end != name)
    })
}

/// Fails where two tables name one program: which of them held would be chance.
#[cfg(test)]
pub(super) fn check_names() {
    let mut seen = std::collections::HashSet::new();
    for file in FILES {
        let written: HashMap<String, Written> = toml::from_str(file).unwrap();
        for names in written.keys() {
            for name in names.split_whitespace() {
                assert!(seen.insert(name.to_owned()), "{name} has two profiles");
            }
        }
    }
}
