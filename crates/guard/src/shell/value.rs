//! What a word becomes, as far as it can be told: known characters, and between them
//! what only the run will show.

use std::fmt;

/// One step of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Atom {
    Char(char),
    /// Any text at all.
    Any,
    /// Any text that stays below the folder: no way up, not absolute, no `-` first.
    Below,
    /// A name in a folder, or digits, or a word: no `/` in it.
    Name,
    /// `*` of a glob: within one name.
    Star,
    /// `?` or `[…]` of a glob.
    One,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(pub(crate) Vec<Atom>);

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self(text.chars().map(Atom::Char).collect())
    }

    pub(crate) fn of(atom: Atom) -> Self {
        Self(vec![atom])
    }

    /// The text, where all of it is known.
    pub(crate) fn known(&self) -> Option<String> {
        self.0
            .iter()
            .map(|atom| match atom {
                Atom::Char(c) => Some(*c),
                _ => None,
            })
            .collect()
    }

    /// The known beginning.
    pub(crate) fn beginning(&self) -> String {
        let known = self.0.iter().map_while(|atom| match atom {
            Atom::Char(c) => Some(*c),
            _ => None,
        });
        known.collect()
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.iter().all(|atom| matches!(atom, Atom::Char(_)))
    }

    pub(crate) fn has_any(&self) -> bool {
        self.0.contains(&Atom::Any)
    }

    /// What is left when everything that is not known is empty.
    pub(crate) fn without_unknown(&self) -> Self {
        Self(
            self.0
                .iter()
                .copied()
                .filter(|atom| *atom != Atom::Any)
                .collect(),
        )
    }

    /// Whether it may begin with a dash, as an option does.
    pub(crate) fn may_be_option(&self) -> bool {
        match self.0.first() {
            Some(Atom::Char(c)) => *c == '-',
            Some(Atom::Below) | None => false,
            Some(_) => true,
        }
    }

    pub(crate) fn push(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// The rest after so many atoms.
    pub(crate) fn skip(&self, count: usize) -> Self {
        Self(self.0.iter().skip(count).copied().collect())
    }

    /// Cut at a character that is known.
    pub(crate) fn split_once(&self, at: char) -> Option<(Self, Self)> {
        let index = self.0.iter().position(|atom| *atom == Atom::Char(at))?;
        Some((Self(self.0[..index].to_vec()), self.skip(index + 1)))
    }

    /// Whether a text that this may become falls under a pattern of `*` and `?`, `*` over
    /// everything. `Wild::Globs`: only what a file's name may fill in is taken for open.
    pub(crate) fn may_match(&self, pattern: &str, open: Wild) -> bool {
        let pattern: Vec<Glob> = pattern
            .chars()
            .map(|c| match c {
                '*' => Glob::Star,
                '?' => Glob::One,
                c => Glob::Char(c),
            })
            .collect();
        meets(&self.0, &pattern, open)
    }
}

/// Which unknown atoms may stand for what a pattern wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wild {
    Globs,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Glob {
    Char(char),
    One,
    Star,
}

/// Whether two texts with wildcards have a text in common.
fn meets(value: &[Atom], pattern: &[Glob], open: Wild) -> bool {
    // reached[j]: the value so far can meet the first j signs of the pattern.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    close_over_stars(&mut reached, pattern);
    let mut next = vec![false; pattern.len() + 1];
    for atom in value {
        next.fill(false);
        let many = match atom {
            Atom::Any | Atom::Below | Atom::Name => open == Wild::All,
            Atom::Star => true,
            Atom::Char(_) | Atom::One => false,
        };
        if many {
            // It may be empty, and may go over any number of signs.
            let mut any = false;
            for (index, slot) in next.iter_mut().enumerate() {
                any |= reached[index];
                *slot = any;
                let slash = index < pattern.len() && pattern[index] == Glob::Char('/');
                if slash && *atom != Atom::Any && *atom != Atom::Below {
                    any = false;
                }
            }
        } else {
            for index in 0..pattern.len() {
                if !reached[index] {
                    continue;
                }
                let fits = match (pattern[index], atom) {
                    (Glob::Star, _) => {
                        next[index] = true;
                        continue;
                    }
                    (Glob::One, _) => true,
                    (Glob::Char(c), Atom::Char(a)) => c == *a,
                    (Glob::Char(c), Atom::One) => c != '/',
                    (Glob::Char(_), _) => false,
                };
                next[index + 1] |= fits;
            }
        }
        close_over_stars(&mut next, pattern);
        std::mem::swap(&mut reached, &mut next);
        // Most rules are about other commands, and that shows in the first letters.
        if !reached.contains(&true) {
            return false;
        }
    }
    reached[pattern.len()]
}

fn close_over_stars(reached: &mut [bool], pattern: &[Glob]) {
    for (index, sign) in pattern.iter().enumerate() {
        if reached[index] && *sign == Glob::Star {
            reached[index + 1] = true;
        }
    }
}

impl fmt::Display for Value {
    /// For people, and for patterns that must cover whatever it becomes: what is not
    /// known is a sign that only a wildcard fits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for atom in &self.0 {
            match atom {
                Atom::Char(c) => write!(f, "{c}")?,
                Atom::Star => f.write_str("*")?,
                Atom::One => f.write_str("?")?,
                Atom::Any | Atom::Below | Atom::Name => f.write_str("\u{2026}")?,
            }
        }
        Ok(())
    }
}
