//! Whether two tasks would change the same files, judged by the globs they
//! say they touch.
//!
//! The answer errs on the side of "yes": a class (`[a-z]`) counts as any
//! character and alternatives (`{a,b}`) as any text, and a path stands for
//! everything beneath it. Two tasks that could meet never run together; two
//! that could not may have to wait for each other in rare cases.

/// The longest glob, in bytes.
pub(super) const LONGEST_TOUCH: usize = 1024;

/// The glob cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTouch {
    #[error("an empty glob touches nothing: write a path within the repository, like src/**")]
    Empty,
    #[error("`{0}` leaves the repository: write a path within it, like src/**")]
    Outside(String),
    #[error("`{0}…` is longer than {LONGEST_TOUCH} characters")]
    TooLong(String),
}

/// Whether the glob names paths within a repository.
pub fn check_touch(glob: &str) -> Result<(), InvalidTouch> {
    if glob.trim().is_empty() {
        return Err(InvalidTouch::Empty);
    }
    // Overlap is decided in the product of two lengths.
    if glob.len() > LONGEST_TOUCH {
        return Err(InvalidTouch::TooLong(glob.chars().take(40).collect()));
    }
    let outside = glob.starts_with('/') || glob.split('/').any(|part| part == "..");
    if outside {
        return Err(InvalidTouch::Outside(glob.to_owned()));
    }
    Ok(())
}

/// Whether some path may be matched by both.
#[must_use]
pub fn touches_overlap(one: &str, other: &str) -> bool {
    meet(&segments(one), &segments(other))
}

/// Within one segment of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Exactly(char),
    AnyOne,
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Named(Vec<Piece>),
    /// `**`: any number of segments.
    Deep,
}

fn segments(glob: &str) -> Vec<Segment> {
    let mut segments: Vec<_> = split_outside_braces(glob)
        .into_iter()
        .filter(|part| !part.is_empty() && *part != ".")
        .flat_map(|part| match part {
            "**" => vec![Segment::Deep],
            // Alternatives may hold slashes: such a part is any depth of any names.
            part if part.contains('{') && part.contains('/') => vec![Segment::Deep],
            part => vec![Segment::Named(pieces(part))],
        })
        .collect();
    // A path stands for what is beneath it too.
    segments.push(Segment::Deep);
    segments
}

fn split_outside_braces(glob: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    glob.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '/' && depth == 0
    })
    .collect()
}

fn pieces(part: &str) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(part.len());
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        let piece = match c {
            '*' => Piece::Any,
            '?' => Piece::AnyOne,
            // Everything to the end: where a class or an alternative closes
            // does not matter when it may be anything.
            '[' | '{' => {
                pieces.push(Piece::Any);
                return pieces;
            }
            '\\' => Piece::Exactly(rest.next().unwrap_or('\\')),
            c => Piece::Exactly(c),
        };
        pieces.push(piece);
    }
    pieces
}

fn meet(one: &[Segment], other: &[Segment]) -> bool {
    walk(one.len(), other.len(), |at, also, reached| {
        match (one.get(at), other.get(also)) {
            (Some(Segment::Deep), _) if reached(at + 1, also) => true,
            (_, Some(Segment::Deep)) if reached(at, also + 1) => true,
            (Some(Segment::Deep), Some(_)) => reached(at, also + 1),
            (Some(_), Some(Segment::Deep)) => reached(at + 1, also),
            (Some(Segment::Named(a)), Some(Segment::Named(b))) => {
                names_meet(a, b) && reached(at + 1, also + 1)
            }
            (None, None) => true,
            _ => false,
        }
    })
}

fn names_meet(one: &[Piece], other: &[Piece]) -> bool {
    walk(one.len(), other.len(), |at, also, reached| {
        match (one.get(at), other.get(also)) {
            (Some(Piece::Any), _) if reached(at + 1, also) => true,
            (_, Some(Piece::Any)) if reached(at, also + 1) => true,
            (Some(Piece::Any), Some(_)) => reached(at, also + 1),
            (Some(_), Some(Piece::Any)) => reached(at + 1, also),
            (Some(Piece::Exactly(a)), Some(Piece::Exactly(b))) => {
                a == b && reached(at + 1, also + 1)
            }
            (Some(_), Some(_)) => reached(at + 1, also + 1),
            (None, None) => true,
            (None, Some(_)) | (Some(_), None) => false,
        }
    })
}

