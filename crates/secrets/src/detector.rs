//! Finds secrets in one pass: an automaton over every literal of the catalogue reads each byte
//! once, and what it finds is decided within the bounded view around it (`view.rs`). Time
//! therefore grows with the text and with nothing else, whatever the text is.
//!
//! A scan goes on from chunk to chunk: where a decision needs bytes that have not arrived, it
//! and all after it wait. What is found does not depend on how a text was cut.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, LazyLock};

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};
use parking_lot::RwLock;

use crate::assigned::{Family, Reading, value_of};
use crate::kinds::{Catalogue, Other, Search};
use crate::known::Known;
use crate::view::View;

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// What it is, by its number in [`crate::kinds`].
    pub(crate) kind: usize,
    /// Where it begins, with what is not secret of it, such as the prefix of a token.
    pub start: usize,
    /// Where what must not be seen begins.
    pub secret: usize,
    /// Where it ends.
    pub end: usize,
}

impl Finding {
    /// What it is, as tools know it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        Catalogue::get().kinds[self.kind].id
    }

    /// What stands in its place in a masked text.
    #[must_use]
    pub fn mark(&self) -> String {
        match Catalogue::get().kinds[self.kind].title {
            "" => "[masked]".to_owned(),
            title => format!("[masked {title}]"),
        }
    }
}

/// What a literal means once it was found.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    Search(Search),
    /// A value, by its number among those known.
    Known(usize),
}

/// The automaton over all literals.
pub struct Detector {
    dfa: DFA,
    start: StateID,
    /// For each literal, its length and what it means.
    triggers: Vec<(usize, Vec<Trigger>)>,
    known: Known,
}

impl fmt::Debug for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detector")
            .field("literals", &self.triggers.len())
            .finish_non_exhaustive()
    }
}

static CURRENT: LazyLock<RwLock<Arc<Detector>>> =
    LazyLock::new(|| RwLock::new(Arc::new(Detector::new(Known::default()))));

impl Detector {
    /// A detector of every kind, and of these values.
    ///
    /// # Panics
    ///
    /// Never: the literals are few and short, which a test of the catalogue shows.
    #[must_use]
    pub fn new(known: Known) -> Self {
        let mut literals: Vec<Vec<u8>> = Vec::new();
        let mut triggers: Vec<(usize, Vec<Trigger>)> = Vec::new();
        let mut add = |literal: &[u8], trigger: Trigger| {
            let small = literal.to_ascii_lowercase();
            if let Some(at) = literals.iter().position(|found| *found == small) {
                triggers[at].1.push(trigger);
            } else {
                literals.push(small);
                triggers.push((literal.len(), vec![trigger]));
            }
        };
        for (literal, search) in &Catalogue::get().searches {
            add(literal, Trigger::Search(*search));
        }
        for (number, form) in known.forms().enumerate() {
            add(form, Trigger::Known(number));
        }
        let dfa = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build(&literals)
            .expect("some hundred short literals make a small automaton");
        let start = dfa
            .start_state(Anchored::No)
            .expect("the automaton was built to search everywhere");
        Self {
            dfa,
            start,
            triggers,
            known,
        }
    }

    /// The detector of this process: of every kind, and of the values it was told.
    #[must_use]
    pub fn current() -> Arc<Self> {
        CURRENT.read().clone()
    }

    /// From now on this process knows these values too. False when there are more than
    /// [`MOST_KNOWN`](crate::MOST_KNOWN), of which it knows the first.
    pub fn learn<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> bool {
        let mut current = CURRENT.write();
        let mut known = current.known.clone();
        let before = known.len();
        let mut all = true;
        for value in values {
            all &= known.add(value.as_ref());
        }
        if known.len() > before {
            *current = Arc::new(Self::new(known));
        }
        all
    }

    /// The values this process knows, for another process that masks for it.
    #[must_use]
    pub fn learned() -> Vec<Vec<u8>> {
        Self::current().known.values().to_vec()
    }

    /// Every secret of a whole text, in order and without overlap.
    #[must_use]
    pub fn scan(&self, text: &[u8]) -> Vec<Finding> {
        let mut scan = Scan::new(self);
        scan.advance(self, text, true);
        scan.findings
    }

