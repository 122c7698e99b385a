//! The same conversation by a CLI's terminal and by its protocol makes the same journal but
//! for provenance and precision. What each CLI tells is data (its `TRANSCRIPT`, `HOOKS` and
//! `PROTOCOL`), which `Cli::check` compares with real journals; here the two sides of that
//! data are brought into one form and compared with each other. The strands that are not
//! here (messages, signals, effects) are the same constants for both.
//!
//! Left out, because only one side can tell it: the session's name, where turns begin and
//! that somebody is asked. Brought together, because sides cut it differently: words that
//! follow each other, what a turn used, who said that it was over, what a tool is called.
//! What is different after that is named, with its reason.

use std::collections::BTreeMap;

/// What a CLI tells of the conversation and of its continuation, a line each.
pub(super) struct BothWays {
    pub(super) transcript: [&'static str; 2],
    /// They tell of the same turns as the transcript; some say alone that one is over.
    pub(super) hooks: [&'static str; 2],
    pub(super) protocol: [&'static str; 2],
    /// Tools that the protocol calls otherwise: its name, and the transcript's.
    pub(super) tools: &'static [(&'static str, &'static str)],
    pub(super) usage: UsageByProtocol,
    pub(super) differences: &'static [Difference],
}

/// What the protocol counts of a turn in which the model was asked several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UsageByProtocol {
    EveryRequest,
    LastRequest,
}

/// Lines that only one side has, in the form that is compared.
pub(super) struct Difference {
    /// The prompt of the turn.
    pub(super) turn: &'static str,
    pub(super) by_terminal: &'static [&'static str],
    pub(super) by_protocol: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// A turn in the form that is compared: words and tools in their order, then what was
/// used, then its end.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Turn {
    prompt: String,
    lines: Vec<String>,
}

impl BothWays {
    pub(super) fn are_the_same(&self) {
        let mut by_terminal = Vec::new();
        let mut by_protocol = Vec::new();
        for which in 0..2 {
            let over = turns_that_hooks_end(self.hooks[which]);
            by_terminal.extend(self.turns(self.transcript[which], &over, self.usage));
            let every = UsageByProtocol::EveryRequest;
            by_protocol.extend(self.turns(self.protocol[which], &[], every));
        }
        for difference in self.differences {
            difference.take(difference.by_terminal, &mut by_terminal, &by_protocol);
            difference.take(difference.by_protocol, &mut by_protocol, &by_terminal);
        }
        assert_eq!(by_terminal, by_protocol);
    }

    /// The turns of a strand; `over` are those that another source has ended.
    fn turns(&self, strand: &str, over: &[bool], usage: UsageByProtocol) -> Vec<Turn> {
        let names: BTreeMap<_, _> = self.tools.iter().copied().collect();
        let mut turns: Vec<RawTurn> = Vec::new();
        for line in lines(strand) {
            if let Some(prompt) = line.strip_prefix("operator: ") {
                turns.push(RawTurn::of(prompt));
            } else if !matches!(
                line,
                "session" | "turn began" | "dialog began" | "dialog ended"
            ) {
                let turn = turns.last_mut().expect("a prompt comes first");
                turn.add(line, &names, usage);
            }
        }
        assert!(over.is_empty() || over.len() == turns.len(), "{over:?}");
        for (turn, over) in turns.iter_mut().zip(over) {
            turn.is_over |= over;
        }
        turns.into_iter().map(RawTurn::compared).collect()
    }
}

impl Difference {
    /// Takes these lines out of the side that has them; the other side has them not.
    fn take(&self, lines: &[&str], from: &mut [Turn], other: &[Turn]) {
        let is_it = |one: &Turn| one.prompt == self.turn;
        let turn = from.iter_mut().find(|one| is_it(one));
        let turn = turn.expect("a turn with this prompt");
        let other = other.iter().find(|one| is_it(one));
        let other = other.expect("a turn with this prompt");
        for line in lines {
            let at = turn.lines.iter().position(|one| one == line);
            let at = at.unwrap_or_else(|| panic!("{}, but no {line:?}: {turn:?}", self.reason));
            turn.lines.remove(at);
            let both = other.lines.iter().any(|one| one == line);
            assert!(!both, "{}, but both have {line:?}", self.reason);
        }
    }
}

/// A turn while its strand is read.
#[derive(Debug, Default)]
struct RawTurn {
    prompt: String,
    lines: Vec<String>,
    used: Option<[u64; 2]>,
    is_over: bool,
}

impl RawTurn {
    fn of(prompt: &str) -> Self {
        Self {
            prompt: prompt.to_owned(),
            ..Self::default()
        }
    }

    fn add(&mut self, line: &str, names: &BTreeMap<&str, &str>, usage: UsageByProtocol) {
        if line == "turn ended" {
            self.is_over = true;
        } else if let Some(used) = line.strip_prefix("usage ") {
            let used = tokens(used);
            let before = self.used.filter(|_| usage == UsageByProtocol::EveryRequest);
            let before = before.unwrap_or_default();
            self.used = Some([before[0] + used[0], before[1] + used[1]]);
        } else if let Some(words) = line.strip_prefix("agent: ") {
            match self
                .lines
                .last_mut()
                .filter(|last| last.starts_with("agent: "))
            {
                Some(last) => *last = format!("{last} / {words}"),
                None => self.lines.push(line.to_owned()),
            }
        } else {
            let (tool, edge) = line.split_once(' ').expect("a tool began or ended");
            assert!(
                edge.starts_with("began") || edge.starts_with("ended"),
                "{line}"
            );
            let tool = names.get(tool).unwrap_or(&tool);
            self.lines.push(format!("{tool} {edge}"));
        }
    }

    fn compared(self) -> Turn {
        let mut lines = self.lines;
        lines.extend(
            self.used
                .map(|[read, wrote]| format!("usage {read} in, {wrote} out")),
        );
        lines.extend(self.is_over.then(|| "turn ended".to_owned()));
        Turn {
            prompt: self.prompt,
            lines,
        }
    }
}

/// Of each turn that hooks tell of, whether they say that it is over.
fn turns_that_hooks_end(hooks: &str) -> Vec<bool> {
    let mut over = Vec::new();
    for line in lines(hooks) {
        match line {
            "turn began" => over.push(false),
            "turn ended" => *over.last_mut().expect("it began") = true,
            _ => {}
        }
    }
    over
}

/// `100 in, 20 out`.
fn tokens(used: &str) -> [u64; 2] {
    let (read, wrote) = used.split_once(" in, ").expect("what was read");
    let wrote = wrote.strip_suffix(" out").expect("what was written");
    [read, wrote].map(|count| count.parse().expect("a count"))
}

fn lines(strand: &str) -> impl Iterator<Item = &str> {
    strand
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}