/// Answers for every pair of places from the ends back, so that each question
/// about a later place is already answered and none is asked twice.
fn walk(
    one: usize,
    other: usize,
    answer: impl Fn(usize, usize, &dyn Fn(usize, usize) -> bool) -> bool,
) -> bool {
    let width = other + 2;
    let mut known = vec![false; (one + 2) * width];
    for at in (0..=one).rev() {
        for also in (0..=other).rev() {
            let said = answer(at, also, &|a, b| known[a * width + b]);
            known[at * width + also] = said;
        }
    }
    known[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn globs_meet_where_a_path_could_be_matched_by_both() {
        let meeting = [
            ("src/**", "src/main.rs"),
            ("src", "src/a/b.rs"),
            ("src/", "src"),
            ("**/*.rs", "docs/x.rs"),
            ("src/*.rs", "src/m*"),
            ("a/**/z", "a/z"),
            ("a/**/z", "a/b/**"),
            ("[ab].rs", "b.rs"),
            ("{src,docs}/x", "docs/**"),
            ("./src/x", "src/x"),
            ("**", "anything/at/all"),
            ("a b/\"c\"", "a b/*"),
        ];
        for (one, other) in meeting {
            assert!(touches_overlap(one, other), "{one} and {other}");
            assert!(touches_overlap(other, one), "{other} and {one}");
        }
        let apart = [
            ("src/**", "docs/**"),
            ("src/a.rs", "src/b.rs"),
            ("*.rs", "*.md"),
            ("src/*.rs", "src/x.toml"),
            ("a?c", "abd"),
            ("crates/core/**", "crates/corex/**"),
        ];
        for (one, other) in apart {
            assert!(!touches_overlap(one, other), "{one} and {other}");
            assert!(!touches_overlap(other, one), "{other} and {one}");
        }
    }

    #[test]
    fn a_glob_stays_within_the_repository() {
        assert_eq!(check_touch("src/a b/'c'"), Ok(()));
        assert_eq!(check_touch(" "), Err(InvalidTouch::Empty));
        for outside in ["/etc/passwd", "../x", "a/../../b"] {
            assert!(check_touch(outside).is_err(), "{outside}");
        }
    }

    /// The plain meaning of a glob of `a`, `b`, `*`, `?`, `/` and `**`.
    fn matches(glob: &[&str], path: &[&str]) -> bool {
        fn name(glob: &[u8], text: &[u8]) -> bool {
            match (glob.first(), text.first()) {
                (None, None) => true,
                (Some(b'*'), _) => {
                    name(&glob[1..], text) || (!text.is_empty() && name(glob, &text[1..]))
                }
                (Some(b'?'), Some(_)) => name(&glob[1..], &text[1..]),
                (Some(a), Some(b)) => a == b && name(&glob[1..], &text[1..]),
                _ => false,
            }
        }
        match (glob.first(), path.first()) {
            // A path stands for what is beneath it.
            (None, _) => true,
            (Some(&"**"), _) => {
                matches(&glob[1..], path) || (!path.is_empty() && matches(glob, &path[1..]))
            }
            (Some(part), Some(segment)) => {
                name(part.as_bytes(), segment.as_bytes()) && matches(&glob[1..], &path[1..])
            }
            (Some(_), None) => false,
        }
    }

    fn globs() -> impl Strategy<Value = Vec<String>> {
        let part = prop_oneof![Just("**".to_owned()), "[ab*?]{1,3}"];
        prop::collection::vec(part, 1..4)
    }

    proptest! {
        #[test]
        fn a_path_both_match_is_an_overlap(
            one in globs(), other in globs(), path in prop::collection::vec("[ab]{1,3}", 1..5),
        ) {
            let plain = |glob: &[String]| {
                let parts: Vec<_> = glob.iter().map(String::as_str).collect();
                let path: Vec<_> = path.iter().map(String::as_str).collect();
                matches(&parts, &path)
            };
            if plain(&one) && plain(&other) {
                prop_assert!(touches_overlap(&one.join("/"), &other.join("/")));
            }
        }

        #[test]
        fn any_text_is_judged_and_meets_itself(one in ".{1,60}", other in ".{0,60}") {
            prop_assert_eq!(touches_overlap(&one, &other), touches_overlap(&other, &one));
            prop_assert!(touches_overlap(&one, &one));
        }
    }
}
