//! Input that tries to command: text from outside that speaks to the model which only reads it.
//!
//! [`inspect`] says what of a text reads like orders, where, why and how sure that is; nothing
//! is changed and nothing is left out. Whoever hands text to a model decides by the
//! [`Verdict`]: what is plain is quoted, what is marked is quoted with a warning, and what is
//! held is kept from the model until a person has looked.
//!
//! The rules are data (`rules.txt`), each with a weight, a reason and an example. They are
//! applied to the words of a text however they are spelled, to its characters, and to what it
//! holds in another form. Time grows with the text alone.

pub mod corpus;
mod encoded;
mod rules;
mod words;

use rules::{Catalogue, Element, Other};
use words::{Word, is_unseen};

pub use rules::{Rule, rules};

/// From this score on a text is marked where it is quoted.
pub const MARK_AT: u32 = 40;
/// From this score on a text is kept from the model until a person has looked.
pub const HOLD_AT: u32 = 70;
/// A longer text is not read to its end, and is held because of it.
pub const LONGEST: usize = 1024 * 1024;

/// Findings this close to each other add up.
const TOGETHER: usize = 1500;
/// More are not looked for.
const MOST_FINDINGS: usize = 20_000;
/// Words that one phrase may reach over.
const REACH: usize = 48;
/// How often what was decoded may hold something encoded.
const DEEPEST: u32 = 2;
/// Fewer unseen characters within words are a slip.
const FEWEST_BROKEN: usize = 3;

/// What is done with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Plain,
    Marked,
    Held,
}

impl Verdict {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Marked => "marked",
            Self::Held => "held",
        }
    }
}

/// One thing that reads like an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    /// Bytes of the text.
    pub start: usize,
    pub end: usize,
    /// How sure it is alone, in percent.
    pub weight: u32,
    /// What the text does there, to follow `it`.
    pub why: &'static str,
}

/// What was found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inspection {
    /// In the order they stand.
    pub findings: Vec<Finding>,
    /// How sure it is that the text tries to command, in percent: that of the place where
    /// most comes together.
    pub score: u32,
    /// It was too long to be read to its end.
    pub truncated: bool,
}

impl Inspection {
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.score {
            _ if self.truncated => Verdict::Held,
            HOLD_AT.. => Verdict::Held,
            MARK_AT.. => Verdict::Marked,
            _ => Verdict::Plain,
        }
    }

    /// The reasons in a sentence, the surest first; nothing of the text itself.
    #[must_use]
    pub fn reasons(&self) -> String {
        let mut known: Vec<&Finding> = Vec::new();
        for finding in &self.findings {
            if !known.iter().any(|other| other.why == finding.why) {
                known.push(finding);
            }
        }
        known.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
        let mut reasons: Vec<&str> = known.iter().take(4).map(|finding| finding.why).collect();
        if self.truncated {
            reasons.push("is too long to be read to its end");
        }
        reasons.join(", ")
    }
}

/// Reads a text for what tries to command whoever reads it.
#[must_use]
pub fn inspect(text: &str) -> Inspection {
    let read = &text[..text.floor_char_boundary(LONGEST)];
    let mut findings = Vec::new();
    look(read, DEEPEST, &mut findings);
    findings.sort_by_key(|finding| (finding.start, finding.end));
    findings.dedup();
    Inspection {
        score: score(&findings),
        truncated: read.len() < text.len(),
        findings,
    }
}

fn look(text: &str, depth: u32, findings: &mut Vec<Finding>) {
    let catalogue = Catalogue::get();
    let first = findings.len();
    let read = words::read(text);
    phrases(catalogue, &read.words, findings);
    for shape in &catalogue.shapes {
        for found in shape.regex.find_iter(text) {
            push(findings, shape.rule, found.start(), found.end());
        }
    }
    for (other, places, fewest) in [
        (Other::Mixed, &read.mixed, 1),
        (Other::Invisible, &read.broken, FEWEST_BROKEN),
        (Other::Spaced, &read.spaced, 1),
    ] {
        for &(start, end) in places.iter().filter(|_| places.len() >= fewest) {
            push(findings, catalogue.other(other), start, end);
        }
    }
    characters(text, findings);
    comments(text, first, findings);
    if depth > 0 {
        for piece in encoded::decode(text) {
            let mut inside = Vec::new();
            look(&piece.text, depth - 1, &mut inside);
            inside.sort_by_key(|finding| finding.start);
            if score(&inside) >= MARK_AT {
                push(
                    findings,
                    catalogue.other(Other::Encoded),
                    piece.start,
                    piece.end,
                );
            }
        }
    }
}

fn push(findings: &mut Vec<Finding>, rule: usize, start: usize, end: usize) {
    let rule = &Catalogue::get().rules[rule];
    if findings.len() < MOST_FINDINGS {
        findings.push(Finding {
            rule: rule.id,
            start,
            end,
            weight: rule.weight,
            why: rule.why,
        });
    }
}