    /// The same for what a terminal shows: its colours and moved cursors are not part of the
    /// text. Places are those of the bytes that were given.
    #[must_use]
    pub fn scan_terminal(&self, text: &[u8]) -> Vec<Finding> {
        if memchr::memchr(0x1b, text).is_none() {
            return self.scan(text);
        }
        crate::stream::shown(text).findings(self)
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }
}

/// Where a scan stands. Positions are those of the text it was given; whoever cuts off its
/// beginning says so by [`Scan::forget`].
#[derive(Debug)]
pub(crate) struct Scan {
    state: StateID,
    scanned: usize,
    /// Literals found and not decided: where each ends, and which.
    waiting: VecDeque<(usize, usize)>,
    /// From where on the first of them may find something.
    reached: usize,
    pub(crate) findings: Vec<Finding>,
    /// Everything before is decided, and nothing may begin there.
    decided: usize,
    /// The end of the last block of a key: what is found within says nothing more,
    /// whether it arrived with the block or later.
    block: usize,
    open: Option<Open>,
}

/// A finding that goes on behind what could be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// One run of what tokens are made of.
    Run,
    /// A block of a key; so many bytes more at most.
    Block(usize),
}

const LONGEST_BLOCK: usize = 64 * 1024;

enum Verdict {
    Nothing,
    Found(Finding, Option<Open>),
    /// Undecided; nothing before this place will be part of it.
    Waits(usize),
}

impl Scan {
    pub(crate) fn new(detector: &Detector) -> Self {
        Self {
            state: detector.start,
            scanned: 0,
            waiting: VecDeque::new(),
            reached: 0,
            findings: Vec::new(),
            decided: 0,
            block: 0,
            open: None,
        }
    }

    /// Goes on to the end of the text; with `complete`, nothing comes after it.
    pub(crate) fn advance(&mut self, detector: &Detector, text: &[u8], complete: bool) {
        while let Some(&(end, literal)) = self.waiting.front() {
            if !self.decide(detector, text, end, literal, complete) {
                break;
            }
            self.waiting.pop_front();
        }
        let mut state = self.state;
        for (at, &byte) in text.iter().enumerate().skip(self.scanned) {
            state = detector.dfa.next_state(Anchored::No, state, byte);
            if detector.dfa.is_special(state) && detector.dfa.is_match(state) {
                for index in 0..detector.dfa.match_len(state) {
                    let literal = detector.dfa.match_pattern(state, index).as_usize();
                    if !self.waiting.is_empty()
                        || !self.decide(detector, text, at + 1, literal, complete)
                    {
                        self.waiting.push_back((at + 1, literal));
                    }
                }
            }
        }
        self.state = state;
        self.scanned = text.len();
        self.extend(text, complete);
    }

    /// Before which place everything is decided.
    pub(crate) fn settled(&self, detector: &Detector, text: &[u8]) -> usize {
        if self.open.is_some() {
            return self.decided;
        }
        if self.waiting.is_empty() {
            return text.len();
        }
        // What the others wait with begins behind their literals; a known value is one.
        let others = self.waiting.iter().skip(1).map(|&(end, literal)| {
            let (length, triggers) = &detector.triggers[literal];
            let known = triggers
                .iter()
                .any(|trigger| matches!(trigger, Trigger::Known(_)));
            if known { end - length } else { end }
        });
        let first = others.min().unwrap_or(text.len()).min(self.reached);
        first.max(self.decided).min(text.len())
    }

    /// Counts from `bytes` later on, which nobody needs any more.
    pub(crate) fn forget(&mut self, bytes: usize) {
        self.scanned -= bytes;
        self.reached = self.reached.saturating_sub(bytes);
        self.decided = self.decided.saturating_sub(bytes);
        self.block = self.block.saturating_sub(bytes);
        for waiting in &mut self.waiting {
            waiting.0 = waiting.0.saturating_sub(bytes);
        }
        self.findings
            .retain(|finding| finding.end > bytes || self.open.is_some() && finding.end == bytes);
        for finding in &mut self.findings {
            finding.start = finding.start.saturating_sub(bytes);
            finding.secret = finding.secret.saturating_sub(bytes);
            finding.end -= bytes;
        }
    }

