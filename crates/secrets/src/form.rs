//! What a secret with a form of its own looks like: letters that stand for themselves, and
//! runs of a class of bytes between them. Compared from left to right, each run as long
//! as it goes; nothing is tried twice.

use crate::value::{is_random, is_words};
use crate::view::View;

/// Which bytes a run is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Digits,
    Hex,
    Alnum,
    Capitals,
    Small,
    Word,
    Base64Url,
    Base64,
    Token,
    Crypt,
}

impl Class {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "n" => Self::Digits,
            "hex" => Self::Hex,
            "an" => Self::Alnum,
            "AN" => Self::Capitals,
            "lc" => Self::Small,
            "w" => Self::Word,
            "u" => Self::Base64Url,
            "b" => Self::Base64,
            "t" => Self::Token,
            "c" => Self::Crypt,
            _ => return None,
        })
    }

    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Capitals => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            Self::Small => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Token => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'=' | b'+' | b':' | b'%' | b'~')
            }
            Self::Crypt => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/'),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) class: Class,
    pub(crate) least: usize,
    /// Without: as long as it goes.
    pub(crate) most: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(Vec<u8>),
    Run(Run),
}

/// A form, cut at the literal by which it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    /// What stands before the literal.
    pub(crate) leading: Option<Run>,
    pub(crate) literal: Vec<u8>,
    pub(crate) rest: Vec<Piece>,
}

/// Where something of a form was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    /// Where it begins, with what stands before its literal.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether it goes on at the end of what may be looked at.
    pub(crate) goes_on: bool,
}

impl Form {
    pub(crate) fn parse(pattern: &str) -> Option<Self> {
        let mut pieces = pieces(pattern)?.into_iter().peekable();
        let leading = match pieces.next_if(|piece| matches!(piece, Piece::Run(_))) {
            Some(Piece::Run(run)) => Some(run),
            _ => None,
        };
        let Some(Piece::Literal(literal)) = pieces.next() else {
            return None;
        };
        let mut rest: Vec<Piece> = pieces.collect();
        if leading.is_none()
            && literal.len() >= 4
            && let Some(Piece::Run(run)) = rest.last_mut()
            && run.most == Some(run.least)
            && run.least >= 16
        {
            run.most = None;
            run.least -= run.least / 4;
        }
        Some(Self {
            leading,
            literal,
            rest,
        })
    }

    /// Compares what stands around a literal that ends at `end`.
    pub(crate) fn fit(&self, view: &View<'_>, end: usize) -> Option<Fit> {
        let literal = end - self.literal.len();
        if view.text[literal..end] != self.literal[..] {
            return None;
        }
        let start = match &self.leading {
            Some(run) => {
                let most = run.most.unwrap_or(run.least);
                // Most literals have no such run before them, and three bytes tell.
                let probes = [1, run.least / 2, run.least];
                let has = |back: usize| {
                    let byte = literal.checked_sub(back.max(1)).map(|at| view.text[at]);
                    byte.is_some_and(|byte| run.class.has(byte))
                };
                if !probes.into_iter().all(has) {
                    return None;
                }
                let start = view.run_back(literal, most + 1, |byte| run.class.has(byte));
                let length = literal - start;
                (length >= run.least && length <= most).then_some(start)?
            }
            None => literal,
        };
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if inside(view.text[start])
            && view.before(start).is_some_and(inside)
            && !escaped(view, start)
        {
            return None;
        }
        let (last, goes_on) = self.rest_from(view, end)?;
        let mut last = last;
        while last > end && view.text[last - 1] == b'.' {
            last -= 1;
        }
        let variable = if self.leading.is_some() { start } else { end };
        let found = &view.text[variable..last];
        let capitals = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let words = is_words(found) && !found.iter().all(capitals);
        (is_random(found) && !words).then_some(Fit {
            start,
            end: last,
            goes_on,
        })
    }

    fn rest_from(&self, view: &View<'_>, from: usize) -> Option<(usize, bool)> {
        pieces_from(&self.rest, view, from)
    }
}

/// Whether what stands before is the letter of an escape, as in `\nghp_…`, or the end of a
/// terminal's, as in `ESC[33mghp_…`.
fn escaped(view: &View<'_>, at: usize) -> bool {
    if view.before(at) == Some(b'm') {
        let number = |byte: u8| byte.is_ascii_digit() || byte == b';';
        let begin = view.run_back(at - 1, 24, number);
        if view.before(begin) == Some(b'[') {
            return true;
        }
    }
    view.before(at)
        .is_some_and(|byte| matches!(byte, b'n' | b't' | b'r'))
        && view.before(at - 1) == Some(b'\\')
}

/// Where pieces that begin at `from` end, and whether the last of them goes on.
pub(crate) fn pieces_from(pieces: &[Piece], view: &View<'_>, from: usize) -> Option<(usize, bool)> {
    let mut at = from;
    let mut goes_on = false;
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => {
                if !view.starts_with(at, literal) {
                    return None;
                }
                at += literal.len();
                goes_on = false;
            }
            Piece::Run(run) => {
                let most = run.most.unwrap_or(usize::MAX);
                let end = view.run(at, most, |byte| run.class.has(byte));
                if end - at < run.least {
                    return None;
                }
                goes_on = run.most.is_none() && end == view.limit();
                at = end;
            }
        }
    }
    if let Some(Piece::Run(run)) = pieces.last()
        && run.most.is_some()
        && view
            .at(at)
            .is_some_and(|next| run.class.has(next) || next.is_ascii_alphanumeric())
    {
        return None;
    }
    Some((at, goes_on))
}

pub(crate) fn pieces(pattern: &str) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    let mut literal = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix('{')
            && let Some((spec, after)) = inside.split_once('}')
            && let Some((class, length)) = spec.split_once(':')
        {
            if !literal.is_empty() {
                found.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            found.push(Piece::Run(run(class, length)?));
            rest = after;
            continue;
        }
        let length = first.len_utf8();
        literal.extend_from_slice(&rest.as_bytes()[..length]);
        rest = &rest[length..];
    }
    if !literal.is_empty() {
        found.push(Piece::Literal(literal));
    }
    Some(found)
}

fn run(class: &str, length: &str) -> Option<Run> {
    let class = Class::named(class)?;
    let (least, most) = if let Some(least) = length.strip_suffix('+') {
        (least.parse().ok()?, None)
    } else if let Some((least, most)) = length.split_once('-') {
        (least.parse().ok()?, Some(most.parse().ok()?))
    } else {
        let exact = length.parse().ok()?;
        (exact, Some(exact))
    };
    Some(Run { class, least, most })
}
