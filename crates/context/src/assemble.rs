//! Choosing: which candidates are given room, and why the others are not.
//!
//! Room is given twice. First each source may take its share, in the order of
//! the sources and, within one, of relevance; then what is left goes to those
//! that found no room, in the same order. So a source with much to say does not
//! silence the next, and nothing is left unused that somebody could use.
//!
//! Every candidate is in the answer once: given, shortened, or cut for a reason.

use std::cmp::Ordering;
use std::fmt;

use missiond_core::Timestamp;

use crate::candidate::{Candidate, Length, Source};
use crate::estimate::{estimated_tokens, thousandths};
use crate::likeness::Likeness;
use crate::quote::{self, Extent, clean, one_line};

/// More candidates are cut unread.
pub const MOST_CANDIDATES: usize = 300;
/// No more of a text is looked at; beyond any budget.
const LONGEST_TEXT: usize = 256 * 1024;
/// A beginning shorter than this many tokens is not worth its heading.
const SHORTEST_BEGINNING: usize = 60;

/// How much may be said, and when it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Tokens of the whole text, frame and headings included.
    pub budget: usize,
    pub now: Timestamp,
    /// Below this a candidate has too little to do with what is asked, whatever its
    /// source.
    pub least_relevance: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assembly {
    /// Empty when nothing is given.
    pub text: String,
    /// As estimated; never more than the budget.
    pub tokens: usize,
    /// Every candidate, in the order of sources and relevance.
    pub items: Vec<Item>,
}

/// A candidate and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub candidate: Candidate,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Given {
        tokens: usize,
    },
    /// Its first lines, instead of all that would have been so many tokens.
    Shortened {
        tokens: usize,
        of: usize,
    },
    Cut(Reason),
}

/// Why a candidate is not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// There is nothing in it.
    Empty,
    /// The agent comes to it by itself.
    Known(String),
    /// It has little to do with what is asked.
    Unrelated,
    /// Another one says it already.
    Duplicate {
        of: String,
    },
    NoRoom {
        needs: usize,
        left: usize,
    },
    /// Where it runs is all there is to say, and an agent sees that itself.
    NothingElse,
    TooMany,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is nothing in it"),
            Self::Known(how) => f.write_str(how),
            Self::Unrelated => f.write_str("it has little to do with what is asked"),
            Self::Duplicate { of } => write!(f, "{of} says the same"),
            Self::NoRoom { needs, left } => {
                write!(
                    f,
                    "it needs {needs} tokens and {left} of the budget are left"
                )
            }
            Self::NothingElse => f.write_str("there is nothing else to tell"),
            Self::TooMany => write!(f, "there are more than {MOST_CANDIDATES} candidates"),
        }
    }
}

/// Chooses among candidates and puts the chosen into words.
#[must_use]
pub fn assemble(mut candidates: Vec<Candidate>, request: Request) -> Assembly {
    candidates.sort_by(precedence);
    let texts: Vec<String> = candidates
        .iter()
        .map(|candidate| clean(beginning(&candidate.text)))
        .collect();
    let mut choice = Choice::new(&candidates, &texts, request, Companions::Allowed);
    choice.choose();
    if choice.only_companions() {
        choice = Choice::new(&candidates, &texts, request, Companions::Left);
        choice.choose();
    }
    let Choice { chosen, .. } = choice;
    let parts: Vec<String> = chosen
        .iter()
        .filter_map(|selection| match selection {
            Selection::In { part, .. } => Some(part.clone()),
            Selection::Open | Selection::Out(_) => None,
        })
        .collect();
    let text = if parts.is_empty() {
        String::new()
    } else {
        quote::framed(&parts)
    };
    let items = candidates
        .into_iter()
        .zip(chosen)
        .map(|(candidate, selection)| {
            let outcome = match selection {
                Selection::In { outcome, .. } => outcome,
                Selection::Out(reason) => Outcome::Cut(reason),
                Selection::Open => Outcome::Cut(Reason::Empty),
            };
            Item { candidate, outcome }
        });
    Assembly {
        tokens: estimated_tokens(&text),
        text,
        items: items.collect(),
    }
}

/// A total order, so that the order candidates arrive in means nothing.
fn precedence(one: &Candidate, other: &Candidate) -> Ordering {
    let names = |candidate: &'_ Candidate| (candidate.title.clone(), candidate.origin.clone());
    one.source
        .cmp(&other.source)
        .then_with(|| other.relevance.total_cmp(&one.relevance))
        .then_with(|| other.at.cmp(&one.at))
        .then_with(|| names(one).cmp(&names(other)))
        .then_with(|| one.text.cmp(&other.text))
        .then_with(|| one.known.cmp(&other.known))
        .then_with(|| (one.length as u8).cmp(&(other.length as u8)))
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// Whether what only accompanies other things may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Companions {
    Allowed,
    Left,
}

/// What has become of a candidate so far.
#[derive(Debug)]
enum Selection {
    Open,
    In { part: String, outcome: Outcome },
    Out(Reason),
}

struct Choice<'c> {
    candidates: &'c [Candidate],
    texts: &'c [String],
    request: Request,
    chosen: Vec<Selection>,
    /// What the agent has or is given: what it is called and how it reads.
    included: Vec<(String, Likeness)>,
    /// In thousandths of a token.
    room: usize,
}

