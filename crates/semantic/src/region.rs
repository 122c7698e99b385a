//! Named parts of a screen.
//!
//! A region is a range of rows found by what surrounds it, never by a row
//! number: screens are resized, and what matters sits at the bottom of one and
//! in the middle of another. Regions are defined in terms of earlier ones and
//! found once per screen.

use std::ops::Range;

use regex::Regex;

use crate::screen::{Row, Screen};

/// Index of a region in its manifest; 0 is always the whole screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RegionId(pub(crate) usize);

#[cfg(test)]
impl RegionId {
    pub(crate) const SCREEN: Self = Self(0);
}

/// How to find a region: each step narrows the rows the one before left.
#[derive(Debug, Clone, Default)]
pub(crate) struct RegionRule {
    pub(crate) name: String,
    pub(crate) within: Option<RegionId>,
    pub(crate) above: Option<RegionId>,
    pub(crate) below: Option<RegionId>,
    /// What an `above`, `below` or `within` that is not on the screen means.
    pub(crate) without: Without,
    pub(crate) from_last: Option<Regex>,
    pub(crate) after_last: Option<Regex>,
    pub(crate) from_first: Option<Regex>,
    pub(crate) until: Option<Regex>,
    pub(crate) through: Option<Regex>,
    pub(crate) first: Option<usize>,
    pub(crate) last: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Without {
    #[default]
    Nothing,
    Everything,
}

/// Rows of each region on one screen; `None` when it is not there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Regions {
    found: Vec<Option<Range<usize>>>,
}

impl Regions {
    pub(crate) fn find(rules: &[RegionRule], screen: &Screen) -> Self {
        let mut regions = Self {
            found: Vec::with_capacity(rules.len()),
        };
        for rule in rules {
            let rows = rule.rows(&regions, screen).filter(|rows| !rows.is_empty());
            regions.found.push(rows);
        }
        regions
    }

    pub(crate) fn rows(&self, id: RegionId) -> Option<Range<usize>> {
        self.found.get(id.0).cloned().flatten()
    }
}

impl RegionRule {
    pub(crate) fn whole_screen() -> Self {
        Self {
            name: "screen".to_owned(),
            ..Self::default()
        }
    }

    fn rows(&self, earlier: &Regions, screen: &Screen) -> Option<Range<usize>> {
        let mut rows = 0..screen.last_used_row()? + 1;
        for (reference, side) in [
            (self.within, Side::Within),
            (self.above, Side::Above),
            (self.below, Side::Below),
        ] {
            let Some(id) = reference else { continue };
            match (earlier.rows(id), self.without) {
                (Some(other), _) => rows = side.of(&other, &rows),
                (None, Without::Everything) => {}
                (None, Without::Nothing) => return None,
            }
        }
        let matches = |pattern: &Regex, row: usize| pattern.is_match(&screen.rows[row].text);
        if let Some(pattern) = &self.from_last {
            rows.start = rows.clone().rev().find(|&row| matches(pattern, row))?;
        }
        if let Some(pattern) = &self.from_first {
            rows.start = rows.clone().find(|&row| matches(pattern, row))?;
        }
        if let Some(pattern) = &self.after_last {
            match rows.clone().rev().find(|&row| matches(pattern, row)) {
                Some(row) => rows.start = row + 1,
                None if self.without == Without::Nothing => return None,
                None => {}
            }
        }
        // The row a region starts with never ends it.
        let tail = rows.start.saturating_add(1).min(rows.end)..rows.end;
        if let Some(pattern) = &self.until
            && let Some(end) = tail.clone().find(|&row| matches(pattern, row))
        {
            rows.end = end;
        }
        if let Some(pattern) = &self.through {
            rows.end = tail.into_iter().find(|&row| matches(pattern, row))? + 1;
        }
        if let Some(count) = self.first {
            rows = nearest(screen, rows, count, Edge::Top);
        }
        if let Some(count) = self.last {
            rows = nearest(screen, rows, count, Edge::Bottom);
        }
        Some(rows)
    }
}

#[derive(Clone, Copy)]
enum Side {
    Within,
    Above,
    Below,
}

impl Side {
    fn of(self, other: &Range<usize>, rows: &Range<usize>) -> Range<usize> {
        match self {
            Self::Within => rows.start.max(other.start)..rows.end.min(other.end),
            Self::Above => rows.start..rows.end.min(other.start),
            Self::Below => rows.start.max(other.end)..rows.end,
        }
    }
}

#[derive(Clone, Copy)]
enum Edge {
    Top,
    Bottom,
}

/// The `count` rows that hold anything, nearest to one edge.
fn nearest(screen: &Screen, rows: Range<usize>, count: usize, edge: Edge) -> Range<usize> {
    let used = |row: &usize| !screen.rows[*row].is_blank();
    match edge {
        Edge::Top => {
            let last = rows.clone().filter(used).take(count).last();
            rows.start..last.map_or(rows.start, |row| row + 1)
        }
        Edge::Bottom => {
            let first = rows.clone().rev().filter(used).take(count).last();
            first.unwrap_or(rows.end)..rows.end
        }
    }
}

/// The words of some rows on one line: frames and repeated blanks removed, so
/// that a sentence reads the same at every width.
#[must_use]
pub fn flowing_text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut continues = false;
        for word in unframed(&row.text).split_whitespace() {
            if !text.is_empty() && (continues || !text.ends_with(' ')) {
                text.push(' ');
            }
            text.push_str(word);
            continues = true;
        }
    }
    text
}

/// A row without the frame drawn around it.
#[must_use]
pub fn unframed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_frame(c))
}

/// Box drawing, block elements used as rules, and similar decoration.
#[must_use]
pub fn is_frame(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}')
}