/// Every phrase that begins at a word, once for each rule.
fn phrases(catalogue: &Catalogue, words: &[Word], findings: &mut Vec<Finding>) {
    for (at, word) in words.iter().enumerate() {
        let starts = word.elements.iter();
        let starting = starts.flat_map(|element| &catalogue.starts[usize::from(*element)]);
        let mut matched: Option<usize> = None;
        for &number in starting {
            let phrase = &catalogue.phrases[number];
            if matched == Some(phrase.rule) {
                continue;
            }
            let across = catalogue.rules[phrase.rule].across;
            if let Some(last) = reach(&words[at..], &phrase.rest, across) {
                matched = Some(phrase.rule);
                push(findings, phrase.rule, word.start, words[at + last].end);
            }
        }
    }
}

/// How far a phrase reaches whose first word is the first of these; a bit for each word that
/// can be reached, so that no choice of words is tried twice.
fn reach(words: &[Word], rest: &[(u32, Element)], across: bool) -> Option<usize> {
    let words = &words[..words.len().min(REACH)];
    let ends = words.iter().position(|word| word.ends);
    let room = match ends {
        Some(end) if !across => end + 1,
        _ => words.len(),
    };
    let mut reached: u64 = 1;
    for (gap, element) in rest {
        let mut next = 0;
        for step in 1..=gap + 1 {
            next |= reached << step;
        }
        next &= (1 << room) - 1;
        let mut fits = 0;
        while next != 0 {
            let at = next.trailing_zeros();
            next &= next - 1;
            if words[at as usize].elements.contains(element) {
                fits |= 1 << at;
            }
        }
        if fits == 0 {
            return None;
        }
        reached = fits;
    }
    Some(reached.trailing_zeros() as usize)
}

/// Characters that are not seen or change how others are.
fn characters(text: &str, findings: &mut Vec<Finding>) {
    let catalogue = Catalogue::get();
    let mut variations = (0, 0);
    let mut tags = (0, 0);
    let mut flag = false;
    let right_to_left = text.chars().any(|c| matches!(u32::from(c), 0x590..=0x8ff));
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            if c == '\u{1b}' && text[at..].starts_with("\u{1b}[8m") {
                push(findings, catalogue.other(Other::Concealed), at, at + 4);
            }
            (flag, tags, variations) = (false, (0, 0), (0, 0));
            continue;
        }
        let end = at + c.len_utf8();
        match u32::from(c) {
            0x202a..=0x202e | 0x2066..=0x2069 if !right_to_left => {
                push(findings, catalogue.other(Other::Bidi), at, end);
            }
            0xfe00..=0xfe0f | 0xe_0100..=0xe_01ef => {
                variations = row(variations, at);
                if variations.1 == 4 {
                    push(
                        findings,
                        catalogue.other(Other::Variations),
                        variations.0,
                        end,
                    );
                }
            }
            0xe_0000..=0xe_007f if !flag => {
                tags = row(tags, at);
                if tags.1 == 3 {
                    push(findings, catalogue.other(Other::Tags), tags.0, end);
                }
            }
            0x1f3f4 => flag = true,
            _ if is_unseen(c) => {}
            _ => (flag, tags, variations) = (false, (0, 0), (0, 0)),
        }
    }
}

/// Where a row began and how long it is, with one more.
fn row((begin, length): (usize, usize), at: usize) -> (usize, usize) {
    match length {
        0 => (at, 1),
        _ => (begin, length + 1),
    }
}

/// Comments of a page that hold what is sure enough by itself.
fn comments(text: &str, first: usize, findings: &mut Vec<Finding>) {
    let sure = findings[first..]
        .iter()
        .filter(|finding| finding.weight >= MARK_AT);
    let starts: Vec<usize> = sure.map(|finding| finding.start).collect();
    if starts.is_empty() {
        return;
    }
    let mut at = 0;
    while let Some(begin) = text[at..].find("<!--").map(|begin| at + begin) {
        let end = text[begin..]
            .find("-->")
            .map_or(text.len(), |end| begin + end + 3);
        if starts.iter().any(|start| (begin..end).contains(start)) {
            push(findings, Catalogue::get().other(Other::Hidden), begin, end);
        }
        at = end;
    }
}

/// The chance that at least one rule is right, of those that found something close together;
/// each rule counts once.
fn score(findings: &[Finding]) -> u32 {
    let mut highest = 0;
    let mut first = 0;
    let mut counts: Vec<(&'static str, u32, u32)> = Vec::new();
    for finding in findings {
        match counts.iter_mut().find(|count| count.0 == finding.rule) {
            Some(count) => count.2 += 1,
            None => counts.push((finding.rule, finding.weight, 1)),
        }
        while findings[first].start + TOGETHER < finding.start {
            let left = &findings[first];
            if let Some(at) = counts.iter().position(|count| count.0 == left.rule) {
                counts[at].2 -= 1;
                if counts[at].2 == 0 {
                    counts.swap_remove(at);
                }
            }
            first += 1;
        }
        let doubt = counts.iter().fold(1.0, |doubt, (_, weight, _)| {
            doubt * (1.0 - f64::from(*weight) / 100.0)
        });
        // A whole percent: between 0 and 100.
        highest = highest.max((100.0 * (1.0 - doubt)).round() as u32);
    }
    highest
}

#[cfg(test)]
mod tests;