    /// Whether it could be decided what a literal that ends at `end` means.
    fn decide(
        &mut self,
        detector: &Detector,
        text: &[u8],
        end: usize,
        literal: usize,
        complete: bool,
    ) -> bool {
        self.extend(text, complete);
        if self.open.is_some() || end <= self.block {
            return true;
        }
        let (length, triggers) = &detector.triggers[literal];
        let mut waits: Option<usize> = None;
        let mut found = Vec::new();
        for &trigger in triggers {
            match self.verify(detector, text, end, *length, trigger, complete) {
                Verdict::Nothing => {}
                Verdict::Found(finding, open) => found.push((finding, open)),
                Verdict::Waits(reached) => {
                    waits = Some(waits.map_or(reached, |at| at.min(reached)));
                }
            }
        }
        if let Some(reached) = waits {
            self.reached = reached;
            return false;
        }
        for (finding, open) in found {
            self.take(finding, open);
        }
        true
    }

    fn verify(
        &self,
        detector: &Detector,
        text: &[u8],
        end: usize,
        length: usize,
        trigger: Trigger,
        complete: bool,
    ) -> Verdict {
        let start = end - length;
        let catalogue = Catalogue::get();
        // What begins inside of something found can only say better what that is.
        let inside = start < self.decided;
        if let Trigger::Known(number) = trigger {
            let exact = detector.known.form(number) == &text[start..end];
            let finding = Finding {
                kind: catalogue.other(Other::Known),
                start,
                secret: start,
                end,
            };
            return if exact {
                Verdict::Found(finding, None)
            } else {
                Verdict::Nothing
            };
        }
        let Trigger::Search(search) = trigger else {
            return Verdict::Nothing;
        };
        let common = |found: &Finding| found.kind >= catalogue.other(Other::Password);
        let may_say_more = match search {
            Search::Form { .. } => true,
            Search::Near { .. } => self.findings.last().is_some_and(common),
            Search::Name(_) | Search::Place(_) => false,
        };
        if inside && !may_say_more {
            return Verdict::Nothing;
        }
        let view = View::new(text, end, complete);
        let mut reached = end;
        let found = look(search, &view, start, end, &mut reached);
        if view.met_end() {
            return Verdict::Waits(reached.max(end).min(text.len()));
        }
        match found {
            Some((finding, open)) => Verdict::Found(finding, open),
            None => Verdict::Nothing,
        }
    }

    fn take(&mut self, mut finding: Finding, open: Option<Open>) {
        let others = Catalogue::get().kinds.len() - Other::Known as usize - 1;
        if let Some(last) = self.findings.last_mut()
            && finding.start < last.end
        {
            // The literal that was found later is the longer one, which says more.
            let better = last.kind >= others || finding.start == last.start;
            if better && finding.kind < others {
                last.kind = finding.kind;
            }
            if finding.end <= last.end {
                return;
            }
            if finding.secret < last.end {
                last.end = finding.end;
                self.decided = last.end;
                self.open = open;
                return;
            }
        }
        finding.start = finding.start.max(self.decided);
        finding.secret = finding.secret.max(finding.start);
        if finding.secret >= finding.end {
            return;
        }
        self.decided = finding.end;
        self.open = open;
        self.findings.push(finding);
    }

    /// Takes to a finding that goes on what has arrived of it.
    fn extend(&mut self, text: &[u8], complete: bool) {
        let (Some(open), Some(last)) = (self.open, self.findings.last_mut()) else {
            return;
        };
        let from = last.end;
        match open {
            Open::Run => {
                let goes_on = |byte: &u8| {
                    byte.is_ascii_alphanumeric()
                        || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'%')
                };
                let stop = text[from..].iter().position(|byte| !goes_on(byte));
                last.end = stop.map_or(text.len(), |stop| from + stop);
                if stop.is_some() || complete {
                    self.open = None;
                }
            }
            Open::Block(left) => {
                let (end, closed) = block(text, from, left, complete);
                last.end = end;
                self.block = end;
                self.open = (!closed).then_some(Open::Block(left - (end - from)));
            }
        }
        self.decided = last.end;
    }
}