impl<'c> Choice<'c> {
    fn new(
        candidates: &'c [Candidate],
        texts: &'c [String],
        request: Request,
        companions: Companions,
    ) -> Self {
        let mut choice = Self {
            candidates,
            texts,
            request,
            chosen: Vec::with_capacity(candidates.len()),
            included: Vec::new(),
            room: (request.budget * 1000).saturating_sub(thousandths(&quote::frame())),
        };
        for (candidate, text) in candidates.iter().zip(texts) {
            let selection = match &candidate.known {
                _ if choice.chosen.len() >= MOST_CANDIDATES => Selection::Out(Reason::TooMany),
                _ if text.is_empty() => Selection::Out(Reason::Empty),
                Some(how) => {
                    choice
                        .included
                        .push((display_name(candidate), Likeness::of(text)));
                    Selection::Out(Reason::Known(one_line(how)))
                }
                None if candidate.source == Source::Environment
                    && companions == Companions::Left =>
                {
                    Selection::Out(Reason::NothingElse)
                }
                None if candidate.relevance.is_nan()
                    || candidate.relevance < request.least_relevance =>
                {
                    Selection::Out(Reason::Unrelated)
                }
                None => Selection::Open,
            };
            choice.chosen.push(selection);
        }
        choice
    }

    fn choose(&mut self) {
        for source in Source::ALL {
            let share = self.request.budget * 10 * source.share();
            let mut taken = 0;
            for at in self.open_of(source) {
                taken += self.try_at(at, share.saturating_sub(taken));
            }
        }
        for source in Source::ALL {
            for at in self.open_of(source) {
                self.try_at(at, usize::MAX);
                if let Selection::Open = self.chosen[at] {
                    let needs = self.cost(&self.whole(at)).div_ceil(1000);
                    let left = self.room / 1000;
                    self.chosen[at] = Selection::Out(Reason::NoRoom { needs, left });
                }
            }
        }
    }

    fn open_of(&self, source: Source) -> Vec<usize> {
        let open = |at: &usize| {
            self.candidates[*at].source == source && matches!(self.chosen[*at], Selection::Open)
        };
        (0..self.chosen.len()).filter(open).collect()
    }

    /// Gives a candidate room of this allowance, if there is; what it took.
    fn try_at(&mut self, at: usize, allowance: usize) -> usize {
        let candidate = &self.candidates[at];
        let likeness = Likeness::of(&self.texts[at]);
        let mut included = self.included.iter();
        if let Some((name, _)) = included.find(|(_, other)| likeness.is_contained_in(other)) {
            let of = name.clone();
            self.chosen[at] = Selection::Out(Reason::Duplicate { of });
            return 0;
        }
        let allowance = allowance.min(self.room);
        let whole = self.whole(at);
        let cost = self.cost(&whole);
        let (part, outcome) = if cost <= allowance {
            let tokens = cost.div_ceil(1000);
            (whole, Outcome::Given { tokens })
        } else if candidate.length == Length::MayBeShortened
            && let Some(part) = self.shortened(at, allowance)
        {
            let tokens = self.cost(&part).div_ceil(1000);
            let of = cost.div_ceil(1000);
            (part, Outcome::Shortened { tokens, of })
        } else {
            return 0;
        };
        let cost = self.cost(&part);
        self.room -= cost;
        self.included.push((display_name(candidate), likeness));
        self.chosen[at] = Selection::In { part, outcome };
        cost
    }

    fn cost(&self, part: &str) -> usize {
        thousandths(part)
    }

    fn whole(&self, at: usize) -> String {
        let (candidate, text) = (&self.candidates[at], &self.texts[at]);
        quote::part(candidate, text, Extent::Whole, self.request.now)
    }

    /// As many of its first lines as fit.
    fn shortened(&self, at: usize, allowance: usize) -> Option<String> {
        let (candidate, text) = (&self.candidates[at], &self.texts[at]);
        let of = text.lines().count();
        let cut = |lines: usize| {
            let end: usize = text.split_inclusive('\n').take(lines).map(str::len).sum();
            let extent = Extent::First { lines, of };
            quote::part(candidate, text[..end].trim_end(), extent, self.request.now)
        };
        // The most lines that fit; more lines never cost less.
        let (mut fit, mut low, mut high) = (0, 1, of.saturating_sub(1));
        while low <= high {
            let middle = usize::midpoint(low, high);
            if self.cost(&cut(middle)) <= allowance {
                fit = middle;
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        let part = (fit > 0).then(|| cut(fit))?;
        (self.cost(&part) >= SHORTEST_BEGINNING * 1000).then_some(part)
    }

    fn only_companions(&self) -> bool {
        let mut given = self
            .candidates
            .iter()
            .zip(&self.chosen)
            .filter(|(_, selection)| matches!(selection, Selection::In { .. }))
            .peekable();
        given.peek().is_some()
            && given.all(|(candidate, _)| candidate.source == Source::Environment)
    }
}

fn display_name(candidate: &Candidate) -> String {
    format!(
        "{} \"{}\"",
        candidate.source.noun(),
        one_line(&candidate.title)
    )
}

#[cfg(test)]
mod tests;