/// Where the block of a key ends that was read up to `from`, and whether it does.
fn block(text: &[u8], from: usize, left: usize, complete: bool) -> (usize, bool) {
    let rest = &text[from..];
    for (at, &byte) in rest.iter().enumerate() {
        if at >= left {
            return (from + at, true);
        }
        if byte == b'-' {
            let dashes = rest[at..]
                .iter()
                .take(5)
                .take_while(|&&byte| byte == b'-')
                .count();
            if dashes == 5 {
                return (from + at, true);
            }
            if at + dashes == rest.len() && !complete {
                return (from + at, false);
            }
        }
        let body = byte.is_ascii_alphanumeric()
            || byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'+' | b'/'
                    | b'='
                    | b'\\'
                    | b'"'
                    | b'\''
                    | b','
                    | b':'
                    | b'.'
                    | b'-'
                    | b'#'
                    | b'*'
                    | b'|'
                    | b'_'
                    | b'`'
                    | b'>'
            )
            || byte >= 0x80;
        if !body {
            return (from + at, true);
        }
    }
    (text.len(), complete)
}

/// What the view holds of what is searched.
fn look(
    search: Search,
    view: &View<'_>,
    start: usize,
    end: usize,
    reached: &mut usize,
) -> Option<(Finding, Option<Open>)> {
    let catalogue = Catalogue::get();
    match search {
        Search::Form { kind, form } => {
            let fit = catalogue.kinds[kind].forms[form].fit(view, end)?;
            let finding = Finding {
                kind,
                start: fit.start,
                secret: end,
                end: fit.end,
            };
            Some((finding, fit.goes_on.then_some(Open::Run)))
        }
        Search::Near { kind, near } => {
            let Reading::Value(value) = value_of(view, start, end, Family::Token, reached) else {
                return None;
            };
            let (last, goes_on) = value.has_form(view, &catalogue.kinds[kind].near[near].1)?;
            let finding = Finding {
                kind,
                start: value.start,
                secret: value.start,
                end: last,
            };
            Some((finding, goes_on.then_some(Open::Run)))
        }
        Search::Name(family) => {
            if end - start <= 4 && !stands_alone(view, start) {
                return None;
            }
            // Two letters are a name only if they are all of it.
            let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if end - start <= 2
                && (view.before(start).is_some_and(inside) || view.at(end).is_some_and(inside))
            {
                return None;
            }
            let Reading::Value(value) = value_of(view, start, end, family, reached) else {
                return None;
            };
            if !value.is_secret(view, (start, end), family) {
                return None;
            }
            let other = match family {
                Family::Password | Family::Passphrase => Other::Password,
                Family::Token | Family::Key => Other::Secret,
            };
            let finding = Finding {
                kind: catalogue.other(other),
                start: value.start,
                secret: value.start,
                end: value.end,
            };
            Some((finding, value.goes_on.then_some(Open::Run)))
        }
        Search::Place(place) => {
            let spot = place.find(view, start, end, reached)?;
            let open = match spot.other {
                Other::PrivateKey => Some(Open::Block(LONGEST_BLOCK)),
                _ => spot.goes_on.then_some(Open::Run),
            };
            let finding = Finding {
                kind: catalogue.other(spot.other),
                start: spot.start,
                secret: spot.secret,
                end: spot.end,
            };
            Some((finding, open))
        }
    }
}

/// Whether a short name begins a word: `pass`, `dbPass`, and not `bypass`.
fn stands_alone(view: &View<'_>, start: usize) -> bool {
    // Behind the colours of a terminal.
    if view.before(start) == Some(b'm') {
        let number = |byte: u8| byte.is_ascii_digit() || byte == b';';
        let begin = view.run_back(start - 1, 24, number);
        if view.before(begin) == Some(b'[') {
            return true;
        }
    }
    match view.before(start) {
        Some(before) if before.is_ascii_alphabetic() && view.text[start].is_ascii_alphabetic() => {
            view.text[start].is_ascii_uppercase() && before.is_ascii_lowercase()
        }
        _ => true,
    }
}
